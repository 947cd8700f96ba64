"""Agglomerative clustering of points: reciprocal nearest neighbours merge, all pairs at once.

For reducible linkages (average, complete, Ward), where a merged cluster is no closer to a third
than the closer of the two was, such pairs may be merged in any order.
"""

from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from mlcore._ext.cluster.linkage import reciprocal_neighbors as _ext
from mlcore.cluster.linkage.lance_williams import fill_euclidean
from mlcore.numerics.panels import as_panels
from mlcore.runtime.threads import effective_threads, items_per_call, pieces

_ROUNDS = 32  # times the usual work per thread: rounds are many and short
_SEEN = 512  # centres that a search compares on average: most panels are skipped
_ROUNDING = 1e-14  # of the distance between centres, in units of the largest norm


class PointClusters:
    """Clusters of points, at first one for each distinct point.

    `X`, float64 (n, d), is of magnitude about 1; `method` is "average", "complete" or "ward".
    """

    ward: Any
    slack: float
    label: np.ndarray
    merged: list[Any]
    heights: list[Any]
    size: np.ndarray
    centres: Any
    variance: np.ndarray
    radius: np.ndarray
    nearest: np.ndarray
    value: np.ndarray
    stale: np.ndarray
    order: np.ndarray
    kind: int
    name: np.ndarray

    def __init__(self, X: Any, method: Any) -> None:
        n = len(X)
        # Close points are adjacent, so that whole panels of others can be skipped.
        self.order = cKDTree(X, leafsize=32, balanced_tree=False, compact_nodes=False).indices
        X = X[self.order]
        self.kind = _ext.KINDS[method]
        self.ward = method == "ward"
        # Means are rounded to their magnitude; the other methods measure the points themselves.
        self.X = X - X.mean(axis=0) if self.ward else X
        self.slack = _ROUNDING * float(np.sqrt(np.einsum("ij,ij->i", X, X).max()))
        self.label = np.arange(n)
        self.merged, self.heights = [], []
        self._begin(np.arange(n))
        self._search()
        if n > 1 and (self.value == 0).any():
            self._join_equal_points()

    def __len__(self) -> Any:
        return len(self.size)

    def merge(self, at_most: Any, report: Any) -> None:
        """Merge until at most `at_most` clusters are left; `report` takes the distances."""
        while len(self) > at_most:
            self._search()
            this = np.arange(len(self))
            first = np.flatnonzero((self.nearest[self.nearest] == this) & (this < self.nearest))
            if not len(first):  # a cycle of equal distances
                first = np.array([np.argmin(self.value)])
            heights = self.value[first]
            heights = np.sqrt(heights) if self.ward else heights
            self._merge(first, self.nearest[first], heights)
            report(heights)

    def members(self) -> Any:
        """Return the points cluster by cluster: the start of each (m + 1,), and the points."""
        if self.ward:
            return np.arange(len(self) + 1), self.centres
        order = np.argsort(self.label, kind="stable")
        start = np.zeros(len(self) + 1, dtype=np.int64)
        np.cumsum(np.bincount(self.label, minlength=len(self)), out=start[1:])
        return start, self.X[order]

    def matrix(self, D: Any) -> None:
        """Write the distances of all clusters into `D`; Ward's are squared."""
        if self.ward:
            fill_euclidean(self.centres, D, squared=True)
            m = len(self)
            for a in range(m):
                D[a, :m] *= 2 * self.size[a] * self.size / (self.size[a] + self.size)
            return
        start, points = self.members()
        panels = as_panels(points)
        n, d = points.shape
        threads = effective_threads(n * n * d / 2)
        sums = np.empty((threads, panels.shape[0] * panels.shape[2]))
        for first, last in pieces(len(self), n * n * d / len(self)):
            _ext.cluster_rows(
                self.kind, start, points, panels, sums, D, first, last, threads
            )  # fmt: skip

    def _begin(self, rows):
        m = len(rows)
        self.name = self.order[rows]  # one sample of each cluster
        self.size = np.bincount(self.label, minlength=m).astype(np.float64)
        self.centres = self.X[rows]
        self.variance, self.radius = np.zeros(m), np.zeros(m)
        self.nearest, self.value = np.zeros(m, dtype=np.int64), np.zeros(m)
        self.stale = np.ones(m, dtype=bool)

    def _join_equal_points(self):
        """Merge duplicates of a point first: all would have the same nearest neighbour."""
        duplicates = np.flatnonzero(self.value == 0)
        _, first, kind = np.unique(
            self.X[duplicates] + 0.0, axis=0, return_index=True, return_inverse=True
        )
        same = duplicates[first[kind.ravel()]]
        later = duplicates != same
        gone = np.zeros(len(self), dtype=bool)
        gone[duplicates[later]] = True
        new_index = np.cumsum(~gone) - 1
        new_index[duplicates] = new_index[same]
        self.merged.append(self.order[np.column_stack([same[later], duplicates[later]])])
        self.heights.append(np.zeros(int(later.sum())))
        self.label = new_index
        self._begin(np.flatnonzero(~gone))

    def _search(self):
        queries = np.flatnonzero(self.stale)
        m, d = self.centres.shape
        start, points = self.members()
        panels, variance, radius = self._panels()
        room = 3 * panels.shape[0] * panels.shape[2]
        # At worst every point of the cluster is compared with every other.
        cost = np.full(len(queries), float(m * d))
        if not self.ward:
            cost += self.size[queries] * (self.size[queries] > 1) * len(points) * d
        work = len(queries) * d * (_SEEN + m / panels.shape[2])
        threads = effective_threads(work / _ROUNDS)
        candidates, squares = np.empty((threads, room), dtype=np.int32), np.empty((threads, room))
        part = np.cumsum(cost) // (threads * items_per_call(1))
        bounds = [0, *(np.flatnonzero(np.diff(part)) + 1), len(queries)]
        nearest, value = np.empty(len(queries), dtype=np.int64), np.empty(len(queries))
        for a, b in zip(bounds, bounds[1:], strict=False):
            _ext.nearest_clusters(
                self.kind, self.slack, start, points, self.centres, panels, variance, radius,
                queries[a:b], candidates, squares, nearest[a:b], value[a:b], threads,
            )  # fmt: skip
        self.nearest[queries], self.value[queries] = nearest, value
        self.stale[:] = False

    def _panels(self):
        """Return centres, variances and radii of clusters, then of balls around the panels."""
        m, d = self.centres.shape
        panels = as_panels(self.centres)
        width = panels.shape[2]
        variance = 1 / self.size if self.ward else self.variance
        # The last panel is filled up with its last cluster.
        last = np.minimum(np.arange(len(panels) * width), m - 1).reshape(-1, width)
        full = self.centres[last]
        middle = full.mean(axis=1)
        radius = np.sqrt(np.square(full - middle[:, None]).sum(axis=2).max(axis=1))
        balls = as_panels(middle)
        farthest = variance[last].max(axis=1) if self.ward else variance[last].min(axis=1)
        return (
            np.concatenate([panels, balls]),
            _padded(width, variance, farthest),
            _padded(width, self.radius, radius * (1 + 1e-12) + self.slack),
        )

    def _merge(self, first, second, heights):
        self.merged.append(np.column_stack([self.name[first], self.name[second]]))
        self.heights.append(heights)
        a, b = self.size[first], self.size[second]
        share = b / (a + b)
        offset = self.centres[second] - self.centres[first]
        squares = np.einsum("ij,ij->i", offset, offset)
        self.centres[first] += share[:, None] * offset
        self.variance[first] += share * (self.variance[second] - self.variance[first])
        self.variance[first] += share * (1 - share) * squares
        self.radius[first] = np.maximum(
            self.radius[first] + share * np.sqrt(squares),
            self.radius[second] + (1 - share) * np.sqrt(squares),
        )
        self.size[first] = a + b
        touched, kept = np.zeros(len(self), dtype=bool), np.ones(len(self), dtype=bool)
        touched[first] = touched[second] = True
        self.stale = touched | touched[self.nearest]
        kept[second] = False
        new_index = np.cumsum(kept) - 1
        new_index[second] = new_index[first]
        self.nearest, self.label = new_index[self.nearest], new_index[self.label]
        for field in "name", "size", "centres", "variance", "radius", "nearest", "value", "stale":
            setattr(self, field, getattr(self, field)[kept])


def _padded(width, *parts):
    """Return the parts as one array, each padded with zeros to a multiple of `width`."""
    return np.concatenate([np.pad(part, (0, -len(part) % width)) for part in parts])
