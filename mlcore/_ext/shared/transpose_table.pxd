"""Transposes."""
from cython cimport floating

cdef extern from "shared/transpose.h" nogil:
    void transpose_f "transpose_table->f.transpose"(const float*, Py_ssize_t, Py_ssize_t,
                                                    Py_ssize_t, float*, Py_ssize_t)
    void transpose_d "transpose_table->d.transpose"(const double*, Py_ssize_t, Py_ssize_t,
                                                    Py_ssize_t, double*, Py_ssize_t)


cdef inline void transpose(const floating* source, Py_ssize_t from_stride, Py_ssize_t rows,
                           Py_ssize_t columns, floating* to, Py_ssize_t to_stride) noexcept nogil:
    if floating is float:
        transpose_f(source, from_stride, rows, columns, to, to_stride)
    else:
        transpose_d(source, from_stride, rows, columns, to, to_stride)
