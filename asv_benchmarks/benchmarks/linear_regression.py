"""Timings of linear regression."""

import numpy as np
from scipy import sparse as sp

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
