"""Finite classes: formulas in fifty digits, least sample sizes, simulation over a whole class."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mlcore.bounds import (
    binomial_tail_inversion,
    binomial_tail_inversion_lower,
    conjunction_sample_size,
    finite_class_delta,
    finite_class_epsilon,
    finite_class_sample_size,
    log_class_size,
    occam_bound,
    rectangle_sample_size,
)

# Formulas are checked over the whole range of delta, also where a confidence may be meant.
pytestmark = pytest.mark.filterwarnings("ignore:.*is the probability that the bound fails")

DELTA = st.floats(-300, -1e-3).map(lambda e: 10.0**e)
EPSILON = st.floats(-9, -1e-3).map(lambda e: 10.0**e)
COUNT = st.floats(0, 30).map(lambda e: int(10**e))
SETTING = st.sampled_from(["realizable", "uniform", "agnostic"])


def test_values():
    assert finite_class_sample_size(1000, 0.1, 0.05) == 100
    assert finite_class_sample_size(1000, 0.1, 0.05, setting="agnostic") == 2120
    assert finite_class_sample_size(1000, 0.1, 0.05, setting="uniform") == 530
    found = finite_class_epsilon(1000, 500, 0.05, setting="agnostic")
    assert_allclose(found, 0.205879913863359, rtol=1e-14)
    assert_allclose(occam_bound(5, 1000, 0.05, log_prior=-20.0), 0.0357491262363032, rtol=1e-13)
    assert rectangle_sample_size(0.1, 0.05) == 176
    assert conjunction_sample_size(20, 0.1, 0.05) == 250


def failure(n, epsilon, m, setting, tight):
    """The union bound in fifty digits."""
    epsilon = mpmath.mpf(epsilon)
    if setting == "realizable":
        one = (1 - epsilon) ** m if tight else mpmath.exp(-epsilon * m)
        return n * one
    if setting == "uniform":
        return 2 * n * mpmath.exp(-2 * epsilon**2 * m)
    return (n + 1 if tight else 2 * n) * mpmath.exp(-(epsilon**2) * m / 2)


@given(COUNT, EPSILON, DELTA, SETTING, st.booleans())
def test_the_sample_size_is_the_least(n, epsilon, delta, setting, tight):
    m = finite_class_sample_size(n, epsilon, delta, setting=setting, tight=tight)
    with mpmath.workdps(60):
        assert failure(n, epsilon, m, setting, tight) <= delta
        assert m == 1 or failure(n, epsilon, m - 1, setting, tight) > delta
        exact = failure(n, epsilon, m, setting, tight)
        found = finite_class_delta(n, epsilon, m, setting=setting, tight=tight)
        assert exact <= found <= exact * (1 + mpmath.mpf(2) ** -51) or found == 5e-324
    assert finite_class_epsilon(n, m, delta, setting=setting, tight=tight) <= epsilon
    if m > 1:
        assert finite_class_epsilon(n, m - 1, delta, setting=setting, tight=tight) > epsilon


@given(COUNT, COUNT, DELTA, SETTING, st.booleans())
def test_epsilon_is_the_root_rounded_up(n, m, delta, setting, tight):
    epsilon = finite_class_epsilon(n, m, delta, setting=setting, tight=tight)
    with mpmath.workdps(90):
        if epsilon < 1 or setting != "realizable":
            assert failure(n, epsilon, m, setting, tight) <= delta
        back = epsilon * (1 - mpmath.mpf(2) ** -51)
        assert failure(n, back, m, setting, tight) >= delta


@given(COUNT, EPSILON, DELTA, SETTING)
def test_tight_is_tighter_and_logarithms_do_as_well(n, epsilon, delta, setting):
    m = finite_class_sample_size(n, epsilon, delta, setting=setting)
    assert finite_class_sample_size(n, epsilon, delta, setting=setting, tight=True) <= m
    options = {"setting": setting, "tight": True}
    epsilons = (
        finite_class_epsilon(n, m, delta, **options),
        finite_class_epsilon(None, m, delta, log_n=math.log(n), **options),
    )
    assert_allclose(*epsilons, rtol=1e-13)


def test_huge_classes():
    m = finite_class_sample_size(3**1_000_000, 0.1, 0.05)
    assert m == conjunction_sample_size(1_000_000, 0.1, 0.05)
    assert m == finite_class_sample_size(None, 0.1, 0.05, log_n=1e6 * math.log(3))
    assert finite_class_delta(None, 0.1, 10, log_n=1e300) == 1


def test_ties_are_decided_exactly():
    """(1 - 1/2)^m <= 2^-10 from m = 10 on."""
    assert finite_class_sample_size(1, 0.5, 2.0**-10, tight=True) == 10
    assert finite_class_sample_size(2**20, 0.5, 2.0**-10, tight=True) == 30


@given(st.integers(1, 30), EPSILON, DELTA, st.booleans())
def test_rectangles(dim, epsilon, delta, tight):
    m = rectangle_sample_size(epsilon, delta, dim=dim, tight=tight)
    with mpmath.workdps(60):
        strip = mpmath.mpf(epsilon) / (2 * dim)
        log_miss = mpmath.log1p(-strip) if tight else -strip
        assert mpmath.log(2 * dim) + m * log_miss <= mpmath.log(delta)
        assert m == 1 or mpmath.log(2 * dim) + (m - 1) * log_miss > mpmath.log(delta)


def test_the_tightest_box_rarely_errs_on_simulated_points():
    rng = np.random.default_rng(0)
    runs, epsilon, delta = 1000, 0.2, 0.2
    m = rectangle_sample_size(epsilon, delta, tight=True)
    inside = np.clip(rng.random((runs, m, 2)) * 1.2 - 0.1, 0, 1)  # of mass (1 / 1.2)²
    points = np.where(
        (inside > 0).all(-1, keepdims=True) & (inside < 1).all(-1, keepdims=True), inside, 0.5
    )
    sides = np.ptp(points, axis=1).prod(axis=1)
    failures = int(((1 - sides) / 1.44 > epsilon).sum())
    assert binomial_tail_inversion_lower(failures, runs, 1e-6) <= delta


@given(st.integers(0, 100), st.integers(100, 10**9), DELTA, st.floats(-1e5, 0))
@example(79, 13709, 0.01, -3.349902705822056e-15)
def test_occam_is_the_inversion_at_a_share_of_delta(k, m, delta, log_prior):
    found = occam_bound(k, m, delta, log_prior=log_prior)
    direct = binomial_tail_inversion(k, m, None, log_delta=math.log(delta) + log_prior)
    assert found == direct
    # Inversions are rounded up, by 2^-47 and a few roundings.
    assert direct * (1 + 2.0**-46) >= binomial_tail_inversion(k, m, delta)


def test_class_sizes():
    exact = {
        ("conjunctions", 7, None): 3**7,
        ("monotone_conjunctions", 7, None): 2**7,
        ("boolean_functions", 7, None): 2**128,
        ("k_cnf", 3, 2): 2 ** (1 + 6 + 15),
        ("k_dnf", 3, 1): 2 ** (1 + 6),
        ("decision_lists", 4, None): math.factorial(4) * 4**4 * 2,
    }
    for (name, n, k), size in exact.items():
        found = log_class_size(name, n=n) if k is None else log_class_size(name, n=n, k=k)
        assert_allclose(found, math.log(size), rtol=1e-15)
    assert_allclose(log_class_size("bits", b=1000), 1000 * math.log(2), rtol=1e-15)
    with pytest.raises(ValueError, match="params.*n >= 1, k >= 1"):
        log_class_size("k_cnf", n=3)
    with pytest.raises(ValueError, match="name='trees' must be one of 'conjunctions'"):
        log_class_size("trees", n=3)
    with pytest.raises(ValueError, match="n=0 must be"):
        log_class_size("conjunctions", n=0)


def test_simulated_classes_rarely_fail():
    """Twenty thresholds on ten points: labels with noise, then without."""
    rng = np.random.default_rng(0)
    delta, runs, m = 0.2, 1000, 60
    H = np.arange(10) >= np.arange(-10, 10)[:, None]
    n, failures = len(H), dict.fromkeys(["realizable", "uniform", "agnostic"], 0)
    for _ in range(runs):
        x = rng.integers(0, 10, m)
        noise = rng.random(m) < 0.3
        clean = x >= 6
        errors = (H[:, x] != (clean ^ noise)).mean(axis=1)
        true = 0.3 + 0.4 * (H != (np.arange(10) >= 6)).mean(axis=1)
        epsilon = finite_class_epsilon(n, m, delta, setting="uniform")
        failures["uniform"] += bool((np.abs(true - errors) > epsilon).any())
        epsilon = finite_class_epsilon(n, m, delta, setting="agnostic", tight=True)
        failures["agnostic"] += bool(true[errors.argmin()] - true.min() > epsilon)
        consistent = (H[:, x] == clean).all(axis=1)
        epsilon = finite_class_epsilon(n, m, delta, tight=True)
        failures["realizable"] += bool(((true - 0.3) / 0.4)[consistent].max() > epsilon)
    for name, count in failures.items():
        assert binomial_tail_inversion_lower(count, runs, 1e-6) <= delta, name
