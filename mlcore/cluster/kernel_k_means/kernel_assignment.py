"""Assignment of samples to means in a kernel's feature space, from kernel values alone."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mlcore._ext.cluster import kernel_assignment as _ext
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads

_MAX_TURNOVER = 4.0  # times a cluster's mass: mass that joins and leaves before it is summed anew


class Means(NamedTuple):
    """Clusters, with the masses and squared norms of their means in feature space.

    `mass`, float64 (k,), sums the weights of each cluster; `squared_norms` are 0 without mass.
    """

    labels: np.ndarray
    mass: np.ndarray
    squared_norms: np.ndarray
    objective: float


class KernelAssignment:
    """Sums of kernel values over each cluster, updated as samples change clusters.

    An update visits the rows of K of the changes, or of a whole cluster if these are fewer.
    """

    def __init__(self, gram: Any, weights: np.ndarray, n_clusters: int) -> None:
        self._gram, self._weights, self._k = gram, weights, n_clusters
        self._present = weights > 0
        self._labels = np.full(gram.n, -1, dtype=np.int32)
        self._turnover = np.zeros(n_clusters)
        self._sums = scratch_array((n_clusters, gram.n), np.dtype(np.float64))
        self._sums[...] = 0

    @property
    def slack(self) -> float:
        """Estimate of the rounding error of an objective."""
        eps = float(np.finfo(self._gram.dtype).eps)
        return 64 * eps * float((self._weights * np.abs(self._gram.diagonal)).sum())

    def move(self, labels: np.ndarray) -> Means:
        """Update the sums to these labels, and return the means."""
        k, w, old = self._k, self._weights, self._labels
        changed = np.flatnonzero((labels != old) & self._present)
        relabelled = changed[old[changed] >= 0]
        updates = _count(labels[changed], k) + _count(old[relabelled], k)
        mass = np.bincount(labels, w, k)
        self._turnover += np.bincount(labels[changed], w[changed], k)
        self._turnover += np.bincount(old[relabelled], w[relabelled], k)
        many = updates >= _count(labels[self._present], k)
        anew = (updates > 0) & (many | (self._turnover > _MAX_TURNOVER * mass))
        self._turnover[anew] = 0
        self._sums[anew] = 0
        members = np.flatnonzero(anew[labels] & self._present)
        joined = changed[~anew[labels[changed]]]
        left = relabelled[~anew[old[relabelled]]]
        self._add(
            np.concatenate([members, joined, left]),
            np.concatenate([labels[members], labels[joined], old[left]]),
            np.concatenate([w[members], w[joined], -w[left]]),
        )
        self._labels = labels
        return self._means(labels, mass)

    def _add(self, rows, clusters, factors):
        order = np.argsort(clusters, kind="stable")
        rows, clusters, factors = rows[order], clusters[order], factors[order]
        n = self._gram.n
        for array, part, slots in self._gram.pieces(rows):
            starts = np.searchsorted(clusters[part], np.arange(self._k + 1))
            threads = effective_threads(len(part) * n)
            _ext.add_rows(array, slots, factors[part], starts, self._sums, n, threads)

    def _means(self, labels, mass):
        own = self._sums[labels, np.arange(len(labels))]
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.bincount(labels, self._weights * own, self._k)
            inverse = np.divide(1.0, mass, out=np.zeros(self._k), where=mass > 0)
            squared_norms = squares * inverse * inverse
            self._distances = (
                self._gram.diagonal - 2 * inverse[labels] * own + squared_norms[labels]
            )
            objective = float((self._weights * self._distances).sum())
        if not np.isfinite(objective):
            raise ValueError(
                "The kernel's values are too large: sums of them overflow float64. Rescale X, or "
                "lower what multiplies it in the kernel."
            )
        return Means(labels, mass, squared_norms, objective)

    def differs(self, labels: np.ndarray) -> bool:
        """Return True if any sample of positive weight has another label now."""
        return bool(((labels != self._labels) & self._present).any())

    def nearest(self, means: Means) -> np.ndarray:
        """Return the label of the nearest mean of each sample, the first of equals."""
        present = means.mass > 0
        scales = np.divide(2.0, means.mass, out=np.zeros(self._k), where=present)
        squared_norms = np.where(present, means.squared_norms, np.inf)
        labels = np.empty(self._gram.n, dtype=np.int32)
        threads = effective_threads(self._sums.size)
        _ext.nearest(self._sums, scales, squared_norms, labels, threads)
        return labels

    def fill_empty(self, labels: np.ndarray) -> None:
        """Give clusters without samples those that were farthest from their means."""
        w = self._weights
        mass = np.bincount(labels, w, self._k)
        if (mass > 0).all():
            return
        distances = np.where(self._present, self._distances, 0)
        farthest = np.argsort(-distances, kind="stable")
        rounding = 64 * np.finfo(self._gram.dtype).eps * np.abs(self._gram.diagonal)
        empty = np.flatnonzero(mass <= 0).tolist()
        for i in farthest[distances[farthest] > rounding[farthest]]:
            if not empty:
                break
            if mass[labels[i]] > w[i]:
                mass[labels[i]] -= w[i]
                labels[i] = empty.pop(0)


def _count(labels, k):
    return np.bincount(labels, minlength=k)


class Descent(NamedTuple):
    """Result of the algorithm from one start."""

    means: Means
    trace: np.ndarray
    converged: bool
    rose: bool  # True if the next step would have raised the objective by more than rounding


def descend(
    assignment: KernelAssignment,
    labels: np.ndarray,
    max_iter: int,
    tol: float,
    report: Callable[..., Any],
) -> Descent:
    """Assign samples to the nearest means until no label changes, or the objective stops falling.

    `tol` is the least relative decrease of the objective in a step that goes on.
    """
    means = assignment.move(labels)
    trace, converged, rose = [], False, False
    for step in range(1, max_iter + 1):
        labels = assignment.nearest(means)
        assignment.fill_empty(labels)
        if not assignment.differs(labels):
            means, decrease = means._replace(labels=labels), 0.0
        else:
            moved = assignment.move(labels)
            decrease = means.objective - moved.objective
            rose = decrease < -assignment.slack
            if decrease >= 0:
                means = moved
        trace.append(means.objective)
        size = abs(means.objective)
        report(step, means.objective, decrease / size if size else 0.0)
        if decrease <= tol * size:
            converged = not rose
            break
    return Descent(means, np.array(trace), converged, rose)


def without_empty(assignment: KernelAssignment, means: Means) -> tuple[np.ndarray, np.ndarray]:
    """Return labels among the clusters with mass, and the mask of these clusters."""
    kept = means.mass > 0
    labels = means.labels
    if not kept[labels].all():  # of samples without weight
        labels = np.where(kept[labels], labels, assignment.nearest(assignment.move(labels)))
    return (np.cumsum(kept) - 1).astype(np.int32)[labels], kept
