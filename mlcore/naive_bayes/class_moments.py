"""Weight, mean and scatter of every column in each class, where it is not missing."""

from typing import NamedTuple

import numpy as np

from mlcore.naive_bayes.class_counts import all_classes, with_classes

_VALUES = 1 << 16  # of a block, which stays in the cache


class ClassMoments(NamedTuple):
    """Moments of the rows of each class, of ``2^-power (x - origin)``.

    Attributes
    ----------
    classes : (c,)
        Sorted.
    weights : (c,) float64
        Weight of all rows of a class.
    known, means, scatters : (c, d) float64
        Weight, mean and sum of squared deviations from it, of the values that are not missing;
        zeros where all are.
    """

    classes: np.ndarray
    weights: np.ndarray
    known: np.ndarray
    means: np.ndarray
    scatters: np.ndarray


def class_moments(
    X: np.ndarray,
    classes: np.ndarray,
    codes: np.ndarray,
    weights: np.ndarray | None,
    origin: np.ndarray,
    power: np.ndarray,
) -> ClassMoments:
    """Return the moments of rows X (n, d) by class; `weights` are positive, or None for ones.

    Blocks of the rows of a class are merged in their order; one reading, O(n d) time.
    """
    c, d = len(classes), X.shape[1]
    known, means, scatters = np.zeros((3, c, d))
    total = np.bincount(codes, weights, c).astype(np.float64)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(c + 1))
    step = max(1, _VALUES // max(1, d))
    for k in range(c):
        for first in range(starts[k], starts[k + 1], step):
            rows = order[first : min(first + step, starts[k + 1])]
            block = scaled(X.take(rows, axis=0), origin, power)
            w = np.ones(len(rows)) if weights is None else weights[rows]
            part = _moments(block, w)
            known[k], means[k], scatters[k] = _merged((known[k], means[k], scatters[k]), part)
    return ClassMoments(classes, total, known, means, scatters)


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
    classes = all_classes(a.classes, b.classes)
    a, b = with_classes(a, classes), with_classes(b, classes)
    return ClassMoments(classes, a.weights + b.weights, *_merged(a[2:], b[2:]))


def of_all_classes(moments: ClassMoments) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return weight, mean and scatter of each column over all classes, (d,) each."""
    parts = list(zip(*moments[2:], strict=True))
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
