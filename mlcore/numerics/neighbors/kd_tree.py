"""K-d trees of samples with few features."""

from typing import Any, NamedTuple

import numpy as np

from mlcore._ext.numerics import kd_tree as _ext
from mlcore.numerics.radix_sort import stable_order
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads

LEAF_POINTS, MOST_FEATURES = _ext.LEAF_POINTS, _ext.MOST_FEATURES
_LISTED = 1 << 21  # neighbours held at once by `kth_distances`


class KDTree(NamedTuple):
    """A k-d tree with its samples in leaves of `LEAF_POINTS`; only the last may have fewer.

    Nodes are in preorder, root 0: the left child of a node is the next.
    """

    panels: np.ndarray  # (n_leaves, d, LEAF_POINTS) samples, padded with infinity
    boxes: np.ndarray  # (n_nodes, 2, d) least and largest values
    right: np.ndarray  # (n_nodes,) the right child; of a leaf, its number, from -1 down
    node: np.ndarray  # (n_leaves,) the node of each leaf
    order: np.ndarray  # (n,) the samples, leaf by leaf


def kd_tree(X: np.ndarray) -> KDTree:
    """Return the k-d tree of X, float64 (n, d), in O(d n log n) time and O(d n) memory."""
    n, d = X.shape
    leaf = LEAF_POINTS
    leaves = -(-n // leaf)
    nodes = 2 * leaves - 1
    columns, orders = np.ascontiguousarray(X.T), scratch_array((d, n), np.int64)
    for f in range(d):
        orders[f] = stable_order(columns[f])
    span, right, node = np.empty((nodes, 2), dtype=np.int64), *np.empty((2, nodes), dtype=np.int64)
    boxes, panels = np.empty((nodes, 2, d)), scratch_array((leaves, d, leaf), np.float64)
    side, spare, done = np.empty(n, dtype=np.uint8), scratch_array((n,), np.int64), 0
    span[0] = 0, leaves
    while done < nodes:
        done = _ext.build(
            columns, done, orders, spare, side, span, right, node, boxes, panels
        )  # fmt: skip
    return KDTree(panels, boxes, right, node[:leaves], orders[0].copy())


def search_tree(
    X: np.ndarray, queries: np.ndarray, others: bool, result: Any, tree: KDTree
) -> None:
    """Set indices and distances of the rows of X, with their tree, that are nearest to queries."""
    asked = tree if queries is X else kd_tree(queries)
    k = result.indices.shape[1]
    n_threads = effective_threads(len(queries) * 100.0 * k)
    shape = n_threads, LEAF_POINTS, _ext.places(k) + 1
    squares, rows = scratch_array(shape, np.float64), scratch_array(shape, np.int64)
    _ext.search(
        *tree, asked.panels, asked.order, others, *result, squares, rows, n_threads,
    )  # fmt: skip


def kth_distances(tree: KDTree, k: int) -> np.ndarray:
    """Return the distance of each sample of a tree from the k-th nearest, itself included.

    Lists of neighbours are there for some samples at a time.
    """
    n, leaf = len(tree.order), LEAF_POINTS
    kth, n_threads = np.empty(n), effective_threads(n * 100.0 * k)
    shape = n_threads, leaf, _ext.places(k) + 1
    squares, rows = scratch_array(shape, np.float64), scratch_array(shape, np.int64)
    step = max(1, _LISTED // (k * leaf))
    for start in range(0, len(tree.panels), step):
        here = tree.order[start * leaf : (start + step) * leaf]
        indices, distances = np.empty((len(here), k), dtype=np.int64), np.empty((len(here), k))
        _ext.search(
            *tree, tree.panels[start : start + step], np.arange(len(here)), False, indices,
            distances, squares, rows, n_threads,
        )  # fmt: skip
        kth[here] = distances[:, -1]
    return kth


def has_copies(tree: KDTree) -> bool:
    """Return True if all samples of some whole leaf are equal.

    A search among so many, of which each is as near, may visit them all.
    """
    leaves = tree.boxes[tree.node[: len(tree.order) // LEAF_POINTS]]
    return bool((leaves[:, 0] == leaves[:, 1]).all(axis=1).any())
