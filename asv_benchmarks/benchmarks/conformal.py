"""Thresholds and sets at the cost of sorting, the floor."""

import numpy as np

from mlcore.conformal import conformal_sets, conformal_threshold


class ConformalThresholds:
    """Against NumPy's sort of the same scores."""

    params, param_names = [1_000, 1_000_000], ["n_samples"]

    def setup(self, n_samples):
        rng = np.random.default_rng(0)
        self.scores, self.groups = rng.random(n_samples), rng.integers(0, 10, n_samples)

    def time_threshold(self, n_samples):
        conformal_threshold(self.scores)

    def time_given_the_calibration_set(self, n_samples):
        conformal_threshold(self.scores, delta=0.05)

    def time_groups(self, n_samples):
        conformal_threshold(self.scores, groups=self.groups)

    def time_floor(self, n_samples):
        np.sort(self.scores)


class ConformalSetsOfLabels:
    """Against NumPy's sort of the same rows."""

    params = ["least_ambiguous", "adaptive"]
    param_names = ["score"]

    def setup(self, score):
        rng = np.random.default_rng(0)
        self.P = rng.dirichlet(np.ones(20), 100_000)
        y = rng.integers(0, 20, len(self.P))
        self.sets = conformal_sets(np.asarray, self.P, y, score=score, classes=range(20))

    def time_predict(self, score):
        self.sets.predict(self.P)

    def time_floor(self, score):
        np.sort(self.P, axis=1)
