"""Directions that separate the means of classes best, from the sums over their samples."""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy import sparse as sp

from mlcore.discriminant.shrinkage import ledoit_wolf, oracle_approximating
from mlcore.scatter import Scatter, row_blocks

_NEAR_ONE = 1e-6  # 1 - rho² below which digits are lost, and the variance is summed directly


class ClassSums(NamedTuple):
    """Sums over the samples of each class, all of ``2^-power x``.

    Attributes
    ----------
    total : float
        Weight of all samples.
    shares : (c,) float64
        Part of it in each class.
    center : (d,) float64
        Mean of all samples, not multiplied.
    means : (c, d) float64
        Means of the classes, relative to the mean of all.
    scatter : (d, d) float64
        Scatter of all samples about their mean, divided by `total`.
    power : (d,) int
    within : (d, d) float64, optional
        Scatter of samples about the means of their classes, divided by `total`, if it was summed:
        it then stands in for the rows.
    """

    total: float
    shares: np.ndarray
    center: np.ndarray
    means: np.ndarray
    scatter: np.ndarray
    power: np.ndarray
    within: np.ndarray | None = None


class Directions(NamedTuple):
    """Discriminant directions, in the units of `ClassSums`.

    Attributes
    ----------
    scalings : (d, q) float64
        Of variance 1 within classes.
    strengths : (q,) float64
        Variance of the means of the classes in these directions, descending.
    covariance : (d, d) float64
        That within classes, shrunk.
    shrinkage : float
    rank : int
    dropped : (d - rank,) intp
    n_separated : int
    pseudo_inverse : bool
        True if the covariance has no inverse by the number of samples.
    """

    scalings: np.ndarray
    strengths: np.ndarray
    covariance: np.ndarray
    shrinkage: float
    rank: int
    dropped: np.ndarray
    n_separated: int
    pseudo_inverse: bool


def class_sums(
    scatter: Scatter,
    by_class: np.ndarray,
    weights: np.ndarray,
    origin: np.ndarray,
    power: np.ndarray,
) -> ClassSums:
    """Return the sums of classes of these `weights` (c,) from what `scatter_by_class` gives."""
    constant = scatter.scatter.diagonal() == 0
    means = np.where(constant, 0.0, by_class / weights[:, None] - scatter.mean)
    total = weights.sum()
    center = origin + np.ldexp(scatter.mean, power)
    return ClassSums(total, weights / total, center, means, scatter.scatter / total, power)


def discriminant_directions(
    X: Any,
    codes: np.ndarray | None,
    weight: np.ndarray | None,
    sums: ClassSums,
    shrinkage: float | str,
    tol: float,
) -> Directions:
    """Return the directions of the largest variance of means over that within classes.

    Features count in units of their deviation. Without shrinkage the pivoted Cholesky factor L of
    the correlations of all samples gives ``T = L^-1 (means * shares^1/2)'``, the singular values
    of which are the correlations rho of the directions with the classes: their variance within
    classes is 1 - rho², of which exact separation leaves 0.

    Parameters
    ----------
    X : (n, d), dense or CSR, or None
        None if the sums tell the scatter within classes.
    codes : (n,) intp
        Class of each row.
    weight : (n,) float64
    shrinkage : float, "auto" or "oas"
    tol : float
        Least pivot of a feature that is kept.
    """
    c = len(sums.shares)
    between = (sums.means.T * sums.shares) @ sums.means
    within = sums.scatter - between if sums.within is None else sums.within.copy()
    np.fill_diagonal(within, np.maximum(within.diagonal(), 0))
    varying = np.flatnonzero(sums.scatter.diagonal() > 0)
    variance = sums.scatter.diagonal()[varying]
    floor = _n_rows(X, sums) * np.finfo(np.float64).eps
    if shrinkage:
        # A feature that is constant in every class has the least variance that rounding leaves.
        variance = np.maximum(within.diagonal()[varying], floor * variance)
    deviation = np.sqrt(variance)
    square = np.ix_(varying, varying)
    if shrinkage:
        correlations = within[square] / np.outer(deviation, deviation)
        np.fill_diagonal(correlations, 1.0)
        if isinstance(shrinkage, str):
            if shrinkage == "oas":
                shrinkage = oracle_approximating(correlations, sums.total)
            else:
                fourth = _fourth_moment(X, codes, weight, sums, varying, deviation)
                shrinkage = ledoit_wolf(correlations, sums.total, fourth)
        matrix = (1 - shrinkage) * correlations
        np.fill_diagonal(matrix, 1.0)
        within = within * (1 - shrinkage)
        within[varying, varying] = variance
    else:
        matrix = sums.scatter[square] / np.outer(deviation, deviation)
    # Without shrinkage a pivot below tol is a combination of features; with it there are none.
    least = 0.0 if shrinkage else tol
    factor, pivots, rank, _ = linalg.lapack.dpstrf(matrix, tol=least, lower=1)
    pivots = pivots[:rank] - 1
    L = np.tril(factor[:rank, :rank])
    standing = sums.means[:, varying[pivots]] / deviation[pivots]
    T = linalg.solve_triangular(L, (standing * np.sqrt(sums.shares)[:, None]).T, lower=True)
    U, s, _ = linalg.svd(T, full_matrices=False)
    forced = not shrinkage and _forced(X, codes, sums, within, rank, s)
    if forced:  # all features: their rank is that of the samples, and any could be left out
        kept = varying
    else:
        kept, deviation = varying[pivots], deviation[pivots]
    dropped = np.setdiff1d(np.arange(len(within)), kept)
    q, n_separated = min(c - 1, rank), 0
    if forced:
        white = _pseudo_inverse_root(X, codes, weight, sums, kept, deviation, tol)
        weighted = sums.means[:, kept] / deviation * np.sqrt(sums.shares)[:, None]
        U, s, _ = linalg.svd((weighted @ white).T, full_matrices=False)
        scalings, strengths = white @ U[:, :q], s[:q] ** 2
    else:
        scalings, strengths = linalg.solve_triangular(L.T, U[:, :q], lower=False), s[:q] ** 2
        if not shrinkage:
            gaps = 1 - strengths
            near = np.flatnonzero(gaps < _NEAR_ONE)
            if len(near):
                directions = scalings[:, near] / deviation[:, None]
                moments = _within(X, codes, weight, sums, kept, directions)
                gaps[near], rotation = linalg.eigh(moments)
                scalings[:, near] = scalings[:, near] @ rotation
            n_separated = int((gaps <= floor).sum())
            gaps = np.maximum(gaps, floor)
            scalings = scalings / np.sqrt(gaps)
            strengths = (1 - gaps) / gaps
    scalings = signed(scalings)
    full = np.zeros((len(within), scalings.shape[1]))
    full[kept] = scalings / deviation[:, None]
    return Directions(
        full, strengths, within, float(shrinkage), int(rank), dropped, n_separated, forced
    )


