"""Sums over rows under a mixture of Gaussians: moments, densities and responsibilities.

Rows pass through the compiled loop in pieces, so that a signal never waits for long.
"""

import math
from functools import partial
from typing import Any

import numpy as np

from mlcore._ext.mixture import gaussian as _ext
from mlcore.mixture.gaussian.covariances import FULL
from mlcore.mixture.gaussian.families.covariance_type import CovarianceType
from mlcore.mixture.gaussian.parameters import Parameters, Statistics
from mlcore.runtime.memory import require_memory
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, items_per_call

_PART_VALUES = 1 << 21  # of the moments of all parts together
_N_PARTS = 16
_DIRECTION_VALUES = 1 << 20  # of the table of directions from component to component
_DIRECTION_WORK = 1 << 17  # operations, n k d d, below which that table costs more than it saves
_FAR = 6.0  # deviations from mean to mean: 2^-64 is 9.4 of them from the mean, and rows scatter
# float32 is used while a whitened coordinate is wrong by at most this many of its roundings: 6e-5.
_MOST_ROUNDINGS = 1e3
_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
_LOG_2_PI = math.log(2 * math.pi)


class Rows:
    """The rows of one call, with the likeliest component of each by the last pass.

    `X` (n, d) is in C order; `weight` float64 or None for ones; `origin` (d,) is subtracted first.
    """

    weight: np.ndarray | None
    origin: np.ndarray
    total: float

    def __init__(
        self, X: np.ndarray, weight: np.ndarray | None, family: CovarianceType, origin: np.ndarray
    ) -> None:
        self.X, self.weight, self.origin = X, weight, origin
        self.total = float(len(X) if weight is None else weight.sum())
        self._family, self._layout_id = family, _ext.KINDS[family.layout]
        self._labels = np.zeros(len(X), np.int32)
        self.merged = False  # whether equal rows were merged to one of their weight
        self._scatter = None
        self._scratch = {}
        self._k = 0  # components that the pieces are for

    def _cut(self, k):
        """Set what all passes over k components share: pieces of rows and their threads."""
        (n, d), family, self._k = self.X.shape, self._family, k
        work, self._shape = family.operations(k, d), family.shape(k, d)
        step = max(64, items_per_call(work))
        if step >= _ext.ROWS:
            step = step // _ext.ROWS * _ext.ROWS
        pieces = [slice(lo, min(n, lo + step)) for lo in range(0, n, step)]
        self._pieces = [(own, effective_threads((own.stop - own.start) * work)) for own in pieces]
        # Whether `_directions` saves more than it costs, in time and memory.
        small = family.layout == "full" and k * k * (d + 1) <= _DIRECTION_VALUES
        self._directed = small and 16 * k <= n and n * work >= _DIRECTION_WORK

    def statistics(
        self, parameters: Parameters, *, exact: bool = False, centres: np.ndarray | None = None
    ) -> Statistics:
        """Return the Statistics about `centres` or else the means; float64 if `exact` or needed."""
        dtype = _DOUBLE if exact or not self.in_single(parameters) else _SINGLE
        k, d = parameters.means.shape
        size = _ext.n_moments(self._layout_id, k, d)
        parts = min(_N_PARTS, max(1, _PART_VALUES // size), -(-len(self.X) // _ext.ROWS))
        moments = np.zeros((parts, size))
        about = parameters.means if centres is None else centres
        base = self.origin.astype(np.float64) if d <= _ext.FEW else 0.0
        centres = (about - base).astype(dtype)
        layout = self._layout(parameters, dtype)
        for piece, threads in self._pieces:
            self._call(piece, threads, layout, centres, moments, dtype)
        total = moments[0]
        for part in moments[1:]:
            total += part
        mass, first = total[1 : 1 + k], total[1 + k : 1 + k + k * d].reshape(k, d)
        second = self._family.second_moments(total[1 + k + k * d :], k, d, self)
        sums = Statistics(float(total[0]), mass, first, second)
        if dtype == np.float64:
            return sums
        shift = np.asarray(centres + base, np.float64) - about
        return self._family.moved(sums, shift)

    def densities(self, parameters: Parameters, *, with_proba: bool = False) -> tuple[Any, ...]:
        """Return log p(x_i), the likeliest components and, if asked for, the responsibilities."""
        n, k, out = len(self.X), len(parameters.weights), self.X.dtype
        if with_proba:
            require_memory(
                n, k, out.itemsize, what="the probabilities", instead="pass fewer rows at a time"
            )
        density, proba = np.empty(n, out), np.empty((n if with_proba else 0, k), out)
        dtype = _SINGLE if self.in_single(parameters) else _DOUBLE
        layout = self._layout(parameters, dtype)
        centres = parameters.means.astype(dtype)
        moments = np.empty((_N_PARTS, 0))
        for piece, threads in self._pieces:
            rows = piece.stop - piece.start
            own, shares = np.empty(rows, dtype), np.empty((rows if with_proba else 0, k), dtype)
            self._call(piece, threads, layout, centres, moments, dtype, own, shares)
            density[piece] = np.maximum(own, np.finfo(out).min)
            if with_proba:
                proba[piece] = shares
        return density, self._labels.astype(np.intp), proba

    def in_single(self, parameters: Parameters) -> bool:
        """Return whether float32 is exact enough for these rows under these parameters."""
        return self.X.dtype != np.float64 and _holds_in_single(
            self._family, parameters, self.origin
        )

    def _layout(self, parameters, dtype):
        """Arguments of the compiled loop: constants, means, factors, rotation, directions."""
        weights, means, _, factors = parameters
        k, d = len(weights), self.X.shape[1]
        if k != self._k:
            self._cut(k)
        if means.shape != (k, d) or factors.shape != self._shape:
            raise ValueError(
                f"means_ of shape {means.shape} and precisions_cholesky_ of shape {factors.shape} "
                f"are no {self._family.name} mixture of {k} components and {d} features."
            )
        origin = self.origin.astype(np.float64)
        with np.errstate(divide="ignore"):
            constants = np.log(weights) - 0.5 * d * _LOG_2_PI
        constants += self._family.log_determinants(factors, d)
        means, factors, rotation = self._family.packed(means - origin, factors)
        directions = _directions(means, factors) if self._directed else np.empty(0)
        arrays = (means, factors.ravel(), rotation, directions.ravel())
        contiguous = partial(np.ascontiguousarray, dtype=dtype)
        return constants / math.log(2), *map(contiguous, arrays)

    def _call(self, piece, threads, layout, centres, moments, dtype, density=None, proba=None):
        constants, means, factors, rotation, directions = layout
        k, d = means.shape
        if dtype not in self._scratch:
            size = _ext.scratch_size(self._layout_id, k, d, dtype.itemsize)
            require_memory(
                threads, size, dtype.itemsize, what="work memory", instead="use fewer features"
            )
            self._scratch[dtype] = scratch_array((threads, size), dtype)
        scratch = self._scratch[dtype]
        weight = np.empty(0) if self.weight is None else self.weight[piece]
        _ext.em_step(
            self._layout_id,
            self.X[piece].astype(dtype, copy=False),
            weight.astype(dtype, copy=False),
            constants,
            means,
            factors,
            centres,
            self.origin.astype(dtype, copy=False),
            rotation,
            directions,
            self._labels[piece],
            moments,
            np.empty(0, dtype) if density is None else density,
            np.empty((0, k), dtype) if proba is None else proba,
            scratch,
            min(threads, len(scratch)),
        )

    def scatter_about_origin(self) -> np.ndarray:
        """Return the sums of products of x - origin, which no step of EM changes."""
        if self._scatter is None:
            origin, unit = self.origin.astype(np.float64), np.eye(self.X.shape[1])
            one = Parameters(np.ones(1), origin[None], unit[None], unit[None])
            rows = Rows(self.X, self.weight, FULL, self.origin)
            self._scatter = rows.statistics(one, exact=True).second[0]
        return self._scatter


def _holds_in_single(family, parameters, origin):
    """Return True if float32 is exact enough for rows near the origin."""
    if not family.in_single(parameters):
        return False
    return bool(family.coordinate_roundings(parameters, origin) <= _MOST_ROUNDINGS)


def rounding(
    family: CovarianceType,
    parameters: Parameters,
    origin: np.ndarray,
    log_likelihood: float,
    n: float,
) -> float:
    """Return a bound on the rounding error of the mean log-likelihood of n rows.

    `origin` (d,) is of the type of the rows; `log_likelihood` the mean, as it was computed.
    """
    d = len(origin)
    single = origin.dtype != np.float64 and _holds_in_single(family, parameters, origin)
    eps = np.finfo(np.float32 if single else np.float64).eps
    constants = np.abs(family.log_determinants(parameters.factors, d)).max()
    # A row's density is a constant and half the squares of its d coordinates; n rows are added.
    coordinates = d * (1 + family.coordinate_roundings(parameters, origin))
    size = abs(log_likelihood) + constants + coordinates
    sums = math.sqrt(n) * np.finfo(np.float64).eps * abs(log_likelihood)
    return float(16 * eps * size + sums + family.rounding_of_axes(parameters))


def _directions(means, factors):
    """Return unit vectors between components, by which the loop leaves out far components.

    At [i, j]: factors[j] times the direction of (means[i] - means[j]) factors[j], and at the end
    its product with means[j]. Empty if too few components are far from each other.
    """
    directions = np.matmul((means[:, None] - means[None]).swapaxes(0, 1), factors)
    length = np.sqrt(np.einsum("jid,jid->ji", directions, directions))
    if (length > _FAR).mean() < 0.05:
        return np.empty(0)
    usable = (length > 0) & (length < np.inf)  # elsewhere no direction, which leaves nothing out
    divisor = np.where(usable, length, 1.0)[:, :, None]
    directions = np.where(usable[:, :, None], directions, 0.0) / divisor
    directions = np.matmul(directions, factors.swapaxes(1, 2))
    places = np.matmul(directions, means[:, :, None])
    return np.concatenate([directions, places], axis=2).swapaxes(0, 1)
