"""Pending copies of rows."""
from cython cimport floating
from libc.stdint cimport int64_t

cdef extern from "simd/copies.h" nogil:
    ctypedef struct simd_copies:
        Py_ssize_t rows
        Py_ssize_t columns
        Py_ssize_t from_stride
        Py_ssize_t stride
        Py_ssize_t at
        const void* source "from"
        void* out
        const int64_t* dest
    void copy_f "copies_table->f.copy"(simd_copies*, int)
    void copy_d "copies_table->d.copy"(simd_copies*, int)


cdef inline void copy(const floating* like, simd_copies* waiting, bint past) noexcept nogil:
    """`like` tells the precision."""
    if floating is float:
        copy_f(waiting, past)
    else:
        copy_d(waiting, past)
