"""Failure probabilities of bounds, exact: at most delta, and above it for half of the slack.

Most cases are one game: a label is a fair coin, and of two constant classifiers that one is chosen
which is right on more of m examples. Its true error is 1/2, its training errors are the smaller of
two binomial counts. Where delta is small, what the theorems add to it is small beside the deviation
that they allow for, so that no more than half of their slack is idle.
"""

import math
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import binom, kstwo

from mlcore.bounds import (
    boosting_margin_bound,
    dkw_epsilon,
    kernel_rademacher_bound,
    massart_bound,
    mcdiarmid_epsilon,
    pac_bayes_catoni_bound,
    pac_bayes_kl_bound,
    pac_bayes_lambda_bound,
    pac_bayes_mcallester_bound,
    pac_bayes_quadratic_bound,
    rademacher_error_bound,
    rademacher_margin_bound,
    sample_compression_bound,
    stability_bound,
)


class Case(NamedTuple):
    """A bound on the error 1/2 as a function of the training error, for m examples."""

    m: int
    delta: float
    bound: object  # of (training error, m, delta)
    kept: float = 0.5  # the part of the slack that does not suffice


def pac_bayes(function, *rest, **options):
    # Prior: either classifier with probability 1/2.
    return lambda error, m, delta: function(error, math.log(2), m, delta, *rest, **options)


def rademacher(empirical):
    return lambda error, m, delta: rademacher_error_bound(
        error, massart_bound(2, m), m, delta, empirical=empirical
    )


# Points are the number 1 and weights 1 or -1: the margins are 1 or -1.
MARGIN = {"radius": 1.0, "rho": 0.99}
CASES = {
    "kl": Case(201, 1e-3, pac_bayes(pac_bayes_kl_bound)),
    "kl, exact constant": Case(201, 1e-3, pac_bayes(pac_bayes_kl_bound, xi="exact")),
    "mcallester": Case(201, 1e-3, pac_bayes(pac_bayes_mcallester_bound)),
    "quadratic": Case(1001, 1e-12, pac_bayes(pac_bayes_quadratic_bound)),
    "lambda": Case(1001, 1e-12, pac_bayes(pac_bayes_lambda_bound, 0.36)),
    "catoni": Case(201, 1e-3, pac_bayes(pac_bayes_catoni_bound, 1.0)),
    "rademacher": Case(201, 1e-6, rademacher(False)),
    # Three deviations are added, of which one is needed.
    "rademacher, empirical": Case(1001, 1e-6, rademacher(True), kept=0.25),
    "margin": Case(
        1001, 1e-9, lambda error, m, delta: rademacher_margin_bound(error, m, delta, **MARGIN)
    ),
    "margin by trace": Case(
        1001,
        1e-9,
        lambda error, m, delta: rademacher_margin_bound(error, m, delta, **MARGIN, trace=float(m)),
        kept=0.25,
    ),
    "any margin": Case(
        1001,
        1e-30,
        lambda error, m, delta: rademacher_margin_bound(
            error, m, delta, **MARGIN, uniform=True, rho_max=1.0
        ),
    ),
    "vote": Case(
        2001,
        1e-90,
        lambda error, m, delta: boosting_margin_bound(error, m, delta, vc_dimension=1, rho=0.99),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_better_of_two_constant_classifiers(name):
    m, delta, bound, kept = CASES[name]
    errors = np.arange(m // 2 + 1)
    bounds = np.array([bound(k / m, m, delta) for k in errors.tolist()])
    assert bounds[-1] < 1

    def failure(part):
        values = errors / m + part * (bounds - errors / m)
        return 2 * binom.pmf(errors[values < 0.5], m, 0.5).sum()

    assert failure(1) <= delta < failure(kept)


@pytest.mark.parametrize("method", ["binomial", "closed"])
def test_compression_of_a_threshold_to_one_point(method):
    # Of m points in [0, 1], labelled by x >= 0.3, the least that is labelled 1 is kept: the error
    # is its distance from 0.3, above b if no point is in [0.3, 0.3 + b] and one is beyond.
    m, delta = 200, 1e-9
    bound = sample_compression_bound(1, m, delta, method=method)

    def failure(b):
        return (1 - b) ** m - 0.3**m

    assert bound < 0.7 and failure(bound) <= delta < failure(bound / 2)


def test_largest_gap_of_distribution_functions():
    m, delta = 40, 1e-3
    epsilon = dkw_epsilon(m, delta)
    assert epsilon < 1 and kstwo.sf(epsilon, m) <= delta < kstwo.sf(epsilon / 2, m)


def test_a_mean_is_a_function_of_bounded_differences():
    m, delta = 40, 1e-3
    epsilon = mcdiarmid_epsilon(np.full(m, 1 / m), delta)

    def failure(epsilon):  # of a mean of coins
        return binom.sf(math.floor(m * (0.5 + epsilon)), m, 0.5)

    assert epsilon < 0.5 and failure(epsilon) <= delta < failure(epsilon / 2)


def test_a_learner_that_does_not_look_is_stable():
    m, delta = 200, 1e-3
    k = np.arange(m + 1)  # labels 1 of fair coins, which a constant classifier gets wrong
    bound = np.array([stability_bound(r, 0.0, m, delta) for r in (k / m).tolist()])

    def failure(part):
        return binom.pmf(k[k / m + part * (bound - k / m) < 0.5], m, 0.5).sum()

    assert bound[m // 2] < 1 and failure(1) <= delta < failure(0.5)


def test_kernel_complexity_is_that_of_signs_but_for_a_root():
    X = np.random.default_rng(0).normal(size=(12, 4))
    signs = 1.0 - 2 * (np.arange(2**12)[:, None] >> np.arange(12) & 1)
    exact = np.linalg.norm(signs @ X, axis=1).mean() / 12  # the largest over |w| <= 1
    bound = kernel_rademacher_bound(float((X * X).sum()), 12, 1.0)
    # Kahane's inequality: a mean norm is at least 1 / sqrt(2) of the root of the mean square.
    assert bound / math.sqrt(2) <= exact <= bound
