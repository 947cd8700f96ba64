"""How often bounds fail on samples of a distribution whose risks are known: at most delta.

A failure rate above delta would have to hide behind luck of less than one in a million.
"""

import numpy as np
import pytest

from mlcore.bounds import (
    binomial_tail_inversion_lower,
    boosting_margin_bound,
    dkw_epsilon,
    fat_shattering_margin_bound,
    kernel_rademacher_bound,
    massart_bound,
    mcdiarmid_epsilon,
    pac_bayes_catoni_bound,
    pac_bayes_kl_bound,
    pac_bayes_lambda_bound,
    pac_bayes_margin_bound,
    pac_bayes_mcallester_bound,
    pac_bayes_quadratic_bound,
    rademacher_error_bound,
    rademacher_margin_bound,
    sample_compression_bound,
    stability_bound,
)

DELTA, TRIALS, LUCK = 0.2, 300, 1e-6
THRESHOLDS = np.linspace(0, 1, 21)
NOISE = 0.2


def rarely(failures):
    return binomial_tail_inversion_lower(int(np.sum(failures)), TRIALS, LUCK) <= DELTA


def simulated(trial):
    return [trial(np.random.default_rng(seed)) for seed in range(TRIALS)]


def noisy_thresholds(rng, m):
    """Errors of each threshold on m points of [0, 1] whose labels, x >= 0.5, are often flipped."""
    x = rng.random(m)
    y = (x >= 0.5) ^ (rng.random(m) < NOISE)
    empirical = ((x[:, None] >= THRESHOLDS) != y[:, None]).mean(axis=0)
    return empirical, NOISE + (1 - 2 * NOISE) * np.abs(THRESHOLDS - 0.5)


BY_POSTERIOR = {
    "kl": pac_bayes_kl_bound,
    "kl with the exact constant": lambda *a: pac_bayes_kl_bound(*a, xi="exact"),
    "mcallester": pac_bayes_mcallester_bound,
    "quadratic": pac_bayes_quadratic_bound,
    "lambda": lambda *a: min(pac_bayes_lambda_bound(*a, lam) for lam in (0.3, 0.6, 1.0)),
    "catoni": lambda *a: pac_bayes_catoni_bound(*a, 1.0),
}


@pytest.mark.parametrize("name", BY_POSTERIOR)
def test_pac_bayes_for_a_posterior_that_follows_the_data(name):
    m = 60

    def fails(rng):
        empirical, true = noisy_thresholds(rng, m)
        q = np.exp(-2 * m * (empirical - empirical.min()))
        q /= q.sum()
        divergence = float(q @ np.log(np.maximum(q, 1e-300) * len(q)))
        bound = BY_POSTERIOR[name](float(q @ empirical), max(divergence, 0.0), m, DELTA)
        return q @ true > bound

    assert rarely(simulated(fails))


@pytest.mark.parametrize("empirical_complexity", [True, False])
def test_rademacher_for_the_worst_of_a_class(empirical_complexity):
    m = 50
    complexity = massart_bound(len(THRESHOLDS), m)

    def fails(rng):
        empirical, true = noisy_thresholds(rng, m)
        worst = np.argmax(true - empirical)
        risk = float(empirical[worst])
        bound = rademacher_error_bound(risk, complexity, m, DELTA, empirical=empirical_complexity)
        return true[worst] > bound

    assert rarely(simulated(fails))


@pytest.mark.parametrize("method", ["binomial", "closed"])
def test_compression_of_a_threshold_to_one_point(method):
    m = 15  # the least point labelled 1 is kept; the error is its distance from the threshold
    bound = sample_compression_bound(1, m, DELTA, method=method)

    def fails(rng):
        x = rng.random(m)
        x = x[x >= 0.3]
        return len(x) > 0 and x.min() - 0.3 > bound

    assert rarely(simulated(fails))


ANGLES = np.linspace(0, 2 * np.pi, 40, endpoint=False) + 0.05
POINTS = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1)
LABELS = np.where((POINTS[:, 0] > 0) ^ (np.arange(40) % 8 == 0), 1.0, -1.0)
VOTERS = np.sign(POINTS @ POINTS[::5].T + 1e-9)  # homogeneous half-planes: VC dimension 2


