"""Rows per second of perceptrons, beside the products that their predictions need."""

import time

import numpy as np
from scipy import sparse

from mlcore.linear_model import Perceptron

N_ROWS, N_EPOCHS = 20_000, 5


class LinearRounds:
    """Epochs over rows of classes that overlap, dense and sparse (a twentieth of the values)."""

    params = ([50, 784], [2, 10], ["dense", "sparse"])
    param_names = ("n_features", "n_classes", "form")

    def setup(self, n_features, n_classes, form):
        rng = np.random.default_rng(0)
        self.y = rng.integers(n_classes, size=N_ROWS)
        centers = rng.normal(size=(n_classes, n_features)) * 2 / np.sqrt(n_features)
        self.X = rng.normal(size=(N_ROWS, n_features)) + centers[self.y]
        if form == "sparse":
            self.X = sparse.csr_array(self.X * (rng.random(self.X.shape) < 0.05))
        self.weights = np.ones((n_features, 1 if n_classes == 2 else n_classes))
        self.model = Perceptron(max_iter=N_EPOCHS)

    def time_fit(self, *_):
        self.model.fit(self.X, self.y)

    def track_rows_per_second(self, *_):
        start = time.perf_counter()
        self.model.fit(self.X, self.y)
        return N_ROWS * self.model.n_iter_ / (time.perf_counter() - start)

    def time_floor(self, *_):
        for _epoch in range(N_EPOCHS):
            self.X @ self.weights


class OneRound:
    """A prediction and a correction, for one row of a stream."""

    def setup(self):
        rng = np.random.default_rng(0)
        self.x = rng.normal(size=50)
        self.model = Perceptron().partial_fit(rng.normal(size=(9, 50)), np.arange(9) % 2)

    def time_predict_one(self):
        self.model.predict_one(self.x)

    def time_update(self):
        self.model.update(self.x, 1)
