"""k-means from given centres, its seeding, and its steps on batches."""

import numpy as np
from scipy import sparse as sp

from mlcore.cluster import KMeans, MiniBatchKMeans

SHAPES = {  # n_samples, n_features, n_clusters
    "few centres": (200_000, 2, 16),
    "plain, then bounds": (200_000, 8, 64),
    "bounds": (20_000, 128, 100),
    "few centres near each other": (50_000, 40, 20),
    "no clusters": (200_000, 40, 20),
}
SCALES = {"few centres near each other": 0.3, "no clusters": 0.0}


def blobs(n, d, k, dtype, scale=4.0):
    rng = np.random.default_rng(0)
    centers = rng.normal(scale=scale, size=(k, d))
    return (centers[rng.integers(0, k, n)] + rng.normal(size=(n, d))).astype(dtype)


class Lloyd:
    """Against one product of all samples with all centres: the first of the passes in the fit."""

    params = (list(SHAPES), ["float32", "float64"])
    param_names = ("shape", "dtype")

    def setup(self, shape, dtype):
        n, d, k = SHAPES[shape]
        self.X = blobs(n, d, k, dtype, SCALES.get(shape, 4.0))
        self.start = self.X[np.random.default_rng(1).choice(n, k, replace=False)]

    def fit(self):
        return KMeans(len(self.start), init=self.start, max_iter=20, tol=0).fit(self.X)

    def time_fit(self, *_):
        self.fit()

    def time_few_steps(self, *_):
        KMeans(len(self.start), init=self.start, max_iter=3, tol=0).fit(self.X)

    def time_floor_product(self, *_):
        self.X @ self.start.T

    def peakmem_fit(self, *_):
        self.fit()

    def track_inertia(self, *_):
        return self.fit().inertia_


class MissingValues:
    """A tenth of the values is missing; complete samples for comparison."""

    params, param_names = ["error", "ignore"], ["missing"]

    def setup(self, missing):
        self.X = blobs(50_000, 8, 16, "float64")
        self.start, rng = self.X[:16].copy(), np.random.default_rng(1)
        if missing == "ignore":
            self.X[rng.random(self.X.shape) < 0.1] = np.nan
        self.model = KMeans(16, init=self.start, max_iter=20, tol=0, missing=missing)

    def time_fit(self, missing):
        self.model.fit(self.X)


class Documents:
    """Sparse rows of length 1, like tf-idf, against one product of all rows with the centres."""

    params = ([(10_000, 10_000, 20), (5_000, 30_000, 50)],)
    param_names = ("shape",)

    def setup(self, shape):
        n, d, self.k = shape
        rng = np.random.default_rng(0)
        topics = rng.integers(0, self.k, n)
        words = np.minimum((d ** rng.random((n, 80))).astype(np.int64), d - 1)
        words[:, :40] = (7 * words[:, :40] + 401 * topics[:, None]) % d
        X = sp.csr_array((np.ones(80 * n), (np.repeat(np.arange(n), 80), words.ravel())), (n, d))
        X.sum_duplicates()
        X.data *= (1 + np.log(n / np.bincount(X.indices, minlength=d).clip(1)))[X.indices]
        lengths = np.sqrt(X.multiply(X).sum(axis=1))
        X.data /= np.repeat(lengths, np.diff(X.indptr))
        self.X, self.start = X, X[rng.choice(n, self.k, replace=False)].toarray()

    def fit(self):
        return KMeans(self.k, init=self.start, max_iter=20, tol=0).fit(self.X)

    def time_fit(self, _):
        self.fit()

    def time_begin(self, _):
        KMeans(self.k, random_state=0).begin(self.X)

    def time_floor_product(self, _):
        self.X @ self.start.T

    def peakmem_fit(self, _):
        self.fit()

    def track_inertia(self, _):
        return self.fit().inertia_


class Seeding:
    """k-means++, against as many products of all samples with its trials."""

    params = (list(SHAPES),)
    param_names = ("shape",)

    def setup(self, shape):
        n, d, self.k = SHAPES[shape]
        self.X = blobs(n, d, self.k, "float64")
        self.trials = self.X[: 2 + int(np.log(self.k))]

    def begin(self):
        return KMeans(self.k, random_state=0).begin(self.X)

    def time_begin(self, *_):
        self.begin()

    def time_floor_products(self, *_):
        for _ in range(self.k):
            self.X @ self.trials.T

    def peakmem_begin(self, *_):
        self.begin()

    def track_inertia(self, *_):
        return -self.begin().score(self.X)


class Batches:
    """MiniBatchKMeans, against one step of Lloyd's algorithm on all samples."""

    def setup(self):
        n, d, self.k = SHAPES["plain, then bounds"]
        self.X = blobs(n, d, self.k, "float64")

    def fit(self):
        return MiniBatchKMeans(self.k, init=self.X[: self.k], random_state=0).fit(self.X)

    def time_fit(self):
        self.fit()

    def time_floor_step(self):
        KMeans(self.k, init=self.X[: self.k], max_iter=1).fit(self.X)

    def peakmem_fit(self):
        self.fit()

    def track_inertia(self):
        return self.fit().inertia_
