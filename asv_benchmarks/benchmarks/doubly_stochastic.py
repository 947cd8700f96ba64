"""Doubly stochastic scaling and projection, against products with the whole matrix."""

import numpy as np

from mlcore.cluster import doubly_stochastic, frobenius_projection, normalize_affinity
from mlcore.kernels import gram_matrix


def affinities(n, gamma, dtype):
    X = np.random.default_rng(0).normal(size=(n, 4)).astype(dtype)
    return gram_matrix(X, gamma=gamma)


class Scaling:
    params = ([0.3, 3.0], ["float32", "float64"])
    param_names = ("gamma", "dtype")

    def setup(self, gamma, dtype):
        self.K = affinities(2000, gamma, dtype)
        self.x = np.ones(2000, dtype)

    def time_scaling(self, gamma, dtype):
        doubly_stochastic(self.K, tol=1e-8)

    def time_fixed_point(self, gamma, dtype):
        doubly_stochastic(self.K, tol=1e-8, solver="fixed_point")

    def time_normalized_cut(self, gamma, dtype):
        normalize_affinity(self.K, method="normalized_cut")

    def time_floor_two_products_and_a_copy(self, gamma, dtype):
        self.K @ self.x
        self.K @ self.x
        self.K.copy()

    def peakmem_scaling(self, gamma, dtype):
        doubly_stochastic(self.K, tol=1e-8)

    def track_residual(self, gamma, dtype):
        return doubly_stochastic(self.K).residual


class Projection:
    def setup(self):
        self.K = affinities(1000, 0.3, "float64")

    def time_projection(self):
        frobenius_projection(self.K)

    def time_floor_product(self):
        self.K @ self.K[0]
