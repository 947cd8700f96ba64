"""Timings of quadratic discriminant analysis."""

import numpy as np

from mlcore.discriminant import QuadraticDiscriminantAnalysis


class QuadraticDiscriminant:
    """Fit and prediction beside the bare product X'X, the floor of the fit."""

    params, param_names = [50, 200], ["n_features"]

    def setup(self, n_features):
        rng = np.random.default_rng(0)
        self.y = np.arange(10_000) % 10
        self.X = rng.normal(size=(10_000, n_features)) + rng.normal(size=(10, n_features))[self.y]
        self.model = QuadraticDiscriminantAnalysis().fit(self.X, self.y)

    def time_fit(self, n_features):
        QuadraticDiscriminantAnalysis().fit(self.X, self.y)

    def time_predict(self, n_features):
        self.model.predict(self.X)

    def time_floor(self, n_features):
        self.X.T @ self.X
