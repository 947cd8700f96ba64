"""Shrinkage against what its sources prove of it."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose

from mlcore.discriminant.shrinkage import ledoit_wolf, oracle_approximating


def oracle_iteration(S, n):
    """The iteration of Chen et al.: the oracle's formula with the estimate as the truth.

    Of a product of two estimates one is S, as there.
    """
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


@each(("n", "d"), [(8, 5), (20, 5), (30, 12), (400, 3), (10, 30)])
def test_oas_is_the_limit_of_the_oracle_iteration(n, d):
    rng = np.random.default_rng([n, d])
    Z = rng.normal(size=(n, d)) @ (np.eye(d) + 0.7 * rng.normal(size=(d, d)))
    Z -= Z.mean(axis=0)
    Z /= Z.std(axis=0)
    R = Z.T @ Z / n
    assert_allclose(oracle_approximating(R, n), oracle_iteration(R, n), rtol=1e-9)


def normal_moments(C, n):
    """E[S_ij S_kl] of ``S = sum z z' / n`` over n normal vectors of covariance C (Isserlis)."""
    products = np.einsum("ij,kl->ijkl", C, C)
    crossed = np.einsum("ik,jl->ijkl", C, C) + np.einsum("il,jk->ijkl", C, C)
    return products + crossed / n


def oracle(C, n):
    """The oracle of Chen et al. for the target ``tr(S) / d I``, with their terms in 2/d."""
    d, square, trace = len(C), np.square(C).sum(), np.trace(C) ** 2
    return ((1 - 2 / d) * square + trace) / ((n + 1 - 2 / d) * square + (1 - n / d) * trace)


def covariance(d, seed):
    A = np.random.default_rng([d, seed]).normal(size=(d, d + 2))
    return A @ A.T / d


@pytest.mark.parametrize(("n", "d"), [(2, 3), (7, 4), (50, 6)])
def test_the_oracle_minimises_the_expected_loss_under_normal_sampling(n, d):
    """``E |(1 - s) S + s F - C|²``, F = tr(S)/d I, is a parabola in s of known moments."""
    C = covariance(d, n)
    M = normal_moments(C, n)
    square, trace = np.einsum("ijij", M), np.einsum("iijj", M)  # E tr S², E (tr S)²
    curvature = square - trace / d  # E |F - S|²
    slope = square - np.square(C).sum() - (trace - np.trace(C) ** 2) / d  # E <S - C, S - F>
    assert_allclose(oracle(C, n), slope / curvature, rtol=1e-12)


def test_the_moments_of_normal_samples_are_those_of_simulated_ones():
    n, draws, C = 5, 40_000, covariance(3, 0)
    Z = np.random.default_rng(0).normal(size=(draws, n, 3)) @ np.linalg.cholesky(C).T
    S = np.einsum("sni,snj->sij", Z, Z) / n
    products = np.einsum("sij,skl->sijkl", S, S).reshape(draws, -1)
    error = (products.mean(axis=0) - normal_moments(C, n).ravel()) / products.std(axis=0)
    assert np.abs(error).max() < 5 / np.sqrt(draws)  # 5 standard errors in each of 81 entries


def test_ledoit_wolf_estimates_the_error_of_the_covariance_whatever_the_distribution():
    """Its error ``(mean |z|⁴ - |S|²) / n`` is on average ``(1 - 1/n) E |S - C|²``."""
    n, d, draws = 6, 3, 20_000
    rng = np.random.default_rng(0)
    Z = rng.uniform(-1, 1, (draws, n, d)) * np.sqrt(3)  # of covariance I
    S = np.einsum("sni,snj->sij", Z, Z) / n
    squares, fourth = np.square(S).sum((1, 2)), np.mean(np.square(Z).sum(2) ** 2, axis=1)
    difference = (fourth - squares) / n - (1 - 1 / n) * np.square(S - np.eye(d)).sum((1, 2))
    assert abs(difference.mean()) < 5 * difference.std() / np.sqrt(draws)
    # The function divides it by the distance from the identity.
    C = np.array([[1.0, 0.5], [0.5, 1.0]])
    assert_allclose(ledoit_wolf(C, 10, 4.0), (4 - 2.5) / 10 / 0.5)


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
