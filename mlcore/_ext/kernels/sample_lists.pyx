"""Hot loops of mlcore.kernels.sample_lists: lists of non-zeros, and sums with weights."""
from cython cimport floating
from cython.parallel cimport prange
from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t

ctypedef fused sample:
    float
    double


def count_nonzeros(const sample[:, ::1] X, int64_t[::1] counts, int n_threads, /):
    """counts[i + 1] = non-zeros of row i."""
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], i
    for i in prange(n, nogil=True, num_threads=n_threads, schedule="static"):
        counts[i + 1] = nonzeros(&X[i, 0], d)


cdef inline int64_t nonzeros(const sample* x, Py_ssize_t d) noexcept nogil:
    cdef int64_t count = 0
    cdef Py_ssize_t f
    for f in range(d):
        count += x[f] != 0
    return count


def fill_lists(const sample[:, ::1] X, const int64_t[::1] indptr, int32_t[::1] indices,
               floating[::1] values, int n_threads, /):
    """Fill the lists of non-zeros; `indptr` (n + 1,) bounds them, and one slot is spare."""
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], i, f
    cdef int64_t at, last
    for i in prange(n, nogil=True, num_threads=n_threads, schedule="static"):
        at = indptr[i]
        last = indptr[i + 1]
        for f in range(d):
            if at == last:
                break
            indices[at] = <int32_t> f
            values[at] = <floating> X[i, f]
            at = at + (X[i, f] != 0)


def shifted_lists(const sample[:, ::1] X, const double[::1] shift, bint zeros, double unit,
                  bint absolute, int64_t[::1] indptr, int32_t[::1] indices,
                  floating[::1] values, floating[::1] terms, /):
    """Fill the lists of X - shift, and the sums of squares, or of absolute values, of its rows.

    `shift` may be None; `zeros` keeps zeros. terms[i] is the sum times `unit`. `indices` and
    `values` (n d + 1), `indptr` (n + 1).
    """
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], i, f
    cdef bint shifted = shift is not None
    cdef int64_t at = 0
    cdef double total, value
    with nogil:
        indptr[0] = 0
        for i in range(n):
            total = 0
            for f in range(d):
                indices[at] = <int32_t> f
                values[at] = <floating> (X[i, f] - (shift[f] if shifted else 0.0))
                value = values[at]
                total += fabs(value) if absolute else value * value
                at += zeros or value != 0
            indptr[i + 1] = at
            terms[i] = <floating> (unit * total) if unit != 0 else <floating> 0


def combine(const int64_t[::1] indptr, const int32_t[::1] indices, const floating[::1] values,
            const int64_t[::1] rows, const double[::1] weights, double[::1] w, /):
    """w += sum_r weights[r] x of rows[r], from lists of non-zeros."""
    cdef Py_ssize_t r
    cdef int64_t t
    with nogil:
        for r in range(rows.shape[0]):
            for t in range(indptr[rows[r]], indptr[rows[r] + 1]):
                w[indices[t]] += weights[r] * values[t]


def project(const int64_t[::1] indptr, const int32_t[::1] indices, const floating[::1] values,
            const double[::1] w, double[::1] out, int n_threads, /):
    """out[i] = x_i.w, from lists of non-zeros."""
    cdef Py_ssize_t i
    cdef int64_t t
    cdef double total
    for i in prange(out.shape[0], nogil=True, num_threads=n_threads, schedule="static"):
        total = 0
        for t in range(indptr[i], indptr[i + 1]):
            total = total + w[indices[t]] * values[t]
        out[i] = total
