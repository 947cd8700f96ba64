"""Hot loops of mlcore.naive_bayes.class_counts: sums of rows by class, checked as they are added.

One reading of the rows from `first` to `last`, O(non-zeros) time. Every row is added to that of its
class in `table` (c, d), times its weight; `weights` (n,), or of length 0 where all are 1. A loop
stops at the first row that it does not take and returns its number, else -1: entries of a sparse
row out of range, values that are not finite or larger than `limit`, and

- with kind 0, the sum of values: negative values;
- with kind 1, the number of values above `threshold`: sparse columns not in ascending
  order, whose duplicates would be counted twice;
- with kind 2, the sum of zeros and ones: other values, and such columns.

The caller then has the ordinary checks say what is wrong. Nothing about the structure of sparse
rows need be known but the lengths of their arrays: indptr (n + 1,), as many indices as data.
"""
from cython cimport floating
from libc.stdint cimport intptr_t

from mlcore._ext.index cimport index


cdef bint add_sparse(const floating* data, const index* indices, Py_ssize_t n, Py_ssize_t d,
                     double weight, int kind, double threshold, floating limit,
                     double* row) noexcept nogil:
    """Add n entries of a row to that of its class; return False if they are refused."""
    cdef index column, previous = -1
    cdef floating value
    cdef Py_ssize_t p
    if kind == 0:
        for p in range(n):
            column, value = indices[p], data[p]
            if not (0 <= column < d and 0 <= value <= limit):
                return False
            row[column] += weight * value
        return True
    if kind == 2:
        for p in range(n):
            column, value = indices[p], data[p]
            if not previous < column < d or value * (value - 1) != 0:
                return False
            previous = column
            row[column] += weight * value
        return True
    for p in range(n):
        column, value = indices[p], data[p]
        if not (previous < column < d and -limit <= value <= limit):
            return False
        previous = column
        row[column] += weight if value > threshold else 0
    return True


cdef bint add_dense(const floating* x, Py_ssize_t d, double weight, int kind, double threshold,
                    floating limit, double* row) noexcept nogil:
    """Add a row of d values to that of its class; return False if it has refused ones."""
    cdef int refused = 0
    cdef Py_ssize_t j
    if kind == 0:
        for j in range(d):
            refused |= not (0 <= x[j] <= limit)
            row[j] += weight * x[j]
    elif kind == 1:
        for j in range(d):
            refused |= not (-limit <= x[j] <= limit)
            row[j] += weight * (x[j] > threshold)
    else:
        for j in range(d):
            refused |= x[j] * (x[j] - 1) != 0  # as are NaN and infinity
            row[j] += weight * x[j]
    return not refused


def sparse_counts(const floating[::1] data, const index[::1] indices, const index[::1] indptr,
                  const intptr_t[::1] codes, const double[::1] weights, int kind,
                  double threshold, floating limit, double[:, ::1] table, Py_ssize_t first,
                  Py_ssize_t last, /):
    """Add rows in CSR; with kind 1 the threshold is at least 0."""
    cdef Py_ssize_t n_entries = data.shape[0], d = table.shape[1], i, start, end, refused = -1
    cdef double weight = 1
    with nogil:
        for i in range(first, last):
            start, end = indptr[i], indptr[i + 1]
            if weights.shape[0]:
                weight = weights[i]
            if not (0 <= start <= end <= n_entries) or not add_sparse(
                &data[0] + start, &indices[0] + start, end - start, d, weight, kind, threshold,
                limit, &table[codes[i], 0]
            ):
                refused = i
                break
    return refused


def dense_counts(const floating[:, ::1] X, const intptr_t[::1] codes, const double[::1] weights,
                 int kind, double threshold, floating limit, double[:, ::1] table,
                 Py_ssize_t first, Py_ssize_t last, /):
    """Add the rows of X (n, d)."""
    cdef Py_ssize_t i, refused = -1
    cdef double weight = 1
    with nogil:
        for i in range(first, last):
            if weights.shape[0]:
                weight = weights[i]
            if not add_dense(&X[i, 0], X.shape[1], weight, kind, threshold, limit,
                             &table[codes[i], 0]):
                refused = i
                break
    return refused
