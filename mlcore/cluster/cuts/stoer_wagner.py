"""Global minimum cuts by the algorithm of Stoer and Wagner, with many merges a round.

A round orders the vertices as `mlcore._ext.cluster.cuts.stoer_wagner` does. A cut between vertex t
and the one before weighs at least as much as the edges from t to all before it (its attachment),
so they are merged where that is no less than the minimum cut so far; the last vertex always is,
since it is such a cut.
"""

from typing import Any

import numpy as np
from scipy import sparse as sp

from mlcore._ext.cluster.cuts import stoer_wagner as _ext
from mlcore.runtime.threads import pieces


def global_min_cut(W: Any) -> tuple[float, np.ndarray]:
    """Return the value of a minimum cut, and the vertices on one side of it, bool (n,).

    `W`, C-contiguous float64 or CSR, symmetric, >= 0, without a diagonal, is overwritten.
    """
    graph = _SparseGraph(W) if sp.issparse(W) else _DenseGraph(W)
    degrees = graph.degrees()
    group = np.arange(graph.n)  # the merged vertex of each sample
    best, inside = float(degrees.min()), group == np.argmin(degrees)
    while graph.n > 1 and best > 0:
        order, taken_at = graph.order()
        if taken_at[-1] < best:
            best, inside = float(taken_at[-1]), group == order[-1]
        merged = taken_at >= best  # with the one before: no smaller cut separates the two
        merged[0], merged[-1] = False, True
        group = graph.merge(order, merged)[group]
    return best, inside


class _DenseGraph:
    """Graph of weights between the first n vertices of a matrix, merged in place."""

    def __init__(self, W):
        self._W, self.n = W, W.shape[0]

    def degrees(self):
        return self._W.sum(axis=1)

    def order(self):
        n = self.n
        attachment, order, taken_at = np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros(n)
        attachment[0] = -np.inf
        for first, last in pieces(n - 1, 2 * n):
            _ext.dense_order(self._W, n, attachment, order, taken_at, first + 1, last + 1)
        return order, taken_at

    def merge(self, order, merged):
        """Merge each vertex that is `merged` with the one before; return the vertices' new places.

        A round may merge only two, so rows and columns of the others stay where they are.
        """
        W, n = self._W, self.n
        place = np.arange(n)
        for t in np.flatnonzero(merged):
            if not merged[t - 1]:
                root = order[t - 1]
            W[root, :n] += W[order[t], :n]
            place[order[t]] = root
            if t + 1 == n or not merged[t + 1]:
                W[root, root] = 0
                W[:n, root] = W[root, :n]
        gone = place != np.arange(n)
        self.n = n - int(gone.sum())
        holes, movers = np.flatnonzero(gone[: self.n]), self.n + np.flatnonzero(~gone[self.n :])
        for hole, mover in zip(holes, movers, strict=True):
            W[hole, :n] = W[mover, :n]
            W[:n, hole] = W[:n, mover]
            W[hole, hole] = 0
        moved = np.arange(n)
        moved[movers] = holes
        return moved[place]


class _SparseGraph:
    """Graph as `_DenseGraph`, in CSR, rebuilt after each round."""

    def __init__(self, W):
        self._W, self.n = W, W.shape[0]

    def degrees(self):
        return np.asarray(self._W.sum(axis=1)).ravel()

    def order(self):
        W, n = self._W, self.n
        attachment, order, taken_at = np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros(n)
        heap, place = np.arange(1, n + 1), np.arange(-1, n - 1)  # all but vertex 0
        pointers = W.indptr.astype(np.int64, copy=False)
        graph = pointers, W.indices, W.data
        for first, last in pieces(n - 1, 16 * (1 + W.nnz / n)):  # a few cache misses an edge
            _ext.sparse_order(*graph, attachment, heap, place, order, taken_at, first + 1, last + 1)
        return order, taken_at

    def merge(self, order, merged):
        n, group = self.n, np.empty(self.n, dtype=np.int64)
        group[order] = np.cumsum(~merged) - 1
        self.n = int(group.max()) + 1
        members = sp.csr_array((np.ones(n), (group, np.arange(n))), shape=(self.n, n))
        self._W = sp.csr_array(members @ self._W @ members.T)  # the diagonal is ignored
        return group
