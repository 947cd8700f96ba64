"""Spectral clustering, and the search for leading eigenvectors against SciPy's."""

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from mlcore.cluster import SpectralClustering
from mlcore.kernels import gram_matrix
from mlcore.numerics.eigen import Scaled, leading_eigenpairs, times

N_CLUSTERS = 8


def blobs(n, dtype):
    rng = np.random.default_rng(0)
    centers = rng.normal(scale=3, size=(N_CLUSTERS, 8))
    return (centers[rng.integers(0, N_CLUSTERS, n)] + rng.normal(size=(n, 8))).astype(dtype)


class Spectral:
    """Against the Gram matrix alone, which every fit has to form."""

    params = ([1_000, 4_000], ["float32", "float64"])
    param_names = ("n_samples", "dtype")

    def setup(self, n_samples, dtype):
        self.X = blobs(n_samples, dtype)

    def fit(self):
        return SpectralClustering(N_CLUSTERS, gamma=0.25, random_state=0).fit(self.X)

    def time_fit(self, *_):
        self.fit()

    def time_floor_gram(self, *_):
        gram_matrix(self.X, gamma=0.25)

    def peakmem_fit(self, *_):
        self.fit()

    def track_objective(self, *_):
        return self.fit().objective_


class Eigenvectors:
    """Against SciPy's Lanczos with the same matrix, and ten bare passes over it."""

    def setup(self):
        K = gram_matrix(blobs(4_000, "float64"), gamma=0.25)
        self.S = Scaled(K, 1 / np.sqrt(K.sum(axis=1)))

    def time_leading(self):
        leading_eigenpairs(self.S, N_CLUSTERS, np.random.default_rng(0))

    def time_eigsh(self):
        d = self.S.scale
        operator = LinearOperator(
            self.S.K.shape, matvec=lambda v: d * (self.S.K @ (d * np.ravel(v))), dtype=float
        )
        eigsh(operator, N_CLUSTERS, v0=np.ones(self.S.n), tol=1e-8)

    def time_floor_passes(self):
        V = np.ones((self.S.n, 16))
        for _ in range(10):
            times(self.S.K, V)
