"""Hot loops of mlcore.numerics.neighbors: the nearest samples of queries (numerics/neighbors.c).

Threads take panels of queries. The result is one by definition, distances being rounded in one
order and ties going to the lower index, so that neither threads nor vectors change a bit.
"""
from cython.parallel cimport parallel, threadid
from libc.stdint cimport int64_t

from mlcore._ext.shared.signals cimport (
    add_to, interrupted, items_of, leave_items, raise_interrupt, shared_items, take_item,
)
from mlcore._ext.numerics.kd_tree_h cimport KD_LEAF
from mlcore._ext.numerics.neighbors_h cimport (
    NEIGHBOR_FEATURES, nearest_lists, room, search_leaf, tree_search,
)

cdef enum:
    LISTS = KD_LEAF  # of a panel
    WORK = 1 << 14  # panels visited between two looks for Ctrl-C

MOST_FEATURES = NEIGHBOR_FEATURES
N_LISTS = LISTS


def places(Py_ssize_t k, /):
    """Return the places of the list of a query that looks for k neighbours."""
    return room(k)


def search_tree(const double[:, :, ::1] panels, const double[:, :, ::1] boxes,
                const int64_t[::1] right, const int64_t[::1] node, const int64_t[::1] order,
                const double[:, :, ::1] queries, const int64_t[::1] query_order, bint others,
                int64_t[:, ::1] indices, double[:, ::1] distances, double[:, :, ::1] squares,
                int64_t[:, :, ::1] rows, int n_threads, /):
    """Set `indices` and `distances` (n_queries, k) to the nearest samples of each query.

    `queries` are panels in `query_order`. With `others` they are those of the samples, and a sample
    is not its own neighbour. Scratch: `squares` and `rows` (n_threads, N_LISTS, places(k) + 1).
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
    cdef nearest_lists lists
    cdef Py_ssize_t panel, work = 0
    add_to(&items.working, 1)
    lists.k, lists.room = k, room(k)
    lists.bound, lists.squares = squares, squares + LISTS
    lists.count, lists.rows = rows, rows + LISTS
    while take_item(items, &panel):
        work += search_leaf(s, panel, &lists, indices, distances)
        if main and work > WORK:
            work = 0
            if interrupted():
                items.stop = 1
    leave_items(items, main)
