"""Samples that are sets of vectors: their rows one below the other, and where each set begins."""

from typing import Any, Self

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_samples
from mlcore.checks.encoded_samples import EncodedSamples


class Sets(EncodedSamples):
    """Sets of vectors: set i has the rows offsets[i] to offsets[i + 1] of `points`, (n_points, d).

    `grids` is what `PyramidMatch` has derived from all sets, kept where some of them are saved.
    """

    points: np.ndarray
    grids: dict[Any, Any]
    offsets: np.ndarray
    chosen: np.ndarray
    known: dict[Any, Any]

    def __init__(
        self, points: np.ndarray, offsets: np.ndarray, grids: dict[Any, Any] | None = None
    ) -> None:
        self.points, self.offsets = points, offsets
        self.grids = {} if grids is None else grids
        self.chosen, self.known = np.arange(len(offsets) - 1), {}

    def __getstate__(self) -> dict[str, Any]:
        places, offsets = self.places()
        return {"points": self.points[places], "offsets": offsets, "grids": self.grids}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)
        if (
            self.points.ndim != 2
            or not self.points.shape[1]
            or self.points.dtype not in (np.float32, np.float64)
            or self.offsets.dtype != np.int64
            or self.offsets.ndim != 1
            or not len(self.offsets)
            or self.offsets[0] != 0
            or self.offsets[-1] != len(self.points)
            or np.diff(self.offsets).min(initial=0) < 0
            or not np.isfinite(self.points).all()
            or not all(0 < side < np.inf and n in range(64) for side, n in self.grids.values())
        ):
            raise ValueError("the encoded sets are damaged.")

    @classmethod
    def of(cls, X: Any, *, owner: str, name: str = "X", like: Any = None) -> Self:
        """Check the sets of a list, and join them; messages name the set.

        Wrong types raise TypeError; no sets, no vectors, unequal lengths and NaN raise ValueError.
        """
        # Check each set, and that all have vectors of one length.
        members = _members(X, owner, name)
        arrays, d = [], None
        for i, member in enumerate(members):
            place = f"{name}[{i}]"
            if member is None or isinstance(member, str | bytes | dict | set):
                raise TypeError(
                    f"{place} is of type {type(member).__name__}, but {owner} takes sets of "
                    "vectors: arrays of shape (m, d)."
                )
            if _is_empty(member):
                width = np.shape(member)[1] if np.ndim(member) == 2 else None
                arrays.append(None)
                if not width:
                    continue
            else:
                points = as_samples(member, owner=owner, name=place, like=like)
                width = points.shape[1]
                arrays.append(points)
            if d is not None and width != d[0]:
                raise ValueError(
                    f"{place} has vectors of {width} numbers, but {name}[{d[1]}] of {d[0]}: all "
                    "sets must have vectors of one length."
                )
            d = d or (width, i)
        if d is None:
            raise ValueError(
                f"{name} has {len(members)} sets, all empty: {owner} needs one vector at least."
            )
        # Join the sets that are not empty.
        parts = [points for points in arrays if points is not None]
        dtype = np.result_type(*parts) if parts else np.dtype(like or np.float64)
        lengths = [0 if points is None else len(points) for points in arrays]
        offsets = np.zeros(len(arrays) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        joined = np.concatenate(parts, dtype=dtype) if parts else np.empty((0, d[0]), dtype)
        return cls(np.ascontiguousarray(joined), offsets)

    def part(self, first: int, last: int) -> Self:
        """Return the sets from `first` to `last`, whose vectors are not copied."""
        offsets = self.offsets[first : last + 1]
        return type(self)(self.points[offsets[0] : offsets[-1]], offsets - offsets[0])


def are_sets(X: Any) -> bool:
    """Return True if X is a sequence whose members, if it has any, have rows of their own."""
    if sp.issparse(X) or isinstance(X, str | bytes) or not hasattr(X, "__len__"):
        return False
    if hasattr(X, "ndim") and (X.ndim != 1 or getattr(X, "dtype", None) != np.dtype(object)):
        return False
    if not isinstance(X, list | tuple) and not hasattr(X, "ndim"):
        return False
    return any(_dimensions(member) >= 2 for member in X)


def _dimensions(member):
    if hasattr(member, "ndim"):
        return member.ndim
    if isinstance(member, list | tuple) and len(member):
        return 1 + _dimensions(member[0])
    return 0


def _members(X, owner, name):
    wanted = f"{owner} takes a list of sets of vectors, arrays of shape (m, d)"
    listed = isinstance(X, list | tuple) or getattr(X, "ndim", None) == 1
    if isinstance(X, np.ndarray) and X.ndim == 3:
        listed = True
    if not listed or sp.issparse(X):
        what = f"an array of shape {np.shape(X)}" if hasattr(X, "shape") else type(X).__name__
        raise TypeError(f"{name} is {what}: {wanted}.")
    if not len(X):
        raise ValueError(f"{name} is empty: {wanted}, at least one.")
    return list(X)


def _is_empty(member):
    try:
        return np.size(member) == 0 and not sp.issparse(member)
    except ValueError:  # ragged
        return False
