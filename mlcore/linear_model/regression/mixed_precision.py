"""Conjugate gradients in float32 for sparse rows, corrected by residuals in float64."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg import blas, lapack

from mlcore._ext.linear_model.regression import mixed_precision as _ext
from mlcore.linear_model.regression.least_squares import EPS
from mlcore.linear_model.regression.steps import ROUNDING, TRUE, eigenvalues
from mlcore.numerics.sparse_products import by_count, column_counts
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, pieces

_SINGLE = np.dtype(np.float32)
_GROUP = 16  # rows whose entries lie side by side
_LEAST = 32  # places of a vector that the loops look up in
_HEAVY = 128  # columns at most whose products are in the preconditioner
_SHARE = 1 / 8  # of the squares that they have at least
_ALONE = 1e-8  # share of the squares of a row that is taken not to be of these columns, at least
_MILD = 1e4  # trace of products of these beside the rest, up to which they are in float32
_POWERS = 8  # steps to the vector of its largest eigenvalue, or that show it
_DIGITS = 1e-5  # share of a residual that steps in float32 leave
_LAST = 0.5  # of the residual that is small enough: rounding of the steps takes the rest


def heavy_columns(squares: np.ndarray, n: int, nnz: int) -> np.ndarray:
    """Return the columns that have most of the squares (d,) of n rows; none if few of them have no
    large share, or too few entries.
    """
    d, count = len(squares), min(_HEAVY, n // 5)
    if d <= 4 * count or n * count > 2 * nnz:
        return np.zeros(0, np.intp)
    heavy = np.sort(np.argpartition(squares, d - count)[d - count :])
    large = squares[heavy].sum() > max(_SHARE, 4 * count / d) * squares.sum()
    return heavy if large else heavy[:0]


class _Groups(NamedTuple):
    """Sparse rows in float32: of those of a group, the next entry of each lies side by side."""

    starts: np.ndarray
    places: np.ndarray
    values: np.ndarray

    @classmethod
    def of_counts(cls, counts: np.ndarray) -> "_Groups":
        """Return rows of so many entries, in ascending order, not set but for zeros after them."""
        last = np.arange(_GROUP, len(counts) + _GROUP, _GROUP)
        sizes = _GROUP * counts[np.minimum(last, len(counts)) - 1]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        places, values = (
            scratch_array((int(starts[-1]) + 1,), of) for of in (np.dtype(np.int32), _SINGLE)
        )
        _ext.end_groups(counts, starts, places, values)
        return cls(starts, places, values)

    def firsts(self, count: int) -> np.ndarray:
        """Return the places of the first entries of the rows."""
        row = np.arange(count)
        return self.starts[row // _GROUP] + row % _GROUP


class MixedPrecision(NamedTuple):
    """``F F' + alpha I`` of sparse rows, in float32, in units in which its diagonal without the
    heavy columns is 1: ``L L' + E + G G'``, L the light columns with more than one entry, E (n,)
    `extra` of the others and of the penalty. ``I + G G'`` is the preconditioner: squares of columns
    of words fall as a power, and steps are half as many.

    Rows are in `order` of their light entries, times ``1 / (root size)``, roots (n,) up to 1. With
    an intercept vectors are orthogonal to `null`, where products of rows less their mean are those
    of rows as they are. `U` is the factor of ``I + G'G``, `longest` (None without G) near the
    eigenvector of the largest eigenvalue, and `diagonal` (n,) that with the heavy columns.
    """

    order: np.ndarray
    root: np.ndarray
    size: float
    diagonal: np.ndarray
    rows: _Groups
    columns: _Groups
    extra: np.ndarray
    null: np.ndarray | None
    G: np.ndarray
    U: np.ndarray
    longest: np.ndarray | None

    @classmethod
    def of(cls, system: Any, squares: np.ndarray, alpha: float, intercept: bool) -> Self | None:
        """Return the system of samples in CSR, of which `squares` (d,) are those of columns, alpha
        above 0, or None where float32 has too few digits for its heavy columns.
        """
        X, (n, d) = system.X, system.X.shape
        parts = (
            X.indptr.astype(np.int64, copy=False), X.indices.astype(np.int32, copy=False), X.data,
        )  # fmt: skip
        # Places of columns, the light ones by their number of entries.
        heavy, entries = heavy_columns(squares, n, X.nnz), column_counts(X)
        light = entries * (entries > 1)
        light[heavy] = 0
        columns = by_count(light)[d - np.count_nonzero(light) :]
        place = np.full(d, -1, np.int32)
        place[columns] = np.arange(len(columns), dtype=np.int32)
        place[heavy] = -2 - np.arange(len(heavy), dtype=np.int32)

        # The diagonal without the heavy columns, and rows by their number of light entries.
        sums, counts = np.empty((n, 3)), np.empty(n, np.int64)
        threads = effective_threads(X.nnz)
        for first, last in pieces(n, X.nnz / n):
            _ext.row_squares(*parts, place, first, last, sums, counts, threads)
        order = by_count(counts)
        whole, filled, alone = sums[order].T
        rest = np.maximum(whole - filled, _ALONE * whole) + alpha
        if not (filled / rest).sum() < _MILD:
            return None

        # The entries, by rows and by columns.
        by_rows, by_columns = _Groups.of_counts(counts[order]), _Groups.of_counts(entries[columns])
        G = scratch_array((_padded(n), len(heavy)), _SINGLE)
        G[:] = 0.0
        root = np.sqrt(rest)
        following, inverse = by_columns.firsts(len(columns)), 1 / root
        for first, last in pieces(n, X.nnz / n):
            _ext.fill(
                *parts, place, order, inverse, first, last, *by_rows, following, *by_columns[1:], G
            )
        null = inverse * system.u[order]
        null = _single(null / _length(null)) if intercept else None
        factored = _factored(G, null)
        if factored is None:
            return None
        return cls(
            order, root / root.max(), float(root.max()), (whole + alpha) / rest, by_rows,
            by_columns, _single((alpha + alone) / rest), null, *factored,
        )  # fmt: skip

    def times(self, v: np.ndarray) -> np.ndarray:
        """Return the product with v."""
        product, t = np.zeros_like(v), self._scratch()
        threads = effective_threads(2 * len(self.rows.values))
        _ext.products(*self.rows, *self.columns, self.extra, v, t, product, threads)
        product += self.G @ (v @ self.G)
        return _less(self.null, product)

    def solve(
        self,
        solution: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]],
        c: np.ndarray,
        enough: float,
        most: int,
    ) -> tuple[np.ndarray, np.ndarray, float] | None:
        """Return coefficients and residual as `corrected` does, and an estimate of the reciprocal
        condition; None where float32 has too few digits, or a run of steps is longer than `most`.

        `enough` is the length of a residual that is small enough.
        """
        a, left, unit = np.zeros_like(c), c, _length(c)
        if not unit > 0:
            return None
        size, rcond, largest, ended = unit, 0.0, 0.0, True
        while ended:
            # Some digits, in float32.
            right = _less(self.null, _single(left[self.order] / self.root / unit))
            if not largest:
                longest = right if self.longest is None else self.longest
                image = self.times(longest)
                largest = self._stretch(longest, image)
            goal = max(_LAST * enough, _DIGITS * size) / unit
            x, trace, ended = self._steps(right, goal, most)
            rcond = rcond or self._rcond(*eigenvalues(trace[1:, 0], trace[:, 1]), image)
            # What is left, in float64.
            a[self.order] += unit / self.size / self.size * (x[: len(c)] / self.root)
            coef, residual, left = solution(a)
            before, size = size, _length(left)
            rounding = size / (EPS * (largest * _length(a) + unit))
            if size <= enough or rounding <= 2 * ROUNDING:
                return coef, residual, rcond
            if not size < before / 2:
                break
        return (coef, residual, rcond) if rounding <= TRUE else None

    def _steps(self, right, goal, most):
        """Return the solution by conjugate gradients with a residual of length `goal` or after
        `most` steps, the lengths of steps and inner products, and False if there are more.
        """
        vectors, trace = np.zeros((6, len(right)), _SINGLE), np.zeros((most + 1, 2))
        vectors[1] = right
        root, none = _single(self.root), np.zeros(0, _SINGLE)
        null = u = none
        if self.null is not None:
            null, u = self.null, root * self.null
            u /= _length(u)
        t, s = self._scratch(), np.zeros(self.G.shape[1] + 1, _SINGLE)
        threads = effective_threads(2 * len(self.rows.values))
        for first, last in pieces(most, 2 * len(self.rows.values)):
            done, ended = _ext.steps(
                *self.rows, *self.columns, self.extra, null, root, u, self.G, self.U.T, vectors, t,
                s, trace, goal, first, last, threads,
            )  # fmt: skip
            if ended:
                break
        return vectors[0], trace[: done + 1], ended

    def _scratch(self):
        return np.zeros(_padded(_GROUP * (len(self.columns.starts) - 1)), _SINGLE)

    def _stretch(self, v, image):
        """Return a lower bound of the largest eigenvalue of rows as they are, from the product of
        this matrix with v.
        """
        n = len(self.root)
        return self.size**2 * _length(image[:n] * self.root) / _length(v[:n] / self.root)

    def _rcond(self, least, most, image):
        """Return an estimate of the reciprocal condition of the matrix, scaled to a diagonal of 1.

        Eigenvalues are those with the preconditioner, and heavy columns count little near the
        vector of the least.
        """
        if self.longest is None:
            return least / most
        v = self.longest[: len(self.root)]
        smaller = np.mean(1 / self.diagonal)
        scaled = (self.diagonal * v) @ v
        return float(min(1.0, least * smaller * scaled / (self.longest @ image)))


def _factored(G, null):
    """Return G less its part along `null`, the factor of ``I + G'G``, and the vector of about the
    largest eigenvalue of G G'; None if there is no factor.
    """
    count = G.shape[1]
    if not count:
        return G, np.zeros((0, 0), _SINGLE), None
    if null is not None:
        G = blas.sger(-1.0, null @ G, null, a=G.T, overwrite_a=1).T
    S = G.T @ G
    weights = S.diagonal()
    for _ in range(_POWERS):
        weights = S @ weights
        weights /= np.linalg.norm(weights)
    S.flat[:: count + 1] += 1.0
    U, info = lapack.spotrf(S, lower=0, clean=0)
    return None if info else (G, U, G @ weights)


def _less(null, v):
    """Subtract from v its part along `null`, if there is one."""
    if null is not None:
        v -= (null @ v) * null
    return v


def _single(v):
    """Return v (n,) in float32, with zeros up to whole groups."""
    single = np.zeros(_padded(len(v)), _SINGLE)
    single[: len(v)] = v
    return single


def _length(v):
    return math.sqrt(v @ v)


def _padded(n):
    return max(_LEAST, -(-n // _GROUP) * _GROUP)
