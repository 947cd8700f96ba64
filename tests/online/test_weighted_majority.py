"""Weighted majority keeps to its bound against an opponent, with weights by their definition."""

import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal

from mlcore.bounds import weighted_majority_mistake_bound
from mlcore.online import WeightedMajority


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
    assert_array_equal(learner.expert_mistakes_, errors)
    bound = weighted_majority_mistake_bound(advice.shape[1], int(errors.min()), beta)
    assert learner.mistakes_ <= bound
    assert learner.weights_.max() == 1


def test_weights_do_not_underflow_where_all_experts_err():
    learner = WeightedMajority(2, beta=0.01).fit([[1, 1], [1, 0]] * 500, [0, 0] * 500)
    assert learner.expert_mistakes_.tolist() == [1000, 500]
    assert learner.weights_[1] == 1 and learner.predict_one([0, 1]) == 1


def test_a_learner_without_a_seed_keeps_to_its_draws():
    """Before the first round, after it, and in copies; other learners have other draws."""
    advice, X = np.arange(64) % 2, np.arange(64)[None] % 2
    seen = []
    for _ in range(8):
        learner = WeightedMajority(64, randomized=True)
        first = learner.predict_one(advice)
        assert all(learner.predict_one(advice) == first for _ in range(20))
        learner.update(advice, 1)
        assert learner.mistakes_ == (first != 1)
        again = pickle.loads(pickle.dumps(learner))
        for round_ in range(20):
            seen.append(learner.predict_one(advice))
            assert again.predict(X)[0] == seen[-1]
            learner.update(advice, round_ % 2)
            again.update(advice, round_ % 2)
    draws = np.reshape(seen, (8, 20))
    assert len(np.unique(draws, axis=0)) > 1
