"""Agglomerative clustering of points, against SciPy's linkage."""

import numpy as np
from scipy.cluster.hierarchy import linkage

from mlcore.cluster import AgglomerativeClustering

METHODS = ("single", "complete", "average", "weighted", "ward", "centroid", "median")


class Merges:
    params = (METHODS, [(150, 4), (4_000, 8), (2_000, 784)])
    param_names = ("linkage", "shape")

    def setup(self, method, shape):
        n, d = shape
        rng = np.random.default_rng(0)
        centers = rng.normal(scale=3, size=(20, d))
        self.X = centers[rng.integers(0, 20, n)] + rng.normal(size=(n, d))

    def time_fit(self, method, _):
        AgglomerativeClustering(linkage=method).fit(self.X)

    def time_scipy(self, method, _):
        linkage(self.X, method)

    def peakmem_fit(self, method, _):
        AgglomerativeClustering(linkage=method).fit(self.X)

    def track_sum_of_heights(self, method, _):
        return float(AgglomerativeClustering(linkage=method).fit(self.X).distances_.sum())


class FewFeatures:
    """Single linkage of many points, against one product of all of them with a hundred."""

    params = ([2, 3, 5, 8],)
    param_names = ("n_features",)

    def setup(self, d):
        rng = np.random.default_rng(0)
        centers = rng.normal(scale=3, size=(20, d))
        self.X = centers[rng.integers(0, 20, 10_000)] + rng.normal(size=(10_000, d))

    def time_fit(self, _):
        AgglomerativeClustering(linkage="single").fit(self.X)

    def time_floor_product(self, _):
        self.X @ self.X[:100].T
