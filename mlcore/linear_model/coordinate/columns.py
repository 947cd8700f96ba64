"""Columns of weighted rows, less their means, side by side: of few rows, or of sparse ones."""

import math
from typing import NamedTuple

import numpy as np
from scipy import sparse as sp

from mlcore._ext.linear_model import columns as _ext
from mlcore.checks.arrays import require_finite
from mlcore.linear_model.regression.least_squares import EPS
from mlcore.linear_model.regression.rows import Rows
from mlcore.numerics.scatter import in_range
from mlcore.numerics.sparse_products import column_products
from mlcore.runtime.memory import require_memory
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, pieces, single_threaded_blas

FAR = 100.0  # squared mean over the variance of a sparse column, beyond which it is made dense


class Columns(NamedTuple):
    """Columns (n,) in `DataUnits`, times the roots of weights, less their means.

    Dense ones are the rows of `dense` (d, n). Sparse ones are in CSC format, ``root mean[j]`` to be
    subtracted; `dense` has no rows then. `center` (d,) are the means, 0 without an intercept,
    `size` (d,) the lengths of columns, and `reach` (d,) those of the numbers they come from, `sums`
    (d,) of these absolute values at least. `out` (d,) is 2 for columns that are constant but for
    rounding.
    """

    dense: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    mean: np.ndarray
    root: np.ndarray
    center: np.ndarray
    size: np.ndarray
    reach: np.ndarray
    sums: np.ndarray
    out: np.ndarray
    total: float

    @classmethod
    def of(cls, rows: Rows, fit_intercept: bool) -> "Columns":
        """Return the columns of these rows, which are copied."""
        n, d = rows.X.shape
        weight = np.ones(n) if rows.weight is None else rows.weight.astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # the caller looks
            make = _sparse_columns if sp.issparse(rows.X) else _dense_columns
            parts, center, squares, *sizes = make(rows, weight, fit_intercept)
        size, out = np.sqrt(squares), np.zeros(d, np.int8)
        if fit_intercept:
            # About the origin, which is near them, constants have no more than their rounding.
            size[size <= math.sqrt(weight.sum()) * n * EPS * np.abs(center)] = 0
        out[size == 0] = 2
        return cls(*parts, np.sqrt(weight), center, size, *sizes, out, float(weight.sum()))

    @property
    def deviation(self) -> np.ndarray:
        """Standard deviations (d,) of features, 0 if they are constant but for rounding."""
        mean = np.zeros(len(self.size))
        if not self.center.any():
            mean = self.times(self.root) / self.total
        squares = self.size**2 / self.total
        varies = squares - mean**2 > len(self.root) * EPS * squares
        return np.sqrt(np.where(varies, squares - mean**2, 0))

    def out_of_range(self, rows: Rows, owner: str) -> np.ndarray:
        """Return True for each column whose squares over- or underflow; refuse those with NaN."""
        if not np.isfinite(self.size).all() and not sp.issparse(rows.X):
            require_finite(rows.X, "X", owner)
        with np.errstate(over="ignore"):
            outside = ~in_range(self.size**2, np.dtype(np.float64))
        columns = np.flatnonzero(outside)
        if sp.issparse(rows.X):
            entries = np.diff(self.indptr)
            outside &= entries > 0
            columns = columns[entries[columns] == rows.X.shape[0]]
        if len(columns):
            block = rows.X[:, columns]
            block = block.toarray() if sp.issparse(block) else block
            outside[columns] = (block != block[0]).any(axis=0)
        return outside

    def times(self, x: np.ndarray) -> np.ndarray:
        """Return the products (d,) of columns with x (n,)."""
        products = np.zeros(len(self.size))
        threads = effective_threads(self.dense.size + len(self.values))
        with single_threaded_blas():
            _ext.products(*self[:6], np.ascontiguousarray(x), self.out, products, threads)
        return products

    def products(self, some: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return the products of some columns with others, both by their places."""
        if len(self.dense):
            with single_threaded_blas():
                return self.dense[some] @ self.dense[others].T
        A, mean = self._entries(), self.mean
        products = column_products(A[:, some], A[:, others])
        return products - self.total * np.outer(mean[some], mean[others])

    def fitted(self, W: np.ndarray, some: np.ndarray) -> np.ndarray:
        """Return sums (k, n) of some columns times coefficients W (k, a)."""
        if len(self.dense):
            with single_threaded_blas():
                return W @ self.dense[some]
        return (self._entries()[:, some] @ W.T).T - np.outer(W @ self.mean[some], self.root)

    def _entries(self):
        shape = len(self.root), len(self.size)
        return sp.csc_array((self.values, self.indices, self.indptr), shape=shape)


def _dense_columns(rows, weight, fit_intercept):
    """Return the first fields of columns, their means, squares, lengths, and absolute sums."""
    (n, d), data_units = rows.X.shape, rows.data_units
    require_memory(d, n, 8, what="a copy of the columns", instead="use fewer features")
    Z, center, squares = scratch_array((d, n), np.dtype(np.float64)), np.empty(d), np.empty(d)
    power = data_units.power.astype(np.int64)
    root = np.sqrt(weight)
    with single_threaded_blas():
        threads = effective_threads(4 * n * d)
        for first, last in pieces(d, 8 * n):
            part = slice(first, last)
            X = rows.X if last - first == d else np.ascontiguousarray(rows.X[:, part])
            _ext.centred_columns(
                X, data_units.origin[part], power[part], weight, root, fit_intercept, Z[part],
                center[part], squares[part], threads,
            )  # fmt: skip
    none = np.zeros(1, np.int64), np.zeros(1, np.int32), np.zeros(1)
    size = np.sqrt(squares)
    return (Z, *none, np.zeros(d)), center, squares, size, math.sqrt(n) * size


def _sparse_columns(rows, weight, fit_intercept):
    (n, d), data_units, total = rows.X.shape, rows.data_units, weight.sum()
    X, power, root = rows.X, data_units.power, np.sqrt(weight)
    origin = np.ldexp(data_units.origin, -power)
    indptr, entries = np.empty(d + 1, np.int64), max(1, len(X.data))
    require_memory(entries, 1, 12, what="a copy of the columns", instead="use fewer features")
    indices, values = (scratch_array((entries,), np.dtype(of)) for of in (np.int32, np.float64))
    if not len(X.data):
        indices[:] = values[:] = 0
    _ext.sparse_columns(
        X.indptr, X.indices, X.data, power.astype(np.int64), bool(power.any()), root,
        rows.weight is not None, indptr, indices, values,
    )  # fmt: skip
    mean, reach, sums = np.empty((3, d))
    _ext.sparse_sums(indptr, indices, values, root, mean, reach, sums, effective_threads(entries))
    mean = mean / total if fit_intercept else np.zeros(d)
    squares, center = np.maximum(reach - total * mean**2, 0.0), mean - origin
    # Columns far from 0 have few zeros, and digits to lose: they are centred entry by entry.
    far = np.flatnonzero(total * mean**2 > FAR * squares)
    if len(far):
        near = far[np.diff(indptr)[far] > n // 2]
        block = X[:, near].astype(np.float64).toarray() - data_units.origin[near]
        block = np.ldexp(block, -power[near])
        center[near] = weight @ block / total
        block -= center[near]
        block *= root[:, None]
        squares[near] = reach[near] = np.einsum("ij,ij->j", block, block)
        mean[near], sums[near] = 0, np.abs(block).sum(axis=0)
        counts = np.diff(indptr)
        kept = np.ones(d, bool)
        kept[near] = False
        counts[near] = n
        longer = np.concatenate(([0], np.cumsum(counts)))
        stay = np.repeat(kept, np.diff(indptr))
        places = np.repeat(kept, counts)
        all_indices, all_values = np.empty(longer[-1], np.int32), np.empty(longer[-1])
        kept_entries = np.flatnonzero(stay)
        all_indices[places], all_values[places] = indices[kept_entries], values[kept_entries]
        all_indices[~places] = np.tile(np.arange(n, dtype=np.int32), len(near))
        all_values[~places] = block.T.ravel()
        indptr, indices, values = longer, all_indices, all_values
    parts = np.empty((0, n)), indptr, indices, values, mean
    return parts, center, squares, np.sqrt(reach), sums
