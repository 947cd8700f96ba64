"""Sparse samples: structure is proved sound before any compiled code follows an index."""

from typing import Any

import numpy as np
from scipy import sparse as sp

from mlcore._ext import arrays as _ext
from mlcore.checks.arrays import as_floats, refuse_row


def as_canonical_csr(
    X: Any, name: str = "X", owner: str = "", dtype: np.dtype | None = None
) -> sp.csr_array:
    """Return CSR, CSC or COO data as CSR with sorted column indices and no duplicates.

    Duplicate entries are summed, explicit zeros stay. Arrays in order already are shared with
    `X`, which never changes. Time O(nnz), plus sorting where rows are unsorted.

    Raises
    ------
    TypeError
        For other sparse formats, and data that are no numbers.
    ValueError
        For complex numbers; indices or indptr out of range, decreasing, or of the wrong length;
        NaN, infinity, and rows whose squared norms come near overflow.
    """
    if X.format not in ("csr", "csc", "coo"):
        raise TypeError(
            f"{name} is sparse in {X.format.upper()} format ({type(X).__name__}), but must be "
            f"CSR, CSC or COO: use {name}.tocsr()."
        )
    if X.ndim != 2:
        raise ValueError(
            f"{name}: expected 2D array, got {X.ndim}D sparse array instead. Reshape your data."
        )
    data = _real_data(X.data, name, dtype)
    n_rows, n_cols = X.shape
    if X.format == "coo":
        rows = _indices(X.row, n_rows, f"{name}.row")
        cols = _indices(X.col, n_cols, f"{name}.col")
        if not len(rows) == len(cols) == len(data):
            raise ValueError(
                f"{name} is corrupt: {name}.row, {name}.col and {name}.data have lengths "
                f"{len(rows)}, {len(cols)} and {len(data)}, but must have the same."
            )
        csr = sp.coo_array((data, (rows, cols)), shape=X.shape).tocsr()
    else:
        compressed = _compressed(X, data, name)
        csr = compressed if X.format == "csr" else compressed.tocsr()
    if not csr.has_canonical_format:
        csr = csr.copy()  # its arrays may be the user's
        csr.sum_duplicates()
    _require_finite_rows(csr, name, owner)
    return csr


def _compressed(X, data, name):
    n_major, n_minor = X.shape if X.format == "csr" else X.shape[::-1]
    indptr = _integers(X.indptr, f"{name}.indptr")
    if len(indptr) != n_major + 1:
        raise ValueError(
            f"{name} is corrupt: {name}.indptr has length {len(indptr)}, but must have "
            f"{n_major + 1} for shape {X.shape}."
        )
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise ValueError(f"{name} is corrupt: {name}.indptr must start at 0 and never decrease.")
    used = int(indptr[-1])
    if used > min(len(X.indices), len(data)):
        raise ValueError(
            f"{name} is corrupt: {name}.indptr ends at {used}, but {name}.indices and {name}.data "
            f"have lengths {len(X.indices)} and {len(data)}."
        )
    indices = _indices(X.indices[:used], n_minor, f"{name}.indices")
    kind = sp.csr_array if X.format == "csr" else sp.csc_array
    # A new object: flags such as has_sorted_indices that a user may have set are worked out anew.
    return kind((data[:used], indices, indptr), shape=X.shape)


def _integers(array, name):
    array = np.asarray(array)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} is corrupt: it has shape {array.shape} and type {array.dtype}, but must be a "
            "vector of integers."
        )
    if array.dtype not in (np.int32, np.int64):
        array = array.astype(np.int64)
    return np.require(array, array.dtype.newbyteorder("="), ["C", "A"])


def _indices(array, size, name):
    array = _integers(array, name)
    if len(array) and (array.min() < 0 or array.max() >= size):
        raise ValueError(
            f"{name} is out of range: it spans {array.min()} to {array.max()}, but must lie "
            f"within 0 to {size - 1}."
        )
    return array


def _real_data(data, name, dtype):
    data = np.asarray(data)
    if data.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{name} is of type {data.dtype}.")
    if data.dtype.kind not in "biuf":
        raise TypeError(f"Sparse {name} is of type {data.dtype}, but must hold real numbers.")
    if data.ndim != 1:
        raise ValueError(f"{name} is corrupt: {name}.data has shape {data.shape}, not one axis.")
    if dtype is None:
        single = data.dtype.kind == "f" and data.dtype.itemsize == 4
        dtype = np.float32 if single else np.float64
    return as_floats(data, dtype)


def _require_finite_rows(csr, name, owner):
    limit = np.finfo(csr.data.dtype).max / 4
    if _ext.sum_of_squares(csr.data) <= limit:
        return
    with np.errstate(all="ignore"):
        rows = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
        # Squares in double never overflow for single precision, and to infinity in double.
        norms = np.bincount(rows, np.square(csr.data, dtype=np.float64), minlength=csr.shape[0])
        fine = norms <= limit
    if not fine.all():
        row = int(np.argmin(fine))
        span = slice(csr.indptr[row], csr.indptr[row + 1])
        refuse_row(csr.data[span], name, owner, row, columns=csr.indices[span])
