"""BLAS for the kernels: the only file that cimports it. Inline, so no call crosses a module."""
from cython cimport floating
from scipy.linalg.cython_blas cimport dgemm, sgemm


cdef inline void gemm_nt(int m, int n, int k, floating alpha, const floating* A, int lda,
                         const floating* B, int ldb, floating beta, floating* C,
                         int ldc) noexcept nogil:
    """Row-major C (m, n) := alpha A (m, k) B (n, k)ᵀ + beta C; BLAS is told Cᵀ = B Aᵀ."""
    if floating is float:
        sgemm(b"T", b"N", &n, &m, &k, &alpha, <float*> B, &ldb, <float*> A, &lda, &beta, C, &ldc)
    else:
        dgemm(b"T", b"N", &n, &m, &k, &alpha, <double*> B, &ldb, <double*> A, &lda, &beta, C,
              &ldc)
