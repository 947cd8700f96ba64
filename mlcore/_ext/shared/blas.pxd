"""BLAS and LAPACK: the only file that cimports them. Inline, so that no call crosses a module."""
from cython cimport floating
from scipy.linalg.cython_blas cimport daxpy, ddot, dgemm, dsyrk, dtrsm
from scipy.linalg.cython_blas cimport saxpy, sdot, sgemm, sgemv, ssyrk, strsm
from scipy.linalg.cython_lapack cimport dormtr, dposv, dpotrf, dpotrs, dstemr, dsyevd, dsytrd
from scipy.linalg.cython_lapack cimport sormtr, spotrf, spotrs, sstemr, ssyevd, ssytrd


cdef inline void gemm_nt(int m, int n, int k, floating alpha, const floating* A, int lda,
                         const floating* B, int ldb, floating beta, floating* C,
                         int ldc) noexcept nogil:
    """Row-major C (m, n) := alpha A (m, k) B (n, k)ᵀ + beta C; BLAS is told Cᵀ = B Aᵀ."""
    if floating is float:
        sgemm(b"T", b"N", &n, &m, &k, &alpha, <float*> B, &ldb, <float*> A, &lda, &beta, C, &ldc)
    else:
        dgemm(b"T", b"N", &n, &m, &k, &alpha, <double*> B, &ldb, <double*> A, &lda, &beta, C,
              &ldc)


cdef inline void times_vector(int m, int n, const float* A, const float* x,
                              float* y) noexcept nogil:
    """y (m,) := A x of the row-major A (m, n)."""
    cdef int one = 1
    cdef float whole = 1, none = 0
    sgemv(b"T", &n, &m, &whole, <float*> A, &n, <float*> x, &one, &none, y, &one)


cdef inline void transposed_times_vector(int m, int n, const float* A, const float* x,
                                         float* y) noexcept nogil:
    """y (n,) := Aᵀ x of the row-major A (m, n)."""
    cdef int one = 1
    cdef float whole = 1, none = 0
    sgemv(b"N", &n, &m, &whole, <float*> A, &n, <float*> x, &one, &none, y, &one)


cdef inline void gram_lower(int n, int k, floating alpha, const floating* A, int lda,
                            floating* C, int ldc) noexcept nogil:
    """Lower half of row-major C (n, n) := alpha A Aᵀ, A (n, k); BLAS is told the upper half."""
    cdef floating zero = 0
    if floating is float:
        ssyrk(b"U", b"T", &n, &k, &alpha, <float*> A, &lda, &zero, C, &ldc)
    else:
        dsyrk(b"U", b"T", &n, &k, &alpha, <double*> A, &lda, &zero, C, &ldc)


cdef inline double dot(int n, const floating* x, const floating* y) noexcept nogil:
    """Return x.y of vectors (n,)."""
    cdef int one = 1
    if floating is float:
        return sdot(&n, <float*> x, &one, <float*> y, &one)
    else:
        return ddot(&n, <double*> x, &one, <double*> y, &one)


cdef inline void add_multiple(int n, floating alpha, const floating* x,
                              floating* y) noexcept nogil:
    """y := y + alpha x, vectors (n,)."""
    cdef int one = 1
    if floating is float:
        saxpy(&n, &alpha, <float*> x, &one, y, &one)
    else:
        daxpy(&n, &alpha, <double*> x, &one, y, &one)


cdef inline bint cholesky(int n, floating* A, int lda) noexcept nogil:
    """Row-major A (n, n), of which the lower half is given, := L with L Lᵀ = A; False if A is not
    positive definite. LAPACK is told the upper half by columns.
    """
    cdef int info = 0
    if floating is float:
        spotrf(b"U", &n, A, &lda, &info)
    else:
        dpotrf(b"U", &n, A, &lda, &info)
    return info == 0


cdef inline void times_inverse(int m, int n, const floating* L, floating* A,
                               int lda) noexcept nogil:
    """Row-major A (m, n) := A L^-ᵀ, L (n, n) lower triangular; both have rows of lda values."""
    cdef floating one = 1
    if floating is float:
        strsm(b"L", b"U", b"T", b"N", &n, &m, &one, <float*> L, &lda, A, &lda)
    else:
        dtrsm(b"L", b"U", b"T", b"N", &n, &m, &one, <double*> L, &lda, A, &lda)


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

    By relatively robust representations of the tridiagonal matrix, which LAPACK's drivers use only
    for all eigenpairs: for few of them they take up to 1.7 times as long.
    """
    cdef int info = 0, first = n - count + 1, left = n_work - 3 * n
    cdef bint precise = True
    cdef floating none = 0
    cdef floating* diagonal = work
    cdef floating* beside = work + n
    cdef floating* reflections = work + 2 * n
    cdef floating* space = work + 3 * n
    if floating is float:
        ssytrd(b"U", &n, A, &n, diagonal, beside, reflections, space, &left, &info)
        if info == 0:
            sstemr(b"V", b"I", &n, diagonal, beside, &none, &none, &first, &n, found, values,
                   vectors, &n, &count, support, &precise, space, &left, indices, &n_indices, &info)
        if info == 0:
            sormtr(b"L", b"U", b"N", &n, found, A, &n, reflections, vectors, &n, space, &left,
                   &info)
    else:
        dsytrd(b"U", &n, A, &n, diagonal, beside, reflections, space, &left, &info)
        if info == 0:
            dstemr(b"V", b"I", &n, diagonal, beside, &none, &none, &first, &n, found, values,
                   vectors, &n, &count, support, &precise, space, &left, indices, &n_indices, &info)
        if info == 0:
            dormtr(b"L", b"U", b"N", &n, found, A, &n, reflections, vectors, &n, space, &left,
                   &info)
    return info
