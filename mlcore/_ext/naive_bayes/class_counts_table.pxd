"""Sums of rows by class, the values checked as they are added."""
from libc.stdint cimport int32_t, int64_t, intptr_t

cdef extern from "naive_bayes/class_counts.h" nogil:
    bint sparse_f_int32 "class_counts_table->sparse_f_int32"(
        Py_ssize_t, Py_ssize_t, const float*, const int32_t*, const int32_t*, Py_ssize_t,
        const intptr_t*, const double*, int, double, float, Py_ssize_t, double*)
    bint sparse_f_int64 "class_counts_table->sparse_f_int64"(
        Py_ssize_t, Py_ssize_t, const float*, const int64_t*, const int64_t*, Py_ssize_t,
        const intptr_t*, const double*, int, double, float, Py_ssize_t, double*)
    bint sparse_d_int32 "class_counts_table->sparse_d_int32"(
        Py_ssize_t, Py_ssize_t, const double*, const int32_t*, const int32_t*, Py_ssize_t,
        const intptr_t*, const double*, int, double, double, Py_ssize_t, double*)
    bint sparse_d_int64 "class_counts_table->sparse_d_int64"(
        Py_ssize_t, Py_ssize_t, const double*, const int64_t*, const int64_t*, Py_ssize_t,
        const intptr_t*, const double*, int, double, double, Py_ssize_t, double*)
    bint dense_f "class_counts_table->dense_f"(Py_ssize_t, Py_ssize_t, const float*,
                                               const intptr_t*, const double*, int, double, float,
                                               Py_ssize_t, double*)
    bint dense_d "class_counts_table->dense_d"(Py_ssize_t, Py_ssize_t, const double*,
                                               const intptr_t*, const double*, int, double, double,
                                               Py_ssize_t, double*)
