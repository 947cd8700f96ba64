"""Leading eigenpairs of a covariance, by the route that suits the shape of the data.

Each route decomposes S, the scatter of rows z about their mean, and tells what it knows of the
rest of the spectrum.
"""

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import linalg
from scipy import sparse as sp

from mlcore.checks import as_random_state
from mlcore.checks.errors import warn
from mlcore.decomposition.dimension import (
    NumberWanted,
    Pick,
    components_for,
    without_rounding,
)
from mlcore.decomposition.evidence import FAR, is_complete
from mlcore.decomposition.scatter_eigenpairs import Spectrum, scatter_eigenpairs
from mlcore.decomposition.summary import ColumnUnits
from mlcore.estimator.progress import Progress
from mlcore.numerics.eigen import block_size, leading_eigenpairs, orthonormal
from mlcore.numerics.scatter import (
    Moments,
    Scatter,
    column_moments,
    in_range,
    origin_of,
    powers_of_two,
    scatter_of,
)
from mlcore.numerics.sparse_products import CentredProducts, column_sums
from mlcore.runtime.memory import require_memory

_LARGE = 40  # blocks of eigenvectors in the smaller side, beyond which Lanczos is quicker
_LARGE_SPARSE = 15  # the same for sparse rows: from there on Lanczos does not end in LAPACK
_WIDTH = 8  # vectors whose residuals are computed at a time
STEPS = 1000  # of block Lanczos, which ends long before
_UNCERTAIN = 1e-14  # rounding of residuals that are computed anew
_FIRST_GUESS = 16  # components by Lanczos, doubled until they explain the wanted share


