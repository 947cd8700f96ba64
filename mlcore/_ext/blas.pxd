"""BLAS and LAPACK: the only file that cimports them. Inline, so that no call crosses a module."""
from cython cimport floating
from scipy.linalg.cython_blas cimport dgemm, sgemm
from scipy.linalg.cython_lapack cimport dposv, dpotrf, dpotrs, dsyevd, dsyevr
from scipy.linalg.cython_lapack cimport spotrf, spotrs, ssyevd, ssyevr


cdef inline void gemm_nt(int m, int n, int k, floating alpha, const floating* A, int lda,
                         const floating* B, int ldb, floating beta, floating* C,
                         int ldc) noexcept nogil:
    """Row-major C (m, n) := alpha A (m, k) B (n, k)ᵀ + beta C; BLAS is told Cᵀ = B Aᵀ."""
    if floating is float:
        sgemm(b"T", b"N", &n, &m, &k, &alpha, <float*> B, &ldb, <float*> A, &lda, &beta, C, &ldc)
    else:
        dgemm(b"T", b"N", &n, &m, &k, &alpha, <double*> B, &ldb, <double*> A, &lda, &beta, C,
              &ldc)


cdef inline bint cholesky(int n, floating* A) noexcept nogil:
    """Row-major A (n, n), of which the lower half is given, := L with L Lᵀ = A; False if A is not
    positive definite. LAPACK is told the upper half by columns.
    """
    cdef int info = 0
    if floating is float:
        spotrf(b"U", &n, A, &n, &info)
    else:
        dpotrf(b"U", &n, A, &n, &info)
    return info == 0


cdef inline void cholesky_solve(int n, int columns, const floating* L,
                                floating* x) noexcept nogil:
    """Solve L Lᵀ x = b for right-hand sides b in the rows of x (columns, n), which are replaced."""
    cdef int info = 0
    if floating is float:
        spotrs(b"U", &n, &columns, <float*> L, &n, x, &n, &info)
    else:
        dpotrs(b"U", &n, &columns, <double*> L, &n, x, &n, &info)


cdef inline void solve_positive(int n, double* A, double* x) noexcept nogil:
    """Solve A x = b for b in x, which is replaced; of A (n, n), row-major, the upper half is given.

    A becomes its Cholesky factor. LAPACK is told the lower half by columns.
    """
    cdef int one = 1, info = 0
    dposv(b"L", &n, &one, A, &n, x, &n, &info)


cdef inline int all_eigenpairs(int n, floating* A, floating* values, floating* work, int n_work,
                               int* indices, int n_indices) noexcept nogil:
    """Ascending eigenvalues of the row-major A (n, n), of which the lower half is given; A := their
    eigenvectors in rows. The return is LAPACK's info, 0 if all were found.
    """
    cdef int info = 0
    if floating is float:
        ssyevd(b"V", b"U", &n, A, &n, values, work, &n_work, indices, &n_indices, &info)
    else:
        dsyevd(b"V", b"U", &n, A, &n, values, work, &n_work, indices, &n_indices, &info)
    return info


cdef inline int last_eigenpairs(int n, floating* A, int count, int* found, floating* values,
                                floating* vectors, int* support, floating* work, int n_work,
                                int* indices, int n_indices) noexcept nogil:
    """The same for the `count` largest, eigenvectors in rows of `vectors`; A is overwritten.
    `found` is less where many are equal.
    """
    cdef int info = 0, first = n - count + 1
    cdef floating none = 0
    if floating is float:
        ssyevr(b"V", b"I", b"U", &n, A, &n, &none, &none, &first, &n, &none, found, values,
               vectors, &n, support, work, &n_work, indices, &n_indices, &info)
    else:
        dsyevr(b"V", b"I", b"U", &n, A, &n, &none, &none, &first, &n, &none, found, values,
               vectors, &n, support, work, &n_work, indices, &n_indices, &info)
    return info
