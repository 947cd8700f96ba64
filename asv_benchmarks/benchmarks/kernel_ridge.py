"""Kernel ridge regression against one Cholesky factorisation in float64, which it must beat."""

import numpy as np
from scipy import linalg

from mlcore.kernel_ridge import KernelRidge, KernelRidgeCV, NystroemRidge
from mlcore.kernels import gram_matrix


class RidgeFit:
    params, param_names = [1_000, 4_000], ["n_samples"]

    def setup(self, n_samples):
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(n_samples, 16))
        self.y = np.sin(self.X[:, 0]) + rng.normal(size=n_samples)

    def time_fit(self, n_samples):
        KernelRidge(0.1, kernel="rbf").fit(self.X, self.y)

    def time_fit_without_gram_matrix(self, n_samples):
        KernelRidge(0.1, kernel="rbf", solver="cg", random_state=0).fit(self.X, self.y)

    def time_factor_in_float64(self, n_samples):
        K = gram_matrix(self.X)
        K.flat[:: n_samples + 1] += 0.1
        linalg.cho_solve(linalg.cho_factor(K.T, overwrite_a=True, check_finite=False), self.y)


class RidgeInSpan:
    """Nyström's method, against the features' inner products that it sums."""

    params, param_names = [10_000, 50_000], ["n_samples"]

    def setup(self, n_samples):
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(n_samples, 8))
        self.y = np.sin(self.X[:, 0]) + rng.normal(size=n_samples)
        self.features = gram_matrix(self.X, self.X[:500])
        self.model = NystroemRidge(1.0, kernel="rbf", n_centers=500, random_state=0)

    def time_fit(self, n_samples):
        self.model.fit(self.X, self.y)

    def peakmem_fit(self, n_samples):
        self.model.fit(self.X, self.y)

    def time_fit_with_alpha_by_leave_one_out(self, n_samples):
        NystroemRidge("loo", kernel="rbf", n_centers=100, random_state=0).fit(self.X, self.y)

    def time_inner_products(self, n_samples):
        linalg.blas.dsyrk(1.0, self.features.T)


class RidgeChoice:
    """Exact leave-one-out errors of all alphas, against the eigenvectors that they rest on."""

    params, param_names = [300, 2_000], ["n_samples"]

    def setup(self, n_samples):
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(n_samples, 16))
        self.y = np.sin(self.X[:, 0]) + rng.normal(size=n_samples)
        self.many = np.geomspace(1e-3, 1e3, 20)

    def time_three_alphas(self, n_samples):
        KernelRidgeCV(self.many[:3], ["scale"], kernel="rbf").fit(self.X, self.y)

    def time_twenty_alphas(self, n_samples):
        KernelRidgeCV(self.many, ["scale"], kernel="rbf").fit(self.X, self.y)

    def time_eigenvectors(self, n_samples):
        linalg.eigh(gram_matrix(self.X), overwrite_a=True, check_finite=False, driver="evd")


class LargeRidgeFit:
    """Samples whose Gram matrix, of 800 MB, is never stored."""

    def setup(self):
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(10_000, 8))
        self.y = np.sin(self.X[:, 0]) + rng.normal(size=10_000)
        self.model = KernelRidge(1.0, kernel="rbf", solver="cg", tol=1e-6, random_state=0)

    def time_fit(self):
        self.model.fit(self.X, self.y)

    def peakmem_fit(self):
        self.model.fit(self.X, self.y)
