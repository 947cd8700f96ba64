"""Nearest neighbours of sparse rows: products in blocks, of which the least are proved."""

from typing import Any

import numpy as np

from mlcore._ext.numerics import sparse_neighbors as _ext

_DISTANCES = 1_000_000  # held at once


def search_sparse(X: Any, queries: Any, others: bool, result: Any) -> None:
    """Set indices and distances of the rows of `queries` that are nearest; both are CSR."""
    n, k = X.shape[0], result.indices.shape[1]
    norms, asked = (np.asarray(A.multiply(A).sum(axis=1)).ravel() for A in (X, queries))
    entries = max(int(np.diff(A.indptr).max()) for A in (X, queries))
    transposed = X.T.tocsr()
    step = max(1, _DISTANCES // n)
    for first in range(0, len(result.indices), step):
        last = min(first + step, len(result.indices))
        products = queries[first:last] @ transposed
        squares = asked[first:last, None] + norms - 2.0 * products.toarray()
        if others:
            here = np.arange(last - first)
            squares[here, here + first] = np.inf
        lengths = np.sqrt(asked[first:last]) + np.sqrt(norms.max())
        rounding = (entries + 8) * 2.0**-51 * np.square(lengths)
        limits = np.partition(squares, k - 1, axis=1)[:, k - 1] + rounding
        if others:
            squares[here, here + first] = np.nan
        rows, columns = (place.astype(np.int64) for place in np.nonzero(squares <= limits[:, None]))
        exact = np.empty(len(rows))
        index = X.indices.dtype
        _ext.sparse_squares(
            X.indptr, X.indices, X.data, queries.indptr.astype(index, copy=False),
            queries.indices.astype(index, copy=False), queries.data, rows + first, columns, exact,
        )  # fmt: skip
        order = np.lexsort((columns, exact, rows))
        starts = np.searchsorted(rows, np.arange(last - first))
        chosen = order[starts[:, None] + np.arange(k)]
        result.indices[first:last] = columns[chosen]
        result.distances[first:last] = np.sqrt(exact[chosen])
