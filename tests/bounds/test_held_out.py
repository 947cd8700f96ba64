"""Bounds from a held-out sample: exact where they can be, and never on the unsafe side."""

import bisect
import functools
import math

import mpmath
import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mlcore import bounds
from mlcore.bounds import (
    bernoulli_confidence_sequence,
    binomial_tail,
    binomial_tail_inversion,
    binomial_tail_inversion_lower,
    clopper_pearson,
    hoeffding_bentkus_bound,
    kl_inverse_upper,
)

# Formulas are checked over the whole range of delta, also where a confidence may be meant.
pytestmark = pytest.mark.filterwarnings("ignore:.*is the probability that the bound fails")

DELTA = st.floats(-300, -0.01).map(lambda e: 10.0**e)


@st.composite
def counts(draw, largest=15):
    """k <= m, log-uniform, near both ends as often as between them."""
    m = int(10 ** draw(st.floats(0, largest)))
    k = min(m, int(10 ** draw(st.floats(0, math.log10(m + 1)))) - 1)
    return draw(st.sampled_from([k, m - k, k // 2 + m // 2])), m


def exact_log_tail(k, m, p):
    """ln P(Bin(m, p) <= k) by mpmath's incomplete beta function, from the smaller tail."""
    if p * (m + 1) > k + 1:
        return mpmath.log(mpmath.betainc(m - k, k + 1, 0, 1 - p, regularized=True))
    return mpmath.log1p(-mpmath.betainc(k + 1, m - k, 0, p, regularized=True))


def test_values_of_the_literature():
    assert_allclose(binomial_tail_inversion(0, 100, 0.05), 0.0295130496070399, rtol=1e-13)
    assert_allclose(binomial_tail_inversion(5, 100, 0.05), 0.102253377643275, rtol=1e-13)
    assert_allclose(binomial_tail_inversion(0, 10**9, 1e-200), 4.60516912560863e-7, rtol=1e-13)
    assert_allclose(binomial_tail_inversion(5, 10**9, 1e-200), 4.86677727027345e-7, rtol=1e-13)
    interval = 0.0164318791820522, 0.112834911105463
    assert_allclose(clopper_pearson(5, 100, 0.05), interval, rtol=1e-13)
    assert_allclose(hoeffding_bentkus_bound(0.1, 1000, 0.05), 0.121643309458695, rtol=1e-13)
    interval = 0.00657712616663899, 0.1602588737672
    assert_allclose(bernoulli_confidence_sequence(5, 100, 0.05), interval, rtol=1e-13)
    assert bounds.test_set_sample_size(0.05, 0.05) == 59
    assert bounds.test_set_sample_size(0.05, 0.05, k=2) == 124


@pytest.mark.parametrize(
    ("k", "m", "log_delta"),
    [
        (1, 2, -0.7),
        (1, 10**15, -690.0),
        (7, 1000, -1e-9),
        (7, 1000, -1e4),
        (200, 1000, -3.0),
        (400, 1000, -100.0),
        (10, 10**6, -690.0),
        (1000, 10**4, -20000.0),
        (5, 10**15, -1e6),
        (300, 10**9, -5.0),
        (1, 10, -1e4),
        (9, 10, -1e300),
    ],
)
def test_the_inversion_is_the_root_to_twelve_digits_and_above_it(k, m, log_delta):
    found = binomial_tail_inversion(k, m, None, log_delta=log_delta)
    with mpmath.workdps(60):
        if found == 1:
            assert exact_log_tail(k, m, 1 - mpmath.mpf(2) ** -53) >= log_delta
            return
        assert exact_log_tail(k, m, mpmath.mpf(found)) <= log_delta
        assert exact_log_tail(k, m, found * (1 - mpmath.mpf("1e-12"))) >= log_delta


@given(counts(), DELTA)
def test_no_errors_and_only_errors(km, delta):
    m = km[1]
    with mpmath.workdps(60):
        none = -mpmath.expm1(mpmath.log(mpmath.mpf(delta)) / m)
        every = mpmath.mpf(delta) ** (mpmath.mpf(1) / m)
        assert none <= binomial_tail_inversion(0, m, delta) <= none * (1 + mpmath.mpf("2e-15"))
        lower = binomial_tail_inversion_lower(m, m, delta)
        assert every * (1 - mpmath.mpf("1e-12")) <= lower <= every
    assert binomial_tail_inversion(m, m, delta) == 1
    assert binomial_tail_inversion_lower(0, m, delta) == 0


@given(counts(), DELTA)
def test_binomial_kl_and_hoeffding_come_in_this_order(km, delta):
    k, m = km
    upper = binomial_tail_inversion(k, m, delta)
    c = -math.log(delta) / m
    kl = kl_inverse_upper(k / m, c)
    if delta <= 0.5:  # beyond, a bound may be on the other side
        assert binomial_tail_inversion_lower(k, m, delta) <= k / m <= upper
    assert upper <= kl * (1 + 1e-14)
    assert kl <= k / m + math.sqrt(c / 2) * (1 + 1e-14) + 1e-15 * (k / m)


@given(counts(), DELTA, st.integers(1, 1000))
def test_the_bound_grows_with_errors_and_confidence_and_falls_with_examples(km, delta, more):
    k, m = km
    upper = binomial_tail_inversion(k, m, delta)
    slack = 1 + 1e-12
    assert upper <= binomial_tail_inversion(min(k + more, m), m, delta) * slack
    assert upper <= binomial_tail_inversion(k, m, delta / 2) * slack
    assert binomial_tail_inversion(k, m + more, delta) <= upper * slack
    lower = binomial_tail_inversion_lower(k, m, delta)
    assert binomial_tail_inversion_lower(max(k - more, 0), m, delta) <= lower * slack
    assert binomial_tail_inversion_lower(k, m, delta / 2) <= lower * slack
    assert binomial_tail_inversion_lower(k, m + more, delta) <= lower * slack


@given(counts(), DELTA)
def test_upper_and_lower_are_mirror_images(km, delta):
    k, m = km
    mirrored = 1 - binomial_tail_inversion_lower(m - k, m, delta)
    assert_allclose(binomial_tail_inversion(k, m, delta), mirrored, rtol=1e-13, atol=4e-15)


@given(counts(), DELTA)
def test_the_tail_at_the_bound_is_delta(km, delta):
    k, m = km
    p = binomial_tail_inversion(k, m, delta)
    if 0 < p < 0.9 and k < m:  # near 1 the rounding of p moves the tail
        change = 1e-13 * abs(math.log(delta)) + 1e-12 + 4e-16 * math.sqrt(m)
        found = bounds.log_binomial_tail(k, m, p) / math.log(delta)
        # The relative rounding of p, passed on through the slope of the logarithm of the tail.
        slope = m * p * 1e-15 * max(1, abs(math.log(delta)))
        assert_allclose(found, 1, rtol=0, atol=change + slope / abs(math.log(delta)))


@each("m", [1, 2, 7, 30, 101, 300])
@each("delta", [0.5, 0.05, 1e-3])
def test_exact_coverage(m, delta):
    """The chance that the bound holds, by summing the binomial: at least 1 - delta for every p."""
    k = np.arange(m + 1)
    upper = binomial_tail_inversion(k, m, delta)
    lower = binomial_tail_inversion_lower(k, m, delta)
    low, high = clopper_pearson(k, m, delta)
    choose = [math.comb(m, i) for i in k]
    for p in [*np.linspace(0, 1, 60), 1e-6, 1e-3, 0.999, *upper[:3], *lower[-3:]]:
        weights = np.array([c * p**i * (1 - p) ** (m - i) for i, c in enumerate(choose)])
        assert weights[upper < p].sum() <= delta * (1 + 1e-9)
        assert weights[lower > p].sum() <= delta * (1 + 1e-9)
        assert weights[(high < p) | (low > p)].sum() <= delta * (1 + 1e-9)


@settings(max_examples=40)
@given(st.floats(-9, -0.01), DELTA, st.integers(0, 50))
def test_the_sample_size_is_the_least(exponent, delta, errors):
    epsilon = 10**exponent
    m = bounds.test_set_sample_size(epsilon, delta, k=errors)
    assert m > errors
    assert binomial_tail(errors, m, epsilon) <= delta * (1 + 1e-12)
    if m < 2**53 and m - 1 > errors:
        assert bounds.log_binomial_tail(errors, m - 1, epsilon) > math.log(delta) * (1 + 1e-12)


def test_sample_sizes_at_ties_are_decided_exactly():
    assert bounds.test_set_sample_size(0.75, 0.0625) == 2
    for errors in range(8):  # P(Bin(2 e + 1, 1/2) <= e) = 1/2
        assert bounds.test_set_sample_size(0.5, 0.5, k=errors) == 2 * errors + 1
    assert bounds.test_set_sample_size(1e-9, 1e-300) == 690775527553


@given(counts(), DELTA)
def test_the_confidence_sequence_holds_the_interval_and_solves_its_equation(km, delta):
    k, m = km
    lower, upper = bernoulli_confidence_sequence(k, m, delta)
    low, high = clopper_pearson(k, m, delta)
    assert lower <= low * (1 + 1e-13) and high <= upper * (1 + 1e-13)
    if m < 1000:
        for p in (lower, upper):
            if 1e-300 < p < 0.99:
                with mpmath.workdps(50):
                    x = mpmath.mpf(p)
                    ratio = mpmath.beta(k + 1, m - k + 1) / x**k / (1 - x) ** (m - k)
                    rtol = 1e-11 * (1 + m / (1 - p))
                    assert_allclose(float(mpmath.log(ratio * delta)), 0, atol=rtol)


def test_an_adversary_who_looks_after_every_example_fails_at_most_delta_of_the_time():
    """Exact: the probability that some interval up to m = 150 misses p, over all paths."""
    delta = 0.1
    for p in (0.02, 0.3, 0.5):
        alive, failed = np.array([1.0]), 0.0
        for m in range(1, 151):
            alive = np.append(alive * (1 - p), 0) + np.append(0, alive * p)
            for k in range(m + 1):
                if alive[k]:
                    ratio = math.lgamma(k + 1) + math.lgamma(m - k + 1) - math.lgamma(m + 2)
                    ratio -= k * math.log(p) + (m - k) * math.log1p(-p)
                    if ratio >= -math.log(delta):
                        failed, alive[k] = failed + alive[k], 0.0
        assert failed <= delta


@given(st.floats(0, 1), st.integers(1, 10**9), DELTA)
def test_hoeffding_bentkus_is_above_the_mean_and_below_both_parts(mean, m, delta):
    bound = hoeffding_bentkus_bound(mean, m, delta)
    assert mean <= bound <= kl_inverse_upper(mean, -math.log(delta) / m) * (1 + 1e-14)


def test_arrays_broadcast_and_agree_with_scalars():
    k, m = np.array([[0], [3], [10]]), np.array([10, 100, 10**9])
    found = binomial_tail_inversion(k, m, 0.01)
    assert found.shape == (3, 3)
    one_by_one = [[binomial_tail_inversion(int(i[0]), int(j), 0.01) for j in m] for i in k]
    assert_allclose(found, one_by_one, rtol=1e-15)
    below = binomial_tail_inversion_lower(k, m, np.array([0.01, 0.1, 0.2]))
    assert below.shape == (3, 3) and (below <= k / m).all() and (k / m <= found).all()
    assert type(binomial_tail_inversion(np.int64(3), 10.0, np.float64(0.1))) is float
    assert binomial_tail_inversion([], [], 0.1).shape == (0,)


def test_tiny_lower_bounds_keep_their_digits():
    cases = [(1, 10**15, 1e-280), (2, 10**15, 1e-300), (1, 2, 0.3), (3, 10**6, 1e-100)]
    for k, m, delta in [*cases, (1, 10**15, 0.999), (1, 10**15, 1e-300)]:
        lower = binomial_tail_inversion_lower(k, m, delta)
        with mpmath.workdps(400):
            p, close = mpmath.mpf(lower), mpmath.mpf("3e-12") + 2e-323 / mpmath.mpf(lower)
            assert mpmath.betainc(k, m - k + 1, 0, p, regularized=True) <= delta
            p += p * close
            assert mpmath.betainc(k, m - k + 1, 0, p, regularized=True) >= delta
    assert binomial_tail_inversion_lower(2, 10**300, 1e-300) == 0


def test_hoeffding_bentkus_and_occam_rarely_fail_on_simulated_losses():
    rng = np.random.default_rng(0)
    runs, m, delta = 1000, 50, 0.1
    losses = rng.beta(0.3, 1.2, (runs, m))  # of mean 0.2
    means = sorted(losses.mean(axis=1).tolist())
    bound = functools.partial(hoeffding_bentkus_bound, m=m, delta=delta)
    failures = bisect.bisect_left(means, 0.2, key=bound)  # it goes up with the mean loss
    some = [bound(mean) for mean in means[::25]]
    assert some == sorted(some) and sum(b < 0.2 for b in some) == len(means[:failures:25])
    assert binomial_tail_inversion_lower(failures, runs, 1e-6) <= delta
    p = np.linspace(0.1, 0.5, 8)  # eight hypotheses, weights 1/2, 1/4, ...
    wrong = rng.binomial(m, p, (runs, 8))
    shares = -math.log(2) * np.arange(1, 9)
    log_delta = math.log(delta) + shares
    upper = binomial_tail_inversion(wrong, m, None, log_delta=log_delta)
    assert bounds.occam_bound(int(wrong[0, 3]), m, delta, log_prior=shares[3]) == upper[0, 3]
    failures = int((upper < p).any(axis=1).sum())
    assert binomial_tail_inversion_lower(failures, runs, 1e-6) <= delta


def test_samples_without_a_float_are_refused():
    for call in (
        lambda: binomial_tail_inversion(3, 10**400, 0.1),
        lambda: binomial_tail(3, 10**400, 0.1),
    ):
        with pytest.raises(ValueError, match="^m=1000.* must be an integer below"):
            call()


def test_larger_samples_than_floats_hold_exactly():
    m = 10**30
    upper = binomial_tail_inversion(10**20, m, 0.05)
    assert 1e-10 < upper < 1e-10 * (1 + 1e-9)
    assert binomial_tail_inversion(0, 10**300, 0.05) > 0
