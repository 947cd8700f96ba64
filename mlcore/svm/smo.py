"""The dual problem of every support vector machine here, and its solver.

With signed multipliers b (for a classifier b_i = y_i a_i) each machine minimises

    1/2 b'Kb + q'b + epsilon sum_i |b_i|,   lower <= b <= upper,

the sum of b over each of one or two groups being fixed. A variable may rise, at the gain
u_i = -g_i -+ epsilon with g = Kb + q, or fall; the problem is solved when, in each group, no gain
exceeds the loss of a fall by more than `tol` (the KKT conditions).

The solver works in rounds. A round picks the few thousand variables that are free or violate
most, takes the square of K between them, and solves that small problem: by sequential minimal
optimisation with second-order choice of the pair, and by Newton steps on the face of the free
variables where pair steps crawl. Only then are full rows of K fetched, and only for variables that
moved. Where K is cheap it is computed whole, half of it by symmetry, and is itself the first
square. Where the required sums need few variables, the first set is a few times as many.
"""

from dataclasses import dataclass, replace

import numpy as np

from mlcore.svm.bias import constraint_multipliers, round_to_bounds
from mlcore.svm.row_store import LINE, RowStore
from mlcore.svm.working_set import WorkingSet
from mlcore.threads import single_threaded_blas

__all__ = ["Problem", "RowStore", "Solution", "solve", "solve_many"]

_RESOLVED = 64 * float(np.finfo(np.float64).eps)
_ENTIRE = 2048  # up to this, all variables make one working set
_PLAIN = 256  # exponents of bounds up to which squares of sums neither overflow nor vanish
_FEW = 0.25  # part of the variables: where the required sums need more, all of K is worth its cost


def offers(g, beta, lower, upper, epsilon):
    """Gain of a rise of each variable (-inf where it cannot) and loss of a fall (inf)."""
    if epsilon == 0:
        return np.where(beta < upper, -g, -np.inf), np.where(beta > lower, -g, np.inf)
    rise = np.where(beta < upper, -g - np.where(beta >= 0, epsilon, -epsilon), -np.inf)
    fall = np.where(beta > lower, -g - np.where(beta > 0, epsilon, -epsilon), np.inf)
    return rise, fall


@dataclass
class Problem:
    """min 1/2 b'Kb + linear'b + epsilon |b|_1 in a box, with the sum of each group fixed.

    Attributes
    ----------
    linear, lower, upper : float64 (m,)
    index : intp (m,), optional
        The training sample of each variable; the samples themselves by default.
    start : float64 (m,), optional
        A feasible start; 0, or where `total` is given one that meets it, by default.
    epsilon : float
        Weight of the absolute values, not negative.
    group : int8 (m,), optional
        0 or 1; all 0 by default.
    total : tuple of float, optional
        Required sum of each group, when there is no `start`.
    """

    linear: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    index: np.ndarray | None = None
    start: np.ndarray | None = None
    epsilon: float = 0.0
    group: np.ndarray | None = None
    total: tuple | None = None

    @property
    def reach(self) -> float:
        """The largest absolute value that a variable may take."""
        return float(max(self.upper.max(), -self.lower.min()))

    @property
    def power(self) -> int:
        """The power of two to divide by before squares are formed; 0 for ordinary bounds.

        Without a linear term and epsilon the solution is proportional to the bounds.
        """
        power = int(np.frexp(self.reach)[1]) if 0 < self.reach < np.inf else 0
        return power if abs(power) > _PLAIN and not self.epsilon and not self.linear.any() else 0

    def divided(self, power: int) -> "Problem":
        """Return the problem whose solution is this one's over 2 to the `power`."""
        bounds = {
            name: None if values is None else np.ldexp(values, -power)
            for name in ("lower", "upper", "start", "total")
            for values in [getattr(self, name)]
        }
        return replace(self, **bounds)


@dataclass
class Solution:
    """What the solver found, with its evidence.

    Attributes
    ----------
    beta, gradient : float64 (m,)
        The multipliers, and Kb + q there.
    objective : float
        1/2 b'Kb + q'b + epsilon |b|_1.
    violation : float
        The largest KKT violation.
    multipliers : list of (low, high, value)
        For each group, the interval that the KKT conditions leave for the constraint's multiplier
        and the value taken (mlcore.svm.bias).
    n_iter : int
        Pair steps and Newton steps.
    converged, diverged : bool
        Whether `tol` was reached; whether the objective falls without end (no finite optimum).
    """

    beta: np.ndarray
    gradient: np.ndarray
    objective: float
    violation: float
    multipliers: list
    n_iter: int
    converged: bool
    diverged: bool = False


