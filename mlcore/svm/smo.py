"""The dual problem of every support vector machine here, and its solver.

With signed multipliers b (for a classifier b_i = y_i a_i) each machine minimises

    1/2 b'Kb + q'b + epsilon sum_i |b_i|,   lower <= b <= upper,

the sum of b over each of one or two groups being fixed. A variable may rise, at the gain
u_i = -g_i -+ epsilon with g = Kb + q, or fall; the problem is solved when, in each group, no gain
exceeds the loss of a fall by more than `tol` (the KKT conditions).

The solver works in rounds. A round picks the few thousand variables that are free or violate most,
takes the square of K between them, and solves that small problem: by sequential minimal optimisation
with second-order choice of the pair, and, where many variables are free, by Newton steps on the face
they span. Only then are full rows of K fetched, and only for variables that moved.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from mlcore._ext import smo as _ext
from mlcore.threads import effective_threads

_PAD = 16  # groups inside a working set start at multiples of the widest vector
_CALL_STEPS = 20_000  # pair steps of one compiled call: well under a second, then Ctrl-C


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
        and the value taken: the mean over free variables, else the middle.
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


class RowStore:
    """Full rows of a kernel matrix, kept by recent use within a bound of memory.

    Parameters
    ----------
    kernel : KernelRows
    cache_size : float
        Megabytes for the rows, the working square and the packed samples together.
    """

    def __init__(self, kernel, cache_size):
        self.kernel = kernel
        row = kernel.n * kernel.dtype.itemsize
        budget = cache_size * 1e6 - kernel.nbytes
        # A tenth stays for the square; under some 64 rows every round would fetch all again.
        self.capacity = int(min(kernel.n, max(64, 0.9 * budget // max(1, row))))
        self.square_budget = max(4e6, 0.25 * cache_size * 1e6)
        self._rows = None
        self._slot = np.full(kernel.n, -1, dtype=np.int64)
        self._owner = np.full(self.capacity, -1, dtype=np.int64)
        self._used = np.zeros(self.capacity, dtype=np.int64)
        self._clock = 0

    @property
    def rows(self):
        """(capacity, n) array; memory is touched only where rows are stored."""
        if self._rows is None:
            self._rows = np.empty((self.capacity, self.kernel.n), dtype=self.kernel.dtype)
        return self._rows

    def held(self, samples):
        """The slot of each sample's row, -1 where it is not held."""
        return self._slot[samples]

    def fetch(self, samples):
        """Slots of the samples' rows (at most `capacity` of them), computed where missing."""
        self._clock += 1
        slots = self._slot[samples]
        self._used[slots[slots >= 0]] = self._clock
        missing = samples[slots < 0]
        if len(missing):
            order = np.argsort(self._used, kind="stable")[: len(missing)]
            gone = self._owner[order]
            self._slot[gone[gone >= 0]] = -1
            self._owner[order] = missing
            self._slot[missing] = order
            self._used[order] = self._clock
            try:
                self.kernel.fill(missing, self.rows, order)
            except BaseException:  # an interrupt: those rows hold nothing
                self._slot[missing] = -1
                self._owner[order] = -1
                self._used[order] = 0
                raise
            slots = self._slot[samples]
        return slots

    def add_product(self, samples, weights, out, spans):
        """out += sum_s weights[s] K[s] over the given spans of samples."""
        for start in range(0, len(samples), self.capacity):
            part = slice(start, start + self.capacity)
            slots = self.fetch(samples[part])
            for first, last in spans:
                _ext.accumulate(
                    slots, weights[part], self.rows, out, first, last, effective_threads()
                )


def solve(problem, rows, *, tol, max_iter=-1, progress=None):
    """The optimum of one problem, to a KKT violation of `tol`.

    Parameters
    ----------
    problem : Problem
    rows : RowStore
    tol : float
    max_iter : int
        Bound on pair and Newton steps; -1 for none.
    progress : mlcore.progress.Progress, optional
        Told step, objective and violation once a round.

    Returns
    -------
    Solution
    """
    return _Solver(problem, rows, tol, max_iter, progress).run()


