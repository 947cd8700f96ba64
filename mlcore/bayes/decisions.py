"""Decisions of least expected loss."""

from typing import Any, NamedTuple

import numpy as np

from mlcore.checks.arrays import real_array
from mlcore.entropy.entropies import non_negative
from mlcore.estimator.printed import fields_as_table

_SUM_TOLERANCE = 1e-5  # of probabilities in single precision


class Decisions(NamedTuple):
    """Actions of least expected loss, with what each action would cost.

    Parameters
    ----------
    actions : int or (...) array of intp
        Column of the loss matrix, the lowest among equals.
    risks : float or (...) array
        Expected loss of that action.
    all_risks : (..., a) array
        Expected loss of every action.

    Examples
    --------
    >>> from mlcore.bayes import minimum_risk
    >>> minimum_risk([0.25, 0.75], [[0, 1], [1, 0]]).actions
    1
    """

    actions: Any
    risks: Any
    all_risks: np.ndarray

    __repr__ = fields_as_table


def minimum_risk(probabilities: Any, loss: Any) -> Decisions:
    """Return the actions of least expected loss under given probabilities.

    Parameters
    ----------
    probabilities : array-like of shape (..., k)
        Of k hypotheses or classes, such as from `posterior` or `predict_proba`; rows sum to 1.
    loss : array-like of shape (k, a)
        ``loss[i, j]`` is the cost of action j when i is true. There may be more actions than
        hypotheses, such as to ask an expert, or fewer; gains are negative costs.

    Returns
    -------
    decisions : Decisions
        Its `actions`, their `risks`, and `all_risks` of every action.

    Raises
    ------
    ValueError
        If rows do not sum to 1, for values that are not finite and shapes that do not fit.

    References
    ----------
    A. Wald, *Statistical Decision Functions*, 1950.

    Examples
    --------
    An illness of probability 0.2481; to treat costs 1 if there is none, to miss it 10:

    >>> from mlcore.bayes import minimum_risk
    >>> decisions = minimum_risk([0.2481, 0.7519], [[0, 10], [1, 0]])
    >>> decisions.actions, decisions.all_risks
    (0, array([0.7519, 2.481 ]))
    """
    p = non_negative(probabilities, "probabilities")
    loss = as_loss(loss, p.shape[-1])
    with np.errstate(over="ignore"):
        sums = p.sum(axis=-1)
    wrong = abs(sums - 1) > _SUM_TOLERANCE
    if wrong.any():
        first = sums[wrong].flat[0] if sums.ndim else sums
        raise ValueError(f"probabilities must sum to 1 in each row, but one sums to {first:.10g}.")
    all_risks = p @ loss
    actions = all_risks.argmin(axis=-1)
    risks = all_risks.min(axis=-1)
    if actions.ndim == 0:
        return Decisions(int(actions), float(risks), all_risks)
    return Decisions(actions, risks, all_risks)


def as_loss(loss: Any, n_hypotheses: int) -> np.ndarray:
    """Return a loss matrix (k, a) of finite float64, or raise ValueError."""
    array = real_array(loss, "loss").astype(np.float64)
    if array.ndim != 2 or array.shape[0] != n_hypotheses or array.shape[1] == 0:
        raise ValueError(
            f"loss has shape {array.shape}, but must have a row for each of the {n_hypotheses} "
            "hypotheses or classes, and a column for each action."
        )
    if not np.isfinite(array).all():
        raise ValueError("loss has NaN or infinity.")
    return array
