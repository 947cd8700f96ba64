"""Hot loops of mlcore.cluster.spanning_tree: Borůvka's algorithm on a k-d tree, for few features.

The tree halves the points along the widest side of their box, again and again: node v covers the
points start[v]..start[v + 1] of its level, with children 2 v and 2 v + 1 and root 1; leaves are
the last level. A round finds the shortest edge that leaves each component: a point looks for the
nearest of another component, no farther than the shortest edge so far, and passes over nodes that
are too far or of its own component alone. What it found is the nearest for as long as it belongs
to another component, and its distance a bound below afterwards.
"""
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

cdef enum:
    WORK = 1 << 25  # nodes and points that a call looks at, about


cdef void select(const double* key, int32_t* rows, Py_ssize_t low, Py_ssize_t high,
                 Py_ssize_t middle) noexcept nogil:
    """Hoare's selection: the row of rank `middle` comes to its place, smaller ones before it."""
    cdef Py_ssize_t i, j
    cdef double pivot
    cdef int32_t row
    while low < high:
        pivot = key[rows[(low + high) // 2]]
        i, j = low, high
        while i <= j:
            while key[rows[i]] < pivot:
                i += 1
            while key[rows[j]] > pivot:
                j -= 1
            if i <= j:
                row = rows[i]
                rows[i] = rows[j]
                rows[j] = row
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


def build(const double[:, ::1] columns, int32_t[::1] rows, int64_t[::1] start,
          double[:, :, ::1] boxes):
    """Order `rows`, at first 0, 1, ..., by the tree, and fill what nodes cover and their boxes.

    `columns` are the features. Of (nodes, 2, features) boxes, the first is not used; `start` is
    (nodes + levels,), with an end behind each level.
    """
    cdef Py_ssize_t n = rows.shape[0], d = columns.shape[0], nodes = boxes.shape[0]
    cdef Py_ssize_t level = 0, first = 1, v, a, b, middle, i, f, widest
    cdef double low, high, width, x
    with nogil:
        start[1 + level] = 0
        start[2 + level] = n
        while first < nodes:
            for v in range(first, 2 * first):
                a, b = start[v + level], start[v + level + 1]
                widest, width = 0, -1
                for f in range(d):
                    low, high = INFINITY, -INFINITY
                    for i in range(a, b):
                        x = columns[f, rows[i]]
                        low = min(low, x)
                        high = max(high, x)
                    boxes[v, 0, f], boxes[v, 1, f] = low, high
                    if high - low > width:
                        widest, width = f, high - low
                if 2 * first < nodes:
                    middle = (a + b) // 2
                    if b - a > 1:
                        select(&columns[widest, 0], &rows[0], a, b - 1, middle)
                    start[2 * v + level + 1] = a
                    start[2 * v + level + 2] = middle
                    start[2 * v + level + 3] = b
            first *= 2
            level += 1


cdef inline double to_box(Py_ssize_t d, const double* x, const double* box) noexcept nogil:
    """Squared distance of a point from a box."""
    cdef double total = 0, gap
    cdef Py_ssize_t f
    for f in range(d):
        gap = max(box[f] - x[f], x[f] - box[d + f])
        if gap > 0:
            total += gap * gap
    return total


cdef inline double between(Py_ssize_t d, const double* x, const double* y) noexcept nogil:
    cdef double total = 0
    cdef Py_ssize_t f
    for f in range(d):
        total += (x[f] - y[f]) * (x[f] - y[f])
    return total


cdef inline int32_t nearest_other(Py_ssize_t d, const double* X, Py_ssize_t i,
                                  const int64_t* start, const double* boxes,
                                  const int32_t* component, const int32_t* of_node,
                                  Py_ssize_t leaves, Py_ssize_t level, double* reach,
                                  Py_ssize_t* work) noexcept nogil:
    """The point nearest to point i of another component within reach, which shrinks; or -1."""
    cdef int32_t own = component[i], found = -1
    cdef Py_ssize_t j, v, top = 1
    cdef double square, other
    cdef int64_t[64] stack
    cdef double[64] gap
    stack[0], gap[0] = 1, 0
    while top > 0:
        top -= 1
        v = stack[top]
        if gap[top] >= reach[0] or of_node[v] == own:
            continue
        work[0] += 1
        if v >= leaves:
            for j in range(start[v + level], start[v + level + 1]):
                square = between(d, X + i * d, X + j * d)
                if square < reach[0] and component[j] != own:
                    reach[0], found = square, <int32_t> j
            continue
        square = to_box(d, X + i * d, boxes + 4 * v * d)
        other = to_box(d, X + i * d, boxes + (4 * v + 2) * d)
        if square <= other:
            stack[top], gap[top] = 2 * v + 1, other
            stack[top + 1], gap[top + 1] = 2 * v, square
        else:
            stack[top], gap[top] = 2 * v, square
            stack[top + 1], gap[top + 1] = 2 * v + 1, other
        top += 2
    return found


def nearest_others(const double[:, ::1] X, const int64_t[::1] start, const double[:, :, ::1] boxes,
                   const int32_t[::1] component, const int32_t[::1] of_node, Py_ssize_t first,
                   int32_t[::1] nearest, double[::1] bound, double[::1] best, int32_t[::1] source):
    """Shortest edges that leave the components, from points first, first + 1, ...; where it ended.

    Rows of X are in the order of the tree. `of_node` is the component of all points of a node, or
    -1. `nearest` is that of another component, -1 where not known; `bound` is how far it is,
    squared, or less. `best` and `source` of a component: the shortest edge so far, and its point.
    """
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], leaves = boxes.shape[0] // 2
    cdef Py_ssize_t i = first, work = 0, level = 0
    cdef int32_t own, found
    cdef double reach
    while (1 << level) < leaves:
        level += 1
    with nogil:
        while i < n and work < WORK:
            own = component[i]
            if nearest[i] < 0 and bound[i] < best[own]:
                reach = best[own]
                if d == 2:  # known numbers of features: a third less time
                    found = nearest_other(2, &X[0, 0], i, &start[0], &boxes[0, 0, 0], &component[0],
                                          &of_node[0], leaves, level, &reach, &work)
                elif d == 3:
                    found = nearest_other(3, &X[0, 0], i, &start[0], &boxes[0, 0, 0], &component[0],
                                          &of_node[0], leaves, level, &reach, &work)
                else:
                    found = nearest_other(d, &X[0, 0], i, &start[0], &boxes[0, 0, 0], &component[0],
                                          &of_node[0], leaves, level, &reach, &work)
                bound[i], nearest[i] = reach, found
                if found >= 0:
                    best[own], source[own] = reach, <int32_t> i
            i += 1
    return i


def begin_round(const int32_t[::1] component, const int64_t[::1] start, int32_t[::1] of_node,
                int32_t[::1] nearest, const double[::1] bound, double[::1] best,
                int32_t[::1] source):
    """Forget what is no longer of another component; what is left gives edges to begin with."""
    cdef Py_ssize_t n = component.shape[0], nodes = of_node.shape[0], leaves = nodes // 2
    cdef Py_ssize_t i, v, level = 0
    cdef int32_t own
    while (1 << level) < leaves:
        level += 1
    with nogil:
        for i in range(n):
            own = component[i]
            if nearest[i] >= 0 and component[nearest[i]] == own:
                nearest[i] = -1
            if nearest[i] >= 0 and bound[i] < best[own]:
                best[own], source[own] = bound[i], <int32_t> i
        for v in range(leaves, nodes):
            of_node[v] = component[start[v + level]]
            for i in range(start[v + level], start[v + level + 1]):
                if component[i] != of_node[v]:
                    of_node[v] = -1
        for v in range(leaves - 1, 0, -1):
            of_node[v] = of_node[2 * v] if of_node[2 * v] == of_node[2 * v + 1] else -1


cdef int32_t root_of(int32_t* parent, int32_t i) noexcept nogil:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


def join(const int32_t[::1] sources, const int32_t[::1] nearest, int32_t[::1] parent,
         int32_t[::1] component, int64_t[:, ::1] edges, int64_t[::1] taken):
    """Add edges, shortest first, where they join two components; return how many."""
    cdef Py_ssize_t t, i, done = 0
    cdef int32_t a, b
    with nogil:
        for t in range(sources.shape[0]):
            a = root_of(&parent[0], component[sources[t]])
            b = root_of(&parent[0], component[nearest[sources[t]]])
            if a != b:
                parent[a] = b
                edges[done, 0], edges[done, 1] = sources[t], nearest[sources[t]]
                taken[done] = t
                done += 1
        for i in range(component.shape[0]):
            component[i] = root_of(&parent[0], component[i])
    return done
