"""Covariance matrices raised to the limit of variances, and their triangular factors."""

import math
from typing import Any

import numpy as np
from scipy.linalg import lapack

from mlcore.mixture.start_values import TOLERANCE

FLOOR = 1e-6  # of the variances of the data
SINGULAR = 1e-13  # a pivot below this share of its variance is rounding error
EPS = float(np.finfo(np.float64).eps)


def raised_to_limit(
    S: np.ndarray, grain: np.ndarray, unit: np.ndarray, reg_covar: float | None
) -> tuple[Any, ...]:
    """Return covariances (m, d, d) from second central moments S, and their factors.

    Variances below `grain` (m, d) are rounding errors; `unit` (d,) are those of the data, positive.
    """
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
    factor = factor_of(C)
    if factor is None or not floored and (np.diag(factor) ** 2 * scale).max() > 1 / SINGULAR:
        while True:
            C = _raised(C, scale, floor)
            factor = factor_of(C)
            if factor is not None:
                break
            floor *= 10
    return C, factor


def factor_of(C: np.ndarray) -> np.ndarray | None:
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


def symmetric(values: np.ndarray) -> np.ndarray | None:
    """Return matrices symmetric to the last bit; None if they are not by more than rounding."""
    turned, largest = np.swapaxes(values, -1, -2), np.abs(values).max(axis=(-1, -2))
    if (np.abs(values - turned) > TOLERANCE * largest[..., None, None]).any():
        return None
    return (values + turned) / 2


def from_precision(precision: np.ndarray) -> tuple[Any, ...] | None:
    """Return the covariance and factor of a precision; None if it is not positive definite."""
    # Lower Cholesky of the reversed matrix, reversed again, is the upper factor.
    L, failed = lapack.dpotrf(precision[::-1, ::-1], lower=1, clean=1)
    inverse, singular = lapack.dtrtri(L, lower=1) if not failed else (L, 1)
    if failed or singular or not np.isfinite(inverse).all():
        return None
    inverse = inverse[::-1, ::-1]
    return inverse.T @ inverse, L[::-1, ::-1]


def units_of(data_variances: np.ndarray) -> np.ndarray:
    """Return the variances; for features that do not vary the mean of those that do, or 1."""
    varying = data_variances > 0
    if varying.all():
        return data_variances
    mean = data_variances.sum() / max(1, varying.sum()) or 1.0
    return np.where(varying, data_variances, mean)
