"""Full rows of a kernel matrix, kept by recent use within a bound of memory."""

import numpy as np

from mlcore._ext import row_store as _ext
from mlcore.scratch import scratch_array
from mlcore.threads import effective_threads

_PASSING = 16 << 20  # bytes of rows that pass through the cache together
LINE = 16  # values; rows and groups of slots are padded to whole vectors


def padded(count: int) -> int:
    """The next multiple of `LINE`."""
    return -(-count // LINE) * LINE


class RowStore:
    """Rows of K over all training samples, computed when first asked for.

    Parameters
    ----------
    kernel : KernelRows
    cache_size : float
        Megabytes for the rows, the square of a working set and the packed samples together.

    Attributes
    ----------
    whole : bool
        Whether row i of `rows` is row i of K, for every i.
    keeps : bool
        Whether rows are kept at all: those that cost little are computed again instead.
    square : int
        Side of the largest square of K that a solver may keep.
    """

    CHEAP = 32.0  # products per value: up to this, to compute it again is as quick as to fetch it
    LITTLE = 256 << 20  # bytes: up to this, all values that cost little are computed at once
    SMALL = 2048  # samples: up to this, one square of all is all that a solver asks for

    def __init__(self, kernel, cache_size):
        self.kernel = kernel
        n, size = kernel.n, kernel.dtype.itemsize
        budget = max(0.0, cache_size * 1e6 - kernel.nbytes)
        # The rest serves to pack the samples of a square, and a round's lists. With too few rows or
        # too small a square, every round would fetch everything again.
        self.capacity = int(min(n, max(64, 0.66 * budget // (padded(n) * size))))
        self.square = int(max(512, (0.25 * budget / size) ** 0.5))
        self.whole = False
        self.keeps = kernel.terms > self.CHEAP or kernel.linear
        self._rows = None
        self._slot = np.full(n, -1, dtype=np.int64)
        self._owner = np.full(self.capacity, -1, dtype=np.int64)
        self._used = np.zeros(self.capacity, dtype=np.int64)
        self._clock = 0

    @property
    def rows(self):
        """(capacity, n padded) array; memory is touched only where rows are stored."""
        if self._rows is None:
            n = self.kernel.n
            self._rows = scratch_array((self.capacity, padded(n)), self.kernel.dtype)
        return self._rows

    def complete(self, sharing=1):
        """Compute and hold all of K, if there is room and it pays for `sharing` problems on it."""
        n = self.kernel.n
        little = not self.keeps and n * padded(n) * self.kernel.dtype.itemsize <= self.LITTLE
        if self.whole or self.capacity < n or not (sharing > 2 or n <= self.SMALL or little):
            return
        self.kernel.fill_all(self.rows)
        self._slot[:] = self._owner[:] = np.arange(n)
        self.whole = True

    def held(self, samples):
        """The slot of each sample's row, -1 where it is not held."""
        return self._slot[samples]

    def fetch(self, samples):
        """Slots of the samples' rows (at most `capacity` of them), computed where missing."""
        if self.whole:
            return samples
        self._clock += 1
        slots = self._slot[samples]
        self._used[slots[slots >= 0]] = self._clock
        missing = samples[slots < 0]
        if len(missing):
            order = np.argsort(self._used, kind="stable")[: len(missing)]
            gone = self._owner[order]
            self._slot[gone[gone >= 0]] = -1
            self._owner[order] = -1
            self._used[order] = 0
            self.kernel.fill(missing, self.rows, order)  # if interrupted, the slots hold nothing
            self._owner[order] = missing
            self._used[order] = self._clock
            self._slot[missing] = order
            slots = self._slot[samples]
        return slots

    def add_product(self, samples, weights, out, spans):
        """out += sum_s weights[s] K[s] over the given spans of samples."""
        step = self.capacity
        if not (self.keeps or self.whole):  # rows pass through a part that stays in cache
            step = min(step, max(64, _PASSING // (self.rows.shape[1] * self.rows.itemsize)))
        for start in range(0, len(samples), step):
            part = slice(start, start + step)
            if self.keeps or self.whole:
                slots = self.fetch(samples[part])
            else:
                slots = np.arange(len(samples[part]))
                self.kernel.fill(samples[part], self.rows, slots)
            for first, last in spans:
                threads = effective_threads(len(slots) * (last - first))
                _ext.accumulate(slots, weights[part], self.rows, out, first, last, threads)
