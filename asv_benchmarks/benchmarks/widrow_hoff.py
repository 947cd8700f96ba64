"""Timings of Widrow and Hoff's rule."""

import numpy as np

from mlcore.online import WidrowHoff


class Rounds:
    """One pass of steps beside the product X w, the floor of its predictions."""

    params, param_names = [50, 784], ["n_features"]

    def setup(self, n_features):
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(20_000, n_features))
        self.y = self.X[:, 0] + rng.normal(size=20_000)
        self.w = np.ones(n_features)

    def time_fit(self, n_features):
        WidrowHoff().fit(self.X, self.y)

    def time_floor(self, n_features):
        self.X @ self.w
