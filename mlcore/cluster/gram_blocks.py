"""Rows of a Gram matrix within a bound of memory: kept where they fit, else computed again."""

from collections.abc import Iterator

import numpy as np

from mlcore.checks import require_memory
from mlcore.scratch import scratch_array

_CALL = 2e8  # values of one compiled call: a tenth of a second, then Ctrl-C
_PASSING = 32 << 20  # bytes of rows that are computed, used and forgotten together
_CHEAP = 32.0  # products per value: up to this, to compute it again beats new memory for it
_LINE = 8  # values; rows begin on a cache line


class GramBlocks:
    """Rows of the Gram matrix K of all samples: all of them kept, the first only, or none.

    Parameters
    ----------
    kernel : KernelRows
    cache_size : float
        Megabytes for what is kept.
    matrix : ndarray (n, n), optional
        K itself, where it is there already: symmetric, in C order.

    Attributes
    ----------
    n : int
    dtype : float32 or float64
        Of the values.
    diagonal : float64 (n,)
        As rounded in the rows.
    """

    def __init__(self, kernel, cache_size, matrix=None):
        self.n, self.dtype = kernel.n, kernel.dtype if matrix is None else matrix.dtype
        self.diagonal = kernel.diagonal.astype(self.dtype).astype(np.float64)
        self._kernel, self._kept, self._passing = kernel, matrix, None
        if matrix is not None:
            self._n_kept = self.n
            return
        row = self._stride * self.dtype.itemsize
        room = int(cache_size * 1e6 // row)
        self._at_once = max(1, min(self.n, _PASSING // row))
        some = max(0, room - self._at_once) if kernel.terms > _CHEAP else 0
        self._n_kept = self.n if room >= self.n else some
        require_memory(
            self._n_kept, self._stride, self.dtype.itemsize,
            what="the kept part of the Gram matrix", instead="lower cache_size",
        )  # fmt: skip
        self._kept = scratch_array((self._n_kept, self._stride), self.dtype)
        if self._n_kept == self.n:
            kernel.fill_all(self._kept)
        else:
            kept = np.arange(self._n_kept)
            for start in range(0, self._n_kept, self._at_once):
                part = kept[start : start + self._at_once]
                kernel.fill(part, self._kept, part)

    @property
    def _stride(self):
        return -(-self.n // _LINE) * _LINE

    def pieces(self, rows) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield all of `rows` (repeats allowed) as (array, part, slots).

        ``array[slots]`` are the rows ``rows[part]`` of K, in the first n columns; `part` ascends.
        """
        here = np.flatnonzero(rows < self._n_kept)
        step = max(1, int(_CALL // self.n))
        for start in range(0, len(here), step):
            part = here[start : start + step]
            yield self._kept, part, rows[part]
        if len(here) == len(rows):
            return
        missing = np.unique(rows[rows >= self._n_kept])
        if self._passing is None:
            self._passing = scratch_array((self._at_once, self._stride), self.dtype)
        for start in range(0, len(missing), self._at_once):
            now = missing[start : start + self._at_once]
            self._kernel.fill(now, self._passing, np.arange(len(now)))
            part = np.flatnonzero((rows >= now[0]) & (rows <= now[-1]))
            yield self._passing, part, np.searchsorted(now, rows[part])

    def rows(self, rows) -> np.ndarray:
        """Return these rows of K, float64 (len(rows), n)."""
        out = np.empty((len(rows), self.n))
        for array, part, slots in self.pieces(rows):
            out[part] = array[slots, : self.n]
        return out
