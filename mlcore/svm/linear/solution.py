"""Minimum of a linear machine: the choice of the method, its start, and its end."""

import math
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from mlcore.numerics.conjugate_gradients import Product
from mlcore.numerics.eigen.lapack import stoppable
from mlcore.svm.linear.augmented_lagrangian import (
    augmented_lagrangian_points,
    start_of_part,
    typical_sigma,
)
from mlcore.svm.linear.band_newton import (
    DIRECT,
    BandSystem,
    first_point,
    has_rough_factor,
    newton_points,
    squared_band,
)
from mlcore.svm.linear.dual_descent import dual_descent_points, steps_left, whole_point
from mlcore.svm.linear.interior_point import interior_points
from mlcore.svm.linear.linear_rows import LinearRows
from mlcore.svm.linear.loss_problem import DualPoint, LossProblem
from mlcore.svm.linear.tall_newton import suits, tall_newton_points

_STRIDE = 8  # rows of which one is in the problem that gives a start
_PART = 1024  # rows of such a problem at least
_PER_FEATURE = 8  # of its rows at least, and of those of the augmented Lagrangian
_SWEEPS = 3  # steps for each row before Newton steps of a squared loss, of many features
_SWEEP = 6  # multiply-adds of a matrix product, in whose time a sweep reads a value
_SMALL = 512  # rows up to which plain losses are solved by Newton's method
_FEW = 256  # rows up to which all dual variables of plain losses are solved for together
# Cost times |x|² up to which it takes a third of the time: beyond, it may not end. Rows that are no
# more than features have few steps at any cost: 400 x 1000 took seconds, and takes 12 ms.
_MILD, _LARGE = 10.0, 1e9
_ROUNDED = 1e-12  # share of P that the gap there may be, which is that of rounding, and
_SLOPE = 1e-13  # share of the targets, by which each residual may be off
_NARROW = 300  # features up to which they are, for 20 times as many rows
_WORK = 1000.0  # steps for each row, after which coordinate descent gives way to Newton's method
_SQUARED_WORK = 60.0  # the same for squared losses, whose Newton steps need as much in all
_USUAL = 12  # Newton steps of a squared loss: most fits need half of them
_COSTLIER = 16.0  # factor from cost to cost on the way from small ones
_MANY_FEATURES = 4  # for each row, with which the span is much smaller
_SPAN = 1000  # rows whose span is computed
_DIGITS = 1e-8  # inverse of the condition of products, below which they lose too many
_QR = 2e9  # operations of a QR decomposition, some tenths of a second
_FINE = 1e-8  # tol below which the finite end of Newton's method is better
_TALL = 20  # rows for each feature, beyond which the band of Newton's method is a small part
_LITTLE, _FAR = 150.0, 0.3  # steps for each row after which a gap over P is far too large
_MANY = 150.0  # steps for each row that take longer than Newton steps with a rough factor
_ROUGH_STEPS = 100  # of these
_BACK = 16.0  # of which the last sigma of a part is so many times the first of all rows
_COARSE = 1e-2  # share of P that the gap of a start may be
_OF_PART = 0.2  # that of a squared loss on a part, whose minimum is farther from that of all rows

Report = Callable[[int, DualPoint], None]


class Minimum(NamedTuple):
    """The point of the least gap, and the number of iterations."""

    point: DualPoint
    n_iter: int


class Limits(NamedTuple):
    """Ends of a fit: the share of P that the gap may be, and the number of iterations."""

    tol: float
    max_iter: int


