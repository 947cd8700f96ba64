"""Linear machines by coordinate descent in the dual, with an intercept that is free.

One dual variable after the other is minimised over, in a random order, and ``w = X'beta`` is kept,
so that a step reads a row (C. Hsieh and others, *A dual coordinate descent method for large-scale
linear SVM*, International Conference on Machine Learning, 2008). That dual variables add up to 0 is
left to the multiplier b of an augmented Lagrangian, moved after every sweep.
"""

import math
from collections.abc import Iterator

import numpy as np

from mlcore._ext.svm.linear import dual_descent as _ext
from mlcore.runtime.threads import pieces
from mlcore.svm.linear.intercept import best_intercept
from mlcore.svm.linear.linear_rows import LinearRows
from mlcore.svm.linear.loss_problem import DualPoint, LossProblem, feasible
from mlcore.svm.linear.subproblem import solve_subproblem, suits

_SEED = 0x9E3779B97F4A7C15  # of the orders, the same in every fit
# Of the sum of dual variables, in units of the mean |x|², for plain and squared losses. Of plain
# ones 1 took twice the steps; of squared ones 0.01 took nine sweeps for seven (reviews, d >> n).
_RHO = {False: 0.01, True: 0.03}
_LATE = 20  # steps for each row, after which there is a look in any case
_IDLE = 10  # looks without a smaller gap, after which rounding is all that is left
_LOOKS = 0.1, 0.5  # least and largest share of the violation at the last look at the gap
_FALL = 0.5  # of the gap by a subproblem, after which there is another
_PART = 0.1  # of the gap that a bound may be, which takes the place of a product


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
        whole = len(active) == rows.n
        active, held_by = active[active >= 0], worst if worst > 0 else np.inf
        if worst <= look or steps >= due or (whole and worst == 0):
            point, e = _point(rows, problem, beta, w, fit_intercept, tol)
            yield steps / rows.n, point
            left = steps_left(steps, point, *(since or (0.0, point.value)), tol)
            since = steps, point.gap
            while suits(rows, problem, beta, min(left, steps - failed)):
                before, steps = point.gap, steps + rows.n
                solve_subproblem(rows, problem, e, beta, w, fit_intercept, tol * point.value)
                point, e = _point(rows, problem, beta, w, fit_intercept, tol)
                yield steps / rows.n, point
                since = steps, point.gap
                bias[0] = point.b
                if not point.gap <= _FALL * before:
                    failed = steps
                    break
            idle = 0 if point.gap < 0.9 * least_gap else idle + 1
            least_gap, due = min(least_gap, point.gap), steps + late
            if (whole and worst == 0) or idle >= _IDLE:
                return
            look = worst * _look(tol * point.value / max(point.gap, 1e-300), problem.squared)
            active = every.copy()
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
