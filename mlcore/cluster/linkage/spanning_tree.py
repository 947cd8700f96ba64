"""Minimum spanning trees of points: single linkage without a matrix of distances."""

from collections.abc import Callable

import numpy as np

from mlcore._ext.cluster.linkage import spanning_tree as _ext
from mlcore.numerics.leading_directions import leading_directions
from mlcore.numerics.neighbors.kd_tree import LEAF_POINTS, KDTree, kd_tree
from mlcore.numerics.panels import as_panels
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import pieces, single_threaded_blas

# Features up to which a k-d tree pays, and the fewest samples: 25 times this for each feature. Of
# cores, which spare most of the searches, those of the 15 nearest (20,000 x 14: 0.03 to 0.09 s, and
# 0.17 s by Prim's), while those of the 2 nearest take up to three times as long as Prim's.
_PLAIN, _WITH_CORES, _SAMPLES = (10, 2.5), (_ext.MOST_FEATURES, 1.5), 25
_MANY = 64  # features: with more, a screen has the leading directions only
_DIRECTIONS = 127  # at most, and a quarter of the features; one coordinate more has the rest
_PILOT = 256  # rows that the directions are taken from
_ROUNDING = 2.5e-7  # of a distance on the screen, in units of the largest norm there


def spanning_tree(
    X: np.ndarray,
    report: Callable[[np.ndarray], None],
    core: np.ndarray | None = None,
    longest: float = np.inf,
    tree: KDTree | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges of a minimum spanning tree, int64 (n - 1, 2), and their lengths.

    X is float64 (n, d) of magnitude about 1. With few features by Borůvka's algorithm on a k-d
    tree, with more by Prim's, whose distances are first bounded from below by a projection. With
    `core` (n,) an edge is at least as long as the cores of its ends. Edges longer than `longest`
    are left out. `tree` is that of X, if it is there.
    """
    n, d = X.shape
    squares = np.empty(0) if core is None else np.square(core)
    few, growth = _PLAIN if core is None else _WITH_CORES
    if d <= few and n >= _SAMPLES * growth**d:
        return _by_tree(kd_tree(X) if tree is None else tree, report, squares, _above(longest))
    edges, lengths = np.empty((n - 1, 2), dtype=np.int64), np.empty(n - 1)
    screen = _screen(X)
    m = screen.shape[1]
    largest = float(np.sqrt(np.einsum("ij,ij->i", screen, screen).max()))
    panels = as_panels(screen[1:].astype(np.float32))
    size = len(panels) * panels.shape[2]
    key, limit = np.full(size, np.inf), np.full(size, np.inf, dtype=np.float32)
    nearest, name = np.zeros(size, dtype=np.int64), np.arange(1, size + 1)
    candidates = np.empty(size + panels.shape[2], dtype=np.int32)
    query = screen[0].astype(np.float32)
    state = np.array([n - 1, 0])
    slack, growth = _ROUNDING * largest, 1 + (m + 8) * 2.0**-23
    for first, last in pieces(n - 1, n * (m + d)):
        part = slice(first, last)
        _ext.grow_tree(
            X, panels, query, limit, key, nearest, name, candidates, state, slack, growth,
            squares, edges[part], lengths[part],
        )  # fmt: skip
        np.sqrt(lengths[part], out=lengths[part])
        report(lengths[part])
    if longest < np.inf:
        short = lengths <= longest
        return edges[short], lengths[short]
    return edges, lengths


def _above(longest):
    """Return the least square whose root is more than `longest`."""
    square = longest * longest
    while np.sqrt(square) <= longest < np.inf:
        square = np.nextafter(square, np.inf)
    return square


def _by_tree(tree, report, core, above):
    panels, boxes, right, node, order = tree
    n, leaf = len(order), LEAF_POINTS
    leaves, nodes = len(node), len(right)
    source, target, parent, number = scratch_array((4, n), np.int64)
    # Padding of the last panel belongs to the component of the last point; it is at infinity, and
    # searches for nothing.
    component = np.minimum(np.arange(leaves * leaf), n - 1)
    whole, best = np.empty(nodes, dtype=np.int64), np.empty(n)
    bound, least_core = scratch_array((leaves * leaf,), np.float64), np.empty(nodes)
    bound[:n], bound[n:] = core[order] if len(core) else 0, np.inf
    if len(core):
        core = bound.copy()
        _ext.least_of_nodes(core, right, least_core)
    edges, lengths, done = np.empty((n - 1, 2), dtype=np.int64), np.empty(n - 1), 0
    while done < n - 1:
        best = best[: n - done]
        _ext.begin_round(component, right, whole, best, above)
        at = 0
        while at < leaves:
            at = _ext.nearest_others(
                panels, boxes, right, node, component, whole, core, least_core, bound, best,
                source, target, at,
            )  # fmt: skip
        new = _ext.join(
            best, source, target, order, parent, number, component, edges[done:], lengths[done:],
            above,
        )  # fmt: skip
        if new == 0:
            break
        np.sqrt(lengths[done : done + new], out=lengths[done : done + new])
        report(lengths[done : done + new])
        done += new
    return edges[:done], lengths[:done]


def _screen(X):
    """Return coordinates (n, m) whose distances are at most those of the samples."""
    centred = X - X.mean(axis=0)
    if X.shape[1] <= _MANY:
        return centred
    pilot = centred[:: max(1, len(X) // _PILOT)][:_PILOT]
    basis = leading_directions(pilot, _DIRECTIONS)
    with single_threaded_blas():
        projected = centred @ basis
    squares = np.einsum("ij,ij->i", centred, centred) - np.einsum("ij,ij->i", projected, projected)
    return np.c_[projected, np.sqrt(np.maximum(0, squares))]
