"""Hot loops of mlcore.numerics.sparse_products: sparse rows, less a rank-one matrix, times a block
of vectors (sparse_products.c), and the moments of their columns.

Rows in CSR format: indptr (m + 1,), indices and values, of N columns. V (N, width), C order, the
width 1, 4 or 8. Groups of rows, from first[g] to last[g], have sums of their own, which the caller
adds in their order, so the thread count never changes a bit. O(nnz width) time, no scratch.
"""
from cython cimport floating
from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t

from mlcore._ext.numerics.sparse_products_h cimport gram_times as gram_times_of_rows
from mlcore._ext.numerics.sparse_products_h cimport rows_times as times_of_rows

cdef enum:
    ROWS = 64


def rows_times(const int64_t[::1] indptr, const int32_t[::1] indices, const floating[::1] values,
               Py_ssize_t first, Py_ssize_t last, const double[:, ::1] V, double[:, ::1] out,
               int n_threads, /):
    """Rows from `first` to `last` of out (m, width) = A V."""
    cdef Py_ssize_t width = V.shape[1], block, start
    for block in prange((last - first + ROWS - 1) // ROWS, nogil=True, num_threads=n_threads,
                        schedule="dynamic"):
        start = first + block * ROWS
        times_of_rows(start, min(last, start + ROWS), &indptr[0], &indices[0], &values[0],
                      &V[0, 0], width, &out[0, 0])


def gram_times(const int64_t[::1] indptr, const int32_t[::1] indices, const floating[::1] values,
               const double[::1] left, const double[::1] shift, const int64_t[::1] first,
               const int64_t[::1] last, const double[:, ::1] V, double[:, :, ::1] out,
               double[:, ::1] sums, int n_threads, /):
    """out (groups, N, width) += A'T and sums (groups, width) += left'T, T = A V - left shift'."""
    cdef Py_ssize_t width = V.shape[1], group
    for group in prange(first.shape[0], nogil=True, num_threads=n_threads, schedule="dynamic"):
        gram_times_of_rows(first[group], last[group], &indptr[0], &indices[0], &values[0],
                           &left[0], &shift[0], &V[0, 0], width, &out[group, 0, 0],
                           &sums[group, 0])


def column_sums(const int64_t[::1] indptr, const int32_t[::1] indices, const floating[::1] values,
                const double[::1] weight, const double[::1] center, double[:, ::1] out, /):
    """Add, of the entries of each column, to out (4, N): ones, weights, and these times the
    deviations from `center` (N,) and their squares.
    """
    cdef Py_ssize_t i
    cdef int64_t at
    cdef int32_t c
    cdef double w, deviation
    with nogil:
        for i in range(weight.shape[0]):
            w = weight[i]
            for at in range(indptr[i], indptr[i + 1]):
                c = indices[at]
                deviation = <double> values[at] - center[c]
                out[0, c] += 1
                out[1, c] += w
                out[2, c] += w * deviation
                out[3, c] += w * (deviation * deviation)
