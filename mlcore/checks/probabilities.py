"""Validation of probabilities that the caller gives."""

from typing import Any

import numpy as np

from mlcore.checks.arrays import as_floats, real_array, require_finite


def as_priors(values: Any, name: str, owner: str) -> np.ndarray:
    """Return probabilities of classes, (n_classes,) float64, of any positive sum.

    ValueError for other shapes, NaN, infinity, negative numbers, and if all are 0.
    """
    priors = as_floats(real_array(values, name), np.float64)
    if priors.ndim != 1:
        raise ValueError(f"{owner}: {name} has shape {priors.shape}, but must be a vector.")
    require_finite(priors, name, owner)
    if (priors < 0).any():
        raise ValueError(f"{owner}: {name} must be non-negative, but hold {priors.min():g}.")
    if not priors.any():
        raise ValueError(f"{owner}: {name} must be positive for some class, but all are 0.")
    return priors
