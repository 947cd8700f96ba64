"""Names of data frame columns, kept by fit and compared in every later call."""

from typing import Any

import numpy as np

from mlcore.checks.errors import warn

_SHOWN = 5


def column_names(X: Any) -> np.ndarray | None:
    """Return the column names of a data frame or table as an object array, None if it has none.

    Raises
    ------
    TypeError
        If some of the names are strings and others are not.
    """
    columns = getattr(X, "column_names", None)
    if not isinstance(columns, list):  # the names of pyarrow tables, whose `columns` are values
        columns = getattr(X, "columns", None)
    if columns is None or callable(columns):
        return None
    names = np.asarray(columns, dtype=object)
    if names.ndim != 1:
        return None
    text = [isinstance(name, str) for name in names]
    if any(text) and not all(text):
        # The wording, here and below, is what scikit-learn's own tools and tests look for.
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your "
            f"input has {sorted({type(name).__qualname__ for name in names})} as feature name / "
            "column name types. If you want feature names to be stored and validated, you must "
            "convert them all to strings, by using X.columns = X.columns.astype(str) for example. "
            "Otherwise you can remove feature / column names from your input data, or convert "
            "them all to a non-string data type."
        )
    return names if len(names) and all(text) else None


def check_column_names(names: np.ndarray | None, seen: np.ndarray | None, owner: str) -> None:
    """Compare the column names of new data with those `seen` in fit.

    Names on one side only are a warning.

    Raises
    ------
    ValueError
        If both have names and these differ, or their order does.
    """
    if names is None and seen is None:
        return
    if seen is None:
        warn("UserWarning", f"X has feature names, but {owner} was fitted without feature names")
        return
    if names is None:
        warn(
            "UserWarning",
            f"X does not have valid feature names, but {owner} was fitted with feature names",
        )
        return
    if len(names) == len(seen) and (names == seen).all():
        return
    message = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted(set(names) - set(seen)), sorted(set(seen) - set(names))
    if unseen:
        message += "Feature names unseen at fit time:\n" + _listed(unseen)
    if missing:
        message += "Feature names seen at fit time, yet now missing:\n" + _listed(missing)
    if not unseen and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    raise ValueError(message)


def _listed(names):
    lines = "".join(f"- {name}\n" for name in names[:_SHOWN])
    return lines + ("- ...\n" if len(names) > _SHOWN else "")
