"""Mixtures of some of the features of a mixture of Gaussians, with or without known values."""

from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import logsumexp

from mlcore.mixture.gaussian.covariances import CovarianceType
from mlcore.mixture.gaussian.parameters import Parameters


def marginal(parameters: Parameters, family: CovarianceType, features: np.ndarray) -> Any:
    """Return weights, means and covariances, of the family, of some features."""
    weights, means, sigma, _ = parameters
    if not family.independent:
        sigma = sigma[..., features[:, None], features]
    elif sigma.ndim == 2:
        sigma = sigma[:, features]
    return weights, means[:, features], sigma


def conditional(
    parameters: Parameters, family: CovarianceType, known: np.ndarray, values: np.ndarray
) -> Any:
    """Return weights, means and covariances of the other features, given `values` of `known`."""
    weights, means, sigma, _ = parameters
    k, d = means.shape
    others = np.setdiff1d(np.arange(d), known)
    offsets = values - means[:, known]
    with np.errstate(divide="ignore"):
        log_joint = np.log(weights) - 0.5 * len(known) * np.log(2 * np.pi)
    _, new_means, new_sigma = marginal(parameters, family, others)
    if family.independent:
        variances = family.variances(sigma, k, d)[:, known]
        log_joint = log_joint - 0.5 * (offsets**2 / variances + np.log(variances)).sum(axis=1)
    else:
        new_means, new_sigma = new_means.copy(), new_sigma.copy()
        matrices = sigma[None] if family.shared else sigma
        for place, S in enumerate(matrices):
            own = slice(None) if family.shared else slice(place, place + 1)
            L = cholesky(S[np.ix_(known, known)], lower=True)
            z = solve_triangular(L, offsets[own].T, lower=True)
            cross = solve_triangular(L, S[np.ix_(known, others)], lower=True)
            log_joint[own] -= 0.5 * (z**2).sum(axis=0) + np.log(np.diag(L)).sum()
            new_means[own] += z.T @ cross
            into = ... if family.shared else place
            new_sigma[into] -= cross.T @ cross
    return np.exp(log_joint - logsumexp(log_joint)), new_means, new_sigma
