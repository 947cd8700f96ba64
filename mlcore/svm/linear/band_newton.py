"""Semismooth Newton steps for losses whose slope moves with the residual in a band.

Minimised is ``1/2 |w|² + sum_i M_i(e_i)`` over w and b, where M_i is the Moreau envelope of a plain
loss about an offset, or a squared loss: see `mlcore._ext.svm.linear.band_newton`. The Hessian is
``I + sum over the band of sigma z z'``, z a row and a 1. It is updated by the rows that enter or
leave the band. A step goes to the minimum along its line, which makes the end finite.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy import sparse as sp
from scipy.linalg import blas, lapack

from mlcore._ext.svm.linear import band_newton as _ext
from mlcore.numerics.conjugate_gradients import conjugate_gradients
from mlcore.numerics.eigen.lapack import stoppable
from mlcore.svm.linear.linear_rows import LinearRows
from mlcore.svm.linear.loss_problem import LossProblem

DIRECT = 2000  # features of which the Hessian may be formed
_REBUILD = 0.25  # share of the band's rows that change, beyond which it is formed anew
_STEPS, _MOST_STEPS = 50, 400  # of conjugate gradients, the former where there is another way
_PRODUCTS = 50  # whose time the matrix must take before conjugate gradients take its place
_FILLED = 0.15  # share of values, from which the Hessian is formed in float32, zeros and all
_NARROW = 150  # features up to which it takes as little time in float64
_NEAR, _CLOSE = 1e-2, 1e-3  # shares of the energy that steps without and with it leave
_WIDE = 1000  # features up to which few rows are no reason for updates of the Hessian
_STALE = 20  # conjugate gradients with its factor, of an earlier band perhaps
_FEW, _RATE = 6, 120  # least of these, and multiply-adds of BLAS in whose time one is made of them
_RIDGE = 1e-5  # of the diagonal, above the roundings of float32


class Band(NamedTuple):
    """The envelopes of n losses: targets, offsets of beta, sigma and bounds, and eps."""

    y: np.ndarray
    offset: np.ndarray
    sigma: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    eps: float


class BandPoint(NamedTuple):
    """Parameters, scores f = X theta + b, dual variables, rows in the band, value, gradient."""

    theta: np.ndarray
    b: float
    f: np.ndarray
    beta: np.ndarray
    band: np.ndarray
    value: float
    gradient: np.ndarray
    total: float

    def rest(self) -> float:
        """Return half the squared gradient: what ``w = X'beta`` lacks."""
        return 0.5 * float(self.gradient @ self.gradient)