def minimum(
    rows: LinearRows,
    problem: LossProblem,
    fit_intercept: bool,
    limits: Limits,
    report: Report,
    start: DualPoint | None = None,
) -> Minimum:
    """Return the minimum of a problem in the units of the rows, from `start` on."""
    span = _Span.of(rows)
    if span is not None:
        origin = _zero(span.rows)
        if start is not None:
            origin = start._replace(theta=span.inside(start.theta))
        found = minimum(
            span.rows, problem, fit_intercept, limits,
            lambda n_iter, point: report(n_iter, span.outside(point)), origin,
        )  # fmt: skip
        return found._replace(point=span.outside(found.point))
    descends = problem.squared and rows.sparse and rows.d > DIRECT
    run = _Run(limits, problem.squared and not descends, report)
    if problem.squared and not descends:
        _by_newton(run, rows, problem, fit_intercept, start)
        return run.best()
    if start is None and _are_easy(rows, problem):
        point = whole_point(rows, problem, fit_intercept)
        rounded = _ROUNDED * point.value + _SLOPE * float(problem.cost @ np.abs(problem.y))
        if run.ends(1, point) or point.gap <= rounded:
            return run.best()
        run.before = 1
    first = _zero(rows) if start is None else start
    direct = rows.n <= _SMALL or (rows.d <= _NARROW and rows.n > 20 * rows.d)
    if descends or not direct or rows.d > DIRECT:
        if _by_descent(run, rows, problem, fit_intercept, first):
            return run.best()
        if not problem.squared and _by_other_steps(run, rows, problem, fit_intercept):
            return run.best()
        first, run.before = run.best().point, run.best().n_iter
    elif start is None:
        first, sigma = lagrangian_start(rows, problem, fit_intercept, limits)
        _by_lagrangian(run, rows, problem, fit_intercept, first, sigma)
        return run.best()
    if problem.squared:
        rest = _Run(limits, True, report)
        rest.before = run.best().n_iter
        _by_newton(rest, rows, problem, fit_intercept, first)
        return min(run.best(), rest.best(), key=lambda found: found.point.gap)
    _by_lagrangian(run, rows, problem, fit_intercept, first, None)
    return run.best()


def _are_easy(rows, problem):
    """Return True for few rows of which pair steps in all dual variables are few."""
    wide = rows.n <= rows.d
    share = 1.0 if problem.of_classes else 0.5  # regression takes more steps
    if problem.squared or rows.n > (_SMALL if wide else share * _FEW):
        return False
    size = float(problem.cost.mean()) * float(rows.squares[0].mean())
    return size <= (_LARGE if wide else share * _MILD)


def _by_other_steps(run, rows, problem, fit_intercept):
    """Take steps for a plain loss where those in single dual variables are slow.

    Return True if the fit ends.
    """
    interior, rough = _sweeps_of_others(rows, run.limits)
    if rough < interior:
        start, sigma = run.best().point, _BACK * typical_sigma(rows, problem)
        run.before = run.best().n_iter
        points = augmented_lagrangian_points(
            rows, problem, start, fit_intercept, sigma, run.limits.tol, rough=True
        )
        for count, (_, point) in enumerate(islice(points, _ROUGH_STEPS)):
            if run.ends(count, point):
                return True
    if interior < math.inf:
        run.before = run.best().n_iter
        points = interior_points(rows, problem, fit_intercept)
        return any(run.ends(count, point) for count, point in enumerate(points, start=1))
    return False


def _sweeps_of_others(rows, limits):
    """Return the steps in each dual variable in whose time two other methods end.

    These are interior points, and augmented Lagrangians with a factor in float32: infinite where
    they do not suit. Measured on mnist, and on 1000 to 5000 dense rows of 200 to 400 features.
    """
    d, per_row, inside = rows.d, rows.per_row, limits.tol >= _FINE
    interior = d**2 / (4 * per_row) + d**3 / (12 * rows.n * per_row)
    inside = inside and d <= DIRECT and rows.n <= _TALL * d
    rough = has_rough_factor(rows) and rows.n >= _PER_FEATURE * d
    return interior if inside else math.inf, _MANY if rough else math.inf


def _by_descent(run, rows, problem, fit_intercept, first):
    """Take steps of coordinate descent; return True if the fit ends, False if others are faster."""
    most = _SQUARED_WORK if problem.squared else _WORK
    done = 0.0
    limits, others = run.limits, min(_sweeps_of_others(rows, run.limits))
    others = others if rows.n > rows.d else math.inf  # rows that are all fitted need few steps
    since = None  # work and gap at the first look: the steps before are the fastest
    points = dual_descent_points(rows, problem, first, fit_intercept, limits.tol, limits.max_iter)
    for done, point in points:
        if run.ends(int(np.ceil(done)), point):
            return True
        slow = done >= _LITTLE and point.gap > _FAR * point.value
        left = steps_left(done, point, *(since or (0.0, point.value)), limits.tol)
        slow = slow or (left > others and not problem.squared)
        since = since or (done, point.gap)
        other = problem.squared or rows.d <= DIRECT
        if other and (slow or done >= min(most, run.limits.max_iter / 2)):
            break
    run.before = int(np.ceil(done))
    return False


