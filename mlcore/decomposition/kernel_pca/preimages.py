"""Samples whose images are near the points in feature space that scores stand for."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from mlcore.kernels.expansion import row_blocks

_SHORTEST = 2.0**-30  # a step that is shorter than this part of the whole one is not taken


def ridge(X: Any, coef: np.ndarray, mean: np.ndarray, shrinkage: np.ndarray) -> np.ndarray:
    """Return the coefficients (k, d) of a ridge regression of samples on their scores.

    Scores are uncorrelated, so they are ``lambda / (lambda + alpha) V'X``, with V = `coef` (n, k)
    and the factor `shrinkage` (k,). `mean` (d,) is near the samples and subtracted to lose no
    digits.
    """
    if sparse.issparse(X):
        sums = (X.T @ coef).T
    else:
        sums = np.zeros((coef.shape[1], X.shape[1]))
        for rows in row_blocks(X, coef.shape[1]):
            sums += coef[rows].T @ (X[rows] - mean)
    return shrinkage[:, None] * sums


def nearest(
    values: Callable[[np.ndarray], np.ndarray],
    X: Any,
    coef: np.ndarray,
    Z: np.ndarray,
    scale: float,
    tol: float,
    max_iter: int,
) -> np.ndarray:
    """Return points z near `Z` whose images under the rbf kernel are near sums of others' images.

    They maximise ``m(z) = sum_i g_i k(z, x_i)``. At its optimum z is the mean of the samples X with
    weights ``g_i k(z, x_i)``. Steps towards this mean are halved until m does not fall. `values`
    returns kernel values (r, n); `coef` (r, n) is g; `scale` the root of gamma; `tol` limits the
    last step, in units of 1 / scale. S. Mika et al., *Kernel PCA and de-noising in feature spaces*,
    NIPS 11, 1999.
    """
    Z = Z.copy()
    # The terms of m(z), their sums, and the points that may still move.
    parts = values(Z) * coef
    m = parts.sum(axis=1)
    step = np.ones(len(Z))
    active = np.flatnonzero(m > 0)
    for _ in range(max_iter):
        if not len(active):
            break
        # A step on the way to the weighted mean, or a part of it.
        means = (parts[active] @ X) / m[active, None]
        new = Z[active] + step[active, None] * (means - Z[active])
        new_parts = values(new) * coef[active]
        new_m = new_parts.sum(axis=1)
        # It is taken where m does not fall, and halved elsewhere.
        better = new_m >= m[active]
        length = scale * np.linalg.norm(new - Z[active], axis=1)
        taken = active[better]
        Z[taken], parts[taken], m[taken] = new[better], new_parts[better], new_m[better]
        step[active] = np.where(better, 1.0, step[active] / 2)
        active = active[(length > tol) & (step[active] >= _SHORTEST)]
    return Z
