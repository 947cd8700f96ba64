"""BLAS and LAPACK: the only file that cimports them. Inline, so that no call crosses a module."""
from cython cimport floating
from scipy.linalg.cython_blas cimport dgemm, sgemm
from scipy.linalg.cython_lapack cimport dposv, dpotrf, dpotrs, spotrf, spotrs


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