class _Run:
    """The points of a fit, which ends at the gap or after the number of iterations asked for.

    Parameters and dual variables of plain losses are each the best so far, of different points
    perhaps; those of squared losses belong together.
    """

    def __init__(self, limits: Limits, squared: bool, report: Report) -> None:
        self.limits, self.report, self._squared = limits, report, squared
        self.before = 0
        self._best: DualPoint | None = None
        self._n_iter = 0

    def ends(self, n_iter: int, point: DualPoint) -> bool:
        """Take a point; return True if the fit ends with it."""
        self._n_iter = self.before + n_iter
        best = self._best
        if best is None:
            best = point
        elif self._squared:
            best = best if best.gap <= point.gap else point
        else:
            lower = point if point.value < best.value else best
            higher = point if point.value - point.gap > best.value - best.gap else best
            gap = lower.value - (higher.value - higher.gap)
            gap = min(gap, point.gap) if lower is point is higher else gap
            best = DualPoint(lower.theta, lower.b, higher.beta, lower.value, gap)
        self._best = best
        self.report(self._n_iter, best)
        return best.gap <= self.limits.tol * best.value or self._n_iter >= self.limits.max_iter

    def best(self) -> Minimum:
        """Return the best point."""
        return Minimum(self._best, self._n_iter)


def _zero(rows):
    return DualPoint(np.zeros(rows.d), 0.0, np.zeros(rows.n), np.inf, np.inf)


def _has_part(rows):
    return rows.n >= _STRIDE * max(_PART, _PER_FEATURE * rows.d)


def _part(rows, problem):
    every = np.arange(0, rows.n, _STRIDE)
    return rows.chosen(every), problem.part(_STRIDE)


def _by_newton(run, rows, problem, fit_intercept, start):
    """Take Newton steps for a squared loss."""
    if start is None:
        start = _zero(rows)
        if _has_part(rows):
            part, few = _part(rows, problem)
            limits = Limits(max(_OF_PART, run.limits.tol), run.limits.max_iter)
            start = minimum(part, few, fit_intercept, limits, _silent).point
        elif _sweeps_are_short(rows):
            points = dual_descent_points(
                rows, problem, start, fit_intercept, run.limits.tol, _SWEEPS
            )
            start = next(point for done, point in points)
    if _squared_steps(run, rows, problem, fit_intercept, start, _USUAL):
        return
    # Near the edges of the margins of separable classes steps become short: the way from small
    # costs, along which few rows come and go, is shorter.
    size = 2 * float(problem.cost.mean()) * float(rows.squares[0].mean())
    share = min(1.0, 1 / size) if size > 0 else 1.0
    coarse, point = Limits(_COARSE, run.limits.max_iter), _zero(rows)
    while share < 1:
        milder = _Run(coarse, True, _silent)
        less = problem._replace(cost=share * problem.cost)
        _squared_steps(milder, rows, less, fit_intercept, point, _USUAL)
        point = milder.best().point
        run.before += milder.best().n_iter
        share *= _COSTLIER
    _squared_steps(run, rows, problem, fit_intercept, point, None)


def _sweeps_are_short(rows):
    """Return True if sweeps of coordinate descent take less time than a Newton step."""
    step = rows.per_row**2 / 2 + rows.d**3 / (6 * rows.n)
    return _SWEEPS * _SWEEP * rows.per_row < step


def _squared_steps(run, rows, problem, fit_intercept, start, most):
    """Take Newton steps, up to `most`; return True if the fit ends, or no step helps."""
    for count, point in enumerate(_squared_points(rows, problem, fit_intercept, start)):
        if run.ends(count, point):
            return True
        if count == most:
            run.before += count
            return False
    return True


