"""Assignment of samples to their nearest centres: the passes of Lloyd's algorithm.

`Assignment` is for dense samples, `SmallAssignment` for few of them, `IncompleteAssignment` for
those with missing values, `SparseAssignment` for CSR rows. Each takes centres in the units of its
samples and keeps `labels`; `assign` searches, `totals` gives the sums of samples and of weights by
label.
"""

from typing import Any

import numpy as np
from scipy import sparse as sp

from mlcore.cluster.k_means.incomplete_assignment import IncompleteAssignment
from mlcore.cluster.k_means.nearest_center import (
    Bounds,
    PlainSearch,
    own_distances,
    share_to_begin_bounds,
)
from mlcore.cluster.k_means.origin_and_unit import OriginAndUnit
from mlcore.cluster.k_means.quantized_search import CODED_AT_ONCE, QuantizedSearch, codes_suit
from mlcore.cluster.k_means.small_assignment import SmallAssignment
from mlcore.cluster.k_means.sparse_assignment import SparseAssignment
from mlcore.runtime.threads import effective_threads

_CHUNKS = 32  # sums that threads fill side by side
_CHUNK_ROWS = 1024  # at least: samples left to the same centres are searched together
_SUMS = 2**22  # values of all chunks
_FEW = 2**20  # multiplications of a pass: one thread makes several steps in a call


class Assignment:
    """Assignment of dense samples: all centres are searched, later those that bounds leave.

    `weights`, float64 (n,), are empty for ones; with one pass at most, no bounds are kept.
    """

    weights: np.ndarray
    labels: np.ndarray
    units: OriginAndUnit

    def __init__(
        self,
        X: np.ndarray,
        weights: np.ndarray,
        units: OriginAndUnit,
        n_clusters: int,
        max_iter: int,
    ) -> None:
        n, d = X.shape
        self.X, self.weights, self.units = X, weights, units
        self.labels = np.full(n, -1, dtype=np.int32)
        self._search: Any = None
        self._work = n_clusters * d  # of a row, in multiplications
        # A single pass without bounds takes half the time.
        self._bounds_below = share_to_begin_bounds(X, n_clusters) if max_iter > 1 else -1
        self._share, self._max_iter = 1.0, max_iter

    def assign(self, centers: np.ndarray) -> int:
        """Give each sample the label of its nearest centre, and return how many labels changed."""
        k, d = centers.shape
        if self._search is None:
            self._begin(centers)
        elif isinstance(self._search, QuantizedSearch) and not self._search.pays():
            self._search = PlainSearch(self.X, k, len(self._counts), self._max_iter > 1)
            self._work = k * d
        if self._share <= self._bounds_below:
            self._search, self._bounds_below = None, -1  # freed before the bounds are allocated
            self._search = Bounds(self.X, self.units, k, len(self._counts))
        threads = effective_threads(len(self.X) * k * d)
        self._search.move(centers, threads)
        for rows, block in self.units.blocks(self.X, self._work):
            weights = self.weights[rows] if len(self.weights) else self.weights
            self._search.search(
                rows, block, weights, self.labels[rows], self._sums, self._counts, threads
            )
        n_changed = int(self._search.tally[:, 0].sum())
        self._share = n_changed / len(self.X)
        return n_changed

    def _begin(self, centers):
        """Choose the search of the first passes."""
        (n, d), k = self.X.shape, len(centers)
        coded = codes_suit(self.X, self.units, centers, several_passes=self._max_iter > 1)
        if coded:
            self._bounds_below, self._work = -1, self._work // CODED_AT_ONCE
        rows = self.units.block_size(self.X, self._work)
        n_chunks = max(1, min(_CHUNKS, _SUMS // (k * d), rows // _CHUNK_ROWS))
        self._sums, self._counts = np.zeros((n_chunks, k, d)), np.zeros((n_chunks, k))
        if coded:
            self._search = QuantizedSearch(n, n_chunks)
        else:
            self._search = PlainSearch(self.X, k, n_chunks, self._max_iter > 1)

    def totals(self) -> tuple[Any, ...]:
        """Return the weighted sums (k, d) and the weights (k,) by label, both float64."""
        counts = self._counts.sum(axis=0)
        if len(self.weights) and ((counts != 0) & (counts < 1e-9 * counts.sum())).any():
            self._recount()  # so small a difference of sums has lost its digits
            counts = self._counts[0].copy()
        return self._sums.sum(axis=0), counts

    def _recount(self):
        k = self._counts.shape[1]
        self._sums[...], self._counts[...] = 0, 0
        for rows, block in self.units.blocks(self.X, 2**13 + 64 * self.X.shape[1]):
            members = _membership(self.labels[rows], self.weights[rows], k)
            self._sums[0] += members @ block
            self._counts[0] += members.sum(axis=1)

    def distances(self, centers: np.ndarray) -> Any:
        """Yield slices of rows and squared distances from the centres of their labels."""
        threads = effective_threads(self.X.size)
        for rows, block in self.units.blocks(self.X, 2**14 + self.X.shape[1]):
            yield rows, own_distances(block, centers, self.labels[rows], threads)

    def row(self, i: Any) -> Any:
        """Return sample `i` in the units, as float64."""
        return self.units.place(self.X[i : i + 1])[0].astype(np.float64)


def assignment_of(
    X: Any, weights: Any, units: OriginAndUnit, n_clusters: int, max_iter: int
) -> Any:
    """Return the assignment that suits `X`, for `max_iter` passes at most."""
    if sp.issparse(X):
        return SparseAssignment(X, weights, units, n_clusters, max_iter)
    if units.incomplete:
        return IncompleteAssignment(X, weights, units, n_clusters, max_iter)
    if X.size * n_clusters <= _FEW:
        return SmallAssignment(X, weights, units, n_clusters)
    return Assignment(X, weights, units, n_clusters, max_iter)


def nearest_labels(X: Any, units: OriginAndUnit, centers: Any) -> np.ndarray:
    """Return the label of the nearest centre for each row of `X`."""
    if sp.issparse(X):
        assignment = SparseAssignment(X, np.empty(0), units, len(centers), 1, summed=False)
        assignment.assign(centers)
        return assignment.labels
    if units.incomplete:
        rows = IncompleteAssignment(X, np.empty(0), units, len(centers), 1, summed=False)
        rows.assign(centers)
        return rows.labels
    k, d = centers.shape
    if X.size * k <= _FEW:
        small = SmallAssignment(X, np.empty(0), units, k, summed=False)
        small.assign(centers)
        return small.labels
    threads = effective_threads(X.size * k)
    labels = np.full(len(X), -1, dtype=np.int32)
    work = k * d
    search: Any = PlainSearch(X, k, _CHUNKS, several_passes=False)
    if codes_suit(X, units, centers, several_passes=False):
        work, search = work // CODED_AT_ONCE, QuantizedSearch(len(X), _CHUNKS)
    search.move(centers, threads)
    no_sums = np.empty((_CHUNKS, 0, d)), np.empty((_CHUNKS, 0))
    for rows, block in units.blocks(X, work):
        search.search(rows, block, np.empty(0), labels[rows], *no_sums, threads)
    return labels


def _membership(labels, weights, n_clusters):
    """Return the (k, n) matrix W such that W X are the weighted sums of samples by label."""
    shape = n_clusters, len(labels)
    return sp.csc_array((weights, labels, np.arange(len(labels) + 1)), shape=shape)
