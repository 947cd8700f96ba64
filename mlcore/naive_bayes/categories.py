"""Categories of columns: numbers, strings, times, or other values that sort."""

import datetime
import math
import numbers
from typing import Any

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_labels, label_type
from mlcore.checks.arrays import column_label, plain_array, require_exact

UNSEEN, MISSING = -2, -1  # codes that are no place in the categories
_TIMES = datetime.date, np.datetime64
_DURATIONS = datetime.timedelta, np.timedelta64
_FAMILIES = numbers.Real, str, bytes, _TIMES, _DURATIONS


def as_table(X: Any) -> np.ndarray | None:
    """Return X as an array (n, d) of objects or of times if it holds strings or times, else None.

    Matrices alone are tables.
    """
    if sp.issparse(X):
        return None
    array = plain_array(X, "X")
    if array.ndim != 2 or array.dtype.kind not in "OUSTmM":
        return None
    if array.dtype.kind in "mM":
        return array
    if array.dtype.kind in "US" and not hasattr(X, "dtype"):
        array = np.array(X, dtype=object)  # NumPy has turned the number in [1, "a"] into a string
    array = array.astype(object)
    types = (str, bytes, *_TIMES, *_DURATIONS)
    return array if any(isinstance(value, types) for value in array.flat) else None


def require_categories(table: np.ndarray, X: Any, columns: Any, missing: bool) -> None:
    """Refuse columns whose values are no categories, or that float64 cannot tell from others.

    `table` (n, d) is checked; `X` is what the user gave. `missing` allows None and NaN.
    """
    require_exact(table, X, columns)
    for j in () if table.dtype.kind == "f" else columns:
        column = table[:, j]
        known = _known(column)
        if not missing and not known.all():
            raise ValueError(
                f"Input {column_label(j, X)} contains NaN "
                f"(as {column[~known].tolist()[0]!r}), which is no category: "
                'missing="ignore" takes missing values.'
            )
        if column.dtype == object:
            _require_one_kind(column[known].tolist(), j, X)


def _require_one_kind(values, j, X):
    kinds = {next((f for f in _FAMILIES if isinstance(v, f)), type(v)) for v in values}
    if len(kinds) > 1:
        names = sorted({type(value).__name__ for value in values})
        raise TypeError(
            f"{column_label(j, X)} has categories of mixed types ({', '.join(names)}): they must "
            "be of one type, all numbers or all strings."
        )


def coded_column(column: np.ndarray, name: str, missing: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted categories of a checked column and the code of each row, (n,) intp.

    With `missing`, None, NaN and NaT have the code MISSING; errors say the `name`.
    """
    codes = np.full(len(column), MISSING, np.intp)
    known = _known(column) if missing else np.ones(len(column), bool)
    values = column[known]
    if not len(values):
        return np.empty(0), codes
    if values.dtype == object and all(isinstance(v, numbers.Real) for v in values):
        values = values.astype(np.float64)
        if not np.isfinite(values).all():
            raise ValueError(f"Input {name} contains infinity, which is no category.")
    if values.dtype == object:
        values = _times(values)
    if values.dtype == object:
        categories, codes[known] = as_labels(values, len(values), name=name)
        if label_type(categories) == "str":
            categories = categories.astype(str)
    else:
        categories, codes[known] = np.unique(values, return_inverse=True)
    return categories, codes


def _times(values):
    """Return times or durations among objects as an array of their type, others as they are."""
    for kinds, convert, name in (
        (_TIMES, np.datetime64, "to_datetime64"),
        (_DURATIONS, np.timedelta64, "to_timedelta64"),
    ):
        if all(isinstance(v, kinds) and getattr(v, "tzinfo", None) is None for v in values):
            plain = (getattr(v, name)() if hasattr(v, name) else convert(v) for v in values)
            return np.array(list(plain))
    return values


def codes_in(column: np.ndarray, categories: np.ndarray, missing: bool) -> np.ndarray:
    """Return the place in known categories of each value, (n,) intp, or UNSEEN or MISSING."""
    if not len(categories):
        codes = np.full(len(column), UNSEEN, np.intp)
    elif categories.dtype.kind in "mM":
        codes = _codes_of_times(column, categories)
    elif column.dtype == object or categories.dtype.kind != "f":
        places = {value: code for code, value in enumerate(categories.tolist())}
        codes = np.array([places.get(value, UNSEEN) for value in column.tolist()], np.intp)
    else:
        codes = np.minimum(np.searchsorted(categories, column), len(categories) - 1)
        codes[categories[codes] != column] = UNSEEN
    if missing:
        codes[~_known(column)] = MISSING
    return codes


def _codes_of_times(column, categories):
    codes, known = np.full(len(column), UNSEEN, np.intp), _known(column)
    values = column[known]
    if values.dtype == object:
        values = _times(values)
    if values.dtype.kind == categories.dtype.kind and len(values):
        places = np.minimum(np.searchsorted(categories, values), len(categories) - 1)
        codes[known] = np.where(categories[places] == values, places, UNSEEN)
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
        return ~(np.isnat(column) if column.dtype.kind in "mM" else np.isnan(column))
    return np.array(
        [
            value is not None
            and type(value).__name__ not in ("NAType", "NaTType")
            and not (isinstance(value, numbers.Real) and math.isnan(value))
            for value in column.tolist()
        ],
        bool,
    )
