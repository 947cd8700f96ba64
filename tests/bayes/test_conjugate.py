"""Conjugate families against numerical integration and exact sums."""

import math
from fractions import Fraction

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose
from scipy import stats
from scipy.integrate import quad

from mlcore.bayes import BetaBernoulli, DirichletCategorical, NormalMean


def test_beta_against_integrals():
    rate = BetaBernoulli(2.5, 0.7).update(3, 2).update(successes=1)
    prior = stats.beta(2.5, 0.7)
    evidence = quad(lambda p: prior.pdf(p) * p**4 * (1 - p) ** 2, 0, 1)[0]
    assert_allclose(rate.log_evidence, math.log(evidence), rtol=1e-6)
    first = quad(lambda p: prior.pdf(p) * p**5 * (1 - p) ** 2, 0, 1)[0]
    assert_allclose(rate.mean, first / evidence, rtol=1e-7)
    assert_allclose(rate.predictive(), rate.mean, rtol=1e-14)
    both = rate.predictive(2, 1)
    again = BetaBernoulli(2.5, 0.7).update(6, 3)
    assert_allclose(math.log(both), again.log_evidence - rate.log_evidence, rtol=1e-12)
    low, high = rate.interval(0.8)
    assert_allclose(stats.beta(rate.a, rate.b).cdf([low, high]), [0.1, 0.9], rtol=1e-12)
    grid = np.linspace(0, 1, 100_001)
    density = stats.beta(rate.a, rate.b).pdf(grid)
    assert_allclose(rate.mode, grid[density.argmax()], atol=1e-5)


def test_the_rule_of_succession():
    rate = BetaBernoulli().update(3, 1)
    assert_allclose(rate.mean, 4 / 6, rtol=1e-15)
    assert_allclose(math.exp(rate.log_evidence), 1 / (5 * math.comb(4, 3)), rtol=1e-13)
    assert math.isnan(BetaBernoulli().mode)
    assert BetaBernoulli().update(4).mode == 1 and BetaBernoulli(0.5, 2).mode == 0


def test_dirichlet_of_two_is_beta_and_of_more_is_exact():
    two = DirichletCategorical([2.0, 3.0]).update([4, 1])
    beta = BetaBernoulli(2, 3).update(4, 1)
    assert_allclose(two.log_evidence, beta.log_evidence, rtol=1e-13)
    assert_allclose(two.mean, [beta.mean, 1 - beta.mean], rtol=1e-15)
    assert_allclose(two.mode, [beta.mode, 1 - beta.mode], rtol=1e-15)
    assert_allclose(two.interval()[0], beta.interval(), rtol=1e-12)
    cases, counts, exact = [0, 2, 0, 1, 0, 2], [1, 1, 1], Fraction(1)
    for case in cases:  # Polya's urn
        exact *= Fraction(counts[case], sum(counts))
        counts[case] += 1
    urn = DirichletCategorical([1, 1, 1])
    assert_allclose(urn.predictive([3, 1, 2]), float(exact), rtol=1e-13)
    assert_allclose(math.exp(urn.update([3, 1, 2]).log_evidence), float(exact), rtol=1e-13)
    assert np.isnan(DirichletCategorical([1, 1]).mode).all()
    assert DirichletCategorical([1.0]).interval().tolist() == [[1, 1]]


@pytest.mark.parametrize("n", [1, 4])
def test_normal_mean_against_the_joint_normal_distribution(n):
    y = np.random.default_rng(n).normal(2, 1, size=n)
    level = NormalMean(0.5, 2.0, noise_variance=0.7).update(y)
    covariance = 2.0 + 0.7 * np.eye(n)
    expected = stats.multivariate_normal(np.full(n, 0.5), covariance).logpdf(y)
    assert_allclose(level.log_evidence, expected, rtol=1e-12)
    gain = np.linalg.solve(covariance, y - 0.5).sum() * 2.0
    assert_allclose([level.mean, level.mode], [0.5 + gain] * 2, rtol=1e-12)
    variance = 2.0 - 4.0 * np.linalg.solve(covariance, np.ones(n)).sum()
    assert_allclose(level.variance, variance, rtol=1e-11)
    assert level.predictive() == (level.mean, level.variance + 0.7)
    low, high = level.interval(0.9)
    inside = stats.norm(level.mean, math.sqrt(level.variance)).cdf([low, high])
    assert_allclose(inside, [0.05, 0.95], rtol=1e-12)


def test_updates_in_parts_are_one_update():
    y = np.random.default_rng(0).normal(size=7)
    parts, whole = NormalMean().update(y[:3]).update(y[3]).update(y[4:]), NormalMean().update(y)
    for name in ("mean", "variance", "log_evidence"):
        assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-12)
    assert NormalMean().update([]).log_evidence == 0


@each(
    ("make", "error"),
    [
        (lambda: BetaBernoulli(0), ValueError),
        (lambda: BetaBernoulli("a"), TypeError),
        (lambda: BetaBernoulli().update(-1), ValueError),
        (lambda: BetaBernoulli().update(math.nan), ValueError),
        (lambda: BetaBernoulli().interval(1), ValueError),
        (lambda: DirichletCategorical([1, 0]), ValueError),
        (lambda: DirichletCategorical([[1]]), ValueError),
        (lambda: DirichletCategorical([1, 1]).update([1]), ValueError),
        (lambda: DirichletCategorical([1, 1]).update([1, -1]), ValueError),
        (lambda: NormalMean(variance=0), ValueError),
        (lambda: NormalMean(noise_variance=math.inf), ValueError),
        (lambda: NormalMean().update([1, math.nan]), ValueError),
        (lambda: NormalMean().update([[1.0]]), ValueError),
    ],
)
def test_refusals(make, error):
    with pytest.raises(error):
        make()
