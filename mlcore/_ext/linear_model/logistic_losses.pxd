"""Losses of a block of rows, from its scores."""
from libc.math cimport sqrt
from libc.stdint cimport int64_t

from mlcore._ext.linear_model.logistic_pass_h cimport binary, several

cdef enum:
    SCORES = 128  # rows of a block and more, whole vectors


cdef inline double losses(Py_ssize_t rows, Py_ssize_t c, bint equal, const int64_t* codes,
                          const double* s, double* Z, double* R, double* sign, double* root,
                          Py_ssize_t* wrong) noexcept nogil:
    """Return the loss; R becomes residuals, and Z probabilities if c > 1."""
    cdef Py_ssize_t i
    if c == 1:
        for i in range(rows):
            sign[i] = 2 * codes[i] - 1
        for i in range(rows, SCORES):
            sign[i] = 1
            Z[i] = 0
        return binary(rows, equal, Z, sign, s, R, root, wrong)
    return several(rows, c, codes, s, Z, R, root, wrong)


cdef inline void pair_roots(Py_ssize_t rows, Py_ssize_t c, Py_ssize_t a, Py_ssize_t b,
                            const double* s, const double* P, double* root) noexcept nogil:
    """root = the roots of ``s p_a p_b``, the weights of rows in the Hessian of two classes."""
    cdef Py_ssize_t i
    for i in range(rows):
        root[i] = sqrt(s[i] * P[i * c + a] * P[i * c + b])
