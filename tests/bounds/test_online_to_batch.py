"""From mistakes to risk: against fifty digits, and against opponents by dynamic programming."""

import math

import mpmath
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st

from mlcore.bounds import online_to_batch_bound, online_to_batch_expected

# Formulas are checked over the whole range of delta, also where a confidence may be meant.
pytestmark = pytest.mark.filterwarnings("ignore:.*is the probability that the bound fails")

DELTA = st.floats(-300, -0.01).map(lambda x: 10.0**x)
METHODS = ("azuma", "kl", "select")


def failure(T, delta, method, step=25):
    """The most that P(mean risk > bound) can be when each risk may depend on the mistakes so far.

    Risks are multiples of 1 / step; the state is (mistakes, sum of risks).
    """
    limits = [online_to_batch_bound(k, T, delta, method=method) * T * step for k in range(T + 1)]
    after = {(k, s): float(s > limits[k]) for k in range(T + 1) for s in range(T * step + 1)}
    for t in reversed(range(T)):
        after = {
            (k, s): max(
                (1 - r / step) * after[k, s + r] + r / step * after[k + 1, s + r]
                for r in range(step + 1)
            )
            for k in range(t + 1)
            for s in range(t * step + 1)
        }
    return after[0, 0]


@each("method", METHODS)
@each(("T", "delta"), [(6, 0.05), (8, 0.3)])
def test_no_opponent_breaks_the_bound_more_often_than_delta(method, T, delta):
    assert failure(T, delta, method, step=10) <= delta


@given(st.floats(0, 15).map(lambda x: int(10**x)), st.floats(0, 1), DELTA)
def test_relative_entropy_against_fifty_digits(T, share, delta):
    mistakes = int(share * T)
    found = online_to_batch_bound(mistakes, T, delta, method="kl")
    with mpmath.workdps(60):
        q, p = mpmath.mpf(mistakes) / T, mpmath.mpf(found)
        c = mpmath.log((T + 1) / mpmath.mpf(delta)) / T

        def kl(p):
            return sum(a * mpmath.log(a / b) for a, b in ((q, p), (1 - q, 1 - p)) if a)

        if found < 1:
            assert kl(p) >= c * (1 - mpmath.mpf(10) ** -15)
            close = max((p - q) * mpmath.mpf("1e-9"), p * 2.0**-50)  # p is a float
            assert p - close <= q or kl(p - close) <= c


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=40)
@given(st.integers(1, 10**6), st.floats(0, 1), DELTA)
def test_it_goes_up_with_mistakes_and_confidence(method, T, share, delta):
    mistakes = int(share * (T - 1))
    value = online_to_batch_bound(mistakes, T, delta, method=method)
    assert online_to_batch_expected(mistakes, T) <= value <= 1
    assert value <= online_to_batch_bound(mistakes + 1, T, delta, method=method)
    assert value <= online_to_batch_bound(mistakes, T, delta / 2, method=method) or delta < 1e-299
    assert value >= online_to_batch_bound(mistakes, T + 1, delta, method=method) or method == "kl"
    assert math.isfinite(value)
