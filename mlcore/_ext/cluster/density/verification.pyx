"""Loops of mlcore.cluster.density.verification: the longest edges on paths of a spanning tree.

An edge, the shortest first, hangs the smaller of two trees below the root of the larger. So they
have depth log n, and `link` of a sample is the edge by which it hangs.
"""
from libc.math cimport INFINITY
from libc.stdint cimport int64_t


def link_trees(const int64_t[:, ::1] edges, int64_t[::1] parent, int64_t[::1] link,
               int64_t[::1] size, /):
    """Hang the trees of a forest together by edges, the shortest first.

    At first `parent` is 0, 1, ..., `link` the number of edges, and `size` 1 for each sample.
    """
    cdef Py_ssize_t k
    cdef int64_t a, b
    with nogil:
        for k in range(edges.shape[0]):
            a, b = edges[k, 0], edges[k, 1]
            while parent[a] != a:
                a = parent[a]
            while parent[b] != b:
                b = parent[b]
            if a == b:
                continue
            if size[a] > size[b]:
                a, b = b, a
            parent[a], link[a] = b, k
            size[b] += size[a]


def largest_edges(const int64_t[::1] parent, const int64_t[::1] link, const double[::1] heights,
                  const int64_t[::1] start, const int64_t[::1] end, double[:, ::1] largest, /):
    """Set largest[i, j] to the height of the longest edge on the path from start[i] to end[j]."""
    cdef Py_ssize_t i, j
    cdef int64_t a, b, edge
    with nogil:
        for i in range(start.shape[0]):
            for j in range(end.shape[0]):
                a, b, edge = start[i], end[j], -1
                while a != b:
                    if link[a] > link[b]:
                        a, b = b, a
                    if parent[a] == a:  # no path
                        edge = -2
                        break
                    edge = max(edge, link[a])
                    a = parent[a]
                largest[i, j] = INFINITY if edge == -2 else (0 if edge < 0 else heights[edge])
