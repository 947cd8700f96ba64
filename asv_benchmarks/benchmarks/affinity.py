"""Affinities: self-tuned ones against the plain kernel, graphs against the search alone."""

import numpy as np

from mlcore.cluster import affinity, nearest_neighbors
from mlcore.kernels import gram_matrix


class SelfTuned:
    params = ([4, 64],)
    param_names = ("n_features",)

    def setup(self, n_features):
        self.X = np.random.default_rng(0).normal(size=(2000, n_features))

    def time_self_tuned(self, n_features):
        affinity(self.X, self_tuning=True)

    def time_floor_kernel(self, n_features):
        gram_matrix(self.X)


class Neighbors:
    def setup(self):
        self.X = np.random.default_rng(0).normal(size=(20_000, 3))

    def time_graph(self):
        affinity(self.X, kind="nearest_neighbors", n_neighbors=10)

    def time_floor_neighbors(self):
        nearest_neighbors(self.X, 10)
