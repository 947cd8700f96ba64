"""Integers of 32 or 64 bits, as in the indices of sparse matrices."""
from libc.stdint cimport int32_t, int64_t

ctypedef fused index:
    int32_t
    int64_t
