"""Timings of logistic regressions of many costs."""

import numpy as np

from mlcore.linear_model import LogisticRegression, LogisticRegressionCV


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


class LogisticSearch:
    """60 costs in 10 folds; the path of all samples is about a tenth of it."""

    params, param_names = [[(768, 8), (569, 30)], [0.0, 1.0]], ["shape", "l1_ratio"]

    def setup(self, shape, l1_ratio):
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=shape)
        self.y = self.X[:, :4].sum(axis=1) + 2 * rng.logistic(size=shape[0]) > 0
        self.model = LogisticRegressionCV(Cs=60, l1_ratio=l1_ratio, cv=10)

    def time_search(self, shape, l1_ratio):
        self.model.fit(self.X, self.y)

    def peakmem_search(self, shape, l1_ratio):
        self.model.fit(self.X, self.y)

    def track_largest_relative_gap(self, shape, l1_ratio):
        found = self.model.fit(self.X, self.y)
        return float(found.duality_gaps_.max() / len(self.y))
