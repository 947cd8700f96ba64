"""Hot loops of mlcore.numerics.eigen: a dense matrix times a block of vectors
(shared/product_loops.h), and a basis times a block of few (eigen.c). And LAPACK's eigenpairs for
mlcore.numerics.eigen, without the lock of Python, which SciPy's functions hold.

K (n_rows, n), V (n, width) and out (n_rows, width), C order, the width a multiple of 8, all checked
by the caller. Rows `first` to `last` of `out` are written, each by one thread and by sums in one
order, so the thread count never changes a bit. O(rows n width) time, no scratch.
"""
from cython cimport floating
from cython.parallel cimport prange

from mlcore._ext.numerics.eigen_h cimport both_along as both_blocks_along
from mlcore._ext.numerics.eigen_h cimport less_rows as less_rows_of_basis
from mlcore._ext.numerics.eigen_h cimport rows_along as rows_of_basis_along
from mlcore._ext.shared.blas cimport all_eigenpairs, last_eigenpairs
from mlcore._ext.shared.product_h cimport product as product_of_rows

cdef enum:
    ROWS = 32
    COLUMNS = 512


def product(const floating[:, ::1] K, const double[:, ::1] V, double[:, ::1] out, Py_ssize_t first,
            Py_ssize_t last, int n_threads, /):
    cdef Py_ssize_t n = K.shape[1], width = V.shape[1], block, start, rows
    for block in prange((last - first + ROWS - 1) // ROWS, nogil=True, num_threads=n_threads,
                        schedule="dynamic"):
        start = first + block * ROWS
        rows = min(<Py_ssize_t> ROWS, last - start)
        product_of_rows(rows, n, &K[start, 0], n, &V[0, 0], width, &out[start, 0])


def along_basis(const double[:, ::1] basis, const double[:, ::1] W, double[:, ::1] out,
                int n_threads, /):
    """Set out (m, width) to the basis (m, n) times W (n, width), of width 4 or 8."""
    cdef Py_ssize_t m = basis.shape[0], n = basis.shape[1], width = W.shape[1], block, start
    for block in prange((m + ROWS - 1) // ROWS, nogil=True, num_threads=n_threads):
        start = block * ROWS
        rows_of_basis_along(min(<Py_ssize_t> ROWS, m - start), n, &basis[start, 0], &W[0, 0],
                            width, &out[start, 0])


def both_along_basis(const double[:, ::1] basis, const double[:, ::1] X, const double[:, ::1] W,
                     double[:, ::1] out, int n_threads, /):
    """Set out (m, 8) to the basis (m, n) times X and W (n, 4), in one reading."""
    cdef Py_ssize_t m = basis.shape[0], n = basis.shape[1], block, start
    for block in prange((m + ROWS - 1) // ROWS, nogil=True, num_threads=n_threads):
        start = block * ROWS
        both_blocks_along(min(<Py_ssize_t> ROWS, m - start), n, &basis[start, 0], &X[0, 0],
                          &W[0, 0], &out[start, 0])


def less_basis(const double[:, ::1] basis, const double[:, ::1] C, double[:, ::1] W,
               Py_ssize_t first, Py_ssize_t last, int n_threads, /):
    """Subtract the transposed basis (m, n) times C (m, width) from W (n, width), in these rows."""
    cdef Py_ssize_t m = basis.shape[0], n = basis.shape[1], width = W.shape[1], block, start
    for block in prange((last - first + COLUMNS - 1) // COLUMNS, nogil=True,
                        num_threads=n_threads):
        start = first + block * COLUMNS
        less_rows_of_basis(m, n, &basis[0, 0], &C[0, 0], width, start, min(last, start + COLUMNS),
                           &W[0, 0])


def eigenpairs(floating[:, ::1] A, floating[::1] values, floating[:, ::1] vectors, int[::1] support,
               floating[::1] work, int[::1] indices, /):
    """Eigenvalues, ascending, and eigenvectors in rows: all of them in A, where `vectors` has no
    rows, or as many of the largest. Returns LAPACK's info and how many were found.

    A (n, n) symmetric and overwritten, values (n,), vectors (count, n), support (2 count,), and
    `work` and `indices` of the lengths that LAPACK asks for.
    """
    cdef int n = <int> A.shape[0], count = <int> vectors.shape[0], found = n, info
    cdef int n_work = <int> min(work.shape[0], <Py_ssize_t> 2**31 - 1)
    cdef int n_indices = <int> indices.shape[0]
    with nogil:
        if count == 0:
            info = all_eigenpairs(n, &A[0, 0], &values[0], &work[0], n_work, &indices[0], n_indices)
        else:
            info = last_eigenpairs(n, &A[0, 0], count, &found, &values[0], &vectors[0, 0],
                                   &support[0], &work[0], n_work, &indices[0], n_indices)
    return info, found
