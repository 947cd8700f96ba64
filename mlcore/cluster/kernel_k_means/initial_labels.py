"""Initial labels for kernel k-means: the nearest of seeds drawn in feature space."""

from typing import Any

import numpy as np

from mlcore.numerics.seeds.greedy_seeds import first_least, greedy_seeds, n_candidates
from mlcore.numerics.seeds.row_sampler import RowSampler
from mlcore.runtime.threads import single_threaded_blas

_ROWS = 256


class KernelStarts:
    """Initial labels: the nearest of seeds, drawn without regard to order or copies of samples.

    `X` is None if samples are no rows of numbers; those within `rounding` (relative) are one point.
    """

    def __init__(self, X: Any, gram: Any, rounding: float, weights: np.ndarray) -> None:
        if X is None:  # sums of rows of K do not depend on the order of its columns
            blocks = np.array_split(np.arange(gram.n), -(-gram.n // _ROWS))
            with single_threaded_blas():
                X = np.concatenate([gram.block(rows) @ weights for rows in blocks])[:, None]
        self._sampler = RowSampler(X, weights)
        self._gram, self._weights, self._rounding = gram, weights, rounding

    def random(self, n_clusters: Any, rng: Any) -> np.ndarray:
        """Return labels by the nearest of distinct points, drawn one by one by their weights."""
        costs = _Distances(self._gram, self._weights, self._rounding)
        for _ in range(n_clusters):
            rows = self._sampler.draw(rng.random(1), costs.nearest > 0)
            if not len(rows):
                break
            costs.add_best(rows)
        return costs.labels

    def plus_plus(self, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
        """Return labels by the nearest of samples drawn by greedy k-means++."""
        costs = _Distances(self._gram, self._weights, self._rounding)
        if len(greedy_seeds(costs, n_clusters, self._sampler, rng)) == n_clusters:
            rng.random(n_candidates(n_clusters))  # as for one more seed: later starts depend on it
        return costs.labels


class _Distances:
    """Squared distances in feature space from the nearest seeds, and labels, as in `Costs`."""

    def __init__(self, gram, weights, rounding):
        self._gram, self._weights, self._rounding = gram, weights, rounding
        self.nearest = np.full(gram.n, np.inf)
        self.labels = np.zeros(gram.n, dtype=np.int32)
        self._n_seeds = 0

    def add_best(self, candidates):
        squares = self._squares(candidates)
        left = (np.minimum(squares, self.nearest) * self._weights).sum(axis=1)
        best = first_least(left)
        nearer = squares[best] < self.nearest
        self.labels[nearer] = self._n_seeds
        self.nearest[nearer] = squares[best][nearer]
        self._n_seeds += 1
        return int(candidates[best])

    def _squares(self, rows):
        """Return squared distances of all samples from those in `rows`; exactly 0 if equal."""
        own = self._gram.diagonal
        squares = own + own[rows, None] - 2 * self._gram.block(rows)
        size = np.abs(own) + np.abs(own[rows, None])
        squares[squares <= 32 * self._rounding * size] = 0
        return squares
