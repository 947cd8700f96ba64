"""The steps of the aspect model on random counts, beside what they cannot do without."""

import numpy as np
from scipy import sparse as sp

from mlcore.mixture import PLSA

STEPS = 10


def counts(n_samples, n_features, length, seed=0):
    """Documents of about `length` words whose frequencies fall as 1 / rank."""
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(3, n_features + 3)
    words = rng.choice(n_features, size=n_samples * length, p=share / share.sum())
    documents = np.repeat(np.arange(n_samples), length)
    shape = (n_samples, n_features)
    return sp.coo_array((np.ones(len(words)), (documents, words)), shape=shape).tocsr()


class Steps:
    """Against two products with tables in the place of the counts' arithmetic."""

    params = ([5, 20, 100], ["float32", "float64"])
    param_names = ("n_components", "dtype")

    def setup(self, k, dtype):
        self.X = counts(4000, 5000, 100).astype(dtype)
        self.u = np.random.default_rng(1).random((5000, k)).astype(dtype)
        self.model = PLSA(n_components=k, tol=0, max_iter=STEPS, random_state=0)

    def time_fit(self, *_):
        self.model.fit(self.X)

    def time_floor_products(self, *_):
        for _ in range(STEPS):
            self.X.T @ (self.X @ self.u)

    def peakmem_fit(self, *_):
        self.model.fit(self.X)

    def track_log_likelihood(self, *_):
        return float(self.model.fit(self.X).log_likelihood_trace_[-1])


class FoldIn:
    """New documents, against one product of their counts with the components."""

    def setup(self):
        self.X = counts(4000, 5000, 100)
        self.model = PLSA(n_components=20, tol=0, max_iter=STEPS, random_state=0)
        self.model.fit(self.X)

    def time_transform(self):
        self.model.transform(self.X)

    def time_floor_product(self):
        self.X @ self.model.components_.T

    def track_perplexity(self):
        return self.model.perplexity(self.X)
