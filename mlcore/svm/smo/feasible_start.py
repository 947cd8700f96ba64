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


def grown_to_sums(
    problem: Problem, beta: np.ndarray, gradient: np.ndarray, growth: float
) -> np.ndarray:
    """Return multipliers that meet larger sums, from the solution for smaller ones.

    They are `growth` times those, as far as the bounds allow; what then lacks goes to samples of
    the least gradient (the largest for a negative sum).
    """
    group = np.zeros(len(beta), dtype=np.int8) if problem.group is None else problem.group
    start = np.clip(growth * beta, problem.lower, problem.upper)
    sums = np.bincount(group, weights=start, minlength=len(problem.total))
    positive = problem.upper > 0
    room = np.where(positive, problem.upper - start, 0.0)
    below = np.where(positive, 0.0, problem.lower - start)
    order = np.argsort(np.where(positive, gradient, -gradient), kind="stable")
    more = np.zeros(len(beta))
    _ext.fill_to_sums(order, group, below, room, problem.total - sums, more)
    return start + more
