"""Loops of mlcore.cluster.linkage.linkage: merges as SciPy's linkage matrix, and its clusters.

Arrays are in C order and of the right shapes. O(n) time, but for the searches for roots.
"""
from libc.stdint cimport int64_t, uint8_t

from mlcore._ext.cluster.linkage.union_find cimport root_of


def label(const int64_t[:, ::1] merged, const double[::1] heights, const int64_t[::1] order,
          int64_t[::1] parent, int64_t[::1] cluster, double[:, ::1] Z, /):
    """Set Z to SciPy's linkage matrix of merges in `order`, each given by samples of its clusters.

    `parent` and `cluster` are 0, 1, ... n - 1 and are overwritten.
    """
    cdef Py_ssize_t k, n = parent.shape[0]
    cdef int64_t a, b, u, v, given
    with nogil:
        for k in range(n - 1):
            given = order[k]
            a, b = root_of(&parent[0], merged[given, 0]), root_of(&parent[0], merged[given, 1])
            u, v = min(cluster[a], cluster[b]), max(cluster[a], cluster[b])
            Z[k, 0], Z[k, 1], Z[k, 2] = <double> u, <double> v, heights[given]
            Z[k, 3] = (1 if u < n else Z[u - n, 3]) + (1 if v < n else Z[v - n, 3])
            parent[a] = b
            cluster[b] = n + k


def cut(const int64_t[:, ::1] children, uint8_t[::1] kept, int64_t[::1] top,
        int64_t[::1] labels, /):
    """Label samples by cluster, numbered in order of first samples; return the number of clusters.

    A cluster is a merge that is `kept` together with all below it; other merges are removed from
    `kept`. `top` is scratch, (2 n - 1,).
    """
    cdef Py_ssize_t n = labels.shape[0], k, i
    cdef int64_t c, n_labels = 0
    cdef int side
    with nogil:
        for k in range(n - 1):
            for side in range(2):
                c = children[k, side]
                if c >= n and not kept[c - n]:
                    kept[k] = 0
        for k in range(2 * n - 1):
            top[k] = k
        for k in range(n - 2, -1, -1):
            if kept[k]:
                top[children[k, 0]] = top[children[k, 1]] = top[n + k]
        # The top merge of a cluster is replaced by its label, as -1 - label, when first met.
        for i in range(n):
            c = top[i]
            if c < n:
                labels[i] = n_labels
                n_labels += 1
            else:
                if top[c] >= 0:
                    n_labels += 1
                    top[c] = -n_labels
                labels[i] = -top[c] - 1
    return n_labels
