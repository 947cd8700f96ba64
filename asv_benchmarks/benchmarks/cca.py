"""Canonical correlations, against the product that any method by covariances needs."""

import numpy as np

from mlcore.decomposition import CCA


class Pairs:
    params = ([(20_000, 100, 60), (2_000, 20, 10)], ["independent", "dependent"])
    param_names = ("shape", "features")

    def setup(self, shape, features):
        n, p, q = shape
        rng = np.random.default_rng(0)
        shared = rng.normal(size=(n, 10))
        self.X = shared @ rng.normal(size=(10, p)) + 3 * rng.normal(size=(n, p))
        self.Y = shared @ rng.normal(size=(10, q)) + 3 * rng.normal(size=(n, q))
        if features == "dependent":  # by QR
            self.X[:, 0] = self.X[:, 1] + self.X[:, 2]

    def time_fit(self, *_):
        CCA(5).fit(self.X, self.Y)

    def peakmem_fit(self, *_):
        CCA(5).fit(self.X, self.Y)

    def time_floor_product(self, *_):
        Z = np.concatenate((self.X, self.Y), axis=1)
        Z.T @ Z
