"""Hot loops of mlcore.naive_bayes.class_counts: sums of rows by class, checked as they are added.

One reading of the rows, O(non-zeros) time. They are cut into parts of `part` rows, each with its
own sums, so that threads never change a bit: a call adds the rows from `first` to `last` of every
part, counted from its beginning, to `tables` (parts, c, d), times their `weights` (n,), or of
length 0 where all are 1. The result is False if a row is refused: for entries of a sparse row out
of range, values that are not finite or larger than `limit`, and

- with kind 0, the sum of values: negative values;
- with kind 1, the number of values above `threshold`: sparse columns not in ascending
  order, whose duplicates would be counted twice;
- with kind 2, the sum of zeros and ones: other values, and such columns.

The caller then has the ordinary checks say what is wrong. Nothing about the structure of sparse
rows need be known but the lengths of their arrays: indptr (n + 1,), as many indices as data.
"""
from cython cimport floating
from cython.parallel cimport prange
from libc.stdint cimport int32_t, intptr_t

from mlcore._ext.shared.index cimport index
from mlcore._ext.naive_bayes.class_counts_h cimport (
    dense_d, dense_f, sparse_d_int32, sparse_d_int64, sparse_f_int32, sparse_f_int64,
)


def sparse_counts(const floating[::1] data, const index[::1] indices, const index[::1] indptr,
                  const intptr_t[::1] codes, const double[::1] weights, int kind,
                  double threshold, floating limit, double[:, :, ::1] tables, Py_ssize_t part,
                  Py_ssize_t first, Py_ssize_t last, int n_threads, /):
    """Add rows in CSR; with kind 1 the threshold is at least 0."""
    cdef Py_ssize_t n = indptr.shape[0] - 1, m = data.shape[0], d = tables.shape[2], p, start, stop
    cdef const floating* x = &data[0] if m > 0 else NULL
    cdef const index* columns = &indices[0] if m > 0 else NULL
    cdef const double* w = &weights[0] if weights.shape[0] > 0 else NULL
    cdef int refused = 0
    for p in prange(tables.shape[0], num_threads=n_threads, nogil=True, schedule="dynamic"):
        start, stop = p * part + first, min(p * part + min(last, part), n)
        if floating is float:
            if index is int32_t:
                refused += not sparse_f_int32(start, stop, x, columns, &indptr[0], m, &codes[0], w,
                                              kind, threshold, limit, d, &tables[p, 0, 0])
            else:
                refused += not sparse_f_int64(start, stop, x, columns, &indptr[0], m, &codes[0], w,
                                              kind, threshold, limit, d, &tables[p, 0, 0])
        else:
            if index is int32_t:
                refused += not sparse_d_int32(start, stop, x, columns, &indptr[0], m, &codes[0], w,
                                              kind, threshold, limit, d, &tables[p, 0, 0])
            else:
                refused += not sparse_d_int64(start, stop, x, columns, &indptr[0], m, &codes[0], w,
                                              kind, threshold, limit, d, &tables[p, 0, 0])
    return refused == 0


def dense_counts(const floating[:, ::1] X, const intptr_t[::1] codes, const double[::1] weights,
                 int kind, double threshold, floating limit, double[:, :, ::1] tables,
                 Py_ssize_t part, Py_ssize_t first, Py_ssize_t last, int n_threads, /):
    """Add the rows of X (n, d)."""
    cdef Py_ssize_t n = X.shape[0], d = tables.shape[2], p, start, stop
    cdef const double* w = &weights[0] if weights.shape[0] > 0 else NULL
    cdef int refused = 0
    for p in prange(tables.shape[0], num_threads=n_threads, nogil=True, schedule="dynamic"):
        start, stop = p * part + first, min(p * part + min(last, part), n)
        if floating is float:
            refused += not dense_f(start, stop, &X[0, 0], &codes[0], w, kind, threshold, limit, d,
                                   &tables[p, 0, 0])
        else:
            refused += not dense_d(start, stop, &X[0, 0], &codes[0], w, kind, threshold, limit, d,
                                   &tables[p, 0, 0])
    return refused == 0
