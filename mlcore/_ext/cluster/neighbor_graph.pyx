"""Hot loop of mlcore.cluster.spectral.neighbor_graph: the symmetric graph of nearest neighbours.

Two transpositions sort the neighbours of every row, and one pass merges those that a row has with
those that have it.
"""
from cython cimport floating
from libc.stdint cimport int64_t

from mlcore._ext.shared.index cimport index


cdef inline void transpose(Py_ssize_t n, const int64_t* start, const int64_t* rows,
                           const int64_t* edges, int64_t* to_start, int64_t* to_rows,
                           int64_t* to_edges) noexcept nogil:
    """Transpose lists of rows with the edges that they came by; `to_start` begins with zeros."""
    cdef Py_ssize_t i, at
    cdef int64_t place
    for at in range(start[n]):
        to_start[rows[at] + 1] += 1
    for i in range(n):
        to_start[i + 1] += to_start[i]
    for i in range(n):
        for at in range(start[i], start[i + 1]):
            place = to_start[rows[at]]
            to_start[rows[at]] += 1
            to_rows[place] = i
            to_edges[place] = edges[at]
    for i in range(n, 0, -1):
        to_start[i] = to_start[i - 1]
    to_start[0] = 0


def symmetric_graph(const int64_t[:, ::1] indices, const floating[::1] values, bint mutual,
                    index[::1] indptr, index[::1] columns, floating[::1] data,
                    int64_t[:, ::1] starts, int64_t[:, ::1] rows, int64_t[:, ::1] edges, /):
    """Join two rows if either has the other, with `mutual` both; return the number of entries.

    `indices` (n, k) are rows, none of its own, `values` (n k,) the same both ways; the diagonal
    is 1. `columns` and `data` have (2 k + 1) n places. Scratch: `starts` (3, n + 1), `rows` and
    `edges` (2, n k).
    """
    cdef Py_ssize_t n = indices.shape[0], k = indices.shape[1], i, j, at = 0, a, b, a_end, b_end
    cdef int64_t one, two, least
    cdef bint own
    with nogil:
        for i in range(n + 1):
            starts[0, i], starts[1, i], starts[2, i] = i * k, 0, 0
        for i in range(n):
            for j in range(k):
                edges[0, i * k + j] = i * k + j
        transpose(n, &starts[0, 0], &indices[0, 0], &edges[0, 0], &starts[1, 0], &rows[1, 0],
                  &edges[1, 0])
        transpose(n, &starts[1, 0], &rows[1, 0], &edges[1, 0], &starts[2, 0], &rows[0, 0],
                  &edges[0, 0])
        for i in range(n):
            indptr[i] = <index> at
            a, a_end = starts[2, i], starts[2, i + 1]
            b, b_end = starts[1, i], starts[1, i + 1]
            own = True
            while a < a_end or b < b_end or own:
                one = rows[0, a] if a < a_end else n
                two = rows[1, b] if b < b_end else n
                least = min(one, two)
                if own and i < least:
                    columns[at], data[at] = <index> i, 1
                    at += 1
                    own = False
                    continue
                if one == two or not mutual:
                    columns[at] = <index> least
                    data[at] = values[edges[0, a] if one == least else edges[1, b]]
                    at += 1
                a += one == least
                b += two == least
        indptr[n] = <index> at
    return at
