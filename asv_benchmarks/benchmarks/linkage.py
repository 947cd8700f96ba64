"""Agglomerative clustering of points, against SciPy's linkage."""

import numpy as np
from scipy.cluster.hierarchy import linkage

from mlcore.cluster import AgglomerativeClustering

METHODS = ("single", "complete", "average", "weighted", "ward", "centroid", "median")


class Merges:
    params = (METHODS, [(4_000, 8), (1_000, 784)])
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
