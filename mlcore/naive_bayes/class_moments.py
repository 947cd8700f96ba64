"""Weight, mean and scatter of every column in each class, where it is not missing."""

from typing import Any, NamedTuple

import numpy as np

from mlcore.checks.stored import stored
from mlcore.naive_bayes.class_counts import all_classes, rows_of, spread

_VALUES = 1 << 16  # of a block, which stays in the cache
_SAFE_POWER = 128  # squares of numbers between 2^-128 and 2^128 stay in range


@stored(version=1)
class MomentUnits(NamedTuple):
    """Units of moments, those of ``2^-power (x - origin)``.

    `origin`, float64 (d,), is a point near the first rows; `power` is int64 (d,).
    """

    origin: np.ndarray
    power: np.ndarray
    _stored = {"origin": "float f", "power": "int f"}


@stored(version=1)
class ClassMoments(NamedTuple):
    """Moments of the rows of each class, of ``2^-power (x - origin)``; `classes` (c,) are sorted.

    `known`, `means` and `scatters`, (c, d), are weight, mean and sum of squared deviations of
    values that are not missing.
    """

    classes: np.ndarray
    weights: np.ndarray
    known: np.ndarray
    means: np.ndarray
    scatters: np.ndarray
    power: Any = 0
    _stored = {
        "classes": "labels c",
        "weights": "float64 c",
        "known": "float64 c f",
        "means": "float64 c f",
        "scatters": "float64 c f",
        "power": "int f | int",
    }


def unit_powers(X: np.ndarray, origin: np.ndarray) -> np.ndarray:
    """Return powers of two near the range of each column, (d,) int64; 0 if squares are safe."""
    size = np.fmax(np.fmax.reduce(X) - origin, origin - np.fmin.reduce(X))
    power = np.frexp(np.where(np.isnan(size), 0.0, size))[1].astype(np.int64)
    power[np.abs(power) < _SAFE_POWER] = 0
    return power


def class_moments(
    X: np.ndarray,
    classes: np.ndarray,
    codes: np.ndarray,
    weights: np.ndarray | None,
    units: MomentUnits,
) -> ClassMoments:
    """Return the moments of rows X (n, d) by class; `weights` are positive, or None for ones.

    Rows whose squares leave the range in these units are visited again in units of their own.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        moments = _in_units(X, classes, codes, weights, units)
        if not np.isfinite(moments.scatters).all():
            own = np.maximum(unit_powers(X, units.origin), units.power)
            moments = _in_units(X, classes, codes, weights, units._replace(power=own))
    return moments


def _in_units(X, classes, codes, weights, units):
    c, d = len(classes), X.shape[1]
    known, means, scatters = np.zeros((3, c, d))
    total = np.bincount(codes, weights, c).astype(np.float64)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(c + 1))
    step = max(1, _VALUES // max(1, d))
    for k in range(c):
        for first in range(starts[k], starts[k + 1], step):
            rows = order[first : min(first + step, starts[k + 1])]
            block = scaled(X.take(rows, axis=0), *units)
            w = np.ones(len(rows)) if weights is None else weights[rows]
            before = known[k], means[k], scatters[k]
            known[k], means[k], scatters[k] = _merged(before, _moments(block, w))
    return ClassMoments(classes, total, known, means, scatters, units.power)


def scaled(X: np.ndarray, origin: np.ndarray, power: np.ndarray) -> np.ndarray:
    """Return ``2^-power (x - origin)`` in float64; NaN stays."""
    offsets = X - origin
    return np.ldexp(offsets, -power) if power.any() else offsets


def merged_class_moments(a: ClassMoments, b: ClassMoments) -> ClassMoments:
    """Return the moments of the rows of both."""
    if a.means.shape[1] != b.means.shape[1]:
        raise ValueError(
            f"moments of {a.means.shape[1]} and {b.means.shape[1]} features cannot be merged: they "
            "come from different models."
        )
    classes, power = all_classes(a.classes, b.classes), np.maximum(a.power, b.power)
    a, b = (_in_power(moments_of_classes(part, classes), power) for part in (a, b))
    return ClassMoments(classes, a.weights + b.weights, *_merged(a[2:5], b[2:5]), power)


def moments_of_classes(moments: ClassMoments, classes: np.ndarray) -> ClassMoments:
    """Return the moments with rows of zeros for the `classes` (c,) that they lack."""
    rows = rows_of(moments.classes, classes)
    parts = (spread(part, rows, len(classes)) for part in moments[1:5])
    return ClassMoments(classes, *parts, moments.power)


def _in_power(moments, power):
    """Return the moments in the units of larger powers; what then underflows is less than any."""
    step = np.broadcast_to(moments.power - power, moments.means.shape[1:])
    if not step.any():
        return moments
    means, scatters = np.ldexp(moments.means, step), np.ldexp(moments.scatters, 2 * step)
    return moments._replace(means=means, scatters=scatters, power=power)


def of_all_classes(moments: ClassMoments) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return weight, mean and scatter of each column over all classes, (d,) each."""
    parts = list(zip(*moments[2:5], strict=True))
    whole = parts[0]
    for part in parts[1:]:
        whole = _merged(whole, part)
    return whole


def _moments(X, weights):
    weight = weights.sum()
    mean = weights @ X / weight
    if not np.isnan(mean).any():
        X -= mean
        left = weights @ X / weight  # what rounding left of the mean
        np.square(X, out=X)
        return np.full(X.shape[1], weight), mean + left, weights @ X - weight * left**2
    missing = np.isnan(X)
    present = np.where(missing, 0.0, weights[:, None])
    weight = present.sum(axis=0)
    X = np.where(missing, 0.0, X)
    mean = (present * X).sum(axis=0) / np.where(weight > 0, weight, 1.0)
    return weight, mean, (present * (X - mean) ** 2).sum(axis=0)


def _merged(a, b):
    (n, mean, scatter), (m, other, more) = a, b
    total = n + m
    share = m / np.where(total > 0, total, 1.0)
    step = other - mean
    return total, mean + share * step, scatter + more + n * share * step**2
