"""Intervals of metrics: AUC against the sorting of its scores, R2 against its own value."""

import numpy as np
from sklearn.metrics import r2_score, roc_auc_score

from mlcore.bounds import auc_interval, mean_loss_interval, r2_interval


class AUC:
    """A million scores of each class; the floor is their sorting, the peer has no interval."""

    def setup(self):
        rng = np.random.default_rng(0)
        self.positive, self.negative = rng.normal(1, 1, 10**6), rng.normal(0, 1, 10**6)
        self.scores = np.concatenate([self.positive, self.negative])
        self.labels = np.repeat([1, 0], 10**6)

    def time_interval(self):
        auc_interval(self.positive, self.negative, 0.05)

    def time_floor(self):
        np.sort(self.positive)
        np.sort(self.negative)

    def time_peer(self):
        roc_auc_score(self.labels, self.scores)


class MeansAndR2:
    """Losses and targets in [0, 1]; the peer has no interval."""

    params, param_names = [100, 10**6], ["n_samples"]

    def setup(self, n_samples):
        self.y, self.predictions = np.random.default_rng(0).random((2, n_samples))

    def time_mean(self, n_samples):
        mean_loss_interval(self.y, 0.05)

    def time_r2(self, n_samples):
        r2_interval(self.y, self.predictions, 0.05, value_range=(0, 1))

    def time_peer_r2(self, n_samples):
        r2_score(self.y, self.predictions)
