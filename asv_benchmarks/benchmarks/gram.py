"""Gram matrices: the dense and sparse blocks, the loops without BLAS, and sums over kernel rows."""

import numpy as np
from scipy import sparse

from mlcore.kernels import gram_matrix
from mlcore.kernels.expansion import Expansion
from mlcore.kernels.vector_kernels import as_kernel

ROWS_CHECKED = 20


class DenseGram:
    """Against the bare product X Xᵀ, and against one pass over the memory of K."""

    params = (["rbf", "polynomial"], [16, 784], ["float32", "float64"])
    param_names = ("kernel", "n_features", "dtype")

    def setup(self, kernel, n_features, dtype):
        self.X = np.random.default_rng(0).normal(size=(2000, n_features)).astype(dtype)
        self.K = np.empty((2000, 2000), dtype=dtype)
        self.options = {"kernel": kernel, "gamma": 0.5 / n_features}

    def time_gram(self, kernel, n_features, dtype):
        gram_matrix(self.X, **self.options, out=self.K)

    def time_floor_product(self, kernel, n_features, dtype):
        np.matmul(self.X, self.X.T, out=self.K)

    def time_floor_memory(self, kernel, n_features, dtype):
        self.K.fill(1)

    def peakmem_gram(self, kernel, n_features, dtype):
        gram_matrix(self.X, **self.options)

    def track_largest_error(self, kernel, n_features, dtype):
        """Relative to the largest value, in units of the dtype's rounding error."""
        X = self.X.astype(np.longdouble)
        gamma = self.options["gamma"]
        if kernel == "rbf":
            differences = X[:ROWS_CHECKED, None] - X
            exact = np.exp(-gamma * np.einsum("ijd,ijd->ij", differences, differences))
        else:
            exact = (gamma * X[:ROWS_CHECKED] @ X.T + 1) ** 3
        error = np.abs(gram_matrix(self.X, **self.options)[:ROWS_CHECKED] - exact).max()
        return float(error / np.abs(exact).max() / np.finfo(dtype).eps)

    track_largest_error.unit = "eps"


class ElementwiseGram:
    """Kernels that are no function of a product; the product is still the least work."""

    params = (["laplacian", "chi2"], ["float32", "float64"])
    param_names = ("kernel", "dtype")

    def setup(self, kernel, dtype):
        self.X = np.random.default_rng(0).random(size=(500, 64)).astype(dtype)
        self.K = np.empty((500, 500), dtype=dtype)

    def time_gram(self, kernel, dtype):
        gram_matrix(self.X, kernel=kernel, gamma=0.1, out=self.K)

    def time_floor_product(self, kernel, dtype):
        np.matmul(self.X, self.X.T, out=self.K)


class SparseGram:
    """CSR against the SciPy product of the same matrices, which leaves the kernel out."""

    params = ([0.01, 0.1],)
    param_names = ("density",)

    def setup(self, density):
        rng = np.random.default_rng(0)
        self.X = sparse.random_array((1000, 2000), density=density, format="csr", random_state=rng)
        self.gamma = 1 / (2000 * density)

    def time_gram(self, density):
        gram_matrix(self.X, kernel="rbf", gamma=self.gamma)

    def time_scipy_product(self, density):
        (self.X @ self.X.T).toarray()

    def peakmem_gram(self, density):
        gram_matrix(self.X, kernel="rbf", gamma=self.gamma)

    def track_largest_error(self, density):
        dense = self.X.toarray()
        differences = dense[:ROWS_CHECKED, None] - dense
        exact = np.exp(-self.gamma * np.einsum("ijd,ijd->ij", differences, differences))
        K = gram_matrix(self.X, kernel="rbf", gamma=self.gamma)
        return float(np.abs(K[:ROWS_CHECKED] - exact).max() / np.finfo(float).eps)

    track_largest_error.unit = "eps"


class KernelSums:
    """What prediction computes, against the bare products that it contains."""

    params = ([1, 45],)
    param_names = ("n_functions",)

    def setup(self, n_functions):
        rng = np.random.default_rng(0)
        self.X, self.V = rng.normal(size=(5000, 64)), rng.normal(size=(1000, 64))
        self.A = rng.normal(size=(1000, n_functions))

    def sums(self):
        return Expansion(self.V, as_kernel("rbf", gamma=0.01)).sums(self.X, self.A)

    def time_sums(self, n_functions):
        self.sums()

    def time_floor_product(self, n_functions):
        (self.X @ self.V.T) @ self.A

    def peakmem_sums(self, n_functions):
        self.sums()
