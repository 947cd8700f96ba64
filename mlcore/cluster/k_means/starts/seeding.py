"""Seeds of k-means by greedy k-means++, from dense or sparse samples."""

from typing import Any

import numpy as np
from scipy import sparse as sp

from mlcore.cluster.k_means.incomplete_assignment import IncompleteDistances
from mlcore.cluster.k_means.nearest_center import lower_to_candidates
from mlcore.cluster.k_means.sparse_assignment import SparseRows, seed_columns
from mlcore.numerics.seeds.greedy_seeds import (
    first_least,
    greedy_seeds,
    n_candidates,
    seeds_of_points,
)
from mlcore.runtime.threads import effective_threads

_CHUNKS = 8  # sums that threads fill side by side
_FEW_ROWS = 2**14
_FEW = 2**24  # differences of one start: some milliseconds, in a single call


def k_means_plus_plus(
    X: Any,
    weights: Any,
    units: Any,
    n_clusters: int,
    rng: np.random.Generator,
    sampler: Any,
    fill: Any = None,
) -> np.ndarray:
    """Return indices of up to `n_clusters` rows of X, seeds by squared distances.

    `X` (n, d) is dense or CSR; `weights`, float64 (n,), are empty for ones. Missing values of
    seeds are those of `fill` (d,).
    """
    if units.incomplete:
        distances = IncompleteDistances(X, weights, units, fill)
        return greedy_seeds(distances, n_clusters, sampler, rng)
    if sp.issparse(X):
        costs = _SparseDistances(X, weights, units, n_candidates(n_clusters))
        return greedy_seeds(costs, n_clusters, sampler, rng)
    n, d = X.shape
    if n <= _FEW_ROWS and n * d * n_candidates(n_clusters) * n_clusters <= _FEW:
        return seeds_of_points(units.place(X), weights, sampler.order, n_clusters, rng)
    return greedy_seeds(_Distances(X, weights, units), n_clusters, sampler, rng)


class _Distances:
    """Squared distances of dense samples from the nearest seeds, as `Costs`."""

    def __init__(self, X, weights, units):
        self._X, self._weights, self._units = X, weights, units
        self.nearest = np.full(len(X), np.inf, dtype=X.dtype)

    def add_best(self, candidates):
        if len(candidates) > 1:
            candidates = candidates[[first_least(self._lower(candidates, take=False))]]
        self._lower(candidates, take=True)
        return int(candidates[0])

    def _lower(self, candidates, *, take):
        X, units, count = self._X, self._units, len(candidates)
        points = np.ascontiguousarray(units.place(X[candidates]))
        threads = effective_threads(X.size * count)
        objectives = np.zeros((_CHUNKS, count))
        for rows, block in units.blocks(X, X.shape[1] * count + 64):
            weights = self._weights[rows] if len(self._weights) else self._weights
            lower_to_candidates(
                block, points, weights, self.nearest[rows], objectives, threads, take=take
            )
        return objectives.sum(axis=0)


class _SparseDistances:
    """Squared distances of CSR samples from the nearest seeds, as `Costs`."""

    def __init__(self, X, weights, units, most_candidates):
        self._rows, self._weights = SparseRows(X, units), weights
        self._columns = seed_columns(self._rows.d, most_candidates)
        # At the nearest seed, then with each candidate as one more.
        self._costs = np.empty((1 + most_candidates, self._rows.n))
        self.nearest = self._costs[0]
        self.nearest[:] = np.inf

    def add_best(self, candidates):
        self._rows.compare(candidates, self._columns, self._costs)
        costs, weights = self._costs[1 : 1 + len(candidates)], self._weights
        best = first_least([cost @ weights if len(weights) else cost.sum() for cost in costs])
        self.nearest[:] = costs[best]
        return int(candidates[best])
