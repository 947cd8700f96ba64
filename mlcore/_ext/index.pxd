"""Integers of either width: the indices of sparse matrices, and places among groups."""
from libc.stdint cimport int32_t, int64_t

ctypedef fused index:
    int32_t
    int64_t
