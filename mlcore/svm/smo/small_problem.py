"""Solver of small dual problems in one compiled call, all variables being the working set."""

from typing import Any

import numpy as np

from mlcore._ext.svm import small_problem as _ext
from mlcore.kernels.gram_rows import padded
from mlcore.runtime.scratch import scratch_array
from mlcore.svm.smo.bias import constraint_multipliers
from mlcore.svm.smo.kernel_cache import KernelCache
from mlcore.svm.smo.problem import Problem, Solution

WIDE, INTEGERS, MARKS, SINGLE = 14, 4, 3, 4  # vectors of scratch: float64, int64, int8, as K
_FACE = 640  # most free variables that a Newton step is tried with


def solve_small(
    problem: Problem, cache: KernelCache, tol: float, exact: bool, steps: int, progress: Any = None
) -> Solution | None:
    """Return the solution of a small problem with finite bounds, or None if K or the steps run out.

    `exact` goes on to rounding error; `steps` is the most for each variable, of 200 at least.
    """
    # Only a problem whose whole K fits is small.
    cache.complete()
    if not cache.whole:
        return None
    solution = solve_whole(problem, cache.rows, cache.kernel.diagonal, tol, exact, steps)
    if not solution.converged:
        return None
    if progress is not None:
        progress.step(solution.n_iter, 0.0 - solution.objective, solution.violation)
    return solution


def solve_whole(
    problem: Problem, K: np.ndarray, diagonal: np.ndarray, tol: float, exact: bool, steps: int
) -> Solution:
    """Return the solution with finite bounds for a whole K, of `padded` columns; or the last point.

    `exact` and `steps` are as in `solve_small`.
    """
    # Lay out the variables: each group has slots of its own.
    m = len(problem.linear)
    group = np.zeros(m, dtype=np.int8) if problem.group is None else problem.group
    second = int(np.count_nonzero(group))
    entire = problem.index is ... and not (second and group[: m - second].any())
    slots = padded(m) if entire else padded(m - second) + padded(second)
    index = np.arange(0 if entire else m) if problem.index is ... else problem.index
    begins = problem.start is not None
    beta = problem.start.astype(np.float64) if begins else np.zeros(m)
    total = np.zeros(0) if begins or problem.total is None else np.asarray(problem.total, float)
    # Solve it in one compiled call.
    gradient, dtype = np.empty(m), K.dtype
    side, room = 1 if entire else slots, min(_FACE, slots)
    Q, face = scratch_array((side, side), dtype), scratch_array((room, room), dtype)
    vectors = scratch_array((SINGLE * slots,), dtype)
    violation, n_iter = _ext.solve_problem(
        K, diagonal.astype(dtype, copy=False), index, group, problem.linear,
        problem.lower, problem.upper, problem.epsilon, total, tol, exact, steps * max(200, m),
        beta, gradient, Q, face, vectors, np.empty(WIDE * slots),
        np.empty(INTEGERS * slots, dtype=np.int64), np.empty(MARKS * slots, dtype=np.int8),
    )  # fmt: skip
    # Complete the objective, which has the absolute values.
    box = problem.lower, problem.upper, problem.epsilon
    objective = float(0.5 * (beta * (gradient + problem.linear)).sum())
    objective += problem.epsilon * float(np.abs(beta).sum())
    return Solution(
        beta=beta,
        gradient=gradient,
        objective=objective,
        violation=violation,
        multipliers=constraint_multipliers(gradient, beta, *box, group),
        n_iter=n_iter,
        converged=bool(violation <= tol),
    )
