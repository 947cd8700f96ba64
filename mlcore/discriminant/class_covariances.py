"""Covariance matrices of normal classes: pooled, shrunk, with their triangular roots."""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from mlcore.discriminant.class_scatters import ClassRows, ClassScatters
from mlcore.discriminant.covariance_roots import (
    independent_by_factor,
    independent_by_sums,
    root_of_factors,
    root_of_sums,
)
from mlcore.discriminant.shrinkage import ledoit_wolf, oracle_approximating


class Regularisation(NamedTuple):
    """Parameters by which covariance matrices of classes are estimated, checked."""

    reg_param: float
    pooling: float
    shrinkage: float | str
    unbiased: bool


class ClassCovariances(NamedTuple):
    """Covariance matrices of c classes, in the units of `ClassScatters`."""

    covariances: np.ndarray  # (c, d, d) float64
    kept: np.ndarray  # (r,) intp: features that are no combination of others
    # (c, r, r) float64: upper triangular R with ``R'R`` the covariance of the features kept
    roots: np.ndarray
    ranks: np.ndarray  # (c,) int: of the scatter of each class alone
    shrinkage: np.ndarray  # (c,) float64
    # (c, d) float64: of the classes, in full precision where the rows were read again
    means: np.ndarray
    rounding: np.ndarray  # (c,) float64: relative error that squared Mahalanobis distances may have
    from_sums: bool  # true if features depend on each other, nearly, and only sums were at hand


def class_covariances(
    sums: ClassScatters,
    settings: Regularisation,
    ridge: np.ndarray,
    eps: float,
    rows: ClassRows | None,
) -> ClassCovariances:
    """Estimate the covariance of each class; one without an inverse is a LinAlgError.

    ``(1 - pooling) S_j + pooling S_w`` is shrunk toward its diagonal, multiplied by ``1 -
    reg_param``, and the `ridge` (d,) added. `rows` give the roots of ill-conditioned ones.
    """
    c, total = len(sums.weights), sums.total()
    reg_param, pooling, ddof = settings.reg_param, settings.pooling, int(settings.unbiased)
    divisors = _divisors(sums, settings)
    within = total.weight - c * ddof
    # The covariances, pooled by parts.
    covariances = sums.scatters * ((1 - pooling) / divisors)[:, None, None]
    shares = np.diag((1 - pooling) / divisors)
    if pooling:
        covariances += pooling * sums.scatters.sum(axis=0) / within
        shares = np.full((c, c), pooling / within) + shares
    # The features that are no combinations of others, which a regular matrix need not know.
    kept = np.flatnonzero(total.scatter.diagonal() > 0)
    regular = reg_param > 0 or isinstance(settings.shrinkage, str) or settings.shrinkage > 0
    triangles, means, from_sums = None, sums.means.copy(), False
    if not regular:
        kept, triangles, means, from_sums = _independent(sums, total, kept, eps, rows)
    # Shrinkage of the correlations, and the ridge.
    shrinkage = _shrinkage(sums, settings.shrinkage, covariances, shares, kept, rows)
    variances = np.einsum("cii->ci", covariances)
    target = shrinkage[:, None] * shrinkage_target(variances, sums, ddof)
    variances = (1 - shrinkage)[:, None] * variances + target
    covariances *= ((1 - shrinkage) * (1 - reg_param))[:, None, None]
    np.einsum("cii->ci", covariances)[:] = (1 - reg_param) * variances + ridge
    # The root of each covariance: from sums, or where these lose digits from the rows.
    square, roots, rounding = np.ix_(kept, kept), np.zeros((c, len(kept), len(kept))), np.zeros(c)
    ranks = np.full(c, len(kept))
    for code in range(c):
        root, ill = root_of_sums(covariances[code][square], eps)
        if ill and rows is not None:
            if triangles is None:
                triangles, means[:, kept] = rows.triangles(kept, means[:, kept])
            parts = [triangles[code] * np.sqrt((1 - pooling) / divisors[code])]
            if pooling:
                parts.extend(triangles * np.sqrt(pooling / within))
            parts = [part * np.sqrt((1 - shrinkage[code]) * (1 - reg_param)) for part in parts]
            own = (1 - reg_param) * target[code, kept] + ridge[kept]
            root = root_of_factors([*parts, np.diag(np.sqrt(own))], sums.weights[code], eps)
        from_sums |= ill and rows is None
        if root.R is None:
            raise _not_full_rank(root, sums, code, len(kept), shrinkage[code])
        roots[code], rounding[code] = root.R, root.rounding
        if regular or pooling:
            alone = sums.scatters[code][square] / sums.weights[code]
            ranks[code] = root_of_sums(alone, eps)[0].rank
    return ClassCovariances(covariances, kept, roots, ranks, shrinkage, means, rounding, from_sums)


