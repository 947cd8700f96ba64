"""VC sample sizes: the least that their inequality allows, decided in fifty digits."""

import math

import mpmath
import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st

from mlcore.bounds import (
    binomial_tail_inversion_lower,
    double_sampling_delta,
    sauer_bound,
    vc_sample_size,
    vc_sample_size_lower,
)

# Formulas are checked over the whole range of delta, also where a confidence may be meant.
pytestmark = pytest.mark.filterwarnings("ignore:.*is the probability that the bound fails")

DELTA = st.floats(-300, -1e-3).map(lambda e: 10.0**e)
EPSILON = st.floats(-6, -1e-3).map(lambda e: 10.0**e)
DIMENSION = st.floats(0, 2.5).map(lambda e: int(10**e))


def test_values():
    assert vc_sample_size(3, 0.1, 0.05, method="blumer") == 1686
    assert vc_sample_size(3, 0.1, 0.05, method="anthony_biggs") == 1042
    assert vc_sample_size(3, 0.1, 0.05, method="double_sampling") == 680
    size = vc_sample_size(3, 0.1, 0.05, setting="agnostic", method="anthony_bartlett")
    assert size == 211885
    assert vc_sample_size_lower(3, 0.1, 0.01) == 42


def log_failure(m, d, epsilon, method):
    e = mpmath.mpf(epsilon)
    if method == "double_sampling":
        return mpmath.log(2 * sauer_bound(2 * m, d)) - e * m / 2 * mpmath.log(2)
    if method == "vc":
        return mpmath.log(4 * sauer_bound(2 * m, d)) - m * e * e / 8
    return mpmath.log(4 * sauer_bound(m * m, d)) + 4 * e + 4 * e * e - 2 * m * e * e


@pytest.mark.parametrize("method", ["double_sampling", "vc", "devroye"])
@settings(max_examples=20)
@given(d=DIMENSION, epsilon=EPSILON, delta=DELTA)
def test_numeric_sizes_are_the_least(method, d, epsilon, delta):
    setting = "realizable" if method == "double_sampling" else "uniform"
    m = vc_sample_size(d, epsilon, delta, setting=setting, method=method)
    with mpmath.workdps(60):
        limit = mpmath.log(mpmath.mpf(delta))
        assert log_failure(m, d, epsilon, method) <= limit
        step = 1 if m < 2**53 else m // 10**12
        assert log_failure(m - step, d, epsilon, method) > limit
    if setting == "uniform":
        agnostic = vc_sample_size(d, 2 * epsilon, delta, setting="agnostic", method=method)
        assert agnostic == m


@given(d=DIMENSION, epsilon=EPSILON, delta=DELTA)
def test_closed_forms(d, epsilon, delta):
    with mpmath.workdps(60):
        e, log2 = mpmath.mpf(epsilon), mpmath.log(2)
        inverse = 1 / mpmath.mpf(delta)
        sizes = {
            "anthony_biggs": 4 / e * (d * mpmath.log(12 / e) + mpmath.log(2 * inverse)) / log2,
            "blumer": max(4 * mpmath.log(2 * inverse), 8 * d * mpmath.log(13 / e)) / e / log2,
        }
        if delta < 0.25:
            total = 2 * d * mpmath.log(16 * mpmath.e / e) + mpmath.log(2 * inverse)
            sizes["uml"] = 8 / e * total
        for method, size in sizes.items():
            assert vc_sample_size(d, epsilon, delta, method=method) == int(mpmath.ceil(size))
        size = 64 / e**2 * (2 * d * mpmath.log(12 / e) + mpmath.log(4 * inverse))
        found = vc_sample_size(d, epsilon, delta, setting="agnostic", method="anthony_bartlett")
        assert found == int(mpmath.ceil(size))


@settings(max_examples=20)
@given(d=DIMENSION, epsilon=EPSILON, delta=DELTA)
def test_the_defaults_and_their_order(d, epsilon, delta):
    double = vc_sample_size(d, epsilon, delta)
    assert double <= vc_sample_size(d, epsilon, delta, method="anthony_biggs")
    assert double_sampling_delta(epsilon, double, d) <= delta
    assert double_sampling_delta(epsilon, double - 1, d) > delta
    uniform = vc_sample_size(d, epsilon, delta, setting="uniform")
    assert uniform == vc_sample_size(d, epsilon, delta, setting="uniform", method="vc")
    agnostic = vc_sample_size(d, epsilon, delta, setting="agnostic")
    assert agnostic == vc_sample_size(d, epsilon, delta, setting="agnostic", method="devroye")
    if epsilon < 0.5:
        assert vc_sample_size_lower(d, epsilon, delta) <= double


def test_sizes_beyond_exact_floats():
    m = vc_sample_size(5, 1e-9, 1e-300, setting="uniform")
    assert m > 2**53
    with mpmath.workdps(60):
        limit = mpmath.log(mpmath.mpf(1e-300))
        assert log_failure(m, 5, 1e-9, "vc") <= limit
        assert log_failure(m - m // 10**12, 5, 1e-9, "vc") > limit
    assert vc_sample_size(3, 1e-9, 1e-300) > 10**11
    assert vc_sample_size(10**5, 0.1, 0.05) > 10**6


def test_lower_bounds():
    assert vc_sample_size_lower(100, 0.01, 0.01) == math.ceil(99 * math.log(100))
    assert vc_sample_size_lower(100, 0.4, 0.05) == 14
    assert vc_sample_size_lower(10**4, 0.01, 0.01) == math.ceil(9999 / 0.32)
    found = vc_sample_size_lower(5, 0.1, 0.1, setting="agnostic")
    assert found == math.ceil(50 * math.log(2.5))
    found = vc_sample_size_lower(1000, 0.01, 0.01, setting="agnostic")
    assert found == math.ceil(max(5000 * math.log(25), 1000 / 0.032))


@each(
    ("arguments", "options", "message"),
    [
        ((3, 0.1, 0.25), {"method": "uml"}, "delta=0.25 must be a finite number > 0 and < 0.25"),
        ((3, 1.0, 0.05), {}, "epsilon=1.0"),
        ((0, 0.1, 0.05), {}, "vc_dimension=0 must be an integer >= 1"),
        ((3, 0.1, 0.05), {"method": "devroye"}, "method='devroye' must be one of 'double_sampl"),
        ((3, 0.1, 0.05), {"setting": "pac"}, "setting='pac' must be one of 'realizable'"),
    ],
)
def test_arguments_outside_the_theorem(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        vc_sample_size(*arguments, **options)


def test_arguments_outside_the_lower_bounds():
    with pytest.raises(ValueError, match="epsilon=0.5 must be .* < 0.5"):
        vc_sample_size_lower(3, 0.5, 0.05)
    with pytest.raises(ValueError, match="delta=0.25"):
        vc_sample_size_lower(3, 0.1, 0.25, setting="agnostic")


def test_consistent_intervals_of_simulated_data_rarely_fail():
    rng = np.random.default_rng(0)
    epsilon, delta, runs = 0.3, 0.3, 300
    m = vc_sample_size(2, epsilon, delta)
    x = rng.random((runs, m))
    inside = (x > 0.2) & (x < 0.8)
    # The largest consistent interval: up to the nearest points outside the target.
    low = np.where(x <= 0.2, x, 0).max(axis=1)
    high = np.where(x >= 0.8, x, 1).min(axis=1)
    assert inside.any()
    failures = int((0.2 - low + high - 0.8 > epsilon).sum())
    assert binomial_tail_inversion_lower(failures, runs, 1e-6) <= delta
