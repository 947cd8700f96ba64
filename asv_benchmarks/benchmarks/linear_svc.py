"""Timings of linear support vector machines."""

import numpy as np
from scipy import sparse as sp

from mlcore.svm import LinearSVC, LinearSVR


class LinearMachines:
    """One fit of each loss, beside ten products with the rows and their transpose."""

    params = [["hinge", "squared_hinge"], [(30_000, 100), (5_000, 400)]]
    param_names = ["loss", "shape"]

    def setup(self, loss, shape):
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=shape)
        f = self.X[:, :10].sum(axis=1) / 3
        self.y = f + 0.5 * rng.normal(size=shape[0])
        self.labels = self.y > 0.4
        self.w = np.zeros(shape[1])

    def time_classes(self, loss, shape):
        LinearSVC(loss=loss).fit(self.X, self.labels)

    def time_numbers(self, loss, shape):
        loss = loss.replace("hinge", "epsilon_insensitive")
        LinearSVR(epsilon=0.1, loss=loss).fit(self.X, self.y)

    def time_floor(self, loss, shape):
        for _ in range(10):
            self.X.T @ (self.X @ self.w)


class SparseLinearMachines:
    """Seventy entries a row, more features than samples, as texts have them."""

    params, param_names = ["hinge", "squared_hinge"], ["loss"]

    def setup(self, loss):
        rng = np.random.default_rng(0)
        self.X = sp.random_array((5_000, 20_000), density=0.0035, format="csr", random_state=rng)
        self.y = self.X @ rng.normal(size=20_000) > 0

    def time_classes(self, loss):
        LinearSVC(loss=loss).fit(self.X, self.y)