def _divisors(sums, settings):
    """Return the divisors of the scatters, (c,), which must be positive where they are used."""
    c, n_features = sums.means.shape
    ddof, weight = int(settings.unbiased), float(sums.weights.sum())
    divisors = sums.weights - ddof
    if settings.pooling == 1:
        divisors = np.where(divisors > 0, divisors, np.inf)
    elif not (divisors > 0).all():
        lone = int(divisors.argmin())
        raise linalg.LinAlgError(
            f"y has only {sums.weights[lone]:g} sample in class {sums.classes[lone]}, whose "
            f"covariance has rank 0 of {n_features} features and no divisor: use more samples, "
            "unbiased=False with reg_param, pooling or shrinkage, or pooling=1."
        )
    if settings.pooling and weight <= c * ddof:
        raise ValueError(
            f"unbiased=True divides by the total weight {weight:g} less the number of "
            f"classes={c}, which must be positive: pass unbiased=False."
        )
    return divisors


def _not_full_rank(root, sums, code, n_kept, shrinkage):
    remedy = "reg_param, pooling or shrinkage above 0"
    if shrinkage > 0:  # toward variances within classes, of which some are 0
        remedy = "reg_param above 0, as a feature is constant in every class"
    return linalg.LinAlgError(
        f"The covariance matrix of class {sums.classes[code]} is not full rank: its "
        f"{sums.weights[code]:g} samples have rank {root.rank} in {n_kept} independent "
        f"features of {sums.means.shape[1]}: use {remedy}, or fewer features."
    )


def shrinkage_target(variances: np.ndarray, sums: ClassScatters, ddof: int) -> np.ndarray:
    """Return the variances, (c, d), toward which covariances are shrunk: theirs.

    A feature that is constant in a class has there the variance within all classes.
    """
    divisor = sums.weights.sum() - len(sums.weights) * ddof
    within = np.einsum("cii->i", sums.scatters) / (divisor if divisor > 0 else np.inf)
    return np.where(variances > 0, variances, within)


def _independent(sums, total, varying, eps, rows):
    """Return features that are no combinations of others, and triangles of theirs if known.

    The third result is the means of classes, the last is True if sums decided.
    """
    means = sums.means.copy()
    matrix = total.scatter[np.ix_(varying, varying)] / total.weight
    ill = root_of_sums(matrix, eps)[1]
    if not ill:
        return varying, None, means, False
    if rows is None:
        return varying[independent_by_sums(matrix, eps)], None, means, True
    triangles, means[:, varying] = rows.triangles(varying, means[:, varying])
    between = np.sqrt(sums.weights)[:, None] * (means[:, varying] - total.mean[varying])
    factor = np.concatenate((*triangles, between))
    places = independent_by_factor(factor, len(rows.codes), eps)
    return varying[places], triangles[:, :, places], means, False


def _shrinkage(sums, shrinkage, covariances, shares, kept, rows):
    """Return the shrinkage of each class, given or estimated, (c,).

    The residuals of all classes, of unequal shares, count as a sample of one distribution, of size
    ``(sum of shares)² / (sum of squared shares)``.
    """
    c = len(sums.weights)
    if not isinstance(shrinkage, str):
        return np.full(c, float(shrinkage))
    size = shares @ sums.weights
    shares = shares / size[:, None]  # those in a class sum to 1
    effective = 1 / (np.square(shares) @ sums.weights)
    matrices = covariances[:, kept][:, :, kept] / size[:, None, None]
    variances = np.einsum("cii->ci", matrices)
    deviations = np.sqrt(np.where(variances > 0, variances, 1.0))
    if shrinkage == "auto":
        if rows is None:
            fourth = sums.fourth_moments(kept, deviations)
        else:
            fourth = rows.fourth_moments(kept, sums.means[:, kept], deviations)
    estimates = np.zeros(c)
    for code, deviation in enumerate(deviations):
        correlations = matrices[code] / np.outer(deviation, deviation)
        np.fill_diagonal(correlations, 1.0)
        if shrinkage == "oas":
            estimates[code] = oracle_approximating(correlations, effective[code])
        else:
            mean = effective[code] * np.square(shares[code]) @ fourth[:, code]
            estimates[code] = ledoit_wolf(correlations, effective[code], mean)
    return estimates
