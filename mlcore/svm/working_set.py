"""A working set of the dual problem: its square of K, and the small problem solved on it."""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from mlcore._ext import smo as _ext
from mlcore.svm.row_store import padded
from mlcore.scratch import scratch_array
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
    between that hold nothing and cannot move. A variable keeps its slot as long as it stays. Where
    all of K is at hand, it serves as the square of all variables, and a slot is a sample.

    Attributes
    ----------
    K : array of which the slots in use are filled
    spans : tuple of (begin, end, group)
        The slots in use.
    limits : tuple of int
        Most variables of each group.
    """

    def __init__(self, rows, index, epsilon, members):
        self.rows, self.index, self.epsilon = rows, index, epsilon
        self.n_iter = 0
        m, sizes = len(index), [padded(len(k)) for k in members]
        if sum(sizes) > rows.square:
            sizes = [padded(rows.square * len(k) // m) for k in members]
        self.limits = tuple(sizes)
        self._runs = _runs(index, members)
        self._own = self._slot_of = None
        self._borrowed = False

    @property
    def may_borrow(self):
        """Whether K itself can serve as the square of all variables."""
        return self._runs is not None and self.rows.whole

    @property
    def borrowed(self):
        """Whether it does."""
        return self._borrowed

    def load(self, chosen):
        """Make `chosen` (two ascending arrays of variables) the set."""
        m = len(self.index)
        if self.may_borrow and sum(map(len, chosen)) == m:
            if not self._borrowed:
                self.K, self.spans = self.rows.rows, self._runs
                self._slots, self._variables = self.index, np.arange(m)
                self._borrowed, self._slot_of = True, None
            return
        if self._slot_of is None:
            self._forget()
        entered, spans = [], []
        for members, (begin, end, group) in zip(chosen, self.spans, strict=True):
            held = self._variable[begin:end]
            stay = np.zeros(m + 1, dtype=bool)  # the last for slots of no variable
            stay[members] = True
            leaving = held[~stay[held] & (held >= 0)]
            held[~stay[held]] = -1
            self._slot_of[leaving] = -1
            new = members[self._slot_of[members] < 0]
            if len(members) < 0.75 * len(held):
                end = self._compact(begin, end)
            end = max(end, begin + padded(len(members)))
            holes = begin + np.flatnonzero(self._variable[begin:end] < 0)[: len(new)]
            self._variable[holes] = new
            self._slot_of[new] = holes
            entered.append(holes)
            spans.append((begin, end, group))
        self.spans = tuple(spans)
        self._slots = np.flatnonzero(self._variable >= 0)
        self._variables = self._variable[self._slots]
        self._fill(np.concatenate(entered))

    def _forget(self):
        """An own, empty square."""
        side = sum(self.limits)
        if self._own is None:
            self._own = scratch_array((side, side), self.rows.kernel.dtype, self)
        self.K, self._borrowed = self._own, False
        self.spans = ((0, 0, 0), (self.limits[0], self.limits[0], 1))
        self._variable = np.full(side, -1, dtype=np.int64)  # of each slot
        self._slot_of = np.full(len(self.index), -1, dtype=np.int64)  # of each variable

    def _compact(self, begin, end):
        """Close the gaps of one group; its new end."""
        old = begin + np.flatnonzero(self._variable[begin:end] >= 0)
        new = np.arange(begin, begin + len(old))
        used = np.concatenate([np.arange(b, e) for b, e, _ in self.spans])
        other = used[(used < begin) | (used >= end)]
        # Rows and columns only move down, in ascending order and by one thread: in place.
        _ext.gather(self.K, old, old, self.K, new, new, 1)
        if len(other):
            _ext.gather(self.K, old, other, self.K, new, other, 1)
            _ext.gather(self.K, other, old, self.K, other, new, 1)
        self._variable[new] = self._variable[old]
        self._variable[begin + len(old) : end] = -1
        self._slot_of[self._variable[new]] = new
        return begin + padded(len(old))

    def _fill(self, entered):
        """Rows and columns of K for the slots that have new variables."""
        used = np.concatenate([np.arange(b, e) for b, e, _ in self.spans])
        samples = np.where(self._variable[used] >= 0, self.index[self._variable[used]], 0)
        if len(entered):
            threads, store = effective_threads(len(entered) * len(used)), self.rows
            mine = self.index[self._variable[entered]]
            slots = store.held(mine)
            held = (slots >= 0) & store.keeps
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
            block, np.arange(len(slots)), everything, self.K, slots, used,
            effective_threads(block.size),
        )  # fmt: skip

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
        end, slots, v = self.spans[-1][1], self._slots, self._variables
        self.lower, self.upper, self.beta, self.G = (np.zeros(end) for _ in range(4))
        self.lower[slots], self.upper[slots] = lower[v], upper[v]
        self.beta[slots], self.G[slots] = beta[v], gradient[v]
        self._diagonal = np.zeros(end, dtype=self.K.dtype)
        self._diagonal[slots] = self.rows.kernel.diagonal[self.index[v]]
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
            for begin, end, _ in self.spans:
                threads = effective_threads(len(slots) * (end - begin))
                _ext.accumulate(slots, change[slots], self.K, self.G, begin, end, threads)

    def _groups(self):
        """The slots of each group that has any, as masks."""
        masks = []
        for group in (0, 1):
            mask = np.zeros(len(self.beta), dtype=bool)
            for begin, end, of in self.spans:
                mask[begin:end] |= of == group
            masks.append(mask)
        return [mask for mask in masks if mask.any()]

    def _violation(self, groups):
        rise, fall = offers(self.G, self.beta, self.lower, self.upper, self.epsilon)
        return max(rise[g].max() - fall[g].min() for g in groups)

    def _solve_face(self, tol):
        """Block pivoting: solve for the free variables, fix those that leave their box, free those
        that a wall holds wrongly, until nothing changes. Whether it came to that.

        From near the solution this takes a few Cholesky factorisations where pair steps crawl
        (Kunisch and Rendl, SIAM J. Optim. 14, 2003). Where it does not settle, the point it reached
        serves as a direction, along which the objective is minimised: it never rises.
        """
        start, start_G = self.beta.copy(), self.G.copy()
        groups = self._groups()
        totals = [self.beta[g].sum() for g in groups]
        free = np.zeros(len(start), dtype=bool)
        free[self._free()] = True
        sign = np.sign(self.beta) if self.epsilon > 0 else np.zeros(len(start))
        fewest, patience = np.inf, 3
        for _ in range(20):
            levels = self._to_face(free, sign, groups, totals)
            if levels is None:
                break
            changes = self._pivot(free, sign, groups, levels, tol)
            if changes == 0 and self._violation(groups) <= tol:
                if self._balanced(self.beta, groups, totals):
                    return True
                break
            patience -= changes >= fewest
            if patience == 0:
                break
            fewest = min(fewest, changes)
        self._line_search(start, start_G, free, groups, totals)
        return False

    def _walls(self, slots, sign):
        """Where free variables must stay: their box, or with epsilon its half of their sign."""
        low, high = self.lower[slots], self.upper[slots]
        if self.epsilon > 0:
            low = np.where(sign[slots] > 0, 0.0, low)
            high = np.where(sign[slots] < 0, 0.0, high)
        return low, high

    def _to_face(self, free, sign, groups, totals):
        """Minimise over the free variables, all others fixed; the level of G in each group.

        None where the face is empty or its matrix not positive definite.
        """
        slots = np.flatnonzero(free)
        f = len(slots)
        if f == 0:
            return None
        H = np.empty((f, f), dtype=self.K.dtype)
        everything = np.arange(f)
        _ext.gather(self.K, slots, slots, H, everything, everything, effective_threads(f * f))
        H = H.astype(np.float64)
        # A proximal term of the size of K's own rounding: repeating the solve removes its effect.
        H.flat[:: f + 1] += f * np.finfo(self.K.dtype).eps * max(H.diagonal().max(), 1e-300)
        present = [k for k, g in enumerate(groups) if g[slots].any()]
        A = np.column_stack([groups[k][slots] for k in present]).astype(np.float64)
        missing = np.array([totals[k] - self.beta[groups[k]].sum() for k in present])
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
        levels = np.full(len(groups), np.nan)
        levels[present] = level
        return levels

    def _pivot(self, free, sign, groups, levels, tol):
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
        for group, level in zip(groups, levels, strict=True):
            if np.isnan(level):
                continue
            up = bound & group & (rise > -level + tol)
            down = bound & group & (fall < -level - tol)
            free |= up | down
            sign[up] = 1.0
            sign[down] = -1.0
            released += np.count_nonzero(up) + np.count_nonzero(down)
        free[slots[hit]] = False
        if self.epsilon > 0:
            sign[slots[hit]] = np.sign(self.beta[slots[hit]])
        self._follow(change)
        return np.count_nonzero(hit) + released

    def _balanced(self, beta, groups, totals):
        """Whether each group has its sum, up to the rounding of summing it."""
        return all(
            abs(beta[g].sum() - total) <= 1e-13 * np.abs(beta[g]).sum()
            for g, total in zip(groups, totals, strict=True)
        )

    def _line_search(self, start, start_G, free, groups, totals):
        """From `start` towards the point reached, made feasible, as far as the objective falls."""
        self.beta = np.clip(self.beta, self.lower, self.upper)
        for group, total in zip(groups, totals, strict=True):
            slots = np.flatnonzero(free & group)
            rest = total - self.beta[group].sum() + self.beta[slots].sum()
            if len(slots):
                self.beta[slots] = nearest_with_sum(
                    self.beta[slots], self.lower[slots], self.upper[slots], rest
                )
        step = self.beta - start
        feasible = self._balanced(self.beta, groups, totals)
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


def _runs(index, members):
    """The spans of samples of ascending variables, at most four of them; None if there are more."""
    group = np.zeros(len(index), dtype=np.int64)
    group[members[1]] = 1
    breaks = np.flatnonzero((np.diff(index) != 1) | (np.diff(group) != 0)) + 1
    if len(breaks) > 3 or (np.diff(index) <= 0).any():
        return None
    edges = [0, *breaks.tolist(), len(index)]
    return tuple(
        (int(index[a]), int(index[b - 1]) + 1, int(group[a]))
        for a, b in zip(edges, edges[1:], strict=False)
    )
