"""Exact nearest neighbours by Euclidean distance."""

from typing import NamedTuple

import numpy as np

from mlcore._ext.numerics import neighbors as _ext
from mlcore.numerics.kd_tree import kd_tree
from mlcore.numerics.powers_of_two import even_exponent
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads

_BLOCK = 1_000_000  # distances held at once


class Neighbors(NamedTuple):
    """The nearest samples of each query, nearest first, of equal distances the lowest index."""

    indices: np.ndarray  # (n_queries, k) int64
    distances: np.ndarray  # (n_queries, k) float64


def nearest_neighbors(
    X: np.ndarray, k: int, queries: np.ndarray | None = None, *, include_self: bool = False
) -> Neighbors:
    """Return the `k` nearest rows of X by Euclidean distance, of `queries` or of the rows of X.

    X is float32 or float64 (n, d) and finite, `queries` (m, d) likewise. Without queries, a row is
    not its own neighbour unless `include_self`, where it comes before copies with higher indices; k
    is at most the number of rows left. A distance is the root of the sum of squared differences in
    float64, from the first feature to the last, and a tie goes to the lower index: the result is
    the same, to the bit, as that of a plain loop over all pairs. Values far from 1 are scaled by a
    power of two, so that squares are in range.
    """
    others = queries is None and not include_self
    rows = X if queries is None else queries
    power = even_exponent(max(_largest(X), _largest(rows)))
    X = _scaled(X, -power)
    result = Neighbors(np.empty((len(rows), k), dtype=np.int64), np.empty((len(rows), k)))
    if len(rows):
        queries = X if queries is None else _scaled(queries, -power)
        search = _by_tree if X.shape[1] <= _ext.MOST_FEATURES else _by_blocks
        search(X, queries, others, result)
    if power:
        np.ldexp(result.distances, power, out=result.distances)
    return result


def _largest(X):
    return max(float(X.max(initial=0.0)), -float(X.min(initial=0.0)))


def _scaled(X, power):
    X = np.asarray(X, dtype=np.float64)
    return np.ldexp(X, power) if power else X


def _by_tree(X, queries, others, result):
    tree = kd_tree(X)
    asked = tree if queries is X else kd_tree(queries)
    k = result.indices.shape[1]
    n_threads = effective_threads(len(queries) * 100.0 * k)
    shape = n_threads, _ext.N_LISTS, _ext.places(k) + 1
    squares, rows = scratch_array(shape, np.float64), scratch_array(shape, np.int64)
    _ext.search_tree(
        *tree, asked.panels, asked.order, others, *result, squares, rows, n_threads,
    )  # fmt: skip


def _by_blocks(X, queries, others, result):
    step = max(1, _BLOCK // len(X))
    for start in range(0, len(queries), step):
        block = queries[start : start + step]
        squares = np.zeros((len(block), len(X)))
        for f in range(X.shape[1]):
            squares += np.square(block[:, f, None] - X[:, f])
        if others:
            here = np.arange(len(block))
            squares[here, here + start] = np.inf
        order = np.argsort(squares, axis=1, kind="stable")[:, : result.indices.shape[1]]
        result.indices[start : start + step] = order
        nearest = np.take_along_axis(squares, order, axis=1)
        result.distances[start : start + step] = np.sqrt(nearest)
