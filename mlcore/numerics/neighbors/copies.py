"""Equal rows, of which a search needs only the first."""

from typing import Any

import numpy as np

from mlcore.numerics.neighbors.kd_tree import MOST_FEATURES, KDTree, has_copies, kd_tree
from mlcore.numerics.radix_sort import stable_order
from mlcore.runtime.threads import single_threaded_blas

MANY = 32  # copies of a row from which on a search among them takes time
_BLOCK = 1 << 20  # values compared at once


def has_many_copies(X: np.ndarray, tree: KDTree | None = None) -> bool:
    """Return True if so many rows are equal that searches would visit all of them.

    A k-d tree of X, or where it has many features a projection, tells.
    """
    n, d = X.shape
    if d <= MOST_FEATURES:
        return has_copies(kd_tree(X.astype(np.float64, copy=False)) if tree is None else tree)
    along = np.sort(_projection(X))
    return bool((along[MANY:] == along[: max(0, n - MANY)]).any())


def first_copies(X: np.ndarray, most: int) -> Any:
    """Return the rows that are at most the `most`-th of equal ones, in order, and representatives.

    That of a row is its place among them or, of one that is left out, the place of a copy that is
    not among the first `most` - 1. In O(n d + n log n) time.
    """
    n, d = X.shape
    along = _projection(X)
    order = stable_order(along)
    equal = np.empty(n, dtype=bool)  # to the row before
    equal[:1] = False
    equal[1:] = along[order[1:]] == along[order[:-1]]
    places, step = np.flatnonzero(equal), max(1, _BLOCK // d)
    for first in range(0, len(places), step):
        at = places[first : first + step]
        equal[at] = (X[order[at]] == X[order[at - 1]]).all(axis=1)
    starts = np.flatnonzero(~equal)
    own = np.cumsum(~equal) - 1
    rank = np.arange(n) - starts[own]
    kept = np.sort(order[rank < most])
    place = np.empty(n, dtype=np.int64)
    place[order] = order[starts[own] + np.minimum(rank, most - 1)]
    return kept, np.searchsorted(kept, place)


@single_threaded_blas()
def _projection(X):
    along = X @ np.cos(np.arange(X.shape[1])).astype(X.dtype)
    return along.astype(np.float64, copy=False) + 0.0  # one zero, as orders tell -0 from 0
