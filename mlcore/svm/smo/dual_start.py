"""Starts of SMO near the optimum, for many samples with few features and the linear kernel.

There Newton's method on the primal needs tens of steps at any cost C, where pairs need millions.
"""

from typing import Any

import numpy as np

from mlcore.svm.linear.augmented_lagrangian import augmented_lagrangian_points
from mlcore.svm.linear.linear_rows import LinearRows
from mlcore.svm.linear.loss_problem import LossProblem, balanced
from mlcore.svm.linear.solution import Limits, lagrangian_start
from mlcore.svm.smo.problem import Problem

_NEAR = 1e-2  # share of P that the gap may be where the violation is first measured
_MOST = 1000  # Newton steps


def dual_start(
    problem: Problem, X: Any, tol: float, progress: Any = None, before: int = 0
) -> tuple[np.ndarray | None, int]:
    """Return dual variables (m,) that violate the KKT conditions by little, and the Newton steps.

    `X` are the samples (n, d), dense or CSR, of the linear kernel. The problem has finite bounds
    and one sum, of 0. The violation is at most tol / 2, unless rounding or the number of steps ends
    it; None for samples out of range, and bounds that no loss has. Reports to `progress` count from
    `before` on.
    """
    rows = LinearRows.of(X if problem.index is ... else X[problem.index], False)
    lower, upper, q = problem.lower, problem.upper, problem.linear
    one_sided = not (problem.epsilon or ((lower < 0) & (upper > 0)).any())
    losses = LossProblem(-q, np.maximum(upper, -lower), problem.epsilon, False, one_sided)
    low, high = losses.bounds(losses.cost)
    if rows.power or not (np.array_equal(low, lower) and np.array_equal(high, upper)):
        return None, 0
    first, sigma = lagrangian_start(rows, losses, True, Limits(tol, _MOST))
    least, best, point, last = np.inf, None, None, None
    points = augmented_lagrangian_points(rows, losses, first, True, sigma, 1e-12)
    for count, (now, found) in enumerate(points):
        # The violation is measured where sigma grows: the steps before solved a problem.
        if point is not None and now != last and point.gap <= _NEAR * point.value:
            beta = balanced(point.beta, lower, upper)
            g = rows.times(rows.transposed_times(beta)) + q
            violation = _violation(g, beta, lower, upper, problem.epsilon)
            if violation < least:
                least, best = violation, beta
            if progress is not None:
                objective = 0.5 * float(beta @ (g + q)) + problem.epsilon * np.abs(beta).sum()
                progress.step(before + count, 0.0 - objective, violation)
            if violation <= 0.5 * tol:
                break
        if count >= _MOST:
            break
        point, last = found, now
    return best, count


def _violation(g, beta, lower, upper, epsilon):
    """Return the largest violation of the KKT conditions of the dual, as in `smo`."""
    up = np.where(beta >= 0, epsilon, -epsilon)
    low = np.where(beta > 0, epsilon, -epsilon)
    top = (-g - up)[beta < upper].max(initial=-np.inf)
    return float(top - (-g - low)[beta > lower].min(initial=np.inf))
