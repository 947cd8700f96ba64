"""Start of maximum entropy for priors over many decades, by a linear programme."""

import numpy as np
from scipy.optimize import linprog

from mlcore.entropy.gibbs import Gibbs
from mlcore.numerics.eigen.lapack import stoppable


def lowest_envelope(gibbs: Gibbs) -> np.ndarray | None:
    """Return mu with the least maximum of ``ln q_i + mu . h_i``, None if the programme fails.

    There psi is within ln n of its minimum: a start for Newton's method at the right kinks.
    """
    h = np.concatenate([block.copy() for _, block in gibbs.blocks()])
    rows = np.vstack([h.T, np.ones(len(h))])
    right = np.append(np.zeros(h.shape[1]), 1.0)
    call = (-gibbs.log_prior, None, None, rows, right, (0, None), "highs")
    solution = stoppable(lambda: linprog(*call))
    return solution.eqlin.marginals[:-1] if solution.status == 0 else None
