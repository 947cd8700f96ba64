"""Covariances of a Gaussian mixture: the M-step, kept positive definite, and their factors.

By default the likelihood is maximised over covariances that are at least a millionth of the data's
own variances, exactly: so it never decreases. A given number is added, as in scikit-learn.
"""

import math
from typing import Any

import numpy as np
from scipy.linalg import lapack

from mlcore.mixture.gaussian.e_step import Parameters, Statistics, shape
from mlcore.mixture.start_values import TOLERANCE, finite_array

FLOOR = 1e-6  # of the variances of the data
_EPS = np.finfo(np.float64).eps
_ALIKE = 1e-12  # of squared distances: variances of rounding, with which rows are all alike
_AT_LIMIT = 1.001  # of the limit: up to this a variance is held up by it
_SINGULAR = 1e-13  # a pivot below this part of its variance is rounding error


def maximized(
    kind: str, statistics: Statistics, before: Parameters, origin, data_variances, reg_covar
) -> tuple[Parameters, np.ndarray]:
    """Return the parameters of greatest likelihood: the M-step.

    Parameters
    ----------
    kind : str
        The covariance type.
    statistics : Statistics
        Under the parameters `before`, which components without any mass keep.
    before : Parameters
    origin : (n_features,)
    data_variances : (n_features,)
    reg_covar : float or None

    Returns
    -------
    parameters : Parameters
    collapsed : (n_components,) bool
        Without mass, or with variances at the floor in all features.
    """
    _, mass, first, second = statistics
    empty = ~(mass > 0)
    some_empty = bool(empty.any())
    divisor = np.where(empty, 1.0, mass) if some_empty else mass
    shift = first / divisor[:, None]
    if some_empty:
        shift[empty] = 0
    means = before.means + shift
    if kind == "tied":
        offsets = before.means - origin + shift  # far from 0, `means` are rounded
        S = (second - (offsets * mass[:, None]).T @ offsets) / mass.sum()
        widths = np.diagonal(S)
    elif kind == "full":
        S = second / divisor[:, None, None] - shift[:, :, None] * shift[:, None, :]
        widths = np.diagonal(S, axis1=1, axis2=2)
    else:
        S = second / divisor[:, None] - shift**2
        widths = S
        if kind == "spherical":
            S = S.sum(axis=1) / S.shape[1]
    covariances, factors = regularised(kind, S, means, data_variances, reg_covar)
    narrow = _AT_LIMIT * FLOOR if reg_covar is None else _SINGULAR
    collapsed = np.zeros(len(mass), bool)
    if kind != "tied" and (varying := data_variances > 0).any():
        collapsed = ((widths <= narrow * data_variances) | ~varying).all(axis=1)
    if kind != "tied" and some_empty:
        covariances[empty], factors[empty] = before.covariances[empty], before.factors[empty]
    return Parameters(mass / mass.sum(), means, covariances, factors), collapsed | empty


def total_variances(kind: str, statistics: Statistics, means, origin) -> np.ndarray:
    """Return the variances of all rows, (n_features,), from the sums about `means`."""
    _, mass, first, second = statistics
    total = mass.sum()
    offsets = means - origin
    centre = (mass @ offsets + first.sum(axis=0)) / total  # from the origin: no digit is lost
    mean = origin + centre
    if kind == "tied":
        between = centre**2
        found = np.diagonal(second) / total - between
    else:
        squares = np.diagonal(second, axis1=1, axis2=2) if kind == "full" else second
        offsets = offsets - centre
        between = mass @ offsets**2 / total
        found = (squares + 2 * first * offsets).sum(axis=0) / total + between
    # What rounding leaves of a feature that does not vary is 0.
    return np.where(found > _ALIKE * between + (8 * _EPS * mean) ** 2, found, 0.0)


