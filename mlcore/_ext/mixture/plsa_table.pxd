"""The E-step of the aspect model."""
from cython cimport floating
from libc.stdint cimport int32_t

cdef extern from "mixture/plsa.h" nogil:
    ctypedef struct plsa_entries:
        Py_ssize_t stride
        const int32_t* runs
        const int32_t* rows
        const void* counts
        const void* own
        const void* members
        double* own_sums
        double* sums
    double visit_f "plsa_table->f.visit"(const plsa_entries*, Py_ssize_t, Py_ssize_t)
    double visit_d "plsa_table->d.visit"(const plsa_entries*, Py_ssize_t, Py_ssize_t)


cdef inline double visit(const floating* like, const plsa_entries* s, Py_ssize_t first,
                         Py_ssize_t last) noexcept nogil:
    """`like` tells the precision."""
    if floating is float:
        return visit_f(s, first, last)
    else:
        return visit_d(s, first, last)
