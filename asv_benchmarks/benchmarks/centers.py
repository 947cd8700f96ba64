"""Scores from the centres of clusters, which read the rows twice."""

import numpy as np

from mlcore.cluster import calinski_harabasz_score, davies_bouldin_score


class CenterScores:
    """Against the sums of squares of the rows, read once."""

    params = ([(50, 3, 3), (300, 3_000, 5), (20_000, 10, 5_000), (1_000_000, 10, 10)],)
    param_names = ("n_samples, n_features, n_clusters",)

    def setup(self, shape):
        n, d, k = shape
        rng = np.random.default_rng(0)
        self.labels = rng.integers(0, k, n)
        self.X = rng.normal(size=(n, d)) + rng.normal(size=(k, d))[self.labels]

    def time_calinski_harabasz(self, shape):
        calinski_harabasz_score(self.X, self.labels)

    def time_davies_bouldin(self, shape):
        davies_bouldin_score(self.X, self.labels)

    def time_floor_squares(self, shape):
        np.einsum("ij,ij->i", self.X, self.X)
