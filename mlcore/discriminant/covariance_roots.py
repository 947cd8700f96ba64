"""Triangular roots of covariance matrices, from sums or, where these lose digits, from rows."""

from typing import NamedTuple

import numpy as np
from scipy import linalg

_EPS = float(np.finfo(np.float64).eps)


def well_conditioned(rcond: float, eps: float) -> bool:
    """Return True if sums of precision `eps` tell a matrix of this reciprocal condition well.

    The error of Cholesky's factor then stays below 1e-9, for float32 about 1e-4.
    """
    return rcond >= (1e-6 if eps <= _EPS else 1e-3)


class Root(NamedTuple):
    """``R'R`` is a covariance matrix; R is upper triangular."""

    R: np.ndarray | None  # (r, r) float64, or None: none if the matrix has no inverse
    rank: int
    rounding: float  # relative error that a squared length ``x' (R'R)^-1 x`` may have


def root_of_sums(covariance: np.ndarray, eps: float) -> tuple[Root, bool]:
    """Return the root of a covariance matrix, and whether more digits need the rows.

    `eps` is the precision of the sums; features count in units of their deviation.
    """
    r, variance = len(covariance), covariance.diagonal()
    if not r:
        return Root(np.zeros((0, 0)), 0, eps), False
    deviation = np.sqrt(np.where(variance > 0, variance, 1.0))
    matrix = covariance / np.outer(deviation, deviation)
    L, info = linalg.lapack.dpotrf(matrix, lower=1, clean=1)
    if info == 0:
        rcond, _ = linalg.lapack.dpocon(L, np.abs(matrix).sum(axis=0).max(), uplo="L")
        if well_conditioned(rcond, eps):
            return Root(L.T * deviation, r, max(r, 32) * eps / rcond), False
    limit = max(r, 1024) * eps
    L, pivots, rank, _ = linalg.lapack.dpstrf(matrix, tol=limit, lower=1)
    if rank < r:
        return Root(None, int(rank), 1.0), True
    factor = np.empty((r, r))
    factor[pivots - 1] = np.tril(L)
    R = linalg.qr(factor.T, mode="r")[0]
    return Root(R * deviation, r, min(1.0, limit / _reciprocal_condition(R) ** 2)), True


def root_of_factors(parts: list[np.ndarray], n_rows: int, eps: float) -> Root:
    """Return the root of ``sum_k P_k' P_k``, by orthogonal transformations of the P_k (any, r)."""
    stacked = np.concatenate(parts)
    r = stacked.shape[1]
    deviation = np.sqrt(np.square(stacked).sum(axis=0))
    deviation[deviation == 0] = 1.0
    R = linalg.qr(stacked / deviation, mode="r")[0][:r]
    limit = _rounding_of_rows(n_rows, r, eps)
    pivots = np.abs(linalg.qr(R, mode="r", pivoting=True)[0].diagonal())
    rank = int((pivots > limit * pivots.max(initial=0)).sum())
    if rank < r:
        return Root(None, rank, 1.0)
    rounding = max(r, 32) * _EPS / _reciprocal_condition(R)
    return Root(R * deviation, r, min(1.0, rounding))


def independent_by_sums(covariance: np.ndarray, eps: float) -> np.ndarray:
    """Return the features, sorted, that are no combinations of others, of variances above 0."""
    deviation = np.sqrt(covariance.diagonal())
    matrix = covariance / np.outer(deviation, deviation)
    limit = max(len(matrix), 1024) * eps
    _, pivots, rank, _ = linalg.lapack.dpstrf(matrix, tol=limit, lower=1)
    return np.sort(pivots[:rank] - 1)


def independent_by_factor(factor: np.ndarray, n_rows: int, eps: float) -> np.ndarray:
    """Return the same from a factor F of the covariance, ``F'F``."""
    deviation = np.sqrt(np.square(factor).sum(axis=0))
    deviation[deviation == 0] = 1.0
    R, pivots = linalg.qr(factor / deviation, mode="r", pivoting=True)
    size = np.abs(R.diagonal())
    limit = _rounding_of_rows(n_rows, len(factor), eps)
    return np.sort(pivots[: len(size)][size > limit * size.max(initial=0)])


def _rounding_of_rows(n_rows, r, eps):
    """Return the part of a deviation that rounding leaves, of rows or of QR in float64."""
    return max(max(n_rows, r) * _EPS, 64 * eps)


def _reciprocal_condition(R):
    inverse = linalg.lapack.dtrtri(R)[0]
    rcond = 1 / (linalg.norm(R, 1) * linalg.norm(inverse, 1))
    return max(rcond, np.finfo(np.float64).tiny)
