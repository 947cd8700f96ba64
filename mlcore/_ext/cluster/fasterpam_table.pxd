"""Change of the objective of k-medoids by a swap."""
from cython cimport floating
from libc.stdint cimport int32_t

cdef extern from "cluster/fasterpam.h" nogil:
    enum:
        MEDOID_VALUES
        MEDOID_SQUARES
        MEDOID_ROOTS
        MEDOID_PRODUCTS
        MEDOID_FOURTHS
    ctypedef struct medoid_pass:
        int form
        Py_ssize_t n
        Py_ssize_t k
        const void* near
        const void* second
        const void* limits
        const void* norms
        const double* weights
        const int32_t* labels
        const double* removal
    double medoid_change_f "fasterpam_table->f.medoid_change"(
        const medoid_pass*, const float*, Py_ssize_t, double*, int32_t*)
    double medoid_change_d "fasterpam_table->d.medoid_change"(
        const medoid_pass*, const double*, Py_ssize_t, double*, int32_t*)


cdef inline double medoid_change(const medoid_pass* s, const floating* row, Py_ssize_t candidate,
                                 double* losses, int32_t* slot) noexcept nogil:
    if floating is float:
        return medoid_change_f(s, row, candidate, losses, slot)
    else:
        return medoid_change_d(s, row, candidate, losses, slot)
