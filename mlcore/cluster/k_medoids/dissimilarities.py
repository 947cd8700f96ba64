"""Distances between samples for k-medoids: by a metric, or given as a matrix.

The search over medoids asks for rows: `Stored` keeps the whole matrix; `OnDemand` forms inner
products, which give Euclidean distances, some rows at a time.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse as sp

from mlcore._ext.cluster import dissimilarities as _ext
from mlcore.checks.symmetry import rounding_of_distances
from mlcore.cluster.k_means.nearest_center import own_distances
from mlcore.cluster.k_means.origin_and_unit import choose_units, shared_units
from mlcore.cluster.metrics import as_metric, distances, learned_scale
from mlcore.kernels.packed import Packed
from mlcore.kernels.vector_kernels import Linear
from mlcore.runtime.memory import require_memory
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, pieces

_EUCLIDEAN = "euclidean", "sqeuclidean"
_FORMS = {  # form of the values in a row, by the power of the Euclidean distance in the cost
    1: "roots", 2: "products", 4: "fourths",
}  # fmt: skip
_BLOCK = 2**20  # values formed at a time
_STORED_BYTES = 2**30  # most bytes of a matrix of inner products
_CHEAP = 64  # terms of an inner product up to which forming it again beats storing it
_EXACT = 2**24  # differences up to which they are formed, not products: some milliseconds
_FEW = 2**20  # values of a matrix that one call may read several times


class Stored:
    """Whole matrix of values (n, n); row j is for sample j as a medoid.

    `form` says how a value gives a cost; see `_ext.fasterpam`. `norms` (n,) are squared norms.
    """

    values: np.ndarray
    form: str
    norms: np.ndarray
    max_cost: float
    n: int
    dtype: np.dtype
    small: bool

    def __init__(self, values: np.ndarray, form: str, norms: np.ndarray, max_cost: float) -> None:
        self.values, self.form, self.norms, self.max_cost = values, form, norms, max_cost
        self.n, self.dtype = len(values), values.dtype
        self.small = form in ("values", "squares") and values.size <= _FEW

    def blocks(self, order: np.ndarray) -> Iterator[tuple[Any, ...]]:
        """Yield an array of rows, places in it, and the samples of these rows."""
        for first, last in pieces(len(order), 2 * self.n):
            yield self.values, order[first:last], order[first:last]

    def row(self, j: Any) -> np.ndarray:
        """Return the row of sample j."""
        return self.values[j]

    def submatrix(self, medoids: Any, samples: Any) -> Any:
        """Return an array, the places of the medoids' rows in it, and the samples' columns."""
        return self.values, medoids, samples

    def exact(self, medoids: np.ndarray) -> np.ndarray | None:
        """Return distances (n, k) from medoids if they are stored in double precision."""
        if self.form not in ("values", "squares") or self.dtype != np.float64:
            return None
        return np.ascontiguousarray(self.values[medoids].T)

    def part(self, chosen: Any) -> Any:
        """Return rows of these samples only."""
        norms = self.norms[chosen] if len(self.norms) else self.norms
        return Stored(self.values[np.ix_(chosen, chosen)], self.form, norms, self.max_cost)


class OnDemand:
    """Rows of inner products, formed at each request; methods as in `Stored`."""

    form: Any
    norms: Any
    max_cost: Any
    n: int
    dtype: Any
    small: bool

    def __init__(self, Z: Any, form: Any, norms: Any, max_cost: Any) -> None:
        self.form, self.norms, self.max_cost = form, norms, max_cost
        self.n, self.dtype, self.small = len(Z), Z.dtype, False
        self._Z = Z
        self._packed = Packed(Z, Linear(), dtype=Z.dtype)
        self._step = min(self.n, max(16, _BLOCK // self.n))
        self._buffer = scratch_array((self._step, self.n), Z.dtype)

    def blocks(self, order: Any) -> Iterator[Any]:
        for start in range(0, len(order), self._step):
            now = order[start : start + self._step]
            at = np.arange(len(now))
            self._packed.block(now, self._packed.columns(), self._buffer, at)
            yield self._buffer, at, now

    def row(self, j: Any) -> Any:
        out = np.empty((1, self.n), dtype=self.dtype)
        self._packed.block(np.array([j]), self._packed.columns(), out, np.arange(1))
        return out[0]

    def submatrix(self, medoids: Any, samples: Any) -> Any:
        out = np.empty((len(medoids), len(samples)), dtype=self.dtype)
        at = np.arange(len(medoids))
        self._packed.block(medoids, self._packed.columns(samples), out, at)
        return out, at, np.arange(len(samples))

    def exact(self, _: Any) -> Any:
        return None

    def part(self, chosen: Any) -> Any:
        return _inner_products(self._Z[chosen], self.form, self.norms[chosen], self.max_cost)

    def stored(self) -> Any:
        """Return `Stored` rows of the same values."""
        values = scratch_array((self.n, self.n), self.dtype)
        self._packed.symmetric(values)
        return Stored(values, self.form, self.norms, self.max_cost)

    @property
    def worth_storing(self) -> Any:
        """True if all rows fit `_STORED_BYTES` and are dear to form again."""
        size = self.n**2 * self.dtype.itemsize
        dear = self._packed.layout.terms_per_value > _CHEAP or self._step == self.n
        return dear and size <= _STORED_BYTES


def _inner_products(Z, form, norms, max_cost):
    rows = OnDemand(Z, form, norms, max_cost)
    return rows.stored() if rows.worth_storing else rows


class Dissimilarity:
    """Metric, and its power in the objective, for the samples of a fit.

    The cost of a sample is its distance to this power, 1 or 2. Errors name `owner`.
    """

    power: int
    owner: str
    unit: int
    fitted: dict[Any, Any]
    metric: str | Callable[..., Any]

    def __init__(self, metric: str | Callable[..., Any], power: int, owner: str) -> None:
        self.metric, self.power, self.owner = as_metric(metric, owner), power, owner
        self.unit = 0  # costs of `rows` are those of the data times 2^-unit
        self.fitted = {}  # parameters of the metric that depend on the samples of the fit

    @property
    def precomputed(self) -> bool:
        """True if samples are given as a matrix of distances."""
        return self.metric == "precomputed"

    @property
    def euclidean(self) -> bool:
        """True if inner products give the distances."""
        return self.metric in _EUCLIDEAN

    def rows(self, X: np.ndarray, weights: np.ndarray) -> "Stored | OnDemand":
        """Return `Stored` or `OnDemand` rows for samples X, or for the distances X."""
        if self.precomputed:
            return self._given(X)
        if not self.euclidean:
            return self._stored(X)
        units, _ = choose_units(X, weights)
        Z = np.ascontiguousarray(units.place(X))
        exponent = self.power * (2 if self.metric == "sqeuclidean" else 1)
        self.unit = units.power * exponent
        if len(Z) * Z.size <= _EXACT:
            return self._from_differences(Z)
        norms = np.einsum("ij,ij->i", Z, Z, dtype=np.float64)
        max_cost = float((4 * norms.max()) ** (exponent / 2))
        return _inner_products(Z, _FORMS[exponent], norms.astype(Z.dtype), max_cost)

    def _given(self, D):
        D = given_distances(D, self.owner)
        largest = float(D.max(initial=0.0))
        form = "values" if self.power == 1 else "squares"
        return Stored(D, form, np.empty(0, dtype=D.dtype), largest**self.power)

    def _stored(self, X):
        n = len(X)
        require_memory(
            n, n, X.dtype.itemsize, what="the matrix of distances",
            instead="pass fewer rows, or use metric='euclidean', which needs no matrix",
        )  # fmt: skip
        D = scratch_array((n, n), X.dtype)
        scale = learned_scale(X, self.metric)
        self.fitted = {} if scale is None else {"scale_": scale}
        largest = 0.0
        for start in range(0, n, step := max(1, min(_BLOCK // n, 2**22 // (n * X.shape[1]) + 1))):
            D[start : start + step] = block = distances(
                X[start : start + step], X, self.metric, scale, self.owner
            )
            largest = max(largest, float(block.max()))
        return Stored(
            D, "values" if self.power == 1 else "squares", np.empty(0, dtype=X.dtype),
            largest**self.power,
        )  # fmt: skip

    def _from_differences(self, Z):
        n, d = Z.shape
        D, columns = scratch_array((n, n), Z.dtype), np.zeros((d, n + _ext.PADDING), dtype=Z.dtype)
        columns[:, :n] = Z.T
        largest = _ext.distances(columns, self.metric == "sqeuclidean", D)
        form = "values" if self.power == 1 else "squares"
        return Stored(D, form, np.empty(0, dtype=Z.dtype), largest**self.power)

    def blocks(self, X: np.ndarray, fitted: dict[Any, Any]) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield rows of X and their float64 distances (not powers) from the medoids of a fit.

        Euclidean distances are formed from differences: no digits cancel.
        """
        medoids = fitted["medoid_indices_"]
        n, k = len(X), len(medoids)
        work = k * (1 if self.precomputed else X.shape[1])
        centers = None if self.precomputed else fitted["cluster_centers_"]
        if self.euclidean:
            units = shared_units(X, centers, None)
            placed = np.ascontiguousarray(units.place(centers))
        step = max(1, min(_BLOCK // k, 2**26 // work))
        for start in range(0, n, step):
            rows = slice(start, min(n, start + step))
            if self.precomputed:
                yield rows, X[rows][:, medoids].astype(np.float64)
            elif self.euclidean:
                squares = _squares(np.ascontiguousarray(units.place(X[rows])), placed)
                roots = self.metric == "euclidean"
                power = units.power if roots else 2 * units.power
                yield rows, np.ldexp(np.sqrt(squares) if roots else squares, power)
            else:
                scale = fitted.get("scale_")
                yield rows, distances(X[rows], centers, self.metric, scale, self.owner)


def _squares(X, centers):
    """Return squared distances (n, k) in double precision, from differences."""
    out = np.empty((len(X), len(centers)))
    threads = effective_threads(X.size * len(centers))
    for j in range(len(centers)):
        labels = np.full(len(X), j, dtype=np.int32)
        out[:, j] = own_distances(X, centers, labels, threads)
    return out


def rounding_of_search(rows: Stored, n_features: int, objective: float, weight: float) -> float:
    """Return a bound on the rounding of an objective that `rows` gave.

    Squares from inner products are off by (d + 4) eps (|x| + |m|)², stored ones rounded once.
    """
    eps = float(np.finfo(rows.dtype).eps)
    if rows.form in ("values", "squares"):
        return 8 * eps * objective
    largest = 4 * float(rows.norms.max())
    square = (n_features + 4) * eps * largest
    of_costs = {"products": square, "roots": np.sqrt(square), "fourths": 2 * largest * square}
    return weight * float(of_costs[rows.form])


def given_distances(
    D: Any, owner: str, *, square: bool = True, symmetric: bool = True, in_place: bool = False
) -> Any:
    """Return distances that the user gave, checked, without the rounding of how they were formed.

    `D` is (n, n), dense or CSR, or (m, n) if not `square`. Up to `rounding_of_distances` times the
    largest, values below 0 and on the diagonal become 0, and mirrored ones may differ.
    """
    # Distances of the same samples are a square matrix.
    if square and D.shape[0] != D.shape[1]:
        raise ValueError(
            f"{owner}: Distance matrix should be square, got matrix of shape {D.shape}: with "
            "metric='precomputed' X holds the distance of every sample from every other."
        )
    # Differences within the rounding of the largest value are allowed.
    values = D.data if sp.issparse(D) else D
    dense = square and not sp.issparse(D)
    if dense:
        least, largest, asymmetry = extremes(D)
    else:
        least, largest, asymmetry = values.min(initial=0.0), values.max(initial=0.0), 0.0
    rounding = rounding_of_distances(D.dtype) * max(largest, 0.0)
    # Refuse similarities and what is not symmetric.
    if least < -rounding:
        raise ValueError(
            f"Negative values in data passed to {owner} as distances: {_least_entry(D)} is "
            f"{least:g}, but distances are at least 0."
        )
    own = D.diagonal() if square else np.zeros(1)
    if np.abs(own).max(initial=0.0) > rounding:
        i = int(np.argmax(np.abs(own)))
        raise ValueError(
            f"{owner}: X[{i}, {i}] is {own[i]:g}, but the distance of a sample from itself must be "
            "0: are these similarities?"
        )
    if symmetric and asymmetry > rounding:
        i, j = _most_asymmetric(D)
        raise ValueError(
            f"{owner}: X is not symmetric: X[{i}, {j}] is {D[i, j]:g} and X[{j}, {i}] is "
            f"{D[j, i]:g}, but precomputed distances must be: pass (X + X.T) / 2."
        )
    # Replace the values that rounding moved off 0.
    if least >= 0 and not own.any():
        return D
    D = D if in_place else D.copy()
    values = D.data if sp.issparse(D) else D
    np.maximum(values, 0.0, out=values)
    if dense:
        np.fill_diagonal(D, 0.0)
    elif square:
        values[D.indices == np.repeat(np.arange(D.shape[0]), np.diff(D.indptr))] = 0.0
    return D


def extremes(D: np.ndarray) -> tuple[float, float, float]:
    """Return the least and the largest value of a square matrix, and its largest asymmetry."""
    tiles = -(-len(D) // _ext.TILE_SIDE)
    per_tile = np.empty((tiles, 3))
    for first, last in pieces(tiles, 2 * _ext.TILE_SIDE * len(D)):
        _ext.extremes(D, first, last, per_tile, effective_threads(D.size))
    return float(per_tile[:, 0].min()), float(per_tile[:, 1].max()), float(per_tile[:, 2].max())


def _least_entry(D):
    if sp.issparse(D):
        at = int(np.argmin(D.data))
        i, j = int(np.searchsorted(D.indptr, at, side="right")) - 1, D.indices[at]
    else:
        i, j = divmod(int(np.argmin(D)), D.shape[1])
    return f"X[{i}, {j}]"


def _most_asymmetric(D):
    best, pair = -1.0, (0, 0)
    for start in range(0, len(D), 256):
        off = np.abs(D[start : start + 256] - D[:, start : start + 256].T)
        at = int(off.argmax())
        if off.flat[at] > best:
            best, pair = off.flat[at], (start + at // len(D), at % len(D))
    return pair