def _squared_points(rows, problem, fit_intercept, start):
    """Yield the points of Newton steps, the start the first."""
    if suits(rows, start):
        yield from tall_newton_points(rows, problem, start, fit_intercept)
        return
    band = squared_band(problem)
    point = first_point(rows, band, start.theta, start.b, fit_intercept)
    yield _squared_point(point)
    for new in newton_points(BandSystem(rows, rough=True), band, point, fit_intercept):
        yield _squared_point(new)


def _squared_point(point):
    return DualPoint(point.theta, point.b, point.beta, point.value, point.rest())


def _silent(n_iter, point):
    """Report nothing: the problem is that of a part of the rows."""


def lagrangian_start(
    rows: LinearRows, problem: LossProblem, fit_intercept: bool, limits: Limits
) -> tuple[DualPoint, float | None]:
    """Return a start from a part of the rows, with its sigma; zeros and None without a part."""
    if not _has_part(rows):
        return _zero(rows), None
    part, few = _part(rows, problem)
    run = _Run(Limits(max(_COARSE, limits.tol), limits.max_iter), False, _silent)
    first, sigma = lagrangian_start(part, few, fit_intercept, limits)
    sigma = _by_lagrangian(run, part, few, fit_intercept, first, sigma)
    return start_of_part(rows, problem, run.best().point, sigma), sigma / _BACK


def _by_lagrangian(run, rows, problem, fit_intercept, start, sigma):
    """Take the steps of the augmented Lagrangian; return the last sigma, of one row."""
    last = sigma
    points = augmented_lagrangian_points(rows, problem, start, fit_intercept, sigma, run.limits.tol)
    for count, (now, point) in enumerate(points):
        last = now
        if run.ends(count, point):
            break
    return last


class _Span:
    """Rows in orthonormal coordinates of their span, and the way back, the columns of `basis`.

    Where ``X X' = L L'`` is well conditioned, L are the rows and ``X' L'^-1`` is the basis, which
    is not formed. Elsewhere a QR decomposition of X', which takes ten times as long, keeps the
    digits of features of all sizes. Of more data the eigenpairs of ``X X' = U D U'`` make the basis
    ``X' U D^-1/2``.
    """

    def __init__(self, rows: LinearRows, times: Product, transposed_times: Product) -> None:
        self.rows, self._times, self.inside = rows, times, transposed_times

    @classmethod
    def of(cls, rows: LinearRows) -> "_Span | None":
        """Return the span of few rows of many more features; None for others."""
        n, d, X = rows.n, rows.d, rows.X
        if n > _SPAN or not (n < d and (d > DIRECT or _MANY_FEATURES * n < d)):
            return None
        K = rows.products
        L, failed = lapack.dpotrf(K, lower=1, clean=1)
        if not failed and lapack.dpocon(L, np.abs(K).sum(axis=0).max(), uplo="L")[0] > _DIGITS:
            solved = partial(linalg.solve_triangular, L, lower=True, check_finite=False)
            return cls(
                LinearRows(np.ascontiguousarray(L)),
                lambda u: rows.transposed_times(solved(u, trans=1)),
                lambda theta: solved(rows.times(theta)),
            )
        if n * n * d <= _QR:
            across = (X.toarray() if rows.sparse else X.astype(np.float64)).T
            basis, R = stoppable(lambda: linalg.qr(across, mode="economic", check_finite=False))
            own = LinearRows(np.ascontiguousarray(R.T))
            return cls(own, lambda u: basis @ u, lambda theta: basis.T @ theta)
        values, vectors = stoppable(lambda: linalg.eigh(K))
        kept = values > len(values) * 1e-15 * max(values.max(initial=0), 1e-300)
        if not kept.any():
            return None
        roots = np.sqrt(values[kept])
        factors = vectors[:, kept] / roots
        own = LinearRows(np.ascontiguousarray(vectors[:, kept] * roots))
        return cls(
            own,
            lambda u: rows.transposed_times(factors @ u),
            lambda theta: factors.T @ rows.times(theta),
        )

    def outside(self, point: DualPoint) -> DualPoint:
        """Return a point of the coordinates as one of the rows."""
        return point._replace(theta=self._times(point.theta))
