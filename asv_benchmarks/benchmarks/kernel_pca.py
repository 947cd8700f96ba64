"""Kernel PCA against LAPACK's leading eigenvectors of the centred matrix, which it must beat."""

import numpy as np
from scipy import linalg

from mlcore.decomposition import KernelPCA
from mlcore.kernels import center_gram, gram_matrix


class KernelPCAFit:
    params, param_names = [1_000, 4_000], ["n_samples"]

    def setup(self, n_samples):
        self.X = np.random.default_rng(0).normal(size=(n_samples, 16))

    def time_fit(self, n_samples):
        KernelPCA(20, kernel="rbf", random_state=0).fit(self.X)

    def time_lapack(self, n_samples):
        K = center_gram(gram_matrix(self.X, gamma=1 / 16))
        linalg.eigh(K, subset_by_index=[n_samples - 20, n_samples - 1], check_finite=False)
