"""Hot loops of mlcore.linear_model.regression.mixed_precision: sparse rows in units of their own and
in float32, and products with these (mixed_precision.c).

CSR rows: indptr (n + 1,), indices and data; `place` (d,) is that of a light column, ALONE for one
of a single entry, and HEAVY - h for the heavy column h. Of GROUP rows, or columns, of a group the
next entry of each lies side by side. One thread writes a group, so the thread count never changes
a bit. O(nnz) time.
"""
from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t

from mlcore._ext.linear_model.mixed_precision_h cimport groups_times as times_of_groups

cdef enum:
    ALONE = -1
    HEAVY = -2
    GROUP = 16
    GROUPS = 32


def row_squares(const int64_t[::1] indptr, const int32_t[::1] indices, const double[::1] data,
                const int32_t[::1] place, Py_ssize_t first, Py_ssize_t last, double[:, ::1] squares,
                int64_t[::1] counts, int n_threads, /):
    """Set the squares (n, 3) of rows from `first` to `last`, those in heavy columns and those in
    columns of one entry, and the number of their light entries, counts (n,).
    """
    cdef Py_ssize_t i, t
    cdef double square, whole, heavy, alone
    cdef int64_t count
    cdef int32_t k
    for i in prange(first, last, nogil=True, num_threads=n_threads, schedule="static"):
        whole = heavy = alone = 0
        count = 0
        for t in range(indptr[i], indptr[i + 1]):
            k = place[indices[t]]
            square = data[t] * data[t]
            whole = whole + square
            heavy = heavy + square * (k <= HEAVY)
            alone = alone + square * (k == ALONE)
            count = count + (k >= 0)
        squares[i, 0], squares[i, 1], squares[i, 2], counts[i] = whole, heavy, alone, count


def fill(const int64_t[::1] indptr, const int32_t[::1] indices, const double[::1] data,
         const int32_t[::1] place, const int64_t[::1] order, const double[::1] inverse,
         Py_ssize_t first, Py_ssize_t last, const int64_t[::1] starts, int32_t[::1] row_places,
         float[::1] row_values, int64_t[::1] following, int32_t[::1] column_places,
         float[::1] column_values, float[:, ::1] heavy, /):
    """Set the entries of the rows order[first] to order[last - 1], times their `inverse` (n,), in
    groups of rows and in groups of columns, and `heavy` (n, h), both zero before.

    The next entry of light column j belongs to following[j], which is moved on.
    """
    cdef Py_ssize_t q, i, t, at, below
    cdef float value
    cdef int32_t k
    with nogil:
        for q in range(first, last):
            i, at = order[q], starts[q // GROUP] + q % GROUP
            for t in range(indptr[i], indptr[i + 1]):
                k, value = place[indices[t]], <float> (data[t] * inverse[q])
                if k >= 0:
                    row_places[at], row_values[at] = k, value
                    at += GROUP
                    below = following[k]
                    column_places[below], column_values[below] = <int32_t> q, value
                    following[k] = below + GROUP
                elif k <= HEAVY:
                    heavy[q, HEAVY - k] = value


def groups_times(const int64_t[::1] starts, const int32_t[::1] places, const float[::1] values,
                 Py_ssize_t first, Py_ssize_t last, const float[::1] v, float[::1] out,
                 int n_threads, /):
    """Set out (16 m,) to the products of m groups, from `first` to `last`, with v."""
    cdef Py_ssize_t block, start
    for block in prange((last - first + GROUPS - 1) // GROUPS, nogil=True, num_threads=n_threads,
                        schedule="static"):
        start = first + block * GROUPS
        times_of_groups(start, min(last, start + GROUPS), &starts[0], &places[0], &values[0],
                        &v[0], v.shape[0], &out[0])