def flat_directions(kind: str, parameters: Parameters, data_variances, reg_covar) -> np.ndarray:
    """Return components and their numbers of directions whose variances are at the limit.

    Only features that vary count. A single variance for all features has no directions.

    Parameters
    ----------
    kind : str
        The covariance type.
    parameters : Parameters
    data_variances : (n_features,)
    reg_covar : float or None

    Returns
    -------
    found : (n_found, 2) intp
        Rows of a component with such directions, and their number.
    """
    varying = np.flatnonzero(data_variances > 0)
    if kind == "spherical" or not len(varying):
        return np.zeros((0, 2), np.intp)
    k, unit = len(parameters.weights), data_variances[varying]
    if kind == "diag":
        relative = parameters.covariances[:, varying] / unit
        limit = _limit(1 / unit, reg_covar)
        counts = (relative <= limit).sum(axis=1)
    else:
        C = parameters.covariances if kind == "full" else parameters.covariances[None]
        roots = np.sqrt(unit)
        relative = C[:, varying[:, None], varying] / roots[:, None] / roots
        added = 0.0 if reg_covar is None else reg_covar
        least = np.diag(added / unit)
        most = np.trace(relative, axis1=1, axis2=2)
        bound = _AT_LIMIT * FLOOR if reg_covar is None else _SINGULAR
        counts = np.zeros(len(C), np.intp)
        for j, one in enumerate(relative):
            slack = bound + 8 * len(unit) * _EPS * most[j]
            one = one - least
            # A Cholesky factor is cheaper than the eigenvalues, and nearly always exists.
            if lapack.dpotrf(one - slack * np.eye(len(unit)), lower=1)[1] != 0:
                counts[j] = (np.linalg.eigvalsh(one) <= slack).sum()
        counts = np.broadcast_to(counts, k)
    component = np.flatnonzero(counts)
    return np.column_stack([component, counts[component]]).astype(np.intp)


def _limit(units, reg_covar):
    """Return the variances, relative to the data's, up to which a feature is at the limit."""
    if reg_covar is None:
        return _AT_LIMIT * FLOOR
    return reg_covar * units * (1 + 4 * _EPS) + _SINGULAR


def regularised(kind: str, S, means, data_variances, reg_covar):
    """Return covariances from the second central moments S, and their factors."""
    grain = (_EPS * means) ** 2  # variances below are rounding error
    added = 0.0 if reg_covar is None else reg_covar
    unit, varying = data_variances, data_variances > 0
    if not varying.all():
        unit = np.where(
            varying, data_variances, data_variances.sum() / max(1, varying.sum()) or 1.0
        )
    relative = FLOOR if reg_covar is None else _EPS**2
    if kind == "diag":
        covariances = np.maximum(S + added, np.maximum(relative * unit, grain))
        return covariances, 1 / np.sqrt(covariances)
    if kind == "spherical":
        d = len(unit)
        least = np.maximum(relative * (unit.sum() / d), grain.sum(axis=1) / d)
        covariances = np.maximum(S + added, least)
        return covariances, 1 / np.sqrt(covariances)
    C = (S if kind == "full" else S[None]) + added * np.eye(len(unit))
    grains = grain if kind == "full" else grain.max(axis=0)[None]
    floored = reg_covar is None
    scale = unit if floored else np.diagonal(C, axis1=1, axis2=2)
    scale = np.maximum(scale, grains / FLOOR if floored else grains)
    scale = np.where(scale > 0, scale, unit)
    floor = FLOOR if floored else _SINGULAR
    low = C.copy()
    low.reshape(len(C), -1)[:, :: len(unit) + 1] -= floor * scale
    covariances, factors = np.empty_like(C), np.empty_like(C)
    for j, (one, size) in enumerate(zip(C, scale, strict=True)):
        if floored and lapack.dpotrf(low[j], lower=1)[1] != 0:
            one = _raised(one, size, floor)
        covariances[j], factors[j] = _one(one, floored, size, floor)
    return (covariances, factors) if kind == "full" else (covariances[0], factors[0])


def _one(C, floored, scale, floor):
    """One full covariance and its factor."""
    factor = _factor(C)
    if factor is None or not floored and (np.diag(factor) ** 2 * scale).max() > 1 / _SINGULAR:
        while True:
            C = _raised(C, scale, floor)
            factor = _factor(C)
            if factor is not None:
                break
            floor *= 10
    return C, factor


def _factor(C):
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
    values = np.maximum(values, max(floor, 8 * len(C) * _EPS * values[-1]))
    R = (vectors * values) @ vectors.T
    return (R + R.T) / 2 * root[:, None] * root


def matrices(value: Any, name: str, kind: str, k: int, d: int, owner: str = "") -> np.ndarray:
    """Return given covariances or precisions, checked: symmetric if matrices, else positive."""
    prefix = owner and f"{owner}: "
    found = finite_array(value, name, shape(kind, k, d), prefix, _term(name, kind))
    if kind in ("diag", "spherical"):
        if not (found > 0).all():
            raise not_positive(name, kind, owner)
        return found
    turned = np.swapaxes(found, -1, -2)
    if (np.abs(found - turned) > TOLERANCE * np.abs(found).max(axis=(-1, -2), keepdims=True)).any():
        raise not_positive(name, kind, owner)
    return (found + turned) / 2


