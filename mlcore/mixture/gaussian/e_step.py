"""Sums over rows under a mixture of Gaussians: moments, densities and responsibilities.

Rows pass through the compiled loop in pieces, so that a signal never waits for long.
"""

import math
from typing import NamedTuple

import numpy as np

from mlcore._ext.mixture import gaussian as _ext
from mlcore.runtime.memory import require_memory
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, items_per_call

_PART_VALUES = 1 << 21  # of the moments of all parts together
_N_PARTS = 16
_DIRECTION_VALUES = 1 << 20  # of the table of directions from component to component
_DIRECTION_WORK = 1 << 17  # operations, n k d d, below which that table costs more than it saves
_FAR = 6.0  # deviations from mean to mean: 2^-64 is 9.4 of them from the mean, and rows scatter
# float32 is used while a whitened coordinate is wrong by at most this many of its roundings, the
# least eigenvalue of a covariance by the square of the second number: 6e-5 and 2e-4.
_MOST_ROUNDINGS, _MOST_STRETCH = 1e3, 64
_LOG_2_PI = math.log(2 * math.pi)


class Parameters(NamedTuple):
    """A mixture of Gaussians, all float64; `factors` are scikit-learn's precisions_cholesky_."""

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    factors: np.ndarray


class Statistics(NamedTuple):
    """Sums over rows with responsibilities r_ij, from which the M-step takes the next parameters.

    Parameters
    ----------
    log_likelihood : float
        Sum of w_i log p(x_i).
    mass : (n_components,)
        Sums of w_i r_ij.
    first : (n_components, n_features)
        Sums of w_i r_ij (x_i - m_j), about the means m_j of the parameters.
    second : (n_components, n_features, n_features) or (n_components, n_features)
        Of w_i r_ij times the products, or squares, of x_i - m_j. Tied: (n_features, n_features),
        sums of w_i times the products of x_i - origin.

    Examples
    --------
    >>> from mlcore.mixture import GaussianMixture
    >>> model = GaussianMixture().begin([[0.0], [2.0]])
    >>> model.partial_statistics([[0.0], [2.0]]).mass
    array([2.])
    """

    log_likelihood: float
    mass: np.ndarray
    first: np.ndarray
    second: np.ndarray