def has_rough_factor(rows: LinearRows) -> bool:
    """Return True if the Hessian is soon formed and factored in float32."""
    d, most = rows.d, min(DIRECT, max(_WIDE, rows.n // 4))
    return _NARROW < d <= most and rows.per_row >= _FILLED * len(rows.columns)


class BandSystem:
    """Solutions of systems with the Hessian, which is kept from step to step.

    With `rough` a factor of it in float32 may be kept instead, which preconditions conjugate
    gradients: for bands of which few rows change. 10,000 rows of mnist, 10 classes: 0.8 to 0.4 s.
    """

    def __init__(self, rows: LinearRows, rough: bool = False) -> None:
        self.rows = rows
        self._is_rough = rough and has_rough_factor(rows)
        self._M: np.ndarray | None = None
        self._weight = np.zeros(rows.n)
        self._iterates = True
        self._rough: tuple[np.ndarray, ...] | None = None

    def solve(
        self, weight: np.ndarray, gradient: np.ndarray, slope: float, fit_intercept: bool
    ) -> tuple[np.ndarray, float]:
        """Return the step in w and in b, for weights sigma of the rows in the band, 0 elsewhere."""
        right = -np.append(gradient, slope if fit_intercept else 0.0)
        fixed = not fit_intercept or not weight.any()
        step = None
        if self.rows.n <= DIRECT < self.rows.d:
            return self._in_rows(weight, right, fixed)
        if self.rows.d > DIRECT or (self._iterates and (self._is_rough or self._is_slow(weight))):
            step = self._by_conjugate_gradients(weight, right, fixed)
        if step is None:
            self._update(weight)
            step = newton_step(self._M, right, fixed)
        return step[:-1], float(step[-1])

    def _is_slow(self, weight):
        """Return True if conjugate gradients are likely to be much faster than the matrix."""
        d, per_row = self.rows.d, self.rows.per_row
        changed = np.count_nonzero(weight) if self._M is None else 0
        product = 2 * np.count_nonzero(weight) * per_row
        return changed * per_row**2 / 2 + d**3 / 24 > _PRODUCTS * product

    def _update(self, weight):
        """Bring the matrix up to date."""
        changed = None
        if self._M is not None:
            change = weight - self._weight
            changed = np.flatnonzero(change)
        if changed is None or len(changed) > _REBUILD * np.count_nonzero(weight):
            active = np.flatnonzero(weight)
            self._M = self.rows.gram(active, weight[active])
        else:
            for side in (changed[change[changed] > 0], changed[change[changed] < 0]):
                if len(side):
                    self._M += self.rows.gram(side, change[side])
        self._weight = weight

    def _in_rows(self, weight, right, fixed):
        """Return the step from a system of the rows in the band, which are few."""
        band = np.flatnonzero(weight)
        r, last = right[:-1], float(right[-1])
        if not len(band):
            return r, 0.0 if fixed else last
        A = self.rows.products[np.ix_(band, band)]
        A.flat[:: len(band) + 1] += 1 / weight[band]
        scale = 1 / np.sqrt(A.diagonal())
        factor = stoppable(
            lambda: linalg.cho_factor(
                A * scale * scale[:, None], lower=True, overwrite_a=True, check_finite=False
            )
        )
        sides = np.stack([self.rows.times(r)[band], np.ones(len(band))], axis=1)
        sides = scale[:, None] * sides
        u, ones = scale * linalg.cho_solve(factor, sides, check_finite=False).T
        shift = 0.0 if fixed else (last - float(u.sum())) / float(ones.sum())
        v = np.zeros(self.rows.n)
        v[band] = u + shift * ones
        return r - self.rows.transposed_times(v), shift

    def _by_conjugate_gradients(self, weight, right, fixed):
        """Return a step that solves nearly; None where it takes too many products."""
        active = np.flatnonzero(weight)
        sigma, free = weight[active], 0.0 if fixed else 1.0
        free_of = np.ones(len(right))
        free_of[-1] = free

        def times(v):
            u = self.rows.curved(active, sigma, v * free_of)
            u[:-1] += v[:-1]
            u[-1] = free * u[-1] + (1 - free) * v[-1]
            return u

        if self._is_rough:
            step = self._by_rough_factor(times, right, active, sigma, fixed)
        else:
            diagonal = self._diagonal(active, sigma, fixed)
            most = _STEPS if self.rows.d <= DIRECT else _MOST_STEPS
            step, solved = _iterated(times, right, lambda r: r / diagonal, most, _NEAR)
            step = step if solved or self.rows.d > DIRECT else None
        self._iterates = step is not None
        return step

    def _by_rough_factor(self, times, right, active, sigma, fixed):
        """Return a step with the factor of an earlier band, which often does, or of this one."""
        solved = False
        if self._rough is not None:
            k, per_row = len(self.rows.columns), self.rows.per_row
            forming = (k**2 / 2 + k**3 / (6 * max(1, len(active)))) / (_RATE * per_row)
            most = int(min(max(_FEW, forming), _STALE))  # products in whose time another is formed
            step, solved = _iterated(times, right, self._nearly, most, _CLOSE)
        if not solved:
            self._rough = self._rough_factor(active, sigma, fixed)
            step, solved = _iterated(times, right, self._nearly, _STALE, _CLOSE)
        return step if solved else None

    def _diagonal(self, active, sigma, fixed):
        squares = _weighted_squares(self.rows.chosen(active), sigma)
        return np.append(1 + squares, 1.0 if fixed else sigma.sum())

    def _rough_factor(self, active, sigma, fixed):
        """Return the columns and scales, and the factor of the Hessian in float32."""
        diagonal = self._diagonal(active, sigma, fixed)
        at = np.append(self.rows.columns, self.rows.d)
        scale = 1 / np.sqrt(diagonal[at])
        M = self.rows.rough_gram(active, sigma, scale)
        if fixed:
            M[-1] = M[:, -1] = 0
        M.flat[:: len(M) + 1] = 1 + _RIDGE
        factor, failed = stoppable(
            lambda: lapack.spotrf(M.T, lower=0, clean=0, overwrite_a=1), len(M) ** 3 / 60
        )
        return at, scale, np.eye(len(M), dtype=np.float32) if failed else factor

    def _nearly(self, r):
        """Return the solution with the factor in float32."""
        at, scale, factor = self._rough
        z = r.copy()
        u = (scale * r[at]).astype(np.float32)
        u = blas.strsv(factor, blas.strsv(factor, u, trans=1))
        z[at] = scale * u
        return z


def newton_step(M: np.ndarray, right: np.ndarray, fixed: bool) -> np.ndarray:
    """Return the solution (d + 1,) of ``I + M``, the last of which is 0 if it is `fixed`."""
    H = M.copy()
    d = len(H) - 1
    H.flat[: d * (d + 2) : d + 2] += 1
    if fixed:
        H, right = H[:d, :d], right[:d]
    scale = 1 / np.sqrt(np.maximum(H.diagonal(), np.finfo(float).tiny))
    H = H * scale * scale[:, None]
    ridge = 0.0
    while (factor := _factored(H, ridge)) is None:
        ridge = max(1e-15, 10 * ridge)
        if ridge > 1:
            return np.append(right, 0.0) if fixed else right
    step = scale * lapack.dpotrs(factor, scale * right, lower=1)[0]
    return np.append(step, 0.0) if fixed else step


def _iterated(times, right, precondition, most, share):
    """Return a step, and True if a `share` of the energy is left, after `most` products at most."""
    iterates = conjugate_gradients(times, right, precondition, lambda a, b: float(a @ b))
    now = next(iterates)
    first = now.size
    left = max(1e-6, min(share, np.sqrt(max(first, 0.0)))) * first
    for count, now in enumerate(iterates, start=1):
        if now.size <= left or count >= most:
            break
    return now.x, now.size <= left


def _factored(H, ridge):
    """Return the Cholesky factor of H with a ridge, None if H is not positive.

    LAPACK itself, as the checks of SciPy take as long as small systems.
    """
    if ridge:
        H = H.copy()
        H.flat[:: len(H) + 1] += ridge
    factor, failed = stoppable(lambda: lapack.dpotrf(H.T, lower=1, clean=0), len(H) ** 3)
    return None if failed else factor


def _weighted_squares(rows, sigma):
    """Return the sums of sigma x_ij² over rows, (d,)."""
    if rows.sparse:
        X = rows.X
        squares = sp.csr_array((X.data**2, X.indices, X.indptr), shape=X.shape)
        return squares.T @ sigma
    out = np.zeros(rows.d)
    for start in range(0, rows.n, 1024):
        block = rows.X[start : start + 1024].astype(np.float64)
        out += sigma[start : start + 1024] @ block**2
    return out


def squared_band(problem: LossProblem) -> Band:
    """Return the envelopes that squared losses are."""
    lower, upper = problem.bounds(problem.cost)
    zeros = np.zeros(len(problem.y))
    return Band(problem.y, zeros, 2 * problem.cost, lower, upper, problem.eps)


def point_at(rows: LinearRows, band: Band, theta: np.ndarray, b: float, f: np.ndarray) -> BandPoint:
    """Return the point with these scores."""
    beta, inside = np.empty(len(f)), np.empty(len(f), np.int8)
    value, total = _evaluated(band, f, beta, inside)
    gradient = theta - rows.transposed_times(beta)
    value += 0.5 * float(theta @ theta)
    return BandPoint(theta, b, f, beta, inside, value, gradient, total)


def plain_gap(band: Band, point: BandPoint) -> tuple[float, float]:
    """Return the plain losses that are the limit of envelopes, and their brackets with beta."""
    return _ext.plain_gap(band.y - point.f, point.beta, band.lower, band.upper, band.eps)


def _evaluated(band, f, beta, inside):
    e = band.y - f
    return _ext.evaluate(e, band.offset, band.sigma, band.lower, band.upper, band.eps, beta, inside)


def least_along(band: Band, f: np.ndarray, q: np.ndarray, slope: float, curvature: float) -> float:
    """Return the t of the least value at scores ``f + t q``, less ``t slope + t² curvature/2``."""
    return _ext.minimise_along(
        band.y - f, q, band.offset, band.sigma, band.lower, band.upper, band.eps, slope, curvature
    )


def with_best_intercept(band: Band, b: float, f: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the intercept that is best for scores f, in which b is, and the scores with it."""
    t = least_along(band, f, np.ones(len(f)), 0.0, 0.0)
    return b + t, f + t


def first_point(
    rows: LinearRows, band: Band, theta: np.ndarray, b: float, fit_intercept: bool
) -> BandPoint:
    """Return the point at theta, with the best intercept, from b on."""
    f = rows.times(theta) + b
    if fit_intercept:
        b, f = with_best_intercept(band, b, f)
    return point_at(rows, band, theta, b, f)


def newton_points(
    system: BandSystem, band: Band, point: BandPoint, fit_intercept: bool
) -> Iterator[BandPoint]:
    """Yield the points after steps from `point` on, until no step lowers the value."""
    rows = system.rows
    while True:
        weight = band.sigma * point.band
        p, pb = system.solve(weight, point.gradient, -point.total, fit_intercept)
        q = rows.times(p) + pb
        slope, curvature = float(point.theta @ p), float(p @ p)
        t = least_along(band, point.f, q, slope, curvature)
        theta, b, f = point.theta + t * p, point.b + t * pb, point.f + t * q
        if fit_intercept:
            b, f = with_best_intercept(band, b, f)
        new = point_at(rows, band, theta, b, f)
        if not new.value < point.value and not new.rest() < 0.5 * point.rest():
            return
        point = new
        yield point
