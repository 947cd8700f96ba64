"""Agglomerative clustering constrained by a graph: only clusters joined by an edge may merge."""

from typing import Any

import numpy as np
from scipy import sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from mlcore._ext.cluster.linkage import connectivity as _ext
from mlcore.checks import as_samples
from mlcore.checks.errors import warn
from mlcore.cluster.metrics import as_distances, cdist_arguments, distances, learned_scale
from mlcore.runtime.threads import items_per_call

LINKAGES = ("single", "complete", "average", "ward")
_BLOCK = 2**20  # values in a block
_OPERATIONS_OF_A_NUMBER = 4  # about, for each number read from memory


def as_edges(connectivity: Any, X: Any, metric: Any, owner: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges of a connected graph, and the component of each sample in the given one.

    `connectivity` is (n, n), or a function of X. Edges, int32 (m, 2), have each pair once, the
    larger sample first; the shortest ones that connect components are added, with a warning.
    """
    n, name = len(X), "connectivity"
    graph = connectivity(X) if callable(connectivity) else connectivity
    graph = as_samples(graph, owner=owner, name=name, accept_sparse=True)
    if graph.shape != (n, n):
        raise ValueError(
            f"{owner}: connectivity has shape {graph.shape}, but must be ({n}, {n}): a row and a "
            "column for each sample."
        )
    graph = sp.coo_array(graph)
    first, second = np.maximum(graph.row, graph.col), np.minimum(graph.row, graph.col)
    used = (graph.data != 0) & (first != second)
    pairs = np.unique(first[used].astype(np.int64) * n + second[used])
    edges = np.column_stack(np.divmod(pairs, n)).astype(np.int32)
    graph = sp.coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    count, component = connected_components(graph, directed=False)
    if count > 1:
        warn(
            "UserWarning",
            f"{owner}: connectivity has {count} connected components. Completing it to avoid "
            "stopping the tree early: the nearest samples of each two of them may merge too.",
        )
        edges = np.vstack([edges, _bridges(X, component, count, metric, owner)])
    return edges, component


def _bridges(X, component, count, metric, owner):
    """Return edges between the nearest samples of each pair of components, the larger first."""
    members = [np.flatnonzero(component == c) for c in range(count)]
    bridges = []
    for i in range(count):
        for j in range(i):
            bridges.append(_nearest(X, members[i], members[j], metric, owner))
    return np.sort(np.array(bridges, dtype=np.int32), axis=1)[:, ::-1]


def _nearest(X, rows, columns, metric, owner):
    best, pair = np.inf, None
    step = max(1, _BLOCK // len(columns))
    for start in range(0, len(rows), step):
        here = rows[start : start + step]
        if metric == "precomputed":
            block = X[np.ix_(here, columns)]
        else:
            block = distances(X[here], X[columns], metric, learned_scale(X, metric), owner)
        at = int(block.argmin())
        if pair is None or block.flat[at] < best:
            best, pair = block.flat[at], (here[at // len(columns)], columns[at % len(columns)])
    return pair


def lengths_of(edges: Any, X: Any, metric: Any, owner: str) -> np.ndarray:
    """Return the distance between the two samples of each edge, float64."""
    lengths = np.empty(len(edges))
    if metric == "precomputed":
        lengths[:] = X[edges[:, 0], edges[:, 1]] / 2.0 + X[edges[:, 1], edges[:, 0]] / 2.0
        return lengths
    if metric == "euclidean":
        step = max(1, _BLOCK // X.shape[1])
        for start in range(0, len(edges), step):
            pairs = edges[start : start + step]
            difference = X[pairs[:, 0]] - X[pairs[:, 1]]
            lengths[start : start + step] = np.einsum("ij,ij->i", difference, difference)
        return np.sqrt(lengths)
    arguments = cdist_arguments(metric, learned_scale(X, metric))
    order = np.argsort(edges[:, 0], kind="stable")
    ends = np.r_[0, np.cumsum(np.bincount(edges[:, 0], minlength=len(X)))]
    for i in np.flatnonzero(np.diff(ends)):
        group = order[ends[i] : ends[i + 1]]
        lengths[group] = cdist(X[[i]], X[edges[group, 1]], metric, **arguments)[0]
    return as_distances(lengths, metric, owner)


def merge_apart(
    X: Any, edges: Any, component: Any, linkage: str, metric: Any, owner: str, report: Any
) -> tuple[Any, ...]:
    """Merge as `merge_along`, but samples of different components last, whatever their distance.

    Their heights, the last, may be less than those before.
    """
    count = int(component.max()) + 1
    within = len(X) - count
    if linkage == "ward":
        apart = 4.0 * np.sqrt(X.size) * (np.abs(X).max() or 1.0)  # more than any height
        X = np.column_stack((X, apart * component))
        merged, heights = merge_along(X, edges, linkage, metric, owner, _less(report, apart))
        _merge_means(X[:, :-1], component, merged[within:], heights[within:])
        return merged, heights
    lengths = lengths_of(edges, X, metric, owner)
    apart = 2.0 * float(lengths.max()) or 1.0
    between = component[edges[:, 0]] != component[edges[:, 1]]
    merged, heights = merge_along(
        X, edges, linkage, metric, owner, _less(report, apart), lengths + apart * between
    )
    heights[within:] -= apart
    return merged, heights


def _less(report, limit):
    return lambda heights: report(heights[heights < limit])


def _merge_means(X, component, merged, heights):
    """Set the merges of whole components, and their heights, by Ward's distances of means."""
    size = np.bincount(component).astype(np.float64)
    means = np.stack([X[component == c].mean(axis=0) for c in range(len(size))])
    name = np.unique(component, return_index=True)[1]
    for at in range(len(merged)):
        squares = cdist(means, means, "sqeuclidean") * 2 / (1 / size + 1 / size[:, None])
        np.fill_diagonal(squares, np.inf)
        i, j = sorted(divmod(int(squares.argmin()), len(size)))
        merged[at], heights[at] = (name[i], name[j]), np.sqrt(squares[i, j])
        means[i] += size[j] / (size[i] + size[j]) * (means[j] - means[i])
        size[i] += size[j]
        means, size, name = (np.delete(part, j, axis=0) for part in (means, size, name))


def merge_along(
    X: Any, edges: Any, linkage: str, metric: Any, owner: str, report: Any, lengths: Any = None
) -> tuple[Any, ...]:
    """Merge clusters along edges until one is left, the nearest first.

    `edges`, int32 (m, 2), connect all samples. Returned are a sample of each of the two clusters,
    int64 (n - 1, 2), and their distances, of which Ward's may fall. `lengths` (m,) replace those by
    the metric, except Ward's; `report` is called with the distances of new merges.
    """
    # Ward's distances follow from means, all others from lengths.
    n, m = len(X), len(edges)
    ward = linkage == "ward"
    value = np.empty(m) if ward else lengths
    if value is None:
        value = lengths_of(edges, X, metric, owner)
    merged, heights = np.empty((n - 1, 2), dtype=np.int64), np.empty(n - 1)
    # Single linkage is a minimum spanning tree of the edges.
    if linkage == "single":
        order = np.lexsort((edges[:, 1], edges[:, 0], value))
        taken = order[joining(edges[order], n)]
        merged[:], heights[:] = edges[taken], value[taken]
        report(heights)
        return merged, heights
    # Set up the clusters with their lists of edges, and a heap of lengths.
    means = X - X.mean(axis=0) if ward else np.empty((1, 1))
    size, slot = np.ones(2 * n - 1), np.zeros(2 * n - 1, dtype=np.int32)
    slot[:n] = np.arange(n)
    head, met = np.full((2, 2 * n - 1), -1, dtype=np.int32)
    halves, heap = np.empty((3, 2 * m), dtype=np.int32), np.empty((2, m), dtype=np.int32)
    halves[0] = edges.ravel()
    kind = _ext.KINDS[linkage]
    _ext.begin(kind, size, means, slot, head, halves, value, heap)
    # Merge, and report after each call.
    state, done = np.array([m, n]), 0
    while done < n - 1:
        new = _ext.merge_edges(
            kind, state, size, means, slot, head, halves, value, heap, met, merged[done:],
            heights[done:], items_per_call(_OPERATIONS_OF_A_NUMBER),
        )  # fmt: skip
        if ward:
            heights[done : done + new] = np.sqrt(2 * heights[done : done + new])
        report(heights[done : done + new])
        done += new
    return merged, heights


def joining(edges: np.ndarray, n: int) -> np.ndarray:
    """Return the places of the edges (m, 2) that join two trees of a forest, taken in order."""
    taken = np.empty(max(1, n - 1), dtype=np.int64)
    edges = np.ascontiguousarray(edges, dtype=np.int32)
    return taken[: _ext.kruskal(edges, np.arange(n), taken)]
