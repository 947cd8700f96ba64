"""Disjoint sets (union-find): each set is a tree, named by its root."""
from libc.stdint cimport int64_t


cdef inline int64_t root_of(int64_t* parent, int64_t i) noexcept nogil:
    """Return the root of the set of i, halving the path to it."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i
