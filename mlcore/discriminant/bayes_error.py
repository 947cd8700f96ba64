"""Errors of the best possible classifier of normal classes that are known exactly."""

import numpy as np
from scipy import linalg
from scipy.special import ndtr


def error_of_two_normals(distance: float, priors: np.ndarray) -> float:
    """Return the least probability of error for two normal classes of one covariance matrix.

    ``p_1 F(-D/2 - t/D) + p_2 F(-D/2 + t/D)``, ``t = ln(p_1 / p_2)``, D the Mahalanobis `distance`.
    """
    if not distance or not priors.all():
        return float(priors.min())
    shift = np.log(priors[0] / priors[1]) / distance
    return float(priors[0] * ndtr(-distance / 2 - shift) + priors[1] * ndtr(-distance / 2 + shift))


def bhattacharyya_bound(means: np.ndarray, covariances: np.ndarray, priors: np.ndarray) -> float:
    """Return a bound of the least probability of error, at most ``1 - max(priors)``.

    The sum over pairs of ``sqrt(p_i p_j) exp(-B_ij)``, with ``B = d' S^-1 d / 8 + ln(|S| /
    sqrt(|S_i| |S_j|)) / 2``, d the difference of the means, S the mean of the covariances.
    """
    bound = 0.0
    for i in range(len(means)):
        for j in range(i):
            pair = covariances[[i % len(covariances), j % len(covariances)]]
            mean = pair.mean(axis=0)
            factor = linalg.cholesky(mean, lower=True)
            z = linalg.solve_triangular(factor, means[i] - means[j], lower=True)
            log_ratio = np.linalg.slogdet(mean)[1] - np.linalg.slogdet(pair)[1].mean()
            bound += np.sqrt(priors[i] * priors[j]) * np.exp(-(z @ z) / 8 - max(log_ratio, 0.0) / 2)
    return float(min(bound, 1 - priors.max()))
