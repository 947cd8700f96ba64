"""Sets that are joined, two at a time: each a tree, whose root stands for the set."""
from libc.stdint cimport int64_t


cdef inline int64_t root_of(int64_t* parent, int64_t i) noexcept nogil:
    """The root of the set of i; paths become half as long."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i
