"""Hot loops of mlcore.numerics.neighbors.screened_neighbors (numerics/screened_neighbors.c).

Threads take blocks of queries. The result is one by definition, distances being rounded in one
order and ties going to the lower index, so that neither threads nor vectors change a bit.
"""
from cython cimport floating
from cython.parallel cimport parallel, threadid
from libc.stdint cimport int64_t

from mlcore._ext.shared.signals cimport (
    add_to, interrupted, items_of, leave_items, raise_interrupt, shared_items, take_item,
)
from mlcore._ext.numerics.screened_neighbors_h cimport SCREEN_BLOCK as BLOCK
from mlcore._ext.numerics.screened_neighbors_h cimport (
    scratch_size, screened_search, search_block,
)

cdef enum:
    MANY = 16  # if more than 1 of so many samples is compared,
    NEXT = 16  # so many more blocks have images of their own

PANEL = BLOCK


def scratch_values(Py_ssize_t panels, Py_ssize_t m, Py_ssize_t k, /):
    """Return the scratch values of each type that a thread of `search` takes."""
    return scratch_size(panels, m, k)


def search(const floating[:, ::1] X, const int64_t[::1] order, const float[:, :, ::1] panels,
           const float[:, ::1] halves, const float[:, :, ::1] center_panels,
           const float[:, ::1] center_halves, const double[::1] radius,
           const double[::1] longest, const floating[:, ::1] queries,
           const int64_t[::1] query_order, const float[:, ::1] images, double scale,
           double rounding, bint lower, bint others, Py_ssize_t first, Py_ssize_t last,
           int64_t[:, ::1] indices, double[:, ::1] distances, double[:, ::1] reals,
           int64_t[:, ::1] integers, int n_threads, /):
    """Set `indices` and `distances` of the queries in blocks first..last; return pairs compared.

    Arguments as in `screened_search`. Scratch: `reals` and `integers` (n_threads, scratch_values).
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
    s.single = floating is float
    s.scale, s.rounding, s.lower, s.others = scale, rounding, lower, others
    with nogil, parallel(num_threads=n_threads):
        search_blocks(&s, &items, threadid() == 0, &compared, &reals[threadid(), 0],
                      &integers[threadid(), 0], &indices[0, 0], &distances[0, 0])
    if items.stop:
        raise_interrupt()
    return compared


cdef void search_blocks(const screened_search* s, shared_items* items, bint main,
                        Py_ssize_t* compared, double* reals, int64_t* integers, int64_t* indices,
                        double* distances) noexcept nogil:
    cdef Py_ssize_t block, pairs, local = 0
    add_to(&items.working, 1)
    while take_item(items, &block):
        pairs = search_block(s, block, local > 0, reals, integers, indices, distances)
        add_to(compared, pairs)
        local -= 1
        if not s.lower and pairs > BLOCK * (s.n // MANY):
            local = NEXT
        if main and interrupted():
            items.stop = 1
    leave_items(items, main)
