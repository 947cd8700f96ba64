"""Silhouettes and costs of partitions, which sum distances without a matrix of them."""

import numpy as np
from scipy.spatial.distance import cdist

from mlcore.cluster import clustering_cost, silhouette_samples

ROWS_CHECKED = 20


def blobs(n_samples, n_features, n_clusters):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_clusters, n_samples)
    centers = rng.normal(size=(n_clusters, n_features))
    return rng.normal(size=(n_samples, n_features)) + centers[labels], labels


class WideSilhouette:
    """Many features, against the product of all samples with each other, formed once."""

    params = ([(2_000, 256, 20), (5_000, 784, 10), (2_000, 2_000, 2)], ["float32", "float64"])
    param_names = ("shape", "dtype")

    def setup(self, shape, dtype):
        X, self.labels = blobs(*shape)
        self.X = X.astype(dtype)

    def time_silhouette(self, *_):
        silhouette_samples(self.X, self.labels)

    def time_floor_product(self, *_):
        self.X @ self.X.T

    def peakmem_silhouette(self, *_):
        silhouette_samples(self.X, self.labels)


class Silhouette:
    """Against the product that tells the distances, and SciPy's distances themselves."""

    params = ([4, 64, 784], ["euclidean", "cityblock"])
    param_names = ("n_features", "metric")

    def setup(self, n_features, metric):
        self.X, self.labels = blobs(1000, n_features, 10)

    def time_silhouette(self, n_features, metric):
        silhouette_samples(self.X, self.labels, metric=metric)

    def time_floor_product(self, n_features, metric):
        self.X @ self.X.T

    def time_scipy_distances(self, n_features, metric):
        cdist(self.X, self.X, metric)

    def time_cost_by_medoids(self, n_features, metric):
        clustering_cost(self.X, self.labels, "kmedoids", metric=metric)

    def peakmem_silhouette(self, n_features, metric):
        silhouette_samples(self.X, self.labels, metric=metric)

    def track_largest_error(self, n_features, metric):
        D = cdist(self.X[:ROWS_CHECKED].astype(np.longdouble), self.X, metric)
        counts = np.bincount(self.labels)
        sums = np.stack([D[:, self.labels == c].sum(axis=1) for c in range(10)], axis=1)
        own = self.labels[:ROWS_CHECKED]
        near = sums[np.arange(ROWS_CHECKED), own] / (counts[own] - 1)
        means = sums / counts
        means[np.arange(ROWS_CHECKED), own] = np.inf
        following = means.min(axis=1)
        exact = (following - near) / np.maximum(following, near)
        found = silhouette_samples(self.X, self.labels, metric=metric)[:ROWS_CHECKED]
        return float(np.abs(found - exact).max() / np.finfo(float).eps)

    track_largest_error.unit = "eps"
