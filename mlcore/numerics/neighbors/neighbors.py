"""Exact nearest neighbours by Euclidean distance."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp

from mlcore.numerics.neighbors.copies import first_copies, has_many_copies
from mlcore.numerics.neighbors.kd_tree import MOST_FEATURES, kd_tree, search_tree
from mlcore.numerics.neighbors.screened_neighbors import search_screen
from mlcore.numerics.neighbors.sparse_neighbors import search_sparse
from mlcore.numerics.powers_of_two import even_exponent

_PLAIN = 30  # powers of two up to this are not scaled


class Neighbors(NamedTuple):
    """The nearest samples of each query, nearest first, of equal distances the lowest index."""

    indices: np.ndarray  # (n_queries, k) int64
    distances: np.ndarray  # (n_queries, k) float64


def nearest_neighbors(
    X: Any, k: int, queries: Any = None, *, include_self: bool = False
) -> Neighbors:
    """Return the `k` nearest rows of X by Euclidean distance, of `queries` or of the rows of X.

    X is float32 or float64 (n, d) and finite, or canonical CSR, `queries` (m, d) likewise. Without
    queries, a row is not its own neighbour unless `include_self`, where it comes before copies with
    higher indices; k is at most the number of rows left. A distance is the root of the sum of
    squared differences in float64, from the first feature to the last, and a tie goes to the lower
    index: the result is the same, to the bit, as that of a plain loop over all pairs. Values far
    from 1 are scaled by a power of two, so that squares are in range.
    """
    others = queries is None and not include_self
    rows = X if queries is None else queries
    power = even_exponent(max(_largest(X), _largest(rows)), _PLAIN)
    result = Neighbors(np.empty((rows.shape[0], k), dtype=np.int64), np.empty((rows.shape[0], k)))
    sparse = sp.issparse(X) or sp.issparse(rows)
    many = X.shape[1] > MOST_FEATURES
    dtype = np.result_type(X, rows) if many and not sparse and power == 0 else np.float64
    X = _scaled(X, -power, dtype, sparse)
    queries = X if queries is None else _scaled(queries, -power, dtype, sparse)
    if sparse and result.indices.size:
        search_sparse(X, queries, others, result)
    elif result.indices.size:
        _search_dense(X, queries, others, result)
    if power:
        np.ldexp(result.distances, power, out=result.distances)
    return result


def _search_dense(X, queries, others, result):
    """Set the nearest rows; of equal ones, those after the first k that are not asked for."""
    few = X.shape[1] <= MOST_FEATURES
    tree, k = kd_tree(X) if few else None, result.indices.shape[1]
    if has_many_copies(X, tree):
        # The copies left out have the neighbours of the last that is kept.
        kept, representatives = first_copies(X, k + others)
        if len(kept) < len(X):
            among, shape = X[kept], (len(kept), k)
            if queries is not X:
                _search_dense(among, queries, others, result)
            else:
                part = Neighbors(np.empty(shape, dtype=np.int64), np.empty(shape))
                _search_dense(among, among, others, part)
                np.take(part.indices, representatives, axis=0, out=result.indices)
                np.take(part.distances, representatives, axis=0, out=result.distances)
            result.indices[...] = kept[result.indices]
            return
    if few:
        search_tree(X, queries, others, result, tree)
    else:
        search_screen(X, queries, others, result)


def _largest(X):
    values = X.data if sp.issparse(X) else X
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def _scaled(X, power, dtype, sparse):
    if sparse:
        X = sp.csr_array(X)
        return sp.csr_array((_scaled(X.data, power, dtype, False), X.indices, X.indptr), X.shape)
    X = np.ascontiguousarray(X, dtype=dtype)
    return np.ldexp(X, power) if power else X
