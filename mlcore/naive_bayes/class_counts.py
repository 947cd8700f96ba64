"""Sums of the rows of each class, in one reading that checks the values too."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp

from mlcore._ext.naive_bayes import class_counts as _ext
from mlcore.checks import label_type
from mlcore.checks.stored import stored
from mlcore.runtime.threads import effective_threads

_ENTRIES = 1 << 25  # of a call of the loop, so that Ctrl-C is heard
_LANES = 8  # values of a dense row that are added at once
_PARTS = 16  # of the rows, at most, which threads add
_WORTH = 32  # entries for a value of the sums of a part, which take a thirtieth of the time then


@stored(version=1)
class ClassCounts(NamedTuple):
    """Weighted sums over the rows of each class, of which `classes` (c,) are sorted.

    `known` (c, d) is the weight of the rows where a feature is not missing; (c, 0) for counts.
    """

    classes: np.ndarray
    weights: np.ndarray
    sums: np.ndarray
    known: np.ndarray
    _stored = {
        "classes": "labels c",
        "weights": "float64 c",
        "sums": "float64 c f",
        "known": "float64 c f | float64 c 0",
    }


def class_counts(
    X: Any,
    codes: np.ndarray,
    weights: np.ndarray | None,
    n_classes: int,
    kind: str,
    threshold: float = 0.0,
    *,
    checked: bool = True,
) -> np.ndarray | None:
    """Return the sums of rows of each class, (n_classes, d) float64, None if a row is refused.

    By `kind`, "sum" adds the values (>= 0), "above" counts those above `threshold`, "binary" adds 0
    or 1. If not `checked`, values that are too large are refused here.
    """
    n, d = X.shape
    weights = np.empty(0) if weights is None else weights
    if sp.issparse(X):
        loop, rows = _ext.sparse_counts, (X.data, X.indices, X.indptr)
    else:
        loop, rows = _ext.dense_counts, (X,)
    values = rows[0]
    limit = np.inf
    if not checked and values.dtype.kind == "f":
        limit = np.sqrt(np.finfo(values.dtype).max) / 2
    number = ("sum", "above", "binary").index(kind)
    parts = min(_PARTS, max(1, values.size // max(1, _WORTH * n_classes * d)))
    part = -(-n // parts)
    tables = [np.zeros((parts, n_classes, d))]
    if sp.issparse(X):
        repeats = (parts, d if number else 0)
        tables += [np.empty(repeats, np.uint8), np.zeros(repeats)]
    step = max(1, _ENTRIES * n // max(1, values.size * parts))
    n_threads = effective_threads(values.size if sp.issparse(X) else values.size / _LANES)
    for first in range(0, part, step):
        if not loop(
            *rows, codes, weights, number, threshold, limit, *tables, part, first, first + step,
            n_threads,
        ):  # fmt: skip
            return None
    return tables[0][0] if parts == 1 else tables[0].sum(axis=0)


def merged_class_counts(a: ClassCounts, b: ClassCounts) -> ClassCounts:
    """Return the sums over the rows of both; a class that one of them lacks is a row of zeros."""
    classes = all_classes(a.classes, b.classes)
    one, other = (with_classes(part, classes) for part in (a, b))
    for x, y in zip(one, other, strict=True):
        if x.shape != y.shape:
            raise ValueError(
                f"sums of {a.sums.shape[1]} and {b.sums.shape[1]} features cannot be merged: they "
                "come from different models."
            )
    return ClassCounts(classes, *(x + y for x, y in zip(one[1:], other[1:], strict=True)))


def with_classes(counts: Any, classes: np.ndarray) -> Any:
    """Return statistics with rows of zeros for the `classes` (c,) that they lack."""
    rows = rows_of(counts.classes, classes)
    return type(counts)(classes, *(spread(part, rows, len(classes)) for part in counts[1:]))


def rows_of(present: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the place of each class that is present among all, both sorted."""
    return np.searchsorted(classes, present)


def spread(values: np.ndarray, rows: np.ndarray, n_rows: int) -> np.ndarray:
    """Return zeros with `values` in these rows."""
    table = np.zeros((n_rows, *values.shape[1:]))
    table[rows] = values
    return table


def all_classes(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the labels of both, sorted; they must be of one type."""
    kinds = label_type(a), label_type(b)
    if kinds[0] != kinds[1]:
        raise TypeError(f"labels of types {kinds[0]} and {kinds[1]}: y must have one type.")
    every = np.union1d(a, b)
    for labels in (a, b) if every.dtype.kind == "f" else ():
        lost = labels.astype(every.dtype).astype(labels.dtype) != labels
        if labels.dtype.kind in "iu" and lost.any():
            raise ValueError(
                f"labels of types {a.dtype} and {b.dtype} have no type in common that holds "
                f"{labels[lost][0]!s}: give y one type."
            )
    return every
