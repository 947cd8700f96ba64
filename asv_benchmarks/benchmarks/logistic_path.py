"""Timings of logistic regressions of many costs."""

import numpy as np

from mlcore.linear_model import LogisticRegression


class LogisticPaths:
    """60 costs, beside as many products X'X, of which each path needs one at least."""

    params, param_names = [[(768, 8), (20_000, 30)], [0.0, 1.0]], ["shape", "l1_ratio"]

    def setup(self, shape, l1_ratio):
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=shape)
        self.y = self.X[:, :4].sum(axis=1) + 2 * rng.logistic(size=shape[0]) > 0
        self.model = LogisticRegression(l1_ratio=l1_ratio)

    def time_path(self, shape, l1_ratio):
        self.model.path(self.X, self.y, Cs=60)

    def time_floor(self, shape, l1_ratio):
        for _ in range(60):
            self.X.T @ self.X
