"""Probabilistic clustering, against as many bare products of the affinities with the factor."""

import numpy as np

from mlcore.cluster import ProbabilisticClustering
from mlcore.kernels import gram_matrix
from mlcore.numerics.eigen import times

N_CLUSTERS = 8


class Probabilistic:
    def setup(self):
        rng = np.random.default_rng(0)
        centers = rng.normal(scale=2, size=(N_CLUSTERS, 8))
        self.X = centers[rng.integers(0, N_CLUSTERS, 3_000)] + rng.normal(size=(3_000, 8))
        self.K = gram_matrix(self.X, gamma=0.1)
        self.sweeps = self.fit().n_iter_

    def fit(self):
        return ProbabilisticClustering(
            N_CLUSTERS, gamma=0.1, tol=1e-3, max_iter=10_000, random_state=0
        ).fit(self.X)

    def time_fit(self):
        self.fit()

    def time_floor_products(self):
        V = np.ones((len(self.K), N_CLUSTERS))
        for _ in range(self.sweeps):
            times(self.K, V)

    def peakmem_fit(self):
        self.fit()

    def track_objective(self):
        return self.fit().objective_
