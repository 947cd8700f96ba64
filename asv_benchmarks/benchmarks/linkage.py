"""Agglomerative clustering of points, against SciPy's linkage."""

import numpy as np
from scipy.cluster.hierarchy import linkage

from mlcore.cluster import AgglomerativeClustering

METHODS = ("single", "complete", "average", "weighted", "ward", "centroid", "median")


class Merges:
    params = (METHODS, [(150, 4), (2_000, 8), (1_000, 784)])
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

    params = ([2, 3, 5, 8], ["blobs", "uniform", "lattice"])
    param_names = ("n_features", "data")

    def setup(self, d, data):
        rng = np.random.default_rng(0)
        centers = rng.normal(scale=3, size=(20, d))
        self.X = centers[rng.integers(0, 20, 10_000)] + rng.normal(size=(10_000, d))
        if data == "uniform":
            self.X = rng.random((10_000, d))
        elif data == "lattice":  # equal distances, and equal points
            self.X = np.round(self.X * 8) / 8

    def time_fit(self, *_):
        AgglomerativeClustering(linkage="single").fit(self.X)

    def time_floor_product(self, *_):
        self.X @ self.X[:100].T


class Ward:
    """Ward's linkage of some thousand samples, against SciPy's."""

    params = ([(1_000, 10), (2_000, 20), (3_000, 20), (2_000, 50)],)
    param_names = ("shape",)

    def setup(self, shape):
        n, d = shape
        rng = np.random.default_rng(0)
        centers = rng.normal(scale=3, size=(20, d))
        self.X = centers[rng.integers(0, 20, n)] + rng.normal(size=(n, d))

    def time_fit(self, _):
        AgglomerativeClustering().fit(self.X)

    def time_scipy(self, _):
        linkage(self.X, "ward")
