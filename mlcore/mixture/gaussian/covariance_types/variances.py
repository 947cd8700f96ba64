"""Covariances that are variances: one for each feature of a component, or one for all of them."""

import numpy as np

from mlcore.mixture.gaussian.covariance_types.covariance_type import (
    AT_LIMIT,
    EPS,
    FLOOR,
    SINGULAR,
    CovarianceType,
    units_of,
)
from mlcore.mixture.gaussian.parameters import Statistics, sums_by_label


class Variances(CovarianceType):
    """Positive numbers: features are independent within a component."""

    def operations(self, k, d):
        return k * d

    def second_moments(self, sums, k, d, rows):
        return sums.reshape(k, d)

    def moved(self, statistics, shift):
        log_likelihood, mass, first, second = statistics
        step = mass[:, None] * shift
        second = second + 2 * first * shift + step * shift
        return Statistics(log_likelihood, mass, first + step, second)

    def expected(self, parameters, origin, reg_covar):
        weights, means, sigma, _ = parameters
        sigma = np.maximum(self.variances(sigma, *means.shape) - reg_covar, 0.0)
        return Statistics(0.0, weights, np.zeros(means.shape), sigma * weights[:, None])

    def squares(self, second):
        return second

    def cluster_moments(self, clusters, scale):
        _, weight, labels, differences, missing, mass, filled = clusters
        second = mass[:, None] * scale.variances
        if filled.any():
            squares = differences * weight[:, None] * differences
            second[filled] = sums_by_label(labels, squares, len(mass))[filled]
            if missing.any():
                absent = sums_by_label(labels, weight[:, None] * missing, len(mass))
                second[filled] += absent[filled] * scale.variances
        return second

    def made_valid(self, values):
        return values if (values > 0).all() else None

    def from_precisions(self, precisions):
        return 1 / precisions, np.sqrt(precisions)

    def factors_of(self, covariances):
        return 1 / np.sqrt(covariances)

    def precisions(self, factors):
        return factors**2

    def correlated(self, Z, factor):
        return Z / factor


class Diagonal(Variances):
    """A variance for each feature of each component."""

    name = layout = "diag"
    takes_missing = True
    score_scales = "each"

    def shape(self, k, d):
        return k, d

    def n_parameters(self, k, d):
        return k * d

    def log_determinants(self, factors, d):
        return np.log(factors).sum(-1)

    def coordinate_roundings(self, parameters, origin):
        present = parameters.weights > 0
        offsets = np.abs(parameters.means[present] - origin)
        return (1 + offsets * parameters.factors[present]).max()

    def scatter(self, statistics, divisor, shift, offsets):
        S = statistics.second / divisor[:, None] - shift**2
        return S, S

    def floor(self, S, means, data_variances, reg_covar):
        relative, added = (FLOOR, 0.0) if reg_covar is None else (EPS**2, reg_covar)
        least = np.maximum(relative * units_of(data_variances), (EPS * means) ** 2)
        covariances = np.maximum(S + added, least)
        return covariances, 1 / np.sqrt(covariances)

    def lost(self, statistics, parameters, most):
        mass, first, wide = _filled(statistics, parameters)
        return bool(((first / mass[:, None]) ** 2 > most * wide).any())

    def n_flat(self, parameters, varying, unit, reg_covar):
        limit = AT_LIMIT * FLOOR
        if reg_covar is not None:
            limit = reg_covar * (1 / unit) * (1 + 4 * EPS) + SINGULAR
        return (parameters.covariances[:, varying] / unit <= limit).sum(axis=1)

    def variances(self, covariances, k, d):
        return covariances


class Spherical(Variances):
    """One variance for all features of a component."""

    name = layout = "spherical"
    any_unit = False
    score_scales = "one"

    def shape(self, k, d):
        return (k,)

    def n_parameters(self, k, d):
        return k

    def log_determinants(self, factors, d):
        return d * np.log(factors)

    def coordinate_roundings(self, parameters, origin):
        present = parameters.weights > 0
        offsets = np.abs(parameters.means[present] - origin)
        return (1 + offsets * parameters.factors[present][:, None]).max()

    def scatter(self, statistics, divisor, shift, offsets):
        S = statistics.second / divisor[:, None] - shift**2
        return S.sum(axis=1) / S.shape[1], S

    def floor(self, S, means, data_variances, reg_covar):
        d, (relative, added) = means.shape[1], (FLOOR, 0.0)
        if reg_covar is not None:
            relative, added = EPS**2, reg_covar
        grain = ((EPS * means) ** 2).sum(axis=1) / d
        least = np.maximum(relative * (units_of(data_variances).sum() / d), grain)
        covariances = np.maximum(S + added, least)
        return covariances, 1 / np.sqrt(covariances)

    def lost(self, statistics, parameters, most):
        mass, first, wide = _filled(statistics, parameters)
        shift = (first / mass[:, None]) ** 2
        return bool((shift.sum(axis=1) / shift.shape[1] > most * wide).any())

    def n_flat(self, parameters, varying, unit, reg_covar):
        return np.zeros(len(parameters.weights), np.intp)  # a single variance has no directions

    def variances(self, covariances, k, d):
        return np.broadcast_to(covariances[:, None], (k, d))


def _filled(statistics, parameters):
    """Return mass, first moments and covariances of the components with mass."""
    mass, first, wide = statistics.mass, statistics.first, parameters.covariances
    filled = mass > 0
    return (mass, first, wide) if filled.all() else (mass[filled], first[filled], wide[filled])
