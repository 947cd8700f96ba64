"""The best intercept of a linear machine for given scores."""

import numpy as np

from mlcore.svm.linear.band_newton import squared_band, with_best_intercept
from mlcore.svm.linear.loss_problem import LossProblem

_FEW = 256  # kinks that are sorted


@np.errstate(all="ignore")
def best_intercept(problem: LossProblem, f: np.ndarray) -> float:
    """Return the b that minimises ``sum_i c_i l(y_i - f_i - b)``; of an interval, its middle."""
    r = problem.y - f
    if problem.squared:
        return with_best_intercept(squared_band(problem), 0.0, f)[0]
    if problem.of_classes:  # the slope in b rises by c_i where b passes r_i
        return weighted_quantile(r, problem.cost, float(problem.cost[problem.y > 0].sum()))
    kinks = np.concatenate([r - problem.eps, r + problem.eps])
    costs = np.concatenate([problem.cost, problem.cost])
    return weighted_quantile(kinks, costs, float(problem.cost.sum()))


def weighted_quantile(values: np.ndarray, weights: np.ndarray, share: float) -> float:
    """Return a value below which, at most, values of total weight `share` lie, in O(n) time.

    If two neighbours are so, their middle.
    """
    below = 0.0
    high = np.inf
    while len(values) > _FEW:
        middle = float(np.partition(values, len(values) // 2)[len(values) // 2])
        left = values < middle
        weight = float(weights[left].sum())
        equal = float(weights[values == middle].sum())
        if below + weight > share:
            values, weights, high = values[left], weights[left], middle
        elif below + weight + equal > share:
            if below + weight < share * (1 - 1e-12):
                return middle
            below += weight  # the interval may begin at the value before
            return 0.5 * (middle + float(values[left].max())) if left.any() else middle
        else:
            right = values > middle
            rest = values[right]
            if not len(rest):
                return middle
            below += weight + equal
            if below >= share * (1 - 1e-12):
                return 0.5 * (middle + float(rest.min()))
            values, weights = rest, weights[right]
    order = np.argsort(values, kind="stable")
    values, sums = values[order], below + np.cumsum(weights[order])
    at = int(np.searchsorted(sums, share * (1 - 1e-12)))
    at = min(at, len(values) - 1)
    if abs(sums[at] - share) <= 1e-12 * share:
        after = values[at + 1] if at + 1 < len(values) else high
        if np.isfinite(after):
            return 0.5 * (float(values[at]) + float(after))
    return float(values[at])
