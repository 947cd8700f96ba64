"""Losses of a block of rows, from its scores."""
from libc.math cimport log, log1p, sqrt
from libc.stdint cimport int64_t

from mlcore._ext.linear_model.logistic_pass_h cimport binary, exponentials

cdef enum:
    SCORES = 128  # rows of a block and more, whole vectors


cdef inline double losses(Py_ssize_t rows, Py_ssize_t c, bint equal, const int64_t* codes,
                          const double* s, double* Z, double* R, double* sign, double* root,
                          Py_ssize_t* wrong) noexcept nogil:
    """Return the loss; R becomes residuals, and Z probabilities if c > 1."""
    cdef Py_ssize_t i, k
    cdef double top, total, others, loss = 0
    cdef double* z
    if c == 1:
        for i in range(rows):
            sign[i] = 2 * codes[i] - 1
        for i in range(rows, SCORES):
            sign[i] = 1
            Z[i] = 0
        return binary(rows, equal, Z, sign, s, R, root, wrong)
    for i in range(rows):
        z = Z + i * c
        top = z[0]
        for k in range(1, c):
            top = max(top, z[k])
        root[i] = top - z[codes[i]]
        for k in range(c):
            z[k] -= top
    exponentials(rows * c, Z)
    for i in range(rows):
        z = Z + i * c
        others = top = 0
        for k in range(c):
            if k != codes[i]:
                others += z[k]
                top = max(top, z[k])
        total = others + z[codes[i]]
        wrong[0] += top >= z[codes[i]]
        loss += s[i] * (log1p(others) if root[i] == 0 else log(total) + root[i])
        for k in range(c):
            z[k] /= total
            R[i * c + k] = s[i] * z[k]
        R[i * c + codes[i]] = -s[i] * (others / total)
    return loss


cdef inline void pair_roots(Py_ssize_t rows, Py_ssize_t c, Py_ssize_t a, Py_ssize_t b,
                            const double* s, const double* P, double* root) noexcept nogil:
    """root = the roots of ``s p_a p_b``, the weights of rows in the Hessian of two classes."""
    cdef Py_ssize_t i
    for i in range(rows):
        root[i] = sqrt(s[i] * P[i * c + a] * P[i * c + b])
