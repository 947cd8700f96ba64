"""Least squares with absolute values in the penalty, from products of columns."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mlcore._ext.linear_model import coordinate as _ext
from mlcore.linear_model.coordinate.penalties import Penalties, Solution, trace_of_fit
from mlcore.linear_model.regression.least_squares import EPS
from mlcore.linear_model.regression.rows import Rows
from mlcore.numerics.eigen.lapack import stoppable
from mlcore.numerics.scatter import Scatter
from mlcore.runtime.threads import single_threaded_blas

READINGS = 5  # of the rows, in which their residuals correct what products have lost
INNER = 0.5  # of a tolerance, to which problems of products are solved
_WORTH = 1e7  # operations from which a thread of its own is worth it


class Products(NamedTuple):
    """Least squares of k targets by products of d features G (d, d), and of these with targets C
    (d, k), about the `center`.

    `size` (d,) are the lengths of features, `offset` (k,) the targets there, and `squares` (k,)
    those about it; `deviation` (d,) are of features about their mean, 0 if they are constant but
    for rounding, as G and C are then. `total` is the weight of rows, and `n` their number. `rows`
    may be more than those of the sums, for a path.
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
    rows: Rows
    fit_intercept: bool

    @classmethod
    def of(cls, sums: Scatter, rows: Rows, fit_intercept: bool, n: int) -> "Products":
        """Return those of sums over features and targets of n rows, side by side."""
        data_units = rows.data_units
        d, (total, mean, gram) = len(data_units.power), sums
        center, offset = mean[:d], mean[d:].copy()
        deviation = np.sqrt(gram.diagonal()[:d] / total)
        far = np.abs(center + np.ldexp(data_units.origin, -data_units.power))
        constant = deviation <= n * EPS * far
        deviation[constant] = 0
        if not fit_intercept:
            constant = np.zeros(d, bool)
            gram = gram + total * np.outer(mean, mean)
            center, offset = np.zeros(d), np.zeros(len(mean) - d)
        G, C, squares = gram[:d, :d].copy(), gram[:d, d:].copy(), gram.diagonal()
        size = np.sqrt(squares[:d])
        if constant.any():
            G[constant], G[:, constant], C[constant] = 0, 0, 0
        return cls(
            G, C, size, deviation, squares[d:].copy(), center, offset, total, n, rows,
            fit_intercept,
        )  # fmt: skip

    @property
    def eps_of_means(self) -> float:
        """Rounding of the numbers whose means are `center` and `offset`."""
        return float(np.finfo(self.rows.X.dtype).eps)

    def noise(self, dtype: Any, of_coef: float = 0.0) -> np.ndarray:
        """Return the rounding errors of slopes, as `_ext` has them, of sums in this type."""
        eps = float(np.finfo(dtype).eps)
        return np.array([2 * math.sqrt(max(self.n, len(self.G))) * eps, of_coef, of_coef + 2 * EPS])

    def solve(
        self, penalties: Penalties, tol: float, max_iter: int, report: Callable[[Solution], None]
    ) -> Solution:
        """Return the best coefficients, with a gap of residuals of the rows at most `tol` of the
        objective of 0, or as small as `max_iter` rounds and rounding leave it.

        After each reading of the rows the products with their residuals replace those with targets,
        so that errors of G only slow the fit down.
        """
        (d, k), dtype = self.C.shape, self.rows.X.dtype
        lasso, ridge = penalties
        C, squares, W = self.C.copy(), self.squares.copy(), np.zeros((d, k))
        allowed, left, best = tol * self.squares / 2, np.full(k, max_iter), None
        todo = np.arange(k)
        for _ in range(READINGS):
            before = W
            W = W.copy()
            for t in todo:
                target = C[:, t], squares[t], np.ascontiguousarray(lasso[:, t]), ridge
                found = _descended(
                    self, target, np.ones(1), INNER * allowed[t], left[t], dtype, W[:, t]
                )
                W[:, t] = found[0][0]
                left[t] -= int(found[1][0, 2])
            # In the type of the data, with the evidence of all rows.
            solution, slopes, residual = _evidence(self, penalties, W)
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
        (d, k), m, dtype = self.C.shape, len(alphas), self.rows.X.dtype
        coef, figures = np.empty((m, d, k)), np.empty((m, k, 3))
        of_coef = 0.0 if dtype == np.float64 else float(np.finfo(dtype).eps)
        for t in range(k):
            allowed = tol * self.squares[t] / 2
            lasso = np.ascontiguousarray(penalties.lasso[:, t])
            target = self.C[:, t], self.squares[t], lasso, penalties.ridge
            coef[:, :, t], figures[:, t] = _descended(
                self, target, alphas, allowed, max_iter, dtype, np.zeros(d), of_coef
            )
        return coef, figures

    def residuals(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return coefficients W (d, k) as the type of the data stores them, and what residuals of
        the rows are then: the values at the center (k,), products with features (d, k), and
        squares (k,).
        """
        W = _as_stored(W, self.rows.data_units, self.rows.X.dtype)
        squares, sums_left, slopes = self.rows.residuals(W, self.center, self.offset)
        offset = self.offset
        if self.fit_intercept:
            shift = sums_left / self.total
            offset = offset + shift
            squares = squares - sums_left * shift
        slopes[self.size == 0] = 0  # constant, but for rounding
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


def _evidence(products, penalties, W):
    """Return the solution W as it is stored, and its slopes (without ridge) and squares."""
    W[:], offset, slopes, squares = products.residuals(W)
    noise, size, found = products.noise(np.float64), products.size, []
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


def _descended(products, target, alphas, allowed, max_rounds, dtype, start, of_coef=0.0):
    """Return the minimisers (m, d) for the alphas, and their figures (m, 3)."""
    c, squares, lasso, ridge = target
    d, m = len(c), len(alphas)
    W, figures = np.empty((m, d)), np.empty((m, 3))
    arguments = (
        products.G, np.ascontiguousarray(c), float(squares), lasso, ridge, alphas, products.size,
        products.noise(dtype, of_coef), float(allowed), int(max_rounds), start.copy(),
        np.empty((7, d)), np.empty(d * d), np.empty((2, d), np.intp), W, figures,
    )  # fmt: skip
    with single_threaded_blas():
        if m * d * d < _WORTH:
            _ext.descend(*arguments)
        else:
            stoppable(lambda: _ext.descend(*arguments))
    return W, figures
