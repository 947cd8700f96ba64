"""Binomial tails against exact rational sums, and against fifty digits at large samples."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mlcore.bounds import binomial_tail, binomial_tail_inversion, log_binomial_tail
from mlcore.bounds.concentration.binomial_tail import log_choose, log_factorial_excess

LOG_RATE = st.floats(-40, -1e-3).map(lambda e: 10.0**e)


def rational_tail(k, m, p):
    """P(Bin(m, p) <= k) as a fraction, and the rest of it."""
    p = Fraction(p)
    terms = [math.comb(m, i) * p**i * (1 - p) ** (m - i) for i in range(m + 1)]
    return sum(terms[: k + 1]), sum(terms[k + 1 :], Fraction(0))


def log_of(fraction):
    return mpmath.log(mpmath.mpf(fraction.numerator)) - mpmath.log(mpmath.mpf(fraction.denominator))


@given(st.integers(1, 60), st.data(), st.one_of(LOG_RATE, LOG_RATE.map(lambda x: 1 - x)))
def test_small_samples_are_what_the_terms_add_up_to(m, data, p):
    k = data.draw(st.integers(0, m))
    if p == 1:
        return
    tail, rest = rational_tail(k, m, p)
    with mpmath.workdps(60):
        exact = log_of(tail) if tail < Fraction(1, 2) else mpmath.log1p(-rest_of(rest))
    if exact < -1e-290 or exact == 0:
        assert_allclose(log_binomial_tail(k, m, p), float(exact), rtol=1e-12)


def rest_of(fraction):
    return mpmath.mpf(fraction.numerator) / mpmath.mpf(fraction.denominator)


@example(exponent=7.875, share=0.5, deviations=-24.125)
@given(exponent=st.floats(1, 15), share=st.floats(0, 1), deviations=st.floats(-30, 30))
def test_large_samples_have_twelve_digits(exponent, share, deviations):
    """At p so many deviations from k / m; the sum of terms by its ratio, in fifty digits."""
    m = int(10**exponent)
    k = min(int(m**share), m - 1)
    p = (k + 0.5) / m + deviations * math.sqrt(k + 1) / m
    if not 0 < p < 1 or abs(deviations) < 1 and m > 10**6:
        return
    with mpmath.workdps(50):
        exact = exact_log_tail(k, m, mpmath.mpf(p))
    if exact is not None and exact < -1e-290:
        assert_allclose(log_binomial_tail(k, m, p), float(exact), rtol=1e-12)


def exact_log_tail(k, m, p):
    """The series of ratios from the largest term outwards, on the side where it decreases."""
    low = (m + 1) * p > k + 1
    ratio = (
        (lambda i: (k - i) * (1 - p) / ((m - k + 1 + i) * p))
        if low
        else (lambda i: (m - k - 1 - i) * p / ((k + 2 + i) * (1 - p)))
    )
    first = k if low else k + 1
    if ratio(0) > 1 - mpmath.mpf("0.01"):
        return None  # too many terms
    total = term = mpmath.mpf(1)
    i = 0
    while term > mpmath.mpf("1e-45") * total and i < 10_000:
        term *= ratio(i)
        total += term
        i += 1
    log_gamma = mpmath.loggamma
    point = log_gamma(m + 1) - log_gamma(first + 1) - log_gamma(m - first + 1)
    point += first * mpmath.log(p) + (m - first) * mpmath.log1p(-p) + mpmath.log(total)
    return point if low else mpmath.log1p(-mpmath.exp(point))


COUNTS = [10**17, 2**63, 10**100, 10**154, 10**160, 10**300, 10**308]


@pytest.mark.parametrize("m", COUNTS)
@pytest.mark.parametrize("of", [1, 3, 10**9])
def test_any_count_that_a_float_holds_has_its_tail(m, of):
    """Neither NaN nor infinity where the logarithm is finite; also where m - k is rounded."""
    k = 9 if of == 3 else m // of - 1
    rate = k / m
    for p in (5e-324, 1e-300, 1e-17, rate / 2, 1e-3, 0.5, (1 + rate) / 2, 1 - 2**-53):
        if not 0 < k < m or not 0 < p < 1:
            continue
        with mpmath.workdps(700):
            exact = exact_log_tail(k, m, mpmath.mpf(p))
        if exact is not None:
            found = log_binomial_tail(k, m, p)
            assert_allclose(found, float(exact), rtol=1e-12, atol=1e-290)
            assert binomial_tail(k, m, p) == math.exp(found)


@pytest.mark.parametrize("m", COUNTS)
def test_bounds_from_any_count_hold(m):
    for k, delta in itertools.product((1, 9, m // 10**9, m // 2, m - 1), (5e-324, 0.05)):
        upper = binomial_tail_inversion(k, m, delta)
        assert upper == 1 or log_binomial_tail(k, m, upper) <= math.log(delta)
        assert upper > k / m or k == m - 1


@pytest.mark.parametrize("m", [10**4, 10**9, 10**15])
def test_the_middle_of_a_fair_coin(m):
    """P(Bin(m, 1/2) <= m/2) = 1/2 + half the central term, to its last digits."""
    with mpmath.workdps(50):
        log_gamma = mpmath.loggamma
        central = mpmath.exp(log_gamma(m + 1) - 2 * log_gamma(m // 2 + 1) - m * mpmath.log(2))
        exact = (1 + central) / 2
    assert_allclose(binomial_tail(m // 2, m, 0.5), float(exact), rtol=1e-14)
    assert_allclose(binomial_tail(m // 2 - 1, m, 0.5), float((1 - central) / 2), rtol=1e-14)


def test_the_ends():
    assert log_binomial_tail(5, 5, 0.3) == log_binomial_tail(2, 5, 0) == 0
    assert log_binomial_tail(2, 5, 1) == -math.inf and binomial_tail(2, 5, 1) == 0
    assert_allclose(log_binomial_tail(0, 10**15, 0.5), -(10**15) * math.log(2), rtol=1e-15)
    assert_allclose(log_binomial_tail(0, 7, 1e-300), -7e-300, rtol=1e-15)
    assert type(log_binomial_tail(np.int64(3), 10.0, np.float32(0.5))) is float


@given(st.floats(0, 15), st.floats(0, 15))
def test_binomial_coefficients(a, b):
    m, k = (int(10 ** max(a, b)) + 1, int(10 ** min(a, b)))
    with mpmath.workdps(50):
        exact = mpmath.loggamma(m + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(m - k + 1)
    if k < m:
        found = log_choose(np.array([float(m)]), np.array([float(k)]))
        assert_allclose(found[0], float(exact), rtol=2e-14)


def test_factorials():
    n = np.arange(200)
    with mpmath.workdps(50):
        exact = [mpmath.log(mpmath.factorial(i)) - (i * mpmath.log(i) - i if i else 0) for i in n]
    assert_allclose(log_factorial_excess(n), [float(x) for x in exact], rtol=4e-16, atol=0)
