"""Hot loops of mlcore.naive_bayes.class_counts: sums of rows by class, checked as they are added.

One reading of the rows, O(non-zeros) time. They are cut into parts of `part` rows, each with its
own sums, so that threads never change a bit: a call adds the rows from `first` to `last` of every
part, counted from its beginning, to `tables` (parts, c, d), times their `weights` (n,), or of
length 0 where all are 1. The result is False if a row is refused: for entries of a sparse row out
of range, values that are not finite or larger than `limit`, and

- with kind 0, the sum of values: negative values;
- with kind 2, the sum of zeros and ones: other values.

Kind 1 is the number of values above `threshold`. Entries of a column of a sparse row are added
first, in any order. The caller then has the ordinary checks say what is wrong. Nothing about the
structure of sparse rows need be known but the lengths of their arrays: indptr (n + 1,), as many
indices as data. marks (parts, d) and sums (parts, d), which are 0, are scratch, empty for kind 0.
"""
from cython cimport floating
from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, intptr_t, uint8_t

from mlcore._ext.shared.index cimport index
from mlcore._ext.naive_bayes.class_counts_h cimport (
    dense_d, dense_f, sparse_d_int32, sparse_d_int64, sparse_f_int32, sparse_f_int64,
    sparse_l_int32, sparse_l_int64,
)


ctypedef fused entry:
    float
    double
    int64_t


def sparse_counts(const entry[::1] data, const index[::1] indices, const index[::1] indptr,
                  const intptr_t[::1] codes, const double[::1] weights, int kind,
                  double threshold, double limit, double[:, :, ::1] tables,
                  uint8_t[:, ::1] marks, double[:, ::1] sums, Py_ssize_t part, Py_ssize_t first,
                  Py_ssize_t last, int n_threads, /):
    """Add rows in CSR; with kind 1 the threshold is at least 0."""
    cdef Py_ssize_t n = indptr.shape[0] - 1, m = data.shape[0], d = tables.shape[2], p, start, stop
    cdef const entry* x = &data[0] if m > 0 else NULL
    cdef const index* columns = &indices[0] if m > 0 else NULL
    cdef const double* w = &weights[0] if weights.shape[0] > 0 else NULL
    cdef uint8_t* marked = &marks[0, 0] if marks.shape[1] > 0 else NULL
    cdef double* added = &sums[0, 0] if sums.shape[1] > 0 else NULL
    cdef int refused = 0
    for p in prange(tables.shape[0], num_threads=n_threads, nogil=True, schedule="dynamic"):
        start, stop = p * part + first, min(p * part + min(last, part), n)
        refused += not rows_of(
            start, stop, x, columns, &indptr[0], m, &codes[0], w, kind, threshold, limit, d,
            &tables[p, 0, 0], marked + p * marks.shape[1], added + p * sums.shape[1])
    return refused == 0


cdef inline int rows_of(Py_ssize_t start, Py_ssize_t stop, const entry* x, const index* columns,
                        const index* starts, Py_ssize_t m, const intptr_t* codes, const double* w,
                        int kind, double threshold, double limit, Py_ssize_t d, double* table,
                        uint8_t* marks, double* sums) noexcept nogil:
    if entry is float:
        if index is int32_t:
            return sparse_f_int32(start, stop, x, columns, starts, m, codes, w, kind, threshold,
                                  <float> limit, d, table, marks, sums)
        else:
            return sparse_f_int64(start, stop, x, columns, starts, m, codes, w, kind, threshold,
                                  <float> limit, d, table, marks, sums)
    elif entry is double:
        if index is int32_t:
            return sparse_d_int32(start, stop, x, columns, starts, m, codes, w, kind, threshold,
                                  limit, d, table, marks, sums)
        else:
            return sparse_d_int64(start, stop, x, columns, starts, m, codes, w, kind, threshold,
                                  limit, d, table, marks, sums)
    else:
        if index is int32_t:
            return sparse_l_int32(start, stop, x, columns, starts, m, codes, w, kind, threshold, 0,
                                  d, table, marks, sums)
        else:
            return sparse_l_int64(start, stop, x, columns, starts, m, codes, w, kind, threshold, 0,
                                  d, table, marks, sums)


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
