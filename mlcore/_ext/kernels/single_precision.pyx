"""Hot loops of mlcore.kernels.single_precision: a centred matrix in float32, times some vectors.

Each element of `out` is written by one thread and summed in one order, so the thread count never
changes a bit. Calls take rows first..last, so that Python sees signals between them.
"""
from cython cimport floating
from cython.parallel cimport prange
from libc.math cimport fabs

from mlcore._ext.shared.product_h cimport single as product_f

cdef enum:
    ROWS = 32

cdef double TINY = 1e-30  # numbers below 1e-38 are slow in float32
WIDTH = 8  # of which the width of V is a multiple


def product(const float[:, ::1] K, const float[:, ::1] V, float[:, ::1] out,
            Py_ssize_t first, Py_ssize_t last, int n_threads, /):
    """Set rows of `out` (n_rows, width) to K (n_rows, n) V (n, width), a multiple of WIDTH."""
    cdef Py_ssize_t n = K.shape[1], width = V.shape[1], block, start, rows
    for block in prange((last - first + ROWS - 1) // ROWS, nogil=True,
                        num_threads=n_threads, schedule="dynamic"):
        start = first + block * ROWS
        rows = min(<Py_ssize_t> ROWS, last - start)
        product_f(rows, n, &K[start, 0], n, &V[0, 0], width, &out[start, 0])


def centered(const floating[:, ::1] K, const double[::1] means, const double[::1] scale,
             double mean, float[:, ::1] out, Py_ssize_t first, Py_ssize_t last, int n_threads, /):
    """out[i, j] = scale[i] (K[i, j] - means[i] - means[j] + mean) scale[j], rounded at the end."""
    cdef Py_ssize_t n = K.shape[1], i, j
    cdef double rest, value
    for i in prange(first, last, nogil=True, num_threads=n_threads):
        rest = mean - means[i]
        for j in range(n):
            value = (K[i, j] - means[j] + rest) * (scale[i] * scale[j])
            out[i, j] = <float> (0 if fabs(value) < TINY else value)
