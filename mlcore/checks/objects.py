"""Samples that are not numbers: strings, and other objects that a user's function compares."""

import numbers
from typing import Any

import numpy as np
from scipy import sparse as sp


def as_objects(X: Any) -> np.ndarray | None:
    """Return samples that are not numbers as a column of objects (n_samples, 1), None for a matrix.

    They are in a list, tuple, 1-D array or series: strings, or objects neither numbers nor None.
    """
    if sp.issparse(X) or isinstance(X, str | bytes | dict | set):
        return None
    if getattr(X, "ndim", 1) != 1 or not hasattr(X, "__len__"):
        return None
    samples = list(X)
    if not samples or any(x is None or isinstance(x, numbers.Number) for x in samples):
        return None
    try:
        if np.asarray(samples).dtype.kind not in "OUS":
            return None
    except ValueError:  # of different lengths
        pass
    column = np.empty((len(samples), 1), dtype=object)
    for i, x in enumerate(samples):
        column[i, 0] = x
    return column
