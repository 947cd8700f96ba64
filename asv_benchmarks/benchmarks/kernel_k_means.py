"""Kernel k-means from given labels, with the Gram matrix kept and in blocks."""

import warnings

import numpy as np

from mlcore.cluster import KernelKMeans
from mlcore.kernels import gram_matrix

N_CLUSTERS, GAMMA = 10, 1 / 16


class Steps:
    """Against the Gram matrix alone, which all steps read."""

    params = ([2_000, 5_000], ["whole", "blocks"])
    param_names = ("n_samples", "memory")

    def setup(self, n_samples, memory):
        rng = np.random.default_rng(0)
        centers = rng.normal(scale=1.5, size=(N_CLUSTERS, 16))
        self.X = centers[rng.integers(0, N_CLUSTERS, n_samples)] + rng.normal(size=(n_samples, 16))
        self.start = rng.integers(0, N_CLUSTERS, n_samples)
        self.cache_size = 1000 if memory == "whole" else 4e-6 * n_samples**2  # half

    def fit(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ten steps are not all
            return KernelKMeans(
                N_CLUSTERS,
                gamma=GAMMA,
                init=self.start,
                max_iter=10,
                tol=0,
                cache_size=self.cache_size,
            ).fit(self.X)

    def time_fit(self, *_):
        self.fit()

    def time_floor_gram(self, *_):
        gram_matrix(self.X, gamma=GAMMA)

    def peakmem_fit(self, *_):
        self.fit()

    def track_inertia(self, *_):
        return self.fit().inertia_
