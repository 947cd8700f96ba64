"""Directions that separate the means of classes best, from the sums over their samples."""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy import sparse as sp

from mlcore.discriminant.class_scatters import ClassRows
from mlcore.discriminant.class_sums import ClassSums
from mlcore.discriminant.covariance_roots import well_conditioned
from mlcore.discriminant.shrinkage import ledoit_wolf, oracle_approximating

_NEAR_ONE = 1e-3  # 1 - rho² below which digits are lost, and the variance is summed directly
_EPS = float(np.finfo(np.float64).eps)
_ONE = 1e-6  # 1 - rho² below which rho could be 1


class Directions(NamedTuple):
    """Discriminant directions, in the units of `ClassSums`."""

    scalings: np.ndarray  # (d, q) float64: of variance 1 within classes
    # (q,) float64: variance of the means of the classes in these directions, descending
    strengths: np.ndarray
    covariance: np.ndarray  # (d, d) float64: that within classes, shrunk
    within: np.ndarray  # (d, d) float64: the same without shrinkage
    shrinkage: float
    rank: int
    dropped: np.ndarray  # (d - rank,) intp
    n_separated: int
    pseudo_inverse: bool  # true if the covariance has no inverse by the number of samples
    from_sums: bool  # true if features depend on each other, nearly, and only sums were at hand
    sums: ClassSums  # with means in full precision, if the rows were read for them


def discriminant_directions(
    rows: ClassRows | None, sums: ClassSums, shrinkage: float | str, tol: float
) -> Directions:
    """Return the directions of the largest variance of means over that within classes.

    Without shrinkage the pivoted Cholesky factor L of the correlations of all samples gives ``T =
    L^-1 (means * shares^1/2)'``; its singular values rho are the correlations of directions with
    classes: the variance within is 1 - rho². `tol` is the least pivot that is kept.
    """
    # The covariance within classes, in features that vary.
    if sums.within is None:
        within = (sums.means.T * sums.shares) @ sums.means
        np.subtract(sums.scatter, within, out=within)
    else:
        within = sums.within.copy()
    np.fill_diagonal(within, np.maximum(within.diagonal(), 0))
    varying, eps = (
        np.flatnonzero(sums.scatter.diagonal() > 0),
        float(np.finfo(sums.origin.dtype).eps),
    )
    # Where classes are far from each other, little is left of the difference of the scatters.
    little = within.diagonal() < _NEAR_ONE * sums.scatter.diagonal()
    if little.any() and rows is not None:
        (sums, within[np.ix_(varying, varying)]), eps = _read_again(rows, sums, varying), _EPS
    # The factor that makes features independent, and the means in its coordinates.
    covariance = within
    if shrinkage:
        factor, covariance, shrinkage = _shrunk(rows, sums, within, varying, shrinkage)
    else:
        factor, sums = _factor_with_digits(rows, sums, within, varying, tol, eps)
    rank = len(factor.pivots)
    standing = sums.means[:, varying[factor.pivots]] / factor.deviation[factor.pivots]
    T = (standing * np.sqrt(sums.shares)[:, None]).T
    if rank:
        T = linalg.solve_triangular(factor.L, T, lower=True)
    U, s, _ = np.linalg.svd(T, full_matrices=False)
    # The directions, of variance 1 within classes.
    forced = not shrinkage and _forced(rows, sums, within, rank, s)
    if forced:  # all features: their rank is that of the samples, and any could be left out
        kept, n_separated = _Kept(varying, factor.deviation), 0
        scalings, strengths = _by_pseudo_inverse(rows, sums, kept, rank, tol)
    else:
        kept = _Kept(varying[factor.pivots], factor.deviation[factor.pivots])
        scalings, strengths, n_separated = _from_singular_vectors(
            rows, sums, kept, factor.L, U, s, bool(shrinkage)
        )
    scalings = signed(scalings)
    full = np.zeros((len(within), scalings.shape[1]))
    full[kept.features] = scalings / kept.deviation[:, None]
    return Directions(
        full,
        strengths,
        covariance,
        within,
        float(shrinkage),
        rank,
        np.setdiff1d(np.arange(len(within)), kept.features),
        n_separated,
        forced,
        not factor.well and not forced,
        sums,
    )


class _Factor(NamedTuple):
    """``L L'`` are correlations of features, those at `pivots`, with these deviations of all.

    `well` is False if sums have lost digits that only the rows could tell.
    """

    L: np.ndarray
    pivots: np.ndarray
    deviation: np.ndarray
    well: bool


class _Kept(NamedTuple):
    """Features that have coefficients, and their deviations."""

    features: np.ndarray
    deviation: np.ndarray


def _factor_with_digits(rows, sums, within, varying, tol, eps):
    """Return the factor of the correlations of all samples, and the sums it is of.

    The first that has digits enough: of the sums, of sums in float64, of the rows by QR.
    """
    factor = _total_factor(sums, varying, tol, eps)
    if factor.well or rows is None:
        return factor, sums
    square = np.ix_(varying, varying)
    if eps > _EPS:
        sums, within[square] = _read_again(rows, sums, varying)
        factor = _total_factor(sums, varying, tol, _EPS)
    if not factor.well:
        factor, within[square] = _by_rows(rows, sums, varying, tol)
    return factor, sums


