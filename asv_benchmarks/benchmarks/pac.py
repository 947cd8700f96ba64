"""Fits of boxes and conjunctions, beside one reading of the examples."""

import numpy as np

from mlcore.pac import ConjunctionLearner, RectangleLearner


class Concepts:
    """100,000 examples of 20 features."""

    params, param_names = ["box", "conjunction"], ["concept"]

    def setup(self, concept):
        self.X = np.random.default_rng(0).random((100_000, 20))
        self.y = (self.X[:, :3] > 0.2).all(axis=1).astype(int)
        self.learner = RectangleLearner() if concept == "box" else ConjunctionLearner(threshold=0.2)

    def time_fit(self, concept):
        self.learner.fit(self.X, self.y)

    def time_floor(self, concept):
        self.X.min(axis=0), self.X.max(axis=0)
