"""The worst opponent makes version space learners reach the value of the game, and no more."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal

import mlcore
from mlcore.bounds import worst_case_mistakes
from mlcore.online import Halving, StandardOptimalAlgorithm

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
    # A column of zeros tells nothing, and lets a game begin that has its attributes.
    told = np.column_stack([H, np.zeros(len(H), dtype=np.int8)])
    start = kind(told).update(H.shape[1], 0)
    assert start.mistakes_ == (kind(told).predict_one(H.shape[1]) == 1)
    assert worst(start, H.shape[1]) == worst_case_mistakes(H, name)


@pytest.mark.parametrize(("kind", "name"), LEARNERS)
def test_the_version_space_is_what_has_never_been_wrong(kind, name):
    H = np.random.default_rng(0).integers(0, 2, size=(40, 4))  # rows come more than once
    learner, points = kind(H), []
    for x in (2, 0, 2):
        learner.update(x, H[7, x])
        points.append(x)
        agreeing = {
            tuple(row) for row in H.tolist() if (H[7, points] == np.take(row, points)).all()
        }
        found = learner.concepts_[learner.possible_].tolist()
        assert set(map(tuple, found)) == agreeing and learner.n_possible_ == len(found)


def test_labels_that_no_concept_gives_are_refused():
    learner = Halving([[0, 0], [0, 1]]).update(1, 0)
    with pytest.raises(ValueError, match="y=1 at x=0"):
        learner.update(0, 1)
    with pytest.raises(ValueError, match="y=1 at x=0"):
        learner.partial_fit([1, 0], [0, 1])
    assert type(learner.n_possible_) is int and learner.n_possible_ == 1
    assert learner.mistakes_ == 1 and learner.n_rounds_ == 1


def test_a_large_version_space_is_saved(tmp_path):
    n = 20_000  # its bitset has more decimal digits than Python prints
    H = np.arange(n)[:, None] >> np.arange(15) & 1
    learner = Halving(H).update(3, 1)
    mlcore.save(learner, tmp_path / "learner.npz")
    again = mlcore.load(tmp_path / "learner.npz")
    assert_array_equal(again.possible_, H[:, 3] == 1)
    assert again.n_possible_ == learner.n_possible_
