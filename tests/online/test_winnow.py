"""Winnow keeps to its bound on every sequence that a disjunction labels."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlcore.bounds import winnow_mistake_bound
from mlcore.online import Winnow, play

N = 3
POINTS = [np.array(p) for p in product((0, 1), repeat=N)]
DISJUNCTIONS = [p for p in POINTS if p.any()]


@pytest.mark.parametrize("target", DISJUNCTIONS, ids=lambda p: "".join(map(str, p)))
def test_no_sequence_makes_more_mistakes_than_the_bound(target):
    """All sequences, by the states that they lead to: weights are few powers of 2."""
    most, seen = {(1.0,) * N: 0}, {}
    while most:
        weights, mistakes = most.popitem()
        if seen.get(weights, -1) >= mistakes:
            continue
        seen[weights] = mistakes
        for x in POINTS:
            learner = Winnow(N).fit([[0] * N], [0])
            learner.weights_ = np.array(weights)
            y = int((x & target).any())
            made = learner.mistakes_
            learner.update(x, y)
            after, wrong = tuple(learner.weights_), learner.mistakes_ - made
            if wrong and max(most.get(after, -1), seen.get(after, -1)) < mistakes + 1:
                most[after] = mistakes + 1
    assert 1 <= max(seen.values()) <= winnow_mistake_bound(int(target.sum()), N)


@given(st.integers(1, 60), st.integers(0, 2**32 - 1))
@settings(max_examples=12)
def test_an_opponent_cannot_pass_the_bound(n, seed):
    """The opponent takes, of some points, one that is predicted wrongly."""
    rng = np.random.default_rng(seed)
    target = rng.permutation(n) < rng.integers(1, min(n, 4) + 1)
    learner = Winnow(n)
    for _ in range(80):
        X = rng.random((6, n)) < rng.random()
        y = (X & target).any(axis=1).astype(int)
        wrong = learner.predict(X) != y
        i = int(wrong.argmax())
        weights = learner._state()["weights_"]
        expected = int(weights[X[i]].sum() >= n)
        assert learner.predict_one(X[i]) == expected
        learner.update(X[i], y[i])
        factor = 1 if expected == y[i] else 2.0 if y[i] else 0.5
        assert (learner.weights_ == np.where(X[i], weights * factor, weights)).all()
    k = int(target.sum())
    assert learner.mistakes_ <= learner.bound(k) == winnow_mistake_bound(k, n)
    assert (target <= learner.possible_).all() and learner.mistakes_ <= learner.bound()


def test_a_game_tells_whether_a_disjunction_gives_the_labels():
    X = [[1, 0, 0], [0, 1, 0], [0, 1, 1]]
    game = play(Winnow(3), X, [1, 0, 1])
    assert game.comparator_loss == 0 and game.regret == game.mistakes == game.losses.sum()
    assert game.bound == winnow_mistake_bound(2, 3)
    assert math.isnan(play(Winnow(3), X, [0, 0, 1]).comparator_loss) is False
    assert math.isnan(play(Winnow(3), X, [0, 1, 0]).comparator_loss)


def test_weights_stay_positive_on_labels_of_no_disjunction():
    learner = Winnow(1)
    for _ in range(3000):
        learner.update([1], 1 - learner.predict_one([1]))
    assert 0 < learner.weights_[0] <= 2


def test_k_is_checked():
    for k in (0, 4, 1.5, "1"):
        with pytest.raises(ValueError, match="^k="):
            Winnow(3).bound(k)
    assert Winnow(3).bound(1) == winnow_mistake_bound(1, 3)
