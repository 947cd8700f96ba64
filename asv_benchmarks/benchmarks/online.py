"""Rounds of online learners, one at a time, beside the bitwise operations that they need."""

import numpy as np

from mlcore.online import Halving, StandardOptimalAlgorithm, WeightedMajority

N_CONCEPTS, N_POINTS = 100, 12


class Rounds:
    """A prediction and an update for each of 12 points."""

    params = (["Halving", "StandardOptimalAlgorithm", "WeightedMajority"],)
    param_names = ("learner",)

    def setup(self, learner):
        H = np.random.default_rng(0).integers(0, 2, size=(N_CONCEPTS, N_POINTS))
        self.learner = {
            "Halving": lambda: Halving(H),
            "StandardOptimalAlgorithm": lambda: StandardOptimalAlgorithm(H),
            "WeightedMajority": lambda: WeightedMajority(N_CONCEPTS),
        }[learner]()
        points = H.T if learner == "WeightedMajority" else range(N_POINTS)
        self.rounds = list(zip(points, H[-1].tolist(), strict=True))
        self.columns = [int("".join(map(str, column)), 2) for column in H.T]
        self.time_rounds(learner)  # the dimensions that predictions need are computed once

    def time_rounds(self, learner):
        for x, y in self.rounds:
            self.learner.predict_one(x)
            self.learner.update(x, y)

    def time_floor_bits(self, learner):
        space = (1 << N_CONCEPTS) - 1
        for ones, (_, y) in zip(self.columns, self.rounds, strict=True):
            _ = (space & ones).bit_count() >= (space & ~ones).bit_count()
            space &= ones if y else ~ones
