"""Samples that are not vectors, such as strings, as a kernel encodes them."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np


class EncodedSamples(ABC):
    """A list of samples, checked and encoded, of which models take parts by their rows.

    Sample i lies between `offsets` i and i + 1; `chosen` are the samples of this part; `known` is
    computed of all, and shared. Files hold the dict of `__getstate__`, which `__setstate__` checks.
    """

    offsets: np.ndarray
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

    def lengths(self) -> np.ndarray:
        """Return the number of symbols or points of each sample, int64 (n,)."""
        return np.diff(self.offsets)[self.chosen]

    def of_all(self, name: Any, compute: Callable[[Self], Any]) -> Any:
        """Return ``compute(samples)`` of all samples of the list, kept by `name`."""
        if name not in self.known:
            whole = self[:0]
            whole.chosen = np.arange(len(self.offsets) - 1)
            self.known[name] = compute(whole)
        return self.known[name]

    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """Return where the symbols or points of this part stand, and offsets among them."""
        lengths = self.lengths()
        offsets = np.append(0, np.cumsum(lengths))
        first = np.repeat(self.offsets[self.chosen] - offsets[:-1], lengths)
        return first + np.arange(offsets[-1]), offsets

    def same(self, other: "EncodedSamples") -> bool:
        """Return True if both are parts of one list."""
        return self.known is other.known

    @abstractmethod
    def __getstate__(self) -> dict[str, Any]: ...

    @abstractmethod
    def __setstate__(self, state: dict[str, Any]) -> None: ...
