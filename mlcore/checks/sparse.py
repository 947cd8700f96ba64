"""Validation of sparse samples: their structure, before compiled code follows an index."""

from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse as sp

from mlcore._ext.checks import arrays as _ext
from mlcore._ext.checks import sparse as _loops
from mlcore.checks.arrays import as_floats, refuse_row
from mlcore.runtime.threads import pieces

_COLUMNS = 1 << 20  # whose scratch is small, whatever the rows


def as_canonical_csr(
    X: Any,
    name: str = "X",
    owner: str = "",
    dtype: np.dtype | None = None,
    check_finite: bool = True,
) -> sp.csr_array:
    """Return data in any of SciPy's formats as CSR with sorted column indices and no duplicates.

    Duplicates are summed, zeros stay; arrays are shared with `X` where they need no change.
    TypeError for anything but numbers; ValueError for corrupt structure, complex or (if
    `check_finite`) infinite values.
    """
    if X.ndim != 2:
        raise ValueError(
            f"{name}: expected 2D array, got {X.ndim}D sparse array instead. Reshape your data."
        )
    if X.format in ("csr", "csc", "bsr"):
        compressed = _compressed(X, name, dtype)
        csr = compressed if X.format == "csr" else compressed.tocsr()
    else:
        entries = {"coo": _coo, "dia": _dia, "dok": _dok, "lil": _lil}[X.format]
        data, rows, cols = entries(X, name)
        data = _real_data(data, name, dtype)
        rows = _indices(rows, X.shape[0], f"{name}.row")
        cols = _indices(cols, X.shape[1], f"{name}.col")
        if not len(rows) == len(cols) == len(data):
            raise ValueError(
                f"{name} is corrupt: {name}.row, {name}.col and {name}.data have lengths "
                f"{len(rows)}, {len(cols)} and {len(data)}, but must have the same."
            )
        csr = sp.coo_array((data, (rows, cols)), shape=X.shape).tocsr()
    if not csr.has_canonical_format:
        csr = _in_order(csr)
    if check_finite:
        _require_finite_rows(csr, name, owner)
    return csr


