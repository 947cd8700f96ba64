"""Bayes' rule: worked numbers, exact fractions, and laws."""

import math
from fractions import Fraction

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mlcore.bayes import map_decision, ml_decision, posterior

weights = st.lists(st.integers(0, 9), min_size=2, max_size=5)


def test_worked_numbers():
    ill = posterior([0.01, 0.99], [0.98, 0.03])
    assert_allclose(ill, [0.0098 / 0.0395, 0.0297 / 0.0395], rtol=1e-15)
    assert f"{ill[0]:.4f}" == "0.2481"
    once = posterior([0.75, 0.25], [0.5, 0.6])
    assert f"{once[0]:.4f} {posterior(once, [0.5, 0.6])[0]:.4f}" == "0.7143 0.6757"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=5))
def test_posteriors_are_those_of_fractions(pairs):
    prior, likelihood = zip(*pairs, strict=True)
    products = [Fraction(a * b) for a, b in pairs]
    if not any(products):
        return
    expected = [float(value / sum(products)) for value in products]
    found = posterior(prior, likelihood)
    assert_allclose(found, expected, rtol=1e-14)
    assert_allclose(posterior(prior, [likelihood, likelihood]), [expected] * 2, rtol=1e-14)
    assert map_decision(prior, likelihood) == expected.index(max(expected))
    with np.errstate(divide="ignore"):
        logs = np.log(np.array([prior, likelihood], dtype=float))
    assert_allclose(np.exp(posterior(*logs, log=True)), expected, rtol=1e-13)
    # Logarithms of equal products may differ by rounding, those of other integers do not meet.
    assert expected[map_decision(*logs, log=True)] == max(expected)


def test_products_that_underflow():
    found = posterior([1e-300, 2e-300, 1.0], [[1e-300, 1e-300, 0.0], [0.0, 0.0, 5e-324]])
    assert_allclose(found, [[1 / 3, 2 / 3, 0], [0, 0, 1]], rtol=1e-12)
    tiny = posterior([0.0, 5e-324], [0.0, 5e-324])
    assert_array_equal(tiny, [0, 1])


def test_decisions_take_the_lowest_of_equals():
    assert ml_decision([0.2, 0.7, 0.7]) == 1
    assert ml_decision(np.log([[0.2, 0.7, 0.7]]), log=True).tolist() == [1]
    assert map_decision([1, 1, 1], [[1, 1, 0], [0, 1, 1]]).tolist() == [0, 1]


def test_impossible_observations_are_named():
    with pytest.raises(ValueError, match="row 1 is impossible under every hypothesis"):
        posterior([0.5, 0.5, 0.0], [[1, 0, 0], [0, 0, 1]])
    with pytest.raises(ValueError, match="the observation is impossible"):
        posterior([0.0, -math.inf], [-math.inf, 0.0], log=True)
    with pytest.raises(ValueError, match="row 0 is impossible"):
        ml_decision([[0.0, 0.0]])


@each(
    ("prior", "likelihood", "log", "message"),
    [
        ([0.5, 0.5], [1, 1, 1], False, "do not fit"),
        ([[0.5, 0.5]], [1, 1], False, "do not fit"),
        ([0.5, -0.5], [1, 1], False, "negative"),
        ([0.5, 0.5], [math.nan, 1], False, "NaN"),
        ([0.5, 0.5], [math.inf, 1], True, "logarithms"),
        ([], [], False, "at least one"),
    ],
)
def test_refusals(prior, likelihood, log, message):
    with pytest.raises(ValueError, match=message):
        posterior(prior, likelihood, log=log)
    with pytest.raises(TypeError, match="log="):
        posterior([1.0], [1.0], log="yes")
