"""The bias of a model: the multiplier of its equality constraint, by one rule for all.

Free variables fix it, and their mean is taken. Where every multiplier is at a bound, the KKT
conditions leave an interval, of which the middle is taken, or the end if it has only one. Rounding
does not decide: a multiplier within 1e-12 of a bound, in units of the largest, counts as at it.
"""

import numpy as np

from mlcore._ext.svm import bias as _ext

ROUNDING = 1e-12  # times the largest multiplier, as in bias.pxd


def constraint_multipliers(
    gradient: np.ndarray,
    beta: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    epsilon: float = 0.0,
    group: np.ndarray | None = None,
) -> list[tuple[float, float, float]]:
    """Return (low, high, value) of the multiplier of each group that has variables.

    The kink at 0 of absolute values, weighed by `epsilon`, counts as a bound too.
    """
    group = np.zeros(len(beta), dtype=np.int8) if group is None else group
    counts = np.bincount(group).tolist()
    return [
        _ext.multiplier(gradient, beta, lower, upper, float(epsilon), group, g)
        for g in range(len(counts))
        if counts[g]
    ]


def round_to_bounds(beta: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return `beta` with multipliers that count as at a bound, or as 0, set to it.

    Sums of steps leave residues there, and so do multipliers that were scaled and are scaled back.
    """
    rounding = ROUNDING * float(np.abs(beta).max(initial=0))
    for bound in (upper, lower, 0.0):
        beta = np.where(np.abs(beta - bound) <= rounding, bound, beta)
    return beta
