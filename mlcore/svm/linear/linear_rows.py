"""Samples of a linear machine as its solvers read them, and products with them.

Callers see to it that BLAS has one thread.
"""

import math
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse as sp

from mlcore._ext.svm.linear import linear_rows as _ext
from mlcore.checks.sparse import dense_if_full
from mlcore.kernels.vector_kernels import Linear
from mlcore.numerics.eigen.lapack import stoppable
from mlcore.numerics.scatter import ROWS
from mlcore.runtime.memory import require_memory
from mlcore.runtime.threads import pieces
from mlcore.svm.smo.kernel_cache import far_origin, less

_SPARSE = 0.4  # share of values that are not 0, below which dense rows are read as sparse ones
_FULL = 0.25  # share of values, from which products of sparse rows are added with their zeros
_WIDE = 256  # columns from which they are: half the time at 0.3 of 784 columns
_COLUMNS = 4096  # of which copies in float64 are made at once
_VALUES = 2**16  # of samples that stay in cache
_PLAIN = 40  # exponents of values that need no unit


class LinearRows:
    """Rows ``(x - origin) 2^-power``, (n, d): dense, or CSR with values in float64.

    The origin is that of samples many deviations from 0, else None; an intercept takes it up. Dense
    rows with few values that are not 0 are CSR here.
    """

    X: Any
    n: Any
    d: Any
    origin: np.ndarray | None
    power: int

    def __init__(self, X: Any, origin: np.ndarray | None = None, power: int = 0) -> None:
        self.X, self.origin, self.power = X, origin, power
        self.n, self.d = X.shape
        self.sparse = bool(sp.issparse(X))
        self._counts = np.zeros(self.d, np.int64)

    @classmethod
    def of(cls, X: Any, fit_intercept: bool) -> "LinearRows":
        """Return the rows of checked samples."""
        X = dense_if_full(X)
        origin = far_origin(X, Linear()) if fit_intercept else None
        if origin is not None:
            require_memory(*X.shape, 8, what="a copy of the samples", instead="centre them before")
            X = less(X, origin)
        if sp.issparse(X):
            X = _csr(_double(X.data), X.indices, X.indptr, X.shape)
        elif origin is None:
            X = _compressed(X)
        rows = cls(X, origin)
        longest = math.sqrt(
            rows.squares[0].max(initial=0.0)
        )  # at most sqrt(d) times the largest value
        if math.ldexp(math.sqrt(rows.d), -_PLAIN) <= longest < math.ldexp(1.0, _PLAIN):
            return rows
        largest = 0.0
        for part in _parts(X):
            largest = max(largest, float(part.max(initial=0)), -float(part.min(initial=0)))
        power = int(np.frexp(largest)[1])
        if abs(power) <= _PLAIN:
            return rows
        if sp.issparse(X):
            X = _csr(np.ldexp(X.data, -power), X.indices, X.indptr, X.shape)
        else:
            X = np.ldexp(X, -power)
        return cls(X, origin, power)

    def chosen(self, rows: Any) -> "LinearRows":
        """Return some of the rows."""
        X = self.X[rows]
        return LinearRows(X if self.sparse else np.ascontiguousarray(X), self.origin, self.power)

    def times(self, theta: np.ndarray) -> np.ndarray:
        """Return the products of rows with theta (d,), (n,) float64."""
        if self.sparse:
            return self.X @ theta
        out = np.empty(self.n)
        for first, last in pieces(self.n, self.d):
            for rows in _blocks(self.X, first, last):
                out[rows] = _double(self.X[rows]) @ theta
        return out

    def transposed_times(self, v: np.ndarray) -> np.ndarray:
        """Return the sum of rows times v (n,), (d,) float64."""
        out = np.zeros(self.d)
        for first, last in pieces(self.n, self.per_row):
            if self.sparse:
                X = self.X
                _ext.transposed_times(X.data, X.indices, X.indptr, first, last, v, out)
                continue
            for rows in _blocks(self.X, first, last):
                out += v[rows] @ _double(self.X[rows])
        return out

    def gram(self, rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return the sum of ``weight z z'`` over some rows, (d + 1, d + 1), z the row and a 1.

        `weight` belongs to these rows. Dense rows need weights of one sign.
        """
        d = self.d
        M = np.zeros((d + 1, d + 1))
        if self.sparse and not self._fill:
            for first, last in pieces(len(rows), self.per_row**2):
                _ext.gram(self.X.data, self.X.indices, self.X.indptr, rows, weight, first, last, M)
            return np.tril(M) + np.tril(M, -1).T
        sign = -1.0 if len(weight) and weight[0] < 0 else 1.0
        roots = np.sqrt(np.abs(weight))
        size = max(ROWS, _VALUES // (d + 1))
        for start in range(0, len(rows), size):
            at = slice(start, start + size)
            Z = np.empty((len(rows[at]), d + 1))
            block = self.X[rows[at]].toarray() if self.sparse else self.X[rows[at]]
            np.multiply(block, roots[at, None], out=Z[:, :d])
            Z[:, d] = roots[at]
            M += Z.T @ Z
        return sign * M

    def rough_gram(self, rows: np.ndarray, weight: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """Return `gram` of `columns` and the 1, times `scale` (k + 1,) on both sides, in float32.

        Weights are positive.
        """
        columns, roots = self.columns, np.sqrt(weight)
        k = len(columns)
        M = np.zeros((k + 1, k + 1), np.float32)
        place = np.zeros(self.d, np.int64)
        place[columns] = np.arange(k)
        Z = np.empty((min(ROWS, len(rows)), k + 1), np.float32)
        for start in range(0, len(rows), ROWS):
            at = slice(start, start + ROWS)
            part = Z[: len(rows[at])]
            if self.sparse:
                X = self.X
                _ext.fill(X.data, X.indices, X.indptr, rows[at], roots[at], scale[:k], place, part)
            else:
                factors = roots[at, None] * scale[:k]
                np.multiply(self.X[rows[at]], factors, out=part[:, :k], casting="same_kind")
            part[:, k] = roots[at] * scale[k]
            M += part.T @ part
        return M

    def curved(self, rows: np.ndarray, weight: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the product of `gram` of these rows and weights with v (d + 1,)."""
        out = np.zeros(self.d + 1)
        if self.sparse:
            for first, last in pieces(len(rows), 4 * self.per_row):
                _ext.curved(
                    self.X.data, self.X.indices, self.X.indptr, rows, weight, first, last, v, out
                )
            return out
        for start in range(0, len(rows), ROWS):
            at = slice(start, start + ROWS)
            block = _double(self.X[rows[at]])
            u = weight[at] * (block @ v[:-1] + v[-1])
            out[:-1] += u @ block
            out[-1] += u.sum()
        return out

    @property
    def _fill(self):
        """True for sparse rows whose products with each other BLAS adds sooner, zeros and all."""
        return self.sparse and self.per_row > _FULL * self.d and self.d >= _WIDE

    @property
    def per_row(self) -> float:
        """The number of values that are read of a row, on average."""
        return max(1.0, self.X.nnz / max(1, self.n)) if self.sparse else float(self.d)

    @cached_property
    def products(self) -> np.ndarray:
        """Products of all rows, (n, n)."""
        if self.sparse:
            return (self.X @ self.X.T).toarray()
        K = np.zeros((self.n, self.n))
        for start in range(0, self.d, _COLUMNS):
            part = _double(self.X[:, start : start + _COLUMNS])
            K += stoppable(lambda part=part: part @ part.T, self.n * part.size)
        return K

    @cached_property
    def columns(self) -> np.ndarray:
        """Columns that store values, (k,)."""
        return np.flatnonzero(self.counts) if self.sparse else np.arange(self.d)

    @property
    def counts(self) -> np.ndarray:
        """Numbers of values that the columns of sparse rows store, (d,)."""
        _ = self.squares  # which counts them
        return self._counts

    @cached_property
    def squares(self) -> tuple[np.ndarray, np.ndarray]:
        """Squared norms of rows, (n,), and of columns, (d,)."""
        of_rows, of_columns = np.empty(self.n), np.zeros(self.d)
        if self.sparse:
            X = self.X
            for first, last in pieces(self.n, 2 * self.per_row):
                _ext.squares(
                    X.data, X.indices, X.indptr, first, last, of_rows, of_columns, self._counts
                )
            return of_rows, of_columns
        for first, last in pieces(self.n, self.d):
            _ext.dense_squares(self.X, first, last, of_rows, of_columns)
        return of_rows, of_columns


def _parts(X):
    """Yield the values in parts, which stay in cache."""
    if sp.issparse(X):
        for start in range(0, X.nnz, _VALUES):
            yield X.data[start : start + _VALUES]
        return
    for start in range(0, len(X), ROWS):
        yield X[start : start + ROWS]


def _blocks(X, first, last):
    """Yield slices of rows: all at once in float64, else blocks that are converted."""
    size = last - first if X.dtype == np.float64 else ROWS
    for start in range(first, last, max(1, size)):
        yield slice(start, min(last, start + size))


def _double(block):
    return block.astype(np.float64, copy=False)


def _csr(data, indices, indptr, shape):
    return sp.csr_array((data, indices.astype(indptr.dtype, copy=False), indptr), shape=shape)


def _compressed(X):
    """Return dense rows as CSR if few of their values are not 0."""
    n, d = X.shape
    if np.mean(X[:ROWS] != 0) >= _SPARSE:
        return X
    ends = np.zeros(n + 1, np.int64)
    for first, last in pieces(n, d):
        _ext.count(X, first, last, ends)
    if ends[-1] >= _SPARSE * n * d:
        return X
    filled = int(ends[-1])
    require_memory(1, filled, 12, what="a sparse copy of the samples", instead="give CSR")
    data, columns = np.empty(filled + 1), np.empty(filled + 1, np.int32)
    for first, last in pieces(n, 2 * d):
        _ext.compress(X, first, last, ends, data, columns)
    ends = ends.astype(np.int32) if filled < 2**31 else ends
    return _csr(data[:filled], columns[:filled], ends, X.shape)
