"""Categories of columns: numbers, strings, or other values that sort."""

import math
import numbers
from typing import Any

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_labels, label_type
from mlcore.checks.arrays import plain_array

UNSEEN, MISSING = -2, -1  # codes that are no place in the categories


def as_table(X: Any) -> np.ndarray | None:
    """Return X as an array of objects (n, d) if it is a matrix that holds strings, else None."""
    if sp.issparse(X):
        return None
    array = plain_array(X, "X")
    if array.ndim != 2 or array.dtype.kind not in "OUST":
        return None
    if array.dtype.kind in "US" and not hasattr(X, "dtype"):
        array = np.array(X, dtype=object)  # NumPy has turned the number in [1, "a"] into a string
    array = array.astype(object)
    return array if any(isinstance(value, (str, bytes)) for value in array.flat) else None


def coded_column(column: np.ndarray, name: str, missing: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted categories of a column and the code of each row, (n,) intp.

    Parameters
    ----------
    column : (n,) float32, float64 or object
        As `as_samples` or `as_table` return them.
    name : str
        Of the column, for errors.
    missing : bool
        None and NaN have the code MISSING; otherwise they are refused.
    """
    codes = np.full(len(column), MISSING, np.intp)
    known = _known(column) if missing else np.ones(len(column), bool)
    values = column[known]
    if not len(values):
        return np.empty(0), codes
    if values.dtype == object and all(isinstance(v, numbers.Real) for v in values):
        values = values.astype(np.float64)
        if not np.isfinite(values).all():
            raise ValueError(f"Input {name} contains NaN or infinity, which is no category.")
    if values.dtype == object:
        categories, codes[known] = as_labels(values, len(values), name=name)
        if label_type(categories) == "str":
            categories = categories.astype(str)
    else:
        categories, codes[known] = np.unique(values, return_inverse=True)
    return categories, codes


def codes_in(column: np.ndarray, categories: np.ndarray, missing: bool) -> np.ndarray:
    """Return the place in known categories of each value, (n,) intp, or UNSEEN or MISSING."""
    if not len(categories):
        codes = np.full(len(column), UNSEEN, np.intp)
    elif column.dtype == object or categories.dtype.kind != "f":
        places = {value: code for code, value in enumerate(categories.tolist())}
        codes = np.array([places.get(value, UNSEEN) for value in column.tolist()], np.intp)
    else:
        codes = np.minimum(np.searchsorted(categories, column), len(categories) - 1)
        codes[categories[codes] != column] = UNSEEN
    if missing:
        codes[~_known(column)] = MISSING
    return codes


def all_categories(a: np.ndarray, b: np.ndarray, name: str) -> np.ndarray:
    """Return the categories of both, sorted; they must be of one type."""
    if not len(a) or not len(b):
        return a if len(a) else b
    kinds = label_type(a), label_type(b)
    if kinds[0] != kinds[1]:
        raise TypeError(f"{name} has categories of types {kinds[0]} and {kinds[1]}.")
    return np.union1d(a, b)


def _known(column):
    if column.dtype != object:
        return ~np.isnan(column)
    return np.array(
        [
            value is not None
            and type(value).__name__ not in ("NAType", "NaTType")
            and not (isinstance(value, numbers.Real) and math.isnan(value))
            for value in column.tolist()
        ],
        bool,
    )
