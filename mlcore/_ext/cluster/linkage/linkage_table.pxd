"""Agglomerative clustering."""
from libc.stdint cimport int32_t, int64_t, uint8_t

cdef extern from "cluster/linkage/linkage.h" nogil:
    enum:
        LINKAGE_SINGLE
        LINKAGE_COMPLETE
        LINKAGE_AVERAGE
        LINKAGE_WEIGHTED
        LINKAGE_WARD
        LINKAGE_CENTROID
        LINKAGE_MEDIAN
        LINKAGE_QUERIES
    ctypedef struct cluster_set:
        int kind
        Py_ssize_t n
        Py_ssize_t d
        double slack
        const int64_t* start
        const double* points
        const double* centres
        const double* panels
        const double* variance
        const double* radius
    ctypedef struct cluster_matrix:
        int kind
        Py_ssize_t m
        Py_ssize_t stride
        Py_ssize_t left
        Py_ssize_t next
        Py_ssize_t at
        double* D
        double* gone
        double* size
        double* value
        int32_t* nearest
        int32_t* first
        int32_t* second
        uint8_t* stale
        int64_t* name
        double* na
        double* nb
        double* distance
        double* row
        double* both
        double* x
        double* y
    void nearest_clusters "linkage_table->nearest_clusters"(const cluster_set*, Py_ssize_t,
                                                            const int64_t*, int32_t*, double*,
                                                            int64_t*, double*)
    void cluster_row "linkage_table->cluster_row"(const cluster_set*, const double*, Py_ssize_t,
                                                  double*, double*)
    void square_tile "linkage_table->square_tile"(Py_ssize_t, Py_ssize_t, Py_ssize_t, const double*,
                                                  const double*, Py_ssize_t, double*)
    Py_ssize_t merge_nearest "linkage_table->merge_nearest"(cluster_matrix*, int64_t*, double*)
