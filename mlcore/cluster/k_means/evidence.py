"""Evidence of a fit by centres: rises of its objective, and distances that rounding hides."""

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse as sp
from scipy.spatial.distance import cdist

from mlcore.checks.errors import warn

_DOUBTFUL = 0.01  # share of the objective from which rounding of the search is looked into
EPS = float(np.finfo(np.float64).eps)
_EPS_OF = {4: float(np.finfo(np.float32).eps), 8: EPS}
_BLOCK = 2**20  # differences formed at once


def rounding_of_search(squares: float, n_features: int, dtype: np.dtype) -> float:
    """Return a bound on what rounding in the search of nearest centres adds to the objective.

    ``|x - c|²`` is off by (d + 4) eps (|x| + |c|)²; `squares` sums the samples' squared norms.
    """
    return 4 * (n_features + 4) * _EPS_OF[dtype.itemsize] * squares


def warn_of_rise(trace: np.ndarray, rounding: float, owner: str, why: str) -> None:
    """Warn if an objective that no step can raise rose by more than `rounding`.

    `rounding` is in the unit of `trace` (n_steps,); `why` says what rises mean.
    """
    values = trace.tolist()  # few: arrays would take longer
    rises = [after - before for before, after in pairwise(values)]
    if rises and (most := max(rises)) > rounding + 64 * EPS * max(map(abs, values)):
        step = rises.index(most)
        warn(
            "ConvergenceWarning",
            f"{owner}: the objective rose from {values[step]:g} to {values[step + 1]:g} in step "
            f"{step + 2}, where no step can raise it: {why}.",
        )


def left_by_rounding(
    X: Any, weights: Any, units: Any, clustering: Any, squares: float, n_clusters: int
) -> tuple[Any, ...]:
    """Return by how much exact labels, and then means, would lower the objective of `clustering`.

    All of it where rounding left fewer than `n_clusters` centres; 0 where the bound is a small
    share. `clustering` and `squares`, the weighted sum of squared norms, are in `units`.
    """
    rounding = rounding_of_search(squares, X.shape[1], X.dtype)
    least = (64 * EPS) ** 2 * squares  # of samples that differ from their centres by rounding
    if units.incomplete:  # distances from differences, exact but for their relative rounding
        return 0.0, 0.0
    if rounding <= _DOUBTFUL * clustering.inertia or clustering.inertia <= least:
        return 0.0, 0.0
    if len(clustering.centers) < n_clusters:
        return clustering.inertia, 0.0
    centers = clustering.centers.astype(np.float64)
    k, d = centers.shape
    gain, sums, mass = 0.0, np.zeros((k, d)), np.zeros(k)
    step = max(1, _BLOCK // (k + d))
    for start in range(0, X.shape[0], step):
        rows = slice(start, start + step)
        block = units.place(X[rows])
        block = block.toarray() if sp.issparse(block) else block.astype(np.float64)
        w = weights[rows] if len(weights) else np.ones(len(block))
        distances = cdist(block, centers, "sqeuclidean")
        nearest = distances.argmin(axis=1)
        own = distances[np.arange(len(block)), clustering.labels[rows]]
        gain += float(w @ (own - distances.min(axis=1)))
        members = sp.csr_array((w, (nearest, np.arange(len(block)))), shape=(k, len(block)))
        sums += members @ (block - centers[nearest])
        mass += np.bincount(nearest, w, k)
    moves = np.divide(np.square(sums).sum(axis=1), mass, out=np.zeros(k), where=mass > 0)
    return gain, float(moves.sum())


def warn_of_rounding(left: float, inertia: float, tol: float, owner: str) -> bool:
    """Warn, and return True, if rounding hid a step that lowers the objective by over `tol`.

    `left`, from `left_by_rounding`, is in the unit of `inertia`; `tol` is relative to it.
    """
    if left <= (max(tol, 1e-6)) * inertia:
        return False
    warn(
        "ConvergenceWarning",
        f"{owner}: samples are so near each other, compared with their distance from 0, that "
        f"rounding hides which centre is nearest: exact steps would lower the objective by up "
        f"to {left / inertia:.1%} at once. Subtract the mean of the features, or pass float64.",
    )
    return True
