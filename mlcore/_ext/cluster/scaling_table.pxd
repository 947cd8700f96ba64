"""Tiles of a symmetric matrix."""
from cython cimport floating
from libc.stdint cimport uint16_t

cdef extern from "cluster/scaling.h" nogil:
    void mirrored_f "scaling_table->f.mirrored"(Py_ssize_t, Py_ssize_t, Py_ssize_t, const float*,
                                                Py_ssize_t, const float*, Py_ssize_t, double,
                                                double*, double*, double*)
    void mirrored_d "scaling_table->d.mirrored"(Py_ssize_t, Py_ssize_t, Py_ssize_t, const double*,
                                                Py_ssize_t, const double*, Py_ssize_t, double,
                                                double*, double*, double*)
    void shorten_f "scaling_table->f.shorten"(Py_ssize_t, Py_ssize_t, const float*, Py_ssize_t,
                                              const double*, uint16_t*)
    void shorten_d "scaling_table->d.shorten"(Py_ssize_t, Py_ssize_t, const double*, Py_ssize_t,
                                              const double*, uint16_t*)
    void rescale_f "scaling_table->f.rescale"(bint, Py_ssize_t, Py_ssize_t, const float*,
                                              Py_ssize_t, const double*, const double*, float*,
                                              Py_ssize_t)
    void rescale_d "scaling_table->d.rescale"(bint, Py_ssize_t, Py_ssize_t, const double*,
                                              Py_ssize_t, const double*, const double*, double*,
                                              Py_ssize_t)


cdef inline void mirrored(Py_ssize_t n_rows, Py_ssize_t n_columns, Py_ssize_t diagonal,
                          const floating* K, Py_ssize_t stride, const floating* turned,
                          Py_ssize_t turned_stride, double close, double* rows, double* columns,
                          double* extremes) noexcept nogil:
    if floating is float:
        mirrored_f(n_rows, n_columns, diagonal, K, stride, turned, turned_stride, close, rows,
                   columns, extremes)
    else:
        mirrored_d(n_rows, n_columns, diagonal, K, stride, turned, turned_stride, close, rows,
                   columns, extremes)


cdef inline void shorten(Py_ssize_t first, Py_ssize_t last, const floating* K, Py_ssize_t stride,
                         const double* x, uint16_t* out) noexcept nogil:
    if floating is float:
        shorten_f(first, last, K, stride, x, out)
    else:
        shorten_d(first, last, K, stride, x, out)


cdef inline void rescale(bint shift, Py_ssize_t n_rows, Py_ssize_t n_columns, const floating* K,
                         Py_ssize_t stride, const double* x_rows, const double* x, floating* out,
                         Py_ssize_t out_stride) noexcept nogil:
    if floating is float:
        rescale_f(shift, n_rows, n_columns, K, stride, x_rows, x, out, out_stride)
    else:
        rescale_d(shift, n_rows, n_columns, K, stride, x_rows, x, out, out_stride)
