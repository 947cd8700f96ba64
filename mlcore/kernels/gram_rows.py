"""Rows of a Gram matrix: computed from a kernel and its samples, kept in bounded memory."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse

from mlcore._ext.kernels import gram_rows as _ext
from mlcore.checks.errors import warn
from mlcore.kernels.packed import Packed
from mlcore.runtime.memory import require_memory
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, items_per_call

_PSD_SAMPLE = 64
_VALUES = 1_000_000  # kernel values of rows that are made symmetric together
LINE = 16  # values; rows and groups of slots are padded to whole vectors


class KernelRows:
    """Kernel values between the n training samples X, rows or encoded, in blocks of rows.

    Values are float32 unless `double` or out of range. `linear`: K b is ``X (X'b)``; `halves`: K is
    symmetric, `fill_all` half the work; `selects`: there is `of_samples`. A value costs `terms`
    products (infinite: unknown); `nbytes` are beside the samples; `distance` is of their origin.
    """

    kernel: Any
    n: Any
    dtype: np.dtype

    linear = halves = selects = False
    terms: float = np.inf
    nbytes = 0
    distance: float = 0.0
    diagonal: np.ndarray

    def __init__(self, kernel: Any, X: Any, size: float, double: bool) -> None:
        self.kernel, self.n, self.samples = kernel, X.shape[0], X
        single = not double and (size == 0 or 1e-30 < size < 1e30)
        self.dtype = np.dtype(np.float32 if single else np.float64)

    @cached_property
    def rounding(self) -> float:
        """Approximate size of the rounding errors in the values."""
        return float(np.finfo(self.dtype).eps) / 2 * float(np.abs(self.diagonal).max())

    def fill(
        self, rows: np.ndarray, out: np.ndarray, dest: np.ndarray, columns: np.ndarray | None = None
    ) -> None:
        """out[dest[r], :m] = k(x of rows[r], x of columns[c]); all n columns by default."""
        raise NotImplementedError

    def fill_all(self, out: np.ndarray, chosen: np.ndarray | None = None) -> None:
        """out[:m, :m] = K between the m chosen samples, all by default."""
        everything = np.arange(self.n) if chosen is None else chosen
        self.fill(everything, out, np.arange(len(everything)), chosen)

    def gram(self) -> np.ndarray:
        """Return the Gram matrix, float64 (n, n), C order, symmetric; a given one is not copied."""
        K = scratch_array((self.n, self.n), np.float64)
        self.fill_all(K)
        return K

    def are_equal(self) -> bool:
        """Return True if all samples are the same; objects are if their kernel values are."""
        X = self.samples
        if sparse.issparse(X):
            return not (X - X[np.zeros(self.n, np.intp)]).count_nonzero()
        return not isinstance(X, np.ndarray) or X.dtype.kind == "O" or bool((X == X[:1]).all())

    def of_samples(self, chosen: np.ndarray) -> "KernelRows":
        """Return the kernel values between some of the samples, of the same type."""
        return type(self)(self.kernel, self.samples[chosen], self.dtype == np.float64)

    def block(self, rows: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """Return K[rows][:, columns] as a new array."""
        m = self.n if columns is None else len(columns)
        out = np.empty((len(rows), m), dtype=self.dtype)
        self.fill(rows, out, np.arange(len(rows)), columns)
        return out

    def warn_if_indefinite(
        self, so: str = "the solution is a stationary point, and its duality gap no bound"
    ) -> None:
        """Warn of a kernel that is not positive semi-definite on some of the samples.

        `so` states the consequence. Kernels known to be positive semi-definite are not tested.
        """
        if self.kernel.positive_semidefinite:
            return
        sample = np.unique(np.linspace(0, self.n - 1, _PSD_SAMPLE).astype(np.intp))
        K = np.asarray(self.block(sample, sample), dtype=np.float64)
        slack = np.sqrt(np.finfo(self.dtype).eps) * np.abs(K).max()
        name = self.kernel.name
        if np.abs(K - K.T).max() > slack:
            warn("UserWarning", f"kernel {name!r} is not symmetric: k(x, y) differs from k(y, x).")
        elif np.linalg.eigvalsh(K)[0] < -slack:
            warn(
                "UserWarning",
                f"kernel {name!r} is not positive semi-definite on these samples: {so}.",
            )


class PackedRows(KernelRows):
    """Rows for a kernel of vectors, from samples packed for it."""

    linear: Any
    d: int
    diagonal: np.ndarray
    halves: bool
    nbytes: int
    terms: float

    selects = True

    def __init__(self, kernel: Any, X: np.ndarray | sparse.csr_array, double: bool) -> None:
        super().__init__(kernel, X, kernel.largest(X), double)
        self.d = X.shape[1]
        self._packed = Packed(X, kernel, dtype=self.dtype)
        self.diagonal = self._packed.diagonal
        self.linear = kernel.linear
        layout = self._packed.layout
        self.halves, self.nbytes = layout.halves, layout.nbytes
        self.terms = layout.terms_per_value

    @cached_property
    def rounding(self) -> float:
        return float(np.finfo(self.dtype).eps) / 2 * self._packed.condition

    def fill(
        self, rows: np.ndarray, out: np.ndarray, dest: np.ndarray, columns: np.ndarray | None = None
    ) -> None:
        if len(rows) == 0:
            return
        rows = np.ascontiguousarray(rows, dtype=np.int64)
        dest = np.ascontiguousarray(dest, dtype=np.int64)
        self._packed.block(rows, self._packed.columns(columns), out, dest)
        if columns is None:
            out[dest, rows] = self.diagonal[rows]

    def fill_all(self, out: np.ndarray, chosen: np.ndarray | None = None) -> None:
        self._packed.symmetric(out, chosen)

    def add_weights(self, samples: np.ndarray, weights: np.ndarray, w: np.ndarray) -> None:
        """w += sum_s weights[s] x_s, float64 (d,); for the linear kernel."""
        self._packed.layout.combine(samples, weights, w)

    def expand(self, w: np.ndarray, out: np.ndarray) -> None:
        """out = X w, float64 (n,); for the linear kernel."""
        self._packed.layout.project(w, out)


class MatrixRows(KernelRows):
    """Rows of a matrix of kernel values."""

    diagonal: np.ndarray

    def __init__(self, kernel: Any, K: np.ndarray, double: bool) -> None:
        super().__init__(kernel, K, max(K.max(), -K.min()), double)
        self.matrix = K
        self.diagonal = kernel.diagonal(K)

    def gram(self) -> Any:
        return self.matrix

    def are_equal(self) -> Any:
        return True  # as far as their kernel values tell

    def fill(self, rows: Any, out: Any, dest: Any, columns: Any = None) -> None:
        m = self.n if columns is None else len(columns)
        chosen = slice(None) if columns is None else columns
        for r, to in zip(rows, dest, strict=True):
            out[to, :m] = self.matrix[r, chosen]


class CalledRows(KernelRows):
    """Rows for a kernel that is called with blocks of samples."""

    halves: Any
    diagonal: np.ndarray

    selects = True

    def gram(self) -> Any:
        """Return the Gram matrix, which is symmetric up to rounding before."""
        K = super().gram()
        step = max(1, _VALUES // self.n)
        for start in range(0, self.n, step):
            stop = start + step
            K[start:stop, :stop] += K[:stop, start:stop].T
            K[start:stop, :stop] *= 0.5
            K[:stop, start:stop] = K[start:stop, :stop].T
        return K

    _VALUES = 4_000_000  # of one call: bounds what a user's function returns

    def __init__(self, kernel: Any, X: Any, double: bool) -> None:
        self.diagonal = kernel.diagonal(X)
        super().__init__(kernel, X, np.abs(self.diagonal).max(), double)
        self.halves = kernel.halves

    def fill(self, rows: Any, out: Any, dest: Any, columns: Any = None) -> None:
        X = self.samples if columns is None else self.samples[columns]
        m = X.shape[0]
        step = max(1, self._VALUES // max(1, m))
        for start in range(0, len(rows), step):
            batch = slice(start, start + step)
            out[dest[batch], :m] = self.kernel.values(self.samples[rows[batch]], X)

    def fill_all(self, out: Any, chosen: Any = None) -> None:
        if self.halves:
            X = self.samples if chosen is None else self.samples[chosen]
            out[: X.shape[0], : X.shape[0]] = self.kernel.values(X, X)
        else:
            super().fill_all(out, chosen)


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

    At most `capacity` rows are kept, none without `keeps`; `whole`: row i of `rows` is that of K.
    """

    n: Any
    capacity: int
    dtype: np.dtype
    whole: bool
    keeps: bool
    kernel: KernelRows

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

        ``array[slots]`` has the rows ``wanted[batch]`` of K, `batch` ascending, in n columns.
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
