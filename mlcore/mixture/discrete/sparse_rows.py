"""Sparse rows, lists of entries: the form in which discrete mixtures read data.

A row's log density under a component is a constant plus, for each entry, its value times a number
of its column and the component: time is in proportion to the entries. That number is -inf where an
entry is impossible, so entries have no value of 0.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse as sp

from mlcore._ext.mixture import sparse_rows as _ext
from mlcore.mixture.discrete.sparse_e_step import Loop
from mlcore.runtime.threads import effective_threads

BIT_GROUP: int = _ext.GROUP  # binary features in an entry: tables of 2^BIT_GROUP rows fit the cache
_ENTRIES_OF_A_LONG_ROW = 32
_BLOCK = 1 << 14  # values checked at a time


@dataclass
class SparseRows:
    """Sparse rows in the form that the compiled loop reads."""

    n_rows: int
    n_columns: int
    columns: np.ndarray  # (n_entries,) int32
    indptr: np.ndarray | None  # (n_rows + 1,) int64; None: rows of equal length
    values: np.ndarray | None = None  # (n_entries,) float64; None: all are 1
    weights: np.ndarray | None = None  # (n_rows,) float64; None: all are 1
    _loop: Loop | None = None
    _edges: np.ndarray | None = None

    @property
    def length(self) -> int:
        return len(self.columns) // self.n_rows

    @property
    def total_weight(self) -> float:
        return float(self.n_rows if self.weights is None else self.weights.sum())

    @property
    def hard_sums_pay(self) -> bool:
        """Return True if sums of hard-assigned rows are worth keeping from pass to pass.

        They must be integers below 2^53, and rows long: one component is then often certain.
        """
        if len(self.columns) < _ENTRIES_OF_A_LONG_ROW * self.n_rows:
            return False
        most = largest_integer(self.values) * largest_integer(self.weights)
        return most * len(self.columns) < 2**53

    @cached_property
    def row_totals(self) -> np.ndarray:
        """The sum of each row's values; rows are of unequal length."""
        values = np.ones(len(self.columns)) if self.values is None else self.values
        shape = self.n_rows, self.n_columns
        return sp.csr_array((values, self.columns, self.indptr), shape=shape) @ np.ones(shape[1])

    def column_edges(self, n_parts: int) -> np.ndarray:
        """Return the edges (n_parts + 1,) of ranges of columns with about equally many entries.

        A single range, all columns, is [0, 0].
        """
        if n_parts == 1:
            return np.zeros(2, np.int64)
        if self._edges is None or len(self._edges) != n_parts + 1:
            counts = np.bincount(self.columns, minlength=self.n_columns).cumsum()
            inner = np.searchsorted(counts, counts[-1] * np.arange(1, n_parts) / n_parts)
            self._edges = np.concatenate([[0], inner, [self.n_columns]]).astype(np.int64)
        return self._edges

    def loop(self, k: int, *, entire: bool = False) -> Loop:
        """Return the loop over these rows for k components, the same every time.

        If `entire`, no responsibility is left out: without a prior tiny ones keep columns above 0.
        """
        if self._loop is None or (self._loop.k, self._loop.entire) != (k, entire):
            self._loop = Loop(self, k, entire)
        return self._loop

    def part(self, first: int, stop: int) -> "SparseRows":
        """Return rows first to stop, without their weights."""
        indptr, begin, end = None, first * self.length, stop * self.length
        if self.indptr is not None:
            begin, end = self.indptr[first], self.indptr[stop]
            indptr = self.indptr[first : stop + 1] - begin
        values = None if self.values is None else self.values[begin:end]
        return SparseRows(stop - first, self.n_columns, self.columns[begin:end], indptr, values)

    def taken(self, rows: np.ndarray, weights: np.ndarray | None = None) -> "SparseRows":
        """Return some rows, with other weights."""
        lengths = np.full(len(rows), self.length)
        begins = rows * self.length
        if self.indptr is not None:
            begins = self.indptr[rows]
            lengths = self.indptr[rows + 1] - begins
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(begins - indptr[:-1], lengths) + np.arange(indptr[-1])
        values = None if self.values is None else self.values[places]
        kept = None if self.indptr is None else indptr
        return SparseRows(len(rows), self.n_columns, self.columns[places], kept, values, weights)

    @cached_property
    def matrix(self) -> sp.csr_array:
        """The values by column, (n_rows, n_columns)."""
        indptr, values = self.indptr, self.values
        if indptr is None:
            indptr = np.arange(self.n_rows + 1) * self.length
        if values is None:
            values = np.ones(len(self.columns))
        return sp.csr_array((values, self.columns, indptr), shape=(self.n_rows, self.n_columns))


