"""Sums of rows of K with weights."""
from cython cimport floating
from libc.stdint cimport int64_t

cdef extern from "kernels/gram_rows.h" nogil:
    void accumulate_f "gram_rows_table->f.accumulate"(Py_ssize_t, const int64_t*, const double*,
                                                      const float*, Py_ssize_t, Py_ssize_t,
                                                      Py_ssize_t, double*)
    void accumulate_d "gram_rows_table->d.accumulate"(Py_ssize_t, const int64_t*, const double*,
                                                      const double*, Py_ssize_t, Py_ssize_t,
                                                      Py_ssize_t, double*)


cdef inline void accumulate(Py_ssize_t n_rows, const int64_t* slots, const double* a,
                            const floating* rows, Py_ssize_t stride, Py_ssize_t start,
                            Py_ssize_t stop, double* g) noexcept nogil:
    if floating is float:
        accumulate_f(n_rows, slots, a, rows, stride, start, stop, g)
    else:
        accumulate_d(n_rows, slots, a, rows, stride, start, stop, g)
