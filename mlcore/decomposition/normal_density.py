"""Density of the normal distribution of probabilistic principal components."""

from typing import Any

import numpy as np

from mlcore.decomposition.summary import ColumnUnits, Variances
from mlcore.numerics.scatter import row_blocks

_ROUNDING = 1e-10  # squared distance off the hull of the data over its size, below which it is none


def log_densities(
    X: Any, mean: np.ndarray, U: np.ndarray, units: ColumnUnits, variances: Variances
) -> np.ndarray:
    """Return the log density of each row of checked `X` (n, d), dense or CSR, (n,) float64.

    If the noise is 0, it is the density within the hull of the data; other points have density 0.
    """
    d, noise, hull = U.shape[1], variances.noise, variances.singular(U.shape[1])
    present = variances.along > 0
    kept = np.where(present, variances.along, 1.0)
    # Squared distances from the mean in units of the deviations.
    out = np.empty(X.shape[0])
    for rows, block in row_blocks(X):
        z = np.ldexp(block - mean, -units.power) / units.scale
        y = z @ U.T
        off = z - y @ U
        off = np.einsum("ij,ij->i", off, off) + np.einsum("ij,ij->i", y, y * ~present)
        out[rows] = np.square(y)[:, present] @ (1 / kept[present])
        if noise > 0:
            out[rows] += off / noise
        elif hull:
            size = np.einsum("ij,ij->i", z, z)
            out[rows][off > _ROUNDING * (size + variances.along[0])] = np.inf
    # The log determinant of the covariance, in the units of the data.
    volume = np.log(kept).sum() + 2 * np.log(units.scale).sum()
    volume += 2 * np.log(2.0) * units.power.sum()
    if noise > 0:
        volume += (d - len(kept)) * np.log(noise)
    n_dimensions = int(np.count_nonzero(present)) if hull else d
    return -(out + volume + n_dimensions * np.log(2 * np.pi)) / 2
