"""Nearest neighbours of each sample, by a k-d tree with few features, else from products."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp
from scipy.spatial import cKDTree

from mlcore.runtime.threads import effective_threads, single_threaded_blas

_TREE_FEATURES = 12  # with more, a tree visits most samples
_QUERIES = 4096  # in one call of the tree, then Ctrl-C
_BLOCK = 4_000_000  # distances held at once


class Neighbors(NamedTuple):
    """The nearest other samples of each sample, nearest first."""

    indices: np.ndarray  # (n, k) intp
    distances: np.ndarray  # (n, k) float64


def nearest_neighbors(X: Any, k: int) -> Neighbors:
    """Return the `k` nearest other samples by Euclidean distance; X is dense or CSR, k below n."""
    n = X.shape[0]
    if sp.issparse(X) or X.shape[1] > _TREE_FEATURES:
        return _by_blocks(X, k)
    points = X.astype(np.float64, copy=False)
    tree, threads = cKDTree(points), effective_threads(n * 100.0)
    distances, indices = np.empty((n, k + 1)), np.empty((n, k + 1), dtype=np.intp)
    for start in range(0, n, _QUERIES):
        rows = slice(start, start + _QUERIES)
        distances[rows], indices[rows] = tree.query(points[rows], k=k + 1, workers=threads)
    # A sample with copies may come late in its own list, or not at all.
    own = indices == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True
    return Neighbors(indices[~own].reshape(n, k), distances[~own].reshape(n, k))


def _by_blocks(X, k):
    n = X.shape[0]
    dense = not sp.issparse(X)
    X = X.astype(np.float64)  # products lose digits of short distances
    if dense:
        X -= X.mean(axis=0)
        norms = np.einsum("ij,ij->i", X, X)
    else:
        norms = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    indices, distances = np.empty((n, k), dtype=np.intp), np.empty((n, k))
    step = max(1, _BLOCK // n)
    for start in range(0, n, step):
        rows = slice(start, min(n, start + step))
        with single_threaded_blas():
            products = X[rows] @ X.T
        squares = norms[rows, None] + norms - 2.0 * (products if dense else products.toarray())
        here = np.arange(squares.shape[0])
        squares[here, here + start] = np.inf
        near = np.argpartition(squares, k - 1, axis=1)[:, :k]
        candidates = squares[here[:, None], near]
        if dense:
            for row, at in zip(here, near, strict=True):
                difference = X[at] - X[start + row]
                candidates[row] = np.einsum("ij,ij->i", difference, difference)
        order = np.lexsort((near, candidates), axis=1)
        indices[rows] = np.take_along_axis(near, order, axis=1)
        distances[rows] = np.sqrt(np.maximum(np.take_along_axis(candidates, order, axis=1), 0.0))
    return Neighbors(indices, distances)