def _forced(X, codes, sums, within, rank, correlations):
    """Return True if samples that differ are too few for a covariance with an inverse."""
    if not (1 - correlations[:1] ** 2 < _NEAR_ONE).any():
        return False
    floor = _n_rows(X, sums) * np.finfo(np.float64).eps
    if (within.diagonal() <= floor * sums.scatter.diagonal()).all():  # nothing to invert
        return False
    n_different = sums.total
    if X is not None:
        rows = X.toarray() if sp.issparse(X) else X
        n_different = len(np.unique(np.column_stack([rows, codes]), axis=0))
    return bool(rank > n_different - len(sums.shares))


def _n_rows(X, sums):
    return sums.total if X is None else X.shape[0]


def _residual_blocks(X, codes, weight, sums, features):
    """Yield weights and rows less the means of their classes, in float64."""
    for rows, block in row_blocks(X):
        block = block[:, features] - sums.center[features]
        if sums.power.any():
            block = np.ldexp(block, -sums.power[features])
        yield weight[rows], block - sums.means[:, features][codes[rows]]


def _fourth_moment(X, codes, weight, sums, features, deviation):
    total = 0.0
    for part, residuals in _residual_blocks(X, codes, weight, sums, features):
        total += part @ np.square(np.square(residuals / deviation).sum(axis=1))
    return total / sums.total


def _within(X, codes, weight, sums, features, directions):
    """Return the covariance within classes along the directions, from the residuals."""
    if X is None:
        return directions.T @ sums.within[np.ix_(features, features)] @ directions
    moments = np.zeros((directions.shape[1],) * 2)
    for part, residuals in _residual_blocks(X, codes, weight, sums, features):
        projected = residuals @ directions
        moments += (projected.T * part) @ projected
    return moments / sums.total


def _pseudo_inverse_root(X, codes, weight, sums, kept, deviation, tol):
    """Return B, (rank, k), with BB' the pseudo-inverse of the covariance within classes."""
    if X is None:
        inside = sums.within[np.ix_(kept, kept)] / np.outer(deviation, deviation)
        variances, V = linalg.eigh(inside)
        some = variances > tol * variances.max(initial=0)
        return V[:, some] / np.sqrt(variances[some])
    residuals = np.vstack(
        [
            block * np.sqrt(part / sums.total)[:, None] / deviation
            for part, block in _residual_blocks(X, codes, weight, sums, kept)
        ]
    )
    _, s, V = linalg.svd(residuals, full_matrices=False)
    some = s > np.sqrt(tol) * s.max(initial=0)
    return V[some].T / s[some]


def signed(directions: Any) -> Any:
    """Return the columns with the first of their entries of largest modulus positive."""
    if not directions.size:
        return directions
    size = np.abs(directions)
    first = (size >= (1 - 1e-6) * size.max(axis=0)).argmax(axis=0)
    signs = np.sign(np.take_along_axis(directions, first[None], axis=0))
    return directions * np.where(signs == 0, 1.0, signs)
