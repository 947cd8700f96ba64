"""Minimum spanning trees of points: single linkage without a matrix of distances."""

from typing import Any

import numpy as np

from mlcore._ext.cluster.linkage import spanning_tree as _ext
from mlcore.numerics.leading_directions import leading_directions
from mlcore.numerics.neighbors.kd_tree import LEAF_POINTS, kd_tree
from mlcore.numerics.panels import as_panels
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import pieces, single_threaded_blas

_FEW = _ext.MOST_FEATURES  # features up to which a k-d tree pays
_SAMPLES = 25, 2.5  # fewest samples of a k-d tree: 25 times 2.5 for each feature
_MANY = 64  # features: with more, a screen has the leading directions only
_DIRECTIONS = 127  # at most, and a quarter of the features; one coordinate more has the rest
_PILOT = 256  # rows that the directions are taken from
_ROUNDING = 2.5e-7  # of a distance on the screen, in units of the largest norm there


def spanning_tree(X: Any, report: Any) -> Any:
    """Return the edges of a minimum spanning tree, int64 (n - 1, 2), and their lengths.

    X is float64 (n, d) of magnitude about 1. With few features by Borůvka's algorithm on a k-d
    tree, with more by Prim's, whose distances are first bounded from below by a projection.
    """
    n, d = X.shape
    if d <= _FEW and n >= _SAMPLES[0] * _SAMPLES[1] ** d:
        return _by_tree(X, report)
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
            edges[part], lengths[part],
        )  # fmt: skip
        np.sqrt(lengths[part], out=lengths[part])
        report(lengths[part])
    return edges, lengths


def _by_tree(X, report):
    n, leaf = len(X), LEAF_POINTS
    panels, boxes, right, node, order = kd_tree(X)
    leaves, nodes = len(node), len(right)
    source, target, parent, number = scratch_array((4, n), np.int64)
    # Padding of the last panel belongs to the component of the last point; it is at infinity, and
    # searches for nothing.
    component = np.minimum(np.arange(leaves * leaf), n - 1)
    whole, best = np.empty(nodes, dtype=np.int64), np.empty(n)
    bound = scratch_array((leaves * leaf,), np.float64)
    bound[:n], bound[n:] = 0, np.inf
    edges, lengths, done = np.empty((n - 1, 2), dtype=np.int64), np.empty(n - 1), 0
    while done < n - 1:
        best = best[: n - done]
        _ext.begin_round(component, right, whole, best)
        at = 0
        while at < leaves:
            at = _ext.nearest_others(
                panels, boxes, right, node, component, whole, bound, best, source, target, at
            )
        new = _ext.join(
            best, source, target, order, parent, number, component, edges[done:], lengths[done:]
        )
        np.sqrt(lengths[done : done + new], out=lengths[done : done + new])
        report(lengths[done : done + new])
        done += new
    return edges, lengths


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