class Rows:
    """The rows of one call, with the likeliest component of each as the last pass found it.

    Parameters
    ----------
    X : (n_samples, n_features) float32 or float64, C order
    weight : (n_samples,) float64, or None: all 1
    kind : str
        The covariance type.
    origin : (n_features,), of the type of X
        Near the data, subtracted first of all.
    """

    def __init__(self, X, weight, kind, origin):
        self.X, self.weight, self.origin = X, weight, origin
        self.total = float(len(X) if weight is None else weight.sum())
        self._kind, self._id = kind, _ext.KINDS[kind]
        self._labels = np.zeros(len(X), np.int32)
        self.merged = False  # whether equal rows were merged to one of their weight
        self._scatter = None
        self._scratch = {}

    def statistics(self, parameters: Parameters, *, exact: bool = False, centres=None):
        """Return the Statistics, about `centres` or else the means.

        They are computed in the type of the rows where that is good enough, with `exact` in
        float64.
        """
        dtype = self._dtype(parameters, exact)
        k, d = parameters.means.shape
        size = _ext.n_moments(self._id, k, d)
        parts = min(_N_PARTS, max(1, _PART_VALUES // size), -(-len(self.X) // _ext.ROWS))
        moments = np.zeros((parts, size))
        about = parameters.means if centres is None else centres
        base = self.origin.astype(np.float64) if d <= _ext.FEW else 0.0
        centres = (about - base).astype(dtype)
        layout = self._layout(parameters, dtype)
        for piece in self._pieces(k):
            self._call(piece, layout, centres, moments, dtype)
        total = moments[0]
        for part in moments[1:]:
            total += part
        mass, first = total[1 : 1 + k], total[1 + k : 1 + k + k * d].reshape(k, d)
        second = total[1 + k + k * d :]
        if self._kind == "full":
            upper, place = second.reshape(k, d, d), np.arange(d)
            second = np.where(place[:, None] <= place, upper, upper.transpose(0, 2, 1))
        elif self._kind == "tied":
            second = self._scatter_about_origin()
        else:
            second = second.reshape(k, d)
        found = Statistics(float(total[0]), mass, first, second)
        return found if dtype == np.float64 else moved(found, self._kind, centres + base, about)

    def densities(self, parameters: Parameters, *, with_proba: bool = False):
        """Return log p(x_i), the likeliest components and, if asked for, the responsibilities."""
        n, k, out = len(self.X), len(parameters.weights), self.X.dtype
        if with_proba:
            require_memory(
                n, k, out.itemsize, what="the probabilities", instead="pass fewer rows at a time"
            )
        density, proba = np.empty(n, out), np.empty((n if with_proba else 0, k), out)
        dtype = self._dtype(parameters, False)
        layout = self._layout(parameters, dtype)
        centres = parameters.means.astype(dtype)
        moments = np.empty((_N_PARTS, 0))
        for piece in self._pieces(k):
            rows = piece.stop - piece.start
            found = np.empty(rows, dtype), np.empty((rows if with_proba else 0, k), dtype)
            self._call(piece, layout, centres, moments, dtype, *found)
            density[piece] = np.maximum(found[0], np.finfo(out).min)
            if with_proba:
                proba[piece] = found[1]
        return density, self._labels.astype(np.intp), proba

    def _pieces(self, k):
        n, step = len(self.X), max(64, items_per_call(self._work(k)))
        if step >= _ext.ROWS:
            step = step // _ext.ROWS * _ext.ROWS
        return [slice(lo, min(n, lo + step)) for lo in range(0, n, step)]

    def _work(self, k):
        """Return the number of operations for a row."""
        d = self.X.shape[1]
        return {"full": k * d * d, "tied": k * d + d * d}.get(self._kind, k * d)

    def _directions_pay(self, k, d):
        """Return True if `_directions` saves more than it costs, in time and memory."""
        few = k * k * (d + 1) <= _DIRECTION_VALUES and 16 * k <= len(self.X)
        return self._kind == "full" and few and len(self.X) * self._work(k) >= _DIRECTION_WORK

    def _dtype(self, parameters, exact):
        return np.dtype(np.float64 if exact or not self.in_single(parameters) else np.float32)

    def in_single(self, parameters: Parameters) -> bool:
        """Return whether float32 is exact enough for these rows under these parameters."""
        if self.X.dtype == np.float64 or self._kind == "tied":
            return False
        if self._kind == "full":
            present = parameters.weights > 0
            factors, covariances = parameters.factors[present], parameters.covariances[present]
            deviations = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
            if not (deviations[:, None, :] @ np.abs(factors)).max() <= _MOST_STRETCH:
                return False
        return bool(self.coordinate_roundings(parameters) <= _MOST_ROUNDINGS)

    def coordinate_roundings(self, parameters: Parameters) -> float:
        """Return how many of its roundings a whitened coordinate may be wrong by, at most."""
        present = parameters.weights > 0
        offsets = np.abs(parameters.means[present] - self.origin)
        factors, covariances = parameters.factors, parameters.covariances
        if self._kind in ("full", "tied"):
            if self._kind == "full":
                factors, covariances = factors[present], covariances[present]
            deviations = np.sqrt(np.diagonal(covariances, axis1=-2, axis2=-1))
            return ((deviations + offsets)[:, None, :] @ np.abs(factors)).max()
        factors = factors[present]
        return (1 + offsets * (factors if self._kind == "diag" else factors[:, None])).max()

    def _layout(self, parameters, dtype):
        """Arguments of the compiled loop: constants, means, factors, rotation, directions."""
        weights, means, _, factors = parameters
        k, d = len(weights), self.X.shape[1]
        if means.shape != (k, d) or factors.shape != shape(self._kind, k, d):
            raise ValueError(
                f"means_ of shape {means.shape} and precisions_cholesky_ of shape {factors.shape} "
                f"are no {self._kind} mixture of {k} components and {d} features."
            )
        origin = self.origin.astype(np.float64)
        with np.errstate(divide="ignore"):
            constants = np.log(weights) - 0.5 * d * _LOG_2_PI
        constants += log_determinants(self._kind, factors, d)
        means, rotation = means - origin, np.zeros((1, 1))
        if self._kind == "tied":
            means, rotation, factors = means @ factors, factors, np.ones(len(weights))
        directions = _directions(means, factors) if self._directions_pay(k, d) else np.empty(0)
        arrays = (means, factors.ravel(), rotation, directions.ravel())
        return constants / math.log(2), *(np.ascontiguousarray(a, dtype) for a in arrays)

    def _call(self, piece, layout, centres, moments, dtype, density=None, proba=None):
        constants, means, factors, rotation, directions = layout
        k, d = means.shape
        threads = effective_threads((piece.stop - piece.start) * self._work(k))
        if dtype not in self._scratch:
            size = _ext.scratch_size(self._id, k, d, dtype.itemsize)
            require_memory(
                threads, size, dtype.itemsize, what="work memory", instead="use fewer features"
            )
            self._scratch[dtype] = scratch_array((threads, size), dtype)
        scratch = self._scratch[dtype]
        weight = np.empty(0) if self.weight is None else self.weight[piece]
        _ext.em_step(
            self._id,
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

    def _scatter_about_origin(self):
        """Return the sums of products of x - origin, which no step of EM changes."""
        if self._scatter is None:
            origin, unit = self.origin.astype(np.float64), np.eye(self.X.shape[1])
            one = Parameters(np.ones(1), origin[None], unit[None], unit[None])
            rows = Rows(self.X, self.weight, "full", self.origin)
            self._scatter = rows.statistics(one, exact=True).second[0]
        return self._scatter


def rounding(kind: str, parameters: Parameters, origin, log_likelihood: float, n: float) -> float:
    """Return a bound on the rounding error of the mean log-likelihood of n rows.

    Parameters
    ----------
    kind : str
        The covariance type.
    parameters : Parameters
    origin : (d,), of the type of the rows
    log_likelihood : float
        The mean, as it was computed.
    n : float
    """
    d = len(origin)
    rows = Rows(np.empty((0, d), origin.dtype), None, kind, origin)
    dtype = np.float32 if rows.in_single(parameters) else np.float64
    constants = np.abs(log_determinants(kind, parameters.factors, d)).max()
    # A row's density is a constant and half the squares of its d coordinates; n rows are added.
    size = abs(log_likelihood) + constants + d * (1 + rows.coordinate_roundings(parameters))
    sums = math.sqrt(n) * np.finfo(np.float64).eps * abs(log_likelihood)
    return float(16 * np.finfo(dtype).eps * size + sums)


def _directions(means, factors):
    """Return unit vectors between components, by which the loop leaves out far components.

    At [i, j]: factors[j] times the direction of (means[i] - means[j]) factors[j], and at the end
    its product with means[j]. Empty if too few components are far from each other.
    """
    directions = np.matmul((means[:, None] - means[None]).swapaxes(0, 1), factors)
    length = np.sqrt(np.einsum("jid,jid->ji", directions, directions))
    if (length > _FAR).mean() < 0.05:
        return np.empty(0)
    known = (length > 0) & (length < np.inf)  # elsewhere no direction, which leaves nothing out
    divisor = np.where(known, length, 1.0)[:, :, None]
    directions = np.where(known[:, :, None], directions, 0.0) / divisor
    directions = np.matmul(directions, factors.swapaxes(1, 2))
    places = np.matmul(directions, means[:, :, None])
    return np.concatenate([directions, places], axis=2).swapaxes(0, 1)


def shape(kind: str, k: int, d: int) -> tuple[int, ...]:
    """Return the shape of covariances, precisions and factors."""
    return {"full": (k, d, d), "tied": (d, d), "diag": (k, d), "spherical": (k,)}[kind]


def log_determinants(kind: str, factors: np.ndarray, n_features: int) -> np.ndarray:
    """Return log det of each factor: half the log determinant of each precision."""
    if kind in ("full", "tied"):
        return np.log(np.diagonal(factors, axis1=-2, axis2=-1)).sum(-1)
    return np.log(factors).sum(-1) if kind == "diag" else n_features * np.log(factors)


def moved(statistics: Statistics, kind: str, centres, means) -> Statistics:
    """Return the statistics about `means`, from those about `centres` close by."""
    if kind == "tied":
        shift = np.asarray(centres, np.float64) - means
        first = statistics.first + statistics.mass[:, None] * shift
        return statistics._replace(first=first)
    log_likelihood, mass, first, second = statistics
    shift = np.asarray(centres, np.float64) - means
    step = mass[:, None] * shift
    if kind == "full":
        cross = first[:, :, None] * shift[:, None, :]
        second = second + cross + cross.transpose(0, 2, 1) + step[:, :, None] * shift[:, None, :]
    else:
        second = second + 2 * first * shift + step * shift
    return Statistics(log_likelihood, mass, first + step, second)
