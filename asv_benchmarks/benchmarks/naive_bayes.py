"""Naive Bayes, against one reading of the same entries by NumPy's bincount."""

import numpy as np
from scipy import sparse as sp

from mlcore.naive_bayes import BernoulliNB, MultinomialNB


class Words:
    """Fits to rows of sparse counts."""

    params, param_names = [10_000], ["n_samples"]

    def setup(self, n_samples):
        rng = np.random.default_rng(0)
        self.X = sp.random_array((n_samples, 10_000), density=0.005, format="csr", rng=rng)
        self.X.data = np.ceil(3 * self.X.data)
        self.y = rng.integers(0, 20, n_samples)

    def time_multinomial(self, n_samples):
        MultinomialNB().fit(self.X, self.y)

    def time_bernoulli(self, n_samples):
        BernoulliNB().fit(self.X, self.y)

    def time_floor(self, n_samples):
        cells = np.repeat(self.y, np.diff(self.X.indptr)) * 10_000 + self.X.indices
        np.bincount(cells, self.X.data, 200_000)


class Answers:
    """Fits to dense zeros and ones."""

    params, param_names = [30_000], ["n_samples"]

    def setup(self, n_samples):
        rng = np.random.default_rng(0)
        self.X = (rng.random((n_samples, 98)) < 0.2).astype(float)
        self.y = rng.integers(0, 2, n_samples)

    def time_bernoulli(self, n_samples):
        BernoulliNB().fit(self.X, self.y)

    def time_floor(self, n_samples):
        self.X.sum()
