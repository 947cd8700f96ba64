"""Missing values: NaN that the validation of samples lets pass."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy import sparse as sp

from mlcore.checks.arrays import real_array
from mlcore.checks.samples import as_samples

Missing = Literal["error", "ignore"]
_BLOCK = 2**16  # values


def with_missing(X: Any, check: Callable[..., Any], missing: Missing) -> Any:
    """Return `check(X)`, where NaN passes with ``missing="ignore"``; else its refusal says so."""
    if missing == "ignore":
        return keep_missing(X, check)
    try:
        return check(X)
    except ValueError as error:
        if "NaN" not in str(error):
            raise
        raise ValueError(f'{error} missing="ignore" takes NaN for missing values.') from None


def keep_missing(X: Any, check: Callable[..., Any]) -> Any:
    """Return `check(X)` of an array or sparse X whose NaN count as 0, then put the NaN back.

    None, NA and NaT among objects are NaN. `check` also takes `table`, the X that was given.
    """
    original = X
    if sp.issparse(X) and X.format in ("dok", "lil"):  # whose data are no array of numbers
        X = X.tocoo()
    hidden, missing = _without_missing(X)
    if missing is None:
        return check(hidden)
    checked = check(hidden, table=original)
    if sp.issparse(checked):  # the marks have the same structure, in the same order
        marks = as_samples(missing, accept_sparse=True).data > 0
        data = np.where(marks, np.nan, checked.data)
        return sp.csr_array((data, checked.indices, checked.indptr), shape=checked.shape)
    checked[missing] = np.nan  # a copy, not X itself
    return checked


def has_missing(X: Any) -> bool:
    """Return True if a checked array has NaN."""
    return bool(np.isnan(X.min(initial=np.inf)))


def require_known(X: np.ndarray, weight: np.ndarray | None, owner: str) -> None:
    """Raise ValueError, which names it, if no row of positive weight has a value of a column."""
    unknown = np.ones(X.shape[1], dtype=bool)
    step = max(1, _BLOCK // X.shape[1])
    for start in range(0, len(X), step):
        block = X[start : start + step]
        if weight is not None:
            block = block[weight[start : start + step] > 0]
        unknown &= np.isnan(block).all(axis=0)
        if not unknown.any():
            return
    raise ValueError(
        f"{owner}: all values of column {int(np.argmax(unknown))} of X are missing, so that "
        "nothing is known of it: at least one must be given."
    )


def _without_missing(X):
    """Return X with 0 for NaN, and marks of the NaN; or X itself and None."""
    values = real_array(X.data if sp.issparse(X) else X, "X", missing=True)
    missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)
    if not missing.any():
        return X, None
    filled = np.where(missing, values.dtype.type(0), values)
    if not sp.issparse(X):
        return filled, missing
    hidden, marks = X.copy(), X.copy()
    hidden.data, marks.data = filled, missing.astype(np.float64)
    return hidden, marks
