"""Samples that are not vectors, such as strings, as a kernel encodes them."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np


class EncodedSamples(ABC):
    """A list of samples, checked and encoded, of which models take parts by their rows.

    Files hold what `__getstate__` returns, a dict of arrays and plain values; `__setstate__` checks
    it, as it may come from a damaged file.

    Attributes
    ----------
    chosen : int64 (n,)
        Of the list that was encoded, the samples of this part.
    known : dict
        What has been computed of all samples of that list, shared by its parts.
    """

    chosen: np.ndarray
    known: dict[Any, Any]

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.chosen), 1

    def __len__(self) -> int:
        return len(self.chosen)

    def __getitem__(self, rows: Any) -> Self:
        part = type(self).__new__(type(self))
        part.__dict__.update(vars(self), chosen=self.chosen[rows])
        return part

    def same(self, other: "EncodedSamples") -> bool:
        """Return True if both are parts of one list."""
        return self.known is other.known

    @abstractmethod
    def __getstate__(self) -> dict[str, Any]: ...

    @abstractmethod
    def __setstate__(self, state: dict[str, Any]) -> None: ...
