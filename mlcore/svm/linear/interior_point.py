"""Plain losses by a primal-dual interior point method, for costs under which other steps are slow.

The dual variables are ``beta = p - q`` with p and q between 0 and the bounds. Newton steps for the
conditions of optimality, whose products of slacks and multipliers are to be equal and small, have
the system ``I + sum theta z z'`` over all rows, z a row and a 1 (M. Ferris, T. Munson,
*Interior-point methods for massive support vector machines*, SIAM Journal on Optimization 13, 2002;
the predictor and corrector are Mehrotra's). Some fifteen systems are enough for any cost.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import linalg

from mlcore.numerics.eigen.lapack import stoppable
from mlcore.svm.linear.intercept import best_intercept
from mlcore.svm.linear.linear_rows import LinearRows
from mlcore.svm.linear.loss_problem import DualPoint, LossProblem, feasible

_MOST = 60  # steps
_SHORTER = 0.995  # part of the way to a bound
_IDLE = 6  # steps without a smaller gap, after which rounding is all that is left


class _Sides(NamedTuple):
    """Variables z between 0 and c: those of rows `row` with signs s and the linear terms f."""

    row: np.ndarray
    s: np.ndarray
    c: np.ndarray
    f: np.ndarray

    @classmethod
    def of(cls, problem):
        low, high = problem.bounds(problem.cost)
        up, down = np.flatnonzero(high > 0), np.flatnonzero(low < 0)
        row = np.concatenate([up, down])
        s = np.concatenate([np.ones(len(up)), -np.ones(len(down))])
        c = np.concatenate([high[up], -low[down]])
        return cls(row, s, c, problem.eps - s * problem.y[row])

    def sums(self, v, n):
        """Return the sums of v over the variables of each row, (n,)."""
        return np.bincount(self.row, weights=v, minlength=n)


class _Iterate(NamedTuple):
    """Parameters, scores f, variables z, and multipliers of their lower and upper bounds."""

    w: np.ndarray
    b: float
    f: np.ndarray
    z: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def plus(self, t, direction):
        return _Iterate(*(value + t * v for value, v in zip(self, direction, strict=True)))

    def mean_product(self, c):
        """Return the mean of the products that are to vanish."""
        return float(self.lower @ self.z + self.upper @ (c - self.z)) / (2 * len(self.z))

    def longest(self, direction, c):
        """Return the largest t, at most 1 / _SHORTER, up to which all stays positive."""
        longest, room = 1.0 / _SHORTER, c - self.z
        *_, dz, dl, du = direction
        for value, v in ((self.z, dz), (room, -dz), (self.lower, dl), (self.upper, du)):
            falls = v < 0
            if falls.any():
                longest = min(longest, float((-value[falls] / v[falls]).min()))
        return longest


def interior_points(
    rows: LinearRows, problem: LossProblem, fit_intercept: bool
) -> Iterator[DualPoint]:
    """Yield the points after each step, until none has a smaller gap."""
    sides = _Sides.of(problem)
    c = sides.c
    # The start: in the middle of the bounds, with the best constant function.
    w, b = np.zeros(rows.d), best_intercept(problem, np.zeros(rows.n)) if fit_intercept else 0.0
    f = np.full(rows.n, b)
    g = sides.f + sides.s * f[sides.row]
    unit = max(float(np.abs(g).mean()), np.finfo(float).tiny)
    at = _Iterate(w, b, f, 0.5 * c, np.maximum(g, 0) + unit, np.maximum(-g, 0) + unit)
    least, idle = np.inf, 0
    for _ in range(_MOST):
        # A step towards products of 0 tells how small they can be made in one step to equal ones.
        step = _steps(rows, sides, at, fit_intercept)
        ahead = step(0.0, 0.0)
        mean = at.mean_product(c)
        after = at.plus(at.longest(ahead, c), ahead).mean_product(c)
        to = mean * (after / mean) ** 3
        *_, dz, dl, du = ahead
        direction = step(to - dl * dz, to + du * dz)
        at = at.plus(min(1.0, _SHORTER * at.longest(direction, c)), direction)
        at = at._replace(z=np.clip(at.z, 1e-300, np.nextafter(c, 0)))
        beta = _snapped(sides, at, unit, rows.n)
        point = _point(rows, problem, at.w, at.f - at.b, beta, fit_intercept)
        if not np.isfinite(point.gap):
            return
        yield point
        idle = 0 if point.gap < 0.9 * least else idle + 1
        least = min(least, point.gap)
        if idle >= _IDLE:
            return


def _steps(rows, sides, at, fit_intercept):
    """Return a function of the products wanted that returns the Newton direction."""
    w, _, f, z, lower, upper = at
    room = sides.c - z
    D = lower / z + upper / room
    M = rows.gram(np.arange(rows.n), sides.sums(1 / D, rows.n))
    solve = _system(M, fit_intercept)
    beta = sides.sums(sides.s * z, rows.n)
    off, total = rows.transposed_times(beta) - w, float(beta.sum())
    rest = sides.f + sides.s * f[sides.row] - lower + upper

    def step(first, second):
        h = -rest + (first / z - lower) - (second / room - upper)
        t = sides.sums(sides.s * h / D, rows.n)
        p, pb = solve(off + rows.transposed_times(t), float(t.sum()) + total)
        q = rows.times(p) + pb
        dz = (h - sides.s * q[sides.row]) / D
        dl, du = (first - lower * dz) / z - lower, (second + upper * dz) / room - upper
        return p, pb, q, dz, dl, du

    return step


def _system(M, fit_intercept):
    """Return the solution of systems with M and the penalty of w."""
    d = len(M) - 1
    M.flat[: d * (d + 2) : d + 2] += 1
    if not fit_intercept:
        M = M[:d, :d]
    scale = 1 / np.sqrt(np.maximum(M.diagonal(), np.finfo(float).tiny))
    M = M * scale * scale[:, None]
    M.flat[:: len(M) + 1] += 1e-15
    try:
        factor = stoppable(lambda: linalg.cho_factor(M, lower=True, check_finite=False))
    except linalg.LinAlgError:
        M.flat[:: len(M) + 1] += 1e-11
        factor = stoppable(lambda: linalg.cho_factor(M, lower=True, check_finite=False))

    def solve(right, last):
        right = np.append(right, last) if fit_intercept else right
        x = scale * linalg.cho_solve(factor, scale * right, check_finite=False)
        return (x[:-1], float(x[-1])) if fit_intercept else (x, 0.0)

    return solve


def _snapped(sides, at, unit, n):
    """Return beta, with variables on the bound to which their multipliers hold them."""
    share = at.z / sides.c
    z = np.where(at.lower > unit * share, 0.0, at.z)
    z = np.where(at.upper > unit * (1 - share), sides.c, z)
    return sides.sums(sides.s * z, n)


def _point(rows, problem, w, f, beta, fit_intercept):
    b = best_intercept(problem, f) if fit_intercept else 0.0
    near = feasible(beta)[0] if fit_intercept else beta
    e, off = problem.y - f - b, w - rows.transposed_times(near)
    value = 0.5 * float(w @ w) + float(problem.losses(e).sum())
    return DualPoint(w, b, near, value, problem.gap(e, near, 0.5 * float(off @ off)))
