"""Assignment of samples with missing values, NaN, by distances over the values that are known."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse as sp

from mlcore._ext.cluster.k_means import incomplete_assignment as _ext
from mlcore.cluster.k_means.nearest_center import center_movements
from mlcore.cluster.k_means.origin_and_unit import OriginAndUnit
from mlcore.numerics.seeds.greedy_seeds import first_least
from mlcore.runtime.threads import effective_threads

_CHUNKS = 32  # sums that threads fill side by side
_CHUNK_ROWS = 1024
_SUMS = 2**22  # values of all chunks


class IncompleteAssignment:
    """Assignment of samples with NaN: all centres are searched, or none where a bound rules it out.

    The gap of a sample bounds how much nearer its centre is than any other; it shrinks as centres
    move (Hamerly, SDM 2010). `weights`, float64 (n,), are empty for ones; `summed` is False if only
    labels are wanted.
    """

    weights: np.ndarray
    labels: np.ndarray
    units: OriginAndUnit

    def __init__(
        self,
        X: np.ndarray,
        weights: np.ndarray,
        units: OriginAndUnit,
        n_clusters: int,
        max_iter: int,
        summed: bool = True,
    ) -> None:
        n, d = X.shape
        self.X, self.weights, self.units = X, weights, units
        self.labels = np.full(n, -1, dtype=np.int32)
        self._gaps = np.empty(n if max_iter > 1 else 0, dtype=np.float32)
        self._work = 2 * n_clusters * d + 64
        rows = units.block_size(X, self._work)
        n_chunks = max(1, min(_CHUNKS, _SUMS // (2 * n_clusters * d), rows // _CHUNK_ROWS))
        shape = n_chunks, n_clusters, d if summed else 0
        self._sums, self._known = np.zeros(shape), np.zeros(shape)
        self._mass = np.zeros(shape[:2])
        # Relative rounding of a distance, on the side of another search.
        self._error = 3 * (d + 8) * float(np.finfo(X.dtype).eps)
        self._movement, self._before = np.zeros(n_clusters), None

    def assign(self, centers: np.ndarray) -> int:
        """Give each sample the label of its nearest centre, and return how many labels changed."""
        wide = centers.astype(np.float64)
        if self._before is not None:
            own, others = center_movements(self._before, wide)
            self._movement += (own + others) * (1 + 2 * self._error)
        self._before = wide
        columns, threads = as_columns(centers), effective_threads(self.X.size * len(centers))
        scratch = _scratch(threads, self.X)
        changed = np.zeros(len(self._sums), dtype=np.int64)
        for rows, block in self.units.blocks(self.X, self._work):
            _ext.assign(
                block,
                self.weights[rows] if len(self.weights) else self.weights,
                columns,
                self._movement,
                self._error,
                self.labels[rows],
                self._gaps[rows] if len(self._gaps) else self._gaps,
                self._sums,
                self._known,
                self._mass,
                changed,
                *scratch,
                threads,
            )
        return int(changed.sum())

    def totals(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the weighted sums (k, d) of known values and the weights (k,) by label."""
        mass, known = self._mass.sum(axis=0), self.known()
        if len(self.weights) and ((known != 0) & (known < 1e-9 * mass.sum())).any():
            self._recount()  # so small a difference of sums has lost its digits
            mass = self._mass[0].copy()
        return self._sums.sum(axis=0), mass

    def known(self) -> np.ndarray:
        """Return the weights (k, d) of the samples that know each feature, by label."""
        return self._known.sum(axis=0)

    def _recount(self):
        for sums in (self._sums, self._known, self._mass):
            sums[...] = 0
        for rows, block in self.units.blocks(self.X, 2**13 + 64 * self.X.shape[1]):
            known = ~np.isnan(block)
            labels, w = self.labels[rows], self.weights[rows] * known.any(axis=1)
            shape = self._mass.shape[1], len(block)
            members = sp.csc_array((w, labels, np.arange(len(block) + 1)), shape=shape)
            self._sums[0] += members @ np.where(known, block, 0)
            self._known[0] += members @ known.astype(np.float64)
            self._mass[0] += np.bincount(labels, w, len(self._mass[0]))

    def distances(self, centers: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield slices of rows and squared distances from the centres of their labels."""
        threads = effective_threads(self.X.size)
        for rows, block in self.units.blocks(self.X, 2**14 + self.X.shape[1]):
            out = np.empty(len(block))
            _ext.own_distances(block, centers, self.labels[rows], out, threads)
            yield rows, out

    def row(self, i: Any) -> np.ndarray:
        """Return sample `i` in the units, as float64."""
        return self.units.place(self.X[i : i + 1])[0].astype(np.float64)


class IncompleteDistances:
    """Squared distances of samples with NaN from the nearest seeds, as `Costs`.

    A seed is a row whose missing values are those of `fill` (d,).
    """

    def __init__(
        self, X: np.ndarray, weights: np.ndarray, units: OriginAndUnit, fill: np.ndarray
    ) -> None:
        self._X, self._weights, self._units, self._fill = X, weights, units, fill
        self.nearest = np.full(len(X), np.inf, dtype=X.dtype)

    def add_best(self, candidates: np.ndarray) -> int:
        """Make the candidate that leaves the least objective a seed, and return it."""
        if len(candidates) > 1:
            candidates = candidates[[first_least(self._lower(candidates, take=False))]]
        self._lower(candidates, take=True)
        return int(candidates[0])

    def _lower(self, candidates, *, take):
        points = filled(self._units.place(self._X[candidates]), self._fill)
        columns, objectives = as_columns(points), np.zeros((_CHUNKS, len(candidates)))
        threads = effective_threads(self._X.size * len(candidates))
        scratch = _scratch(threads, self._X)
        for rows, block in self._units.blocks(self._X, 2 * self._X.shape[1] * len(candidates) + 64):
            weights = self._weights[rows] if len(self._weights) else self._weights
            _ext.lower_to_candidates(
                block, weights, columns, len(candidates), take, self.nearest[rows], objectives,
                *scratch, threads,
            )  # fmt: skip
        return objectives.sum(axis=0)


def squared_distances(X: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Return the squared distances (n, k) of rows with NaN from centres, all in float64."""
    threads = effective_threads(X.size * len(centers))
    out = np.empty((len(X), len(centers)))
    _ext.distances(X, as_columns(centers), *_scratch(threads, X), out, threads)
    return out


def filled(X: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return rows with these values (d,) of features for NaN."""
    return np.where(np.isnan(X), values.astype(X.dtype), X)


def as_columns(centers: np.ndarray) -> np.ndarray:
    """Return centres (k, d) as columns, infinite from the last one on, and a row of zeros."""
    k, d = centers.shape
    columns = np.full((d + 1, -(-k // _ext.LANES) * _ext.LANES), np.inf, dtype=centers.dtype)
    columns[:d, :k], columns[d] = centers.T, 0
    return columns


def _scratch(threads, X):
    shape = threads, X.shape[1] + 4
    return np.zeros(shape, dtype=X.dtype), np.zeros(shape, dtype=np.int64)
