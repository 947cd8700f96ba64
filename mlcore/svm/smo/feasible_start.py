"""Feasible starts of a solver: multipliers within their bounds, with the required sums."""

from typing import Any

import numpy as np

from mlcore._ext.svm import feasible_start as _ext
from mlcore.svm.smo.problem import Problem


def feasible_start(beta: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return multipliers near `beta` that lie within their bounds and sum to zero.

    Those of the sign of the excess move towards 0, free ones first.
    """
    beta = np.clip(beta, lower, upper)
    _ext.balance_to_zero(beta, lower, upper, float(beta.sum()))
    return beta


def start_with_sums(problem: Problem, cache: Any, probes: int) -> np.ndarray:
    """Return multipliers that meet the required sums, at a bound but for one of each group.

    They have the least gradient (the largest for a negative sum), estimated from `probes` samples.
    """
    kernel, m = cache.kernel, len(problem.linear)
    index = np.arange(m) if problem.index is ... else problem.index
    group = np.zeros(m, dtype=np.int8) if problem.group is None else problem.group
    sign = np.where(problem.upper > 0, 1.0, -1.0)
    gradient = problem.linear
    if not gradient.any():
        count = min(kernel.n, probes)
        probe = np.arange(count) * kernel.n // count
        weights = np.bincount(index, weights=sign, minlength=kernel.n)
        density = np.zeros(kernel.n)
        cache.add_product(probe, weights[probe], density, [(0, kernel.n)])
        gradient = density[index]
    order, beta = np.argsort(sign * gradient, kind="stable"), np.zeros(m)
    totals = np.array(problem.total, dtype=np.float64)
    _ext.fill_to_sums(order, group, problem.lower, problem.upper, totals, beta)
    return beta
