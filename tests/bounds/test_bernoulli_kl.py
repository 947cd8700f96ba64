"""Relative entropy of two coins and its inverses, against fifty digits."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mlcore.bounds import kl_bernoulli, kl_inverse_lower, kl_inverse_upper, phi

TINY = st.floats(-300, -1e-3).map(lambda e: 10.0**e)
RATE = st.one_of(TINY, TINY.map(lambda x: 1 - x), st.floats(0, 1))


def exact_kl(q, p):
    q, p = mpmath.mpf(q), mpmath.mpf(p)
    total = mpmath.mpf(0)
    for a, b in ((q, p), (1 - q, 1 - p)):
        if a:
            total += a * mpmath.log(a / b) if b else mpmath.inf
    return total


def test_values():
    assert_allclose(kl_bernoulli(0.1, 0.2), 0.0366900140347506, rtol=1e-14)
    assert_allclose(kl_inverse_upper(0.1, 0.01), 0.147675539298007, rtol=1e-13)
    assert_allclose(kl_inverse_lower(0.1, 0.01), 0.0629106298472583, rtol=1e-13)


@given(st.one_of(TINY, TINY.map(lambda x: -x), st.floats(-0.999, 1e300)))
def test_phi_has_no_cancellation(x):
    with mpmath.workdps(700):
        exact = x - mpmath.log1p(mpmath.mpf(x))
        if abs(x) > 1e-150:  # the square of less underflows
            assert_allclose(phi(x), float(exact), rtol=4e-15)


@given(RATE, RATE)
def test_kl_of_any_two_coins(q, p):
    with mpmath.workdps(700):
        exact = float(exact_kl(q, p))
    if exact > 1e-290 or exact == 0:
        assert_allclose(kl_bernoulli(q, p), exact, rtol=1e-12)


@given(RATE.filter(lambda q: 1e-100 < q < 1), st.floats(-15, -1), st.sampled_from([-1, 1]))
def test_kl_of_coins_that_nearly_agree(q, exponent, sign):
    p = q * (1 + sign * 10**exponent)
    if 0 < p < 1:
        with mpmath.workdps(400):
            exact = float(exact_kl(q, p))
        assert_allclose(kl_bernoulli(q, p), exact, rtol=1e-13)


def test_kl_at_the_ends():
    assert kl_bernoulli(0, 0) == kl_bernoulli(1, 1) == 0
    assert kl_bernoulli(0, 1) == kl_bernoulli(1, 0) == kl_bernoulli(0.5, 1) == math.inf
    assert_allclose(kl_bernoulli(0, 0.3), -math.log(0.7))
    assert_allclose(kl_bernoulli(1, 0.3), -math.log(0.3))


@given(RATE, st.floats(-12, 2.5).map(lambda e: 10.0**e))
def test_inverses_are_on_the_safe_side_and_close(q, c):
    upper, lower = kl_inverse_upper(q, c), kl_inverse_lower(q, c)
    assert 0 <= lower <= q <= upper <= 1
    close = mpmath.mpf("1e-11")
    with mpmath.workdps(700):
        assert upper == 1 or exact_kl(q, upper) >= c
        assert lower < 1e-300 or exact_kl(q, lower) >= c
        back = upper - upper * close
        assert back <= q or exact_kl(q, back) <= c
        forth = lower + lower * close
        assert lower < 1e-300 or forth >= q or exact_kl(q, forth) <= c


@given(st.floats(1e-3, 0.999), st.floats(-12, 0).map(lambda e: 10.0**e))
def test_kl_of_an_inverse_is_what_was_inverted(q, c):
    for p in (kl_inverse_upper(q, c), kl_inverse_lower(q, c)):
        if 1e-3 < p < 0.999:
            # A last digit of p, 2e-16 of it, against the distance from q.
            assert_allclose(kl_bernoulli(q, p), c, rtol=1e-13 + 2e-15 / abs(p - q))


@given(st.floats(0, 1), st.floats(0, 50))
def test_upper_and_lower_are_mirror_images(q, c):
    assert_allclose(kl_inverse_upper(q, c), 1 - kl_inverse_lower(1 - q, c), rtol=1e-14, atol=4e-15)


def test_inverses_at_the_ends():
    assert kl_inverse_upper(1, 0.5) == 1 and kl_inverse_lower(0, 0.5) == 0
    assert_allclose(kl_inverse_upper(0, 1e-12), 1e-12, rtol=1e-11)
    assert_allclose(kl_inverse_lower(1, 3), math.exp(-3), rtol=4e-14)
    assert kl_inverse_upper(0.3, 0) == kl_inverse_lower(0.3, 0) == 0.3
    assert kl_inverse_upper(0.3, math.inf) == 1 and kl_inverse_lower(0.3, math.inf) == 0


@pytest.mark.parametrize("inverse", [kl_inverse_upper, kl_inverse_lower])
def test_arrays_broadcast_and_agree_with_scalars(inverse):
    q, c = np.array([[0.0], [1e-9], [0.3], [1.0]]), np.array([0.0, 1e-12, 0.1, 40.0, np.inf])
    found = inverse(q, c)
    assert found.shape == (4, 5)
    one_by_one = [[inverse(float(a), float(b)) for b in c] for a in q.ravel()]
    assert_allclose(found, one_by_one, rtol=2e-15)
    assert type(inverse(np.float64(0.3), 1)) is float
    assert kl_bernoulli(q, [0.1, 0.2]).shape == (4, 2)


def test_an_inverse_next_to_one_is_not_below_the_exact_value():
    q, c = 130 / 272, 2.5602389694610245  # one rounding to nearest is below, the next float above
    with mpmath.workdps(60):
        assert exact_kl(q, kl_inverse_upper(q, c)) >= c
        assert exact_kl(q, kl_inverse_upper(q, c) - 2.0**-51) < c
