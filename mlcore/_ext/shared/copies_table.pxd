"""Copies of rows."""
from cython cimport floating
from libc.stdint cimport int64_t

cdef extern from "shared/copies.h" nogil:
    void copy_f "copies_table->f.copy"(Py_ssize_t, Py_ssize_t, const float*, Py_ssize_t, float*,
                                       Py_ssize_t, const int64_t*, int)
    void copy_d "copies_table->d.copy"(Py_ssize_t, Py_ssize_t, const double*, Py_ssize_t, double*,
                                       Py_ssize_t, const int64_t*, int)


cdef inline void copy(Py_ssize_t rows, Py_ssize_t columns, const floating* tile,
                      Py_ssize_t tile_stride, floating* out, Py_ssize_t stride,
                      const int64_t* dest, bint past) noexcept nogil:
    if floating is float:
        copy_f(rows, columns, tile, tile_stride, out, stride, dest, past)
    else:
        copy_d(rows, columns, tile, tile_stride, out, stride, dest, past)
