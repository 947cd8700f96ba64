"""Rounds of online learners, one at a time, beside the bitwise operations that they need."""

import numpy as np

from mlcore.online import (
    Halving,
    Hedge,
    OnlineGradientDescent,
    StandardOptimalAlgorithm,
    WeightedMajority,
    Winnow,
)

N_CONCEPTS, N_POINTS = 100, 12


class Rounds:
    """A prediction and an update for each of 12 points."""

    params = (["Halving", "StandardOptimalAlgorithm", "WeightedMajority", "Winnow"],)
    param_names = ("learner",)

    def setup(self, learner):
        H = np.random.default_rng(0).integers(0, 2, size=(N_CONCEPTS, N_POINTS))
        self.learner = {
            "Halving": lambda: Halving(H),
            "StandardOptimalAlgorithm": lambda: StandardOptimalAlgorithm(H),
            "WeightedMajority": lambda: WeightedMajority(N_CONCEPTS),
            "Winnow": lambda: Winnow(N_CONCEPTS),
        }[learner]()
        points = H.T if learner in ("WeightedMajority", "Winnow") else range(N_POINTS)
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


class Losses:
    """1,000 rounds of Hedge, beside the bare exponentials."""

    params, param_names = [10, 10_000], ["n_experts"]

    def setup(self, n_experts):
        self.losses = np.random.default_rng(0).random((1_000, n_experts))

    def time_fit(self, n_experts):
        Hedge(n_experts).fit(None, self.losses)

    def time_floor(self, n_experts):
        total = np.zeros(n_experts)
        for row in self.losses:
            total += row
            np.exp(-0.1 * total)


class GradientDescent:
    """1,000 rounds of online gradient descent, and the best vector in hindsight."""

    def setup(self):
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(1_000, 50)) / 20
        self.y = np.where(self.X[:, 0] + rng.normal(size=1_000) / 20 > 0, 1, -1)
        self.learner = OnlineGradientDescent(loss="logistic", radius=9.0, horizon=1_000)
        self.played = self.time_fit()

    def time_fit(self):
        return self.learner.fit(self.X, self.y)

    def time_regret(self):
        self.played.regret(self.X, self.y)