def solve(problem, rows, *, tol, max_iter=-1, progress=None):
    """The optimum of one problem, to a KKT violation of `tol`, or to what rounding lets be told.

    Parameters
    ----------
    problem : Problem
    rows : RowStore
    tol : float
    max_iter : int
        Bound on pair steps; -1 for none but a generous one.
    progress : mlcore.progress.Progress, optional
        Told step, dual objective and violation once a round.

    Returns
    -------
    Solution
    """
    power = problem.power
    if power:
        unit = problem.divided(power)
        found = solve(unit, rows, tol=np.ldexp(tol, -power), max_iter=max_iter, progress=progress)
        with np.errstate(over="ignore"):
            return replace(
                found,
                beta=np.ldexp(found.beta, power),
                gradient=np.ldexp(found.gradient, power),
                objective=float(np.ldexp(found.objective, 2 * power)),
                violation=float(np.ldexp(found.violation, power)),
                multipliers=[tuple(np.ldexp(m, power).tolist()) for m in found.multipliers],
            )
    with single_threaded_blas():  # the order of its sums depends on its threads
        return _Solver(problem, rows, tol, max_iter, progress).run()


def solve_many(problems, rows, *, tol, max_iter=-1, progress=None):
    """The solutions of several problems on the same samples, sharing their kernel rows."""
    if len(problems) > 2:
        rows.complete(len(problems))
    return [solve(p, rows, tol=tol, max_iter=max_iter, progress=progress) for p in problems]


