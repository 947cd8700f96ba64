"""Hot loops of mlcore.cluster.cuts.stoer_wagner: a round of Stoer and Wagner's algorithm.

Vertices are taken one by one, always the one with the largest weight of edges to those taken
before. A call fills places `done` to `until` of the order, so that the caller can look for Ctrl-C;
its state is in the caller's arrays, which are in C order and of the right shapes.
"""
from libc.math cimport INFINITY
from libc.stdint cimport int64_t

from mlcore._ext.shared.index cimport index

cdef enum:
    LANES = 8


def dense_order(const double[:, ::1] W, Py_ssize_t m, double[::1] attachment, int64_t[::1] order,
                double[::1] taken_at, Py_ssize_t done, Py_ssize_t until, /):
    """Set order[t] to the t-th vertex and taken_at[t] to its attachment, done <= t < until.

    The vertices are the first m of W. `attachment` (m,) is the weight of the edges of each vertex
    to those taken so far, -infinity for these.
    """
    cdef Py_ssize_t t, v, at, lane
    cdef double best
    cdef double[LANES] most
    cdef double* to = &attachment[0]
    cdef const double* row
    with nogil:
        for t in range(done, until):
            row = &W[order[t - 1], 0]
            for lane in range(LANES):
                most[lane] = -INFINITY
            for v in range(m // LANES):
                for lane in range(LANES):
                    at = v * LANES + lane
                    to[at] += row[at]
                    most[lane] = to[at] if to[at] > most[lane] else most[lane]
            for v in range(m - m % LANES, m):
                to[v] += row[v]
                most[0] = to[v] if to[v] > most[0] else most[0]
            best = most[0]
            for lane in range(1, LANES):
                best = max(best, most[lane])
            v = 0
            while to[v] != best:
                v += 1
            order[t], taken_at[t], to[v] = v, best, -INFINITY


cdef inline void sift_up(int64_t* heap, int64_t* place, const double* key,
                         int64_t v) noexcept nogil:
    """Move `v` up to its place in the heap."""
    cdef int64_t at = place[v], above
    while at > 0:
        above = (at - 1) // 2
        if key[heap[above]] >= key[v]:
            break
        heap[at] = heap[above]
        place[heap[at]] = at
        at = above
    heap[at] = v
    place[v] = at


cdef inline int64_t pop_top(int64_t* heap, int64_t* place, const double* key,
                            int64_t size) noexcept nogil:
    """Remove the vertex of the largest key from a heap of `size`, and return it."""
    cdef int64_t top = heap[0], v = heap[size - 1], at = 0, below
    place[top] = -1
    while 2 * at + 1 < size - 1:
        below = 2 * at + 1
        if below + 1 < size - 1 and key[heap[below + 1]] > key[heap[below]]:
            below += 1
        if key[v] >= key[heap[below]]:
            break
        heap[at] = heap[below]
        place[heap[at]] = at
        at = below
    if v != top:
        heap[at] = v
        place[v] = at
    return top


def sparse_order(const int64_t[::1] indptr, const index[::1] indices, const double[::1] data,
                 double[::1] attachment, int64_t[::1] heap, int64_t[::1] place, int64_t[::1] order,
                 double[::1] taken_at, Py_ssize_t done, Py_ssize_t until, /):
    """As `dense_order` for CSR; `heap` has vertex v, if not yet taken, at place[v], else -1."""
    cdef Py_ssize_t t
    cdef int64_t e, v, n = order.shape[0]
    with nogil:
        for t in range(done, until):
            v = order[t - 1]
            for e in range(indptr[v], indptr[v + 1]):
                if place[indices[e]] >= 0:
                    attachment[indices[e]] += data[e]
                    sift_up(&heap[0], &place[0], &attachment[0], indices[e])
            v = pop_top(&heap[0], &place[0], &attachment[0], n - t)
            order[t], taken_at[t] = v, attachment[v]
