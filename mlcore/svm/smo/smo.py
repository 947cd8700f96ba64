"""The dual problem of every support vector machine here, and its solver.

With signed multipliers b (for a classifier b_i = y_i a_i) each model minimises

    1/2 b'Kb + q'b + epsilon sum_i |b_i|,   lower <= b <= upper,

the sum of b over each of one or two groups being fixed. With the gradient g = Kb + q, variables in
I_up can increase and those in I_low can decrease; -g_i -+ epsilon is what the objective loses by
it. The problem is solved when, in each group, the maximum over I_up exceeds the minimum over I_low
by no more than `tol` (the KKT conditions).

A problem takes one of six routes. Sizes are those of `Routes`; a gain is the time of rounds over
that of the route, on two cores.

| route | problems | gain | measured by |
| --- | --- | --- | --- |
| multiclass.pairs | K fits; pairs of at most `pair` samples | 2 (10 classes of 10), 1 (320) | a |
| smo.small_problem | K fits; at most `small` variables | 1.4 to 2.5 to 100, 1 from 300 on | a |
| cross_validation.alpha_seeding | K fits; folds of `SVCCV` | 5 over separate fits | b |
| smo.chunking | no room for K; at least `chunks` variables | 1 (20,000), 6 (300,000) | a, c |
| linear.dual_start | linear kernel, few features | 1 (small C) to 100 (large C) | d |
| rounds, here | all others, and those that need more than `steps` | | |

In asv_benchmarks/benchmarks: a) smo.EitherRoute, b) svc_cv.Search, c) smo.BeyondTheCache, and for
300,000 samples commit 584fcaa, d) smo.LinearKernel. Pairs, small problems and starts of the linear
kernel need finite bounds. These starts come after as many pair steps for each variable as an easy
problem needs; of many samples, whose rounds cost more than a start, before all.

A round picks a working set, the few thousand variables that are free or violate most, takes the
principal submatrix of K between them, and solves that small problem: by sequential minimal
optimisation with second-order choice of the pair, and by Newton steps on the face of the free
variables where pair steps are slow. Only then are full rows of K fetched, and only for variables
that moved. Where K is cheap it is computed whole, half of it by symmetry, and is itself the first
submatrix. Where the required sums need few variables, the first working set is a few times as many.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mlcore.kernels.gram_rows import LINE
from mlcore.runtime.threads import single_threaded_blas
from mlcore.svm.smo.bias import constraint_multipliers, round_to_bounds
from mlcore.svm.smo.chunking import Chunks
from mlcore.svm.smo.dual_start import dual_start
from mlcore.svm.smo.feasible_start import start_with_sums
from mlcore.svm.smo.problem import Solution
from mlcore.svm.smo.small_problem import solve_small
from mlcore.svm.smo.working_set import WorkingSet

_RESOLVED = 64 * float(np.finfo(np.float64).eps)
_FEW = 0.25  # part of the variables: where the required sums need more, all of K is worth its cost
_NARROW, _PER_FEATURE = 300, 5  # most features, and least variables for each, of a linear start


@dataclass(frozen=True)
class Routes:
    """Sizes that decide on the route of a problem, as in the table above.

    `pair`, `small` and `entire` are the most samples or variables of a route, `chunks` and `many`
    the least; the others bound pair steps for each variable.
    """

    pair: int = 640
    small: int = 1024
    entire: int = 2048
    chunks: float = 20_000
    many: int = 8192
    steps: int = 50
    easy_steps: int = 8
    seeded_steps: int = 30
    most_steps: int = 10_000_000


ROUTES = Routes()


def up_and_low(
    g: np.ndarray, beta: np.ndarray, lower: np.ndarray, upper: np.ndarray, epsilon: float
) -> tuple[Any, ...]:
    """Return -g -+ epsilon of variables in I_up (-inf elsewhere) and in I_low (inf elsewhere)."""
    if epsilon == 0:
        return np.where(beta < upper, -g, -np.inf), np.where(beta > lower, -g, np.inf)
    up = np.where(beta < upper, -g - np.where(beta >= 0, epsilon, -epsilon), -np.inf)
    low = np.where(beta > lower, -g - np.where(beta > 0, epsilon, -epsilon), np.inf)
    return up, low


def solve(
    problem: Any,
    cache: Any,
    *,
    tol: float,
    exact: bool = False,
    max_iter: int = -1,
    progress: Any = None,
    routes: Routes = ROUTES,
) -> Solution:
    """Return the optimum of one problem, to a KKT violation of `tol` or of what rounding allows.

    `exact` goes on to rounding error; `max_iter` bounds pair steps, -1 for `Routes.most_steps`.
    """
    power = problem.power
    if power:
        unit, tol = problem.divided(power), np.ldexp(tol, -power)
        limits = {"tol": tol, "exact": exact, "max_iter": max_iter, "routes": routes}
        return _times(solve(unit, cache, progress=progress, **limits), power)
    with single_threaded_blas():  # the order of its sums depends on its threads
        solution = None
        few = len(problem.linear) <= routes.small and np.isfinite(problem.largest_bound)
        if few and max_iter < 0:
            solution = solve_small(problem, cache, tol, exact, routes.steps, progress)
        if solution is None:
            solution = _in_rounds(problem, cache, tol, max_iter, progress, routes, hard=few)
        else:
            exact = False  # it is already
    solution.rounding, solution.distance = cache.kernel.rounding, cache.kernel.distance
    solution.largest = float(np.abs(cache.kernel.diagonal).max())
    if exact:
        size = max(1.0, float(np.abs(solution.gradient).max(initial=0)))
        finer = {"tol": min(tol, 1e-12 * size), "progress": progress, "routes": routes}
        solution = refined(problem, solution, cache, **finer)
    return solution


def _in_rounds(problem, cache, tol, max_iter, progress, routes, hard):
    """Return the solution by rounds, from a start near it where these would take long.

    `hard` if the problem has taken many pair steps already.
    """
    limits = cache, tol, max_iter, progress, routes
    most = _easy(problem, cache, routes, hard) if max_iter < 0 else None
    if most is None:
        return _Solver(problem, *limits).run()
    n_iter = 0
    if most:
        solution = _Solver(problem, cache, tol, most, progress, routes).run()
        if solution.converged or solution.diverged or solution.cause != "steps":
            return solution
        problem, n_iter = replace(problem, start=solution.beta), solution.n_iter
    beta, steps = dual_start(problem, cache.kernel.samples, tol, progress, n_iter)
    if beta is not None:
        problem, n_iter = replace(problem, start=beta), n_iter + steps
    solver = _Solver(problem, *limits)
    solver.working.n_iter = n_iter
    return solver.run()


def _easy(problem, cache, routes, hard):
    """Return the pair steps before a start is sought; None where rounds are as fast."""
    m, d = len(problem.linear), cache.kernel.d if cache.kernel.linear else 0
    plain = problem.group is None and problem.total is None and problem.largest_bound < np.inf
    if not plain or d > _NARROW or not 0 < _PER_FEATURE * d <= m:
        return None
    moves_both_ways = problem.lower.any() and problem.upper.any()
    if not moves_both_ways or (problem.start is not None and problem.start.sum() != 0):
        return None
    return 0 if hard or m >= routes.many else routes.easy_steps * m


def _times(solution, power):
    """Return the solution of a problem whose bounds are 2 to the `power` times as large."""
    with np.errstate(over="ignore"):
        return replace(
            solution,
            beta=np.ldexp(solution.beta, power),
            gradient=np.ldexp(solution.gradient, power),
            objective=float(np.ldexp(solution.objective, 2 * power)),
            violation=float(np.ldexp(solution.violation, power)),
            multipliers=[tuple(np.ldexp(m, power).tolist()) for m in solution.multipliers],
        )


def refined(
    problem: Any,
    solution: Solution,
    cache: Any,
    *,
    tol: float,
    progress: Any = None,
    routes: Routes = ROUTES,
) -> Solution:
    """Return the solution at a smaller `tol` if that is reached, else the one before."""
    if solution.diverged or not solution.converged:
        return solution
    limits = {"max_iter": 100 * cache.kernel.n, "progress": progress, "routes": routes}
    finer = solve(replace(problem, start=solution.beta), cache, tol=tol, **limits)
    if finer.diverged or finer.violation > solution.violation:
        return solution
    return replace(finer, n_iter=solution.n_iter + finer.n_iter, converged=True)


def solve_many(problems: list[Any], cache: Any, **settings: Any) -> list[Any]:
    """Return the solutions of several problems on the same samples, which share kernel rows."""
    if len(problems) > 2:
        cache.complete(len(problems))
    return [solve(problem, cache, **settings) for problem in problems]


class _Solver:
    MARGIN = 1.0  # times the violation: variables at a bound that are so near to violating stay
    FIRST, ROOM = 1536, 1.5  # least variables of a working set, and how many for each free one
    FULL, SUB = 0.3, 0.3  # part of a round's first violation at which it ends: on K, a submatrix
    # Where the required sums need few of the variables (more than LEAST), the first working set has
    # NEEDED times as many, at least SMALLEST: its steps cost little beside the rows of a round.
    LEAST, NEEDED, SMALLEST, FEW_SUB = 768, 3, 256, 0.03

    def __init__(self, problem, cache, tol, max_iter, progress, routes):
        self.cache, self.requested_tol, self.tol, self.progress = cache, tol, tol, progress
        self.routes = routes
        m, n = len(problem.linear), cache.kernel.n
        part = 1.0 if problem.total is None else _needed_part(problem)
        self.q, self.lower, self.upper = problem.linear, problem.lower, problem.upper
        self.epsilon = problem.epsilon
        self.index = np.arange(m) if problem.index is ... else problem.index
        self.max_iter = max(routes.most_steps, 1000 * m) if max_iter < 0 else max_iter
        self.group = np.zeros(m, dtype=np.int8) if problem.group is None else problem.group
        self.members = (np.flatnonzero(self.group == 0), np.flatnonzero(self.group == 1))
        self.product = np.zeros(n)  # K b, by sample
        self.draw_weights = np.ones(m)
        if problem.total is None and self.epsilon == 0:
            # Where many variables end at a bound, violators are drawn by their violation times a
            # number in (0, 1]: a set of only the worst is solved at the cost of all the others.
            fraction = 1.0 - (0.6180339887498949 * np.arange(m)) % 1.0
            self.draw_weights = fraction if cache.keeps else fraction**2
        self.FIRST = max(self.FIRST, m // 7)
        if not cache.keeps or cache.kernel.linear:  # a round costs more than the steps it saves
            self.SUB = 0.1
        if not cache.keeps:
            self.FIRST, self.ROOM = min(2560, max(1536, m // 3)), 1.25
        if cache.kernel.linear:  # many constraints are tight: small sets would cycle
            self.FIRST = 2048
        # Of two groups, far more than the sums need may end free: one set of all is safer.
        least = routes.entire if len(self.members[1]) else self.LEAST
        few = part <= _FEW and m > least and not (cache.whole or cache.kernel.linear)
        if few:
            self.FIRST = min(self.FIRST, max(self.SMALLEST, int(self.NEEDED * part * m)))
            self.SUB = self.FEW_SUB
        else:
            cache.complete()
        self.entire = m <= routes.entire and not few
        self.w = np.zeros(cache.kernel.d) if cache.kernel.linear else None
        self.spans = _spans(self.index, n)
        self.chunks = None
        large = m >= routes.chunks and problem.total is None
        if large and cache.kernel.selects and not (cache.kernel.linear or cache.capacity == n):
            self.chunks = Chunks(problem, self.index, self.members, cache)
        self.working = WorkingSet(cache, self.index, self.epsilon, self.members)
        if problem.start is not None:
            self.beta = problem.start.astype(np.float64)
        elif problem.total is not None:
            probes = 64 if few else 256
            self.beta = start_with_sums(problem, cache, probes)
        else:
            self.beta = np.zeros(m)
        moved = np.flatnonzero(self.beta)
        self._move(moved, self.beta[moved])

    def _move(self, variables, change):
        """Bring K b up to date after beta[variables] += change."""
        if len(variables) == 0:
            return
        weights = np.bincount(self.index[variables], weights=change, minlength=len(self.product))
        samples = np.flatnonzero(weights)
        if self.cache.kernel.linear and not self.cache.whole:
            self.cache.kernel.add_weights(samples, weights[samples], self.w)
            self.cache.kernel.expand(self.w, self.product)
        else:
            keep = self.chunks is None  # or the chunks' own rows have the memory
            self.cache.add_product(samples, weights[samples], self.product, self.spans, keep=keep)

    def run(self):
        idle, least = 0, np.inf
        while True:
            self.tol = max(self.requested_tol, resolved(self.product, self.q))
            self.gradient = self.product[self.index] + self.q
            up, low = up_and_low(self.gradient, self.beta, self.lower, self.upper, self.epsilon)
            self.extremes = [
                (up[k].max(), low[k].min()) if len(k) else (0.0, 0.0) for k in self.members
            ]
            self.violation = max(0.0, *(top - bottom for top, bottom in self.extremes))
            objective = self._objective()
            if self.progress is not None:
                self.progress.step(self.working.n_iter, 0.0 - objective, self.violation)
            # Each round lowers a convex objective; with an indefinite kernel rounds may cycle.
            idle = 0 if objective < least or self.violation <= self.tol else idle + 1
            least = min(least, objective)
            left = self.max_iter - self.working.n_iter
            if self.violation <= self.tol or left <= 0 or idle >= 5 or self._diverges(objective):
                break
            moved, change = self._solved_chunk(up, low, left, idle)
            if len(moved) == 0:
                self.working.load(self._choose(up, low))
                moved, change = self.working.solve(
                    self.beta, self.gradient, self.lower, self.upper, tol=self._goal(),
                    max_steps=min(left, 200 * len(self.beta)),
                )  # fmt: skip
            if len(moved) == 0:
                break
            self._move(moved, change)
        return self._solution(objective)

    def _solved_chunk(self, up, low, left, idle):
        """Solve the next chunk; return the variables that moved, none once chunks are of no use."""
        chunk = None
        if self.chunks is not None and not idle:
            chunk = self.chunks.next(self.beta, up, low, self.violation, self.tol)
        if chunk is None:
            self.chunks = None
            return (), ()
        variables, problem, cache, goal = chunk
        solution = solve(problem, cache, tol=goal, max_iter=left, routes=self.routes)
        self.working.n_iter += solution.n_iter
        change = solution.beta - self.beta[variables]
        moved = np.flatnonzero(change)
        if len(moved) == 0:
            self.chunks = None
        self.beta[variables] = solution.beta
        return variables[moved], change[moved]

    def _goal(self):
        """Return the violation at which the next round may end."""
        if self.entire:
            return 0.4 * self.tol
        part = self.FULL if self.working.shared else self.SUB
        return max(0.4 * self.tol, part * self.violation)

    def _objective(self):
        b = self.beta
        return float(0.5 * (b @ (self.gradient + self.q)) + self.epsilon * np.abs(b).sum())

    def _diverges(self, objective):
        """Return True if the objective falls without end: b'Kb is tiny against |b|_1 squared."""
        if np.isfinite(self.lower).all() and np.isfinite(self.upper).all():
            return False
        size = float(np.abs(self.beta).sum())
        radius = max(float(self.cache.kernel.diagonal.max()), 1e-300)
        squared = float(self.beta @ self.product[self.index])
        return not np.isfinite(objective) or squared < 1e-13 * radius * size**2

    def _choose(self, up, low):
        """Return the variables of the next working set, per group, in ascending order."""
        m = len(self.beta)
        if self.entire and (self.working.may_share or m <= sum(self.working.limits)):
            return self.members
        if self.working.may_share and self._candidates(up, low) > 0.6 * m:
            return self.members
        chosen = []
        inside = (self.beta > self.lower) & (self.beta < self.upper) & (self.beta != 0)
        for members, (top, bottom), limit in zip(
            self.members, self.extremes, self.working.limits, strict=True
        ):
            size, gap, middle = len(members), top - bottom, 0.5 * (top + bottom)
            above, below = up[members] - middle, middle - low[members]
            free = inside[members]
            score = np.maximum(above, below)
            candidates = score > -self.MARGIN * gap
            room = max(LINE, self.FIRST * size // m, int(self.ROOM * np.count_nonzero(free)))
            room = min(size, limit) if self.cache.whole else min(size, room, limit)
            if np.count_nonzero(candidates) > room:
                half = room // 2
                taken = np.zeros(size, dtype=bool)
                drawn = self.draw_weights[members]
                drawn[[above.argmax(), below.argmax()]] = 1.0  # the worst pair, or nothing may move
                for side in (above * drawn, below * drawn):
                    best = np.argpartition(-side, half)[:half]
                    taken[best[side[best] > 0]] = True
                # The rest of the room: free variables, which the others' moves unsettle, then those
                # that violate next.
                score[free] += 2.0 * gap
                score[taken] = np.inf
                best = np.argpartition(-score, room - 1)[:room]
                kept = np.zeros(size, dtype=bool)
                kept[best] = True
                candidates &= kept
            chosen.append(members[candidates])
        return chosen

    def _candidates(self, up, low):
        """Return the number of variables that violate, or nearly."""
        count = 0
        for members, (top, bottom) in zip(self.members, self.extremes, strict=True):
            slack = (self.MARGIN - 0.5) * (top - bottom)
            violating = (up[members] > bottom - slack) | (low[members] < top + slack)
            count += np.count_nonzero(violating)
        return count

    def _solution(self, objective):
        multipliers = constraint_multipliers(
            self.gradient, self.beta, self.lower, self.upper, self.epsilon, self.group
        )
        return Solution(
            beta=round_to_bounds(self.beta, self.lower, self.upper),
            gradient=self.gradient, objective=objective,
            violation=float(self.violation), multipliers=multipliers,
            n_iter=int(self.working.n_iter), converged=bool(self.violation <= self.tol),
            diverged=bool(self._diverges(objective)),
            cause="steps" if self.working.n_iter >= self.max_iter else "kernel",
        )  # fmt: skip


def resolved(product: np.ndarray, linear: np.ndarray) -> float:
    """Return the least violation that rounding of the gradient does not hide."""
    return _RESOLVED * (np.abs(product).max(initial=0) + np.abs(linear).max(initial=0))


def _needed_part(problem):
    """Return the least part of the variables with which the required sums can be met."""
    largest = np.maximum(np.abs(problem.lower), np.abs(problem.upper)).sum()
    return sum(abs(total) for total in problem.total) / max(largest, 1e-300)


def _spans(index, n):
    """Return the runs of consecutive samples in use, or all samples when there are many runs."""
    used = np.zeros(n + 2, dtype=np.int8)
    used[index + 1] = 1
    edges = np.flatnonzero(np.diff(used))
    if len(edges) > 16:
        return [(0, n)]
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
