"""Nearest neighbours, against SciPy's k-d tree for few features, else against one product X Xᵀ."""

import numpy as np
from scipy.spatial import cKDTree

from mlcore.cluster import nearest_neighbors


class FewFeatures:
    params, param_names = ([2, 8],), ("n_features",)

    def setup(self, n_features):
        self.X = np.random.default_rng(0).normal(size=(20_000, n_features))

    def time_neighbors(self, n_features):
        nearest_neighbors(self.X, 10)

    def time_floor_tree(self, n_features):
        cKDTree(self.X).query(self.X, k=11)


class ManyFeatures:
    params, param_names = ([20, 50, 400],), ("n_features",)

    def setup(self, n_features):
        rng = np.random.default_rng(0)
        centers = 3 * rng.normal(size=(20, n_features))
        self.X = centers[rng.integers(0, 20, 5000)] + 1.5 * rng.normal(size=(5000, n_features))

    def time_neighbors(self, n_features):
        nearest_neighbors(self.X, 10)

    def time_floor_product(self, n_features):
        self.X @ self.X.T
