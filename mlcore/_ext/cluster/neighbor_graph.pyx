"""Hot loop of mlcore.cluster.spectral.neighbor_graph: the symmetric graph of nearest neighbours.

Two transpositions sort the neighbours of every row, and one pass merges those that a row has with
those that have it. A row and its edge lie together: one miss of the cache for both.
"""
from cython cimport floating
from libc.stdint cimport int64_t

from mlcore._ext.shared.index cimport index


def symmetric_graph(const int64_t[:, ::1] indices, const floating[::1] values, bint mutual,
                    index[::1] indptr, index[::1] columns, floating[::1] data, index[:, ::1] starts,
                    index[:, ::1] sources, index[:, ::1] targets, /):
    """Join two rows if either has the other, with `mutual` both; return the number of entries.

    `indices` (n, k) are rows, none of its own, `values` (n k,) the same both ways, or empty for 1;
    the diagonal is 1. `columns` and `data` have (2 k + 1) n places. Scratch: `starts` (2, n + 1),
    `sources` and `targets` (n k, 2).
    """
    cdef Py_ssize_t n = indices.shape[0], k = indices.shape[1], i, j, at = 0, place, a, b
    cdef Py_ssize_t a_end, b_end
    cdef index one, two, least
    cdef bint own, equal = values.shape[0] == 0
    with nogil:
        for i in range(n + 1):
            starts[0, i] = 0
            starts[1, i] = <index> (i * k)
        for i in range(n):
            for j in range(k):
                starts[0, indices[i, j] + 1] += 1
        for i in range(n):
            starts[0, i + 1] += starts[0, i]
        # Now the rows that have row j follow the place starts[0, j], and later end at it.
        for i in range(n):
            for j in range(k):
                place = starts[0, indices[i, j]]
                starts[0, indices[i, j]] += 1
                sources[place, 0], sources[place, 1] = <index> i, <index> (i * k + j)
        a = 0
        for j in range(n):
            for a in range(a, starts[0, j]):
                place = starts[1, sources[a, 0]]
                starts[1, sources[a, 0]] += 1
                targets[place, 0], targets[place, 1] = <index> j, sources[a, 1]
            a = starts[0, j]
        b_end = 0
        for i in range(n):
            indptr[i] = <index> at
            a, a_end = i * k, (i + 1) * k
            b, b_end = b_end, starts[0, i]
            own = True
            while a < a_end or b < b_end or own:
                one = targets[a, 0] if a < a_end else <index> n
                two = sources[b, 0] if b < b_end else <index> n
                least = min(one, two)
                if own and i < least:
                    columns[at], data[at] = <index> i, 1
                    at += 1
                    own = False
                    continue
                if one == two or not mutual:
                    columns[at], data[at] = least, 1
                    if not equal:
                        data[at] = values[targets[a, 1] if one == least else sources[b, 1]]
                    at += 1
                a += one == least
                b += two == least
        indptr[n] = <index> at
    return at
