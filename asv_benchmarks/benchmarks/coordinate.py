"""Timings of the lasso, of one target and of several."""

import numpy as np
from scipy import sparse as sp

from mlcore.linear_model import ElasticNet, Lasso


class LassoFits:
    """One penalty, and a path of 100, beside the bare product X'X, the floor of both."""

    params, param_names = [[(5_000, 50), (10_000, 400)]], ["shape"]

    def setup(self, shape):
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=shape)
        self.y = self.X[:, :10].sum(axis=1) + rng.normal(size=shape[0])

    def time_fit(self, shape):
        Lasso(alpha=0.1).fit(self.X, self.y)

    def time_path(self, shape):
        Lasso().path(self.X, self.y)

    def time_floor(self, shape):
        self.X.T @ self.X


class SparseLasso:
    """One entry in fifty."""

    def setup(self):
        rng = np.random.default_rng(0)
        self.X = sp.random_array((20_000, 500), density=0.02, format="csr", random_state=rng)
        self.y = rng.normal(size=20_000)

    def time_path(self):
        Lasso().path(self.X, self.y)


class SeveralTargets:
    """The coefficients of a feature are a group, penalised by its length."""

    params, param_names = [[(5_000, 50, 5), (200, 2_000, 5)]], ["shape"]

    def setup(self, shape):
        rng = np.random.default_rng(0)
        n, d, k = shape
        self.X = rng.normal(size=(n, d))
        self.Y = self.X[:, :10] @ rng.normal(size=(10, k)) + rng.normal(size=(n, k))

    def fit(self):
        return ElasticNet(alpha=0.1, l1_ratio=0.9, multi_task=True).fit(self.X, self.Y)

    def time_fit(self, shape):
        self.fit()

    def track_gap(self, shape):
        return self.fit().duality_gap_

    def time_floor_product(self, shape):
        self.X.T @ self.Y
