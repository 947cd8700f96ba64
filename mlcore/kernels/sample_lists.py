"""Samples as lists of their non-zeros, and weighted sums of them."""

from typing import NamedTuple, Self

import numpy as np
from scipy import sparse

from mlcore._ext.kernels import sample_lists as _ext
from mlcore.runtime.threads import effective_threads


class SampleLists(NamedTuple):
    """Non-zeros of each sample, as in CSR.

    Attributes
    ----------
    indptr : (n + 1,) int64
    indices : (nnz or more,) int32
    values : (nnz or more,) float32 or float64
    """

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray | sparse.csr_array, dtype: np.dtype, *, zeros: bool) -> Self:
        """Return the lists of the rows of X; `zeros` keeps the zeros of dense rows.

        Lists that are not full have a spare value, so that even empty ones have an address.
        """
        if sparse.issparse(X):
            indices, values = (X.indices, X.data) if X.nnz else (np.zeros(1), np.zeros(1))
            return cls(
                X.indptr.astype(np.int64),
                indices.astype(np.int32, copy=False),
                values.astype(dtype, copy=False),
            )
        X, threads = np.ascontiguousarray(X), effective_threads(X.size)
        n, d = X.shape
        indptr = np.arange(n + 1, dtype=np.int64) * d
        if not zeros:
            _ext.count_nonzeros(X, indptr, threads)
            np.cumsum(indptr, out=indptr)
        if indptr[-1] == n * d > 0:
            indices = np.empty((n, d), dtype=np.int32)
            indices[:] = np.arange(d)
            return cls(indptr, indices.ravel(), X.astype(dtype, copy=False).ravel())
        indices = np.zeros(indptr[-1] + 1, dtype=np.int32)
        values = np.zeros(indptr[-1] + 1, dtype=dtype)
        _ext.fill_lists(X, indptr, indices, values, threads)
        return cls(indptr, indices, values)

    def combine(self, rows: np.ndarray, weights: np.ndarray, w: np.ndarray) -> None:
        """w += sum_r weights[r] x of rows[r], float64 (d,)."""
        _ext.combine(*self, rows, weights, w)

    def project(self, w: np.ndarray, out: np.ndarray) -> None:
        """out[i] = x_i.w, float64 (n,)."""
        _ext.project(*self, w, out, effective_threads(self.indptr[-1]))


def shifted_lists(
    X: np.ndarray,
    shift: np.ndarray | None,
    dtype: np.dtype,
    *,
    zeros: bool,
    unit: float,
    absolute: bool,
) -> tuple[SampleLists, np.ndarray]:
    """Return the lists of X - shift, and for each row `unit` times its sum of squares, (n,).

    `absolute` asks for the sums of absolute values instead. One compiled call, on one thread.
    """
    terms = np.empty(len(X), dtype)
    lists = SampleLists(
        np.empty(len(X) + 1, np.int64), np.empty(X.size + 1, np.int32), np.empty(X.size + 1, dtype)
    )
    _ext.shifted_lists(X, shift, zeros, unit, absolute, *lists, terms)
    return lists, terms


def row_sums(X: np.ndarray | sparse.csr_array, of: str) -> np.ndarray:
    """Return sums over the features of "squares" or "absolute" values, float64 (n,)."""
    if sparse.issparse(X):
        values = X.data.astype(np.float64)
        values = np.abs(values) if of == "absolute" else values * values
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        return np.bincount(rows, weights=values, minlength=X.shape[0])
    if of == "squares":
        return np.einsum("ij,ij->i", X, X, dtype=np.float64)
    return np.abs(X).sum(axis=1, dtype=np.float64)
