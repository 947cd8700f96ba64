"""Hot loops of mlcore.cluster.linkage.connectivity: merges of clusters along the edges of a graph.

begin        lists of neighbours, and a heap of the edges;
merge_edges  merges along the shortest edges: O(degree (d + log of the edges)) a merge;
kruskal      minimum spanning tree: the edges, in order, that join two components.

Edge p is two halves, one in the list of neighbours of each of its clusters: half 2 p belongs to
cluster end[2 p + 1], and end[2 p] is the other. Clusters are numbered as in SciPy's linkage matrix.
The heap orders edges by value, then by the larger and the smaller of their clusters. Nothing is
allocated: an edge keeps its number until its clusters are merged or it is parallel to another.
"""
from libc.stdint cimport int32_t, int64_t

from mlcore._ext.cluster.linkage.union_find cimport root_of

cdef enum:
    AVERAGE = 0
    COMPLETE = 1
    WARD = 2

KINDS = {"average": AVERAGE, "complete": COMPLETE, "ward": WARD}

cdef struct forest:
    int kind
    Py_ssize_t n_edges, d  # edges in the heap; features
    const double* size     # of clusters
    double* means          # of clusters, at slot
    const int32_t* slot
    int32_t* head          # of a cluster's list of halves, -1 where empty
    int32_t* end
    int32_t* next
    int32_t* previous
    double* value          # of edges
    int32_t* heap          # edges
    int32_t* place         # of an edge in the heap


cdef inline bint less(const forest* f, int32_t p, int32_t q) noexcept nogil:
    cdef int32_t a, b
    if f.value[p] != f.value[q]:
        return f.value[p] < f.value[q]
    a, b = max(f.end[2 * p], f.end[2 * p + 1]), max(f.end[2 * q], f.end[2 * q + 1])
    if a != b:
        return a < b
    return min(f.end[2 * p], f.end[2 * p + 1]) < min(f.end[2 * q], f.end[2 * q + 1])


cdef void sink(forest* f, int32_t p, Py_ssize_t i) noexcept nogil:
    """Put edge p at place i of the heap, or below."""
    cdef Py_ssize_t child
    while True:
        child = 2 * i + 1
        if child >= f.n_edges:
            break
        if child + 1 < f.n_edges and less(f, f.heap[child + 1], f.heap[child]):
            child += 1
        if not less(f, f.heap[child], p):
            break
        f.heap[i] = f.heap[child]
        f.place[f.heap[i]] = <int32_t> i
        i = child
    f.heap[i] = p
    f.place[p] = <int32_t> i


