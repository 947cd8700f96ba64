"""Passes over the lower triangle of a symmetric matrix."""
from cython cimport floating
from libc.stdint cimport uint16_t

cdef extern from "cluster/symmetric_matrix.h" nogil:
    enum:
        SYMMETRIC_PRODUCT
        SYMMETRIC_POSITIVE
        SYMMETRIC_ACTIVE
    void symmetric_f "symmetric_matrix_table->f.symmetric"(int, Py_ssize_t, Py_ssize_t,
                                                           const float*, Py_ssize_t, const double*,
                                                           const double*, double*, double*, double*)
    void symmetric_d "symmetric_matrix_table->d.symmetric"(int, Py_ssize_t, Py_ssize_t,
                                                           const double*, Py_ssize_t, const double*,
                                                           const double*, double*, double*, double*)
    void symmetric_short "symmetric_matrix_table->symmetric_short"(
        int, Py_ssize_t, Py_ssize_t, const uint16_t*, Py_ssize_t, const float*, const float*,
        float*, float*, float*)


cdef inline void symmetric(int mode, Py_ssize_t first, Py_ssize_t last, const floating* K,
                           Py_ssize_t stride, const double* x, const double* u, double* rows,
                           double* columns, double* squares) noexcept nogil:
    if floating is float:
        symmetric_f(mode, first, last, K, stride, x, u, rows, columns, squares)
    else:
        symmetric_d(mode, first, last, K, stride, x, u, rows, columns, squares)
