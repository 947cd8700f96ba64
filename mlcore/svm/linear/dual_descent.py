"""Linear machines by coordinate descent in the dual, with an intercept that is free.

One dual variable after the other is minimised over, in a random order, and ``w = X'beta`` is kept,
so that a step reads a row (C. Hsieh and others, *A dual coordinate descent method for large-scale
linear SVM*, International Conference on Machine Learning, 2008). That dual variables add up to 0 is
left to the multiplier b of an augmented Lagrangian, moved after every sweep.

Once most dual variables of a plain loss are at bounds where their slopes hold them, the few others
are solved for together, where sweeps take hundreds of steps in each (V. Vapnik, *Estimation of
dependences based on empirical data*, 1982, calls this chunking). Products in float32 are enough: a
subproblem begins at the slopes in float64, and the next one corrects it.
"""

import math
from collections.abc import Iterator

import numpy as np

from mlcore._ext.svm.linear import dual_descent as _ext
from mlcore.kernels.gram_rows import padded
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import pieces
from mlcore.svm.linear.intercept import best_intercept
from mlcore.svm.linear.linear_rows import LinearRows
from mlcore.svm.linear.loss_problem import DualPoint, LossProblem, balanced, feasible
from mlcore.svm.smo.problem import Problem
from mlcore.svm.smo.small_problem import solve_whole

_SEED = 0x9E3779B97F4A7C15  # of the orders, the same in every fit
# Of the sum of dual variables, in units of the mean |x|², for plain and squared losses. Of plain
# ones 1 took twice the steps; of squared ones 0.01 took nine sweeps for seven (reviews, d >> n).
_RHO = {False: 0.01, True: 0.03}
# Share of the violation by which slopes must hold rows at bounds, to leave them out: with 1 a sweep
# over plain losses of images took twice the steps; 0.1 took a third more of squared ones of texts.
_HELD = {False: 0.1, True: 1.0}
_LATE = 20  # steps for each row, after which there is a look in any case
_STALL, _LOWER = 3, 0.8  # steps for each row without such a share of the violation, until a look
_BRIEF = 0.2  # of a look, that one after such steps counts
_IDLE = 10  # looks without a smaller gap, after which rounding is all that is left
_LOOKS = 0.1, 0.5  # least and largest share of the violation at the last look at the gap
_FALL = 0.5  # of the gap by a subproblem, after which there is another
_PART = 0.1  # of the gap that a bound may be, which takes the place of a product

# Subproblems: their variables at most, and how many for each free one.
_VARIABLES = 1024
_ROOM = 1.25
_FEATURES = 2000  # most of rows whose values are written out, zeros and all
_RATE = 25  # multiply-adds of BLAS in whose time a step in one variable reads a value, or fewer
_SET_UP = 2e7  # of these, in whose time the smallest one is set up
_SHARE = 0.25  # of the gap allowed, that the violation may make
_PAIRS = 50  # pair steps for each variable
_SINGLE = 1e-5  # violation over the largest |y|, above which float32 is enough


def dual_descent_points(
    rows: LinearRows,
    problem: LossProblem,
    start: DualPoint,
    fit_intercept: bool,
    tol: float,
    late: int = _LATE,
) -> Iterator[tuple[float, DualPoint]]:
    """Yield the work done and the point, whenever the gap may have become `tol` times P, or small.

    A unit of work is a step in every row; after `late` at most there is a point in any case. The
    points end where no step is left.
    """
    lower, upper = problem.bounds(problem.cost)
    beta = np.clip(start.beta, lower, upper)
    w = rows.transposed_times(beta) if beta.any() else np.zeros(rows.d)
    squares = rows.squares[0]
    rho = _RHO[problem.squared] * float(squares.mean()) if fit_intercept else 0.0
    bias = np.array([start.b if fit_intercept else 0.0])
    state, every = np.array([_SEED], np.uint64), np.arange(rows.n, dtype=np.intp)
    terms = np.stack([problem.y, lower, upper, problem.own(), squares], axis=1)
    common = terms, problem.eps, rho
    active, held_by, look, steps, least_gap, idle = every.copy(), np.inf, 0.0, 0, np.inf, 0
    late = min(late, _LATE) * rows.n
    due, failed = late, 0
    least, lower_at = np.inf, 0  # the least violation since a look, and the steps until then
    shrink = _HELD[problem.squared]
    since = None  # steps and gap at the look before
    while True:
        _ext.shuffle(active, state)
        worst = 0.0
        for first, last in pieces(len(active), 4 * rows.per_row):
            found = _sweep(rows, active, first, last, common, held_by, beta, w, bias)
            worst = max(worst, found)
        if fit_intercept:  # the multiplier takes up rho times the sum
            bias[0] += rho * float(beta.sum())
        if not steps:
            look = worst * (min(_LOOKS[0], np.sqrt(4 * tol)) if problem.squared else _LOOKS[0])
        steps += len(active)
        if worst <= _LOWER * least:
            least, lower_at = worst, steps
        whole = len(active) == rows.n
        active, held_by = active[active >= 0], shrink * worst if worst > 0 else np.inf
        stalls = steps - lower_at >= _STALL * rows.n
        if worst <= look or steps >= due or stalls or (whole and worst == 0):
            point, e = _point(rows, problem, beta, w, fit_intercept, tol)
            yield steps / rows.n, point
            left = steps_left(steps, point, *(since or (0.0, point.value)), tol)
            part = beta, w, fit_intercept, tol, min(left, steps - failed)
            for new in _subproblems(rows, problem, point, e, *part):
                point, bias[0], steps = new, new.b, steps + rows.n
                failed = steps
                yield steps / rows.n, point
            since = steps, point.gap
            idle = 0 if point.gap < 0.9 * least_gap else idle + (_BRIEF if stalls else 1.0)
            least_gap, due = min(least_gap, point.gap), steps + late
            if (whole and worst == 0) or idle >= _IDLE:
                return
            look = worst * _look(tol * point.value / max(point.gap, 1e-300), problem.squared)
            active, least, lower_at = every.copy(), np.inf, steps
        elif worst == 0 or not len(active):
            active, held_by = every.copy(), np.inf


