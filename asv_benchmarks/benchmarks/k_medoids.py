"""k-medoids from given samples, and k-medians."""

import numpy as np
from scipy.spatial.distance import cdist

from mlcore.cluster import KMedians, KMedoids

SHAPES = {  # n_samples, n_features, n_clusters
    "few features": (4_000, 16, 20),
    "many features": (2_000, 256, 10),
}


def blobs(n, d, k, dtype="float32"):
    rng = np.random.default_rng(0)
    centers = rng.normal(scale=3, size=(k, d))
    return (centers[rng.integers(0, k, n)] + 1.5 * rng.normal(size=(n, d))).astype(dtype)


class Swaps:
    """Against the inner products of the samples; with given distances, against reading them."""

    params = (list(SHAPES), ["euclidean", "precomputed"])
    param_names = ("shape", "metric")

    def setup(self, shape, metric):
        n, d, k = SHAPES[shape]
        self.X = blobs(n, d, k)
        if metric == "precomputed":
            self.X = cdist(self.X, self.X).astype("float32")
        self.start = np.random.default_rng(1).choice(n, k, replace=False)

    def fit(self, metric):
        return KMedoids(len(self.start), metric=metric, init=self.start).fit(self.X)

    def time_fit(self, _, metric):
        self.fit(metric)

    def time_floor(self, _, metric):
        if metric == "precomputed":
            self.X.min()
        else:
            self.X @ self.X.T

    def peakmem_fit(self, _, metric):
        self.fit(metric)

    def track_inertia(self, _, metric):
        return self.fit(metric).inertia_


class Medians:
    """Against one step's distances, and its sorts."""

    def setup(self):
        self.X = blobs(50_000, 8, 16, "float64")

    def fit(self):
        return KMedians(16, init=self.X[:16], max_iter=10, tol=0).fit(self.X)

    def time_fit(self):
        self.fit()

    def time_floor_distances(self):
        cdist(self.X, self.X[:16], "cityblock")

    def time_floor_sort(self):
        np.sort(self.X, axis=0)

    def peakmem_fit(self):
        self.fit()

    def track_inertia(self):
        return self.fit().inertia_
