"""Mixtures of columns of several kinds: 20 steps."""

import warnings

import numpy as np

from mlcore.mixture import GaussianMixture, MixedMixture

STEPS = 20


class Mixed:
    """Against the steps of its Gaussian columns alone."""

    params = ([2, 8],)
    param_names = ("n_components",)

    def setup(self, n_components):
        rng = np.random.default_rng(0)
        z = rng.integers(0, 3, (20_000, 1))
        numbers = rng.normal(size=(len(z), 4)) + 2 * z
        answers = (z + rng.integers(0, 2, (len(z), 4))) % 4
        bits = rng.random((len(z), 4)) < 0.2 + 0.3 * z
        self.X = np.hstack([numbers, answers, bits]).astype(float)
        columns = {"gaussian": range(4), "categorical": range(4, 8), "bernoulli": range(8, 12)}
        options = {"tol": 0, "max_iter": STEPS, "random_state": 0}
        self.mixed = MixedMixture(n_components, columns=columns, **options)
        self.gaussian = GaussianMixture(n_components, **options)

    def time_fit(self, _):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.mixed.fit(self.X)

    def time_floor_gaussian(self, _):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.gaussian.fit(self.X[:, :4])
