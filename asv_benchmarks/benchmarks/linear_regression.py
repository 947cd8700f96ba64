"""Timings of linear regression."""

import numpy as np
from scipy import sparse as sp
from scipy.sparse.linalg import norm

from mlcore.linear_model import LinearRegression


class LeastSquares:
    """Fit and prediction beside the bare product X'X, the floor of the fit."""

    params, param_names = [50, 400], ["n_features"]

    def setup(self, n_features):
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(10_000, n_features))
        self.y = self.X[:, 0] + rng.normal(size=10_000)
        self.collinear = self.X.copy()
        self.collinear[:, 1] = self.collinear[:, 0] + 1e-6 * self.collinear[:, 1]
        self.model = LinearRegression().fit(self.X, self.y)

    def time_fit(self, n_features):
        LinearRegression().fit(self.X, self.y)

    def time_fit_of_nearly_dependent_features(self, n_features):
        LinearRegression().fit(self.collinear, self.y)

    def time_leave_one_out(self, n_features):
        self.model.leave_one_out(self.X, self.y)

    def time_predict(self, n_features):
        self.model.predict(self.X)

    def time_floor(self, n_features):
        self.X.T @ self.X


class SparseLeastSquares:
    """Fit to one entry in fifty."""

    def setup(self):
        rng = np.random.default_rng(0)
        self.X = sp.random_array((20_000, 500), density=0.02, format="csr", random_state=rng)
        self.y = rng.normal(size=20_000)

    def time_fit(self):
        LinearRegression().fit(self.X, self.y)


class WideRidge:
    """A ridge of more features than samples, or of about as many, beside the smaller product."""

    params, param_names = [[(500, 5000), (2000, 1000), (72, 7129)]], ["shape"]

    def setup(self, shape):
        rng = np.random.default_rng(0)
        n, d = shape
        factors = rng.normal(size=(n, 10)) @ rng.normal(size=(10, d)) / 2
        self.X = rng.normal(size=shape) + factors + rng.normal(size=d)
        self.y = self.X @ rng.normal(size=d) / d**0.5 + rng.normal(size=n)
        self.model = LinearRegression(alpha=1.0).fit(self.X, self.y)

    def time_fit(self, shape):
        LinearRegression(alpha=1.0).fit(self.X, self.y)

    def time_shortest_fit(self, shape):
        LinearRegression().fit(self.X, self.y)

    def time_leave_one_out(self, shape):
        self.model.leave_one_out(self.X, self.y)

    def time_path(self, shape):
        self.model.path(np.logspace(-2, 4, 20))

    def peakmem_fit(self, shape):
        LinearRegression(alpha=1.0).fit(self.X, self.y)

    def time_floor(self, shape):
        self.X @ self.X.T if shape[0] <= shape[1] else self.X.T @ self.X

    def track_gradient_norm(self, shape):
        return self.model.gradient_norm_


class WideSparseRidge:
    """A ridge of sparse rows with 75 values each, beside forty products with these, the floor."""

    params, param_names = [[(2000, 20_000), (20_000, 5000)]], ["shape"]

    def setup(self, shape):
        rng = np.random.default_rng(0)
        n, d = shape
        columns = (d * rng.random((n, 75)) ** 3).astype(int)
        data = rng.gamma(1.0, size=75 * n)
        self.X = sp.csr_array((data, columns.ravel(), np.arange(0, 75 * n + 1, 75)), shape=shape)
        self.X.sum_duplicates()
        self.X = sp.csr_array(sp.diags_array(1 / norm(self.X, axis=1)) @ self.X)
        self.y = 10 * self.X @ rng.normal(size=d) + rng.normal(size=n)

    def time_fit(self, shape):
        LinearRegression(alpha=0.1).fit(self.X, self.y)

    def peakmem_fit(self, shape):
        LinearRegression(alpha=0.1).fit(self.X, self.y)

    def time_floor(self, shape):
        for _ in range(40):
            self.X.T @ (self.X @ np.ones(shape[1]))

    def track_gradient_norm(self, shape):
        return LinearRegression(alpha=0.1).fit(self.X, self.y).gradient_norm_
