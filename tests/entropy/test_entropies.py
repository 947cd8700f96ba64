"""Entropies against 50 digits, and their laws."""

import math

import mpmath
import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mlcore.entropy import entropy, mutual_information, relative_entropy

EPS = np.finfo(float).eps
counts = st.lists(st.integers(0, 50), min_size=2, max_size=6).filter(any)


def exactly(x, y):
    with mpmath.workdps(50):
        terms = [
            mpmath.mpf(b) if a == 0 else mpmath.mpf(a) * mpmath.log(mpmath.mpf(a) / b) - a + b
            for a, b in zip(map(float, x), map(float, y), strict=True)
        ]
        return float(mpmath.fsum(terms))


def test_worked_numbers_of_cover_and_thomas():
    joint = np.array([[4, 2, 1, 1], [2, 4, 1, 1], [2, 2, 2, 2], [8, 0, 0, 0]]) / 32
    assert_allclose(entropy(joint.sum(axis=0), base=2), 7 / 4, rtol=4 * EPS)
    assert_allclose(entropy(joint.sum(axis=1), base=2), 2, rtol=4 * EPS)
    assert_allclose(entropy(joint.ravel(), base=2), 27 / 8, rtol=4 * EPS)
    assert_allclose(mutual_information(joint, base=2), 0.375, rtol=16 * EPS)


@settings(max_examples=40, deadline=None)
@given(counts)
def test_entropy_is_that_of_50_digits(p):
    total = sum(p)
    with mpmath.workdps(50):
        shares = [mpmath.mpf(value) / total for value in p if value]
        expected = float(-mpmath.fsum(q * mpmath.log(q) for q in shares))
    assert_allclose(entropy(p), expected, rtol=1e-14, atol=4 * EPS)
    assert 0 <= entropy(p) <= math.log(len(p)) + 4 * EPS
    assert_allclose(entropy([p, p], base=2), [expected / math.log(2)] * 2, rtol=1e-14, atol=4 * EPS)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1e9), st.floats(1e-9, 1e9)), min_size=1, max_size=6))
def test_relative_entropy_is_that_of_50_digits(pairs):
    x, y = np.array(pairs).T
    assert_allclose(relative_entropy(x, y), exactly(x, y), rtol=1e-13)


@pytest.mark.parametrize("distance", [1e-1, 1e-5, 1e-9, 1e-13])
def test_digits_are_kept_where_the_vectors_are_nearly_equal(distance):
    x = np.array([0.3, 0.3, 0.4])
    y = x * (1 + distance * np.array([1.0, -1.0, 0.5]))
    assert_allclose(relative_entropy(x, y), exactly(x, y), rtol=1e-13)


def test_information_of_nearly_independent_variables_keeps_its_digits():
    # Margins of 1/2 and a deviation d of each cell: I = 8 d² + O(d⁴).
    d = 2.0**-30
    joint = np.array([[0.25 + d, 0.25 - d], [0.25 - d, 0.25 + d]])
    assert_allclose(mutual_information(joint), 8 * d * d, rtol=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=2, max_size=4))
def test_laws_of_mutual_information(rows):
    joint = np.array(rows)
    if not joint.any():
        return
    information = mutual_information(joint)
    parts = entropy(joint.sum(axis=0)) + entropy(joint.sum(axis=1)) - entropy(joint.ravel())
    assert_allclose(information, parts, rtol=0, atol=1e-14)
    assert information >= 0
    assert_allclose(mutual_information(joint.T), information, rtol=1e-12, atol=1e-17)
    product = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    assert_allclose(mutual_information(product), 0, rtol=0, atol=1e-28)


def test_zeros_of_relative_entropy():
    assert relative_entropy([0, 2], [3, 2]) == 3
    assert relative_entropy([1, 2], [0, 2]) == math.inf
    assert relative_entropy([0, 0], [0, 0]) == 0
    assert relative_entropy([1e-320, 1], [1e300, 1]) == 1e300
    assert relative_entropy(np.eye(2), [0.5, 0.5]).tolist() == [math.log(2)] * 2


@each("function", [entropy, lambda p: relative_entropy(p, [1, 1])])
@each(
    ("p", "message"),
    [
        ([-0.5, 1.5], "negative value -0.5"),
        ([math.nan, 1], "NaN"),
        ([math.inf, 1], "infinity"),
        (["a", "b"], "real numbers"),
        (3.0, "shape"),
        ([], "at least one"),
    ],
)
def test_refusals(function, p, message):
    with pytest.raises((ValueError, TypeError), match=message):
        function(p)


def test_further_refusals():
    with pytest.raises(ValueError, match="only zeros in row 1"):
        entropy([[1, 1], [0, 0]])
    for base in (0, -1, 1, math.nan):
        with pytest.raises(ValueError, match="base"):
            entropy([1, 1], base=base)
    with pytest.raises(ValueError, match="two axes"):
        mutual_information([1, 2])
    with pytest.raises(ValueError, match="broadcast"):
        relative_entropy([1, 2], [1, 2, 3])
