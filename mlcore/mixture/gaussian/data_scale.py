"""Origin and variances of the data, to which moments and least covariances refer."""

from typing import NamedTuple

import numpy as np

from mlcore.mixture.gaussian.initialization import location_and_variances

_SMALLEST, _LARGEST = 1e-280, 1e280  # variances whose products with counts are still normal numbers


class DataScale(NamedTuple):
    """A point near the data, and the data's variances."""

    origin: np.ndarray  # (n_features,) of the type of the data: moments are taken about it
    variances: np.ndarray  # (n_features,) float64


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
