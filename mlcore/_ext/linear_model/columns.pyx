"""Hot loops of mlcore.linear_model.coordinate.columns: a centred copy of dense columns, one of
sparse columns with their sums, and products of columns (columns.pxd).
"""
from cython cimport floating
from cython.parallel cimport prange
from libc.math cimport fabs, ldexp
from libc.stdint cimport int8_t, int32_t, int64_t

from mlcore._ext.shared.blas cimport dot
from mlcore._ext.shared.index cimport index


def centred_columns(const floating[:, ::1] X, const double[::1] origin, const int64_t[::1] power,
                    const double[::1] weight, const double[::1] root, bint intercept,
                    double[:, ::1] Z, double[::1] center, double[::1] squares, int n_threads, /):
    """Set Z (d, n) to the columns of ``2^-power (X - origin)`` times `root` (n,), less `center`
    (d,), their mean if there is an intercept; `squares` (d,) are theirs.
    """
    cdef Py_ssize_t block, n_blocks = (X.shape[1] + 7) // 8
    cdef double total = 0
    for block in range(weight.shape[0]):
        total += weight[block]
    for block in prange(n_blocks, nogil=True, num_threads=n_threads, schedule="static"):
        centre_block(X, origin, power, weight, root, intercept, total, Z, center, squares,
                     8 * block)


cdef void centre_block(const floating[:, ::1] X, const double[::1] origin,
                       const int64_t[::1] power, const double[::1] weight, const double[::1] root,
                       bint intercept, double total, double[:, ::1] Z, double[::1] center,
                       double[::1] squares, Py_ssize_t first) noexcept nogil:
    cdef Py_ssize_t i, j, n = X.shape[0], last = min(X.shape[1], first + 8)
    cdef double mean
    cdef double* z
    for i in range(n):
        for j in range(first, last):
            Z[j, i] = <double> X[i, j] - origin[j]
    for j in range(first, last):
        z = &Z[j, 0]
        if power[j] != 0:
            for i in range(n):
                z[i] = ldexp(z[i], <int> -power[j])
        mean = dot(<int> n, &weight[0], z) / total if intercept else 0
        for i in range(n):
            z[i] = (z[i] - mean) * root[i]
        center[j] = mean
        squares[j] = dot(<int> n, z, z)


cdef enum:
    AHEAD = 24  # entries whose places are asked for before they are written: a fifth of the time

cdef extern from *:
    """
    /* Ask for memory that is to be written. */
    static inline void ask_for(const void *at) { __builtin_prefetch(at, 1); }
    """
    void ask_for(const void* at) noexcept nogil


def sparse_columns(const index[::1] row_starts, const index[::1] features,
                   const floating[::1] entries, const int64_t[::1] power, bint scaled,
                   const double[::1] root, bint weighted, int64_t[::1] starts, int32_t[::1] rows,
                   double[::1] values, /):
    """Set the columns (CSC) of the rows (CSR), ``2^-power X`` times `root` (n,) if `weighted`.

    Counts of entries give the `starts` (d + 1,); a second reading of the rows puts each in place.
    """
    cdef Py_ssize_t i, j, k, at, d = starts.shape[0] - 1, n = root.shape[0]
    cdef double value
    with nogil:
        starts[:] = 0
        for k in range(row_starts[0], row_starts[n]):
            starts[features[k] + 1] += 1
        for j in range(d):
            starts[j + 1] += starts[j]
        for i in range(n):
            for k in range(row_starts[i], row_starts[i + 1]):
                if k + AHEAD < row_starts[n]:
                    at = starts[features[k + AHEAD]]
                    ask_for(&values[0] + at)
                    ask_for(&rows[0] + at)
                j = features[k]
                at = starts[j]
                value = <double> entries[k]
                if scaled:
                    value = ldexp(value, <int> -power[j])
                values[at] = value * root[i] if weighted else value
                rows[at] = <int32_t> i
                starts[j] = at + 1
        # Each start has come to that of the next column.
        for j in range(d, 0, -1):
            starts[j] = starts[j - 1]
        starts[0] = 0


def sparse_sums(const int64_t[::1] starts, const int32_t[::1] rows, const double[::1] values,
                const double[::1] root, double[::1] sums, double[::1] squares,
                double[::1] absolute, int n_threads, /):
    """Set sums of columns times `root` (n,), of their squares and absolute values, (d,)."""
    cdef Py_ssize_t block, n_blocks = (sums.shape[0] + COLUMNS - 1) // COLUMNS
    for block in prange(n_blocks, nogil=True, num_threads=n_threads, schedule="static"):
        sum_block(starts, rows, values, root, sums, squares, absolute, COLUMNS * block)


cdef void sum_block(const int64_t[::1] starts, const int32_t[::1] rows, const double[::1] values,
                    const double[::1] root, double[::1] sums, double[::1] squares,
                    double[::1] absolute, Py_ssize_t first) noexcept nogil:
    cdef Py_ssize_t j, k
    cdef double a, b, c
    for j in range(first, min(sums.shape[0], first + COLUMNS)):
        a = b = c = 0
        for k in range(starts[j], starts[j + 1]):
            a = a + values[k] * root[rows[k]]
            b = b + values[k] * values[k]
            c = c + fabs(values[k])
        sums[j], squares[j], absolute[j] = a, b, c


def products(const double[:, ::1] dense, const int64_t[::1] indptr, const int32_t[::1] indices,
             const double[::1] values, const double[::1] mean, const double[::1] root,
             const double[::1] x, const int8_t[::1] out, double[::1] h, int n_threads, /):
    """Set h (d,) to the products of columns and x (n,), 0 where `out` is not 0."""
    cdef Columns Z = columns_of(dense, indptr, indices, values, mean, root)
    with nogil:
        correlate(&Z, &x[0], &out[0], &h[0], n_threads)
