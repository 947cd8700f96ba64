"""Semismooth Newton steps for squared losses of many dense rows with few features.

The rows of other shapes are read for the scores, the gradient and the Hessian of a step each: see
`mlcore.svm.linear.band_newton`. Here one reading gives them all, and another the minimum along the
line of a step, which whole steps do without.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mlcore._ext.svm.linear import tall_newton as _ext
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, pieces
from mlcore.svm.linear.band_newton import (
    least_along,
    newton_step,
    squared_band,
    with_best_intercept,
)
from mlcore.svm.linear.linear_rows import LinearRows
from mlcore.svm.linear.loss_problem import DualPoint, LossProblem

# Features at least, whose products fill vectors, and at most: of more, BLAS makes up for readings.
_FEW, _MANY = 8, 100
_VALUES = 1_500_000  # at least, beyond the caches of a processor: others are soon read again
# At least if half of the rows are in the band, of which little is read again: .75 to .97 of the
# time (8 to 64 features); where few are in it, 1.05 to 1.4.
_VALUES_OF_BAND = 500_000
_GROUPS, _LEAST = 8, 1024  # groups of rows with sums of their own, and rows of one at least
_FLAT = 0.1  # share of the slope that may be left along a step, for it to be whole


class _Point(NamedTuple):
    """Parameters, scores and dual variables, value and gradient (d + 1,), and the gap."""

    theta: np.ndarray
    b: float
    f: np.ndarray
    beta: np.ndarray
    value: float
    gradient: np.ndarray
    gap: float
    share: tuple[float, float]

    def dual(self) -> DualPoint:
        """Return the point with dual variables that add up to 0."""
        above, below = self.share
        beta = self.beta
        if self.share != (1.0, 1.0):
            beta = beta * np.where(beta > 0, above, below)
        return DualPoint(self.theta, self.b, beta, self.value, self.gap)


def suits(rows: LinearRows, start: DualPoint) -> bool:
    """Return True for many dense rows of few features; `start` shows how many are in the band."""
    full = 2 * np.count_nonzero(start.beta) >= len(start.beta)
    least = _VALUES_OF_BAND if full else _VALUES
    return not rows.sparse and _FEW <= rows.d <= _MANY and rows.n * rows.d >= least


def tall_newton_points(
    rows: LinearRows, problem: LossProblem, start: DualPoint, fit_intercept: bool
) -> Iterator[DualPoint]:
    """Yield the points of steps from `start` on, itself the first, until none lowers the value."""
    band = squared_band(problem)
    sums = _Sums(rows, problem, fit_intercept)
    theta, b = start.theta, start.b
    whole = bool(theta.any())  # True if the next step is likely to be whole
    if not whole and fit_intercept:
        b = with_best_intercept(band, 0.0, np.zeros(rows.n))[0]
    point = sums.at(theta, b)
    while True:
        yield point.dual()
        fixed = not fit_intercept or not sums.band.any()
        step = newton_step(sums.gram, -point.gradient, fixed)
        p, pb, slope = step[:-1], float(step[-1]), float(step @ point.gradient)
        q = None
        if whole:
            new = sums.at(point.theta + p, point.b + pb)
            whole = new.value <= point.value and abs(new.gradient @ step) <= _FLAT * abs(slope)
            q = new.f - point.f
        if not whole:
            q = rows.times(p) + pb if q is None else q
            t = least_along(band, point.f, q, float(point.theta @ p), float(p @ p))
            b, f = point.b + t * pb, point.f + t * q
            if fit_intercept:
                b, f = with_best_intercept(band, b, f)
            new = sums.at(point.theta + t * p, b)
            whole = abs(t - 1) <= _FLAT
        if new.value < point.value or new.gap < 0.5 * point.gap:
            point = new
        elif sums.begin_anew():  # rows of large weights have left their rounding in the Hessian
            point = sums.at(point.theta, point.b)
        else:
            return


class _Sums:
    """Sums over rows at parameters; `gram` is that of the rows in the band, which it follows."""

    def __init__(self, rows: LinearRows, problem: LossProblem, fit_intercept: bool) -> None:
        self._rows, self._eps, self._fit_intercept = rows, problem.eps, fit_intercept
        self._y, self._sigma = np.ascontiguousarray(problem.y), 2 * problem.cost
        self.band = np.zeros(rows.n, np.int8)
        self.gram = np.zeros((rows.d + 1, rows.d + 1))
        self._bounds, self._has_left = problem.bounds(problem.cost), False
        panel = _ext.panel_width()
        self._width = -(-(rows.d + 1) // panel) * panel

    def begin_anew(self) -> bool:
        """Forget the band, of which rows have left since; return False if none has."""
        if not self._has_left:
            return False
        self.band[:], self.gram[:], self._has_left = 0, 0, False
        return True

    def at(self, theta: np.ndarray, b: float) -> _Point:
        """Return the point, and move the band to it."""
        rows, width, d = self._rows, self._width, self._rows.d
        groups = min(_GROUPS, max(1, rows.n // _LEAST))
        sums, gradients = np.zeros((groups, 4)), np.zeros((groups, 2, d))
        grams = np.zeros((groups, 2, width, width))
        f, beta = np.empty(rows.n), np.empty(rows.n)
        threads = effective_threads(rows.n * d)
        work = scratch_array((threads, _ext.work_size(width)), np.float64)
        for first, last in pieces(rows.n, 4 * d + 0.5 * d * d):
            _ext.tall_sums(
                rows.X, first, last, theta, b, self._y, self._sigma, *self._bounds, self._eps,
                f, beta, self.band, np.zeros(width), work, sums, gradients, grams, threads,
            )  # fmt: skip
        enters, leaves = np.tril(grams.sum(axis=0)[:, : d + 1, : d + 1])
        change = enters - leaves
        self._has_left |= bool(leaves.any())
        self.gram += change + np.tril(change, -1).T
        return self._point(theta, b, f, beta, sums.sum(axis=0), gradients.sum(axis=0))

    def _point(self, theta, b, f, beta, sums, gradients):
        above, below, plus, minus = sums.tolist()
        half = 0.5 * float(theta @ theta)
        gradient = np.append(theta - gradients.sum(axis=0), -(plus + minus))
        share = (1.0, 1.0)
        if self._fit_intercept:  # the heavier sign is scaled so that dual variables add up to 0
            share = (
                min(1.0, -minus / plus) if plus else 1.0,
                min(1.0, -plus / minus) if minus else 1.0,
            )
        else:
            gradient[-1] = 0.0
        lacks = theta - share[0] * gradients[0] - share[1] * gradients[1]
        gap = 0.5 * float(lacks @ lacks) + (1 - share[0]) ** 2 * above + (1 - share[1]) ** 2 * below
        return _Point(theta, b, f, beta, half + above + below, gradient, gap, share)
