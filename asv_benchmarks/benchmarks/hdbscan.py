"""HDBSCAN and DBSCAN of many points, against their neighbours alone."""

import numpy as np

from mlcore.cluster import DBSCAN, HDBSCAN
from mlcore.numerics.neighbors import nearest_neighbors


class Densities:
    params = ([(20_000, 2), (20_000, 10), (5_000, 40)],)
    param_names = ("shape",)

    def setup(self, shape):
        n, d = shape
        rng = np.random.default_rng(0)
        centers, widths = rng.uniform(-10, 10, (20, d)), rng.uniform(0.2, 1, 20)
        group = rng.integers(0, 20, n)
        self.X = centers[group] + widths[group, None] * rng.normal(size=(n, d))
        noise = rng.random(n) < 0.1
        self.X[noise] = rng.uniform(-12, 12, (int(noise.sum()), d))
        self.model = HDBSCAN(15).fit(self.X)
        self.eps = float(np.median(self.model.core_distances_))

    def time_hdbscan(self, _):
        HDBSCAN(15).fit(self.X)

    def time_dbscan(self, _):
        DBSCAN(self.eps, min_samples=15).fit(self.X)

    def time_predict(self, _):
        self.model.predict(self.X[:1000])

    def time_floor_neighbors(self, _):
        nearest_neighbors(self.X, 15, include_self=True)

    def peakmem_hdbscan(self, _):
        HDBSCAN(15).fit(self.X)


class Metric:
    """Prim's algorithm by rows of distances."""

    def setup(self):
        self.X = np.random.default_rng(0).normal(size=(2_000, 5))

    def time_cityblock(self):
        HDBSCAN(15, metric="cityblock").fit(self.X)