def steps_left(done: float, point: DualPoint, before: float, gap: float, tol: float) -> float:
    """Return the steps for each row that are left if the gap falls as it fell since `before`."""
    aim = tol * point.value
    if point.gap <= aim:
        return 0.0
    if point.gap >= gap or aim <= 0:
        return math.inf
    return (done - before) * math.log(point.gap / aim) / math.log(gap / point.gap)


def _look(left, squared):
    """Return the share of the violation at the next look, where the gap may be `left` times it."""
    least, most = _LOOKS
    return min(most, max(least, np.sqrt(left) if squared else 2 * left))


def _sweep(rows, active, first, last, common, held_by, beta, w, bias):
    X, rest = rows.X, (active, first, last, *common, held_by, beta, w, bias)
    if rows.sparse:
        return _ext.sweep_sparse(X.data, X.indices, X.indptr, *rest)
    return _ext.sweep_dense(X, *rest)


def _point(rows, problem, beta, w, fit_intercept, tol):
    f = rows.times(w)
    b, near = 0.0, beta
    if fit_intercept:
        b = best_intercept(problem, f)
        near, _ = feasible(beta)
    e = problem.y - f - b
    value = 0.5 * float(w @ w) + float(problem.losses(e).sum())
    gap, off = problem.gap(e, near, 0.0), beta - near
    rest = 0.5 * float(np.abs(off) @ np.sqrt(rows.squares[0])) ** 2
    if rest > _PART * gap and gap <= tol * value < gap + rest:  # the bound is not good enough
        moved = rows.transposed_times(off)
        rest = 0.5 * float(moved @ moved)
    return DualPoint(w.copy(), b, near.copy(), value, gap + rest), e


def whole_point(rows: LinearRows, problem: LossProblem, fit_intercept: bool) -> DualPoint:
    """Return the point of few rows and a plain loss, from one subproblem of all of them."""
    beta, w, every = np.zeros(rows.n), np.zeros(rows.d), np.arange(rows.n)
    solve_subproblem(rows, problem, every, beta, w, fit_intercept, 0.0)
    return _point(rows, problem, beta, w, fit_intercept, 0.0)[0]


def _subproblems(rows, problem, point, e, beta, w, fit_intercept, tol, steps):
    """Yield points after subproblems, while these take less time than `steps`, and help."""
    before = math.inf
    while point.gap <= _FALL * before and suits(rows, problem, beta, steps):
        before = point.gap
        at = working_set(problem, e, beta)
        solve_subproblem(rows, problem, at, beta, w, fit_intercept, tol * point.value)
        point, e = _point(rows, problem, beta, w, fit_intercept, tol)
        yield point


def suits(rows: LinearRows, problem: LossProblem, beta: np.ndarray, steps: float) -> bool:
    """Return True if a subproblem takes less time than so many steps in single variables."""
    if problem.squared or rows.d > _FEATURES:
        return False
    free = int(np.count_nonzero(_is_free(problem, beta)))
    size = min(_ROOM * free, rows.n)
    work = size**2 * (rows.d + 2 * size) / 2 + _SET_UP
    return 0 < free <= _VARIABLES and work <= _RATE * steps * rows.per_row


def solve_subproblem(
    rows: LinearRows,
    problem: LossProblem,
    at: np.ndarray,
    beta: np.ndarray,
    w: np.ndarray,
    fit_intercept: bool,
    allowed: float,
) -> None:
    """Minimise over the dual variables `at` some rows; update beta and ``w = X'beta``.

    `allowed` is the gap asked for, 0 for that of rounding. With an intercept the sum of all becomes
    0; without one a variable of a row of zeros takes up the sum.
    """
    lower, upper = problem.bounds(problem.cost)
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
    least = _SINGLE * float(np.abs(problem.y).max())
    dtype = np.float32 if tol > least else np.float64
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
    exact = allowed == 0
    tol = least if exact else tol
    found = solve_whole(dual, K, K.diagonal().copy(), tol, exact, _PAIRS).beta[:m]
    w += (found - beta[at]) @ Z
    beta[at] = found


def _is_free(problem, beta):
    lower, upper = problem.bounds(problem.cost)
    return (beta > lower) & (beta < upper) & (beta != 0)


def working_set(problem: LossProblem, e: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Return the free rows and those that violate the conditions of optimality most, or nearly."""
    lower, upper = problem.bounds(problem.cost)
    up = np.where(beta >= 0, problem.eps, -problem.eps) - e  # derivatives of the dual
    down = np.where(beta > 0, problem.eps, -problem.eps) - e
    violation = np.maximum(
        np.where(beta < upper, -up, -np.inf), np.where(beta > lower, down, -np.inf)
    )
    violation[_is_free(problem, beta)] = np.inf
    free = int(np.count_nonzero(violation == np.inf))
    size = min(_VARIABLES, len(beta), max(int(_ROOM * free), int(np.count_nonzero(violation > 0))))
    return np.sort(np.argpartition(-violation, size - 1)[:size])
