"""Mixtures of Bernoulli products: 20 steps from a given start."""

import warnings

import numpy as np
from scipy import sparse

from mlcore.mixture import BernoulliMixture

STEPS = 20


class Bits:
    """Against the two dense products of each step, and against one pass over X."""

    params = ([0.05, 0.25, 0.5], ["dense", "csr"])
    param_names = ("share_of_ones", "layout")

    def setup(self, share, layout):
        rng = np.random.default_rng(0)
        k, d = 20, 784
        means = rng.beta(share, 1 - share, (k, d))
        self.dense = (rng.random((3000, d)) < means[rng.integers(0, k, 3000)]).astype(float)
        self.X = sparse.csr_array(self.dense) if layout == "csr" else self.dense
        self.U, self.R = np.ascontiguousarray(means.T), rng.dirichlet(np.ones(k), 3000)
        start = {"weights_init": np.full(k, 1 / k), "means_init": rng.uniform(0.25, 0.75, (k, d))}
        self.mixture = BernoulliMixture(k, alpha=0.0, tol=0, max_iter=STEPS, **start)

    def time_fit(self, *_):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.mixture.fit(self.X)

    def time_floor_products(self, *_):
        for _step in range(STEPS):
            self.dense @ self.U
            self.R.T @ self.dense

    def time_floor_memory(self, *_):
        for _step in range(STEPS):
            self.dense.sum()

    def peakmem_fit(self, *_):
        self.time_fit()
