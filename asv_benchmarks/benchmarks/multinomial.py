"""Mixtures of multinomials on sparse counts: 20 steps from a given start."""

import warnings

import numpy as np
from scipy import sparse

from mlcore.mixture import MultinomialMixture

STEPS = 20


class Documents:
    """Against the two sparse products of each step, and against reading the counts."""

    params = ([5, 20],)
    param_names = ("n_components",)

    def setup(self, n_components):
        rng = np.random.default_rng(0)
        frequency = rng.pareto(1.0, 10_000) + 0.1
        topics = [rng.dirichlet(frequency / frequency.mean() * 0.2) for _ in range(n_components)]
        words = [rng.choice(10_000, 120, p=topics[i % n_components]) for i in range(3000)]
        rows = np.repeat(np.arange(3000), 120)
        X = sparse.coo_array((np.ones(rows.size), (rows, np.concatenate(words))), (3000, 10_000))
        self.X = X.tocsr()
        self.Xt = sparse.csr_array(self.X.T)
        self.R = rng.dirichlet(np.ones(n_components), X.shape[0])
        self.U = rng.dirichlet(np.full(X.shape[1], 9.0), n_components)
        weights = np.full(n_components, 1 / n_components)
        options = {"tol": 0, "max_iter": STEPS, "weights_init": weights, "means_init": self.U}
        self.mixture = MultinomialMixture(n_components, alpha=0.0, **options)
        self.U = np.ascontiguousarray(self.U.T)

    def time_fit(self, _):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.mixture.fit(self.X)

    def time_floor_products(self, _):
        for _step in range(STEPS):
            self.X @ self.U
            self.Xt @ self.R

    def time_floor_memory(self, _):
        for _step in range(STEPS):
            self.X.data.sum()
            self.X.indices.sum()

    def peakmem_fit(self, _):
        self.time_fit(_)

    def track_largest_decrease(self, _):
        self.time_fit(_)
        return float(np.maximum(0, -np.diff(self.mixture.log_likelihood_trace_)).max())
