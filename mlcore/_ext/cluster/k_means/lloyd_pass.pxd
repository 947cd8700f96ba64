"""One pass of Lloyd's algorithm."""
from libc.stdint cimport int32_t

cdef extern from "cluster/k_means/lloyd_pass.h" nogil:
    enum:
        LLOYD_GROUPS
        LLOYD_BATCH
        LLOYD_SCRATCH
    ctypedef struct lloyd_pass:
        Py_ssize_t d
        Py_ssize_t stride
        int n_groups
        int first
        double slack
        const void* X
        const void* norms
        const void* centers
        const void* groups
        const void* half_norms
        const void* places
        const int32_t* home
        const double* weights
        const float* own_moved
        const float* others_moved
        const float* group_moved
        const float* half_gap
        int32_t* labels
        float* upper
        float* lower
        float* bounds
        Py_ssize_t n
        Py_ssize_t k
        Py_ssize_t width
        double error
        double farthest
        double single_error
        double single_farthest
        const float* single_centers
        const float* single_halves
        const double* origin
        const float* passed
        const float* limits
        float* gaps
        int filtered
