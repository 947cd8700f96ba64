"""Models of normal classes with known parameters: those that samples do not have to tell."""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from mlcore.checks import as_labels, as_samples
from mlcore.checks.arrays import as_floats, real_array, require_finite
from mlcore.checks.stored import stored
from mlcore.discriminant.covariance_roots import root_of_sums
from mlcore.discriminant.directions import signed


@stored(version=1)
class ClassMeans(NamedTuple):
    """Means of the classes of a linear discriminant analysis, to all digits."""

    shift: np.ndarray  # (d,) float64: their mean less the origin
    offsets: np.ndarray  # (c, d) float64: they themselves, less their mean
    _stored = {"shift": "float64 f", "offsets": "float64 c f"}


@stored(version=1)
class ClassRoots(NamedTuple):
    """Normal distributions of the classes of a quadratic discriminant analysis."""

    features: np.ndarray  # (r,) intp: those that are not left out
    means: np.ndarray  # (c, d) float64: less the origin, in the units of the sums
    # (c, r, r) float64: upper triangular R with ``R'R`` the covariance of the features
    roots: np.ndarray
    weights: np.ndarray  # (c,) float64: of the samples of the classes
    rounding: np.ndarray  # (c,) float64: relative error of squared distances
    _stored = {
        "features": "int r < f",
        "means": "float64 c f",
        "roots": "float64 c r r",
        "weights": "float64 c",
        "rounding": "float64 c",
    }


def as_parameters(
    cls: type, means: Any, covariances: Any, priors: Any, classes: Any, name: str
) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """Return a model with these priors, means, covariances, (k, d, d), and labels, checked.

    `covariances` is one matrix if `name` is "covariance", else one for each class.
    """
    owner = cls.__name__
    means = as_samples(means, name="means", owner=owner, min_samples=2).astype(np.float64)
    c, d = means.shape
    covariances = as_floats(real_array(covariances, name), np.float64)
    shape = (d, d) if name == "covariance" else (c, d, d)
    if covariances.shape != shape:
        raise ValueError(
            f"{owner}: {name} has shape {covariances.shape}, but must have {shape} for means "
            f"of shape {means.shape}."
        )
    require_finite(covariances.reshape(-1, d), name, owner)
    covariances = covariances.reshape(-1, d, d)
    size = np.abs(covariances).max()
    if np.abs(covariances - covariances.swapaxes(1, 2)).max() > 1e-10 * size:
        raise ValueError(f"{owner}: {name} must be symmetric.")
    labels = np.arange(c)
    if classes is not None:
        labels, codes = as_labels(classes, c, owner=owner, min_classes=c, name="classes")
        if not np.array_equal(codes, np.arange(c)):
            raise ValueError(f"{owner}: classes must be sorted, as classes_ are.")
    model = cls(priors=priors)
    model._checked_priors(np.full(c, 1 / c))
    return model, means, covariances, labels


def linear_state(
    model: Any, means: np.ndarray, covariance: np.ndarray, classes: np.ndarray
) -> dict[str, Any]:
    """Return the fitted attributes of linear discriminant analysis."""
    c, d = means.shape
    root, _ = root_of_sums(covariance, float(np.finfo(np.float64).eps))
    if root.R is None:
        raise ValueError(
            f"{type(model).__name__}: covariance has rank {root.rank} of {d}, but must be "
            "positive definite."
        )
    # Directions of the means, where the covariance is 1.
    priors = model._priors_from(np.full(c, 1 / c))
    shift = priors @ (means - means[0])
    center, offsets = means[0] + shift, means - means[0] - shift
    weighted = offsets.T * np.sqrt(priors)
    U, s, _ = linalg.svd(linalg.solve_triangular(root.R, weighted, trans="T"))
    q = min(c - 1, d)
    strength = s[:q] ** 2
    scalings = signed(linalg.solve_triangular(root.R, U[:, :q]))
    coef = (offsets @ scalings) @ scalings.T
    if c == 2:
        coef = coef[1:] - coef[:1]
    return {
        "classes_": classes,
        "priors_": priors,
        "means_": means,
        "xbar_": center,
        "coef_": coef,
        "intercept_": centred_intercept(priors, coef, offsets) - coef @ center,
        "scalings_": scalings,
        "explained_variance_ratio_": strength / (strength.sum() or 1.0),
        "canonical_correlations_": np.sqrt(strength / (1 + strength)),
        "covariance_": covariance,
        "shrinkage_": 0.0,
        "rank_": d,
        "dropped_features_": np.zeros(0, np.intp),
        "n_separated_": 0,
        "total_weight_": 0.0,
        "origin_": means[0],
        "_units_": np.zeros(d, np.int64),
        "_solution_": ClassMeans(shift, offsets),
    }


def quadratic_state(
    model: Any, means: np.ndarray, covariances: np.ndarray, classes: np.ndarray
) -> dict[str, Any]:
    """Return the fitted attributes of quadratic discriminant analysis."""
    # Each covariance needs a root of full rank.
    c, d = means.shape
    eps = float(np.finfo(np.float64).eps)
    own = [root_of_sums(covariance, eps)[0] for covariance in covariances]
    for label, root in zip(classes.tolist(), own, strict=True):
        if root.R is None:
            raise linalg.LinAlgError(
                f"{type(model).__name__}: covariances of class {label} has rank {root.rank} of "
                f"{d}, but must be positive definite."
            )
    # Moments are known, so that nothing is shrunk and no feature left out.
    roots = np.stack([root.R for root in own])
    return {
        "classes_": classes,
        "priors_": model._priors_from(np.full(c, 1 / c)),
        "means_": means,
        "covariances_": covariances,
        "log_determinants_": log_determinants(roots, np.zeros(d)),
        "ranks_": np.full(c, d),
        "shrinkage_": np.zeros(c),
        "rank_": d,
        "dropped_features_": np.zeros(0, np.intp),
        "origin_": means[0],
        "_units_": np.zeros(d, np.int64),
        "_solution_": ClassRoots(
            np.arange(d),
            means - means[0],
            roots,
            np.zeros(c),
            np.array([root.rounding for root in own]),
        ),
    }


def centred_intercept(priors: np.ndarray, coef: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Return the scores of the mean of all, to which `means` are relative."""
    with np.errstate(divide="ignore"):
        log_priors = np.log(priors)
    if len(means) == 2:
        return log_priors[1:] - log_priors[:1] - coef @ (means.sum(axis=0) / 2)
    return log_priors - (means * coef).sum(axis=1) / 2


def log_determinants(roots: np.ndarray, power: np.ndarray) -> np.ndarray:
    """Return log determinants of ``R'R``, (c,), for features multiplied by ``2^power``."""
    diagonals = np.abs(np.einsum("cii->ci", roots))
    return 2 * (np.log(diagonals).sum(axis=1) + np.log(2.0) * power.sum())