def halfspace(rng, m):
    """A direction found from m of 40 unit vectors, its margins on them, and its true error."""
    drawn = rng.integers(0, 40, m)
    w = LABELS[drawn] @ POINTS[drawn]
    w /= np.linalg.norm(w)
    margins = LABELS * (POINTS @ w)
    return margins[drawn], float((margins <= 0).mean())


def vote(rng, m):
    """The same of a vote among half-planes, each by how often it was right."""
    drawn = rng.integers(0, 40, m)
    weights = np.maximum(LABELS[drawn] @ VOTERS[drawn], 0) ** 2
    margins = LABELS * (VOTERS @ (weights / weights.sum()))
    return margins[drawn], float((margins <= 0).mean())


RHO = 0.3
BY_MARGINS = {
    "rademacher": lambda s, e, m: rademacher_margin_bound(e, m, DELTA, radius=1.0, rho=RHO),
    "rademacher by trace": lambda s, e, m: rademacher_margin_bound(
        e, m, DELTA, radius=1.0, rho=RHO, trace=float(m)
    ),
    "rademacher, any margin": lambda s, e, m: min(
        rademacher_margin_bound(
            float((s <= rho).mean()), m, DELTA, radius=1.0, rho=rho, uniform=True, rho_max=1.0
        )
        for rho in (0.1, 0.3, 0.9)
    ),
    "pac-bayes": lambda s, e, m: pac_bayes_margin_bound(s, DELTA),
    "fat shattering": lambda s, e, m: fat_shattering_margin_bound(
        m, 1.0, RHO, DELTA, margin_error=float((s < RHO).mean())
    ),
}


@pytest.mark.parametrize("name", BY_MARGINS)
def test_margins_of_a_halfspace_found_from_the_data(name):
    m = 120

    def fails(rng):
        margins, error = halfspace(rng, m)
        return error > BY_MARGINS[name](margins, float((margins <= RHO).mean()), m)

    assert rarely(simulated(fails))


def test_margins_of_a_vote():
    m = 3000

    def fails(rng):
        margins, error = vote(rng, m)
        share = float((margins <= RHO).mean())
        return error > boosting_margin_bound(share, m, DELTA, d=2, rho=RHO)

    assert rarely(simulated(fails))


def test_distribution_function_and_function_of_bounded_differences():
    m = 40
    grid = np.arange(1, m + 1) / m

    def leaves(rng):
        x = np.sort(rng.random(m))
        return max(np.max(grid - x), np.max(x - grid + 1 / m)) > dkw_epsilon(m, DELTA)

    def exceeds(rng):  # the largest of two means moves by 1 / m at most with one point
        means = (rng.random((m, 2)) < 0.5).mean(axis=0).max()
        return means - expected > mcdiarmid_epsilon(np.full(m, 1 / m), DELTA)

    counts = np.random.default_rng(1).binomial(m, 0.5, (200_000, 2)).max(axis=1)
    expected = counts.mean() / m - 5 * counts.std() / m / 200_000**0.5
    assert rarely(simulated(leaves))
    assert rarely(simulated(exceeds))


def test_stability_of_a_mean():
    m, p = 50, 0.3  # |mean - y| moves by 1 / m at most when one of the m labels changes

    def fails(rng):
        y = rng.random(m) < p
        mean = y.mean()
        risk, true = np.abs(mean - y).mean(), p * (1 - mean) + (1 - p) * mean
        return true > stability_bound(float(risk), 1 / m, m, DELTA)

    assert rarely(simulated(fails))


def test_kernel_complexity_bounds_the_correlation_with_signs():
    X = np.random.default_rng(0).normal(size=(30, 4))
    signs = np.random.default_rng(1).choice([-1.0, 1.0], (4000, 30))
    exact = np.linalg.norm(signs @ X, axis=1) / 30  # the largest over |w| <= 1
    error = 5 * exact.std() / 4000**0.5
    assert exact.mean() - error <= kernel_rademacher_bound(float((X * X).sum()), 30, 1.0)