def _in_order(X):
    """Return a copy of CSR rows in canonical format, in a fourth of the time of SciPy."""
    n, d = X.shape
    if d > max(_COLUMNS, 4 * X.nnz):  # more memory for columns than for entries
        X = X.copy()
        X.sum_duplicates()
        return X
    data, indices, indptr = np.empty_like(X.data), np.empty_like(X.indices), np.zeros_like(X.indptr)
    zeros, sums = np.zeros(d // 64 + d // 4096 + 2, np.uint64), np.zeros(d, X.dtype)
    rows = X.data, X.indices, X.indptr
    for first, last in pieces(n, 10 * X.nnz / n + d / 4096):
        _loops.put_in_order(*rows, first, last, zeros, sums, data, indices, indptr)
    m = indptr[-1]
    X = sp.csr_array((data[:m], indices[:m], indptr), shape=X.shape)
    X.has_sorted_indices = X.has_canonical_format = True
    return X


def _coo(X, name):
    return X.data, X.row, X.col


def _dia(X, name):
    """Return the entries within the matrix, without zeros, which fill up the diagonals."""
    offsets = _integers(X.offsets, f"{name}.offsets")
    if X.data.ndim != 2 or len(offsets) != len(X.data):
        raise ValueError(
            f"{name} is corrupt: {name}.data has shape {X.data.shape}, but must have a row for "
            f"each of the {len(offsets)} offsets."
        )
    cols = np.broadcast_to(np.arange(X.data.shape[1]), X.data.shape)
    rows = cols - offsets[:, None]
    stored = (rows >= 0) & (rows < X.shape[0]) & (cols < X.shape[1]) & (X.data != 0)
    return X.data[stored], rows[stored], cols[stored]


def _dok(X, name):
    keys = np.array(list(X.keys()), dtype=np.int64).reshape(-1, 2)
    return np.fromiter(X.values(), X.dtype, len(keys)), keys[:, 0], keys[:, 1]


def _lil(X, name):
    lengths = [len(row) for row in X.rows]
    if lengths != [len(row) for row in X.data] or len(lengths) != X.shape[0]:
        raise ValueError(f"{name} is corrupt: {name}.rows and {name}.data differ in their lengths.")
    try:
        cols = np.fromiter(chain.from_iterable(X.rows), np.int64, sum(lengths))
        data = np.fromiter(chain.from_iterable(X.data), X.dtype, sum(lengths))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is corrupt: a row of it has {error}.") from None
    return data, np.repeat(np.arange(X.shape[0]), lengths), cols


def _compressed(X, name, dtype):
    """Return a new array of the same format, whose structure and data are checked."""
    block = X.data.shape[1:] if X.format == "bsr" else (1, 1)
    if len(block) != 2 or 0 in block or any(np.remainder(X.shape, block)):
        raise ValueError(
            f"{name} is corrupt: blocks of shape {block} do not make up {X.shape[0]} x "
            f"{X.shape[1]} values."
        )
    n_major, n_minor = np.floor_divide(X.shape, block)[:: -1 if X.format == "csc" else 1]
    indptr = _integers(X.indptr, f"{name}.indptr")
    if len(indptr) != n_major + 1:
        raise ValueError(
            f"{name} is corrupt: {name}.indptr has length {len(indptr)}, but must have "
            f"{n_major + 1} for shape {X.shape}."
        )
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise ValueError(f"{name} is corrupt: {name}.indptr must start at 0 and never decrease.")
    used = int(indptr[-1])
    if used > min(len(X.indices), len(X.data)):
        raise ValueError(
            f"{name} is corrupt: {name}.indptr ends at {used}, but {name}.indices and {name}.data "
            f"have lengths {len(X.indices)} and {len(X.data)}."
        )
    indices = _integers(X.indices[:used], f"{name}.indices")
    in_order, *span = _loops.order_of(indices, indptr)
    if not in_order:
        span = indices.min(), indices.max()
    _require_within(*span, n_minor, f"{name}.indices")
    data = X.data[:used]
    if X.format == "bsr":
        data = _real_data(data.ravel(), name, dtype).reshape(used, *block)
    else:
        data = _real_data(data, name, dtype)
    # A new object has its own flags: a user may have set has_sorted_indices wrongly.
    checked = getattr(sp, f"{X.format}_array")((data, indices, indptr), shape=X.shape)
    if in_order and X.format == "csr":
        checked.has_canonical_format = True
    return checked


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
    if len(array):
        _require_within(array.min(), array.max(), size, name)
    return array


def _require_within(least, greatest, size, name):
    if least < 0 or greatest >= size:
        raise ValueError(
            f"{name} is out of range: it spans {least} to {greatest}, but must lie within 0 to "
            f"{size - 1}."
        )


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


def dense_if_full(X: Any) -> Any:
    """Return a CSR matrix (n, d) as an array if that takes no more memory, else X itself.

    Results for samples without zeros are then the same bytes, sparse or dense.
    """
    if not sp.issparse(X):
        return X
    width = X.dtype.itemsize
    return X.toarray() if X.nnz * (width + 4) >= X.shape[0] * X.shape[1] * width else X


def is_plain_csr(X: Any, integers: bool = False) -> bool:
    """Return True for CSR of float32, float64 or (if taken) int64 arrays that loops can follow."""
    if not sp.issparse(X) or X.format != "csr" or X.ndim != 2 or 0 in X.shape:
        return False
    parts = X.data, X.indices, X.indptr
    return (
        all(type(a) is np.ndarray and a.ndim == 1 for a in parts)
        and all(a.flags.c_contiguous and a.flags.aligned and a.dtype.isnative for a in parts)
        and X.data.dtype in (np.float32, np.float64, *([np.int64] if integers else []))
        and X.indices.dtype == X.indptr.dtype
        and X.indices.dtype in (np.int32, np.int64)
        and len(X.indptr) == X.shape[0] + 1
        and len(X.indices) == len(X.data)
        and X.indptr[0] == 0
    )
