"""Columns of several kinds: which columns of X are of which."""

from collections.abc import Hashable
from typing import Any

import numpy as np


def require_kinds(columns: Any, kinds: Any, owner: str) -> None:
    """Refuse a parameter `columns` that is neither None nor a dict of some of the kinds."""
    if columns is not None and not (isinstance(columns, dict) and columns.keys() <= set(kinds)):
        raise ValueError(
            f"{owner}: columns must be None or a dict of some of {list(kinds)}, not {columns!r}."
        )
    for kind, own in (columns or {}).items():
        if isinstance(own, str) or not np.iterable(own):
            raise TypeError(f"{owner}: columns[{kind!r}]={own!r} must be a list of columns.")


def column_kinds(
    columns: dict[str, Any] | None, n_features: int, names: np.ndarray | None, owner: str
) -> dict[str, np.ndarray]:
    """Return the places of the columns of each kind, intp; each column is of one kind.

    `columns` lists them by number or by one of the `names`; None is "gaussian" for all.
    """
    if columns is None:
        return {"gaussian": np.arange(n_features)}
    numbers = {name: j for j, name in enumerate([] if names is None else names.tolist())}
    numbers |= {j: j for j in range(n_features)}
    lists = {kind: own for kind, given in columns.items() if (own := list(given))}
    listed = [name for own in lists.values() for name in own]
    foreign = [name for name in listed if not isinstance(name, Hashable) or name not in numbers]
    if foreign:
        raise ValueError(f"{owner}: columns has {foreign[0]!r}, which is no column of X.")
    places = {
        kind: np.array([numbers[name] for name in own], np.intp) for kind, own in lists.items()
    }
    counts = np.bincount(np.concatenate([[], *places.values()]).astype(int), minlength=n_features)
    wrong = np.flatnonzero(counts != 1)
    if len(wrong):
        name = "" if names is None else f" ({names[wrong[0]]!r})"
        raise ValueError(
            f"{owner}: columns has column {wrong[0]}{name} of X {counts[wrong[0]]} times, but each "
            "must stand in one list."
        )
    return places
