"""Shrinkage against what its sources prove of it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mlcore.discriminant.shrinkage import ledoit_wolf, oracle_approximating


def oracle_iteration(S, n):
    """The iteration of Chen et al., from the oracle's formula with the estimate as the truth."""
    d, shrinkage = len(S), 0.5
    for _ in range(100_000):
        target = np.trace(S) / d * np.eye(d)
        estimate = (1 - shrinkage) * S + shrinkage * target
        crossed = np.trace(estimate @ S)
        square = np.trace(estimate) ** 2
        new = ((1 - 2 / d) * crossed + square) / ((n + 1 - 2 / d) * crossed + (1 - n / d) * square)
        if abs(new - shrinkage) < 1e-15:
            break
        shrinkage = min(new, 1.0)
    return shrinkage


@pytest.mark.parametrize(("n", "d"), [(8, 5), (20, 5), (30, 12), (400, 3), (10, 30)])
def test_oas_is_the_limit_of_the_oracle_iteration(n, d):
    rng = np.random.default_rng([n, d])
    Z = rng.normal(size=(n, d)) @ (np.eye(d) + 0.7 * rng.normal(size=(d, d)))
    Z -= Z.mean(axis=0)
    Z /= Z.std(axis=0)
    R = Z.T @ Z / n
    assert_allclose(oracle_approximating(R, n), oracle_iteration(R, n), rtol=1e-9)


def test_both_are_near_the_best_on_average():
    # The risk of the best shrinkage of a sample covariance of n normal vectors is known:
    # E|S - C|^2 = (|C|^2 + (tr C)^2) / n.
    rng, n, d = np.random.default_rng(0), 20, 10
    C = 0.5 ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    root, target = np.linalg.cholesky(C), np.eye(d)
    error = (np.square(C).sum() + d**2) / n
    best = error / (error + np.square(C - target).sum())
    losses, found = [], []
    for _ in range(200):
        Z = rng.normal(size=(n, d)) @ root.T
        Z *= np.sqrt(n * d / np.square(Z).sum())  # of trace d, as correlations
        S = Z.T @ Z / n
        fourth = np.mean(np.square(Z).sum(axis=1) ** 2)
        found.append([oracle_approximating(S, n), ledoit_wolf(S, n, fourth)])
        estimates = [(1 - s) * S + s * target for s in (*found[-1], best, 0.0)]
        losses.append([np.square(estimate - C).sum() for estimate in estimates])
    oas, lw, oracle, plain = np.mean(losses, axis=0)
    assert oracle <= oas < 1.1 * oracle and oracle <= lw < 1.1 * oracle and oas < 0.6 * plain
