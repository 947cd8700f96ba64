"""Timings of the lasso with more features than samples, and of sparse samples."""

import numpy as np
from scipy import sparse as sp

from mlcore.linear_model import Lasso


class WideLasso:
    """One penalty, and a path of 100, beside ten products X'r, fewer than any path needs."""

    params, param_names = [["200 x 2000", "500 x 10000", "sparse 1000 x 5000"]], ["samples"]

    def setup(self, samples):
        rng = np.random.default_rng(0)
        n, d = (int(number) for number in samples.split()[-3::2])
        if samples.startswith("sparse"):
            self.X = sp.random_array((n, d), density=0.015, format="csr", random_state=rng)
        else:
            self.X = rng.normal(size=(n, d))
        self.y = self.X[:, :10].sum(axis=1) + rng.normal(size=n)

    def time_fit(self, samples):
        Lasso(alpha=0.1).fit(self.X, self.y)

    def time_path(self, samples):
        Lasso().path(self.X, self.y)

    def peakmem_path(self, samples):
        Lasso().path(self.X, self.y)

    def track_gap(self, samples):
        """Largest duality gap of a path, over the objective without coefficients."""
        return float(Lasso().path(self.X, self.y).duality_gap.max() / (np.var(self.y) / 2))

    def time_floor(self, samples):
        for _ in range(10):
            self.X.T @ self.y
