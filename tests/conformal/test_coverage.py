"""Ranks and guarantees against the beta and binomial distributions of SciPy, and exact sums."""

import math
from fractions import Fraction

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose
from scipy.stats import beta

from mlcore.bounds import test_set_sample_size as size_without_errors
from mlcore.conformal import conformal_coverage, conformal_rank
from mlcore.conformal.coverage import least_size


@each("n", [0, 1, 8, 9, 10, 19, 99, 100, 999, 10**6])
def test_rank_on_average_is_the_least_that_suffices(n):
    for tenths in range(1, 10):
        k = conformal_rank(n, tenths / 10)
        assert Fraction(k, n + 1) >= Fraction(tenths, 10) > Fraction(k - 1, n + 1)


def covers_with_too_small_probability(k, n, coverage):
    """P(Beta(k, n + 1 - k) < c) = P(Bin(n, c) >= k), in exact fractions."""
    return sum(math.comb(n, i) * coverage**i * (1 - coverage) ** (n - i) for i in range(k, n + 1))


GIVEN = [(n, c, d) for n in (1, 5, 28, 29, 60, 200) for c in ("0.5", "0.9", "0.99")
         for d in (0.5, 0.05, 1e-6)]  # fmt: skip


@each(("n", "c", "delta"), GIVEN)
def test_rank_given_the_calibration_set_is_the_least_that_suffices(n, c, delta):
    k, coverage = conformal_rank(n, float(c), delta), Fraction(c)
    assert 1 <= k <= n + 1
    fails = [covers_with_too_small_probability(j, n, coverage) for j in (k, k - 1)]
    assert fails[0] <= delta  # n + 1 always covers
    # A probability of exactly delta, such as 1/2, is left to the rounding of 1 - coverage.
    assert k == 1 or fails[1] > delta * (1 - 1e-12)
    if k <= n:
        assert conformal_coverage(k, n, delta) >= float(c) * (1 - 1e-12)
        assert k == 1 or conformal_coverage(k - 1, n, delta) < float(c)


def test_guarantee_is_the_quantile_of_a_beta_distribution():
    n, delta = 200, np.array([[0.5], [0.05], [1e-9]])
    k = np.arange(1, n + 1)
    found, exact = conformal_coverage(k, n, delta), beta.ppf(delta, k, n + 1 - k)
    assert_allclose(found, exact, rtol=1e-9)
    assert (found <= exact * (1 + 1e-13)).all()
    assert conformal_coverage(n + 1, n, 0.05) == 1 == conformal_coverage(1, 0, 0.05)
    assert isinstance(conformal_coverage(3, 4, 0.1), float)


@each("coverage", [0.5, 0.8, 0.9, 0.95, 0.999])
def test_least_sizes_have_closed_forms(coverage):
    exact = Fraction(repr(coverage))
    assert least_size(coverage, None) == math.ceil(exact / (1 - exact))
    for delta in (0.1, 1e-3):
        assert least_size(coverage, delta) == size_without_errors(float(1 - exact), delta)
        n = least_size(coverage, delta)
        assert exact**n <= delta < exact ** (n - 1)


def test_coverage_given_the_calibration_set_fails_as_often_as_delta_allows():
    """The exact coverage of uniform scores is the threshold itself."""
    rng, n, runs = np.random.default_rng(0), 60, 20_000
    scores = np.sort(rng.random((runs, n)), axis=1)
    k = conformal_rank(n, 0.8)
    assert_allclose(scores[:, k - 1].mean(), k / (n + 1), atol=0.002)
    assert abs((scores[:, k - 1] < conformal_coverage(k, n, 0.1)).mean() - 0.1) < 0.01
    k = conformal_rank(n, 0.8, 0.1)
    assert (scores[:, k - 1] < 0.8).mean() <= 0.1 < (scores[:, k - 2] < 0.8).mean()


@each(("arguments", "name"), [
    ((-1, 0.9), "n"), ((2.5, 0.9), "n"), ((9, 1), "coverage"), ((9, 0.0), "coverage"),
    ((9, math.nan), "coverage"), ((9, True), "coverage"), ((9, 0.9, 0), "delta"),
    ((9, 0.9, 1.0), "delta"), ((True, 0.9), "n"),
])  # fmt: skip
def test_refusals_name_the_argument(arguments, name):
    with pytest.raises(ValueError, match=f"^{name}="):
        conformal_rank(*arguments)


@each(("arguments", "name"), [((0, 3, 0.1), "k"), ((5, 3, 0.1), "k"), ((1, 3, 2.0), "delta")])
def test_refusals_of_guarantees(arguments, name):
    with pytest.raises(ValueError, match=f"^{name}="):
        conformal_coverage(*arguments)


def test_a_confidence_in_place_of_delta_is_pointed_out():
    with pytest.warns(UserWarning, match=r"more than a half"):
        conformal_rank(99, 0.9, 0.95)
