"""Kernel CCA, against the decompositions of both centred Gram matrices that its formula names."""

import numpy as np
from scipy import linalg

from mlcore.decomposition import KernelCCA
from mlcore.kernels import center_gram, gram_matrix


class KernelPairs:
    """Linear kernels have a small rank, of which a fit makes use; the wide rbf's is large."""

    params = ([500, 1_000], ["linear", "rbf"])
    param_names = ("n_samples", "kernel")

    def setup(self, n_samples, kernel):
        if n_samples > 500 and kernel == "rbf":
            raise NotImplementedError("takes longer than a benchmark may: run it by hand")
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(n_samples, 16))
        self.Y = self.X[:, :8] ** 2 + rng.normal(size=(n_samples, 8))

    def time_fit(self, n_samples, kernel):
        KernelCCA(2, kernel=kernel).fit(self.X, self.Y)

    def peakmem_fit(self, n_samples, kernel):
        KernelCCA(2, kernel=kernel).fit(self.X, self.Y)

    def time_lapack(self, n_samples, kernel):
        for Z in (self.X, self.Y):
            linalg.eigh(center_gram(gram_matrix(Z, kernel=kernel, gamma=1 / 16)))
