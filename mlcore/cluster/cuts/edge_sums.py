"""Sums of the edges of a graph inside and across clusters; checks and copies of affinities."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp

from mlcore._ext.cluster.cuts import edge_sums as _ext
from mlcore.checks import as_samples
from mlcore.cluster.doubly_stochastic.symmetric_matrix import as_symmetric
from mlcore.runtime.memory import require_memory
from mlcore.runtime.threads import effective_threads, pieces

_BLOCK = 1 << 20  # entries
_TILE = 128  # rows and columns: the transpose is read across cache lines


class EdgeSums(NamedTuple):
    """Weighted sums of edges by cluster; each edge counts at both of its ends.

    `inside` sums K over pairs in the cluster, `across` over pairs with one sample in it.
    """

    inside: np.ndarray
    across: np.ndarray
    sizes: np.ndarray


def as_graph(
    K: Any, owner: str, *, negative: bool = False, min_samples: int = 1
) -> np.ndarray | sp.csr_array:
    """Return affinities, dense or CSR, that are checked as samples and for symmetry."""
    K = as_samples(K, owner=owner, name="K", accept_sparse=True, min_samples=min_samples)
    return as_symmetric(K, owner, negative=negative, additive=True).K


def edge_sums(K: Any, codes: Any, weights: Any) -> EdgeSums:
    """Return the sums for the clusters 0, 1, ..., where sample i is in cluster codes[i]."""
    n, codes = K.shape[0], codes.astype(np.int32, copy=False)
    inside, across = np.empty(n), np.empty(n)
    sparse = sp.issparse(K)
    per_row = K.nnz / n if sparse else n
    threads = effective_threads(n * per_row)
    for first, last in pieces(n, 2 * per_row):
        if sparse:
            pointers = K.indptr.astype(np.int64, copy=False)
            rows = pointers, K.indices, K.data, codes, weights, inside, across, first, last
            _ext.sparse_sums(*rows, threads)
        else:
            _ext.dense_sums(K[first:last], first, codes, weights, inside, across, threads)
    k = int(codes.max()) + 1
    return EdgeSums(
        np.bincount(codes, weights * inside, k),
        np.bincount(codes, weights * across, k),
        np.bincount(codes, weights, k),
    )


def without_diagonal(K: Any, *, directed: bool = False) -> np.ndarray | sp.csr_array:
    """Return a copy in float64 without the diagonal, exactly symmetric.

    A `directed` graph keeps its weights; of CSR the pattern becomes symmetric, with zeros.
    """
    n = K.shape[0]
    if sp.issparse(K):
        K = K.astype(np.float64)
        K = (K if directed else 0.5 * K + 0.5 * K.T).tocoo()
        edge = K.row != K.col
        data, rows, cols = K.data[edge], K.row[edge], K.col[edge]
        if directed:
            data = np.concatenate((data, np.zeros(len(data))))
            rows, cols = np.concatenate((rows, cols)), np.concatenate((cols, rows))
        return sp.csr_array((data, (rows, cols)), shape=(n, n))
    require_memory(n, n, 8, what="min_cut's copy of K", instead="pass the strongest edges as CSR")
    W = np.empty((n, n))
    for top in range(0, n, _TILE):
        rows = slice(top, top + _TILE)
        if directed:
            W[rows] = K[rows]
            continue
        np.multiply(K[rows], 0.5, out=W[rows], dtype=np.float64)
        for left in range(0, n, _TILE):
            W[rows, left : left + _TILE] += 0.5 * K[left : left + _TILE, rows].T
    np.fill_diagonal(W, 0)
    return W


def as_directed_graph(K: Any, owner: str) -> np.ndarray | sp.csr_array:
    """Return weights of at least 0 of edges from rows to columns, dense or CSR."""
    K = as_samples(K, owner=owner, name="K", accept_sparse=True, min_samples=2)
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"K has shape {K.shape}; {owner} needs a square matrix.")
    values = K.data if sp.issparse(K) else K
    if values.size and values.min() < 0:
        i, j, value = _first_negative(K)
        raise ValueError(
            f"Negative values in data passed as K: K[{i}, {j}] is {value!s}; {owner} takes "
            "capacities of at least 0."
        )
    return K


def _first_negative(K):
    entries = K.tocoo() if sp.issparse(K) else sp.coo_array(np.minimum(K, 0))
    at = int(np.argmax(entries.data < 0))
    return int(entries.row[at]), int(entries.col[at]), entries.data[at]


def directed_cut(K: Any, labels: np.ndarray) -> float:
    """Return the weight of the edges from side 0 to side 1."""
    rows, ends = np.flatnonzero(labels == 0), (labels == 1).astype(np.float64)
    step = max(1, _BLOCK // len(labels))
    total = 0.0
    for start in range(0, len(rows), step):
        block = K[rows[start : start + step]].astype(np.float64)
        total += float((block @ ends).sum())
    return total
