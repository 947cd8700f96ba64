"""Agreement of partitions, above all the expected information of many clusters."""

import numpy as np

from mlcore.cluster import (
    adjusted_mutual_information,
    adjusted_rand_index,
    contingency_matrix,
    mutual_information,
)


class Agreement:
    """Against counting the pairs of labels, without which nothing is known."""

    params = ([(50, 3), (100_000, 20_000), (1_000_000, 10), (1_000_000, 1_000)],)
    param_names = ("n_samples, n_clusters",)

    def setup(self, shape):
        n, k = shape
        self.labels = np.random.default_rng(0).integers(0, k, (2, n))

    def time_adjusted_mutual_information(self, shape):
        adjusted_mutual_information(*self.labels)

    def time_mutual_information(self, shape):
        mutual_information(*self.labels)

    def time_adjusted_rand_index(self, shape):
        adjusted_rand_index(*self.labels)

    def time_contingency(self, shape):
        contingency_matrix(*self.labels, sparse=True)

    def time_floor_unique(self, shape):
        np.unique(self.labels[0] * shape[1] + self.labels[1])
