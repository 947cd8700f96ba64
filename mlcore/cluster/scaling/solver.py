"""Alternation, and Newton's method on the columns alone with the rows solved exactly.

With rows solved, ``h(b) = sum_i r_i log sum_j exp(L_ij + b_j) - c.b`` is convex in the logarithms b
of the columns' factors, with gradient q - c for the column sums q, and the Hessian
``diag(q) - P' diag(1 / r) P``, a graph Laplacian.
"""

from typing import Any, NamedTuple

import numpy as np

from mlcore.cluster.doubly_stochastic.newton import has_stalled, newton_direction
from mlcore.cluster.scaling.marginals import Marginals

_SWEEPS = 2  # in a row before Newton's method
_LONGEST_STEP = 2.0  # of a logarithm; the quadratic model does not hold beyond
_SHARES = 1.0, 0.25, 0.0625  # of a step that are tried
_ROUGH = 3e-3  # residual to which a copy in 16 bits is solved
_ROUGH_ACCURACY = 3e-3  # of products with 9 bits
_ROUGH_STEPS = 100
_QUICK = 30  # products after which the Hessian where the copy was solved is near enough
_COPIES = 5
_MOST = 1000  # products of a system: 200 take ten times as long where reg is 1e-3 of a cost
_ROUNDING = 8 * float(np.finfo(np.float64).eps)
_PATIENCE = 50  # steps
_NEAR = 1e-3  # residual below which steps make quick progress, if not for rounding
_LOST = 1e-290  # share of a column's sum that is left
_SPREAD = 20.0  # of the logarithms of the first level
_LEVEL = 0.3  # residual at which the next level begins


class State(NamedTuple):
    """Logarithms of the factors, rows solved, with the column sums and the largest relative error.

    The residual is infinite if a sum is 0, infinite or NaN.
    """

    a: np.ndarray
    b: np.ndarray
    column_sums: np.ndarray
    residual: float


class Solved(NamedTuple):
    """The last state, the residuals at the start and after each step, and Newton's steps."""

    state: State
    trace: list[float]
    n_newton: int
    rough: Any


def state_at(kernel: Any, marginals: Marginals, b: np.ndarray) -> State:
    """Return the state for b."""
    a, q = kernel.rows_solved(b, marginals)
    residual = float(np.abs(q / marginals.column_targets(b) - 1.0).max())
    good = residual < np.inf and np.isfinite(a).all() and (q.min() > 0.0 or not kernel.rough)
    return State(a, b, q, residual if good else np.inf)


def columns_solved(kernel: Any, marginals: Marginals, now: State) -> np.ndarray:
    """Return the logarithms b that solve the columns; by logarithms where sums underflow."""
    logarithms = np.log(now.column_sums)
    lost = np.flatnonzero(now.column_sums < _LOST * marginals.columns)
    if len(lost):
        logarithms[lost] = now.b[lost] + kernel.log_column_sums(now.a, lost)
    change = np.log(marginals.column_targets(now.b)) - logarithms
    b = now.b + marginals.column_power() * change
    return b - marginals.balanced(now.a, b)


def solve_by_levels(
    kernel: Any, marginals: Marginals, tol: float, max_iter: int, newton: bool, progress: Any
) -> Solved:
    """Return the last state from b = 0; where K is peaked, after those of K^(1/4^k), .., K^(1/4).

    Kernels of 600 x 900 whose logarithms have a range of 1,000 take 219 steps without, 6 with.
    """
    b, level = np.zeros(kernel.m), 0
    if newton and kernel.logs and (spread := kernel.spread()) > _SPREAD:
        level = int(np.ceil(np.log(spread / _SPREAD) / np.log(4.0)))
    for k in range(level, 0, -1):
        softer = marginals._replace(
            row_slack=4.0**k * marginals.row_slack, column_slack=4.0**k * marginals.column_slack
        )
        softened = kernel.tempered(0.25**k)
        found = solve(softened, softer, b, _LEVEL, max_iter, newton)
        kernel.add_products(softened)
        if np.isfinite(found.state.b).all():
            b = 4.0 * found.state.b
    return solve(kernel, marginals, b, tol, max_iter, newton, progress)


