"""Origin and unit of samples, chosen so that squared distances keep their digits."""

from collections.abc import Iterator
from math import frexp
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp

from mlcore._ext.cluster.k_means import origin_and_unit as _ext
from mlcore.runtime.threads import (
    OPERATIONS_PER_CALL,
    effective_threads,
    items_per_call,
    single_threaded_blas,
)

_BLOCK = 2**21  # values of a block that is a copy
_FEW = 2**13  # values; one compiled pass gives their moments in a fifth of the time
_CHUNKS = 32  # sums that threads fill side by side
_NARROW = 32  # features: if there are fewer, several rows are added side by side
_PILOT = 256  # rows that decide whether the data lie far from 0
# The data are far where the squared norm of their mean exceeds their variance so many times:
# products then lose more than 3 of the 24 bits, 10 of the 53.
_FAR = {4: 2.0**6, 8: 2.0**20}
_SQUARES = 2.0**-40, 2.0**80  # in this range bounds in single precision lose no digits


class OriginAndUnit(NamedTuple):
    """Origin and unit: a sample x becomes ``(x - origin) 2^-power``, in blocks of rows on use.

    `incomplete` samples are dense and have NaN for missing values.
    """

    origin: np.ndarray | None = None
    power: int = 0
    incomplete: bool = False

    def place(self, X: Any) -> Any:
        """Return rows in these units; `X` itself if there is neither origin nor power."""
        if sp.issparse(X):
            X = X.astype(np.float64, copy=False)
            if self.power:
                parts = np.ldexp(X.data, -self.power), X.indices, X.indptr
                X = sp.csr_array(parts, shape=X.shape)
            return X
        if self.origin is not None:
            X = X - self.origin.astype(X.dtype)
        return np.ldexp(X, -self.power) if self.power else X

    def back(self, squares: Any) -> float | np.ndarray:
        """Return squared distances, or sums of them, in the unit of the data."""
        with np.errstate(all="ignore"):
            return np.ldexp(squares, 2 * self.power)

    def block_size(self, X: Any, work: float) -> int:
        """Return the number of rows of a block, if a row costs `work` multiplications."""
        n, d = X.shape
        size = items_per_call(max(work, d))
        if sp.issparse(X):
            size = min(size, _BLOCK / max(1, X.nnz / n))
        elif self.origin is not None or self.power:
            size = min(size, max(_BLOCK / d, 32))
        return max(1, min(n, int(size)))

    def blocks(self, X: Any, work: float) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield slices of rows, and the rows in units, if a row costs `work` multiplications."""
        n, size = X.shape[0], self.block_size(X, work)
        if size == n:
            yield slice(0, n), self.place(X)
            return
        for start in range(0, n, size):
            rows = slice(start, min(n, start + size))
            yield rows, self.place(X[rows])


class Moments(NamedTuple):
    """Sum of the weights, weighted sum of squared norms, mean variance of the features."""

    weight: float
    squares: float
    variance: float


def choose_units(
    X: Any, weights: Any, origin: Any = None, incomplete: bool = False
) -> tuple[OriginAndUnit, Moments]:
    """Return units for `X`, and its moments in them; `weights` are empty for ones.

    Moments of `incomplete` samples are of their known values.
    """
    if incomplete:
        units = OriginAndUnit(_origin_of_known(X), incomplete=True)
        return _in_range(X, weights, units, _moments_of_known)
    if origin is None and not sp.issparse(X) and X.size <= _FEW:
        moments = _moments_in_own_units(X, weights)
        if moments is not None:
            return OriginAndUnit(), moments
    units = OriginAndUnit(far_origin(X) if origin is None else origin)
    return _in_range(X, weights, units, _moments)


def _in_range(X, weights, units, moments_of):
    """Return units whose squares are in range, and the moments in them."""
    moments = moments_of(X, weights, units)
    low, high = _SQUARES
    squares = moments.squares / moments.weight
    if not low * X.shape[1] <= squares <= high / X.shape[0]:
        power = frexp(_largest(X, units))[1]
        if power:
            units = units._replace(power=power)
            moments = moments_of(X, weights, units)
    return units, moments


def _moments_in_own_units(X, weights):
    """Return the moments of few samples that need neither origin nor power; None for others."""
    n, d = X.shape
    step = max(1, n // _PILOT)
    rows = min(_PILOT, -(-n // step))
    center, variance, weight, squares, mean = _ext.moments(X, weights, step, rows)
    low, high = _SQUARES
    mean_square = squares / weight
    if center <= _FAR[X.dtype.itemsize] * variance and low * d <= mean_square <= high / n:
        return Moments(weight, squares, max(0.0, mean_square - mean) / d)
    return None


def shared_units(
    X: Any, offsets: np.ndarray, origin: np.ndarray | None, incomplete: bool = False
) -> OriginAndUnit:
    """Return units for distances from rows of `X` to ``origin + offsets``."""
    units = OriginAndUnit(origin, incomplete=incomplete)
    largest = max(_largest(X, units), float(np.abs(offsets).max()))
    low, high = _SQUARES
    return units if low <= largest**2 <= high else units._replace(power=frexp(largest)[1])


def far_origin(X: Any, far: float | None = None) -> np.ndarray | None:
    """Return the mean of some rows, in the type of `X`, if the data lie far from 0; else None.

    They do where the squared norm of the mean exceeds the variance `far` times, `_FAR` by default.
    """
    if sp.issparse(X):
        return None
    pilot = X[:: max(1, len(X) // _PILOT)][:_PILOT].astype(np.float64)
    power = frexp(np.abs(pilot).max())[1]
    pilot = np.ldexp(pilot, -power)
    mean = pilot.mean(axis=0)
    variance = ((pilot - mean) ** 2).sum(axis=1).mean()
    far = _FAR[X.dtype.itemsize] if far is None else far
    if mean @ mean <= far * variance or not mean.any():
        return None
    return np.ldexp(mean, power).astype(X.dtype)


def _in_cache(X):
    """Return work for `OriginAndUnit.blocks` such that blocks fit the cache."""
    return OPERATIONS_PER_CALL / max(256, 2**16 // X.shape[1])


def _largest(X, units):
    most, least = (np.fmax, np.fmin) if units.incomplete else (np.maximum, np.minimum)
    blocks = (rows.data if sp.issparse(rows) else rows for _, rows in units.blocks(X, _in_cache(X)))
    return max(
        float(max(most.reduce(x, None, initial=0), -least.reduce(x, None, initial=0)))
        for x in blocks
    )


def _moments(X, weights, units):
    if sp.issparse(X):
        return _sparse_moments(X, weights, units)
    n, d = X.shape
    side_by_side = 1 if len(weights) else max(1, _NARROW // d)
    sums = np.zeros((_CHUNKS, 2, side_by_side * d))
    threads = effective_threads(4 * X.size)
    for rows, block in units.blocks(X, d):
        w = weights[rows] if len(weights) else weights
        _ext.add_powers(block, w, sums, threads)
    weight = float(weights.sum()) if len(weights) else float(n)
    with np.errstate(over="ignore", invalid="ignore"):
        first, second = sums.reshape(_CHUNKS, 2, side_by_side, d).sum(axis=(0, 2))
        return _moments_of_sums(weight, first, float(second.sum()))


def _sparse_moments(X, weights, units):
    sums, squares = np.zeros(X.shape[1]), 0.0
    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
        for rows, block in units.blocks(X, X.shape[1]):
            w = weights[rows] if len(weights) else np.ones(block.shape[0])
            sums += block.T @ w
            of_entries = np.repeat(w, np.diff(block.indptr)) if len(weights) else 1.0
            squares += float(np.dot(of_entries * block.data, block.data))
        weight = float(weights.sum()) if len(weights) else float(X.shape[0])
        return _moments_of_sums(weight, sums, squares)


def _origin_of_known(X):
    """Return the origin of samples with NaN: that of some of them, the gaps filled by means."""
    pilot = X[:: max(1, len(X) // _PILOT)]
    known = ~np.isnan(pilot)
    power = frexp(float(np.fmax.reduce(np.abs(pilot), None, initial=0)))[1]
    values = np.ldexp(np.where(known, pilot, 0), -power)
    means = values.sum(axis=0, dtype=np.float64) / np.maximum(known.sum(axis=0), 1)
    return far_origin(np.ldexp(np.where(known, values, means), power).astype(X.dtype))


def sums_of_known(X: Any, weights: Any, units: OriginAndUnit) -> tuple[np.ndarray, ...]:
    """Return weights, weighted sums and sums of squares of the known values of features, (d,)."""
    d = X.shape[1]
    mass, sums = np.zeros(d), np.zeros((_CHUNKS, 2, d))
    threads = effective_threads(4 * X.size)
    with np.errstate(over="ignore", invalid="ignore"):
        for rows, block in units.blocks(X, _in_cache(X)):
            w, known = weights[rows] if len(weights) else weights, block == block
            mass += w @ known if len(weights) else known.sum(axis=0)
            _ext.add_powers(np.where(known, block, 0), w, sums, threads)
    return mass, *sums.sum(axis=0)


def _moments_of_known(X, weights, units):
    mass, first, second = sums_of_known(X, weights, units)
    weight = float(weights.sum()) if len(weights) else float(len(X))
    with np.errstate(over="ignore", invalid="ignore"):
        variances = np.maximum(0, second - first**2 / np.maximum(mass, 1e-300))
        variance = float((variances / np.maximum(mass, 1e-300)).mean())
        return Moments(weight, float(second.sum()), variance)


def _moments_of_sums(weight, sums, squares):
    mean = sums / weight
    variance = max(0.0, squares / weight - float(mean @ mean)) / len(mean)
    return Moments(weight, squares, variance)
