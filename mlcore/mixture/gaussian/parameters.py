"""Parameters of a mixture of Gaussians, and the sums over rows that its M-step takes."""

from typing import NamedTuple

import numpy as np

from mlcore.checks.stored import stored


@stored(version=1)
class Parameters(NamedTuple):
    """A mixture of Gaussians, all float64; `factors` are scikit-learn's precisions_cholesky_."""

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    factors: np.ndarray
    _stored = {
        "weights": "float64 k",
        "means": "float64 k f",
        "covariances": "float64 k f f | float64 f f | float64 k f | float64 k",
        "factors": "float64 k f f | float64 f f | float64 k f | float64 k",
    }


class Statistics(NamedTuple):
    """Sums over rows with responsibilities r_ij, from which the M-step takes the next parameters.

    Parameters
    ----------
    log_likelihood : float
        Sum of w_i log p(x_i).
    mass : (n_components,)
        Sums of w_i r_ij.
    first : (n_components, n_features)
        Sums of w_i r_ij (x_i - m_j), about the means m_j of the parameters.
    second : (n_components, n_features, n_features) or (n_components, n_features)
        Of w_i r_ij times the products, or squares, of x_i - m_j. Tied: (n_features, n_features),
        sums of w_i times the products of x_i - origin.

    Examples
    --------
    >>> from mlcore.mixture import GaussianMixture
    >>> model = GaussianMixture().begin([[0.0], [2.0]])
    >>> model.partial_statistics([[0.0], [2.0]]).mass
    array([2.])
    """

    log_likelihood: float
    mass: np.ndarray
    first: np.ndarray
    second: np.ndarray


class DataScale(NamedTuple):
    """A point near the data, and the data's variances."""

    origin: np.ndarray  # (n_features,) of the type of the data: moments are taken about it
    variances: np.ndarray  # (n_features,) float64


class Clusters(NamedTuple):
    """Rows by their clusters, whose moments are the first statistics of a fit."""

    X: np.ndarray  # (n, d)
    weight: np.ndarray  # (n,)
    labels: np.ndarray  # (n,)
    differences: np.ndarray  # (n, d) from the seed of the row's cluster
    missing: np.ndarray  # (n, d) bool
    mass: np.ndarray  # (k,); of a cluster without rows that of one row
    filled: np.ndarray  # (k,) bool: clusters with rows


def sums_by_label(labels, values, k: int) -> np.ndarray:
    """Return sums of the rows of each label, (k, n_columns)."""
    d = values.shape[1]
    places = labels[:, None].astype(np.intp) * d + np.arange(d)
    return np.bincount(places.ravel(), values.ravel(), k * d).reshape(k, d)