cdef void sift(forest* f, Py_ssize_t i) noexcept nogil:
    """Restore the order of the heap, in which only the edge at place i may be out of place."""
    cdef int32_t p = f.heap[i]
    while i > 0 and less(f, p, f.heap[(i - 1) // 2]):
        f.heap[i] = f.heap[(i - 1) // 2]
        f.place[f.heap[i]] = <int32_t> i
        i = (i - 1) // 2
    sink(f, p, i)


cdef void leave_heap(forest* f, int32_t p) noexcept nogil:
    cdef Py_ssize_t i = f.place[p]
    f.n_edges -= 1
    if i < f.n_edges:
        f.heap[i] = f.heap[f.n_edges]
        f.place[f.heap[i]] = <int32_t> i
        sift(f, i)


cdef inline void enter_list(forest* f, int32_t e, int32_t cluster) noexcept nogil:
    f.previous[e] = -1
    f.next[e] = f.head[cluster]
    if f.next[e] >= 0:
        f.previous[f.next[e]] = e
    f.head[cluster] = e


cdef inline void leave_list(forest* f, int32_t e, int32_t cluster) noexcept nogil:
    if f.previous[e] >= 0:
        f.next[f.previous[e]] = f.next[e]
    else:
        f.head[cluster] = f.next[e]
    if f.next[e] >= 0:
        f.previous[f.next[e]] = f.previous[e]


cdef double ward(const forest* f, int32_t a, int32_t b) noexcept nogil:
    """Return the squared error that merging a and b adds."""
    cdef const double* x = f.means + f.slot[a] * f.d
    cdef const double* y = f.means + f.slot[b] * f.d
    cdef double total = 0
    cdef Py_ssize_t j
    for j in range(f.d):
        total += (x[j] - y[j]) * (x[j] - y[j])
    return total * (f.size[a] * f.size[b] / (f.size[a] + f.size[b]))


cdef forest as_forest(int kind, Py_ssize_t n_edges, const double[::1] size,
                      double[:, ::1] means, const int32_t[::1] slot, int32_t[::1] head,
                      int32_t[:, ::1] halves, double[::1] value, int32_t[:, ::1] heap):
    cdef forest f
    f.kind, f.n_edges, f.d = kind, n_edges, means.shape[1]
    f.size, f.means, f.slot, f.head = &size[0], &means[0, 0], &slot[0], &head[0]
    f.end, f.next, f.previous = &halves[0, 0], &halves[1, 0], &halves[2, 0]
    f.value, f.heap, f.place = &value[0], &heap[0, 0], &heap[1, 0]
    return f


def begin(int kind, const double[::1] size, double[:, ::1] means, const int32_t[::1] slot,
          int32_t[::1] head, int32_t[:, ::1] halves, double[::1] value, int32_t[:, ::1] heap, /):
    """Fill the lists and the heap, and Ward's values; halves[0] has both clusters of each edge."""
    cdef Py_ssize_t n_edges = value.shape[0], p
    cdef forest f = as_forest(kind, n_edges, size, means, slot, head, halves, value, heap)
    with nogil:
        for p in range(n_edges):
            enter_list(&f, <int32_t> (2 * p), f.end[2 * p + 1])
            enter_list(&f, <int32_t> (2 * p + 1), f.end[2 * p])
            if kind == WARD:
                f.value[p] = ward(&f, f.end[2 * p], f.end[2 * p + 1])
            f.heap[p] = f.place[p] = <int32_t> p
        for p in range(n_edges // 2 - 1, -1, -1):
            sink(&f, f.heap[p], p)


def merge_edges(int kind, int64_t[::1] state, double[::1] size, double[:, ::1] means,
                int32_t[::1] slot, int32_t[::1] head, int32_t[:, ::1] halves,
                double[::1] value, int32_t[:, ::1] heap, int32_t[::1] met,
                int64_t[:, ::1] merged, double[::1] heights, Py_ssize_t work, /):
    """Merge along the shortest edges until about `work` numbers are read; return how many merges.

    `state` is (edges left, next cluster); the next call takes the same arrays. `merged` receives a
    sample of each of the two clusters; `met` (2 n - 1,) is scratch, -1 before and after.
    """
    cdef forest f = as_forest(kind, state[0], size, means, slot, head, halves, value, heap)
    cdef Py_ssize_t done = 0, j
    cdef int32_t k = <int32_t> state[1], a, b, c, e, p, after
    cdef double share
    with nogil:
        while done < heights.shape[0] and work > 0:
            p = f.heap[0]
            a, b = f.end[2 * p + 1], f.end[2 * p]
            merged[done, 0], merged[done, 1], heights[done] = slot[a], slot[b], f.value[p]
            done += 1
            leave_heap(&f, p)
            leave_list(&f, 2 * p, a)
            leave_list(&f, 2 * p + 1, b)
            size[k], slot[k] = size[a] + size[b], slot[a]
            share = size[b] / size[k]
            if kind == WARD:
                for j in range(f.d):
                    means[slot[a], j] += share * (means[slot[b], j] - means[slot[a], j])
            f.head[k] = f.head[a]
            e = f.head[a]
            while e >= 0:
                met[f.end[e]] = e
                e = f.next[e]
            e = f.head[b]
            while e >= 0:
                after, c, p = f.next[e], f.end[e], met[f.end[e]]
                if p < 0:
                    enter_list(&f, e, k)
                else:  # two edges have become parallel: one is left
                    p = p >> 1
                    if kind == AVERAGE:
                        f.value[p] += share * (f.value[e >> 1] - f.value[p])
                    elif kind == COMPLETE:
                        f.value[p] = max(f.value[p], f.value[e >> 1])
                    sift(&f, f.place[p])
                    leave_list(&f, e ^ 1, c)
                    leave_heap(&f, e >> 1)
                e = after
            # One key at a time: the heap is in order before and after.
            e = f.head[k]
            while e >= 0:
                c, p = f.end[e], e >> 1
                met[c] = -1
                f.end[e ^ 1] = k
                if kind == WARD:
                    f.value[p] = ward(&f, k, c)
                sift(&f, f.place[p])
                work -= 64 + f.d
                e = f.next[e]
            k += 1
    state[0], state[1] = f.n_edges, k
    return done


def kruskal(const int32_t[:, ::1] edges, int64_t[::1] parent, int64_t[::1] taken, /):
    """Set `taken` to the edges that join two components, in order; `parent` is 0, 1, 2, ..."""
    cdef Py_ssize_t p, done = 0
    cdef int64_t a, b
    with nogil:
        for p in range(edges.shape[0]):
            a, b = root_of(&parent[0], edges[p, 0]), root_of(&parent[0], edges[p, 1])
            if a != b:
                parent[a] = b
                taken[done] = p
                done += 1
                if done == taken.shape[0]:
                    break
    return done
