"""Parameters of a mixture of Gaussians, the sums that its M-step takes, the scale of the data."""

from typing import NamedTuple

import numpy as np

from mlcore._ext.mixture.gaussian import ROWS, column_sums
from mlcore.checks.stored import stored
from mlcore.runtime.threads import effective_threads, items_per_call

_PIECE = 4096  # rows of a block
_OPERATIONS_OF_A_VALUE = 4
_SMALLEST, _LARGEST = 1e-280, 1e280  # variances whose products with counts are still normal numbers


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
    """Sums over rows with weights w_i and responsibilities r_ij, which the M-step takes.

    `log_likelihood`: w_i log p(x_i); `mass` (k,): w_i r_ij; `first` (k, d): w_i r_ij (x_i - m_j),
    m_j the mean of the parameters; `second` (k, d, d) or (k, d): w_i r_ij times the products, or
    squares, of x_i - m_j; if tied (d, d): w_i times the products of x_i - origin.
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


def sums_by_label(labels: np.ndarray, values: np.ndarray, k: int) -> np.ndarray:
    """Return sums of the rows of each label, (k, n_columns)."""
    d = values.shape[1]
    places = labels[:, None].astype(np.intp) * d + np.arange(d)
    return np.bincount(places.ravel(), values.ravel(), k * d).reshape(k, d)


def data_scale(X: np.ndarray, weight: np.ndarray | None, owner: str) -> DataScale:
    """Return the scale of rows X (n, d); ValueError where float64 cannot hold it, or a column has
    no value.
    """
    location, variances = location_and_variances(X, weight)
    unknown = np.isnan(location)
    if unknown.any():
        raise ValueError(
            f"{owner}: all values of column {int(np.argmax(unknown))} of X are missing, so that "
            "nothing is known of it: at least one must be given."
        )
    bad = (variances > _LARGEST) | ~np.isfinite(variances)
    small = variances < _SMALLEST
    if small.any():
        width = np.nanmax(X, axis=0) - np.nanmin(X, axis=0)
        bad |= small & (width > 4 * np.finfo(X.dtype).eps * np.abs(location))
    if bad.any():
        column = int(np.argmax(bad))
        raise ValueError(
            f"{owner}: column {column} of X has a variance of about {variances[column]:.0e}, too "
            f"far from 1 for float64 (allowed: {_SMALLEST:.0e} to {_LARGEST:.0e}), so that its "
            "covariance is degenerate: rescale X."
        )
    return DataScale(location.astype(X.dtype), variances)


def location_and_variances(
    X: np.ndarray, weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Weighted means and variances of the columns, float64; a constant column has exactly 0.

    NaN are left out; a column of NaN alone gives NaN.
    """
    head = X[:_PIECE].astype(np.float64)
    same = (head == head[0]).all(axis=0)
    pivot = np.where(same, head[0], head.mean(axis=0))
    n, d = X.shape
    weight_or_empty = np.empty(0) if weight is None else weight
    total = float(n) if weight is None else weight.sum()
    sums = np.zeros((2, d))
    step = items_per_call(_OPERATIONS_OF_A_VALUE * d * ROWS) * ROWS
    for lo in range(0, n, step):
        rows = X[lo : lo + step]
        parts = np.zeros((-(-len(rows) // ROWS), 2, d))
        column_sums(
            rows, weight_or_empty[lo : lo + step], pivot, parts, effective_threads(rows.size)
        )
        sums += parts.sum(axis=0)
    first, second = sums
    if np.isnan(first).any() and np.isnan(X).any():
        return _location_and_variances_of_known(X, weight)
    mean = first / total
    return pivot + mean, np.maximum(second / total - mean**2, 0.0)


def _location_and_variances_of_known(X, weight):
    d = X.shape[1]
    known = ~np.isnan(X)
    pivot = X[known.argmax(axis=0), np.arange(d)].astype(np.float64)
    total, first, second = np.zeros(d), np.zeros(d), np.zeros(d)
    for lo in range(0, len(X), _PIECE):
        present = known[lo : lo + _PIECE]
        rows = np.where(present, X[lo : lo + _PIECE] - pivot, 0.0)
        w = np.ones(len(rows)) if weight is None else weight[lo : lo + _PIECE]
        total += w @ present
        first += w @ rows
        second += w @ rows**2
    mean = first / np.where(total > 0, total, 1.0)
    return pivot + mean, np.maximum(second / np.where(total > 0, total, 1.0) - mean**2, 0.0)
