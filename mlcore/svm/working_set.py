"""A working set of the dual problem: its square of K, and the small problem solved on it."""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from mlcore._ext import smo as _ext
from mlcore.svm.row_store import LINE, padded
from mlcore.threads import effective_threads

_ENDLESS = 1e30  # a step as long as this comes from an open box and a matrix that is singular
_CALL_STEPS = 20_000  # pair steps of one compiled call: well under a second, then Ctrl-C


def offers(g, beta, lower, upper, epsilon):
    """Gain of a rise of each variable (-inf where it cannot) and loss of a fall (inf)."""
    if epsilon == 0:
        return np.where(beta < upper, -g, -np.inf), np.where(beta > lower, -g, np.inf)
    rise = np.where(beta < upper, -g - np.where(beta >= 0, epsilon, -epsilon), -np.inf)
    fall = np.where(beta > lower, -g - np.where(beta > 0, epsilon, -epsilon), np.inf)
    return rise, fall


class WorkingSet:
    """Variables with the square of K between them, kept from round to round.

    Group 0 has slots from 0 on, group 1 from `limits[0]` on, each as many as are in use, with some
    between that hold nothing and cannot move. A variable keeps its slot as long as it stays.

    Attributes
    ----------
    K : array (capacity, capacity) of which the slots in use are filled
    spans : ((begin, end), (begin, end))
        Slots of the two groups.
    variable : int64 (capacity,)
        The variable in each slot, -1 for none.
    """

    def __init__(self, rows, index, epsilon, members):
        self.rows, self.index, self.epsilon = rows, index, epsilon
        # Variable i is sample i, one group after the other: K itself can serve as the square.
        self._split = len(members[0])
        order = np.arange(rows.kernel.n)
        self._in_order = np.array_equal(index, order) and np.array_equal(
            np.concatenate(members), order
        )
        self.n_iter = 0
        m, sizes = len(index), [padded(len(k)) for k in members]
        if sum(sizes) > rows.square:
            sizes = [padded(rows.square * len(k) // m) for k in members]
        self.limits = tuple(sizes)  # most variables of each group
        self._slot_of = np.full(m, -1, dtype=np.int64)
        self._own = None
        self._forget()

    def _forget(self):
        """An own, empty square."""
        side = sum(self.limits)
        if self._own is None:
            self._own = np.empty((side, side), dtype=self.rows.kernel.dtype)
        self.K = self._own
        self.spans = ((0, 0), (self.limits[0], self.limits[0]))
        self.variable = np.full(side, -1, dtype=np.int64)
        self._slot_of[:] = -1
        self._borrowed = False

    def load(self, chosen):
        """Make `chosen` (two ascending arrays of variables) the set."""
        if self.may_borrow and sum(map(len, chosen)) == len(self.index):
            self._borrow()
            return
        if self._borrowed:
            self._forget()
        entered, spans = [], []
        for members, (begin, end) in zip(chosen, self.spans, strict=True):
            held = self.variable[begin:end]
            stay = np.zeros(len(self._slot_of) + 1, dtype=bool)
            stay[members] = True
            leaving = held[~stay[held] & (held >= 0)]
            held[~stay[held]] = -1
            self._slot_of[leaving] = -1
            new = members[self._slot_of[members] < 0]
            if np.count_nonzero(held >= 0) + len(new) < 0.75 * len(held):
                end = self._compact(begin, end)
            width = padded(len(members))
            end = max(end, begin + width)
            holes = begin + np.flatnonzero(self.variable[begin:end] < 0)[: len(new)]
            self.variable[holes] = new
            self._slot_of[new] = holes
            entered.append(holes)
            spans.append((begin, end))
        self.spans = tuple(spans)
        self._fill(np.concatenate(entered))

    @property
    def may_borrow(self):
        """Whether K itself can serve as the square of all variables."""
        return self._in_order and self.rows.whole

    def _borrow(self):
        """The whole matrix serves as the square."""
        n = self.rows.kernel.n
        self.K = self.rows.rows
        self.spans = ((0, self._split), (self._split, n))
        self.variable = np.full(self.K.shape[1], -1, dtype=np.int64)
        self.variable[:n] = np.arange(n)
        self._borrowed = True

    def _compact(self, begin, end):
        """Close the gaps of one group; its new end."""
        old = begin + np.flatnonzero(self.variable[begin:end] >= 0)
        new = np.arange(begin, begin + len(old))
        used = np.concatenate([np.arange(b, e) for b, e in self.spans])
        other = used[(used < begin) | (used >= end)]
        # Rows and columns only move down, in ascending order and by one thread: in place.
        _ext.gather(self.K, old, old, self.K, new, new, 1)
        if len(other):
            _ext.gather(self.K, old, other, self.K, new, other, 1)
            _ext.gather(self.K, other, old, self.K, other, new, 1)
        self.variable[new] = self.variable[old]
        self.variable[begin + len(old) : end] = -1
        self._slot_of[self.variable[new]] = new
        return begin + padded(len(old))

    def _fill(self, entered):
        """Rows and columns of K for the slots that have new variables."""
        used = np.concatenate([np.arange(b, e) for b, e in self.spans])
        samples = np.where(self.variable[used] >= 0, self.index[self.variable[used]], 0)
        if len(entered):
            threads, store = effective_threads(), self.rows
            mine = self.index[self.variable[entered]]
            slots = store.held(mine)
            # Few features: to compute a value again is quicker than to pick it from a row.
            held = slots >= 0 if store.kernel.terms > store.CHEAP else np.zeros(len(mine), bool)
            _ext.gather(store.rows, slots[held], samples, self.K, entered[held], used, threads)
            missing = entered[~held]
            if len(missing):
                self._compute(missing, mine[~held], samples, used)
            stayed = used[np.isin(used, entered, assume_unique=True, invert=True)]
            if len(stayed):
                _ext.mirror_rows(self.K, entered, stayed, threads)

    def _compute(self, slots, samples, columns, used):
        kernel = self.rows.kernel
        if len(used) == used[-1] + 1:  # the columns are the first slots
            kernel.fill(samples, self.K, slots, columns)
            return
        block = kernel.block(samples, columns)
        everything = np.arange(len(columns))
        _ext.gather(
            block, np.arange(len(slots)), everything, self.K, slots, used, effective_threads()
        )

    def solve(self, beta, gradient, lower, upper, *, tol, max_steps, face):
        """Improve the set's variables, to a violation of `tol` where that takes no too many steps.

        Parameters
        ----------
        beta, gradient, lower, upper : float64 (m,)
            Of all variables of the problem; `beta` is changed.
        tol : float
        max_steps : int
        face : bool
            Whether steps on the face of the free variables may be tried.

        Returns
        -------
        moved, change : the variables that moved, and by how much
        """
        end = max(end for _, end in self.spans)
        slots = np.flatnonzero(self.variable[:end] >= 0)
        v = self.variable[slots]
        self._end, self._slots = end, slots
        self.lower, self.upper, self.beta, self.G = (np.zeros(end) for _ in range(4))
        self.lower[slots], self.upper[slots] = lower[v], upper[v]
        self.beta[slots], self.G[slots] = beta[v], gradient[v]
        diagonal = np.zeros(end)
        diagonal[slots] = self.rows.kernel.diagonal[self.index[v]]
        self._diagonal = diagonal.astype(self.K.dtype)
        self._descend(tol, max_steps, face)
        new = self.beta[slots]
        moved = np.flatnonzero(new != beta[v])
        change = new[moved] - beta[v[moved]]
        beta[v] = new
        return v[moved], change

    def _descend(self, tol, max_steps, face):
        dtype, w = self.K.dtype, len(self._slots)
        spent = since_face = 0
        failures = 0
        while True:
            free = self._free()
            # A face is tried once the steps since the last have cost as much as it will.
            patience = max(2 * w, 2 * len(free) ** 3 // (10 * w)) << failures
            rise, fall = offers(0.0, self.beta, self.lower, self.upper, self.epsilon)
            start = self.beta.copy()
            allowed = min(_CALL_STEPS, patience - since_face, max_steps - spent)
            made, violation = _ext.steps(
                self.K, self.G.astype(dtype), rise.astype(dtype), fall.astype(dtype),
                self._diagonal, self.beta, self.lower, self.upper, self.spans, self.epsilon, tol,
                int(allowed),
            )  # fmt: skip
            spent, since_face = spent + made, since_face + made
            self.n_iter += made
            if violation <= tol or made < allowed or spent >= max_steps:
                return
            self._follow(self.beta - start)
            if face and since_face >= patience:
                since_face = 0
                failures += not self._solve_face(tol)
                self.n_iter += 1

    def _free(self):
        inside = (self.beta > self.lower) & (self.beta < self.upper)
        if self.epsilon > 0:
            inside &= self.beta != 0
        return np.flatnonzero(inside)

    def _follow(self, change):
        """Bring the gradient up to date after beta += change."""
        slots = np.flatnonzero(change)
        if len(slots):
            for begin, end in self.spans:
                _ext.accumulate(
                    slots, change[slots], self.K, self.G, begin, end, effective_threads()
                )

    def _violation(self):
        worst = 0.0
        rise, fall = offers(self.G, self.beta, self.lower, self.upper, self.epsilon)
        for begin, end in self.spans:
            if end > begin:
                worst = max(worst, rise[begin:end].max() - fall[begin:end].min())
        return worst

    def _solve_face(self, tol):
        """Block pivoting: solve for the free variables, fix those that leave their box, free those
        that a wall holds wrongly, until nothing changes. Whether it came to that.

        From near the solution this takes a few Cholesky factorisations where pair steps crawl
        (Kunisch and Rendl, SIAM J. Optim. 14, 2003). Where it does not settle, the point it reached
        serves as a direction, along which the objective is minimised: it never rises.
        """
        start, start_G = self.beta.copy(), self.G.copy()
        totals = [self.beta[begin:end].sum() for begin, end in self.spans]
        free = np.zeros(len(start), dtype=bool)
        free[self._free()] = True
        sign = np.sign(self.beta) if self.epsilon > 0 else np.zeros(len(start))
        fewest, patience = np.inf, 3
        for _ in range(20):
            levels = self._to_face(free, sign, totals)
            if levels is None:
                break
            changes = self._pivot(free, sign, levels, tol)
            if changes == 0 and self._violation() <= tol:
                return True
            patience -= changes >= fewest
            if patience == 0:
                break
            fewest = min(fewest, changes)
        self._line_search(start, start_G, free, totals)
        return False

    def _walls(self, slots, sign):
        """Where free variables must stay: their box, or with epsilon its half of their sign."""
        low, high = self.lower[slots], self.upper[slots]
        if self.epsilon > 0:
            low = np.where(sign[slots] > 0, 0.0, low)
            high = np.where(sign[slots] < 0, 0.0, high)
        return low, high

    def _to_face(self, free, sign, totals):
        """Minimise over the free variables, all others fixed; the level of G in each group.

        None where the face is empty or its matrix not positive definite.
        """
        slots = np.flatnonzero(free)
        f = len(slots)
        if f == 0:
            return None
        H = np.empty((f, f), dtype=self.K.dtype)
        everything = np.arange(f)
        _ext.gather(self.K, slots, slots, H, everything, everything, effective_threads())
        H = H.astype(np.float64)
        # A proximal term of the size of K's own rounding: repeating the solve removes its effect.
        H.flat[:: f + 1] += f * np.finfo(self.K.dtype).eps * max(H.diagonal().max(), 1e-300)
        groups = [(slots >= b) & (slots < e) for b, e in self.spans]
        present = [g for g in range(2) if groups[g].any()]
        A = np.column_stack([groups[g] for g in present]).astype(np.float64)
        missing = np.array([totals[g] - self.beta[slice(*self.spans[g])].sum() for g in present])
        try:
            factor = cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            return None
        right = np.column_stack([-(self.G[slots] + self.epsilon * sign[slots]), A])
        X = cho_solve(factor, right, overwrite_b=True, check_finite=False)
        try:
            level = np.linalg.solve(A.T @ X[:, 1:], missing - A.T @ X[:, 0])
        except np.linalg.LinAlgError:
            return None
        if not np.isfinite(X).all() or not np.isfinite(level).all():
            return None
        change = np.zeros(len(free))
        change[slots] = X[:, 0] + X[:, 1:] @ level
        self.beta += change
        self._follow(change)
        levels = np.full(2, np.nan)
        levels[present] = level
        return levels

    def _pivot(self, free, sign, levels, tol):
        """Clip what left its walls, release what gains by it; how many of either."""
        slots = np.flatnonzero(free)
        low, high = self._walls(slots, sign)
        clipped = np.clip(self.beta[slots], low, high)
        hit = (self.beta[slots] <= low) | (self.beta[slots] >= high)
        change = np.zeros(len(free))
        change[slots] = clipped - self.beta[slots]
        self.beta[slots] = clipped  # exactly on the wall
        rise, fall = offers(self.G, self.beta, self.lower, self.upper, self.epsilon)
        bound = ~free
        released = 0
        for (begin, end), level in zip(self.spans, levels, strict=True):
            if np.isnan(level):
                continue
            part = slice(begin, end)
            up = bound[part] & (rise[part] > -level + tol)
            down = bound[part] & (fall[part] < -level - tol)
            free[part] |= up | down
            sign[part][up] = 1.0
            sign[part][down] = -1.0
            released += np.count_nonzero(up) + np.count_nonzero(down)
        free[slots[hit]] = False
        if self.epsilon > 0:
            sign[slots[hit]] = np.sign(self.beta[slots[hit]])
        self._follow(change)
        return np.count_nonzero(hit) + released

    def _line_search(self, start, start_G, free, totals):
        """From `start` towards the point reached, made feasible, as far as the objective falls."""
        self.beta = np.clip(self.beta, self.lower, self.upper)
        for (begin, end), total in zip(self.spans, totals, strict=True):
            slots = begin + np.flatnonzero(free[begin:end])
            rest = total - self.beta[begin:end].sum() + self.beta[slots].sum()
            if len(slots):
                self.beta[slots] = nearest_with_sum(
                    self.beta[slots], self.lower[slots], self.upper[slots], rest
                )
        step = self.beta - start
        feasible = all(
            abs(step[begin:end].sum()) <= 1e-10 * (1e-300 + np.abs(step[begin:end]).sum())
            for begin, end in self.spans
        )
        self.beta, self.G = start, start_G
        if not feasible or not step.any() or not np.abs(step).max() < _ENDLESS:
            return
        reach = self.G.copy()
        self._follow(step)
        reach = self.G - reach
        self.G -= reach
        # |b| is convex: the chord bounds it, so this model bounds the objective from above.
        slope = float(self.G @ step) + self.epsilon * float(
            np.abs(start + step).sum() - np.abs(start).sum()
        )
        if slope < 0:
            t = min(1.0, -slope / max(float(step @ reach), 1e-300))
            self.beta = np.clip(start + t * step, self.lower, self.upper)
            self.G = self.G + t * reach


def nearest_with_sum(x, low, high, total):
    """clip(x + t, low, high) with t such that the sum is `total`, as near as t can bring it."""
    left, right = float((low - x).min()), float((high - x).max())
    for _ in range(200):
        middle = 0.5 * (left + right)
        if not left < middle < right:
            break
        if np.clip(x + middle, low, high).sum() < total:
            left = middle
        else:
            right = middle
    return np.clip(x + right, low, high)
