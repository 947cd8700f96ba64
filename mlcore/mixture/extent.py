"""What the sums of a Gaussian mixture and its M step measure against."""

from typing import NamedTuple

import numpy as np

from mlcore.mixture import starts

_SMALLEST, _LARGEST = 1e-280, 1e280  # variances whose products with counts are still normal numbers


class Frame(NamedTuple):
    """A point near the data, and the data's variances."""

    kind: str
    origin: np.ndarray
    spread: np.ndarray


def frame_of(kind: str, X: np.ndarray, weight, owner: str) -> Frame:
    """The frame of the rows; ValueError where it cannot be in float64, or a column has no value."""
    location, spread = starts.location_and_spread(X, weight)
    unknown = np.isnan(location)
    if unknown.any():
        raise ValueError(
            f"{owner}: all values of column {int(np.argmax(unknown))} of X are missing, so that "
            "nothing is known of it: at least one must be given."
        )
    bad = (spread > _LARGEST) | ~np.isfinite(spread)
    small = spread < _SMALLEST
    if small.any():
        reach = np.nanmax(X, axis=0) - np.nanmin(X, axis=0)
        bad |= small & (reach > 4 * np.finfo(X.dtype).eps * np.abs(location))
    if bad.any():
        column = int(np.argmax(bad))
        raise ValueError(
            f"{owner}: column {column} of X has a variance of about {spread[column]:.0e}, too far "
            f"from 1 for float64 (allowed: {_SMALLEST:.0e} to {_LARGEST:.0e}), so that its "
            "covariance is degenerate: rescale X."
        )
    return Frame(kind, location.astype(X.dtype), spread)