def rows_of_array(
    X: np.ndarray, most: np.ndarray, weights: np.ndarray | None
) -> tuple[SparseRows, np.ndarray]:
    """Return the entries of an array that are not 0, and which rows have one outside [0, `most`].

    After them come a row's NaN: column c's is an entry of value 1 in column d + c.
    """
    n, d = X.shape
    indptr, wrong = np.zeros(n + 1, np.int64), np.empty(n, np.uint8)
    n_threads = effective_threads(X.size)
    _ext.count_entries(X, indptr, n_threads)
    np.cumsum(indptr, out=indptr)
    columns, values = np.empty(max(1, indptr[-1]), np.int32), np.empty(max(1, indptr[-1]))
    _ext.fill_entries(X, most, indptr, columns, values, wrong, n_threads)
    columns, values = columns[: indptr[-1]], values[: indptr[-1]]
    return SparseRows(n, d, columns, indptr, values, weights), wrong


def rows_of_bits(
    X: np.ndarray, modes: np.ndarray, threshold: float, strict: bool, weights: np.ndarray | None
) -> tuple[SparseRows, np.ndarray]:
    """Return binary features as sparse rows, and a mask of rows with values but 0, 1 and NaN.

    A column is a group of `BIT_GROUP` features and a pattern of those that differ from `modes`
    (d,); behind these comes one for each feature, for missing values. Rows are masked only if
    `strict`.
    """
    n, d = X.shape
    groups = np.zeros((-(-d // BIT_GROUP), BIT_GROUP), np.uint8)
    groups.reshape(-1)[:d] = modes
    groups = groups @ (1 << np.arange(BIT_GROUP, dtype=np.uint8))
    codes = np.empty((n, len(groups)), np.uint8)
    indptr, missing, wrong = np.zeros(n + 1, np.int64), np.empty(n, np.int64), np.empty(n, np.uint8)
    n_threads = effective_threads(X.size)
    _ext.deviating_bits(X, groups, threshold, strict, codes, indptr, missing, wrong, n_threads)
    np.cumsum(indptr, out=indptr)
    columns = np.empty(max(1, indptr[-1]), np.int32)
    _ext.fill_bits(X, codes, missing, indptr, columns, n_threads)
    n_columns = (len(groups) << BIT_GROUP) + (d if missing.any() else 0)
    return SparseRows(n, n_columns, columns[: indptr[-1]], indptr, None, weights), wrong


def rows_of_csr(X: sp.csr_array, weights: np.ndarray | None) -> SparseRows:
    """Return the entries of a canonical CSR array, without explicit zeros."""
    if X.shape[1] > np.iinfo(np.int32).max:
        raise ValueError(f"X has {X.shape[1]} features, but at most 2**31 - 1 are supported.")
    if not X.data.all():
        X = X.copy()
        X.eliminate_zeros()
    return SparseRows(
        *X.shape,
        X.indices.astype(np.int32, copy=False),
        X.indptr.astype(np.int64, copy=False),
        X.data.astype(np.float64, copy=False),
        weights,
    )


def largest_integer(values: np.ndarray | None) -> float:
    """Return the largest magnitude if all values are integers, else infinity; None is all ones."""
    most = 1.0
    for start in range(0, 0 if values is None else len(values), _BLOCK):
        block = values[start : start + _BLOCK]
        if not np.array_equal(np.rint(block), block):
            return np.inf
        most = max(most, block.max(), -block.min())
    return most