class _Solver:
    WORKING = 2048

    def __init__(self, problem, rows, tol, max_iter, progress):
        self.rows, self.tol, self.progress = rows, tol, progress
        self.max_iter = np.inf if max_iter < 0 else max_iter
        kernel = rows.kernel
        self.q, self.lower, self.upper = problem.linear, problem.lower, problem.upper
        m = len(self.q)
        self.index = np.arange(m) if problem.index is None else problem.index
        self.epsilon = problem.epsilon
        group = np.zeros(m, dtype=np.int8) if problem.group is None else problem.group
        self.members = [np.flatnonzero(group == g) for g in range(2)]
        self.group = group
        self.K_dtype = kernel.dtype
        self.product = np.zeros(kernel.n)  # K b, by sample
        self.spans = _spans(self.index, kernel.n)
        self.beta = np.zeros(m) if problem.start is None else problem.start.astype(np.float64)
        if problem.start is None and problem.total is not None:
            self.beta = _feasible_start(problem, group, rows)
        self.n_iter = 0
        self._move(np.flatnonzero(self.beta), self.beta[self.beta != 0])
        self.slots = _Square(kernel, rows, self.index, self.WORKING)

    def _move(self, variables, change):
        """Bring K b up to date after beta[variables] += change."""
        if len(variables) == 0:
            return
        samples, at = np.unique(self.index[variables], return_inverse=True)
        weights = np.bincount(at, weights=change, minlength=len(samples))
        self.rows.add_product(samples, weights, self.product, self.spans)

    def _offers(self):
        """Gain of a rise (-inf where none is possible) and loss of a fall (inf), per variable."""
        g = self.product[self.index] + self.q
        return _offers(g, self.beta, self.lower, self.upper, self.epsilon)

    def run(self):
        last_objective = np.inf
        for round_ in range(1_000_000):
            rise, fall = self._offers()
            violation = self._violation(rise, fall)
            self.last = violation
            if self.progress is not None:
                objective = self._objective()
                self.progress.step(self.n_iter, -objective, violation)
            if violation <= self.tol or self.n_iter >= self.max_iter:
                break
            chosen = self._choose(rise, fall)
            moved = self._work(chosen, violation)
            if not moved:
                break
        return self._solution(rise, fall, violation)

    def _violation(self, rise, fall):
        worst = 0.0
        self.edges = []
        for members in self.members:
            if len(members):
                top, bottom = rise[members].max(), fall[members].min()
                self.edges.append((top, bottom))
                worst = max(worst, top - bottom)
            else:
                self.edges.append((0.0, 0.0))
        return worst

    def _objective(self):
        b = self.beta
        return float(
            0.5 * (b @ self.product[self.index]) + b @ self.q + self.epsilon * np.abs(b).sum()
        )

    def _choose(self, rise, fall):
        """The variables of the next working set, per group."""
        m = len(self.beta)
        chosen = []
        sizes = [len(k) for k in self.members]
        for members, (top, bottom), size in zip(self.members, self.edges, sizes, strict=True):
            room = size if m <= self.WORKING else int(self.WORKING * size / m)
            if size <= room:
                chosen.append(members)
                continue
            middle = 0.5 * (top + bottom)
            up, down = rise[members] - middle, middle - fall[members]
            free = np.isfinite(up) & np.isfinite(down)
            score = np.maximum(up, down)
            half = room // 2
            taken = np.zeros(size, dtype=bool)
            for side in (up, down):
                best = np.argpartition(-side, half)[:half]
                taken[best[side[best] > 0]] = True
            # Then free variables, which the others' moves will unsettle, and the next to violate.
            score[free] += 2.0 * (top - bottom)
            score[taken] = np.inf
            best = np.argpartition(-score, room - 1)[:room]
            chosen.append(members[best[np.isfinite(up[best]) | np.isfinite(down[best])]])
        return chosen

    def _work(self, chosen, violation):
        """One round on a working set; whether anything moved."""
        s = self.slots
        s.load(chosen)
        w = s.width
        real = s.variable >= 0
        v = s.variable[real]
        beta = np.zeros(w)
        lower, upper = np.zeros(w), np.zeros(w)
        beta[real], lower[real], upper[real] = self.beta[v], self.lower[v], self.upper[v]
        G = np.zeros(w)
        G[real] = self.product[self.index[v]] + self.q[v]
        tol = max(0.4 * self.tol, 0.1 * violation)
        before = beta.copy()
        self._inner(s, G, beta, lower, upper, tol)
        change = (beta - before)[real]
        moved = np.flatnonzero(change)
        self.beta[v] = beta[real]
        self._move(v[moved], change[moved])
        return len(moved) > 0

    def _inner(self, s, G, beta, lower, upper, tol):
        K, dtype = s.K[: s.width], self.K_dtype
        diagonal = s.diagonal.astype(dtype)
        done = 0
        w = s.width
        limit = 100 * w
        while True:
            working = G.astype(dtype)
            rise, fall = _offers(0.0, beta, lower, upper, self.epsilon)
            start = beta.copy()
            free = np.flatnonzero((beta > lower) & (beta < upper))
            chunk = int(min(_CALL_STEPS, max(2 * w, len(free) ** 3 / (40.0 * w))))
            made, violation = _ext.steps(
                K, working, rise.astype(dtype), fall.astype(dtype), diagonal, beta, lower, upper,
                s.split, self.epsilon, tol, int(min(chunk, self.max_iter - self.n_iter)),
            )  # fmt: skip
            self.stats = getattr(self, "stats", [0, 0])
            self.stats[0] += made
            self.n_iter += made
            done += made
            moved = np.flatnonzero(beta != start)
            s.add_product(moved, (beta - start)[moved], G)
            if violation <= tol or made < chunk or done >= limit:
                return
            self._newton(s, G, beta, lower, upper)

    def _newton(self, s, G, beta, lower, upper):
        """A Newton step on the face of the free variables; False if it brings nothing."""
        free = (beta > lower) & (beta < upper)
        if self.epsilon > 0:
            free &= beta != 0
        free = np.flatnonzero(free)
        if len(free) < 2:
            return False
        self.stats[1] += 1
        f = len(free)
        H = s.K[: s.width][np.ix_(free, free)].astype(np.float64)
        ridge = f * np.finfo(self.K_dtype).eps * H.diagonal().mean()
        H.flat[:: f + 1] += ridge
        b = beta[free]
        g = G[free] + self.epsilon * np.sign(b) if self.epsilon else G[free]
        A = np.zeros((f, 2))
        second = free >= s.split
        A[~second, 0] = 1.0
        A[second, 1] = 1.0
        A = A[:, A.any(axis=0)]
        try:
            factor = cho_factor(H, lower=True, overwrite_a=False, check_finite=False)
        except LinAlgError:
            return False
        X = cho_solve(factor, np.column_stack([-g, A]), check_finite=False)
        d = X[:, 0] - X[:, 1:] @ np.linalg.solve(A.T @ X[:, 1:], A.T @ X[:, 0])
        low, high = lower[free], upper[free]
        if self.epsilon > 0:
            low, high = np.where(b > 0, 0.0, low), np.where(b < 0, 0.0, high)
        target = np.empty(f)
        for column in range(A.shape[1]):
            mine = A[:, column] > 0
            target[mine] = _project(b[mine] + d[mine], low[mine], high[mine], b[mine].sum())
        step = target - b
        slope = g @ step
        curvature = step @ (H @ step)
        if not slope < 0:
            return False
        t = min(1.0, -slope / max(curvature, 1e-300))
        new = target if t == 1.0 else np.clip(b + t * step, low, high)
        self.n_iter += 1
        beta[free] = new
        s.add_product(free, new - b, G)
        return True

    def _solution(self, rise, fall, violation):
        multipliers = []
        for members, (top, bottom) in zip(self.members, self.edges, strict=True):
            if len(members) == 0:
                continue
            up, down = rise[members], fall[members]
            free = np.isfinite(up) & np.isfinite(down) & (up == down)
            value = -float(up[free].mean()) if free.any() else -0.5 * float(top + bottom)
            multipliers.append((-float(top), -float(bottom), value))
        g = self.product[self.index] + self.q
        return Solution(
            beta=self.beta, gradient=g, objective=self._objective(), violation=float(violation),
            multipliers=multipliers, n_iter=int(self.n_iter), converged=bool(violation <= self.tol),
        )  # fmt: skip


