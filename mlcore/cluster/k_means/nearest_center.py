"""Nearest centre of each sample in the passes of Lloyd's algorithm.

Bounds rule out searches that change no label. `PlainSearch` compares a sample with all centres or
none; `Bounds` with some groups of centres.
"""

from typing import Any

import numpy as np

from mlcore._ext.cluster.k_means import nearest_center as _ext
from mlcore.cluster.k_means.small_assignment import half_norms, search_scratch
from mlcore.numerics.seeds.greedy_seeds import seed_scratch
from mlcore.runtime.threads import single_threaded_blas

_BOUNDS_BYTES = 2**27  # of all bounds at most, or a quarter of the data where that is more
# Values of all centres up to which comparing all of them is faster than keeping bounds.
_PLAIN_CENTERS = {4: 2**12, 8: 2**14}
_GAPS = 2**22  # distances between centres formed at once
_MIN_WORK = 2**22  # multiplications of a pass from which gaps and screening pay
_EPS = float(np.finfo(np.float64).eps)
_SINGLE_EPS = float(np.finfo(np.float32).eps)
_MACHINE_EPS = {np.dtype(np.float32): _SINGLE_EPS, np.dtype(np.float64): _EPS}


class PlainSearch:
    """Search of all centres, for samples (n, d) whose labels may change (lloyd_plain.c).

    With `several_passes`, gaps are kept from one pass to the next.
    """

    tally: np.ndarray

    def __init__(self, X: np.ndarray, n_clusters: int, n_chunks: int, several_passes: bool) -> None:
        self._n, d = X.shape
        small = X.size * n_clusters < _MIN_WORK
        self.tally = np.zeros((n_chunks, 3), dtype=np.int64)
        self._max_squares = np.zeros(n_chunks, dtype=np.float32)
        self._gaps = np.empty(self._n if several_passes and not small else 0, dtype=np.float32)
        self._width = 1 << (d - 1).bit_length() if d < 16 else d
        self._screened = X.dtype == np.float64 and not small
        self._previous, self._movement, self._max_norm = None, np.zeros(1), 0.0
        # Constant where there are neither gaps nor screens.
        self._filtered, self._origin = False, np.zeros(max(8, self._width))
        self._limits = self._movement_single = np.zeros(max(n_clusters, 32), dtype=np.float32)

    def move(self, centers: np.ndarray, n_threads: int) -> None:
        """Set the centres, and by how much their movements may have narrowed gaps."""
        # Lay out the centres in blocks of four.
        k, d = centers.shape
        wide = centers.astype(np.float64)
        norms = np.einsum("jd,jd->j", wide, wide)
        padded = -(-k // 4) * 4
        self._centers = np.zeros((padded, d), dtype=centers.dtype)
        self._centers[:k] = centers
        self._half_norms = np.full(padded, np.inf, dtype=centers.dtype)
        self._half_norms[:k] = half_norms(centers)
        # Screen while it leaves at most an eighth of the samples undecided.
        self._screened &= 8 * self.tally[:, 2].sum() <= self._n
        self.tally[...] = 0
        # Bound the rounding of inner products.
        error = 2 * (d + 9)
        self._errors = np.array([error * _MACHINE_EPS[centers.dtype], norms.max(), 0, 0])
        # Lanes without a sample are computed too: denormal numbers there took ten times as long.
        size = search_scratch(d, padded, centers.itemsize)
        self._scratch = np.zeros((n_threads, size), dtype=centers.dtype)
        if not len(self._gaps) and not self._screened:
            self._single = np.empty((0, d), dtype=np.float32), np.empty(0, dtype=np.float32)
            return
        # A gap shrinks by the movement of both centres, and by rounding.
        self._limits = np.zeros(max(k, 32), dtype=np.float32)
        self._filtered = self._previous is not None and len(self._gaps) > 0
        if self._filtered:
            own, others = center_movements(self._previous, wide)
            self._movement = self._movement + own + others
            longest = (1 + d * _SINGLE_EPS) * float(self._max_squares.max())
            self._max_norm = max(self._max_norm, np.sqrt(longest) + self._origin_norm)
            slack = _slack(centers, self._max_norm, norms)
            half_gaps = np.maximum(_half_gaps(wide, norms), 1e-300)
            limits = _above(self._movement) + np.minimum(np.sqrt(slack), slack / (2 * half_gaps))
            self._limits[:k] = _above(limits)
        # Keep what the next pass compares with.
        self._previous = wide
        self._movement_single = np.zeros(max(k, 32), dtype=np.float32)
        self._movement_single[:k] = _above(self._movement)
        self._origin, self._origin_norm = np.zeros(max(8, self._width)), 0.0
        self._single = np.empty((0, d), dtype=np.float32), np.empty(0, dtype=np.float32)
        if self._screened:
            self._screen(wide, padded, error * _SINGLE_EPS)

    def _screen(self, centers, padded, error):
        k, d = centers.shape
        origin = centers.mean(axis=0)
        self._origin_norm = float(np.linalg.norm(origin))
        repeated = np.tile(origin, 8 // d) if 8 % d == 0 else origin
        self._origin[: len(repeated)] = repeated
        offsets = centers - origin
        norms = np.square(offsets).sum(axis=1)
        singles = np.zeros((padded, d), dtype=np.float32)
        halves = np.full(padded, np.inf, dtype=np.float32)
        singles[:k], halves[:k] = offsets, 0.5 * norms
        # The terms added bound rounding in double precision and underflow in single.
        farthest = norms.max() + 12 * _EPS / _SINGLE_EPS * self._origin_norm**2 + 2.0**-100
        self._single = singles, halves
        self._errors[2:] = error, farthest

    def search(
        self,
        rows: slice,
        block: np.ndarray,
        weights: np.ndarray,
        labels: np.ndarray,
        sums: np.ndarray,
        counts: np.ndarray,
        n_threads: int,
    ) -> None:
        """Search for samples whose gap does not rule out another label."""
        _ext.assign_plainly(
            block,
            weights,
            self._centers,
            self._half_norms,
            *self._single,
            self._origin,
            self._errors,
            self._movement_single,
            self._limits,
            self._filtered,
            labels,
            self._gaps[rows] if len(self._gaps) else self._gaps,
            sums,
            counts,
            self.tally,
            self._max_squares,
            self._scratch,
            n_threads,
        )


class Bounds:
    """Bounds on distances of samples from moving centres; see `_ext.nearest_center`."""

    tally: np.ndarray

    def __init__(self, X: Any, units: Any, n_clusters: Any, n_chunks: Any) -> None:
        n, d = X.shape
        self.tally = np.zeros((n_chunks, 3), dtype=np.int64)
        self._norms = np.empty(n, dtype=X.dtype)
        for rows, block in units.blocks(X, 2**14 + d):
            np.einsum("id,id->i", block, block, out=self._norms[rows])
        self._max_norm = float(np.sqrt(self._norms.max()))
        n_groups = _n_groups(n_clusters, X.dtype)
        stride = -(-n_groups // 4) * 4
        self._upper, self._lower = (np.empty(n, dtype=np.float32) for _ in range(2))
        self._lowers = np.empty((n, stride if n_groups > 1 else 1), dtype=np.float32)
        self._lowers[:, n_groups:] = np.inf
        self._centers = None
        self._own_moved, self._others_moved = np.zeros(n_clusters), np.zeros(n_clusters)
        self._group_moved = np.zeros(stride)

    def move(self, centers: Any, n_threads: Any) -> None:
        """Set the centres, and add their movements since the last pass to the totals."""
        self.tally[...] = 0
        wide = centers.astype(np.float64)
        norms = np.square(wide).sum(axis=1)
        half_gaps = np.zeros(len(centers))
        self._first = self._centers is None
        if self._first:
            self._group(wide, centers.dtype)
        else:
            own, others = center_movements(self._centers, wide)
            self._own_moved += own
            self._others_moved += others
            in_group = np.where(self._fill, own[self._places], 0).max(axis=1)
            self._group_moved[: len(in_group)] += in_group
            half_gaps = _half_gaps(wide, norms)
        self._centers, self._moved = wide, centers
        groups = np.where(self._fill[:, :, None], centers[self._places], centers.dtype.type(0))
        self._groups = np.ascontiguousarray(groups.transpose(0, 2, 1))
        halves = np.where(self._fill, half_norms(centers)[self._places], np.inf)
        self._half_norms = halves.astype(centers.dtype)
        self._slack = _slack(centers, self._max_norm, norms)
        movements = self._own_moved, self._others_moved, self._group_moved
        self._floats = *map(_above, movements), _below(half_gaps)

    def search(
        self,
        rows: Any,
        block: Any,
        weights: Any,
        labels: Any,
        sums: Any,
        counts: Any,
        n_threads: Any,
    ) -> None:
        """Search for samples whose bounds do not rule out another label."""
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
            self._first,
            labels,
            self._upper[rows],
            self._lower[rows],
            self._lowers[rows],
            sums,
            counts,
            self.tally,
            np.empty(shape, dtype=block.dtype),
            n_threads,
        )

    def _group(self, centers, dtype):
        """Set the centre at each place of the groups, which places are filled, and each group."""
        width = _ext.GROUP[dtype.itemsize]
        groups = list(_groups_of_near(centers, np.arange(len(centers)), width))
        self._places = np.zeros((len(groups), width), dtype=f"i{dtype.itemsize}")
        self._fill = np.zeros((len(groups), width), dtype=bool)
        self._home = np.empty(len(centers), dtype=np.int32)
        for g, members in enumerate(groups):
            self._places[g, : len(members)] = members
            self._fill[g, : len(members)] = True
            self._home[members] = g


def own_distances(
    X: np.ndarray, centers: np.ndarray, labels: np.ndarray, n_threads: int
) -> np.ndarray:
    """Return squared distances from the centres of the labels, float64, from differences."""
    out = np.empty(len(X))
    _ext.own_distances(X, centers, labels, out, n_threads)
    return out


def lower_to_candidates(
    X: Any,
    candidates: Any,
    weights: Any,
    nearest: Any,
    objectives: Any,
    n_threads: Any,
    *,
    take: Any,
) -> None:
    """Add to `objectives` (n_chunks, n_candidates) those with each candidate as one more centre.

    With `take`, there is one candidate, and it lowers `nearest`, the squared distances, instead.
    """
    size = seed_scratch(X.shape[1], len(candidates), X.itemsize)
    scratch = np.empty((n_threads, size), dtype=X.dtype)
    _ext.lower_to_candidates(X, candidates, weights, nearest, objectives, scratch, take, n_threads)


def share_to_begin_bounds(X: np.ndarray, n_clusters: int) -> float:
    """Return the share of changed labels in a pass below which bounds pay; -1 for never."""
    n, d = X.shape
    n_groups = _n_groups(n_clusters, X.dtype)
    bounds_bytes = n * (X.dtype.itemsize + 8 + 4 * (-(-n_groups // 4) * 4))
    if n_clusters == 1 or n_groups > _ext.MOST_GROUPS:
        return -1
    if bounds_bytes > max(_BOUNDS_BYTES, X.nbytes // 4):
        return -1
    values = n_clusters * d / _PLAIN_CENTERS[X.dtype.itemsize]
    if values <= 1:
        return -1
    return 0.015 if values <= 4 and d <= 256 else 1


def _n_groups(n_clusters, dtype):
    return -(-n_clusters // _ext.GROUP[dtype.itemsize])


def _groups_of_near(centers, members, size):
    """Yield groups of `size` centres near each other, by halving along the widest direction."""
    if len(members) <= size:
        yield np.sort(members)
        return
    offsets = centers[members] - centers[members].mean(axis=0)
    direction = offsets.T @ (offsets @ np.ones(offsets.shape[1]) + 1e-3)
    for _ in range(10):  # power method
        direction = offsets.T @ (offsets @ direction)
        direction /= np.linalg.norm(direction) + 1e-300
    order = members[np.argsort(offsets @ direction, kind="stable")]
    half = -(-len(members) // (2 * size)) * size
    yield from _groups_of_near(centers, order[:half], size)
    yield from _groups_of_near(centers, order[half:], size)


def center_movements(before: np.ndarray, now: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how far each centre moved, and the largest movement of any other."""
    moved = np.sqrt(np.square(now - before).sum(axis=1)) * (1 + 1e-9)
    farthest = np.argmax(moved)
    others = np.full(len(moved), moved[farthest])
    others[farthest] = np.delete(moved, farthest).max(initial=0)
    return moved, others


def _half_gaps(centers, norms):
    """Return a lower bound on half the distance of each centre from the nearest other."""
    k = len(centers)
    nearest, step = np.empty(k), max(1, _GAPS // k)
    for first in range(0, k, step):
        part = slice(first, first + step)
        with single_threaded_blas():
            squares = norms[part, None] + norms - 2 * (centers[part] @ centers.T)
        np.fill_diagonal(squares[:, first:], np.inf)
        nearest[part] = squares.min(axis=1)
    return np.sqrt(np.maximum(0, nearest - 1e-12 * norms.max())) / 2


def _slack(centers, max_norm, norms):
    """Return a bound on rounding in differences of squared distances; `max_norm` of samples."""
    largest = max_norm + np.sqrt(norms.max())
    return (centers.shape[1] + 4) * float(np.finfo(centers.dtype).eps) * largest**2


def _above(x):
    """Return float32 values above x; `_below`, below."""
    return np.nextafter(x.astype(np.float32), np.float32(np.inf)) * np.float32(1 + 1e-6)


def _below(x):
    return x.astype(np.float32) * np.float32(1 - 1e-6)
