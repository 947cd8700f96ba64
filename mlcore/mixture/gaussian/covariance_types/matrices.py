"""Covariances that are matrices: one for each component, or one for all."""

import math

import numpy as np
from scipy.linalg import lapack

from mlcore.mixture.gaussian.covariance_types.covariance_type import (
    AT_LIMIT,
    EPS,
    FLOOR,
    SINGULAR,
    CovarianceType,
    units_of,
)
from mlcore.mixture.gaussian.parameters import Statistics
from mlcore.mixture.start_values import TOLERANCE

# float32 is used while the least eigenvalue of a covariance is wrong by at most the square of this
# number of its roundings: 2e-4.
_MOST_STRETCH = 64


class Matrices(CovarianceType):
    """Symmetric, positive definite matrices."""

    any_rotation = True
    _valid = "symmetric, positive-definite"

    def rows_of_a_component(self, d):
        return 2 * d

    def log_determinants(self, factors, d):
        return np.log(np.diagonal(factors, axis1=-2, axis2=-1)).sum(-1)

    def made_valid(self, values):
        turned, largest = np.swapaxes(values, -1, -2), np.abs(values).max(axis=(-1, -2))
        if (np.abs(values - turned) > TOLERANCE * largest[..., None, None]).any():
            return None
        return (values + turned) / 2

    def precisions(self, factors):
        return factors @ np.swapaxes(factors, -1, -2)

    def correlated(self, Z, factor):
        return np.linalg.solve(factor.T, Z.T).T

    def n_flat(self, parameters, varying, unit, reg_covar):
        d = parameters.means.shape[1]
        C = parameters.covariances.reshape(-1, d, d)
        roots = np.sqrt(unit)
        relative = C[:, varying[:, None], varying] / roots[:, None] / roots
        added = 0.0 if reg_covar is None else reg_covar
        least = np.diag(added / unit)
        most = np.trace(relative, axis1=1, axis2=2)
        bound = AT_LIMIT * FLOOR if reg_covar is None else SINGULAR
        counts = np.zeros(len(C), np.intp)
        for j, one in enumerate(relative):
            slack = bound + 8 * len(unit) * EPS * most[j]
            one = one - least
            # A Cholesky factor is cheaper than the eigenvalues, and nearly always exists.
            if lapack.dpotrf(one - slack * np.eye(len(unit)), lower=1)[1] != 0:
                counts[j] = (np.linalg.eigvalsh(one) <= slack).sum()
        return np.broadcast_to(counts, len(parameters.weights))


