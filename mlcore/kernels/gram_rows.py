"""Rows of a Gram matrix in bounded memory: all kept, the last used kept, or recomputed."""

from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np

from mlcore._ext.kernels import gram_rows as _ext
from mlcore.kernels.kernel_rows import KernelRows
from mlcore.runtime.memory import require_memory
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, items_per_call

LINE = 16  # values; rows and groups of slots are padded to whole vectors


def padded(count: int) -> int:
    """Return the next multiple of `LINE`."""
    return -(-count // LINE) * LINE


def add_rows(
    slots: np.ndarray, weights: np.ndarray, rows: np.ndarray, out: np.ndarray, first: int, last: int
) -> None:
    """out[first:last] += sum_r weights[r] rows[slots[r], first:last], float64."""
    threads = effective_threads(len(slots) * (last - first))
    _ext.accumulate(slots, weights, rows, out, first, last, threads)


class GramRows:
    """Rows of the Gram matrix K of all samples, computed when first asked for.

    Parameters
    ----------
    kernel : KernelRows
    capacity : int
        Rows that are kept at most.
    matrix : ndarray (n, n), optional
        K itself, where it is there already: symmetric, in C order.

    Attributes
    ----------
    n : int
        Samples.
    dtype : float32 or float64
        Of the values.
    whole : bool
        True if row i of `rows` is row i of K, for every i.
    keeps : bool
        False if rows cost so little that they are computed again instead of kept.
    """

    CHEAP = 32.0  # products per value: up to this, to compute it again is as quick as to fetch it
    PASSING = 16 << 20  # bytes of rows that pass through the cache together

    def __init__(self, kernel: KernelRows, capacity: int, matrix: np.ndarray | None = None) -> None:
        n = kernel.n
        self.kernel, self.n, self.capacity = kernel, n, capacity
        self.dtype = kernel.dtype if matrix is None else matrix.dtype
        self.whole = matrix is not None
        self.keeps = kernel.terms > self.CHEAP or kernel.linear
        self._rows, self._passing = matrix, None
        self._slot = np.arange(n) if self.whole else np.full(n, -1, dtype=np.int64)
        self._owner = np.full(capacity, -1, dtype=np.int64)
        self._used = np.zeros(capacity, dtype=np.int64)
        self._clock = 0

    @classmethod
    def within(
        cls, kernel: KernelRows, cache_size: float, matrix: np.ndarray | None = None
    ) -> Self:
        """Return rows within `cache_size` MB for passes over all of K.

        All are computed now where they fit; else the first that do, if they cost much.
        """
        if matrix is not None:
            return cls(kernel, kernel.n, matrix)
        n, row = kernel.n, padded(kernel.n) * kernel.dtype.itemsize
        room = int(cache_size * 1e6 // row)
        kept = max(0, room - cls.PASSING // row) if kernel.terms > cls.CHEAP else 0
        cache = cls(kernel, n if room >= n else kept)
        require_memory(
            cache.capacity, row, 1, what="the kept part of the Gram matrix",
            instead="lower cache_size",
        )  # fmt: skip
        cache.compute_first()
        return cache

    @property
    def diagonal(self) -> np.ndarray:
        """k(x, x) as rounded in the rows, float64 (n,)."""
        return self.kernel.diagonal.astype(self.dtype).astype(np.float64)

    @property
    def rows(self) -> np.ndarray:
        """(capacity, n padded) array; memory is touched only where rows are stored."""
        if self._rows is None:
            self._rows = scratch_array((self.capacity, padded(self.n)), self.dtype)
        return self._rows

    def compute_first(self) -> None:
        """Compute and keep the first rows, as many as there is room for."""
        first = np.arange(self.capacity)
        self.whole = self.capacity == self.n
        if self.whole:
            self.kernel.fill_all(self.rows)
        else:
            for start in range(0, len(first), self._at_once):
                batch = first[start : start + self._at_once]
                self.kernel.fill(batch, self.rows, batch)
        self._slot[first] = self._owner[:] = first

    @property
    def _at_once(self):
        return max(1, min(self.n, self.PASSING // (padded(self.n) * self.dtype.itemsize)))

    def cached(self, samples: np.ndarray) -> np.ndarray:
        """Return the slot of each sample's row, -1 where it is not cached."""
        return self._slot[samples]

    def fetch(self, samples: np.ndarray) -> np.ndarray:
        """Return slots of the samples' rows (at most `capacity`), computed where missing."""
        if self.whole:
            return samples
        self._clock += 1
        slots = self._slot[samples]
        self._used[slots[slots >= 0]] = self._clock
        missing = samples[slots < 0]
        if len(missing):
            order = np.argsort(self._used, kind="stable")[: len(missing)]
            evicted = self._owner[order]
            self._slot[evicted[evicted >= 0]] = -1
            self._owner[order] = -1
            self._used[order] = 0
            self.kernel.fill(missing, self.rows, order)  # if interrupted, the slots hold nothing
            self._owner[order] = missing
            self._used[order] = self._clock
            self._slot[missing] = order
            slots = self._slot[samples]
        return slots

    def _forget(self, count):
        """Give up the rows in the first slots, whose memory others will pass through."""
        owners = self._owner[:count]
        self._slot[owners[owners >= 0]] = -1
        self._owner[:count], self._used[:count] = -1, 0

    def add_product(
        self,
        samples: np.ndarray,
        weights: np.ndarray,
        out: np.ndarray,
        spans: Sequence[tuple[int, int]],
        *,
        keep: bool = True,
    ) -> None:
        """out += sum_s weights[s] K[s] over the given spans of samples; rows are kept, or not."""
        step, keep = self.capacity, self.whole or (keep and self.keeps)
        if not keep:  # rows pass through a part that stays in cache
            step = min(step, max(64, self._at_once))
            self._forget(step)
        for start in range(0, len(samples), step):
            batch = slice(start, start + step)
            if keep:
                slots = self.fetch(samples[batch])
            else:
                slots = np.arange(len(samples[batch]))
                self.kernel.fill(samples[batch], self.rows, slots)
            for first, last in spans:
                add_rows(slots, weights[batch], self.rows, out, first, last)

    def pieces(self, wanted: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield all of the `wanted` rows (repeats allowed) as (array, batch, slots).

        ``array[slots]`` has the rows ``wanted[batch]`` of K in its first n columns; `batch`
        ascends. Rows that are not cached are computed and not kept.
        """
        slots = self._slot[wanted]
        here = np.flatnonzero(slots >= 0)
        step = items_per_call(3 * self.n)
        for start in range(0, len(here), step):
            batch = here[start : start + step]
            yield self.rows, batch, slots[batch]
        if len(here) == len(wanted):
            return
        missing = np.unique(wanted[slots < 0])
        if self._passing is None:
            self._passing = scratch_array((self._at_once, padded(self.n)), self.dtype)
        for start in range(0, len(missing), len(self._passing)):
            now = missing[start : start + len(self._passing)]
            self.kernel.fill(now, self._passing, np.arange(len(now)))
            batch = np.flatnonzero((slots < 0) & (wanted >= now[0]) & (wanted <= now[-1]))
            yield self._passing, batch, np.searchsorted(now, wanted[batch])

    def block(self, wanted: np.ndarray) -> np.ndarray:
        """Return these rows of K, float64 (len(wanted), n)."""
        out = np.empty((len(wanted), self.n))
        for array, batch, slots in self.pieces(wanted):
            out[batch] = array[slots, : self.n]
        return out
