"""Games of every learner: mistakes within bounds, on all sequences of small classes."""

from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from mlcore.bounds import halving_mistake_bound, littlestone_dimension
from mlcore.datasets import load_iris
from mlcore.linear_model import KernelPerceptron, Perceptron
from mlcore.online import Halving, Hedge, StandardOptimalAlgorithm, WeightedMajority, play

H = np.array([[0, 0, 0], [0, 1, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1]])


@pytest.mark.parametrize(
    ("kind", "bound"),
    [(Halving, halving_mistake_bound(5)), (StandardOptimalAlgorithm, littlestone_dimension(H))],
)
def test_all_sequences_of_a_small_class(kind, bound):
    worst = 0
    for h in H:
        for X in product(range(3), repeat=4):
            learner = kind(H)
            game = play(learner, X, h[list(X)])
            assert game.bound == bound == learner.bound() and game.comparator_loss == 0
            assert game.mistakes == game.losses.sum() == game.regret <= bound
            worst = max(worst, game.mistakes)
    assert worst == bound


@pytest.mark.parametrize("randomized", [False, True])
def test_all_sequences_of_two_experts(randomized):
    for advice in product(product((0, 1), repeat=2), repeat=4):
        learner = WeightedMajority(2, beta=0.4, randomized=randomized)
        game = play(learner, advice, [0, 1, 1, 0])
        errors = (np.array(advice) != np.array([0, 1, 1, 0])[:, None]).sum(axis=0)
        assert game.comparator_loss == errors.min()
        assert game.losses.sum() <= game.bound
        if randomized:
            assert learner.loss_ == pytest.approx(game.losses.sum())
        else:
            assert game.mistakes == game.losses.sum()


def test_frames_are_games():
    rng = np.random.default_rng(0)
    losses = rng.random((20, 3))
    expected = play(Hedge(3), None, losses)
    for form in (pd.DataFrame, pl.DataFrame):
        game = play(Hedge(3), None, form(losses))
        assert_array_equal(game.losses, expected.losses)
        assert game.regret == expected.regret
    advice, y = rng.integers(0, 2, size=(12, 3)), rng.integers(0, 2, size=12)
    game = play(WeightedMajority(3), pd.DataFrame(advice, columns=list("abc")), pd.Series(y))
    assert game.mistakes == play(WeightedMajority(3), advice, y).mistakes
    for wrong in ({"a": 1}, {0.5, 0.25}, "abc", [[1.0, 0.0], [1.0]], 3, None):
        with pytest.raises((ValueError, TypeError), match="^y"):
            play(Hedge(2), None, wrong)


def test_drawn_experts_err_as_often_as_their_weights_say():
    """In 200 seeds the mean number of mistakes is within 4 deviations of the expected."""
    rng = np.random.default_rng(0)
    advice, y = rng.integers(0, 2, size=(12, 3)), rng.integers(0, 2, size=12)
    games = [
        play(WeightedMajority(3, randomized=True, random_state=seed), advice, y)
        for seed in range(200)
    ]
    expected = games[0].losses.sum()
    mistakes = np.array([game.mistakes for game in games])
    assert abs(mistakes.mean() - expected) < 4 * mistakes.std() / np.sqrt(len(games))


def test_a_game_forgets_and_a_refused_one_changes_nothing():
    learner = Halving(H).update(0, 1)
    with pytest.raises(ValueError, match="X"):
        play(learner, [0, 9], [1, 1])
    assert learner.n_rounds_ == 1
    assert play(learner, [0], [0]).mistakes == 1 and learner.n_rounds_ == 1
    for other in (Halving, 3, None, "halving"):
        with pytest.raises(ValueError, match="^learner="):
            play(other, [0], [0])


@pytest.mark.parametrize("kernel", [None, "linear"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_games_of_perceptrons_are_their_rounds_one_by_one(kernel, n_classes):
    X, y = load_iris()
    order = np.random.default_rng(3).permutation(np.flatnonzero(y < n_classes))
    X, y = X[order], y[order]
    learner = KernelPerceptron(kernel=kernel) if kernel else Perceptron()
    game = play(learner.fit(X[:20], y[:20]), X, y)
    one, losses = Perceptron().partial_fit(X[:1], y[:1], classes=range(n_classes)), [1]
    for x, label in zip(X[1:], y[1:], strict=True):
        losses.append(int(one.predict_one(x) != label))
        one.update(x, label)
    assert game.losses.tolist() == losses and game.mistakes == learner.mistakes_ == sum(losses)
    assert game.mistakes <= game.bound == learner.bound()
    assert game.comparator_loss == (one.predict(X) != y).sum()
    assert game.regret == game.mistakes - game.comparator_loss
    assert learner.n_rounds_ == len(X)
