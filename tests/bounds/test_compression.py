"""The compression bound is the test-set bound at the price of choosing the examples."""

import math

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlcore.bounds import binomial_tail_inversion, sample_compression_bound

pytestmark = pytest.mark.filterwarnings("ignore:.*is the probability that the bound fails")

DELTA = st.floats(-300, -0.01).map(lambda x: 10.0**x)


@st.composite
def samples(draw, largest=15):
    m = int(10 ** draw(st.floats(0, largest)))
    k = min(m, int(10 ** draw(st.floats(0, math.log10(m + 1)))) - 1)
    return m, draw(st.sampled_from([k, m - k]))


def price(m, k, delta, log_messages):
    choices = mpmath.loggamma(m + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(m - k + 1)
    return choices + mpmath.log(m) - mpmath.log(delta) + log_messages


@given(samples(), DELTA, st.sampled_from([0.0, 1e-9, 3.0, 1e6]))
def test_without_errors_against_fifty_digits(mk, delta, log_messages):
    m, k = mk
    found = sample_compression_bound(k, m, delta, log_messages=log_messages)
    closed = sample_compression_bound(k, m, delta, log_messages=log_messages, method="closed")
    if k == m:
        assert found == closed == 1
        return
    with mpmath.workdps(70):
        exponent = price(m, k, mpmath.mpf(delta), log_messages) / (m - k)
        assert -mpmath.expm1(-exponent) <= found <= -mpmath.expm1(-exponent) * (1 + 1e-12)
        assert min(1, exponent) <= closed <= min(1, exponent * (1 + 1e-12))
    assert found <= closed


@pytest.mark.parametrize(("m", "k", "errors"), [(50, 3, 4), (1000, 10, 3), (10**6, 1000, 200)])
def test_with_errors_the_tail_is_the_price(m, k, errors):
    found = sample_compression_bound(k, m, 0.05, k=errors, log_messages=2.0)
    n = m - k
    with mpmath.workdps(50):
        allowed = mpmath.exp(-price(m, k, mpmath.mpf("0.05"), 2))

        def tail(p):
            return sum(mpmath.binomial(n, i) * p**i * (1 - p) ** (n - i) for i in range(errors + 1))

        assert tail(mpmath.mpf(found)) <= allowed
        assert tail(found * (1 - mpmath.mpf("1e-9"))) >= allowed


@given(samples(4), DELTA, st.integers(0, 50))
def test_it_goes_up_with_examples_errors_messages_and_confidence(mk, delta, errors):
    m, k = mk
    errors = min(errors, m - k)
    found = sample_compression_bound(k, m, delta, k=errors)
    assert binomial_tail_inversion(errors, m - k, delta) <= found if k < m else found == 1
    if k < m and errors < m - k:
        assert found <= sample_compression_bound(k, m, delta, k=errors + 1) * (1 + 1e-13)
        assert found <= sample_compression_bound(k, m, delta, k=errors, log_messages=1.0)
        assert found <= sample_compression_bound(k, m, delta / 2, k=errors) * (1 + 1e-13)


def test_the_closed_form_is_for_no_errors():
    with pytest.raises(ValueError, match="k=1.*closed"):
        sample_compression_bound(5, 100, 0.05, k=1, method="closed")
    with pytest.raises(ValueError, match="k=96"):
        sample_compression_bound(5, 100, 0.05, k=96)
    assert sample_compression_bound(10, 10, 0.05) == sample_compression_bound(1, 1, 0.05) == 1
