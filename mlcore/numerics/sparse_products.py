"""Products of sparse rows less a rank-one matrix, as centred rows are, which are never formed."""

from math import prod
from typing import Any

import numpy as np
from scipy import sparse as sp
from scipy.linalg import blas

from mlcore._ext.numerics import sparse_products as _ext
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import OPERATIONS_PER_CALL, effective_threads, pieces

_LINE = 8  # values of a cache line
_WIDTHS = 1, 4, 8  # of blocks of vectors
_GROUPS = 8  # of rows, at most: their sums are added for each step
_OFTEN = 32  # entries of a column in each group, of which adding the sums is a few percent


class CentredProducts:
    """The matrix ``Z = A - left right'``: A (m, N) is CSR, left (m,) and right (N,) float64.

    It is an `Operator` for `leading_eigenpairs`: the product with Z'Z in one reading of A.
    """

    sparse = True

    def __init__(self, A: Any, left: np.ndarray, right: np.ndarray) -> None:
        self.A, self.left, self.right = A, left, right
        self.n: int = A.shape[1]
        self._rows = (
            A.indptr.astype(np.int64, copy=False),
            A.indices.astype(np.int32, copy=False) if A.nnz else np.zeros(1, np.int32),
            A.data if A.nnz else np.zeros(1, A.dtype),
        )
        # Sums of groups, kept for the next product: new memory takes a tenth of the time.
        self._parts: np.ndarray | None = None
        # Ranges of rows for each call, so that Ctrl-C is soon seen, of each group.
        calls = -(-2 * _WIDTHS[-1] * A.nnz // OPERATIONS_PER_CALL) or 1
        groups = min(_GROUPS, max(1, A.nnz // (_OFTEN * self.n)))
        bounds = np.searchsorted(A.indptr, np.linspace(0, A.nnz, groups * calls + 1))
        bounds[[0, -1]] = 0, A.shape[0]
        first, last = (part.reshape(groups, calls).T for part in (bounds[:-1], bounds[1:]))
        self._calls = np.ascontiguousarray(np.stack([first, last], axis=1), dtype=np.int64)

    def columns_by_length(self) -> tuple["CentredProducts", np.ndarray]:
        """Return Z' with columns of as many entries side by side, and their places (N,) in it.

        Its products take no more time than those of `by_length`, a third less than in any order.
        """
        m, N = self.A.shape
        indptr, indices, values = self._rows
        counts = column_counts(self.A)
        order = by_count(counts)
        starts = np.concatenate([[0], np.cumsum(counts[order])])
        place, following = np.empty(N, np.intp), np.empty(N, np.int64)
        place[order], following[order] = np.arange(N), starts[:-1]
        rows, out = (scratch_array((self.A.nnz,), of) for of in (np.dtype(np.int32), values.dtype))
        if self.A.nnz:
            _ext.columns_of(indptr, indices, values, following, rows, out)
        columns = sp.csr_array((out, rows, starts), shape=(N, m))
        return CentredProducts(columns, self.right[order], self.left), place

    def by_length(self) -> "CentredProducts":
        """Return rows of as many entries side by side, in a copy, for the product with Z'Z.

        Loops over few entries then end where the processor expects it: as little as half the time.
        """
        order = by_count(np.diff(self.A.indptr))
        return CentredProducts(self.A[order], self.left[order], self.right)

    def times(self, V: np.ndarray) -> np.ndarray:
        """Return Z V (m, k) float64 for V (N, k)."""
        out = np.empty((self.A.shape[0], V.shape[1]))
        threads = effective_threads(self.A.nnz * V.shape[1])
        for columns, block in _blocks(V):
            product = _aligned((len(out), block.shape[1]))
            for first, last in pieces(len(out), self.A.nnz * block.shape[1] / max(1, len(out))):
                _ext.rows_times(*self._rows, first, last, block, product, threads)
            _less_outer(product, self.left, self.right @ block)
            out[:, columns] = product[:, : columns.stop - columns.start]
        return out

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        """Return Z'Z V (N, k) float64, or (N,) for one vector; the same bytes for any number of
        threads.
        """
        if V.ndim == 1:
            return self._product(V.reshape(-1, 1), effective_threads(2 * self.A.nnz))[:, 0]
        products = [np.empty((self.n, 0))]
        threads = effective_threads(2 * self.A.nnz * V.shape[1])
        for columns, block in _blocks(V):
            product = self._product(block, threads)
            products.append(product[:, : columns.stop - columns.start])
        return products[1] if len(products) == 2 else np.hstack(products)

    def _product(self, block, threads):
        """Return Z'Z times a block of a width that the loops have, in one call if that is short."""
        width, groups = block.shape[1], self._calls.shape[2]
        parts = self._parts
        if parts is None or parts.shape[2] != width:
            parts = self._parts = _aligned((groups, self.n + 1, width))
        out, shift, last = np.empty(block.shape), self.right @ block, len(self._calls) - 1
        for call, ends in enumerate(self._calls):
            _ext.gram_times(
                *self._rows, self.left, self.right, shift, *ends, block, parts, out, call == 0,
                call == last, threads,
            )  # fmt: skip
        return out

    def dense(self) -> np.ndarray:
        """Return Z'Z (N, N)."""
        A = self.A.astype(np.float64, copy=False)
        S = column_products(A, A)
        sums = A.T @ self.left
        S -= np.outer(sums, self.right)
        S -= np.outer(self.right, sums - (self.left @ self.left) * self.right)
        return (S + S.T) / 2


def column_products(A: Any, B: Any) -> np.ndarray:
    """Return A'B of sparse matrices, dense float64; the same bytes for any number of threads."""
    A, B = sp.csc_array(A, dtype=np.float64), sp.csr_array(B, dtype=np.float64)
    parts = A.indptr, A.indices, B.indptr, B.indices
    kind = np.result_type(*parts)
    starts, rows, indptr, indices = (part.astype(kind, copy=False) for part in parts)
    out = np.zeros((A.shape[1], B.shape[1]))
    work = A.nnz / max(1, A.shape[1]) * B.nnz / max(1, B.shape[0])  # of a column
    threads = effective_threads(work * len(out))
    for first, last in pieces(len(out), work):
        _ext.column_products(
            starts, rows, A.data, indptr, indices, B.data, first, last, out, threads
        )
    return out


def by_count(counts: np.ndarray) -> np.ndarray:
    """Return the order by counts, those of many entries as they are, in linear time."""
    return np.argsort(np.minimum(counts, np.iinfo(np.uint16).max).astype(np.uint16), kind="stable")


def _blocks(V):
    """Yield slices of the columns of V and copies of these, wide enough for the loops."""
    k = V.shape[1]
    for start in range(0, k, _WIDTHS[-1]):
        columns = slice(start, min(k, start + _WIDTHS[-1]))
        count = columns.stop - start
        width = next(width for width in _WIDTHS if width >= count)
        if width == 1:
            block = np.ascontiguousarray(V[:, columns], dtype=np.float64)
        else:
            block = _aligned((len(V), width))
            block[:, :count] = V[:, columns]
            block[:, count:] = 0.0
        yield columns, block


def _less_outer(product, column, row):
    """Subtract ``column row'`` from the product, in its memory."""
    blas.dger(-1.0, row, column, a=product.T, overwrite_a=1)


def _aligned(shape):
    """Return an array, not set, of which rows cross no cache line: 0.75 of the time of products."""
    size = prod(shape)
    memory = np.empty(size + _LINE - 1)
    start = -(memory.ctypes.data // memory.itemsize) % _LINE
    return memory[start : start + size].reshape(shape)


def column_counts(X: Any) -> np.ndarray:
    """Return the number of entries in each column of CSR rows, (d,)."""
    counts = np.zeros(X.shape[1], np.int64)
    _ext.count_columns(X.indices, counts)
    return counts


def largest_entries(X: Any, rows: int) -> np.ndarray:
    """Return the largest absolute value of each column of the first CSR rows, (d,)."""
    largest = np.zeros(X.shape[1])
    _ext.largest_entries(X.data, X.indices, int(X.indptr[rows]), largest)
    return largest


def chosen_columns(X: Any, columns: np.ndarray, size: int) -> Any:
    """Return some columns of CSR rows, which have `size` entries, as CSR."""
    place, chosen = np.zeros(X.shape[1], np.int32), np.zeros(X.shape[1], np.int8)
    place[columns], chosen[columns] = np.arange(len(columns), dtype=np.int32), 1
    types = X.dtype, np.dtype(np.int32), np.dtype(np.int64)
    values, places, entries = (scratch_array((size + 1,), of) for of in types)
    starts = np.zeros(X.shape[0] + 1, np.int64)
    if size:
        _ext.chosen_columns(
            X.data, X.indices, X.indptr, place, chosen, entries, values, places, starts
        )
    shape = X.shape[0], len(columns)
    return sp.csr_array((values[:size], places[:size], starts), shape=shape)


def column_sums(X: Any, weight: np.ndarray, center: np.ndarray) -> np.ndarray:
    """Return sums over the entries of each column of CSR rows, (4, d): in O(nnz) time.

    They are ones, the weights, and these times the deviations from `center` and their squares.
    """
    return _sums_of_columns(_ext.column_sums, X, weight, center)


def target_sums(X: Any, weight: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return sums over the entries of each column of CSR rows, (4, d), in one reading.

    They are ones, entries times weights, their squares times weights, and entries times the target.
    """
    return _sums_of_columns(_ext.target_sums, X, weight, target)


def _sums_of_columns(add, X, *vectors):
    sums = _aligned((X.shape[1], 4))  # those of a column in one cache line: half the time
    sums.fill(0.0)
    indptr = X.indptr.astype(np.int64, copy=False)
    indices = X.indices.astype(np.int32, copy=False)
    if X.nnz:
        add(indptr, indices, X.data, *vectors, sums)
    return sums.T


def row_squares(X: Any) -> np.ndarray:
    """Return the squared norms (n,) of CSR rows of float64."""
    squares = np.empty(X.shape[0])
    _ext.row_squares(X.data, X.indptr, squares)
    return squares
