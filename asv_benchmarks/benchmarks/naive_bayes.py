"""Naive Bayes, against one reading of the same entries by NumPy."""

import numpy as np
from scipy import sparse as sp

from mlcore.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    Discretizer,
    GaussianNB,
    MixedNB,
    MultinomialNB,
)


class Words:
    """Fits to rows of sparse counts, in order or not, and their probabilities."""

    params, param_names = [10_000], ["n_samples"]

    def setup(self, n_samples):
        rng = np.random.default_rng(0)
        self.X = sp.random_array((n_samples, 10_000), density=0.005, format="csr", random_state=rng)
        self.X.data = np.ceil(3 * self.X.data)
        self.y = rng.integers(0, 20, n_samples)
        self.fitted = MultinomialNB().fit(self.X, self.y)
        self.table = np.ascontiguousarray(self.fitted.feature_log_prob_.T)
        names = rng.permutation(10_000).astype(self.X.indices.dtype)
        parts = self.X.data.astype(np.int64), names[self.X.indices], self.X.indptr
        self.renamed = sp.csr_array(parts, shape=self.X.shape)

    def time_multinomial(self, n_samples):
        MultinomialNB().fit(self.X, self.y)

    def time_bernoulli(self, n_samples):
        BernoulliNB().fit(self.X, self.y)

    def time_multinomial_unsorted(self, n_samples):
        MultinomialNB().fit(self.renamed, self.y)

    def time_bernoulli_unsorted(self, n_samples):
        BernoulliNB().fit(self.renamed, self.y)

    def time_probabilities(self, n_samples):
        self.fitted.predict_proba(self.X)

    def time_probabilities_unsorted(self, n_samples):
        self.fitted.predict_proba(self.renamed)

    def time_product(self, n_samples):
        self.X @ self.table

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


class Numbers:
    """Fits to dense numbers, and codes of intervals of them."""

    params, param_names = [30_000], ["n_samples"]

    def setup(self, n_samples):
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(n_samples, 50))
        self.y = rng.integers(0, 5, n_samples)
        self.X[:, 0] += self.y
        self.codes = Discretizer().fit_transform(self.X)
        self.gaussian = GaussianNB().fit(self.X, self.y)
        self.categorical = CategoricalNB().fit(self.codes, self.y)
        self.columns = {"gaussian": list(range(25)), "categorical": list(range(25, 50))}
        self.mixed = np.hstack([self.X[:, :25], self.codes[:, 25:]])

    def time_gaussian(self, n_samples):
        GaussianNB().fit(self.X, self.y)

    def time_gaussian_probabilities(self, n_samples):
        self.gaussian.predict_proba(self.X)

    def time_categorical(self, n_samples):
        CategoricalNB().fit(self.codes, self.y)

    def time_categorical_probabilities(self, n_samples):
        self.categorical.predict_proba(self.codes)

    def time_mixed(self, n_samples):
        MixedNB(columns=self.columns).fit(self.mixed, self.y)

    def time_quantiles(self, n_samples):
        Discretizer().fit_transform(self.X)

    def time_intervals_by_labels(self, n_samples):
        Discretizer(strategy="mdl").fit_transform(self.X, self.y)

    def time_floor(self, n_samples):
        self.X.sum(axis=0)
