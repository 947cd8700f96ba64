"""Products of sparse rows with dense columns."""
from libc.stdint cimport int32_t, int64_t

cdef extern from "cluster/k_means/sparse_assignment.h" nogil:
    enum:
        SPARSE_BATCH
        SPARSE_GROUP
        SPARSE_LINE
    ctypedef struct sparse_search:
        const int64_t* indptr
        const void* indices
        const void* data
        const float* columns
        const float* halves
        Py_ssize_t stride
        double longest, slack
        const double* norms
        const double* passed
        bint filtered
        int32_t* labels
        double* gaps
    ctypedef struct sparse_row_loops:
        void (*products)(Py_ssize_t, const void*, const void*, const double*, Py_ssize_t,
                         double*) noexcept nogil
        int (*nearest)(const sparse_search*, Py_ssize_t, Py_ssize_t, float*,
                       int32_t*) noexcept nogil
    ctypedef struct sparse_assignment_loops:
        sparse_row_loops f_int32, f_int64, d_int32, d_int64
        void (*means)(Py_ssize_t, Py_ssize_t, const double*, const double*, bint, double*, float*,
                      double*) noexcept nogil
    const sparse_assignment_loops* sparse_assignment_table
