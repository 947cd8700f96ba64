"""Samples and the centres nearest to them: the passes of Lloyd's algorithm, dense and sparse.

Both kinds take rows in a frame and centres there, and keep `labels`. `assign` searches; `totals`
gives the sums of the samples and of their weights by label.
"""

import numpy as np
from scipy import sparse as sp

from mlcore._ext import k_means as _ext
from mlcore.cluster.frame import Frame
from mlcore.threads import effective_threads, single_threaded_blas

_CHUNKS = 32  # sums that threads fill side by side
_CHUNK_ROWS = 1024  # at least: those that ask for the same centres are searched together
_SUMS = 2**22  # values of all of them
_BOUNDS_BYTES = 2**27  # of the bounds, or a quarter of the data where that is more
_CACHED_CENTERS = 4096  # bytes


class Partition:
    """Dense samples: every centre is searched at first, then what bounds do not rule out.

    Parameters
    ----------
    X : (n, d) array
    weights : (n,) float64
        Empty for ones.
    frame : Frame
    n_clusters : int
    max_iter : int
        The passes to expect at most: bounds pay after some.
    """

    def __init__(self, X, weights, frame: Frame, n_clusters: int, max_iter: int):
        n, d = X.shape
        self.X, self.weights, self.frame = X, weights, frame
        self.labels = np.full(n, -1, dtype=np.int32)
        rows = frame.block_size(X, n_clusters * d)
        n_chunks = max(1, min(_CHUNKS, _SUMS // (n_clusters * d), rows // _CHUNK_ROWS))
        self._sums = np.zeros((n_chunks, n_clusters, d))
        self._counts = np.zeros((n_chunks, n_clusters))
        self._bounds = None
        self._begin_below = _share_to_begin_bounds(X, n_clusters, max_iter)
        self._share = 1.0

    def assign(self, centers) -> int:
        """Give each sample the label of its nearest centre, and return how many labels changed."""
        k, d = centers.shape
        if self._bounds is None and self._share <= self._begin_below:
            self._bounds = Bounds(self.X, self.frame, k)
        changed = np.zeros(len(self._counts), dtype=np.int64)
        threads = effective_threads(len(self.X) * k * d)
        if self._bounds is not None:
            self._bounds.move(centers)
            search = self._bounds.search
        else:
            search = PlainSearch(centers, threads)
        for rows, block in self.frame.blocks(self.X, k * d):
            search(
                rows,
                block,
                self.weights[rows] if len(self.weights) else self.weights,
                self.labels[rows],
                self._sums,
                self._counts,
                changed,
                threads,
            )
        if self._bounds is not None:
            self._bounds.first = False
        n_changed = int(changed.sum())
        self._share = n_changed / len(self.X)
        return n_changed

    def totals(self):
        """Return the weighted sums (k, d) and the weights (k,) by label, both float64."""
        counts = self._counts.sum(axis=0)
        if len(self.weights) and ((counts != 0) & (counts < 1e-9 * counts.sum())).any():
            self._recount()  # what is left of a difference of larger sums
            counts = self._counts[0].copy()
        return self._sums.sum(axis=0), counts

    def _recount(self):
        k = self._counts.shape[1]
        self._sums[...], self._counts[...] = 0, 0
        for rows, block in self.frame.blocks(self.X, 2**13 + 64 * self.X.shape[1]):
            members = _membership(self.labels[rows], self.weights[rows], k)
            self._sums[0] += members @ block
            self._counts[0] += members.sum(axis=1)

    def distances(self, centers):
        """Yield rows, and the squares of their distances from the centres of their labels."""
        threads = effective_threads(self.X.size)
        for rows, block in self.frame.blocks(self.X, 2**14 + self.X.shape[1]):
            out = np.empty(len(block))
            _ext.own_distances(block, centers, self.labels[rows], out, threads)
            yield rows, out

    def row(self, i):
        """Return sample `i` in the frame, as float64."""
        return self.frame.place(self.X[i : i + 1])[0].astype(np.float64)


class PlainSearch:
    """The nearest of all centres."""

    def __init__(self, centers, n_threads):
        k, d = centers.shape
        padded = -(-k // 4) * 4
        self._centers = np.zeros((padded, d), dtype=centers.dtype)
        self._centers[:k] = centers
        self._half_norms = np.full(padded, np.inf, dtype=centers.dtype)
        self._half_norms[:k] = 0.5 * np.square(centers, dtype=np.float64).sum(axis=1)
        self._scratch = panels(n_threads, d, centers.dtype)

    def __call__(self, rows, block, weights, labels, sums, counts, changed, n_threads):
        _ext.assign_plainly(
            block,
            weights,
            self._centers,
            self._half_norms,
            labels,
            sums,
            counts,
            changed,
            self._scratch,
            n_threads,
        )


class Bounds:
    """Bounds on the distances of samples, as the centres move; see `_ext.k_means`."""

    def __init__(self, X, frame, n_clusters):
        n, d = X.shape
        self.first = True
        self._norms = np.empty(n, dtype=X.dtype)
        for rows, block in frame.blocks(X, 2**14 + d):
            np.einsum("id,id->i", block, block, out=self._norms[rows])
        self._reach = float(np.sqrt(self._norms.max()))
        n_groups = _n_groups(n_clusters, X.dtype)
        stride = -(-n_groups // 4) * 4
        self._upper, self._lower = (np.empty(n, dtype=np.float32) for _ in range(2))
        self._lowers = np.empty((n, stride if n_groups > 1 else 1), dtype=np.float32)
        self._lowers[:, n_groups:] = np.inf
        self._centers = None
        self._away, self._near = np.zeros(n_clusters), np.zeros(n_clusters)
        self._drift = np.zeros(stride)

    def move(self, centers):
        """Take note of where the centres are now."""
        wide = centers.astype(np.float64)
        k, d = centers.shape
        norms = np.square(wide).sum(axis=1)
        apart = np.zeros(k)
        if self._centers is None:
            self._group(wide, centers.dtype)
        else:
            drift = np.sqrt(np.square(wide - self._centers).sum(axis=1)) * (1 + 1e-9)
            self._away += drift
            farthest = np.argmax(drift)
            others = np.full(k, drift[farthest])
            others[farthest] = np.delete(drift, farthest).max()
            self._near += others
            moved = np.where(self._fill, drift[self._places], 0).max(axis=1)
            self._drift[: len(moved)] += moved
            with single_threaded_blas():
                squares = norms[:, None] + norms - 2 * (wide @ wide.T)
            np.fill_diagonal(squares, np.inf)
            squares = squares.min(axis=1) - 1e-12 * norms.max()
            apart = np.sqrt(np.maximum(0, squares)) / 2
        self._centers, self._moved = wide, centers
        groups = np.where(self._fill[:, :, None], centers[self._places], centers.dtype.type(0))
        self._groups = np.ascontiguousarray(groups.transpose(0, 2, 1))
        halves = np.where(self._fill, 0.5 * norms[self._places], np.inf)
        self._half_norms = halves.astype(centers.dtype)
        reach = self._reach + np.sqrt(norms.max())
        self._slack = (d + 4) * float(np.finfo(centers.dtype).eps) * reach**2
        self._floats = *map(_above, (self._away, self._near, self._drift)), _below(apart)

    def search(self, rows, block, weights, labels, sums, counts, changed, n_threads):
        """Search what the bounds leave open."""
        shape = n_threads, _ext.BATCH, self._places.size
        _ext.assign(
            block,
            self._norms[rows],
            weights,
            self._moved,
            self._groups,
            self._half_norms,
            self._places,
            self._home,
            *self._floats,
            self._slack,
            self.first,
            labels,
            self._upper[rows],
            self._lower[rows],
            self._lowers[rows],
            sums,
            counts,
            changed,
            np.empty(shape, dtype=block.dtype),
            n_threads,
        )

    def _group(self, centers, dtype):
        width = _ext.GROUP[dtype.itemsize]
        groups = list(_near_together(centers, np.arange(len(centers)), width))
        self._places = np.zeros((len(groups), width), dtype=f"i{dtype.itemsize}")
        self._fill = np.zeros((len(groups), width), dtype=bool)
        self._home = np.empty(len(centers), dtype=np.int32)
        for g, members in enumerate(groups):
            self._places[g, : len(members)] = members
            self._fill[g, : len(members)] = True
            self._home[members] = g


class SparsePartition:
    """CSR samples: products with the centres, in float64."""

    def __init__(self, X, weights, frame: Frame, n_clusters: int, max_iter: int):
        self.X, self.weights, self.frame = X, weights, frame
        self.labels = np.full(X.shape[0], -1, dtype=np.int32)
        self._k = n_clusters

    def assign(self, centers) -> int:
        """Give each sample the label of its nearest centre, and return how many labels changed."""
        columns = np.ascontiguousarray(centers.T, dtype=np.float64)
        half_norms = 0.5 * np.square(columns).sum(axis=0)
        self._sums, self._counts = np.zeros(centers.shape), np.zeros(len(centers))
        changed = 0
        for rows, block in self._blocks():
            labels = np.argmin(half_norms - block @ columns, axis=1).astype(np.int32)
            changed += int(np.count_nonzero(labels != self.labels[rows]))
            self.labels[rows] = labels
            weights = self.weights[rows] if len(self.weights) else np.ones(len(labels))
            members = _membership(labels, weights, self._k)
            self._sums += (members @ block).toarray()
            self._counts += members.sum(axis=1)
        return changed

    def totals(self):
        """Return the weighted sums (k, d) and the weights (k,) by label, both float64."""
        return self._sums, self._counts

    def distances(self, centers):
        """Yield rows, and the squares of their distances from the centres of their labels."""
        wide = centers.astype(np.float64)
        norms = np.square(wide).sum(axis=1)
        for rows, block in self._blocks():
            labels = self.labels[rows]
            at = np.repeat(np.arange(len(labels)), np.diff(block.indptr))
            center = wide[labels[at], block.indices]
            change = np.bincount(at, block.data * (block.data - 2 * center), len(labels))
            yield rows, np.maximum(0, norms[labels] + change)

    def row(self, i):
        """Return sample `i` in the frame, as float64."""
        return self.frame.place(self.X[i : i + 1]).toarray()[0]

    def _blocks(self):
        per_row = self.X.nnz / self.X.shape[0]
        return self.frame.blocks(self.X, self._k * (2**10 + 2 * per_row))


def partition_of(X, *others):
    """Return the partition for `X`, dense or sparse."""
    return (SparsePartition if sp.issparse(X) else Partition)(X, *others)


def nearest_labels(X, frame: Frame, centers) -> np.ndarray:
    """Return the label of the nearest centre for each row of `X`, without any sums."""
    if sp.issparse(X):
        partition = SparsePartition(X, np.empty(0), frame, len(centers), 1)
        partition.assign(centers)
        return partition.labels
    k, d = centers.shape
    threads = effective_threads(X.size * k)
    labels = np.full(len(X), -1, dtype=np.int32)
    search = PlainSearch(centers, threads)
    no_sums = np.empty((_CHUNKS, 0, d)), np.empty((_CHUNKS, 0)), np.zeros(_CHUNKS, dtype=np.int64)
    for rows, block in frame.blocks(X, k * d):
        search(rows, block, np.empty(0), labels[rows], *no_sums, threads)
    return labels


def panels(n_threads, n_features, dtype):
    """Return scratch of the compiled loops: a panel of samples for each thread."""
    return np.empty((n_threads, n_features * _ext.PANEL_WIDTH[dtype.itemsize]), dtype=dtype)


def _share_to_begin_bounds(X, n_clusters, max_iter):
    """The share of labels that change in a pass at which bounds begin to pay; -1 is never."""
    n, d = X.shape
    n_groups = _n_groups(n_clusters, X.dtype)
    bounds_bytes = n * (X.dtype.itemsize + 8 + 4 * (-(-n_groups // 4) * 4))
    if n_clusters == 1 or n_groups > _ext.MOST_GROUPS:
        return -1
    if bounds_bytes > max(_BOUNDS_BYTES, X.nbytes // 4):
        return -1
    if n_clusters * d * X.dtype.itemsize <= _CACHED_CENTERS:
        return -1 if max_iter <= 20 else 0.004
    return 0.015 if d <= 32 else 1


def _n_groups(n_clusters, dtype):
    return -(-n_clusters // _ext.GROUP[dtype.itemsize])


def _near_together(centers, members, size):
    """Yield groups of `size` centres: halves along the widest direction, again and again."""
    if len(members) <= size:
        yield np.sort(members)
        return
    spread = centers[members] - centers[members].mean(axis=0)
    direction = spread.T @ (spread @ np.ones(spread.shape[1]) + 1e-3)
    for _ in range(10):  # of the power method
        direction = spread.T @ (spread @ direction)
        direction /= np.linalg.norm(direction) + 1e-300
    order = members[np.argsort(spread @ direction, kind="stable")]
    half = -(-len(members) // (2 * size)) * size
    yield from _near_together(centers, order[:half], size)
    yield from _near_together(centers, order[half:], size)


def _membership(labels, weights, n_clusters):
    """The (k, n) matrix whose product with the samples is their weighted sums by label."""
    shape = n_clusters, len(labels)
    return sp.csc_array((weights, labels, np.arange(len(labels) + 1)), shape=shape)


def _above(x):
    return np.nextafter(x.astype(np.float32), np.float32(np.inf)) * np.float32(1 + 1e-6)


def _below(x):
    return x.astype(np.float32) * np.float32(1 - 1e-6)
