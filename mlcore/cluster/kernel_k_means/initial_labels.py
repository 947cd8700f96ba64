"""Labels for kernel k-means to start from: by the nearest of samples drawn in feature space."""

import numpy as np

from mlcore.cluster.k_means.k_means_plus_plus import RowSampler
from mlcore.threads import single_threaded_blas

_ROWS = 256


class KernelStarts:
    """Draws samples, and labels all by the nearest of them.

    Draws depend neither on the order of samples nor on whether weights or copies repeat them.

    Parameters
    ----------
    X : ndarray or csr_array (n, d), or None
        The samples, if they are rows of numbers.
    gram : GramRows
    rounding : float
        Of kernel values, relative to their size: samples as near as that are one point.
    weights : (n,) float64
    """

    def __init__(self, X, gram, rounding, weights):
        if X is None:  # sums of rows of K: the order of its columns must not count
            blocks = np.array_split(np.arange(gram.n), -(-gram.n // _ROWS))
            with single_threaded_blas():
                X = np.concatenate([gram.block(rows) @ weights for rows in blocks])[:, None]
        self._sampler = RowSampler(X, weights)
        self._gram, self._weights, self._rounding = gram, weights, rounding

    def random(self, n_clusters, rng) -> np.ndarray:
        """Return labels by the nearest of different points, drawn one by one by their weights."""
        nearest = np.full(self._gram.n, np.inf)
        labels = np.zeros(self._gram.n, dtype=np.int32)
        for j in range(n_clusters):
            rows = self._sampler.draw([rng.random()], nearest > 0)
            if not len(rows):
                break
            _take(j, self._squares(rows)[0], nearest, labels)
        return labels

    def plus_plus(self, n_clusters, rng) -> np.ndarray:
        """Return labels by the nearest of samples drawn by greedy k-means++.

        Each is drawn in proportion to its squared distance from those before; of ``2 + log k``
        drawn so, the one is kept that leaves the least objective. There are fewer than
        `n_clusters` where the samples have fewer distinct points in feature space.

        References
        ----------
        D. Arthur, S. Vassilvitskii, *k-means++: the advantages of careful seeding*, SODA 2007.
        """
        n_trials = 2 + int(np.log(n_clusters))
        nearest = np.full(self._gram.n, np.inf)
        labels = np.zeros(self._gram.n, dtype=np.int32)
        trials = self._sampler.draw([rng.random()])
        for j in range(n_clusters):
            if not len(trials):
                break
            squares = self._squares(trials)
            left = (np.minimum(squares, nearest) * self._weights).sum(axis=1)
            _take(j, squares[np.argmin(left)], nearest, labels)
            trials = self._sampler.draw(rng.random(n_trials), nearest)
        return labels

    def _squares(self, rows):
        """Squared distances of all samples from some, those of equal points 0."""
        own = self._gram.diagonal
        squares = own + own[rows, None] - 2 * self._gram.block(rows)
        size = np.abs(own) + np.abs(own[rows, None])
        squares[squares <= 32 * self._rounding * size] = 0
        return squares


def _take(j, squares, nearest, labels):
    nearer = squares < nearest
    labels[nearer] = j
    nearest[nearer] = squares[nearer]
