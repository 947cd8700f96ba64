"""Sparse samples and the centres nearest to them: the passes of Lloyd's algorithm on CSR."""

from collections.abc import Iterator

import numpy as np

from mlcore._ext import sparse_partition as _ext
from mlcore.cluster.frame import Frame
from mlcore.cluster.lloyd import squared_moves
from mlcore.threads import effective_threads

_LONGEST_CALL = 2**28  # multiplications: some tenths of a second, within which Ctrl-C is heard
_RECOUNT = 4  # more than one in so many labels changed: sums are formed anew
_STRIP = 512  # features that are turned together
_EPS = float(np.finfo(np.float64).eps)


class SparseRows:
    """CSR samples in a frame, for the compiled loops.

    Attributes
    ----------
    norms : (n,) float64
        Squared.
    """

    def __init__(self, X, frame: Frame):
        self.X = frame.place(X) if frame.power else X
        self.n, self.d = X.shape
        self.entries = self.X.indptr.astype(np.int64, copy=False), self.X.indices, self.X.data
        self.norms = np.empty(self.n)
        _ext.row_norms(self.entries[0], self.X.data, self.norms)

    def parts(self, n_centers: int) -> Iterator[tuple[int, int]]:
        """Yield first and last rows of parts that are compared with so many centres in a call."""
        per_row = self.X.nnz / self.n * n_centers + self.d / 64 + 1
        step = max(1, int(_LONGEST_CALL / per_row))
        for first in range(0, self.n, step):
            yield first, min(self.n, first + step)

    def squares(self, points) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield rows and their squared distances from dense points; 0 where but rounding."""
        columns, norms = as_columns(points)
        m, stride = len(points), columns.shape[1]
        threads = effective_threads(self.X.nnz * stride)
        for start, stop in self.parts(stride):
            for first in range(start, stop, 2**14):
                last = min(stop, first + 2**14)
                out = np.empty((last - first, stride))
                _ext.squares(
                    *self.entries, first, last, columns, norms, self.norms, 64 * _EPS, out, threads
                )
                yield slice(first, last), out[:, :m]


class SparsePartition:
    """As `Partition`, of CSR samples: all centres are searched, or none where a bound tells.

    A bound on how much nearer the own centre is than any other is kept of each sample; it gives
    way as centres move (Hamerly, SDM 2010).
    """

    def __init__(self, X, weights, frame: Frame, n_clusters: int, max_iter: int):
        self._rows = SparseRows(X, frame)
        self.weights, self.frame = weights, frame
        self.labels = np.full(self._rows.n, -1, dtype=np.int32)
        self._k = n_clusters
        self._gaps = np.empty(self._rows.n if max_iter > 1 else 0)
        self._sums, self._centers = np.zeros((n_clusters, self._rows.d)), None
        self._columns = np.zeros((self._rows.d, -(-n_clusters // _ext.PAD) * _ext.PAD))
        self._reach = float(np.sqrt(self._rows.norms.max()))

    def assign(self, centers) -> int:
        """Give each sample the label of its nearest centre, and return how many labels changed."""
        columns, norms = as_columns(centers, self._columns)
        stride = columns.shape[1]
        half_norms = np.full(stride, np.inf)
        half_norms[: self._k] = norms[: self._k] / 2
        filtered = self._centers is not None and len(self._gaps) > 0
        if filtered:
            self._passed[: self._k] += _passed(self._centers, centers)
        else:
            self._passed = np.zeros(stride)
        self._centers = centers
        slack = 2 * (self._rows.d + 4) * _EPS * (self._reach + np.sqrt(norms.max())) ** 2
        before = self.labels.copy()
        threads = effective_threads(self._rows.X.nnz * stride)
        scratch = np.empty((threads, stride))
        for first, last in self._rows.parts(stride):
            _ext.assign(
                *self._rows.entries, first, last, columns, half_norms, self._rows.norms,
                self._passed, slack, filtered, self.labels, self._gaps, scratch, threads,
            )  # fmt: skip
        changed = int(np.count_nonzero(before != self.labels))
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
        self._counts = np.bincount(self.labels, weights, self._k).astype(np.float64)

    def totals(self):
        """Return the weighted sums (k, d) and the weights (k,) by label, both float64."""
        return self._sums, self._counts

    def distances(self, centers):
        """Yield rows, and the squares of their distances from the centres of their labels."""
        norms = np.einsum("jd,jd->j", centers, centers, dtype=np.float64)
        centers = centers.astype(self._rows.X.dtype, copy=False)
        for first, last in self._rows.parts(8):
            out = np.empty(last - first)
            _ext.own_squares(*self._rows.entries, first, last, centers, norms, self.labels, out)
            yield slice(first, last), out

    def row(self, i):
        """Return sample `i` in the frame, as float64."""
        return self._rows.X[[i]].toarray()[0].astype(np.float64)


def as_columns(points, columns=None):
    """Return points as columns, padded with zeros, and their squared norms; both float64."""
    m, d = points.shape
    if columns is None:
        columns = np.zeros((d, -(-m // _ext.PAD) * _ext.PAD))
    for first in range(0, d, _STRIP):
        columns[first : first + _STRIP, :m] = points[:, first : first + _STRIP].T
    norms = np.zeros(columns.shape[1])
    norms[:m] = np.einsum("jd,jd->j", points, points, dtype=np.float64)
    return columns, norms


def _passed(before, now):
    """By how much each centre may be less nearer than all others, after a move."""
    moved = np.sqrt(squared_moves(before, now)) * (1 + 1e-6)
    farthest = np.argmax(moved)
    others = np.full(len(moved), moved[farthest])
    others[farthest] = np.delete(moved, farthest).max(initial=0)
    return moved + others
