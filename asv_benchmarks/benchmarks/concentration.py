"""Bounds of whole curves, beside the formula in NumPy, which is not rounded to the safe side."""

import numpy as np

from mlcore.bounds import bernstein_epsilon, finite_class_epsilon, hoeffding_epsilon


class Curves:
    """A hundred thousand sample sizes, each with a probability of failure of its own."""

    params, param_names = ([1_000, 100_000],), ("n_entries",)

    def setup(self, n_entries):
        rng = np.random.default_rng(0)
        self.m = rng.integers(10, 10**6, n_entries)
        self.delta = rng.uniform(0.001, 0.4, n_entries)

    def time_hoeffding(self, n_entries):
        hoeffding_epsilon(self.m, self.delta)

    def time_bernstein(self, n_entries):
        bernstein_epsilon(self.m, self.delta, 0.1)

    def time_finite_class(self, n_entries):
        finite_class_epsilon(1000, self.m, self.delta)

    def time_floor(self, n_entries):
        np.sqrt(np.log(2 / self.delta) / (2 * self.m))
