"""Conjunctions against brute force over all of them, and their guarantee in simulation."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlcore.bounds import conjunction_sample_size, vc_error_bound
from mlcore.pac import ConjunctionLearner


def satisfies(literals, X):
    """1, 0 and None in `literals`: the variable, its negation, neither."""
    return np.array(
        [all(v is None or v == x for v, x in zip(literals, row, strict=True)) for row in X]
    )


def test_worked_number():
    X = np.random.default_rng(0).integers(0, 2, size=(250, 20))
    bound = ConjunctionLearner().fit(X, X[:, 3] & X[:, 5]).guarantee(0.05)
    assert bound.value == pytest.approx(0.0950466758957263, rel=1e-14) and bound.value < 0.1
    assert conjunction_sample_size(20, 0.1, 0.05) == 250


@given(st.integers(1, 4), st.integers(1, 12), st.integers(0, 2**32 - 1))
@settings(max_examples=50)
def test_it_is_the_least_conjunction_that_holds_the_positives(n, m, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(m, n))
    y = rng.integers(0, 2, size=m)
    learner = ConjunctionLearner(positive=1).fit(rng.choice([1, 5]) * X, y)
    cube = np.array(list(product((0, 1), repeat=n)))
    holding = [
        satisfies(literals, cube)
        for literals in product((None, 0, 1), repeat=n)
        if satisfies(literals, X)[y == 1].all()
    ]
    expected = np.logical_and.reduce(holding) if y.any() else np.zeros(len(cube), dtype=bool)
    assert (learner.predict(cube) == expected).all()
    errors = np.count_nonzero(learner.predict(X) != y)
    assert learner.training_errors_ == errors == np.count_nonzero(learner.predict(X)[y == 0])
    if errors:
        expected = vc_error_bound(errors, m, max(n, 2), 0.2)
    else:
        expected = 1 - math.exp(-(n * math.log(3) + math.log(1 / 0.2)) / m)
    assert learner.guarantee(0.2).value == pytest.approx(expected, rel=1e-12)


def test_bool_and_signs_are_taken_as_0_and_1():
    X = np.array([[1, 0], [1, 1], [0, 1]])
    expected = ConjunctionLearner().fit(X, [1, 0, 0])
    for other, threshold in ((X.astype(bool), 0.0), (2 * X - 1, 0.0), (X + 3.0, 3.5)):
        learner = ConjunctionLearner(threshold=threshold).fit(other, [1, 0, 0])
        assert (learner.plain_ == expected.plain_).all()
        assert (learner.negated_ == expected.negated_).all()
    assert expected.plain_.tolist() == [True, False]
    assert expected.negated_.tolist() == [False, True]


def test_the_guarantee_fails_at_most_delta_of_the_time():
    """Rare positives: the hardest targets have many literals and positives of small probability."""
    m, n, delta, failures, values = 40, 4, 0.2, 0, []
    cube = np.array(list(product((0, 1), repeat=n)))
    target = cube[:, 0] & cube[:, 1]
    for seed in range(300):
        rng = np.random.default_rng(seed)
        chance = np.array([0.6, 0.35, 0.9, 0.2])
        weight = np.where(cube, chance, 1 - chance).prod(axis=1)
        X = (rng.random((m, n)) < chance).astype(int)
        learner = ConjunctionLearner(positive=1).fit(X, X[:, 0] & X[:, 1])
        values.append(learner.guarantee(delta).value)
        failures += weight[learner.predict(cube) != target].sum() > values[-1]
    assert max(values) < 0.5
    assert failures <= 300 * delta + 3.1 * math.sqrt(300 * delta * (1 - delta))
