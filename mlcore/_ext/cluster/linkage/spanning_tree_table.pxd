"""Minimum spanning trees of points of few features."""
from libc.stdint cimport int32_t, int64_t

cdef extern from "cluster/linkage/spanning_tree.h" nogil:
    enum:
        TREE_LEAF
        TREE_FEATURES
    ctypedef struct point_tree:
        Py_ssize_t leaves
        Py_ssize_t d
        const double* panels
        const double* boxes
        const int64_t* right
        const int64_t* node
        const int64_t* component
        const int64_t* whole
        double* bound
        double* best
        int64_t* source
        int64_t* target
    ctypedef struct span_tree:
        Py_ssize_t left
        Py_ssize_t last
        Py_ssize_t d
        Py_ssize_t m
        double slack
        double growth
        const double* X
        float* panels
        float* query
        float* limit
        double* key
        int64_t* nearest
        int64_t* name
        int32_t* found
    Py_ssize_t nearest_others "spanning_tree_table->nearest_others"(point_tree*, Py_ssize_t)
    Py_ssize_t grow_tree "spanning_tree_table->grow_tree"(span_tree*, Py_ssize_t, int64_t*, double*)
