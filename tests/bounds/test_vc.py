"""VC deviations and error bounds: formulas in fifty digits, order, simulation."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mlcore.bounds import (
    binomial_tail_inversion_lower,
    double_sampling_delta,
    log_sauer_bound,
    sauer_bound,
    vc_deviation,
    vc_error_bound,
)

# Formulas are checked over the whole range of delta, also where a confidence may be meant.
pytestmark = pytest.mark.filterwarnings("ignore:.*is the probability that the bound fails")

METHODS = ("vc", "vapnik", "parrondo", "devroye", "rademacher")
DELTA = st.floats(-300, -1e-3).map(lambda e: 10.0**e)
SIZE = st.floats(0.5, 15).map(lambda e: int(10**e))
DIMENSION = st.floats(0, 2).map(lambda e: int(10**e))


def test_values():
    expected = {
        "vc": 0.16075006646482,
        "vapnik": 0.0569337310367311,
        "parrondo": 0.0572894176781536,
        "devroye": 0.0538885328360924,
        "rademacher": 0.0841265101611601,
    }
    for method, value in expected.items():
        assert_allclose(vc_deviation(10_000, 3, 0.05, method=method), value, rtol=1e-13)
    assert_allclose(vc_error_bound(100, 10_000, 3, 0.05), 0.0295344109659016, rtol=1e-13)
    found = vc_error_bound(0, 10_000, 3, 0.05, method="double_sampling")
    assert_allclose(found, 0.00912002055016986, rtol=1e-13)


def log_phi(m, d):
    return mpmath.log(sauer_bound(m, d))


def exact_deviation(m, d, delta, method):
    delta = mpmath.mpf(delta)
    if method == "vc":
        return mpmath.sqrt(8 * (log_phi(2 * m, d) + mpmath.log(4 / delta)) / m)
    if method == "vapnik":
        return mpmath.mpf(1) / m + mpmath.sqrt((log_phi(2 * m, d) + mpmath.log(4 / delta)) / m)
    if method == "parrondo":  # the root of e² = (2 e + ln(6 Phi / delta)) / m
        total = log_phi(2 * m, d) + mpmath.log(6 / delta)
        return (1 + mpmath.sqrt(1 + m * total)) / m
    if method == "devroye":  # the root of ln(4 Phi / delta) + 4 e + 4 e² = 2 m e²
        total = log_phi(m * m, d) + mpmath.log(4 / delta)
        return (4 + mpmath.sqrt(16 + 4 * (2 * m - 4) * total)) / (2 * (2 * m - 4))
    return mpmath.sqrt(2 * log_phi(m, d) / m) + mpmath.sqrt(-mpmath.log(delta) / (2 * m))


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=40)
@given(m=SIZE, d=DIMENSION, delta=DELTA)
def test_deviations_to_the_last_digit(method, m, d, delta):
    with mpmath.workdps(60):
        exact = exact_deviation(m, d, delta, method)
        found = vc_deviation(m, d, delta, method=method)
        assert exact <= found <= exact * (1 + mpmath.mpf(2) ** -51)


@given(SIZE, st.integers(0, 3), DIMENSION, DELTA)
def test_error_bounds_to_the_last_digit(m, k, d, delta):
    with mpmath.workdps(60):
        a = (log_phi(2 * m, d) + mpmath.log(4 / mpmath.mpf(delta))) / m
        rate = mpmath.mpf(k) / m
        relative = min(rate + 2 * a + 2 * mpmath.sqrt(a * a + a * rate), mpmath.mpf(1))
        assert relative <= vc_error_bound(k, m, d, delta) <= relative * (1 + mpmath.mpf(2) ** -51)
        total = log_phi(2 * m, d) + mpmath.log(2 / mpmath.mpf(delta))
        double = min(2 * total / m / mpmath.log(2), mpmath.mpf(1))
        found = vc_error_bound(0, m, d, delta, method="double_sampling")
        assert double <= found <= double * (1 + mpmath.mpf(2) ** -51)
        if found < 1:  # at its own epsilon the failure probability is delta
            assert_allclose(double_sampling_delta(found, m, d), delta, rtol=1e-11)
    for method in METHODS:
        plain = k / m + vc_deviation(m, d, delta, method=method)
        assert_allclose(vc_error_bound(k, m, d, delta, method=method), min(plain, 1), rtol=1e-14)


@pytest.mark.parametrize("method", ["relative", *METHODS])
@settings(max_examples=40)
@given(k=st.integers(0, 100), m=st.integers(100, 10**9), d=DIMENSION, delta=DELTA)
def test_bounds_grow_with_errors_dimension_and_confidence(method, k, m, d, delta):
    bound = vc_error_bound(k, m, d, delta, method=method)
    assert bound <= vc_error_bound(min(k + 1, m), m, d, delta, method=method)
    assert bound <= vc_error_bound(k, m, d + 1, delta, method=method)
    assert bound <= vc_error_bound(k, m, d, delta / 2, method=method)
    assert vc_error_bound(k, m + 1, d, delta, method=method) <= bound


def test_a_growth_function_in_place_of_a_dimension():
    for method in METHODS:
        found = vc_deviation(1000, None, 0.05, method=method, log_growth=lambda n: math.log(n + 1))
        assert_allclose(found, vc_deviation(1000, 1, 0.05, method=method), rtol=1e-14)
    with pytest.raises(ValueError, match="log_growth"):
        vc_deviation(1000, 3, 0.05, method="vc", log_growth=math.log)
    with pytest.raises(ValueError, match="log_growth"):
        vc_deviation(1000, None, 0.05, method="vc")
    with pytest.raises(ValueError, match=r"log_growth\(2000\)=nan"):
        vc_deviation(1000, None, 0.05, method="vc", log_growth=lambda n: math.nan)


def test_large_dimensions_are_vacuous_but_no_error():
    assert vc_error_bound(0, 100, 10**6, 0.05) == 1
    assert vc_deviation(100, 10**6, 0.05, method="vc") > 1
    assert log_sauer_bound(200, 10**6) == pytest.approx(200 * math.log(2))


def test_intervals_on_simulated_data_rarely_fail():
    """All intervals of a line, uniform points, noise of 0.2: true errors by their lengths."""
    rng = np.random.default_rng(0)
    runs, m, delta, grid = 300, 150, 0.2, np.linspace(0, 1, 21)
    low, high = (a.ravel() for a in np.meshgrid(grid, grid, indexing="ij"))
    low, high = low[low < high], high[low < high]
    overlap = np.clip(np.minimum(high, 0.7) - np.maximum(low, 0.3), 0, None)
    true = 0.2 + 0.6 * (high - low + 0.4 - 2 * overlap)
    failures = dict.fromkeys(("relative", *METHODS), 0)
    for _ in range(runs):
        x = rng.random(m)
        y = ((x > 0.3) & (x < 0.7)) ^ (rng.random(m) < 0.2)
        wrong = (((x > low[:, None]) & (x < high[:, None])) != y).sum(axis=1)
        for method in failures:
            deviation = true - wrong / m
            if method == "relative":
                worst = int(deviation.argmax())
                failed = true[worst] > vc_error_bound(int(wrong[worst]), m, 2, delta)
            else:
                failed = deviation.max() > vc_deviation(m, 2, delta, method=method)
            failures[method] += bool(failed)
    for method, count in failures.items():
        assert binomial_tail_inversion_lower(count, runs, 1e-6) <= delta, method
