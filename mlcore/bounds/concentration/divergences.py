"""Relative entropies, in nats, of the distributions that PAC-Bayes bounds are used with."""

import math
from typing import Any

import numpy as np

from mlcore.bounds.arguments import as_reals, refuse
from mlcore.numerics.information import excess_over_log

_LEAST_NORMAL = np.finfo(np.float64).tiny
_SUM_TOLERANCE = 1e-9  # largest difference of a sum of probabilities from 1


def gaussian_kl(mu_q: Any, sigma_q: Any, mu_p: Any, sigma_p: Any) -> float:
    r"""Return the relative entropy of one Gaussian with diagonal covariance from another.

    .. math:: \sum_i \ln \frac{\sigma_{p, i}}{\sigma_{q, i}}
              + \frac{\sigma_{q, i}^2 + (\mu_{q, i} - \mu_{p, i})^2}{2 \sigma_{p, i}^2} - \frac 1 2.

    Parameters
    ----------
    mu_q, sigma_q : float or array-like
        Means and standard deviations of the first, the posterior.
    mu_p, sigma_p : float or array-like
        Those of the second, the prior. All four broadcast; a number stands for every coordinate.

    Returns
    -------
    divergence : float
        In nats; infinite beyond the largest float.

    Raises
    ------
    ValueError
        For standard deviations that are not positive, values that are not finite, and shapes that
        do not broadcast.

    References
    ----------
    S. Kullback, *Information Theory and Statistics*, 1959, chapter 9.

    Examples
    --------
    >>> from mlcore.bounds import gaussian_kl
    >>> gaussian_kl([1.0, 2.0, 2.0], 1.0, 0.0, 1.0)
    4.5
    """
    mu_q, mu_p = as_reals(mu_q, "mu_q"), as_reals(mu_p, "mu_p")
    sigma_q = as_reals(sigma_q, "sigma_q", above=0)
    sigma_p = as_reals(sigma_p, "sigma_p", above=0)
    try:
        shape = np.broadcast_shapes(mu_q.shape, sigma_q.shape, mu_p.shape, sigma_p.shape)
    except ValueError:
        refuse("mu_q", mu_q.tolist(), "of a shape that fits those of sigma_q, mu_p and sigma_p")
    # With x = (sigma_q / sigma_p)² - 1, the variances of a coordinate add (x - ln(1 + x)) / 2.
    with np.errstate(all="ignore"):
        ratio = sigma_q / sigma_p
        x = (sigma_q - sigma_p) / sigma_p * (ratio + 1)
        plain = (ratio >= _LEAST_NORMAL) & (ratio < np.inf)  # it may over- or underflow
        log_ratio = np.where(plain, np.log(ratio), np.log(sigma_q) - np.log(sigma_p))
        far = np.isinf(mu_q - mu_p)  # the difference overflows, the quotient may not
        shift = np.where(far, (mu_q / 2 - mu_p / 2) / sigma_p * 2, (mu_q - mu_p) / sigma_p)
        variances = np.where(abs(x) < 0.25, 0.5 * excess_over_log(x), 0.5 * x - log_ratio)
        terms = variances + 0.5 * shift * shift
    return math.fsum(np.broadcast_to(terms, shape).ravel())


def categorical_kl(q: Any, p: Any) -> float:
    r"""Return the relative entropy of one categorical distribution from another.

    .. math:: \sum_i q_i \ln \frac{q_i}{p_i}, \qquad 0 \ln 0 = 0.

    Parameters
    ----------
    q, p : array-like of shape (n_outcomes,)
        Probabilities, each adding up to 1: the posterior and the prior.

    Returns
    -------
    divergence : float
        Infinite if an outcome has probability 0 under `p` only.

    Raises
    ------
    ValueError
        For numbers that are no probabilities, and for different lengths.

    References
    ----------
    S. Kullback, R. A. Leibler, *On information and sufficiency*, Annals of Mathematical Statistics
    22, 1951.

    Examples
    --------
    >>> from mlcore.bounds import categorical_kl
    >>> round(categorical_kl([0.5, 0.5, 0.0], [0.25, 0.25, 0.5]), 6)
    0.693147
    """
    q, p = _as_probabilities(q, "q"), _as_probabilities(p, "p")
    if len(q) != len(p):
        refuse("p", p.tolist(), f"of the length of q, {len(q)}")
    if (p[q > 0] == 0).any():
        return math.inf
    # p - q adds up to 0, so the terms of first order are left out, which would cancel.
    possible = q > 0
    q, p, rest = q[possible], p[possible], p[~possible]
    close = np.abs(p - q) < 0.25 * q
    x = (p - q) / np.where(close, q, 1.0)
    terms = np.where(close, q * excess_over_log(x), p - q + q * (np.log(q) - np.log(p)))
    return math.fsum([*terms, *rest])


def _as_probabilities(values, name):
    array = as_reals(values, name, at_least=0, at_most=1)
    if array.ndim != 1 or abs(math.fsum(array) - 1) > _SUM_TOLERANCE:
        refuse(name, array.tolist(), "a list of probabilities that add up to 1")
    return array
