"""Hot loops of mlcore.numerics.neighbors: the nearest samples of queries (numerics/neighbors.c,
numerics/screened_neighbors.c).

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
    NEIGHBOR_FEATURES, room, search_leaf, tree_search,
)
from mlcore._ext.numerics.screened_neighbors_h cimport SCREEN_BLOCK as BLOCK
from mlcore._ext.numerics.screened_neighbors_h cimport (
    scratch_size, screened_search, search_block,
)

cdef enum:
    WORK = 1 << 14  # panels visited between two looks for Ctrl-C

MOST_FEATURES = NEIGHBOR_FEATURES
N_LISTS = KD_LEAF
PANEL = BLOCK


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
    cdef Py_ssize_t panel, work = 0
    add_to(&items.working, 1)
    while take_item(items, &panel):
        work += search_leaf(s, panel, k, squares, rows, indices, distances)
        if main and work > WORK:
            work = 0
            if interrupted():
                items.stop = 1
    leave_items(items, main)


def screen_scratch(Py_ssize_t panels, Py_ssize_t k, /):
    """Return the scratch values of each type that a thread of `search_screen` takes."""
    return scratch_size(panels, k)


def search_screen(const double[:, ::1] X, const int64_t[::1] order, const float[:, :, ::1] panels,
                  const float[:, ::1] halves, const float[:, :, ::1] center_panels,
                  const float[:, ::1] center_halves, const double[::1] radius,
                  const double[::1] longest, const double[:, ::1] queries,
                  const int64_t[::1] query_order, const float[:, ::1] images, double unit,
                  double rounding, bint lower, bint others, Py_ssize_t first, Py_ssize_t last,
                  int64_t[:, ::1] indices, double[:, ::1] distances, double[:, ::1] reals,
                  int64_t[:, ::1] integers, int n_threads, /):
    """Set `indices` and `distances` of the queries in blocks first..last; return pairs compared.

    Arguments as in `screened_search`. Scratch: `reals` and `integers` (n_threads, screen_scratch).
    """
    cdef screened_search s
    cdef Py_ssize_t compared = 0
    cdef shared_items items = items_of(first, last)
    s.n, s.d, s.m, s.panels = X.shape[0], X.shape[1], images.shape[1], panels.shape[0]
    s.n_queries, s.k = queries.shape[0], indices.shape[1]
    s.X, s.Q, s.order, s.query_order = &X[0, 0], &queries[0, 0], &order[0], &query_order[0]
    s.screen, s.halves = &panels[0, 0, 0], &halves[0, 0]
    s.center_panels, s.center_halves = &center_panels[0, 0, 0], &center_halves[0, 0]
    s.radius, s.longest, s.rows = &radius[0], &longest[0], &images[0, 0]
    s.unit, s.rounding, s.lower, s.others = unit, rounding, lower, others
    with nogil, parallel(num_threads=n_threads):
        search_blocks(&s, &items, threadid() == 0, &compared, &reals[threadid(), 0],
                      &integers[threadid(), 0], &indices[0, 0], &distances[0, 0])
    if items.stop:
        raise_interrupt()
    return compared


cdef void search_blocks(const screened_search* s, shared_items* items, bint main,
                        Py_ssize_t* compared, double* reals, int64_t* integers, int64_t* indices,
                        double* distances) noexcept nogil:
    cdef Py_ssize_t block
    add_to(&items.working, 1)
    while take_item(items, &block):
        add_to(compared, search_block(s, block, reals, integers, indices, distances))
        if main and interrupted():
            items.stop = 1
    leave_items(items, main)
