"""Assignment of sparse samples: the passes of Lloyd's algorithm on CSR rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mlcore._ext.cluster.k_means import sparse_assignment as _ext
from mlcore.cluster.k_means.origin_and_unit import OriginAndUnit
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, pieces

_RECOUNT = 4  # sums are formed anew where more than 1 label in so many changed
_EPS = float(np.finfo(np.float64).eps)


class SparseRows:
    """CSR samples in units, with squared norms, float64 (n,), for the compiled loops."""

    n: Any
    d: Any
    entries: tuple[Any, ...]
    norms: np.ndarray

    def __init__(self, X: Any, units: OriginAndUnit) -> None:
        self.X = units.place(X) if units.power else X
        self.n, self.d = X.shape
        self.entries = self.X.indptr.astype(np.int64, copy=False), self.X.indices, self.X.data
        self.norms = np.empty(self.n)
        _ext.row_norms(self.entries[0], self.X.data, self.norms)

    def parts(self, n_centers: int) -> Iterator[tuple[int, int]]:
        """Yield first and last rows of parts, each compared with so many centres in one call."""
        yield from pieces(self.n, 2 * self.X.nnz / self.n * n_centers + self.d / 32 + 2)

    def compare(self, rows: np.ndarray, columns: np.ndarray, costs: np.ndarray) -> None:
        """Set costs[1 + j] to the squared distances of samples from rows[j], or costs[0] if less.

        Distances within rounding become 0. `columns` is scratch, zeros before and after.
        """
        stride = columns.shape[1]
        threads = effective_threads(self.X.nnz * stride)
        products = scratch_array((threads, stride), np.float64)
        _ext.fill_columns(*self.entries, rows, True, columns)
        for first, last in self.parts(stride):
            _ext.compare(
                *self.entries, first, last, columns, rows, self.norms, 64 * _EPS, costs, products,
                threads,
            )  # fmt: skip
        _ext.fill_columns(*self.entries, rows, False, columns)


class SparseAssignment:
    """Assignment of CSR samples: all centres are searched, or none where a bound rules it out.

    The gap of a sample bounds how much nearer its centre is than any other; it shrinks as centres
    move (Hamerly, SDM 2010). `summed` is False if only labels are wanted.
    """

    weights: np.ndarray
    labels: np.ndarray
    units: OriginAndUnit

    def __init__(
        self,
        X: Any,
        weights: np.ndarray,
        units: OriginAndUnit,
        n_clusters: int,
        max_iter: int,
        summed: bool = True,
    ) -> None:
        self._rows = SparseRows(X, units)
        self.weights, self.units = weights, units
        self.labels = np.full(self._rows.n, -1, dtype=np.int32)
        self._k, self._dtype = n_clusters, X.dtype
        self._gaps = np.empty(self._rows.n if max_iter > 1 else 0)
        shape = self._rows.d, _ext.padded(n_clusters)
        self._columns = _zeros(shape, np.float64)
        self._singles = _zeros(shape, np.float32)
        self._sums = _zeros(shape if summed else (0, shape[1]), np.float64)
        self._mass, self._norms, self._movement = np.zeros((3, shape[1]))
        self._max_norm = float(np.sqrt(self._rows.norms.max()))
        self._center_rows = None  # centres as rows

    def assign(self, centers: np.ndarray) -> int:
        """Give each sample the label of its nearest centre, and return how many labels changed."""
        if self._center_rows is None or centers is not self._center_rows:
            self.place(centers)
        return self.search()

    def place(self, centers: np.ndarray) -> None:
        """Set the centres."""
        self._norms[...] = 0
        _ext.set_columns(centers, self._columns, self._singles, self._norms)
        self._center_rows, self._bounded = centers, False

    def search(self) -> int:
        """Give each sample the label of its nearest centre, and return how many labels changed."""
        rows, k, stride = self._rows, self._k, self._columns.shape[1]
        half_norms = np.full(-(-stride // _ext.LINE) * _ext.LINE, np.inf)
        half_norms[:k] = self._norms[:k] / 2
        longest = float(np.sqrt(self._norms.max()))
        slack = 2 * (rows.d + 4) * _EPS * (self._max_norm + longest) ** 2
        threads = effective_threads(rows.X.nnz * stride)
        products = scratch_array((threads, stride), np.float64)
        singles = scratch_array((threads, len(half_norms)), np.float32)
        if not self._bounded:
            self._movement[...] = 0
        before, changed = self.labels.copy(), 0
        for first, last in rows.parts(stride):
            changed += _ext.assign(
                *rows.entries, first, last, self._columns, self._singles, half_norms,
                half_norms.astype(np.float32), rows.norms, self._movement, longest, slack,
                self._bounded, self.labels, self._gaps, products, singles, threads,
            )  # fmt: skip
        self._bounded = len(self._gaps) > 0
        if len(self._sums):
            self._add(before, changed)
        return changed

    def _add(self, before, changed):
        if len(self.weights) or changed * _RECOUNT > len(before):
            self._sums[...] = 0
            before = np.full(len(before), -1, dtype=np.int32)
        for first, last in self._rows.parts(8):
            _ext.add_rows(
                *self._rows.entries, first, last, self.weights, before, self.labels, self._sums
            )
        weights = self.weights if len(self.weights) else None
        self._mass[: self._k] = np.bincount(self.labels, weights, self._k)

    def move(self) -> tuple[float, float]:
        """Move centres to the means of their samples, and return the sum of squared movements.

        Returned too: the objective before less the weighted sum of squared norms of the samples.
        """
        self._center_rows = None
        groups = -(-self._k // _ext.GROUP)
        threads = effective_threads(self._sums.size)
        return _ext.move(
            self._sums, self._mass, self._dtype == np.float32, self._columns, self._singles,
            self._norms, self._movement, np.empty((groups, 3, _ext.GROUP)), threads,
        )  # fmt: skip

    def centers(self) -> np.ndarray:
        """Return the centres as rows."""
        if self._center_rows is None:
            self._center_rows = self._columns[:, : self._k].T.astype(self._dtype, order="C")
        return self._center_rows

    def totals(self) -> tuple[Any, ...]:
        """Return the weighted sums (k, d) and the weights (k,) by label, both float64."""
        return self._sums[:, : self._k].T, self._mass[: self._k]

    def distances(self, centers: np.ndarray) -> Iterator[Any]:
        """Yield slices of rows and squared distances from the centres of their labels."""
        norms = np.einsum("jd,jd->j", centers, centers, dtype=np.float64)
        centers = centers.astype(self._rows.X.dtype, copy=False)
        for first, last in self._rows.parts(8):
            out = np.empty(last - first)
            _ext.own_squares(*self._rows.entries, first, last, centers, norms, self.labels, out)
            yield slice(first, last), out

    def row(self, i: Any) -> Any:
        """Return sample `i` in the units, as float64."""
        return self._rows.X[[i]].toarray()[0].astype(np.float64)


def _zeros(shape, dtype):
    """Return zeros aligned to a cache line, so that rows of columns span the fewest lines."""
    array = scratch_array(shape, dtype)
    array[...] = 0
    return array


def seed_columns(n_features: int, n_rows: int) -> np.ndarray:
    """Return the columns that `SparseRows.compare` needs for up to `n_rows` rows."""
    return _zeros((n_features, _ext.padded(n_rows)), np.float64)
