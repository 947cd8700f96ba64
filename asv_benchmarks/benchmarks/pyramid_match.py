"""Gram matrices of sets of points, against histograms in NumPy, level by level."""

import numpy as np

from mlcore.kernels import PyramidMatch

LEVELS = 4


def samples(sets):
    n, m, d = map(int, sets.split(" x "))
    rng = np.random.default_rng(0)
    return [16 * rng.random((rng.integers(1, 2 * m), d)) for _ in range(n)]


class Gram:
    """Sets of about 30 points in a square of 16 cubes a side, and of more points in space."""

    params, param_names = (["500 x 30 x 2", "1000 x 100 x 3"],), ("sets",)

    def setup(self, sets):
        self.X = samples(sets)
        self.kernel = PyramidMatch(side=1.0, levels=LEVELS)

    def time_gram(self, _):
        self.kernel(self.X)

    def time_floor(self, _):
        """The cubes of all points, and the values, which must be written."""
        np.floor(np.concatenate(self.X)).astype(np.int64)
        np.ones((len(self.X), len(self.X)))


class Histograms:
    """The matrix of the first sets of Gram by the least of two histograms, of all pairs."""

    def setup(self):
        self.X = samples("500 x 30 x 2")

    def time_numpy(self):
        K = np.zeros((len(self.X), len(self.X)))
        for level in range(LEVELS + 1):
            side = 2**level
            bins = [np.arange(0, 16 + side, side)] * 2
            counts = np.array([np.histogramdd(x, bins)[0].ravel() for x in self.X])
            weight = 2.0 ** -(level + (level < LEVELS))
            for i, row in enumerate(counts):
                K[i] += weight * np.minimum(row, counts).sum(axis=1)
        roots = np.sqrt(np.diagonal(K))
        K /= roots[:, None] * roots