def _by_pseudo_inverse(rows, sums, kept, rank, tol):
    """Return scalings of the features kept, and strengths, where samples are too few."""
    q = min(len(sums.shares) - 1, rank)
    white = _pseudo_inverse_root(rows, sums, kept.features, kept.deviation, tol)
    weighted = sums.means[:, kept.features] / kept.deviation * np.sqrt(sums.shares)[:, None]
    U, s, _ = linalg.svd((weighted @ white).T, full_matrices=False)
    return white @ U[:, :q], s[:q] ** 2


def _from_singular_vectors(rows, sums, kept, L, U, s, shrunk):
    """Return scalings of the features kept, strengths, and the number of exact separations."""
    q, n_separated = min(len(sums.shares) - 1, len(L)), 0
    scalings, strengths = U[:, :q], s[:q] ** 2
    if len(L):
        scalings = linalg.solve_triangular(L.T, scalings, lower=False)
    if shrunk:
        return scalings, strengths, n_separated
    # The variance within classes is 1 - rho², summed from the residuals where digits are lost.
    gaps, floor = 1 - strengths, _n_rows(rows, sums) * _EPS
    near = np.flatnonzero(gaps < _NEAR_ONE)
    if len(near):
        directions = scalings[:, near] / kept.deviation[:, None]
        moments = _within(rows, sums, kept.features, directions)
        gaps[near], rotation = linalg.eigh(moments)
        scalings[:, near] = scalings[:, near] @ rotation
    n_separated = int((gaps <= floor).sum())
    gaps = np.maximum(gaps, floor)
    return scalings / np.sqrt(gaps), (1 - gaps) / gaps, n_separated


def _shrunk(rows, sums, within, varying, shrinkage):
    """Return the factor of shrunk correlations within classes, their covariance, the shrinkage."""
    floor = _n_rows(rows, sums) * _EPS
    # A feature that is constant in every class has the least variance that rounding leaves.
    variance = np.maximum(within.diagonal()[varying], floor * sums.scatter.diagonal()[varying])
    deviation = np.sqrt(variance)
    correlations = _correlations(within, varying, deviation)
    np.fill_diagonal(correlations, 1.0)
    if shrinkage == "oas":
        shrinkage = oracle_approximating(correlations, sums.total)
    elif shrinkage == "auto":
        fourth = _fourth_moment(rows, sums, varying, deviation)
        shrinkage = ledoit_wolf(correlations, sums.total, fourth)
    matrix = (1 - shrinkage) * correlations
    np.fill_diagonal(matrix, 1.0)
    within = within * (1 - shrinkage)
    within[varying, varying] = variance
    return _Factor(*_pivoted_cholesky(matrix, 0.0), deviation, True), within, shrinkage


def _total_factor(sums, varying, tol, eps):
    """Return the factor of the correlations of all samples, and if it has digits enough."""
    deviation = np.sqrt(sums.scatter.diagonal()[varying])
    matrix = _correlations(sums.scatter, varying, deviation)
    rounding = max(len(matrix), 100) * eps
    # A feature with a pivot below tol is a combination of others; one below rounding may be.
    L, pivots = _pivoted_cholesky(matrix, max(tol, rounding))
    if not len(pivots):
        return _Factor(L, pivots, deviation, True)
    kept = matrix if len(pivots) == len(matrix) else matrix[np.ix_(pivots, pivots)]
    rcond = linalg.lapack.dpocon(L, linalg.lapack.dlange("1", kept.T), uplo="L")[0]
    unclear = rounding > tol and len(pivots) < len(matrix)
    return _Factor(L, pivots, deviation, well_conditioned(rcond, eps) and not unclear)


def _correlations(covariance, features, deviation):
    if len(features) == len(covariance):
        matrix = covariance / deviation[:, None]
    else:
        matrix = covariance[np.ix_(features, features)]
        matrix /= deviation[:, None]
    matrix /= deviation
    return matrix


def _pivoted_cholesky(matrix, least):
    """Return the factor, of which the lower triangle counts, and the pivots of a full matrix."""
    factor, pivots, rank, _ = linalg.lapack.dpstrf(matrix.T, tol=least, lower=1)
    return factor[:rank, :rank], pivots[:rank] - 1


def _read_again(rows, sums, features):
    """Return the sums of these features, in float64, and their covariance within classes.

    It is summed about the means of classes: neither far means nor the type of the data cost digits.
    """
    means = sums.mean + sums.means
    lost, within = np.zeros((len(means), len(features))), np.zeros((len(features),) * 2)
    for codes, weight, block in rows.residuals(features, means[:, features]):
        lost += (weight * (codes == np.arange(len(lost))[:, None])) @ block
        block *= np.sqrt(weight)[:, None]
        within += block.T @ block
    lost /= (sums.shares * sums.total)[:, None]
    within = within / sums.total - (lost.T * sums.shares) @ lost
    means[:, features] += lost
    mean = sums.shares @ means
    centred, scatter = (means - mean)[:, features], sums.scatter.copy()
    scatter[np.ix_(features, features)] = within + (centred.T * sums.shares) @ centred
    return sums._replace(mean=mean, means=means - mean, scatter=scatter), within


