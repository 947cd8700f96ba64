"""Learners keep to their bounds, and the worst opponent makes them reach the value of the game."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mlcore.bounds import (
    Halving,
    StandardOptimalAlgorithm,
    WeightedMajority,
    weighted_majority_mistake_bound,
    worst_case_mistakes,
)

TABLES = hnp.arrays(
    np.int8, st.tuples(st.integers(1, 10), st.integers(1, 4)), elements=st.integers(0, 1)
)
LEARNERS = [(Halving, "halving"), (StandardOptimalAlgorithm, "soa")]


def worst(learner, n_points):
    """The most mistakes from here on, by trying every point and label."""
    most = 0
    for x in range(n_points):
        for y in (0, 1):
            after = copy.copy(learner)
            try:
                after.update(x, y)
            except ValueError:
                continue
            if after.n_possible_ < learner.n_possible_:
                most = max(most, after.mistakes_ - learner.mistakes_ + worst(after, n_points))
    return most


@pytest.mark.parametrize(("kind", "name"), LEARNERS)
@given(TABLES)
def test_the_worst_opponent_gets_the_value_of_the_game(kind, name, H):
    assert worst(kind(H), H.shape[1]) == worst_case_mistakes(H, name)


def test_labels_that_no_concept_gives_are_refused():
    learner = Halving([[0, 0], [0, 1]]).update(1, 0)
    with pytest.raises(ValueError, match="y=1 at x=0"):
        learner.update(0, 1)
    assert learner.mistakes_ == 1 and learner.n_possible_ == 1
    for x, y in ((2, 0), (-1, 0), (True, 0), (0, 2), (0, "1"), (0.5, 0)):
        with pytest.raises(ValueError, match="x=|y="):
            learner.update(x, y)
    with pytest.raises(ValueError, match="x=2"):
        learner.predict_one(2)


@given(
    hnp.arrays(
        np.int8, st.tuples(st.integers(1, 60), st.integers(1, 6)), elements=st.integers(0, 1)
    ),
    st.floats(0.01, 0.99),
    st.randoms(use_true_random=False),
)
def test_weighted_majority_keeps_to_its_bound_against_an_opponent(advice, beta, random):
    learner, errors = WeightedMajority(advice.shape[1], beta=beta), 0
    for row in advice:
        y = 1 - learner.predict_one(row) if random.random() < 0.8 else random.randrange(2)
        learner.update(row, y)
        errors = errors + (row != y)
    bound = weighted_majority_mistake_bound(advice.shape[1], int(errors.min()), beta)
    assert learner.mistakes_ <= bound
    assert learner.weights_.max() == 1


def test_advice_is_checked():
    learner = WeightedMajority(2)
    for advice in ([0, 1, 1], [0, 2], [0, np.nan], "01", []):
        with pytest.raises(ValueError, match="advice"):
            learner.predict_one(advice)
    with pytest.raises(ValueError, match="beta=1"):
        WeightedMajority(2, beta=1)
    with pytest.raises(ValueError, match="n_experts=0"):
        WeightedMajority(0)
