"""Loops of mlcore.cluster.density.mutual_reachability.

Prim's algorithm takes one row of distances at a time.
"""
from libc.math cimport sqrt
from libc.stdint cimport int64_t


def take_row(const double[::1] row, double alpha, const double[::1] core, int64_t last,
             const int64_t[::1] name, double[::1] key, int64_t[::1] nearest, /):
    """Bring the keys of samples outside the tree up to date; return the place of the least.

    `row` has the distances from sample `last`, which joined last, of the samples `name` at places
    0, 1, ... A key is the least reach from the tree, to sample `nearest`.
    """
    cdef Py_ssize_t p, best = 0
    cdef double reach, own = core[last]
    with nogil:
        for p in range(row.shape[0]):
            reach = max(max(row[p] / alpha, own), core[name[p]])
            if reach < key[p]:
                key[p], nearest[p] = reach, last
            if key[p] < key[best] or (key[p] == key[best] and name[p] < name[best]):
                best = p
    return best


def edge_lengths(const double[:, ::1] X, const int64_t[:, ::1] edges, double[::1] lengths, /):
    """Set the Euclidean lengths of edges, summed from the first feature to the last."""
    cdef Py_ssize_t k, f
    cdef double sum, difference
    with nogil:
        for k in range(edges.shape[0]):
            sum = 0
            for f in range(X.shape[1]):
                difference = X[edges[k, 0], f] - X[edges[k, 1], f]
                sum += difference * difference
            lengths[k] = sqrt(sum)
