"""Mixtures of some of the features of a mixture of Gaussians, with or without known values."""

from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from mlcore.mixture.gaussian.covariances import CovarianceType
from mlcore.mixture.gaussian.parameters import Parameters
from mlcore.runtime.memory import require_memory

_ROWS = 1024  # at a time
_LARGEST = 4e307  # of squared distances, as in the E-step


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
    """Return weights (n, k), means (n, k, n_others) and covariances of the other features.

    They are those given each row of `values` (n, n_known) of `known`; the covariances, in the form
    of the family, are the same for all rows.
    """
    weights, means, sigma, _ = parameters
    k, d = means.shape
    n, others = len(values), np.setdiff1d(np.arange(d), known)
    offsets = values[:, None] - means[:, known]
    with np.errstate(divide="ignore"):
        log_joint = np.tile(np.log(weights) - 0.5 * len(known) * np.log(2 * np.pi), (n, 1))
    _, new_means, new_sigma = marginal(parameters, family, others)
    new_means = np.repeat(new_means[None], n, axis=0)
    if not len(known):
        return np.exp(log_joint), new_means, new_sigma
    if family.independent:
        deviations = np.sqrt(family.variances(sigma, k, d)[:, known])
        with np.errstate(over="ignore"):
            squares = ((offsets / deviations) ** 2).sum(axis=2)
        log_joint -= 0.5 * np.minimum(squares, _LARGEST) + np.log(deviations).sum(axis=1)
    else:
        new_sigma = new_sigma.copy()
        matrices = sigma[None] if family.shared else sigma
        for place, S in enumerate(matrices):
            own = slice(None) if family.shared else slice(place, place + 1)
            L = cholesky(S[np.ix_(known, known)], lower=True)
            z = solve_triangular(L, offsets[:, own].reshape(-1, len(known)).T, lower=True)
            cross = solve_triangular(L, S[np.ix_(known, others)], lower=True)
            with np.errstate(over="ignore"):
                squares = np.minimum((z**2).sum(axis=0), _LARGEST).reshape(n, -1)
            log_joint[:, own] -= 0.5 * squares + np.log(np.diag(L)).sum()
            new_means[:, own] += (z.T @ cross).reshape(n, -1, len(others))
            into = ... if family.shared else place
            new_sigma[into] -= cross.T @ cross
    # The sum is taken after exp: far from the means, rounding of its logarithm would show.
    r = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
    return r / r.sum(axis=1, keepdims=True), new_means, new_sigma


def covariances_given_known(
    X: np.ndarray, parameters: Parameters, family: CovarianceType
) -> np.ndarray:
    """Return the covariances (n, d, d) of rows given what is known of them: 0 for known values.

    O(k d³) time for each set of missing features, and O(k u²) for each row that misses u.
    """
    n, d = X.shape
    require_memory(n * d, d, 8, what="the covariances", instead="pass fewer rows at a time")
    C, unknown = np.zeros((n, d, d)), np.isnan(X)
    _, pattern = np.unique(np.packbits(unknown, axis=1), axis=0, return_inverse=True)
    pattern = pattern.ravel()
    order = np.argsort(pattern, kind="stable")
    for alike in np.split(order, np.flatnonzero(np.diff(pattern[order])) + 1):
        missing = unknown[alike[0]]
        u, known = np.flatnonzero(missing), np.flatnonzero(~missing)
        for lo in range(0, len(alike) if len(u) else 0, _ROWS):
            rows = alike[lo : lo + _ROWS]
            values = X[np.ix_(rows, known)].astype(np.float64)
            r, means, sigma = conditional(parameters, family, known, values)
            within = family.as_matrices(sigma, r.shape[1], len(u))
            away = means - (r[:, None] @ means)
            between = (away * r[:, :, None]).swapaxes(1, 2) @ away
            C[np.ix_(rows, u, u)] = np.tensordot(r, within, 1) + between
    return C