class _Solver:
    MARGIN = 1.0  # of the violation: how far from it a bounded variable may be and still stay
    FIRST, ROOM = 1536, 1.5  # least variables of a working set, and how many for each free one
    FULL, SUB = 0.3, 0.3  # a round ends at this part of the violation it began with
    # Where the required sums need few of the variables (more than LEAST), the first working set has
    # NEEDED times as many, at least SMALLEST: its steps cost little beside the rows of a round.
    LEAST, NEEDED, SMALLEST, FEW_SUB = 768, 3, 256, 0.03

    def __init__(self, problem, rows, tol, max_iter, progress):
        self.rows, self.asked, self.tol, self.progress = rows, tol, tol, progress
        m, n = len(problem.linear), rows.kernel.n
        share = 1.0 if problem.total is None else _share(problem)
        if share > _FEW:
            rows.complete()
        self.q, self.lower, self.upper = problem.linear, problem.lower, problem.upper
        self.epsilon = problem.epsilon
        self.index = np.arange(m) if problem.index is None else problem.index
        self.max_iter = max(10_000_000, 1000 * m) if max_iter < 0 else max_iter
        self.group = np.zeros(m, dtype=np.int8) if problem.group is None else problem.group
        self.members = (np.flatnonzero(self.group == 0), np.flatnonzero(self.group == 1))
        self.product = np.zeros(n)  # K b, by sample
        self.mixture = np.ones(m)
        if problem.total is None and self.epsilon == 0:
            # Where many variables end at a bound, violators are drawn by their violation times a
            # number in (0, 1]: a set of only the worst is solved at the cost of all the others.
            fraction = 1.0 - (0.6180339887498949 * np.arange(m)) % 1.0
            self.mixture = fraction if rows.keeps else fraction**2
        self.FIRST = max(self.FIRST, m // 7)
        if not rows.keeps or rows.kernel.linear:  # a round costs more than the steps it saves
            self.SUB = 0.1
        if not rows.keeps:
            self.FIRST, self.ROOM = min(2560, max(1536, m // 3)), 1.25
        if rows.kernel.linear:  # many constraints are tight: small sets go round in rings
            self.FIRST = 2048
        # Of two groups, far more than the sums need may end free: one square of all is safer.
        least = _ENTIRE if len(self.members[1]) else self.LEAST
        few = share <= _FEW and m > least and not (rows.whole or rows.kernel.linear)
        if few:
            self.FIRST = min(self.FIRST, max(self.SMALLEST, int(self.NEEDED * share * m)))
            self.SUB = self.FEW_SUB
        self.entire = m <= _ENTIRE and not few
        self.w = np.zeros(rows.kernel.d) if rows.kernel.linear else None
        self.spans = _spans(self.index, n)
        self.working = WorkingSet(rows, self.index, self.epsilon, self.members)
        if problem.start is not None:
            self.beta = problem.start.astype(np.float64)
        elif problem.total is not None:
            probes = 64 if few else 256
            self.beta = _feasible_start(problem, self.members, self.index, rows, probes)
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
        if self.rows.kernel.linear and not self.rows.whole:
            self.rows.kernel.add_weights(samples, weights[samples], self.w)
            self.rows.kernel.expand(self.w, self.product)
        else:
            self.rows.add_product(samples, weights[samples], self.product, self.spans)

    def run(self):
        idle, least = 0, np.inf
        while True:
            self.tol = max(self.asked, resolved(self.product, self.q))
            self.gradient = self.product[self.index] + self.q
            rise, fall = offers(self.gradient, self.beta, self.lower, self.upper, self.epsilon)
            self.edges = [
                (rise[k].max(), fall[k].min()) if len(k) else (0.0, 0.0) for k in self.members
            ]
            self.violation = max(0.0, *(top - bottom for top, bottom in self.edges))
            objective = self._objective()
            if self.progress is not None:
                self.progress.step(self.working.n_iter, -objective, self.violation)
            # Each round lowers a convex objective; a kernel that is not one may go round in rings.
            idle = 0 if objective < least or self.violation <= self.tol else idle + 1
            least = min(least, objective)
            left = self.max_iter - self.working.n_iter
            if self.violation <= self.tol or left <= 0 or idle >= 5 or self._diverges(objective):
                break
            self.working.load(self._choose(rise, fall))
            moved, change = self.working.solve(
                self.beta, self.gradient, self.lower, self.upper, tol=self._goal(),
                max_steps=min(left, 200 * len(self.beta)),
            )  # fmt: skip
            if len(moved) == 0:
                break
            self._move(moved, change)
        return self._solution(objective)

    def _goal(self):
        """The violation at which the next round may end."""
        if self.entire:
            return 0.4 * self.tol
        part = self.FULL if self.working.borrowed else self.SUB
        return max(0.4 * self.tol, part * self.violation)

    def _objective(self):
        b = self.beta
        return float(0.5 * (b @ (self.gradient + self.q)) + self.epsilon * np.abs(b).sum())

    def _diverges(self, objective):
        """Whether the objective falls without end: only where a box is open.

        Then b'Kb stays small against |b|_1 squared; their ratio bounds the squared distance between
        the convex hulls of the classes, which rounding no longer tells from 0.
        """
        if np.isfinite(self.lower).all() and np.isfinite(self.upper).all():
            return False
        size = float(np.abs(self.beta).sum())
        radius = max(float(self.rows.kernel.diagonal.max()), 1e-300)
        squared = float(self.beta @ self.product[self.index])
        return not np.isfinite(objective) or squared < 1e-13 * radius * size**2

    def _choose(self, rise, fall):
        """The variables of the next working set, per group, in ascending order."""
        m = len(self.beta)
        if self.entire and (self.working.may_borrow or m <= sum(self.working.limits)):
            return self.members
        if self.working.may_borrow and self._candidates(rise, fall) > 0.6 * m:
            return self.members
        chosen = []
        inside = (self.beta > self.lower) & (self.beta < self.upper) & (self.beta != 0)
        for members, (top, bottom), limit in zip(
            self.members, self.edges, self.working.limits, strict=True
        ):
            size, gap, middle = len(members), top - bottom, 0.5 * (top + bottom)
            up, down = rise[members] - middle, middle - fall[members]
            free = inside[members]
            score = np.maximum(up, down)
            candidates = score > -self.MARGIN * gap
            room = max(LINE, self.FIRST * size // m, int(self.ROOM * np.count_nonzero(free)))
            room = min(size, limit) if self.rows.whole else min(size, room, limit)
            if np.count_nonzero(candidates) > room:
                half = room // 2
                taken = np.zeros(size, dtype=bool)
                drawn = self.mixture[members]
                drawn[[up.argmax(), down.argmax()]] = 1.0  # the worst pair, or nothing may move
                for side in (up * drawn, down * drawn):
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

    def _candidates(self, rise, fall):
        """How many variables violate, or nearly."""
        count = 0
        for members, (top, bottom) in zip(self.members, self.edges, strict=True):
            slack = (self.MARGIN - 0.5) * (top - bottom)
            near = (rise[members] > bottom - slack) | (fall[members] < top + slack)
            count += np.count_nonzero(near)
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
        )  # fmt: skip


def resolved(product, linear):
    """The least violation that rounding of the gradient leaves to be told."""
    return _RESOLVED * (np.abs(product).max(initial=0) + np.abs(linear).max(initial=0))


def _share(problem):
    """The part of the variables that is needed, at least, to reach the required sums."""
    reach = np.maximum(np.abs(problem.lower), np.abs(problem.upper)).sum()
    return sum(abs(total) for total in problem.total) / max(reach, 1e-300)


def _spans(index, n):
    """The runs of consecutive samples in use, or all samples when there are many runs."""
    used = np.zeros(n + 2, dtype=np.int8)
    used[index + 1] = 1
    edges = np.flatnonzero(np.diff(used))
    if len(edges) > 16:
        return [(0, n)]
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _feasible_start(problem, members, index, rows, probes):
    """Required sums on the variables where the kernel density of a probe is least."""
    kernel = rows.kernel
    probe = np.unique(np.linspace(0, kernel.n - 1, min(kernel.n, probes)).astype(np.int64))
    sign = np.where(problem.upper > 0, 1.0, -1.0)
    weights = np.bincount(index, weights=sign, minlength=kernel.n)
    density = np.zeros(kernel.n)
    rows.add_product(probe, weights[probe], density, [(0, kernel.n)])
    score = sign * density[index]
    beta = np.zeros(len(index))
    for k, total in zip(members, problem.total, strict=False):
        order = k[np.argsort(score[k], kind="stable")]
        reach = np.abs(problem.upper[order] if total >= 0 else problem.lower[order])
        before = np.cumsum(reach) - reach
        beta[order] = np.sign(total) * np.clip(abs(total) - before, 0.0, reach)
    return beta