class Full(Matrices):
    """One matrix for each component."""

    name = layout = "full"

    def shape(self, k, d):
        return k, d, d

    def n_parameters(self, k, d):
        return k * (d * (d + 1) // 2)

    def operations(self, k, d):
        return k * d * d

    def in_single(self, parameters):
        present = parameters.weights > 0
        factors, covariances = parameters.factors[present], parameters.covariances[present]
        deviations = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
        return bool((deviations[:, None, :] @ np.abs(factors)).max() <= _MOST_STRETCH)

    def coordinate_roundings(self, parameters, origin):
        present = parameters.weights > 0
        offsets = np.abs(parameters.means[present] - origin)
        factors, covariances = parameters.factors[present], parameters.covariances[present]
        deviations = np.sqrt(np.diagonal(covariances, axis1=-2, axis2=-1))
        return ((deviations + offsets)[:, None, :] @ np.abs(factors)).max()

    def second_moments(self, sums, k, d, rows):
        upper, place = sums.reshape(k, d, d), np.arange(d)
        return np.where(place[:, None] <= place, upper, upper.transpose(0, 2, 1))

    def moved(self, statistics, shift):
        log_likelihood, mass, first, second = statistics
        step = mass[:, None] * shift
        cross = first[:, :, None] * shift[:, None, :]
        second = second + cross + cross.transpose(0, 2, 1) + step[:, :, None] * shift[:, None, :]
        return Statistics(log_likelihood, mass, first + step, second)

    def scatter(self, statistics, divisor, shift, offsets):
        S = statistics.second / divisor[:, None, None] - shift[:, :, None] * shift[:, None, :]
        return S, np.diagonal(S, axis1=1, axis2=2)

    def floor(self, S, means, data_variances, reg_covar):
        return raised_to_limit(S, (EPS * means) ** 2, data_variances, reg_covar)

    def expected(self, parameters, origin, reg_covar):
        weights, means, sigma, _ = parameters
        sigma = sigma - reg_covar * np.eye(means.shape[1])
        return Statistics(0.0, weights, np.zeros(means.shape), sigma * weights[:, None, None])

    def lost(self, statistics, parameters, most):
        mass, first, wide = statistics.mass, statistics.first, parameters.covariances
        wide = np.diagonal(wide, axis1=1, axis2=2)
        filled = mass > 0
        if not filled.all():
            mass, first, wide = mass[filled], first[filled], wide[filled]
        return bool(((first / mass[:, None]) ** 2 > most * wide).any())

    def squares(self, second):
        return np.diagonal(second, axis1=1, axis2=2)

    def cluster_moments(self, clusters, scale):
        second = (clusters.mass[:, None] * scale.variances)[:, :, None]
        second = second * np.eye(len(scale.variances))
        if clusters.filled.any():
            weighted = clusters.differences * clusters.weight[:, None]
            for j in np.flatnonzero(clusters.filled):
                own = clusters.labels == j
                second[j] = weighted[own].T @ clusters.differences[own]
        return second

    def from_precisions(self, precisions):
        pairs = [_from_precision(one) for one in precisions]
        if any(pair is None for pair in pairs):
            return None
        covariances, factors = (np.array(values) for values in zip(*pairs, strict=True))
        return covariances, factors

    def factors_of(self, covariances):
        factors = [_factor(C) for C in covariances]
        return None if any(factor is None for factor in factors) else np.array(factors)

    def variances(self, covariances, k, d):
        return np.diagonal(covariances, axis1=1, axis2=2)


class Tied(Matrices):
    """One matrix for all components; its moments are about the origin of the data."""

    name = layout = "tied"
    shared = True

    def shape(self, k, d):
        return d, d

    def n_parameters(self, k, d):
        return d * (d + 1) // 2

    def operations(self, k, d):
        return k * d + d * d

    def packed(self, means, factors):
        """The rows are rotated once, then variances are 1."""
        return means @ factors, np.ones(len(means)), factors

    def in_single(self, parameters):
        return False

    def coordinate_roundings(self, parameters, origin):
        offsets = np.abs(parameters.means[parameters.weights > 0] - origin)
        deviations = np.sqrt(np.diagonal(parameters.covariances))
        return ((deviations + offsets)[:, None, :] @ np.abs(parameters.factors)).max()

    def second_moments(self, sums, k, d, rows):
        return rows.scatter_about_origin()

    def moved(self, statistics, shift):
        return statistics._replace(first=statistics.first + statistics.mass[:, None] * shift)

    def scatter(self, statistics, divisor, shift, offsets):
        offsets = offsets + shift  # far from 0, the means themselves are rounded
        mass = statistics.mass
        S = (statistics.second - (offsets * mass[:, None]).T @ offsets) / mass.sum()
        return S, np.diagonal(S)

    def floor(self, S, means, data_variances, reg_covar):
        grain = ((EPS * means) ** 2).max(axis=0)
        C, factors = raised_to_limit(S[None], grain[None], data_variances, reg_covar)
        return C[0], factors[0]

    def expected(self, parameters, origin, reg_covar):
        weights, means, sigma, _ = parameters
        offsets = means - origin
        sigma = sigma - reg_covar * np.eye(means.shape[1])
        second = sigma + (offsets * weights[:, None]).T @ offsets
        return Statistics(0.0, weights, np.zeros(means.shape), second)

    def lost(self, statistics, parameters, most):
        return False  # moments about the origin do not move

    def total_squares(self, statistics, offsets, centre):
        between = centre**2
        return self.squares(statistics.second) / statistics.mass.sum() - between, between

    def squares(self, second):
        return np.diagonal(second)

    def cluster_moments(self, clusters, scale):
        weight, mass = clusters.weight, clusters.mass
        differences = clusters.X - scale.origin
        second = (differences * weight[:, None]).T @ differences
        return second * (mass.sum() / weight.sum())

    def from_precisions(self, precisions):
        pair = _from_precision(precisions)
        return None if pair is None else tuple(map(np.ascontiguousarray, pair))

    def factors_of(self, covariances):
        return _factor(covariances)

    def variances(self, covariances, k, d):
        return np.broadcast_to(np.diagonal(covariances), (k, d))


def raised_to_limit(S, grain, data_variances, reg_covar):
    """Return covariances (m, d, d) from second central moments S, and their factors.

    `grain` (m, d) are variances below which there is rounding error only.
    """
    unit = units_of(data_variances)
    C = S + (0.0 if reg_covar is None else reg_covar) * np.eye(len(unit))
    floored = reg_covar is None
    scale = unit if floored else np.diagonal(C, axis1=1, axis2=2)
    scale = np.maximum(scale, grain / FLOOR if floored else grain)
    scale = np.where(scale > 0, scale, unit)
    floor = FLOOR if floored else SINGULAR
    low = C.copy()
    low.reshape(len(C), -1)[:, :: len(unit) + 1] -= floor * scale
    covariances, factors = np.empty_like(C), np.empty_like(C)
    for j, (one, size) in enumerate(zip(C, scale, strict=True)):
        if floored and lapack.dpotrf(low[j], lower=1)[1] != 0:
            one = _raised(one, size, floor)
        covariances[j], factors[j] = _regular(one, floored, size, floor)
    return covariances, factors


def _regular(C, floored, scale, floor):
    """Return a matrix, raised if rounding leaves it singular, and its factor."""
    factor = _factor(C)
    if factor is None or not floored and (np.diag(factor) ** 2 * scale).max() > 1 / SINGULAR:
        while True:
            C = _raised(C, scale, floor)
            factor = _factor(C)
            if factor is not None:
                break
            floor *= 10
    return C, factor


def _factor(C):
    """Return upper triangular P with P Pᵀ the inverse of C, or None if C is singular."""
    L, failed = lapack.dpotrf(C, lower=1, clean=1)
    if failed:
        return None
    inverse, failed = lapack.dtrtri(L, lower=1)
    return None if failed or not math.isfinite(inverse.sum()) else inverse.T


def _raised(C, scale, floor):
    """Return C with eigenvalues raised to `floor`, in units of `scale`: the likeliest such C."""
    root = np.sqrt(scale)
    values, vectors = np.linalg.eigh(C / root[:, None] / root)
    values = np.maximum(values, max(floor, 8 * len(C) * EPS * values[-1]))
    R = (vectors * values) @ vectors.T
    return (R + R.T) / 2 * root[:, None] * root


def _from_precision(precision):
    """Return the covariance and factor of a precision; None if it is not positive definite."""
    # Lower Cholesky of the reversed matrix, reversed again, is the upper factor.
    L, failed = lapack.dpotrf(precision[::-1, ::-1], lower=1, clean=1)
    inverse, singular = lapack.dtrtri(L, lower=1) if not failed else (L, 1)
    if failed or singular or not np.isfinite(inverse).all():
        return None
    inverse = inverse[::-1, ::-1]
    return inverse.T @ inverse, L[::-1, ::-1]