def not_positive(name: str, kind: str, owner: str = "") -> ValueError:
    """Return the error for a matrix that is not symmetric and positive definite."""
    how = "positive" if kind in ("diag", "spherical") else "symmetric, positive-definite"
    return ValueError(f"{owner and f'{owner}: '}{name}: '{_term(name, kind)}' should be {how}.")


def _term(name, kind):
    return f"{kind} {name.removesuffix('_init').removesuffix('s')}"


def from_precisions(kind: str, precisions):
    """Covariances and factors of given precisions; None where these are not positive definite."""
    if kind in ("diag", "spherical"):
        return 1 / precisions, np.sqrt(precisions)
    found = []
    for precision in precisions if kind == "full" else precisions[None]:
        # Lower Cholesky of the reversed matrix, reversed again, is the upper factor.
        L, failed = lapack.dpotrf(precision[::-1, ::-1], lower=1, clean=1)
        inverse, singular = lapack.dtrtri(L, lower=1) if not failed else (L, 1)
        if failed or singular or not np.isfinite(inverse).all():
            return None
        inverse = inverse[::-1, ::-1]
        found.append((inverse.T @ inverse, L[::-1, ::-1]))
    covariances, factors = (np.array(part) for part in zip(*found, strict=True))
    return (covariances, factors) if kind == "full" else (covariances[0], factors[0])


def from_covariances(kind: str, covariances):
    """Factors of given covariances; None where these are not positive definite."""
    if kind in ("diag", "spherical"):
        return 1 / np.sqrt(covariances)
    found = [_factor(C) for C in (covariances if kind == "full" else covariances[None])]
    if any(factor is None for factor in found):
        return None
    return np.array(found) if kind == "full" else found[0]


def precisions(kind: str, factors):
    """Return the precisions of the factors."""
    if kind in ("diag", "spherical"):
        return factors**2
    return factors @ np.swapaxes(factors, -1, -2)


def correlated(kind: str, factors, X, counts):
    """Transform rows of independent unit variances, `counts` by component, to these covariances."""
    stop = 0
    for j, count in enumerate(counts):
        part, stop = slice(stop, stop + count), stop + count
        if kind in ("full", "tied"):
            X[part] = np.linalg.solve((factors[j] if kind == "full" else factors).T, X[part].T).T
        else:
            X[part] /= factors[j]
    return X


def n_parameters(kind: str, k: int, d: int) -> int:
    """Return the number of free parameters in the covariances."""
    half = d * (d + 1) // 2
    return {"full": k * half, "tied": half, "diag": k * d, "spherical": k}[kind]


def variances(kind: str, covariances, k: int, d: int):
    """Return the variances of every feature in every component, (k, d)."""
    if kind == "full":
        return np.diagonal(covariances, axis1=1, axis2=2)
    if kind == "tied":
        return np.broadcast_to(np.diagonal(covariances), (k, d))
    return covariances if kind == "diag" else np.broadcast_to(covariances[:, None], (k, d))


def expected(kind: str, parameters: Parameters, origin, added: float) -> Statistics:
    """Return the statistics of mass 1 whose M-step, which adds `added`, gives the parameters."""
    weights, means, sigma, _ = parameters
    k, d = means.shape
    if kind in ("full", "tied"):
        sigma = sigma - added * np.eye(d)
    else:
        sigma = np.maximum(variances(kind, sigma, k, d) - added, 0.0)
    if kind == "tied":
        offsets = means - origin
        second = sigma + (offsets * weights[:, None]).T @ offsets
    else:
        second = sigma * weights.reshape(-1, *[1] * (sigma.ndim - 1))
    return Statistics(0.0, weights, np.zeros((k, d)), second)


# How far a mean may move in a step, in deviations squared, before its moments about the old mean
# have lost digits that count.
SINGLE, DOUBLE = 1e-5 * 2.0**24, 1e-9 * 2.0**53


def lost(statistics: Statistics, parameters: Parameters, kind: str, most: float) -> bool:
    """Return whether moments about the old means have lost digits about those of `parameters`."""
    if kind == "tied":  # its moments are about the origin, and do not move
        return False
    mass, first, wide = statistics.mass, statistics.first, parameters.covariances
    if kind == "full":
        wide = np.diagonal(wide, axis1=1, axis2=2)
    filled = mass > 0
    if not filled.all():
        mass, first, wide = mass[filled], first[filled], wide[filled]
    shift = (first / mass[:, None]) ** 2
    if kind == "spherical":
        shift = shift.sum(axis=1) / shift.shape[1]
    return bool((shift > most * wide).any())