def _by_rows(rows, sums, varying, tol):
    """Return the factor by QR of the rows and means, which loses the root of the condition only.

    The second result is the covariance within classes.
    """
    R = rows.triangle_within(varying, (sums.mean + sums.means)[:, varying]) / np.sqrt(sums.total)
    between = np.sqrt(sums.shares)[:, None] * sums.means[:, varying]
    stacked = np.concatenate((R, between))
    deviation = np.sqrt(np.square(stacked).sum(axis=0))
    F, pivots = linalg.qr(stacked / deviation, mode="r", pivoting=True)
    rounding = max(len(rows.codes), len(stacked)) * _EPS
    rank = int((np.square(F.diagonal()) > max(tol, rounding**2)).sum())
    return _Factor(F[:rank, :rank].T, pivots[:rank], deviation, True), R.T @ R


def _forced(rows, sums, within, rank, correlations):
    """Return True if samples that differ are too few for a covariance with an inverse."""
    if not (1 - correlations[:1] ** 2 < _ONE).any():
        return False
    floor = _n_rows(rows, sums) * _EPS
    if (within.diagonal() <= floor * sums.scatter.diagonal()).all():  # nothing to invert
        return False
    n_different = sums.total
    if rows is not None:
        X = rows.X.toarray() if sp.issparse(rows.X) else rows.X
        labelled = np.ascontiguousarray(np.column_stack([X, rows.codes]))
        labelled += 0.0  # -0 becomes 0, so that equal rows are equal bytes
        n_different = len(np.unique(labelled.view(f"V{labelled[:1].nbytes}")))
    return bool(rank > n_different - len(sums.shares))


def _n_rows(rows, sums):
    return sums.total if rows is None else len(rows.codes)


def _residuals(rows, sums, features):
    """Yield weights and rows less the means of their classes, in float64."""
    for _, weight, block in rows.residuals(features, (sums.mean + sums.means)[:, features]):
        yield weight, block


def _fourth_moment(rows, sums, features, deviation):
    """Return the mean of ``|z|⁴`` over the residuals z in units of the deviation."""
    if rows is None:
        inverse = np.square(1 / deviation)
        return inverse @ sums.fourth[np.ix_(features, features)] @ inverse
    total = 0.0
    for weight, block in _residuals(rows, sums, features):
        total += weight @ np.square(np.square(block / deviation).sum(axis=1))
    return total / sums.total


def _within(rows, sums, features, directions):
    """Return the covariance within classes along the directions, from the residuals."""
    if rows is None:
        return directions.T @ sums.within[np.ix_(features, features)] @ directions
    moments = np.zeros((directions.shape[1],) * 2)
    for weight, block in _residuals(rows, sums, features):
        projected = block @ directions
        moments += (projected.T * weight) @ projected
    return moments / sums.total


def _pseudo_inverse_root(rows, sums, kept, deviation, tol):
    """Return B, (rank, k), with BB' the pseudo-inverse of the covariance within classes."""
    if rows is None:
        inside = sums.within[np.ix_(kept, kept)] / np.outer(deviation, deviation)
        variances, V = linalg.eigh(inside)
        positive = variances > tol * variances.max(initial=0)
        return V[:, positive] / np.sqrt(variances[positive])
    residuals = np.vstack(
        [
            block * np.sqrt(weight / sums.total)[:, None] / deviation
            for weight, block in _residuals(rows, sums, kept)
        ]
    )
    _, s, V = linalg.svd(residuals, full_matrices=False)
    positive = s > np.sqrt(tol) * s.max(initial=0)
    return V[positive].T / s[positive]


def by_priors(directions: Directions, priors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return scalings, (d, q), and strengths for means of classes that have these weights, (c,).

    The scalings span the same space, in which the covariance within classes is the identity.
    """
    sums, scalings = directions.sums, directions.scalings
    placed = sums.means @ scalings
    placed = (placed - priors @ placed) * np.sqrt(priors)[:, None]
    _, s, V = np.linalg.svd(placed, full_matrices=False)
    unit = np.sqrt(sums.scatter.diagonal())
    unit[unit == 0] = 1.0
    return signed(scalings @ V.T * unit[:, None]) / unit[:, None], s**2


def signed(directions: Any) -> Any:
    """Return the columns with the first of their entries of largest modulus positive."""
    if not directions.size:
        return directions
    size = np.abs(directions)
    first = (size >= (1 - 1e-6) * size.max(axis=0)).argmax(axis=0)
    signs = np.sign(np.take_along_axis(directions, first[None], axis=0))
    return directions * np.where(signs == 0, 1.0, signs)
