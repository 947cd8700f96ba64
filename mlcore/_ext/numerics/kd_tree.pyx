"""Hot loops of mlcore.numerics.neighbors.kd_tree.

The tree halves the points across the widest side of their box until each leaf has one panel of
points; all leaves but the last are full. Nodes are in preorder, root 0. Threads that search it
(numerics/kd_tree.c) take panels of queries. The neighbours are the same by definition, distances
being rounded in one order and ties going to the lower index, so that neither threads nor vectors
change a bit.
"""
from cython.parallel cimport parallel, threadid
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

from mlcore._ext.shared.signals cimport (
    add_to, interrupted, items_of, leave_items, raise_interrupt, shared_items, take_item,
)
from mlcore._ext.numerics.kd_tree_h cimport KD_FEATURES, room, search_leaf, tree_search
from mlcore._ext.numerics.kd_tree_h cimport KD_LEAF as LEAF

cdef enum:
    WORK = 1 << 24  # coordinates that a call reads, about
    VISITS = 1 << 14  # of panels between two looks for Ctrl-C

LEAF_POINTS = LEAF
MOST_FEATURES = KD_FEATURES


def build(const double[:, ::1] columns, Py_ssize_t v, int64_t[:, ::1] orders, int64_t[::1] spare,
          uint8_t[::1] side, int64_t[:, ::1] span, int64_t[::1] right, int64_t[::1] node,
          double[:, :, ::1] boxes, double[:, :, ::1] panels, /):
    """Build the nodes v, v + 1, ... of the tree; return the first node that is not built yet.

    `columns` are the features, `orders` the points sorted by each of them; in the end, those of a
    node stand together. `span` has the first leaf of each node and the end of its leaves, at first
    of the root alone; `spare` and `side` are scratch. `boxes` are (nodes, 2, features).
    """
    cdef Py_ssize_t n = columns.shape[1], d = columns.shape[0], work = 0
    cdef Py_ssize_t first, end, low, high, middle, i, f, widest, front, back
    cdef int64_t row
    cdef int64_t* order
    cdef double least, most, width
    with nogil:
        while v < boxes.shape[0] and work < WORK:
            first, end = span[v, 0], span[v, 1]
            low, high = first * LEAF, min(end * LEAF, n)
            work += (high - low) * d
            widest, width = 0, -1
            for f in range(d):
                least, most = columns[f, orders[f, low]], columns[f, orders[f, high - 1]]
                boxes[v, 0, f], boxes[v, 1, f] = least, most
                if most - least > width:
                    widest, width = f, most - least
            if end - first == 1:
                right[v], node[first] = -1 - first, v
                for f in range(d):
                    for i in range(low, high):
                        panels[first, f, i - low] = columns[f, orders[0, i]]
                    for i in range(high - low, LEAF):
                        panels[first, f, i] = INFINITY
            else:
                middle = (first + end + 1) // 2
                right[v] = v + 2 * (middle - first)
                span[v + 1, 0], span[v + 1, 1] = first, middle
                span[right[v], 0], span[right[v], 1] = middle, end
                order = &orders[widest, 0]
                middle *= LEAF
                for i in range(low, high):
                    side[order[i]] = i >= middle
                for f in range(d):
                    if f == widest:
                        continue
                    order = &orders[f, 0]
                    front, back = low, 0
                    for i in range(low, high):
                        row = order[i]
                        order[front] = spare[back] = row
                        front += 1 - side[row]
                        back += side[row]
                    memcpy(order + middle, &spare[0], back * sizeof(int64_t))
            v += 1
    return v


def places(Py_ssize_t k, /):
    """Return the places of the list of a query that looks for k neighbours."""
    return room(k)


def search(const double[:, :, ::1] panels, const double[:, :, ::1] boxes,
           const int64_t[::1] right, const int64_t[::1] node, const int64_t[::1] order,
           const double[:, :, ::1] queries, const int64_t[::1] query_order, bint others,
           int64_t[:, ::1] indices, double[:, ::1] distances, double[:, :, ::1] squares,
           int64_t[:, :, ::1] rows, int n_threads, /):
    """Set `indices` and `distances` (n_queries, k) to the nearest samples of each query.

    `queries` are panels in `query_order`. With `others` they are those of the samples, and a sample
    is not its own neighbour. Scratch: `squares` and `rows` (n_threads, LEAF_POINTS, places(k) + 1).
    """
    cdef tree_search s
    cdef shared_items items = items_of(0, queries.shape[0])
    s.tree.leaves, s.tree.d = panels.shape[0], panels.shape[1]
    s.tree.panels, s.tree.boxes = &panels[0, 0, 0], &boxes[0, 0, 0]
    s.tree.right, s.tree.node, s.order = &right[0], &node[0], &order[0]
    s.n, s.n_queries, s.others = order.shape[0], query_order.shape[0], others
    s.queries, s.query_order = &queries[0, 0, 0], &query_order[0]
    with nogil, parallel(num_threads=n_threads):
        search_panels(&s, indices.shape[1], &items, threadid() == 0, &squares[threadid(), 0, 0],
                      &rows[threadid(), 0, 0], &indices[0, 0], &distances[0, 0])
    if items.stop:
        raise_interrupt()


cdef void search_panels(const tree_search* s, Py_ssize_t k, shared_items* items, bint main,
                        double* squares, int64_t* rows, int64_t* indices,
                        double* distances) noexcept nogil:
    cdef Py_ssize_t panel, work = 0
    add_to(&items.working, 1)
    while take_item(items, &panel):
        work += search_leaf(s, panel, k, squares, rows, indices, distances)
        if main and work > VISITS:
            work = 0
            if interrupted():
                items.stop = 1
    leave_items(items, main)
