"""Scaling to given sums, against products with the whole matrix."""

import numpy as np

from mlcore.cluster import sinkhorn


class Sinkhorn:
    params = ([0.3, 0.03], ["K", "log_K"])
    param_names = ("reg", "given")

    def setup(self, reg, given):
        rng = np.random.default_rng(0)
        X, Y = rng.normal(size=(1000, 4)), 0.3 + 1.2 * rng.normal(size=(1500, 4))
        L = -((X[:, None] - Y) ** 2).sum(axis=2) / (9 * reg)
        r, c = rng.gamma(2, size=1000) + 0.2, rng.gamma(2, size=1500) + 0.2
        self.K = np.exp(L)
        matrix = {"K": self.K} if given == "K" else {"log_K": L}
        self.arguments = {"rows": r, "columns": c * (r.sum() / c.sum()), **matrix}

    def time_sinkhorn(self, reg, given):
        sinkhorn(tol=1e-8, **self.arguments)

    def time_floor_products_and_a_copy(self, reg, given):
        for _ in range(3):
            self.K @ self.K[0]
        self.K.copy()

    def peakmem_sinkhorn(self, reg, given):
        sinkhorn(tol=1e-8, **self.arguments)

    def track_duality_gap(self, reg, given):
        return sinkhorn(tol=1e-8, **self.arguments).duality_gap
