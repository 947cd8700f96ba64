"""Start values and other parameters that users give, checked, in float64."""

from typing import Any

import numpy as np

from mlcore.checks.arrays import real_array

TOLERANCE = 1e-6  # of sums of weights, and of symmetry


def finite_array(
    value: Any, name: str, shape: tuple[Any, ...] | None, owner: str, term: str | None = None
) -> np.ndarray:
    """Return float64 values in C order; errors call their shape that of `term`."""
    array = real_array(value, name).astype(np.float64)
    if shape is not None and array.shape != shape:
        term = term or name.removesuffix("_init")
        raise ValueError(
            f"{owner}{name} has shape {array.shape}. The parameter '{term}' should have the shape "
            f"of {shape}, but got {array.shape}."
        )
    if not np.isfinite(array).all():
        raise ValueError(f"{owner}{name} contains NaN or infinity, but must be finite.")
    return np.ascontiguousarray(array)


def weights(value: Any, name: str, k: int, owner: str = "") -> np.ndarray:
    """Probabilities of shape (k,)."""
    owner = owner and f"{owner}: "
    probabilities = finite_array(value, name, (k,), owner)
    if (probabilities < 0).any() or abs(probabilities.sum() - 1) > TOLERANCE:
        raise ValueError(
            f"{owner}{name} must be numbers >= 0 with sum 1; the least is {probabilities.min():g}, "
            f"the sum {probabilities.sum():g}."
        )
    return probabilities


def means(
    value: Any, name: str, shape: tuple[Any, ...] | None = None, owner: str = ""
) -> np.ndarray:
    """Means of shape (k, d)."""
    array = finite_array(value, name, shape, owner and f"{owner}: ")
    if array.ndim != 2 or not array.size:
        raise ValueError(f"{name} has shape {array.shape}, but must be 2-D and not empty.")
    return array


def distributions(
    value: Any, name: str, shape: tuple[Any, ...] | None = None, owner: str = ""
) -> np.ndarray:
    """Probabilities of shape (k, d), whose rows sum to 1."""
    probabilities = means(value, name, shape, owner)
    sums = probabilities.sum(axis=1)
    if (probabilities < 0).any() or (np.abs(sums - 1) > TOLERANCE).any():
        worst = int(np.argmax(np.abs(sums - 1)))
        raise ValueError(
            f"{owner and f'{owner}: '}{name} must be numbers >= 0 with rows of sum 1; the least is "
            f"{probabilities.min():g}, the sum of row {worst} {sums[worst]:g}."
        )
    return probabilities
