"""The doubling trick of any learner: its mistakes, its refusals and when it begins anew."""

import math

import numpy as np
import pytest

from mlcore.online import DoublingTrick, Hedge, WeightedMajority, play


def test_learners_are_made_for_1_2_4_8_rounds():
    horizons = []

    def make(horizon):
        horizons.append(horizon)
        return WeightedMajority(2)

    learner = DoublingTrick(make, alpha=2.0)
    advice, y = np.array([[1, 0]] * 16), [0] * 16
    for row, label in zip(advice, y, strict=True):
        learner.update(row, label)
    assert horizons == [1, 2, 4, 8, 16]
    assert learner.loss_ == 5 and learner.n_rounds_ == 16  # one mistake of each
    assert learner.predict_one([1, 0]) == 0  # the fifth has learned from round 16


def test_a_game_compares_with_one_expert_for_all_rounds():
    losses = np.random.default_rng(0).random((30, 3))
    trick = DoublingTrick(lambda T: Hedge(3, horizon=T), math.sqrt(math.log(3) / 2))
    game = play(trick, None, losses)
    assert game.comparator_loss == pytest.approx(losses.sum(axis=0).min())
    assert game.regret <= game.bound == pytest.approx(trick.bound())


def test_wrong_parameters_and_rounds_are_refused():
    for make in (3, lambda T: None, lambda T: WeightedMajority):
        with pytest.raises(ValueError, match="^make="):
            DoublingTrick(make, 1.0).update(None, [0, 0])
    with pytest.raises(ValueError, match="^alpha="):
        DoublingTrick(lambda T: Hedge(2, horizon=T), 0.0).update(None, [0, 0])
    learner = DoublingTrick(lambda T: Hedge(2, horizon=T), 1.0).update(None, [0, 1])
    before = dict(vars(learner))
    with pytest.raises(ValueError, match="^y="):
        learner.update(None, [0, 2])
    assert vars(learner) == before
    assert DoublingTrick(lambda T: Hedge(2, horizon=T), 1.0).bound() == 0
