"""Inequalities for averages: their formulas in fifty digits, thresholds that agree, simulation."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mlcore.bounds import (
    dkw_epsilon,
    hoeffding_delta,
    hoeffding_epsilon,
    hoeffding_sample_size,
    mcdiarmid_epsilon,
    union_bound,
)
from mlcore.bounds.concentration.concentration import _sum_of_squares
from mlcore.bounds.directed_rounding import working_digits

# Formulas are checked over the whole range of delta, also where a confidence may be meant.
pytestmark = pytest.mark.filterwarnings("ignore:.*is the probability that the bound fails")

DELTA = st.floats(-300, -1e-3).map(lambda e: 10.0**e)
POSITIVE = st.floats(-9, 6).map(lambda e: 10.0**e)
SIZE = st.floats(0, 30).map(lambda e: int(10**e))


def assert_just_above(found, exact):
    """`found` is the float next to the exact number, on the side of larger numbers."""
    assert exact <= found <= exact * (1 + mpmath.mpf(2) ** -51) + mpmath.mpf("5e-324")


@given(SIZE, DELTA, POSITIVE, st.booleans())
def test_hoeffding_to_the_last_digit(m, delta, length, two_sided):
    options = {"value_range": length, "two_sided": two_sided}
    c, d, r = 1 + two_sided, mpmath.mpf(delta), mpmath.mpf(length)
    with mpmath.workdps(60):
        epsilon = hoeffding_epsilon(m, delta, **options)
        assert_just_above(epsilon, r * mpmath.sqrt(mpmath.log(c / d) / (2 * m)))
        found = hoeffding_delta(epsilon, m, **options)
        exact = c * mpmath.exp(-2 * m * mpmath.mpf(epsilon) ** 2 / r**2)
        assert_just_above(found, min(exact, 1))
    assert found <= delta


@given(SIZE, DELTA, POSITIVE, st.booleans())
def test_the_three_hoeffding_functions_agree(m, delta, length, two_sided):
    options = {"value_range": length, "two_sided": two_sided}
    epsilon = hoeffding_epsilon(m, delta, **options)
    size = hoeffding_sample_size(epsilon, delta, **options)
    assert size <= m and (size == m or m > 2**48)
    assert hoeffding_epsilon(size, delta, **options) <= epsilon
    assert hoeffding_delta(epsilon, size, **options) <= delta
    if size > 1:
        assert hoeffding_epsilon(size - 1, delta, **options) > epsilon or size > 2**48
        assert hoeffding_delta(epsilon, size - 1, **options) > delta or size > 2**40


def test_unequal_ranges():
    ranges = np.array([1.0, 2.0, 0.5, 3.0])
    square = (ranges**2).sum()
    epsilon = hoeffding_epsilon(4, 0.05, value_range=ranges)
    assert_allclose(epsilon, math.sqrt(math.log(40) * square / (2 * 16)), rtol=1e-14)
    delta = hoeffding_delta(2.0, 4, value_range=list(ranges), two_sided=False)
    assert_allclose(delta, math.exp(-2 * 2.0**2 * 16 / square), rtol=1e-14)
    assert_allclose(hoeffding_epsilon(3, 0.1, value_range=[2, 2, 2]), 2 * hoeffding_epsilon(3, 0.1))
    for wrong in (ranges[:3], [[1.0, 1.0, 1.0, 1.0]], [1, 1, 1, -1]):
        with pytest.raises(ValueError, match="value_range"):
            hoeffding_epsilon(4, 0.05, value_range=wrong)


def test_arrays_broadcast_and_agree_with_scalars():
    m, delta = np.array([[1], [10], [10**15]]), np.array([1e-300, 0.05, 0.9])
    found = hoeffding_epsilon(m, delta, value_range=2.0)
    one_by_one = [[hoeffding_epsilon(int(i), j, value_range=2.0) for j in delta] for i in m.ravel()]
    assert_allclose(found, one_by_one, rtol=2e-15)
    assert (found >= one_by_one).all()


def test_sizes_beyond_every_float():
    assert hoeffding_sample_size(1e-200, 0.5, two_sided=False) > 10**399
    assert 0 < hoeffding_epsilon(10**400, 0.05) < 1e-199


@given(SIZE, DELTA)
def test_other_inequalities_are_relatives_of_hoeffding(m, delta):
    assert dkw_epsilon(m, delta) == hoeffding_epsilon(m, delta)
    n = min(m, 50)
    one_sided = hoeffding_epsilon(n, delta, two_sided=False)
    assert_allclose(mcdiarmid_epsilon([1 / n] * n, delta), one_sided, rtol=1e-14)


@given(st.lists(st.floats(1e-300, 0.5), max_size=20))
def test_the_union_bound_is_the_sum(deltas):
    with mpmath.workdps(400):
        exact = min(mpmath.fsum(map(mpmath.mpf, deltas)), mpmath.mpf(1))
        assert exact <= union_bound(iter(deltas)) <= exact * (1 + mpmath.mpf(2) ** -51)


def test_a_simulated_average_rarely_leaves_the_interval():
    rng = np.random.default_rng(0)
    m, delta, runs = 40, 0.1, 4000
    averages = rng.integers(0, 2, (runs, m)).mean(axis=1)
    failures = int((np.abs(averages - 0.5) > hoeffding_epsilon(m, delta)).sum())
    assert failures_are_compatible(failures, runs, delta)
    samples = np.sort(rng.random((runs, m)), axis=1)
    steps = np.arange(m + 1) / m
    above = (steps[1:] - samples).max(axis=1)
    below = (samples - steps[:-1]).max(axis=1)
    failures = int((np.maximum(above, below) > dkw_epsilon(m, delta)).sum())
    assert failures_are_compatible(failures, runs, delta)


def failures_are_compatible(failures, runs, delta):
    """Not significantly more than `delta` of the runs failed, at one in a million."""
    from mlcore.bounds import binomial_tail_inversion_lower

    return binomial_tail_inversion_lower(failures, runs, 1e-6) <= delta


@given(values=st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=50))
def test_the_sum_of_squared_ranges_is_rounded_up(values):
    with working_digits():
        found = Fraction(_sum_of_squares(np.array(values), "value_range"))
    exact = sum(Fraction(value) ** 2 for value in values)
    assert exact <= found <= exact * (1 + Fraction(1, 2**49))