class CentredRows:
    """Rows ``z = (2^-power (x - origin) - mean) / scale`` times the roots of their weights.

    `origin` and `mean` together keep the digits of rows far from 0; all, with `power`, are (d,).
    """

    weight: np.ndarray | None
    origin: np.ndarray
    mean: np.ndarray
    power: np.ndarray
    scale: np.ndarray
    shape: Any
    dtype: Any

    def __init__(
        self,
        X: Any,
        weight: np.ndarray | None,
        origin: np.ndarray,
        mean: np.ndarray,
        power: np.ndarray,
        scale: np.ndarray,
    ) -> None:
        self.X, self.weight, self.origin, self.mean = X, weight, origin, mean
        self.power, self.scale = power, scale
        self.shape, self.dtype = X.shape, X.dtype

    def blocks(self, least: int = 16) -> Any:
        """Yield slices of at least so many rows, and these rows, float64."""
        n, d = self.shape
        size = min(n, max(least, 2**17 // d))
        for start in range(0, n, size):
            rows = slice(start, min(n, start + size))
            block = self.X[rows].toarray() if sp.issparse(self.X) else self.X[rows]
            yield rows, self._placed(block, rows, slice(None))

    def column_blocks(self) -> Any:
        """Yield slices of columns, and these columns of all rows, float64."""
        n, d = self.shape
        size = min(d, max(16, 2**17 // n))
        columns_first = sp.csc_array(self.X) if sp.issparse(self.X) else self.X
        for start in range(0, d, size):
            columns = slice(start, min(d, start + size))
            block = columns_first[:, columns]
            block = block.toarray() if sp.issparse(block) else block
            yield columns, self._placed(block, slice(None), columns)

    def _placed(self, block, rows, columns):
        placed = block - self.origin[columns]
        if self.power.any():
            placed = np.ldexp(placed, -self.power[columns])
        placed -= self.mean[columns]
        placed /= self.scale[columns]
        if self.weight is not None:
            placed *= np.sqrt(self.weight[rows])[:, None]
        return placed

    def trace(self) -> float:
        """Return the trace of the scatter."""
        center = self.origin + np.ldexp(self.mean, self.power)
        if sp.issparse(self.X) and not self.power.any():
            weight = np.ones(self.shape[0]) if self.weight is None else self.weight
            counts, entries, _, squares = column_sums(self.X, weight, center)
            zeros = np.where(counts < self.shape[0], np.maximum(weight.sum() - entries, 0.0), 0.0)
            return float(((squares + zeros * center**2) / self.scale**2).sum())
        return float(sum(np.vdot(block, block) for _, block in self.blocks()))

    def scatter_along(self, V: np.ndarray) -> np.ndarray:
        """Return the scatter ``V'Z'ZV`` of the rows along V (d, t)."""
        S = np.zeros((V.shape[1], V.shape[1]))
        for _, block in self.blocks():
            along = block @ V
            S += along.T @ along
        return S

    def gram_along(self, V: np.ndarray) -> np.ndarray:
        """Return ``V'ZZ'V`` for V (n, t)."""
        G = np.zeros((V.shape[1], V.shape[1]))
        for _, block in self.column_blocks():
            along = block.T @ V
            G += along.T @ along
        return G


class LanczosSettings(NamedTuple):
    """Checked parameters of block Lanczos, the model to name in warnings, and its progress."""

    owner: str
    tol: float
    max_iter: int
    random_state: Any
    progress: Progress


class Settings(NamedTuple):
    """Checked parameters of a `PCA`, and what follows from them."""

    owner: str
    wanted: NumberWanted
    center: bool
    scale: bool
    svd_solver: str
    ddof: int
    lanczos: LanczosSettings
    em_steps: int

    def powers(self, X: Any, origin: np.ndarray) -> np.ndarray:
        """Return powers of two of the largest deviations, of each column if scaled, (d,)."""
        power = powers_of_two(X, origin)
        return power if self.scale else np.full(len(power), power.max())

    def first_sums(
        self, X: Any, weight: np.ndarray | None, origin: np.ndarray, whole: bool
    ) -> tuple[Scatter | Moments, np.ndarray, np.ndarray]:
        """Return sums over ``2^-power x``, the whole scatter or its diagonal; squares and power.

        These are the diagonal, (d,), and the powers of two, (d,), that bring it into range.
        """
        sums = partial(scatter_of, owner=self.owner) if whole else column_moments
        power = np.zeros(len(origin), np.int64)
        total = sums(X, weight, origin, power=power)
        squares = self.about(total).squares
        if not in_range(squares if self.scale else squares.max(), X.dtype).all():
            power = self.powers(X, origin)
            if power.any():
                total = sums(X, weight, origin, power=power)
                squares = self.about(total).squares
        return total, squares, power

    def origin(self, X: Any) -> np.ndarray:
        """Return the origin of the sums, (d,) float64: 0 if rows are not centred."""
        return origin_of(X) if self.center else np.zeros(X.shape[1])

    def about(self, sums: Any) -> Any:
        """Return the sums about the mean, or, if rows are not centred, about 0, the origin."""
        if self.center:
            return sums
        weight, mean, zeros = sums.weight, sums.mean, np.zeros(len(sums.mean))
        if isinstance(sums, Scatter):
            return Scatter(weight, zeros, sums.scatter + np.outer(weight * mean, mean))
        return Moments(weight, zeros, sums.squares + weight * mean**2)

    def units(self, power: np.ndarray, squares: np.ndarray, divisor: float) -> ColumnUnits:
        """Return the units of rows: by their sums of squares, if they are scaled."""
        if not self.scale:
            return ColumnUnits(power, np.ones(len(squares)))
        deviations = np.sqrt(squares / divisor)
        return ColumnUnits(power, np.where(deviations > 0, deviations, 1.0))

    def scaled(self, scatter: np.ndarray, units: ColumnUnits) -> np.ndarray:
        """Return the scatter of rows in their units."""
        return scatter / np.outer(units.scale, units.scale) if self.scale else scatter


class Search(NamedTuple):
    """Rows, and which eigenpairs of their scatter a route is to find."""

    rows: CentredRows
    scatter: np.ndarray | None  # float64 (d, d) or None: of these rows, where it was summed
    trace: float  # of the scatter
    weight: float  # of all rows
    rank: int  # largest number of eigenvalues that are not 0
    wanted: NumberWanted
    settings: LanczosSettings

    def report(self, step: int, total: float, residual: float) -> None:
        """Report the share of the variance in a sum of eigenvalues, and the largest residual."""
        self.settings.progress.step(step, float(total / (self.trace or 1.0)), residual)


class Route(NamedTuple):
    """A way from rows to the leading eigenpairs of their scatter."""

    # Returns the `Spectrum` of a `Search`, given what chooses the number of eigenpairs by all
    # eigenvalues, or None for `wanted.k` of them
    spectrum: Callable[[Search, Pick | None], Spectrum]
    # True if it begins with the whole scatter, False if with the variances of the features
    sums_scatter: bool = False
    every_value: bool = True  # true if it can compute all eigenvalues

    def find(self, search: Search) -> tuple[Spectrum, np.ndarray]:
        """Return the spectrum, and its eigenvalues with 0 for those that are rounding errors.

        Routes to all eigenvalues compute their roots, the deviations, to eps max(n, d).
        """
        limit = max(search.rows.shape) * float(np.finfo(np.float64).eps)
        limit = limit**2 if self.every_value else limit
        pick = search.wanted.picker(search.weight, limit, search.rank)
        spectrum = self.spectrum(search, pick)
        if self.every_value:  # block Lanczos has reported its steps
            total = spectrum.values[: spectrum.vectors.shape[1]].sum()
            search.report(1, total, float(spectrum.residuals.max(initial=0.0)))
        if pick is None:
            spectrum = completed(spectrum, search.wanted.k)
        return spectrum, without_rounding(spectrum.values, limit, search.rank)


def route(
    solver: str, shape: tuple[int, int], wanted: NumberWanted, owner: str, sparse: bool = False
) -> Route:
    """Return the route for a solver's name and n x d rows."""
    n, d = shape
    blocks = _LARGE_SPARSE if sparse else _LARGE
    if solver != "auto":
        chosen = SOLVERS[solver]
    elif min(n, d) > blocks * block_size(wanted.k):
        chosen = SOLVERS["arpack"]
    else:
        chosen = SOLVERS["covariance_eigh" if d <= n else "gram"]
    if wanted.most_likely and not chosen.every_value:
        raise ValueError(
            f"{owner}: n_components='mle' needs all variances, which "
            f"svd_solver={solver!r} does not compute: use 'full'."
        )
    return chosen


def by_scatter(search: Search, pick: Pick | None) -> Spectrum:
    """Decompose the scatter S (d, d) itself, and the rows where it has lost digits."""
    rows = search.rows
    pairs = scatter_eigenpairs(search.scatter, search.wanted.k, pick is not None, rows.dtype)
    return pairs.completed(rows.scatter_along).spectrum(pick, "scatter")


def by_gram(search: Search, pick: Pick | None) -> Spectrum:
    """Decompose the inner products of rows Z (n, d): where ``ZZ'q = lambda q``, Z'q is a component.

    Memory O(n²).
    """
    rows = search.rows
    n, d = rows.shape
    require_memory(n, n, 16, what="the Gram matrix of the rows", instead="use svd_solver='arpack'")
    # The eigenpairs of the Gram matrix.
    G = np.zeros((n, n))
    for _, block in rows.column_blocks():
        G += block @ block.T
    pairs = scatter_eigenpairs(G, min(search.wanted.k, n), pick is not None, G.dtype)
    spectrum = pairs.completed(rows.gram_along).spectrum(pick, "gram")
    Q = spectrum.vectors
    k = Q.shape[1]
    if k == n < d:  # the covariance has further eigenvalues, all 0
        complete = is_complete(G, spectrum.values, Q, 0.0)
        spectrum = spectrum._replace(next_value=0.0, complete=complete)
    # The components Z'q, made orthonormal.
    deviations = np.sqrt(np.maximum(spectrum.values[:k], 0.0))
    U = np.zeros((d, k))
    for columns, block in rows.column_blocks():
        U[columns] = block.T @ Q
    return spectrum._replace(vectors=_components(U, deviations, (n, d)))


def by_qr(search: Search, pick: Pick | None) -> Spectrum:
    """Decompose the factor R of the rows Z = QR: the most accurate route, twice as slow."""
    rows = search.rows
    n, d = rows.shape
    R = np.zeros((0, d))
    for _, block in rows.blocks(d):
        stacked = np.vstack([R, block])
        R = linalg.qr(stacked, mode="r", overwrite_a=True, check_finite=False)[0][:d]
    _, deviations, Vt = linalg.svd(R, full_matrices=False, check_finite=False)
    values = deviations**2
    k = pick(values.copy()) if pick else min(search.wanted.k, n)
    V = Vt[:k].T
    trace = float(values.sum())
    residuals = np.linalg.norm(R.T @ (R @ V) - V * values[:k], axis=0) / (values[0] or 1.0)
    beyond = 0.0 if k < d else -np.inf
    next_value = float(values[k]) if len(values) > k else beyond
    return Spectrum(values, V, trace, trace, residuals, next_value, k == d, "qr")


def by_lanczos(search: Search, pick: Pick | None) -> Spectrum:
    """Find k eigenpairs by products with blocks of vectors, or so many as explain a share."""
    rows, trace, share = search.rows, search.trace, search.wanted.share
    settings, tol = search.settings, search.settings.tol
    products, most = products_of(rows, trace), min(rows.shape)
    # Sparse rows have eigenvectors of the smaller of both scatters, by blocks of few vectors.
    scatter, sparse, place = products, isinstance(products, CentredProducts), None
    if sparse and rows.shape[0] < rows.shape[1]:
        scatter, place = products.columns_by_length()
    elif sparse:
        scatter = products.by_length()
    rng = as_random_state(settings.random_state)
    k = min(search.wanted.k, most if share is None else _FIRST_GUESS, most)
    steps = itertools.count(1)

    def report(_, total, residual):
        search.report(next(steps), total, residual)

    # Twice as many, until they explain the share.
    while True:
        pairs = leading_eigenpairs(
            scatter,
            k,
            rng,
            tol=tol,
            max_iter=settings.max_iter,
            report=report,
            narrow=sparse and settings.max_iter == STEPS,
        )
        if share is None or k == most or pairs.values.sum() >= share * trace:
            break
        k = min(2 * k, most)
    if sparse:
        pairs = _exact_pairs(pairs, products, scatter, place)
    values = np.maximum(pairs.values, 0.0)
    if share is not None:
        k = components_for(values, trace, share)
    # Of these k the residuals, by which the search has converged or not.
    residuals = pairs.residuals[:k]
    converged = bool(residuals.max() <= tol + _UNCERTAIN * sparse)
    if not converged:
        warn(
            "ConvergenceWarning",
            f"{settings.owner}: block Lanczos reached a residual of {residuals.max():.1e}, "
            f"not tol={tol}, in {settings.max_iter} steps: use svd_solver='full' or a larger "
            "iterated_power.",
        )
    return Spectrum(
        values[:k],
        pairs.vectors[:, :k],
        trace,
        min(trace, pairs.basis_trace),
        residuals,
        float(np.append(values, pairs.next_value)[k]),
        False,
        "lanczos",
        float(np.append(pairs.residuals, pairs.next_residual)[k]),
        converged,
    )


Solver = Literal["covariance_eigh", "gram", "full", "arpack", "randomized"]
SOLVERS: dict[Solver, Route] = {
    "covariance_eigh": Route(by_scatter, sums_scatter=True),
    "gram": Route(by_gram),
    "full": Route(by_qr),
    "arpack": Route(by_lanczos, every_value=False),
    "randomized": Route(by_lanczos, every_value=False),
}


class _Product:
    """The scatter of centred rows as `leading_eigenpairs` sees it; it is never formed."""

    sparse = True

    def __init__(self, rows):
        self.rows, self.n = rows, rows.shape[1]

    def __matmul__(self, V):
        out = np.zeros((self.n, V.shape[1]))
        for _, block in self.rows.blocks():
            out += block.T @ (block @ V)
        return out

    def dense(self):
        return self @ np.eye(self.n)


def products_of(rows, trace):
    """Return the scatter of the rows as an `Operator`, by their entries if they are sparse."""
    center = (np.ldexp(rows.origin, -rows.power) + rows.mean) / rows.scale
    total = rows.shape[0] if rows.weight is None else rows.weight.sum()
    # Sparse rows far from 0 are centred block by block, as products would lose the difference.
    if not sp.issparse(rows.X) or total * np.sum(center**2) > FAR * trace:
        return _Product(rows)
    X, left = rows.X, np.ones(rows.shape[0])
    data = X.data
    if rows.power.any() or np.any(rows.scale != 1):
        unit = rows.power[X.indices], rows.scale[X.indices]
        data = np.ldexp(data.astype(np.float64), -unit[0]) / unit[1]
    if rows.weight is not None:
        left = np.sqrt(rows.weight)
        data = np.repeat(left, np.diff(X.indptr)) * data
    X = sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
    return CentredProducts(X, left, center)


def _exact_pairs(pairs, products, scatter, place):
    """Return the pairs with values and residuals of their vectors, by one more product.

    Vectors of the scatter of columns, which have a `place` in it, become components.
    """
    V = pairs.vectors
    if place is not None:
        deviations = np.sqrt(np.maximum(pairs.values, 0.0))
        V = _components(scatter.times(V)[place], deviations, products.A.shape)
    else:
        V = orthonormal(V)
    values, residuals = np.empty(V.shape[1]), np.empty(V.shape[1])
    for first in range(0, V.shape[1], _WIDTH):
        few = slice(first, first + _WIDTH)
        U = np.ascontiguousarray(V[:, few])
        images = products @ U
        values[few] = np.einsum("ij,ij->j", U, images)
        images -= U * values[few]
        residuals[few] = np.sqrt(np.einsum("ij,ij->j", images, images))
    order = np.argsort(-values, kind="stable")  # of equal ones but for rounding
    size = max(float(values[order[0]]), 0.0) or 1.0
    return pairs._replace(
        values=values[order], vectors=V[:, order], residuals=residuals[order] / size
    )


def _components(U, deviations, shape):
    """Return orthonormal columns from ``U = Z'Q`` (d, k), whose norms are the deviations (k,).

    Those of small deviations have lost digits.
    """
    kept = deviations > max(shape) * np.finfo(np.float64).eps * deviations[0]
    U = np.where(kept, U, 0.0) / np.where(kept, deviations, 1.0)
    return orthonormal(U)


def completed(spectrum: Spectrum, k: int) -> Spectrum:
    """Return the spectrum with further orthonormal vectors, of eigenvalue 0, so that there are k.

    They are more than rows, whose scatter has no other positive eigenvalues.
    """
    d, n_found = spectrum.vectors.shape
    if n_found >= k:
        return spectrum
    wide = np.zeros((d, k))
    wide[:, :n_found] = spectrum.vectors
    U = linalg.qr(wide, mode="economic", overwrite_a=True, check_finite=False)[0]
    U[:, :n_found] = spectrum.vectors
    zeros = np.zeros(k - n_found)
    return spectrum._replace(
        values=np.append(spectrum.values[:n_found], zeros),
        vectors=U,
        residuals=np.append(spectrum.residuals, zeros),
        next_value=0.0 if k < d else -np.inf,
    )
