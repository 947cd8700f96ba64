"""Latent class analysis: 30 steps from a given start."""

import warnings

import numpy as np

from mlcore.mixture import CategoricalMixture

STEPS = 30


class Answers:
    """Against the products of each step with the indicator matrix, and against reading the rows."""

    params = ([False, True],)
    param_names = ("missing",)

    def setup(self, missing):
        rng = np.random.default_rng(0)
        sizes = rng.integers(2, 6, 20)
        self.X = np.column_stack([rng.integers(0, size, 20_000) for size in sizes]).astype(float)
        indicators = [self.X[:, [i]] == np.arange(size) for i, size in enumerate(sizes)]
        self.E = np.hstack(indicators).astype(float)
        if missing:
            self.X[rng.random(self.X.shape) < 0.1] = np.nan
        tables = [rng.dirichlet(np.full(size, 2.0), 6) for size in sizes]
        self.T, self.R = np.hstack(tables).T.copy(), rng.dirichlet(np.ones(6), len(self.X))
        options = {"tol": 0, "max_iter": STEPS, "missing": "ignore", "weights_init": [1 / 6] * 6}
        self.mixture = CategoricalMixture(6, alpha=0.0, probabilities_init=tables, **options)
        self.fitted = CategoricalMixture(6, missing="ignore", max_iter=3, random_state=0).fit(
            self.X
        )
        self.words = np.where(np.isnan(self.X), None, self.X.astype(str).astype(object))
        self.fitted_words = CategoricalMixture(6, missing="ignore", max_iter=3, random_state=0)
        self.fitted_words.fit(self.words)

    def time_fit(self, _):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.mixture.fit(self.X)

    def time_standard_errors(self, missing):
        self.fitted.standard_errors(self.X)

    def time_words(self, missing):
        self.fitted_words.predict(self.words)

    def time_floor_products(self, _):
        for _step in range(STEPS):
            self.E @ self.T
            self.R.T @ self.E

    def time_floor_memory(self, _):
        for _step in range(STEPS):
            self.X.sum()

    def peakmem_fit(self, _):
        self.time_fit(_)
