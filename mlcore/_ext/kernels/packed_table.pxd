"""Kernel values of packed samples."""
from cython cimport floating
from libc.stdint cimport int32_t, int64_t

cdef extern from "kernels/packed.h" nogil:
    enum:
        KERNEL_LINEAR
        KERNEL_POLYNOMIAL
        KERNEL_RBF
        KERNEL_SIGMOID
        KERNEL_COSINE
        KERNEL_LAPLACIAN
        KERNEL_CHI2
        KERNEL_RBF_DIFFERENCES
    ctypedef struct kernel_spec:
        int kind
        int degree
        double gamma
        double coef0
    void panel_f "packed_table->f.panel"(const kernel_spec*, Py_ssize_t, Py_ssize_t, const int64_t*,
                                         const int64_t*, const int32_t*, const float*, const float*,
                                         const float*, const float*, int, float*, Py_ssize_t,
                                         const int64_t*)
    void panel_d "packed_table->d.panel"(const kernel_spec*, Py_ssize_t, Py_ssize_t, const int64_t*,
                                         const int64_t*, const int32_t*, const double*,
                                         const double*, const double*, const double*, int, double*,
                                         Py_ssize_t, const int64_t*)
    void finish_f "packed_table->f.finish"(const kernel_spec*, Py_ssize_t, float, const float*,
                                           float*)
    void finish_d "packed_table->d.finish"(const kernel_spec*, Py_ssize_t, double, const double*,
                                           double*)


cdef inline void panel(const kernel_spec* k, Py_ssize_t d, Py_ssize_t n_rows, const int64_t* rows,
                       const int64_t* indptr, const int32_t* indices, const floating* values,
                       const floating* row_terms, const floating* panel_values,
                       const floating* column_terms, int lanes, floating* out, Py_ssize_t stride,
                       const int64_t* dest) noexcept nogil:
    if floating is float:
        panel_f(k, d, n_rows, rows, indptr, indices, values, row_terms, panel_values, column_terms,
                lanes, out, stride, dest)
    else:
        panel_d(k, d, n_rows, rows, indptr, indices, values, row_terms, panel_values, column_terms,
                lanes, out, stride, dest)


cdef inline void finish(const kernel_spec* k, Py_ssize_t n, floating row_term,
                        const floating* column_terms, floating* row) noexcept nogil:
    if floating is float:
        finish_f(k, n, row_term, column_terms, row)
    else:
        finish_d(k, n, row_term, column_terms, row)
