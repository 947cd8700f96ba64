"""Hot loop of mlcore.eigen: a dense matrix times a block of vectors (simd/product_loops.h).

K (n_rows, n), V (n, width) and out (n_rows, width), C order, the width a multiple of 8, all checked
by the caller. Rows `first` to `last` of `out` are written, each by one thread and by sums in one
order, so the thread count never changes a bit. O(rows n width) time, no scratch.
"""
from cython cimport floating
from cython.parallel cimport prange

from mlcore._ext.simd.product cimport product as product_of_rows

cdef enum:
    ROWS = 32


def product(const floating[:, ::1] K, const double[:, ::1] V, double[:, ::1] out, Py_ssize_t first,
            Py_ssize_t last, int n_threads, /):
    cdef Py_ssize_t n = K.shape[1], width = V.shape[1], block, start, rows
    for block in prange((last - first + ROWS - 1) // ROWS, nogil=True, num_threads=n_threads,
                        schedule="dynamic"):
        start = first + block * ROWS
        rows = min(<Py_ssize_t> ROWS, last - start)
        product_of_rows(rows, n, &K[start, 0], n, &V[0, 0], width, &out[start, 0])
