"""Core distances of samples, and minimum spanning trees of their mutual reachability.

The core distance of a sample is the least radius that holds the weight `least`, its own included;
the reach of two samples is the largest of their core distances and of their distance, divided by
alpha. `Points` are rows with Euclidean distances, `Pairs` samples whose distances come in blocks,
by a metric or from a matrix, and `Graph` the edges of a sparse matrix. All three have the same
methods. Weights are positive, or None for ones.
"""

from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
from scipy import sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from mlcore._ext.cluster.density import mutual_reachability as _ext
from mlcore.cluster.k_medoids.dissimilarities import extremes, given_distances
from mlcore.cluster.linkage.connectivity import joining
from mlcore.cluster.linkage.spanning_tree import spanning_tree
from mlcore.cluster.metrics import distances, learned_scale
from mlcore.numerics.neighbors import nearest_neighbors
from mlcore.numerics.neighbors.copies import has_many_copies
from mlcore.numerics.neighbors.kd_tree import (
    MOST_FEATURES,
    KDTree,
    kd_tree,
    kth_distances,
)
from mlcore.numerics.radix_sort import stable_order

_BLOCK = 2**21  # distances formed at once
_QUERIES = 2**17  # rows whose lists of neighbours are held at once
_SLACK = 2.0**-40  # relative: by more than the rounding of a length
Report = Callable[[np.ndarray], None]


