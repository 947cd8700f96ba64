"""Bernstein, Bennett and Chernoff: their formulas in fifty digits, their order, simulation."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mlcore.bounds import (
    bennett_delta,
    bernstein_delta,
    bernstein_epsilon,
    bernstein_sample_size,
    binomial_tail_inversion_lower,
    chernoff_delta,
    chernoff_deviation,
    empirical_bernstein_epsilon,
)

# Formulas are checked over the whole range of delta, also where a confidence may be meant.
pytestmark = pytest.mark.filterwarnings("ignore:.*is the probability that the bound fails")

DELTA = st.floats(-300, -1e-3).map(lambda e: 10.0**e)
POSITIVE = st.floats(-9, 6).map(lambda e: 10.0**e)
SIZE = st.floats(0, 15).map(lambda e: int(10**e))
TAILS = pytest.mark.parametrize("tail", ["upper", "lower"])


def assert_just_above(found, exact):
    """`found` is the float next to the exact number, on the side of larger numbers."""
    assert exact <= found <= exact * (1 + mpmath.mpf(2) ** -51) + mpmath.mpf("5e-324")


def test_values():
    assert_allclose(chernoff_delta(0.5, 100.0, tail="lower", form="simple"), 3.72665317207867e-6)
    assert_allclose(chernoff_delta(0.5, 100.0, tail="upper"), 2.00002413651689e-5, rtol=1e-13)
    assert_allclose(bernstein_epsilon(1000, 0.05, 0.01), 0.00880317878165577, rtol=1e-13)
    found = empirical_bernstein_epsilon(1000, 0.05, 0.01)
    assert_allclose(found, 0.0172053895612616, rtol=1e-13)


def chernoff_rate(t, tail, form):
    if form == "simple":
        return t * t / (2 + t) if tail == "upper" else t * t / 2
    if tail == "upper":
        return (1 + t) * mpmath.log1p(t) - t
    return (1 - t) * mpmath.log1p(-t) + t if t < 1 else mpmath.mpf(1)


@TAILS
@pytest.mark.parametrize("form", ["exact", "simple"])
@given(t=st.floats(-12, 4).map(lambda e: 10.0**e), mu=POSITIVE)
def test_chernoff_to_the_last_digit(tail, form, t, mu):
    t = min(t, 1.0) if tail == "lower" else t
    with mpmath.workdps(80):
        exact = mpmath.exp(-mpmath.mpf(mu) * chernoff_rate(mpmath.mpf(t), tail, form))
        assert_just_above(chernoff_delta(t, mu, tail=tail, form=form), exact)


@TAILS
@pytest.mark.parametrize("form", ["exact", "simple"])
@settings(max_examples=40)
@given(mu=st.floats(-6, 300).map(lambda e: 10.0**e), delta=DELTA)
def test_chernoff_deviation_is_the_root_rounded_up(tail, form, mu, delta):
    t = chernoff_deviation(mu, delta, tail=tail, form=form)
    with mpmath.workdps(400):
        c = -mpmath.log(mpmath.mpf(delta)) / mpmath.mpf(mu)
        if t == 1 and tail == "lower":
            back = mpmath.mpf(1) - mpmath.mpf(2) ** -53
            assert chernoff_rate(back, tail, form) <= c
            return
        assert chernoff_rate(mpmath.mpf(t), tail, form) >= c
        assert chernoff_rate(t * (1 - mpmath.mpf(2) ** -51), tail, form) <= c


@TAILS
def test_chernoff_deviation_ends_where_digits_cancel(tail):
    for exponent in range(-7, 13):
        for digit in range(1, 10):
            t = chernoff_deviation(digit * 10.0**exponent, 0.3, tail=tail)
            assert 0 < t and (t <= 1 or tail == "upper")


def test_chernoff_lower_deviation_is_at_most_one():
    assert chernoff_deviation(1.0, 0.1, tail="lower") == 1
    assert chernoff_deviation(1.0, 0.1, tail="lower", form="simple") == 1
    nearly = math.exp(-1 + 1e-12)
    assert 0.99 < chernoff_deviation(1.0, nearly, tail="lower") <= 1


@given(SIZE, DELTA, st.floats(-9, 2).map(lambda e: 10.0**e), POSITIVE)
def test_bernstein_to_the_last_digit(m, delta, variance, b):
    epsilon = bernstein_epsilon(m, delta, variance, b)
    with mpmath.workdps(60):
        v, width = mpmath.mpf(variance), mpmath.mpf(b)
        total = -mpmath.log(mpmath.mpf(delta))
        a = width * total / (3 * m)
        assert_just_above(epsilon, a + mpmath.sqrt(a * a + 2 * v * total / m))
        e = mpmath.mpf(epsilon)
        exponent = -m * e * e / (2 * (v + width * e / 3))
        assert_just_above(bernstein_delta(epsilon, m, variance, b), mpmath.exp(exponent))
        u = width * e / v
        rate = (1 + u) * mpmath.log1p(u) - u
        exact = mpmath.exp(-m * v / width**2 * rate)
        assert_just_above(bennett_delta(epsilon, m, variance, b), exact)
    assert bennett_delta(epsilon, m, variance, b) <= bernstein_delta(epsilon, m, variance, b)
    assert bernstein_delta(epsilon, m, variance, b) <= delta
    size = bernstein_sample_size(epsilon, delta, variance, b)
    assert size <= m and (size == m or m > 2**48)
    assert bernstein_delta(epsilon, size, variance, b) <= delta
    if 1 < size < 2**40:
        assert bernstein_delta(epsilon, size - 1, variance, b) > delta


def test_without_variance():
    assert bennett_delta(0.1, 5, 0.0) == 0
    assert_allclose(bernstein_epsilon(10, 0.05, 0.0), 2 * math.log(20) / 30)
    assert_allclose(bernstein_delta(0.1, 10, 0), math.exp(-1.5), rtol=1e-14)
    two = bernstein_epsilon(10, 0.05, 0.01, two_sided=True)
    assert two == bernstein_epsilon(10, 0.025, 0.01)


@given(st.integers(2, 10**15), DELTA, st.floats(0, 1), POSITIVE)
def test_empirical_bernstein_to_the_last_digit(m, delta, variance, length):
    with mpmath.workdps(60):
        total = mpmath.log(2 / mpmath.mpf(delta))
        exact = mpmath.sqrt(2 * mpmath.mpf(variance) * total / m)
        exact += 7 * mpmath.mpf(length) * total / (3 * (m - 1))
        found = empirical_bernstein_epsilon(m, delta, variance, value_range=length)
        assert_just_above(found, exact)


def test_simulated_averages_rarely_leave_the_bounds():
    rng = np.random.default_rng(0)
    m, delta, runs, p = 60, 0.1, 4000, 0.1
    draws = rng.random((runs, m)) < p
    averages, variances = draws.mean(axis=1), draws.var(axis=1, ddof=1)
    over = {
        "bernstein": averages > p + bernstein_epsilon(m, delta, p * (1 - p), 1 - p),
        "empirical": p
        > averages + [empirical_bernstein_epsilon(m, delta, v) for v in variances.tolist()],
        "upper": averages > p * (1 + chernoff_deviation(m * p, delta, tail="upper")),
        "lower": averages < p * (1 - chernoff_deviation(m * p, delta, tail="lower")),
    }
    for name, failed in over.items():
        failures = int(failed.sum())
        assert binomial_tail_inversion_lower(failures, runs, 1e-6) <= delta, name
