"""Hot loops of a Cholesky factorisation by blocks of columns, whose rows threads share.

A (n, n), C order, of which what is below the diagonal is read, becomes L with L Lᵀ = A, columns
`first` to `last` at a time: `subtract` from rows what the columns before make of them, `factor` the
corner, `divide` the rows below by it. BLAS has one thread in each of ours, and its products do not
depend on their number. O(rows columns n) time, no scratch.
"""
from cython cimport floating
from cython.parallel cimport prange

from mlcore._ext.shared.blas cimport cholesky, gemm_nt, times_inverse

cdef enum:
    ROWS = 256  # of a product


def subtract(floating[:, ::1] A, Py_ssize_t first, Py_ssize_t last, Py_ssize_t start,
             Py_ssize_t stop, int n_threads, /):
    """Set rows start..stop of columns first..last, A, to A - L Lᵀ of the columns before."""
    cdef Py_ssize_t n = A.shape[0], tile, row
    for tile in prange((stop - start + ROWS - 1) // ROWS, nogil=True, num_threads=n_threads,
                       schedule="dynamic"):
        row = start + tile * ROWS
        gemm_nt(<int> min(<Py_ssize_t> ROWS, stop - row), <int> (last - first), <int> first,
                <floating> -1, &A[row, 0], <int> n, &A[first, 0], <int> n, <floating> 1,
                &A[row, first], <int> n)


def factor(floating[:, ::1] A, Py_ssize_t first, Py_ssize_t last, /):
    """Factor the corner of rows and columns first..last; return False if it is not positive."""
    cdef bint positive
    with nogil:
        positive = cholesky(<int> (last - first), &A[first, first], <int> A.shape[0])
    return positive


def divide(floating[:, ::1] A, Py_ssize_t first, Py_ssize_t last, Py_ssize_t start,
           Py_ssize_t stop, int n_threads, /):
    """Set rows start..stop of columns first..last, A, to A L^-ᵀ, L the factored corner."""
    cdef Py_ssize_t n = A.shape[0], tile, row
    for tile in prange((stop - start + ROWS - 1) // ROWS, nogil=True, num_threads=n_threads,
                       schedule="dynamic"):
        row = start + tile * ROWS
        times_inverse(<int> min(<Py_ssize_t> ROWS, stop - row), <int> (last - first),
                      &A[first, first], &A[row, first], <int> n)
