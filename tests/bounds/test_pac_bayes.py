"""PAC-Bayes bounds in order, their constant, their divergences, and the margin bound among them."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import ndtr

from mlcore.bounds import (
    categorical_kl,
    gaussian_kl,
    kl_inverse_upper,
    maurer_xi,
    pac_bayes_catoni_bound,
    pac_bayes_kl_bound,
    pac_bayes_lambda_bound,
    pac_bayes_margin_bound,
    pac_bayes_mcallester_bound,
    pac_bayes_quadratic_bound,
)

# Formulas are checked over the whole range of delta, also where a confidence may be meant.
pytestmark = pytest.mark.filterwarnings("ignore:.*is the probability that the bound fails")

DELTA = st.floats(-300, -0.01).map(lambda x: 10.0**x)
SIZE = st.floats(0, 15).map(lambda x: int(10**x))
RATE = st.one_of(st.just(0.0), st.floats(-9, 0).map(lambda x: 10.0**x))
ENTROPY = st.one_of(st.just(0.0), st.floats(-9, 9).map(lambda x: 10.0**x))
LAST_DIGITS = 1 + 1e-13
BOUNDS = {
    "kl": pac_bayes_kl_bound,
    "exact": lambda *given: pac_bayes_kl_bound(*given, xi="exact"),
    "mcallester": pac_bayes_mcallester_bound,
    "quadratic": pac_bayes_quadratic_bound,
    "lambda": lambda *given: pac_bayes_lambda_bound(*given, 0.7),
    "catoni": lambda *given: pac_bayes_catoni_bound(*given, 1.3),
}


@each("sigma_q", [5e-324, 1e-160, 0.9, 1.001, 1e160, 1e308])
@each("sigma_p", [5e-324, 1e-160, 1.0, 1e160, 1e308])
def test_gaussians_of_any_width_have_a_divergence(sigma_q, sigma_p):
    """A number or infinity, never NaN: to 800 digits, as squares of 1e308 need."""
    for mu_q, mu_p in ((0.0, 0.0), (1e308, -1e308), (1.0, 1 + 1e-9), (1e160, 0.0)):
        with mpmath.workdps(800):
            a, b, shift = mpmath.mpf(sigma_q), mpmath.mpf(sigma_p), mpmath.mpf(mu_q) - mu_p
            exact = mpmath.log(b / a) + (a * a + shift * shift) / (2 * b * b) - 0.5
        assert_allclose(gaussian_kl([mu_q], sigma_q, mu_p, sigma_p), float(exact), rtol=1e-14)


def test_categories_of_any_probability_have_a_divergence():
    for q, p in itertools.product([5e-324, 1e-310, 2**-53, 0.5], repeat=2):
        with mpmath.workdps(400):
            a, b = mpmath.mpf(q), mpmath.mpf(p)
            exact = a * mpmath.log(a / b) + b - a
            exact += (1 - a) * mpmath.log((1 - a) / (1 - b)) + a - b
        found = categorical_kl([q, 1 - q], [p, 1 - p])
        assert_allclose(found, float(exact), rtol=1e-14, atol=5e-324)


@pytest.mark.parametrize("m", [1, 2, 3, 10, 137, 1000])
def test_the_constant_is_its_sum(m):
    with mpmath.workdps(50):
        share = [mpmath.mpf(j) / m for j in range(m + 1)]
        exact = sum(
            mpmath.binomial(m, j) * share[j] ** j * (1 - share[j]) ** (m - j) for j in range(m + 1)
        )
        assert exact * (1 - mpmath.mpf(10) ** -30) <= maurer_xi(m) <= exact * (1 + 2**-51)
    assert maurer_xi(m) <= 2 * math.sqrt(m)


@each("m", [999_999, 1_000_000, 10**9, 10**15, 10**30])
def test_the_constant_of_large_samples(m):
    with mpmath.workdps(60):
        # xi = m! (e / m)^m P(Poisson(m) <= m), in which the power is Stirling's.
        tail = mpmath.gammainc(m + 1, m, regularized=True) if m < 10**7 else None
        if tail is not None:
            exact = mpmath.exp(mpmath.loggamma(m + 1) + m - m * mpmath.log(m)) * tail
        else:
            exact = mpmath.sqrt(mpmath.pi * m / 2) * (1 + mpmath.mpf(1) / (12 * m)) + (
                mpmath.mpf(2) / 3 - mpmath.mpf(4) / (135 * m)
            )
        assert_allclose(float(maurer_xi(m) / exact), 1, rtol=3e-16)


@given(RATE, ENTROPY, SIZE, DELTA, st.floats(1e-6, 1.9999))
def test_the_bound_of_relative_entropy_is_the_smallest(risk, kl, m, delta, lam):
    least = pac_bayes_kl_bound(risk, kl, m, delta)
    assert pac_bayes_kl_bound(risk, kl, m, delta, xi="exact") <= least * LAST_DIGITS
    assert least <= pac_bayes_mcallester_bound(risk, kl, m, delta) * LAST_DIGITS
    assert least <= pac_bayes_quadratic_bound(risk, kl, m, delta) * LAST_DIGITS
    assert least <= pac_bayes_lambda_bound(risk, kl, m, delta, lam) * LAST_DIGITS


@pytest.mark.parametrize("name", BOUNDS)
@settings(max_examples=40)
@given(RATE, ENTROPY, SIZE, DELTA, st.floats(1, 100))
def test_bounds_go_up_with_the_risk_the_entropy_and_confidence(name, risk, kl, m, delta, more):
    bound = BOUNDS[name]
    value = bound(risk, kl, m, delta)
    assert type(value) is float and risk <= value * LAST_DIGITS and value <= 1
    assert value <= bound(min(1.0, risk * more), kl, m, delta) * LAST_DIGITS
    assert value <= bound(risk, kl * more, m, delta) * LAST_DIGITS
    assert value <= bound(risk, kl, m, delta / more if delta > 1e-298 else delta) * LAST_DIGITS
    assert value >= bound(risk, kl, m + 1 + int(m * (more - 1)), delta) / LAST_DIGITS or m < 2
    assert bound(risk, math.inf, m, delta) == 1


def test_draws_from_the_posterior_are_charged():
    drawn = kl_inverse_upper(0.1, math.log(2 / 0.01) / 500)
    for bound in (pac_bayes_kl_bound, pac_bayes_mcallester_bound, pac_bayes_quadratic_bound):
        found = bound(0.1, 10.0, 1000, 0.04, mc_draws=500, mc_delta=0.01)
        assert_allclose(found, bound(drawn, 10.0, 1000, 0.04), rtol=1e-14)
    found = pac_bayes_catoni_bound(0.1, 10.0, 1000, 0.04, 1.0, mc_draws=500, mc_delta=0.01)
    assert_allclose(found, pac_bayes_catoni_bound(drawn, 10.0, 1000, 0.04, 1.0), rtol=1e-14)
    found = pac_bayes_lambda_bound(0.1, 10.0, 1000, 0.04, 1.0, mc_draws=500, mc_delta=0.01)
    assert_allclose(found, pac_bayes_lambda_bound(drawn, 10.0, 1000, 0.04, 1.0), rtol=1e-14)
    with pytest.raises(ValueError, match="mc_delta=None"):
        pac_bayes_kl_bound(0.1, 10.0, 1000, 0.04, mc_draws=500)


def test_a_grid_costs_the_logarithm_of_its_length():
    grid = [0.5, 1.0, 2.0]
    found = pac_bayes_catoni_bound(0.1, 10.0, 1000, 0.05, C_grid=grid)
    singles = [pac_bayes_catoni_bound(0.1, 10.0, 1000, 0.05 / 3, C) for C in grid]
    assert_allclose(found, min(singles), rtol=1e-14)
    assert found == pac_bayes_catoni_bound(0.1, 10.0, 1000, 0.05, C_grid=np.array(grid[::-1]))


@settings(max_examples=30)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30), DELTA)
def test_the_best_spread_is_no_worse_than_any(margins, delta):
    best = pac_bayes_margin_bound(margins, delta, gibbs=True)
    mu = np.logspace(-3, 3, 60)
    for _ in range(2):  # a grid, then a finer one around its best
        drawn_errors = ndtr(-mu * np.array(margins)[:, None]).mean(axis=0)
        budgets = (mu**2 / 2 + math.log(2 * math.sqrt(len(margins))) - math.log(delta)) / len(
            margins
        )
        others = kl_inverse_upper(drawn_errors, budgets)
        assert best <= others.min() * (1 + 1e-12)
        mu = np.clip(mu[others.argmin()] * np.linspace(0.75, 1.25, 21), 1e-3, 1e3)
    assert pac_bayes_margin_bound(margins, delta) == min(1, 2 * best)


def test_the_margin_bound_is_that_of_relative_entropy():
    margins = np.random.default_rng(0).uniform(-0.2, 1, 5000)
    found = pac_bayes_margin_bound(margins, 0.01, mu=4.0, gibbs=True)
    expected = pac_bayes_kl_bound(ndtr(-4 * margins).mean(), 8.0, 5000, 0.01)
    assert expected <= found * (1 + 1e-15) and found <= expected * (1 + 1e-12)
    for wrong in ([], [[0.5]], [0.5, 1.1], [0.5, math.nan], 0.5):
        with pytest.raises(ValueError, match="margins"):
            pac_bayes_margin_bound(wrong, 0.05)


@given(
    st.floats(-9, 9),
    st.floats(-6, 6).map(lambda x: 10.0**x),
    st.floats(-9, 9),
    st.floats(-12, 3).map(lambda x: 10.0**x),
)
def test_divergence_of_gaussians(mu_q, sigma, mu_p, change):
    sigma_q = sigma * (1 + change)
    with mpmath.workdps(60):
        a, b = mpmath.mpf(sigma_q), mpmath.mpf(sigma)
        exact = mpmath.log(b / a) + (a**2 + (mpmath.mpf(mu_q) - mu_p) ** 2) / (2 * b**2) - 0.5
    assert_allclose(gaussian_kl(mu_q, sigma_q, mu_p, sigma), float(exact), rtol=1e-12, atol=1e-300)
    assert_allclose(
        gaussian_kl([mu_q, mu_q, mu_p], sigma_q, [mu_p] * 3, sigma),
        2 * gaussian_kl(mu_q, sigma_q, mu_p, sigma) + gaussian_kl(0.0, sigma_q, 0.0, sigma),
        rtol=1e-12,
    )


@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=9), st.floats(0, 1))
def test_divergence_of_categories(counts, share):
    q = np.array(counts, dtype=float)
    q[0] += not any(counts)
    q /= q.sum()
    p = share * np.roll(q, 1) + (1 - share) * q
    if not np.any((q > 0) & (p == 0)):
        with mpmath.workdps(60):
            a, b = [mpmath.mpf(x) for x in q], [mpmath.mpf(x) for x in p]
            exact = sum(
                x * mpmath.log(x * sum(b) / (y * sum(a))) / sum(a)
                for x, y in zip(a, b, strict=True)
                if x
            )
        assert_allclose(categorical_kl(q, p), float(exact), rtol=1e-9, atol=1e-15)
    assert categorical_kl(q, q) == 0
    assert categorical_kl([0.5, 0.5, 0], [0.5, 0, 0.5]) == math.inf