def solve(
    kernel: Any,
    marginals: Marginals,
    b: np.ndarray,
    tol: float,
    max_iter: int,
    newton: bool,
    progress: Any = None,
) -> Solved:
    """Return the state with a residual within `tol`, or the last one.

    Copies in 16 bits are solved first, about better and better logarithms; then they give the
    products of Newton's linear systems, while that makes the residual fall.
    """
    now = state_at(kernel, marginals, b)
    trace, rough = [now.residual], None
    for _ in range(_COPIES if newton else 0):
        if not _ROUGH < now.residual < np.inf:
            break
        b = columns_solved(kernel, marginals, now)
        copy = kernel.shortened(now.a, b, marginals)
        if copy is None:
            break
        found = _steps(copy, marginals, state_at(copy, marginals, b), _ROUGH, _ROUGH_STEPS)
        if not found.trace[-1] < 1.0:
            break
        reached = state_at(kernel, marginals, found.state.b)
        if not reached.residual < 0.5 * now.residual:
            break
        now, rough = reached, (copy, found.state if copy.n_products < _QUICK else None)
        trace.append(now.residual)
        if now.residual < 0.1:
            break
    if not now.residual < np.inf:
        return Solved(now, trace, 0, None)
    return _steps(kernel, marginals, now, tol, max_iter, newton, rough, trace, progress)


def _steps(
    kernel, marginals, now, tol, max_iter, newton=True, rough=None, trace=None, progress=None
):
    """Return the state after sweeps and Newton's steps from `now`, whose residual ends `trace`."""
    trace = [now.residual] if trace is None else trace
    sweeps, n_newton = (_SWEEPS if rough is not None else 0), 0
    while tol < now.residual < np.inf and len(trace) <= max_iter and not _is_stuck(trace, newton):
        if progress is not None:
            progress.step(len(trace) - 1, objective=now.residual, change=now.residual)
        moved = None
        if newton and sweeps >= _SWEEPS and now.column_sums.min() > 0.0:
            moved = _newton_step(kernel, marginals, now, tol, rough)
            n_newton += moved is not None
            if rough is not None and (moved is None or moved.residual > 0.25 * now.residual):
                rough = None
        if moved is None:
            sweeps = 1 if sweeps > _SWEEPS else sweeps + 1
            moved = state_at(kernel, marginals, columns_solved(kernel, marginals, now))
        now = moved
        trace.append(now.residual)
    if progress is not None:
        progress.step(len(trace) - 1, objective=now.residual, change=now.residual)
    return Solved(now, trace, n_newton, rough)


def _is_stuck(trace, newton):
    """Return True if the residual no longer falls, near the precision of the sums."""
    recent = trace[-_PATIENCE:]
    slow = newton and len(trace) > 2 * _PATIENCE and min(recent) > 0.9 * min(trace[:-_PATIENCE])
    return has_stalled(trace) or (slow and trace[-1] < _NEAR)


def direction(
    kernel: Any, marginals: Marginals, now: State, accuracy: float, rough: Any = None
) -> np.ndarray:
    """Return Newton's direction for b, to a relative accuracy.

    `rough` is a copy in 16 bits that makes the products, with the state to take the Hessian at: the
    present one if None.
    """
    right = marginals.column_targets(now.b) - now.column_sums
    if rough is not None:  # with its own sums, so that its Hessian is a Laplacian too
        kernel, near = rough
        now = state_at(kernel, marginals, now.b) if near is None else near
    power = marginals.row_power()
    times = kernel.squared(now.a, now.b, power / marginals.row_targets(now.a))
    diagonal = now.column_sums + marginals.column_slack * marginals.column_targets(now.b)
    # The rounding of q, a constant's share of which no direction takes away.
    rounding = _ROUNDING * np.sqrt(diagonal.sum() / (right @ (right / diagonal)))
    if not rounding < 1.0:
        return np.zeros_like(right)
    accuracy = max(accuracy, float(rounding))
    return newton_direction(lambda d: diagonal * d - times(d), right, diagonal, accuracy, _MOST)


def _newton_step(kernel, marginals, now, tol, rough):
    """Return the next state; None if the objective falls too little."""
    accuracy = max(min(0.1, now.residual), 0.3 * tol / now.residual)
    if rough is not None:
        accuracy = max(accuracy, _ROUGH_ACCURACY)
    d = direction(kernel, marginals, now, accuracy, rough)
    middle = 0.5 * (d.max() + d.min())  # without slack, a constant changes nothing
    d = np.clip(d - middle, -_LONGEST_STEP, _LONGEST_STEP)
    if marginals.column_slack:
        d += middle
    slope = (now.column_sums - marginals.column_targets(now.b)) @ d
    for share in _SHARES:
        moved = state_at(kernel, marginals, now.b + share * d)
        if not moved.residual < np.inf:
            continue
        change = marginals.change(now.a, now.b, moved.a, moved.b)
        # Close to the solution, rounding hides the change of the objective, but not the gradient.
        if change <= 1e-4 * share * slope < 0 or moved.residual < 0.5 * now.residual:
            return moved
    return None
