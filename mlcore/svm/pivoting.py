"""Block pivoting: the small problem of a working set solved on the face of its free variables."""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from mlcore._ext import smo as _ext
from mlcore.threads import effective_threads

_ENDLESS = 1e30  # a step as long as this comes from an open box and a matrix that is singular


def offers(g, beta, lower, upper, epsilon):
    """Gain of a rise of each variable (-inf where it cannot) and loss of a fall (inf)."""
    if epsilon == 0:
        return np.where(beta < upper, -g, -np.inf), np.where(beta > lower, -g, np.inf)
    rise = np.where(beta < upper, -g - np.where(beta >= 0, epsilon, -epsilon), -np.inf)
    fall = np.where(beta > lower, -g - np.where(beta > 0, epsilon, -epsilon), np.inf)
    return rise, fall


class Face:
    """The state of a small problem, and its descent on the face of its free variables.

    Attributes
    ----------
    K : array of which the slots in use are filled
    spans : tuple of (begin, end, group)
        The slots in use.
    beta, G, lower, upper : float64, one value for each slot
        Variables, gradient K beta + q, and box; slots of no variable have a box that is a point.
    epsilon : float
        Weight of |beta|.
    """

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
            sign[up] = np.where(self.beta[up] < 0, -1.0, 1.0)
            sign[down] = np.where(self.beta[down] > 0, 1.0, -1.0)
            released += np.count_nonzero(up) + np.count_nonzero(down)
        free[slots[hit]] = False
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
