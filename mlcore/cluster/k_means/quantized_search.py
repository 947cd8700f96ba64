"""Nearest of many centres, searched in 8-bit integers and proven in double precision.

See `_ext.quantized_search`. A pass compares a sample with the centres that moved, or with all.
"""

from typing import Any

import numpy as np

from mlcore._ext.cluster.k_means import quantized_search as _ext

CODED_AT_ONCE = 4  # products of codes in the time of one in single precision
# With fewer, other searches take at most the time (AVX-512): centres, and these times features,
# where choosing the least counts as five; samples, as centres are coded first.
_LEAST_CENTERS, _LEAST_VALUES, _LEAST_SAMPLES = 513, 2**14, 4096
_CHOICE = 5
_LEAST_OF_ONE_PASS = 2**17  # values of centres: without bounds from the pass before
_MOST_FEATURES = 2**14  # more: sums of codes may overflow
_PILOT = 256  # samples that tell how many candidates codes leave
_MOST_CANDIDATES = 0.05  # as a share of the centres: with more, codes do not pay
_NOT_SURE = 1 + 1e-6  # more than the rounding of a norm
_CHUNK = 2**20  # values coded at once


class QuantizedSearch:
    """Search of many centres for samples (n, d) whose labels may change.

    `move` must precede `search`, which visits every sample once.
    """

    tally: np.ndarray

    def __init__(self, n_samples: int, n_chunks: int) -> None:
        self.tally = np.zeros((n_chunks, 3), dtype=np.int64)
        self._upper, self._lower = (np.zeros(n_samples, dtype=np.float32) for _ in range(2))
        self._centers: Any = None

    def move(self, centers: np.ndarray, n_threads: int) -> None:
        """Set the centres, and choose which movements bounds follow."""
        self.tally[...] = 0
        k, d = centers.shape
        wide = centers.astype(np.float64)
        self._first = self._centers is None
        self._less, moved, self._still = 0.0, np.empty(0, dtype=np.int64), np.zeros(k, np.uint8)
        if not self._first:
            shifts = np.sqrt(np.square(wide - self._centers.astype(np.float64)).sum(axis=1))
            self._still = (shifts == 0).astype(np.uint8)
            self._less = self._followed(shifts * _NOT_SURE)
            moved = np.flatnonzero(shifts * _NOT_SURE > self._less)
        self._centers = centers.copy()
        self._origin = wide.mean(axis=0)
        self._step = max(float(np.abs(wide - self._origin).max()) / 127, np.finfo(np.float64).tiny)
        self._all, self._error = _coded(wide, np.arange(k), self._origin, self._step)
        self._moved, _ = _coded(wide, moved, self._origin, self._step)
        self._scratch = np.empty((n_threads, _ext.BATCH * 4 * -(-d // 4)), dtype=np.int8)

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
        """Search for samples whose bounds do not rule out another label."""
        _ext.assign(
            block, weights, self._centers, self._origin, self._step, self._error, self._all,
            self._moved, self._still, self._less, self._first, labels, self._upper[rows],
            self._lower[rows], sums, counts, self.tally, self._scratch, n_threads,
        )  # fmt: skip

    def pays(self) -> bool:
        """Return True if codes left few candidates in the last pass."""
        most = _MOST_CANDIDATES * len(self._centers) * len(self._upper)
        return bool(self.tally[:, 1].sum() <= most)

    def _followed(self, shifts):
        """Return the movement up to which bounds are lowered rather than centres compared.

        The least of the share of centres that move more, and the share of the bounds' mean gap
        that is lost.
        """
        gap = float(np.maximum(self._lower - self._upper, 0).mean(dtype=np.float64))
        ordered = np.r_[0.0, np.sort(shifts)]
        costs = np.arange(len(shifts), -1, -1) / len(shifts) + ordered / max(gap, 1e-300)
        least = int(np.argmin(costs))
        # A bound that is lost costs a search of all centres.
        return float(np.nextafter(np.float32(ordered[least]), np.float32(np.inf))) if least else 0.0


def codes_suit(X: np.ndarray, units: Any, centers: np.ndarray, *, several_passes: bool) -> bool:
    """Return True if the processor has the instructions, and codes leave few candidates."""
    k, d = centers.shape
    if k < _LEAST_CENTERS or k * (d + _CHOICE) < _LEAST_VALUES or len(X) < _LEAST_SAMPLES:
        return False
    if (
        d > _MOST_FEATURES
        or (not several_passes and k * d < _LEAST_OF_ONE_PASS)
        or not _ext.available()
    ):
        return False
    pilot = np.ascontiguousarray(units.place(X[:: max(1, len(X) // _PILOT)][:_PILOT]))
    search = QuantizedSearch(len(pilot), 1)
    search.move(centers, 1)
    none = np.empty((1, 0, d)), np.empty((1, 0))
    labels = np.full(len(pilot), -1, dtype=np.int32)
    search.search(slice(None), pilot, np.empty(0), labels, *none, 1)
    return search.pays()


def _coded(centers, members, origin, step):
    """Return codes, half squared norms and indices of `members`, in tiles, and the rounding."""
    d, n_tiles = centers.shape[1], -(-len(members) // _ext.TILE)
    quads = -(-d // 4)
    codes = np.empty((n_tiles, quads, _ext.TILE), dtype=np.uint32)  # four in each
    halves = np.full((n_tiles, _ext.TILE), 2**30, dtype=np.int32)
    places = np.full((n_tiles, _ext.TILE), -1, dtype=np.int32)
    places.reshape(-1)[: len(members)] = members
    error, tiles = 0.0, max(1, _CHUNK // (_ext.TILE * d))
    for first in range(0, n_tiles, tiles):
        some = members[first * _ext.TILE : (first + tiles) * _ext.TILE]
        offsets = (centers[some] - origin) / step
        rounded = np.clip(np.rint(offsets), -127, 127)
        error = max(error, float(np.square(offsets - rounded).sum(axis=1).max()))
        norms = np.square(rounded).sum(axis=1) // 2
        halves[first : first + tiles].reshape(-1)[: len(some)] = norms
        padded = np.zeros((min(tiles, n_tiles - first) * _ext.TILE, 4 * quads), dtype=np.uint8)
        padded[: len(some), :d] = rounded + 128
        fours = padded.view(np.uint32).reshape(-1, _ext.TILE, quads)
        codes[first : first + tiles] = fours.transpose(0, 2, 1)
    codes = codes.view(np.uint8).reshape(n_tiles, quads, _ext.TILE, 4)
    return (codes, halves, places), np.sqrt(error) * _NOT_SURE + 1e-9
