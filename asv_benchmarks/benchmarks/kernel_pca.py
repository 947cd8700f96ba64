"""Kernel PCA against LAPACK's leading eigenvectors of the centred matrix, which it must beat."""

import numpy as np
from scipy import linalg

from mlcore.decomposition import KernelPCA, NystroemPCA
from mlcore.kernels import GramCenterer, center_gram, gram_matrix


class KernelPCAFit:
    params, param_names = [500, 2_000], ["n_samples"]

    def setup(self, n_samples):
        self.X = np.random.default_rng(0).normal(size=(n_samples, 16))

    def time_fit(self, n_samples):
        KernelPCA(20, kernel="rbf", random_state=0).fit(self.X)

    def time_lapack(self, n_samples):
        K = center_gram(gram_matrix(self.X, gamma=1 / 16))
        linalg.eigh(K, subset_by_index=[n_samples - 20, n_samples - 1], check_finite=False)


class KernelPCANystroem:
    """Against the two products that it is made of: with the centres, and of the features."""

    params, param_names = [4_000, 40_000], ["n_samples"]

    def setup(self, n_samples):
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(n_samples, 16))
        self.L = np.eye(300)

    def time_fit(self, n_samples):
        NystroemPCA(20, kernel="rbf", n_centers=300, random_state=0).fit(self.X)

    def time_floor(self, n_samples):
        F = linalg.solve_triangular(self.L, gram_matrix(self.X[:300], self.X), lower=True)
        F @ F.T


class PreImages:
    """The ridge regression, and the steps of the rbf kernel beyond it, on 200 new rows."""

    params, param_names = ["rbf", "laplacian"], ["kernel"]

    def setup(self, kernel):
        X = np.random.default_rng(0).normal(size=(1_200, 16))
        self.model = KernelPCA(
            20, kernel=kernel, gamma=0.02, fit_inverse_transform=True, random_state=0
        ).fit(X[:1_000])
        self.Y = self.model.transform(X[1_000:])

    def time_inverse_transform(self, kernel):
        self.model.inverse_transform(self.Y)


class Centering:
    """Against a copy of the matrix, which reads and writes as much."""

    def setup(self):
        self.K = gram_matrix(np.random.default_rng(0).normal(size=(2_000, 16)))
        self.centerer = GramCenterer().fit(self.K)

    def time_transform(self):
        self.centerer.transform(self.K)

    def time_copy(self):
        self.K.copy()
