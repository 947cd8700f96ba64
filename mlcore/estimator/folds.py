"""Folds of a cross-validation: equal parts of rows or of classes, or those that the user gives."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from mlcore.checks import as_integer
from mlcore.checks.errors import warn


class Fold(NamedTuple):
    """Masks of the samples to train on and to score."""

    train: np.ndarray
    test: np.ndarray


def stratified_folds(
    codes: np.ndarray, n_folds: int, random_state: np.random.Generator | None = None
) -> np.ndarray:
    """Return the fold (n_samples,) that holds each sample out, with equal parts of each class.

    Without `random_state` the folds are those of scikit-learn's StratifiedKFold.
    """
    present, first = np.unique(codes, return_index=True)
    fold = np.empty(len(codes), dtype=np.intp)
    start = 0
    for code in present[np.argsort(first)]:
        members = np.flatnonzero(codes == code)
        places = np.sort(np.arange(start, start + len(members)) % n_folds)
        if random_state is not None:
            random_state.shuffle(places)
        fold[members] = places
        start += len(members)
    return fold


def consecutive_folds(n_samples: int, n_folds: int) -> np.ndarray:
    """Return the fold (n_samples,) that holds each sample out: those of scikit-learn's KFold."""
    sizes = np.full(n_folds, n_samples // n_folds)
    sizes[: n_samples % n_folds] += 1
    return np.repeat(np.arange(n_folds), sizes)


def require_cv(cv: Any, owner: str) -> bool:
    """Return True if `cv` is a number of folds, False for splitters and pairs; refuse others."""
    if isinstance(cv, str) or not (hasattr(cv, "split") or isinstance(cv, Iterable)):
        as_integer(cv, "cv", owner=owner, at_least=2)
        return True
    return False


def folds_of(
    cv: Any,
    X: Any,
    y: Any,
    rows: np.ndarray,
    n_samples: int,
    owner: str,
    labels: tuple[np.ndarray, np.ndarray] | None = None,
    groups: Any = None,
) -> list[Fold]:
    """Return the folds as masks over the samples with weight, whose places in X are `rows` (m,).

    An integer `cv` makes consecutive folds; with `labels`, sorted classes and the codes (m,) of
    samples, stratified ones. Else `cv` has or yields pairs over the `n_samples` rows of X; `groups`
    (n_samples,) are passed to its `split`.
    """
    if groups is not None:
        if not hasattr(cv, "split"):
            raise ValueError(
                f"{owner}: groups need a cv whose split takes them, such as scikit-learn's "
                f"GroupKFold, found cv={cv!r}."
            )
        if np.ndim(groups) != 1 or len(groups) != n_samples:
            raise ValueError(
                f"{owner}: groups must be of shape ({n_samples},), found {np.shape(groups)}."
            )
    if require_cv(cv, owner):
        # The folds go by the order of the rows in X, whatever the order they are stored in.
        order = np.argsort(rows)
        fold = np.empty(len(order), dtype=np.intp)
        if labels is None:
            if len(order) < cv:
                raise ValueError(
                    f"{owner}: cv={cv} cannot be greater than n_samples={len(order)}, the number "
                    "of samples with weight."
                )
            fold[order] = consecutive_folds(len(order), cv)
        else:
            classes, codes = labels
            _require_members(classes, codes, cv)
            fold[order] = stratified_folds(codes[order], cv)
        return [Fold(fold != k, fold == k) for k in range(cv)]
    if hasattr(cv, "split"):
        cv = cv.split(X, y) if groups is None else cv.split(X, y, groups)
    pairs = list(cv)
    if not pairs:
        raise ValueError(f"{owner}: cv yields no pairs of training and test indices.")
    folds = []
    for pair in pairs:
        try:
            train, test = (_mask(part, n_samples)[rows] for part in pair)
        except (TypeError, ValueError, IndexError) as error:
            raise ValueError(
                f"{owner}: cv must yield pairs of training and test indices below "
                f"{n_samples}: {error}"
            ) from None
        if not (train.any() and test.any()):
            raise ValueError(f"{owner}: cv yields a fold without training or test samples.")
        folds.append(Fold(train, test))
    return folds


def _require_members(classes, codes, n_folds):
    """Refuse more folds than members of the largest class; warn of classes with fewer."""
    counts = np.bincount(codes)
    if counts.max() < n_folds:
        raise ValueError(
            f"cv={n_folds} cannot be greater than the number of members in each class; the "
            f"largest, {classes.tolist()[counts.argmax()]!r}, has {counts.max()}."
        )
    if counts.min() < n_folds:
        least = classes.tolist()[counts.argmin()]
        warn(
            "UserWarning",
            f"class {least!r} has only {counts.min()} members, less than cv={n_folds}: some "
            "folds test none of it.",
        )


def _mask(indices: Any, n_samples: int) -> np.ndarray:
    """Return a mask of samples from indices or a mask."""
    indices = np.asarray(indices)
    if indices.ndim != 1:
        raise TypeError(f"found indices of shape {indices.shape}")
    if indices.dtype.kind not in "iub" and len(indices):
        raise TypeError(f"found indices of type {indices.dtype}")
    mask = np.zeros(n_samples, dtype=bool)
    mask[indices if len(indices) else []] = True
    return mask