class _Square:
    """K between the variables of the working set, kept from round to round.

    Group 0 fills slots [0, split), group 1 [split, width), each padded to a multiple of the widest
    vector by slots that cannot move. A variable keeps its slot as long as it stays.
    """

    def __init__(self, kernel, rows, index, size):
        self.kernel, self.rows, self.index = kernel, rows, index
        self.K = np.zeros((0, 0), dtype=kernel.dtype)
        self.variable = np.zeros(0, dtype=np.int64)
        self.diagonal = np.zeros(0)
        self.split = self.width = 0

    def load(self, chosen):
        edges = [-(-len(c) // _PAD) * _PAD for c in chosen]
        split, width = edges[0], edges[0] + edges[1]
        stride = width
        fits = self.width and split <= self.split and edges[1] <= self.width - self.split
        if not fits:
            self.split, self.width = split, width
            self.variable = np.full(width, -1, dtype=np.int64)
            self.K = np.zeros((width, stride), dtype=self.kernel.dtype)
            self.diagonal = np.zeros(width)
        entered = []
        for (start, stop), members in zip(
            ((0, self.split), (self.split, self.width)), chosen, strict=True
        ):
            held = self.variable[start:stop]
            stay = np.isin(held, members)
            held[~stay] = -1
            new = members[np.isin(members, held, invert=True)]
            places = np.flatnonzero(held < 0)[: len(new)]
            held[places] = new
            entered.append(places + start)
        entered = np.concatenate(entered)
        real = np.flatnonzero(self.variable >= 0)
        samples = np.zeros(self.width, dtype=np.int64)
        samples[real] = self.index[self.variable[real]]
        if len(entered):
            self.kernel.fill(samples[entered], self.K, entered, samples)
            _ext.mirror_rows(
                self.K, np.ascontiguousarray(entered, dtype=np.int64), effective_threads()
            )
        self.diagonal = self.kernel.diagonal[samples]
        self.K[np.arange(self.width), np.arange(self.width)] = self.diagonal

    def add_product(self, slots, weights, G):
        _ext.accumulate(slots, weights, self.K, G, 0, self.width, effective_threads())


def _offers(g, beta, lower, upper, epsilon):
    rise = np.where(beta < upper, -g - np.where(beta >= 0, epsilon, -epsilon), -np.inf)
    fall = np.where(beta > lower, -g - np.where(beta > 0, epsilon, -epsilon), np.inf)
    return rise, fall


def _project(x, low, high, total):
    """The nearest point to x with low <= point <= high and the given sum (by bisection)."""
    left, right = (low - x).min(), (high - x).max()
    for _ in range(100):
        middle = 0.5 * (left + right)
        if np.clip(x + middle, low, high).sum() < total:
            left = middle
        else:
            right = middle
    point = np.clip(x + right, low, high)
    return point


def _spans(index, n):
    """The runs of consecutive samples in use, or all samples when there are many runs."""
    samples = np.unique(index)
    breaks = np.flatnonzero(np.diff(samples) > 1)
    if len(breaks) > 7:
        return [(0, n)]
    starts = samples[np.concatenate([[0], breaks + 1])]
    stops = samples[np.concatenate([breaks, [len(samples) - 1]])] + 1
    return list(zip(starts.tolist(), stops.tolist(), strict=True))


def _feasible_start(problem, group, rows):
    """Required sums on the variables where the kernel density of a probe is least."""
    kernel, m = rows.kernel, len(problem.linear)
    index = np.arange(m) if problem.index is None else problem.index
    probe = np.unique(np.linspace(0, kernel.n - 1, min(kernel.n, 256)).astype(np.int64))
    sign = np.where(problem.upper > 0, 1.0, -1.0)
    weights = np.zeros(kernel.n)
    np.add.at(weights, index, sign)  # zero where both signs sit on one sample
    density = np.zeros(kernel.n)
    rows.add_product(probe, weights[probe], density, [(0, kernel.n)])
    score = sign * density[index]
    beta = np.zeros(m)
    for g, total in enumerate(problem.total):
        members = np.flatnonzero(group == g)
        order = members[np.argsort(score[members], kind="stable")]
        reach = np.where(total >= 0, problem.upper[order], problem.lower[order])
        before = np.concatenate([[0.0], np.cumsum(np.abs(reach))[:-1]])
        beta[order] = np.sign(total) * np.clip(abs(total) - before, 0.0, np.abs(reach))
    return beta


def solve_many(problems, rows, *, tol, max_iter=-1, progress=None):
    """The solutions of several problems on the same samples, sharing their kernel rows."""
    return [solve(p, rows, tol=tol, max_iter=max_iter, progress=progress) for p in problems]