class Points:
    """Rows of X with Euclidean distances, in O(n d) memory."""

    n: int
    _X: np.ndarray
    _power: int
    _tree: KDTree | None = None

    def __init__(self, X: np.ndarray, power: int | None = None) -> None:
        if power is None:  # no digit changes, and squares neither overflow nor vanish
            power = int(np.frexp(max(X.max(), -X.min()))[1])
            X = np.ldexp(X.astype(np.float64, copy=False), -power)
        self.n, self._X, self._power = len(X), X, power

    def part(self, rows: np.ndarray) -> Self:
        """Return these samples only."""
        return type(self)(self._X[rows], self._power)

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the distances of some samples from others, float64 (rows, columns)."""
        return np.ldexp(cdist(self._X[rows], self._X[columns]), self._power)

    def core_distances(self, least: float, weights: np.ndarray | None) -> np.ndarray:
        """Return the core distances (n,); infinity where all samples have less weight."""
        total = self.n if weights is None else weights.sum()
        if total < least:
            return np.full(self.n, np.inf)
        few = self._X.shape[1] <= MOST_FEATURES
        if few:
            self._tree = kd_tree(self._X)
        if weights is not None or has_many_copies(self._X, self._tree):
            core = self._weighted_core_distances(least, weights)
        elif few:
            core = kth_distances(self._tree, int(least))
        else:
            near = nearest_neighbors(self._X, int(least), include_self=True)
            core = near.distances[:, -1]
        return np.ldexp(core, self._power)

    def _weighted_core_distances(self, least, weights):
        """Return core distances by way of the distinct samples: many copies are all neighbours."""
        first, own = distinct_rows(self._X)
        distinct, held = self._X[first], np.bincount(own, weights)
        core, n = np.zeros(len(distinct)), len(distinct)
        rows, k = np.flatnonzero(held < least), min(n, 2 * int(least))
        while len(rows):
            left = []
            for start in range(0, len(rows), _QUERIES):
                part = rows[start : start + _QUERIES]
                index, distance = nearest_neighbors(distinct, k, distinct[part])
                full = np.cumsum(held[index], axis=1) >= least
                done = full[:, -1] | (k == n)
                # Sums of all weights differ by rounding: then the farthest is meant.
                full[:, -1] |= k == n
                found = distance[np.arange(len(part)), full.argmax(axis=1)]
                core[part[done]] = found[done]
                left.append(part[~done])
            rows, k = np.concatenate(left), min(n, 2 * k)
        return core[own]

    def spanning_tree(
        self, core: np.ndarray, alpha: float, report: Report, longest: float = np.inf
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the edges, int64 (m, 2), of a forest of least reach, and these (m,).

        Edges above `longest` are left out, and those that do not exist.
        """
        if self.n == 1:
            return np.empty((0, 2), dtype=np.int64), np.empty(0)
        with np.errstate(over="ignore"):  # of no limit
            scaled = alpha * float(np.ldexp(longest, -self._power)) * (1 + _SLACK)
        edges, heights = spanning_tree(
            self._X,
            lambda new: report(np.ldexp(new, self._power) / alpha),
            alpha * np.ldexp(core, -self._power) if core.any() else None,
            scaled,
            self._tree,
        )
        # Reach as core distances are computed, to the last bit, so that ties are ties.
        heights = self.reach(edges, core, alpha)
        short = heights <= longest
        return (edges, heights) if short.all() else (edges[short], heights[short])

    def reach(self, edges: np.ndarray, core: np.ndarray, alpha: float) -> np.ndarray:
        """Return the reach of pairs of samples, int64 (m, 2)."""
        lengths = np.empty(len(edges))
        _ext.edge_lengths(self._X, np.ascontiguousarray(edges), lengths)
        return _reach(edges, np.ldexp(lengths, self._power), core, alpha)

    def nearest(self, rows: np.ndarray, among: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest of the samples `among` to each of `rows`, and its distance.

        Ties go to the lowest index.
        """
        index, distance = nearest_neighbors(self._X[among], 1, self._X[rows])
        return among[index[:, 0]], np.ldexp(distance[:, 0], self._power)


class Pairs:
    """Samples whose distances are formed in blocks; methods as in `Points`.

    `distances` returns the distances of samples, by their names, from others.
    """

    n: int
    _distances: Callable[[np.ndarray, np.ndarray], np.ndarray]
    _names: np.ndarray

    def __init__(
        self, names: np.ndarray, distances: Callable[[np.ndarray, np.ndarray], np.ndarray]
    ) -> None:
        self.n, self._names, self._distances = len(names), names, distances

    def part(self, rows: np.ndarray) -> Self:
        return type(self)(self._names[rows], self._distances)

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        values = self._distances(self._names[rows], self._names[columns])
        values[rows[:, None] == columns] = 0.0  # but for rounding
        return values

    def _blocks(self, rows, columns) -> Iterator[tuple[slice, np.ndarray]]:
        step = max(1, _BLOCK // len(columns))
        for start in range(0, len(rows), step):
            part = slice(start, min(len(rows), start + step))
            yield part, self.block(rows[part], columns)

    def core_distances(self, least: float, weights: np.ndarray | None) -> np.ndarray:
        core, everyone = np.empty(self.n), np.arange(self.n)
        for part, values in self._blocks(everyone, everyone):
            core[part] = radii(values, least, weights)
        return core

    def spanning_tree(
        self, core: np.ndarray, alpha: float, report: Report, longest: float = np.inf
    ) -> tuple[np.ndarray, np.ndarray]:
        n = self.n
        edges, heights = np.empty((n - 1, 2), dtype=np.int64), np.empty(n - 1)
        # Prim's algorithm: the sample of the least key joins, and its distances lower other keys.
        name, key, nearest = np.arange(1, n), np.full(n - 1, np.inf), np.zeros(n - 1, np.int64)
        last, step = 0, max(1, _BLOCK // n)
        for done in range(n - 1):
            left = slice(0, n - 1 - done)
            row = self._distances(self._names[last : last + 1], self._names[name[left]])[0]
            p = _ext.take_row(row, alpha, core, last, name, key, nearest)
            last = int(name[p])
            edges[done], heights[done] = (nearest[p], last), key[p]
            end = n - 2 - done
            name[p], key[p], nearest[p] = name[end], key[end], nearest[end]
            if done % step == step - 1 or end == 0:
                report(heights[done // step * step : done + 1])
        short = heights <= longest
        return (edges, heights) if short.all() else (edges[short], heights[short])

    def reach(self, edges: np.ndarray, core: np.ndarray, alpha: float) -> np.ndarray:
        lengths = np.empty(len(edges))
        order = np.argsort(edges[:, 0], kind="stable")
        starts = np.flatnonzero(np.diff(edges[order, 0], prepend=-1))
        for group in np.split(order, starts[1:]):
            lengths[group] = self.block(edges[group[:1], 0], edges[group, 1])[0]
        return _reach(edges, lengths, core, alpha)

    def nearest(self, rows: np.ndarray, among: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        nearest, distance = np.empty(len(rows), dtype=np.int64), np.empty(len(rows))
        for part, values in self._blocks(rows, among):
            at = values.argmin(axis=1)
            nearest[part], distance[part] = among[at], values[np.arange(len(at)), at]
        return nearest, distance


class Graph:
    """Samples with distances along the edges of a graph, symmetric CSR; methods as in `Points`.

    What is not stored is infinite, but on the diagonal.
    """

    n: int
    _D: sp.csr_array

    def __init__(self, D: sp.csr_array) -> None:
        self.n, self._D = D.shape[0], D

    def part(self, rows: np.ndarray) -> Self:
        return type(self)(self._D[rows][:, rows])

    def _edges(self):
        """Return the row, the column and the length of each stored entry off the diagonal."""
        D = self._D
        row = np.repeat(np.arange(self.n), np.diff(D.indptr))
        off = row != D.indices
        return row[off], D.indices[off].astype(np.int64), D.data[off].astype(np.float64)

    def core_distances(self, least: float, weights: np.ndarray | None) -> np.ndarray:
        weight = np.ones(self.n) if weights is None else weights
        row, column, length = self._edges()
        order = np.lexsort((length, row))
        ends = np.cumsum(np.bincount(row, minlength=self.n))
        held = np.concatenate(([0.0], np.cumsum(weight[column[order]])))
        # The first neighbour with which a row and those before it have the weight.
        start = np.concatenate(([0], ends[:-1]))
        at = np.searchsorted(held, held[start] + least - weight, side="left") - 1
        core = np.full(self.n, np.inf)
        enough = at < ends
        core[enough] = length[order][at[enough]] if len(length) else 0.0
        core[weight >= least] = 0.0
        return core

    def spanning_tree(
        self, core: np.ndarray, alpha: float, report: Report, longest: float = np.inf
    ) -> tuple[np.ndarray, np.ndarray]:
        row, column, length = self._edges()
        once = row < column
        edges = np.column_stack((row[once], column[once]))
        heights = _reach(edges, length[once], core, alpha)
        order = stable_order(heights)
        order = order[heights[order] <= min(longest, np.finfo(np.float64).max)]
        kept = order[joining(edges[order], self.n)]
        report(heights[kept])
        return edges[kept], heights[kept]

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        stored = self._D[rows][:, columns].tocoo()
        values = np.full(stored.shape, np.inf)
        values[stored.coords] = stored.data
        values[rows[:, None] == columns] = 0.0
        return values

    def reach(self, edges: np.ndarray, core: np.ndarray, alpha: float) -> np.ndarray:
        row, column, length = self._edges()
        key, asked = row * self.n + column, edges[:, 0] * self.n + edges[:, 1]
        at = np.searchsorted(key, asked)
        lengths = np.append(length, np.inf)[at]
        lengths[np.append(key, -1)[at] != asked] = np.inf
        return _reach(edges, lengths, core, alpha)

    def nearest(self, rows: np.ndarray, among: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        nearest, distance = np.zeros(len(rows), dtype=np.int64), np.full(len(rows), np.inf)
        row, column, length = self._edges()
        place, wanted = np.full(self.n, -1), np.zeros(self.n, dtype=bool)
        place[rows], wanted[among] = np.arange(len(rows)), True
        use = (place[row] >= 0) & wanted[column]
        row, column, length = place[row[use]], column[use], length[use]
        order = np.lexsort((column, length, row))
        first = order[np.flatnonzero(np.diff(row[order], prepend=-1))]
        nearest[row[first]], distance[row[first]] = column[first], length[first]
        return nearest, distance


def radii(values: np.ndarray, least: float, weights: np.ndarray | None) -> np.ndarray:
    """Return the least distances (m,) within which samples of weight `least` are.

    `values` (m, n) are the distances of n samples; infinity where all have less weight.
    """
    m, n = values.shape
    if least <= 0:
        return np.zeros(m)
    if weights is None:
        k = int(least) - 1
        return np.partition(values, k, axis=1)[:, k] if k < n else np.full(m, np.inf)
    order = np.argsort(values, axis=1, kind="stable")
    full = np.cumsum(weights[order], axis=1) >= least
    at = order[np.arange(m), full.argmax(axis=1)]
    return np.where(full.any(axis=1), values[np.arange(m), at], np.inf)


def nearest_in_reach(
    X: np.ndarray,
    queries: np.ndarray,
    core: np.ndarray,
    least: float,
    weights: np.ndarray | None,
    alpha: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the row of X of least reach from each query, and that reach.

    The core distance of a query is the radius that holds rows of weight `least`. Of equal reach,
    the nearest row is taken, then the first.
    """
    names = None
    if has_many_copies(X):
        names, own = distinct_rows(X)
        X, core, weights = X[names], core[names], np.bincount(own, weights)
    n, rows = len(X), np.arange(len(queries))
    nearest, reach = np.empty(len(rows), dtype=np.int64), np.empty(len(rows))
    k = min(n, max(16, 2 * int(least)))
    while len(rows):
        index, distance = nearest_neighbors(X, k, queries[rows])
        held = np.cumsum(np.ones(index.shape) if weights is None else weights[index], axis=1)
        own = np.zeros(len(rows))
        if least > 0:
            own = distance[np.arange(len(rows)), (held >= least).argmax(axis=1)]
        here = np.maximum(distance / alpha, np.maximum(core[index], own[:, None]))
        at = here.argmin(axis=1)
        best = here[np.arange(len(rows)), at]
        # Rows that are not among the neighbours are no nearer than the last of them.
        done = (held[:, -1] >= least) & (best <= distance[:, -1] / alpha) | (k == n)
        nearest[rows[done]], reach[rows[done]] = index[np.arange(len(rows)), at][done], best[done]
        rows, k = rows[~done], min(n, 4 * k)
    return nearest if names is None else names[nearest], reach


def distinct_rows(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the first of equal rows, in order, and the place there of each row."""
    _, first, own = np.unique(X, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(first), dtype=np.int64)
    place[order] = np.arange(len(first))
    return first[order], place[own]


def _reach(edges, lengths, core, alpha):
    return np.maximum(lengths / alpha, np.maximum(core[edges[:, 0]], core[edges[:, 1]]))


def as_samples_of(X: Any, metric: Any, owner: str) -> Points | Pairs | Graph:
    """Return checked samples X with the distances of a metric, as `as_metric` returns it."""
    if metric == "euclidean":
        return Points(X)
    if metric != "precomputed":
        wide = X.astype(np.float64, copy=False)
        scale = learned_scale(wide, metric)
        return Pairs(
            np.arange(len(X)), lambda a, b: distances(wide[a], wide[b], metric, scale, owner)
        )
    D = given_distances(X, owner)
    if sp.issparse(D):
        require_mirrored(D, owner)
        return Graph(D)
    if extremes(D)[2] == 0:
        return Pairs(np.arange(len(D)), lambda a, b: D[np.ix_(a, b)].astype(np.float64, copy=False))
    return Pairs(np.arange(len(D)), lambda a, b: D[np.ix_(a, b)] / 2.0 + D[np.ix_(b, a)].T / 2.0)


def require_mirrored(D: sp.csr_array, owner: str) -> None:
    """Refuse a sparse matrix of distances that is not symmetric, to the last bit."""
    T = D.T.tocsr()
    T.sort_indices()
    same = np.array_equal(D.indptr, T.indptr) and np.array_equal(D.indices, T.indices)
    if not (same and np.array_equal(D.data, T.data)):
        raise ValueError(
            f"{owner}: X is not symmetric, but sparse precomputed distances must be, in what is "
            "stored too: pass X.maximum(X.T)."
        )


def joined(edges: np.ndarray, heights: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a spanning tree of n samples: a forest, joined by edges of infinite height."""
    if len(edges) == n - 1:
        return edges, heights
    first = np.unique(components(edges, n), return_index=True)[1]
    more = np.column_stack((np.full(len(first) - 1, first[0]), first[1:]))
    return np.concatenate((edges, more)), np.concatenate((heights, np.full(len(more), np.inf)))


def components(edges: np.ndarray, n: int) -> np.ndarray:
    """Return the component of each of n samples, numbered by their first samples."""
    graph = sp.coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    return connected_components(graph, directed=False)[1].astype(np.int64)
