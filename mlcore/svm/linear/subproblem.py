"""The dual variables of a plain loss that still move, solved for together.

Once most of them are at bounds where their slopes hold them, the few others take a second with the
products of their rows, where sweeps take hundreds of steps in each (V. Vapnik, *Estimation of
dependences based on empirical data*, 1982, calls this chunking). Products in float32 are enough: a
subproblem begins at the slopes in float64, and the next one corrects what is left.
"""

import numpy as np

from mlcore.kernels.gram_rows import padded
from mlcore.runtime.scratch import scratch_array
from mlcore.svm.linear.linear_rows import LinearRows
from mlcore.svm.linear.loss_problem import LossProblem, balanced
from mlcore.svm.smo.problem import Problem
from mlcore.svm.smo.small_problem import solve_whole

_MOST = 1024  # variables
_ROOM = 1.25  # variables for each free one
_FEATURES = 2000  # most of rows whose values are written out, zeros and all
_RATE = 25  # multiply-adds of BLAS in whose time a step in one variable reads a value, or fewer
_CALL = 2e7  # of these, in whose time the smallest one is set up
_SHARE = 0.25  # of the gap allowed, that the violation may make
_STEPS = 50  # pair steps for each variable
_SINGLE = 1e-5  # violation over the largest |y|, above which float32 is enough


def suits(rows: LinearRows, problem: LossProblem, beta: np.ndarray, steps: float) -> bool:
    """Return True if a subproblem takes less time than so many steps in single variables."""
    if problem.squared or rows.d > _FEATURES:
        return False
    free = int(np.count_nonzero(_is_free(problem, beta)))
    size = min(_ROOM * free, rows.n)
    work = size**2 * (rows.d + 2 * size) / 2 + _CALL
    return 0 < free <= _MOST and work <= _RATE * steps * rows.per_row


def solve_subproblem(
    rows: LinearRows,
    problem: LossProblem,
    e: np.ndarray,
    beta: np.ndarray,
    w: np.ndarray,
    fit_intercept: bool,
    allowed: float,
) -> None:
    """Minimise over the free dual variables and others near moving; update beta and ``w = X'beta``.

    `e` are residuals, and `allowed` is the gap asked for. With an intercept the sum of all becomes
    0; without one a variable of a row of zeros takes up the sum.
    """
    lower, upper = problem.bounds(problem.cost)
    at = _working_set(problem, e, beta)
    start = beta[at]
    if fit_intercept:
        near = balanced(beta, lower, upper)
        start = near[at]
        if np.count_nonzero(near != beta) > np.count_nonzero(start != beta[at]):
            return
    Z = rows.X[at].toarray() if rows.sparse else rows.X[at].astype(np.float64)
    m = len(at)
    size = m if fit_intercept else m + 1
    tol = _SHARE * allowed / max(float(problem.cost[at].sum()), 1e-300)
    dtype = np.float32 if tol > _SINGLE * float(np.abs(problem.y).max()) else np.float64
    K = scratch_array((size, padded(size)), dtype)
    K[:] = 0
    Y = Z.astype(dtype, copy=False)
    K[:m, :m] = Y @ Y.T
    linear = Z @ w - problem.y[at] - K[:m, :m].astype(np.float64) @ beta[at]
    bounds = lower[at], upper[at]
    if not fit_intercept:
        most = 1 + 2 * float(problem.cost[at].sum())  # it stays positive, so that eps cancels
        linear, start = np.append(linear, -problem.eps), np.append(start, most)
        bounds = np.append(bounds[0], 0.0), np.append(bounds[1], 2 * most)
    dual = Problem(linear, *bounds, start=start, epsilon=problem.eps)
    found = solve_whole(dual, K, K.diagonal().copy(), tol, False, _STEPS).beta[:m]
    w += (found - beta[at]) @ Z
    beta[at] = found


def _is_free(problem, beta):
    lower, upper = problem.bounds(problem.cost)
    return (beta > lower) & (beta < upper) & (beta != 0)


def _working_set(problem, e, beta):
    """Return the free rows and those that violate the conditions of optimality most, or nearly."""
    lower, upper = problem.bounds(problem.cost)
    up = np.where(beta >= 0, problem.eps, -problem.eps) - e  # derivatives of the dual
    down = np.where(beta > 0, problem.eps, -problem.eps) - e
    violation = np.maximum(
        np.where(beta < upper, -up, -np.inf), np.where(beta > lower, down, -np.inf)
    )
    violation[_is_free(problem, beta)] = np.inf
    free = int(np.count_nonzero(violation == np.inf))
    size = min(_MOST, len(beta), max(int(_ROOM * free), int(np.count_nonzero(violation > 0))))
    return np.sort(np.argpartition(-violation, size - 1)[:size])
