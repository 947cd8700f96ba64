"""Least squares with absolute values in the penalty, from products of columns."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mlcore._ext.linear_model import coordinate as _ext
from mlcore.linear_model.coordinate.penalties import Penalties, Solution, trace_of_fit
from mlcore.linear_model.regression.least_squares import EPS
from mlcore.linear_model.regression.rows import DataUnits, Rows
from mlcore.numerics.eigen.lapack import stoppable
from mlcore.numerics.scatter import Scatter, in_larger_units, merged_scatter
from mlcore.runtime.threads import single_threaded_blas

READINGS = 5  # of the rows, in which their residuals correct what products have lost
INNER = 0.5  # of a tolerance, to which problems of products are solved
_SMALLEST = 2.0**-960  # weight or sum of squares, beside which products have all their digits
_SHOWN = 1e-3  # share of the squares of targets left over, from which sums show all their digits
_WORTH = 1e7  # operations from which a thread of its own is worth it


class ProductSums(NamedTuple):
    """Sums over rows of features and targets side by side: a `Scatter`, with the number of rows,
    and the rounding of the numbers that were added, which bounds its errors.
    """

    n_rows: int
    eps: float
    weight: float
    mean: np.ndarray
    scatter: np.ndarray

    @classmethod
    def of(cls, sums: Scatter, n_rows: int, eps: float = EPS) -> "ProductSums":
        """Return those of a scatter of so many rows."""
        return cls(n_rows, eps, *sums)

    @property
    def of_rows(self) -> Scatter:
        """The sums alone."""
        return Scatter(self.weight, self.mean, self.scatter)

    def times_two_to(self, power: int) -> "ProductSums | None":
        """Return the sums of rows with weights 2^power times as large, None if out of range."""
        if power == 0:
            return self
        squares = self.scatter.diagonal()
        ends = np.array([self.weight, *squares[squares > 0]])
        with np.errstate(over="ignore", under="ignore"):
            ends = np.ldexp(ends, power)
            if not ((ends > _SMALLEST) & (ends < np.inf)).all():
                return None
            return self._replace(weight=float(ends[0]), scatter=np.ldexp(self.scatter, power))

    def about_zero(self, units: DataUnits) -> tuple[DataUnits, "ProductSums"]:
        """Return units with the origin 0, and the sums in them."""
        units, sums = units.about_zero(self.of_rows)
        return units, self._replace(mean=sums.mean)

    def merged(self, other: "ProductSums") -> "ProductSums":
        """Return the sums over the rows of both."""
        sums = merged_scatter(self.of_rows, other.of_rows)
        return ProductSums.of(sums, self.n_rows + other.n_rows, max(self.eps, other.eps))

    def in_larger_units(self, more: np.ndarray) -> "ProductSums":
        """Return the same sums in units that are 2^more times as large."""
        return ProductSums.of(in_larger_units(self.of_rows, more), self.n_rows, self.eps)


class Products(NamedTuple):
    """Least squares of k targets by products of d features G (d, d), and of these with targets C
    (d, k), about the `center`.

    `size` (d,) are the lengths of features, `offset` (k,) the targets there, and `squares` (k,)
    those about it; `deviation` (d,) are of features about their mean, exactly 0 if they are
    constant. `total` is the weight of rows, `n` their number, and `eps` the rounding of numbers in
    the sums; coefficients are stored in `dtype`. `rows` may be more than those of the sums, for a
    path, or None: then sums are all that is known.
    """

    G: np.ndarray
    C: np.ndarray
    size: np.ndarray
    deviation: np.ndarray
    squares: np.ndarray
    center: np.ndarray
    offset: np.ndarray
    total: float
    n: int
    eps: float
    dtype: np.dtype
    data_units: DataUnits
    rows: Rows | None
    fit_intercept: bool

    @classmethod
    def of(cls, sums: Scatter, rows: Rows, fit_intercept: bool, n: int) -> "Products":
        """Return those of sums over features and targets of n rows, side by side."""
        dtype = rows.X.dtype
        eps = float(np.finfo(dtype).eps)
        return cls.of_sums(sums, n, eps, dtype, rows.data_units, fit_intercept, rows)

    @classmethod
    def of_sums(
        cls,
        sums: Scatter,
        n: int,
        eps: float,
        dtype: np.dtype,
        data_units: DataUnits,
        fit_intercept: bool,
        rows: Rows | None = None,
    ) -> "Products":
        """Return those of sums over features and targets of n rows, side by side."""
        d, (total, mean, gram) = len(data_units.power), sums
        center, offset = mean[:d], mean[d:].copy()
        deviation = np.sqrt(gram.diagonal()[:d] / total)
        if not fit_intercept:
            gram = gram + total * np.outer(mean, mean)
            center, offset = np.zeros(d), np.zeros(len(mean) - d)
        G, C, squares = gram[:d, :d].copy(), gram[:d, d:].copy(), gram.diagonal()
        size = np.sqrt(squares[:d])
        return cls(
            G, C, size, deviation, squares[d:].copy(), center, offset, total, n, eps, dtype,
            data_units, rows, fit_intercept,
        )  # fmt: skip

    @property
    def eps_of_coef(self) -> float:
        """Rounding of coefficients as they are stored, beyond that of float64."""
        return 0.0 if self.dtype == np.float64 else float(np.finfo(self.dtype).eps)

    @property
    def eps_of_evidence(self) -> float:
        """Rounding of numbers in the sums that `residuals` gives."""
        return self.eps if self.rows is None else EPS

    def noise(self, eps: float, of_coef: float = 0.0) -> np.ndarray:
        """Return the rounding errors of slopes, as `_ext` has them, of sums with this rounding."""
        return np.array([2 * math.sqrt(max(self.n, len(self.G))) * eps, of_coef, of_coef + 2 * EPS])

    def solve(
        self, penalties: Penalties, tol: float, max_iter: int, report: Callable[[Solution], None]
    ) -> Solution:
        """Return the best coefficients, with a gap at most `tol` of the objective of 0, or as small
        as `max_iter` rounds and rounding leave it: of residuals of the rows, if there are any.

        Products of float64 that leave enough of the targets need no rows. After each reading of
        these, the products with their residuals replace those with targets, so that errors of G
        only slow the fit down.
        """
        d, k = self.C.shape
        lasso, ridge = penalties
        C, squares, W = self.C.copy(), self.squares.copy(), np.zeros((d, k))
        allowed, left, best = tol * self.squares / 2, np.full(k, max_iter), None
        todo = np.arange(k)
        for _ in range(READINGS):
            before = W
            W = W.copy()
            for t in todo:
                target = C[:, t], squares[t], np.ascontiguousarray(lasso[:, t]), ridge
                found = _descended(self, target, np.ones(1), INNER * allowed[t], left[t], W[:, t])
                W[:, t] = found[0][0]
                left[t] -= int(found[1][0, 2])
            # In the type of the data, with the evidence of sums that show all digits, or of rows.
            solution = None
            if best is None and self.eps <= EPS:
                of_sums = self._replace(rows=None)
                solution, slopes, residual = _evidence(of_sums, penalties, W, first=False)
                shown = (residual >= _SHOWN * self.squares) & (solution.gap <= allowed)
            if solution is None or (self.rows is not None and not shown.all()):
                solution, slopes, residual = _evidence(self, penalties, W, first=best is None)
            solution = solution._replace(n_iter=max_iter - left)
            if best is not None:
                solution = _better(solution, best)
            report(solution)
            improved = best is None or (solution.gap < 0.5 * best.gap)
            best = solution
            todo = np.flatnonzero((solution.gap > allowed) & improved & (left > 0))
            if not len(todo) or (W == before).all():
                break
            C = slopes + self.G @ W
            squares = residual + np.einsum("ij,ij->j", W, C + slopes)
        return best

    def path(
        self, penalties: Penalties, alphas: np.ndarray, tol: float, max_iter: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients (m, d, k) for descending alphas, and figures (m, k, 3): objective,
        gap and number of rounds, the gap by products, with an allowance for their rounding.
        """
        (d, k), m = self.C.shape, len(alphas)
        coef, figures = np.empty((m, d, k)), np.empty((m, k, 3))
        for t in range(k):
            allowed = tol * self.squares[t] / 2
            lasso = np.ascontiguousarray(penalties.lasso[:, t])
            target = self.C[:, t], self.squares[t], lasso, penalties.ridge
            coef[:, :, t], figures[:, t] = _descended(
                self, target, alphas, allowed, max_iter, np.zeros(d), self.eps_of_coef
            )
        return coef, figures

    @property
    def is_near(self) -> bool:
        """True if the rows may be read as they are, which loses few digits."""
        return self.rows is not None and self.rows.near(self.center, self.size**2)

    @property
    def size_as_read(self) -> np.ndarray:
        """Lengths of features, (d,), of rows as they are."""
        point = self.data_units.point(self.center)
        return np.sqrt(self.size**2 + self.total * point**2)

    def residuals(
        self, W: np.ndarray, near: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return coefficients W (d, k) as the type of the data stores them, and what residuals of
        the rows, or of the sums, are then: the values at the center (k,), products with features
        (d, k), and squares (k,). Rows that are `near` are read as they are.
        """
        W = _as_stored(W, self.data_units, self.dtype)
        if self.rows is None:
            slopes = self.C - self.G @ W
            squares = self.squares - np.einsum("ij,ij->j", W, self.C + slopes)
            terms = np.einsum("ij,ij->j", np.abs(W), np.abs(self.C) + np.abs(slopes))
            squares = np.maximum(squares, 0) + 8 * self.eps * (self.squares + terms)
            return W, self.offset, slopes, squares
        squares, sums_left, slopes = self.rows.residuals(W, self.center, self.offset, near)
        offset = self.offset
        if self.fit_intercept:
            shift = sums_left / self.total
            offset = offset + shift
            squares = squares - sums_left * shift
        slopes[self.size == 0] = 0  # constant: what is left is rounding
        return W, offset, slopes, squares

    def degrees_of_freedom(self, ridge: np.ndarray, w: np.ndarray) -> float:
        """Return the trace of the map from targets to fitted values, with the signs of w fixed."""
        face = np.flatnonzero(w)
        return trace_of_fit(self.G[np.ix_(face, face)], ridge[face])


def _better(solution, best):
    """Return for each target the solution of the smaller gap; the rounds are all."""
    keep = best.gap <= solution.gap
    return solution._replace(
        coef=np.where(keep, best.coef, solution.coef),
        offset=np.where(keep, best.offset, solution.offset),
        objective=np.where(keep, best.objective, solution.objective),
        gap=np.where(keep, best.gap, solution.gap),
    )


def _evidence(products, penalties, W, first):
    """Return the solution W as it is stored, and its slopes (without ridge) and squares.

    The first reading may lose a digit, in half the time.
    """
    near = first and products.is_near
    W[:], offset, slopes, squares = products.residuals(W, near)
    noise, found = products.noise(products.eps_of_evidence), []
    size = products.size_as_read if near else products.size
    for t in range(W.shape[1]):
        w = np.ascontiguousarray(W[:, t])
        lasso = np.ascontiguousarray(penalties.lasso[:, t])
        g = slopes[:, t] - penalties.ridge * w
        found.append(
            _ext.duality_gap(
                w, g, squares[t], products.squares[t], lasso, penalties.ridge, size, noise
            )
        )
    objective, gap = np.array(found).T
    solution = Solution(W, products.center, offset, objective, gap, np.zeros(len(gap), np.int64))
    return solution, slopes, squares


def _as_stored(W, data_units, dtype):
    """Return coefficients as the type of the data rounds them."""
    if dtype == np.float64:
        return W
    power = data_units.target_power - data_units.power[:, None]
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(np.ldexp(W, power).astype(dtype).astype(np.float64), -power)


def _descended(products, target, alphas, allowed, max_rounds, start, of_coef=0.0):
    """Return the minimisers (m, d) for the alphas, and their figures (m, 3)."""
    c, squares, lasso, ridge = target
    d, m = len(c), len(alphas)
    W, figures = np.empty((m, d)), np.empty((m, 3))
    arguments = (
        products.G, np.ascontiguousarray(c), float(squares), lasso, ridge, alphas, products.size,
        products.noise(products.eps, of_coef), float(allowed), int(max_rounds), start.copy(),
        np.empty((7, d)), np.empty(d * d), np.empty((2, d), np.intp), W, figures,
    )  # fmt: skip
    with single_threaded_blas():
        if m * d * d < _WORTH:
            _ext.descend(*arguments)
        else:
            stoppable(lambda: _ext.descend(*arguments))
    return W, figures
