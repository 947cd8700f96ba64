"""Leading eigenpairs of a covariance, by the route that suits the shape of the data.

Each route decomposes S, the scatter of rows z about their mean, and tells what it knows of the
rest of the spectrum.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg
from scipy import sparse as sp

from mlcore.decomposition.evidence import is_complete
from mlcore.decomposition.scatter_eigenpairs import Spectrum, scatter_eigenpairs
from mlcore.numerics.eigen import block_size, leading_eigenpairs
from mlcore.runtime.memory import require_memory

_FAR = 1e8  # squared distance of the mean from 0 over the variance, by which half the digits go
_LARGE = 40  # blocks of eigenvectors in the smaller side, beyond which Lanczos is quicker
_ROUTES = {
    "covariance_eigh": "scatter",
    "gram": "gram",
    "full": "qr",
    "arpack": "lanczos",
    "randomized": "lanczos",
}
Pick = Callable[[np.ndarray], int]  # the number of components for all eigenvalues


class Rows:
    """Rows ``z = (2^-power (x - origin) - mean) / scale`` times the roots of their weights.

    The mean of rows far from 0 is not a float64 number to all the digits of their differences.

    Parameters
    ----------
    X : float32 or float64 (n, d), C order, or csr_array
    weight : float64 (n,), optional
    origin : float64 (d,)
    mean : float64 (d,)
    power : int (d,)
    scale : float64 (d,)
        In units of ``2^power``.
    """

    def __init__(self, X: Any, weight: np.ndarray | None, origin, mean, power, scale) -> None:
        self.X, self.weight, self.origin, self.mean = X, weight, origin, mean
        self.power, self.scale = power, scale
        self.shape, self.dtype = X.shape, X.dtype

    def blocks(self, least: int = 16):
        """Yield slices of at least so many rows, and these rows, float64."""
        n, d = self.shape
        size = min(n, max(least, 2**17 // d))
        for start in range(0, n, size):
            rows = slice(start, min(n, start + size))
            block = self.X[rows].toarray() if sp.issparse(self.X) else self.X[rows]
            yield rows, self._placed(block, rows, slice(None))

    def column_blocks(self):
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

    def scatter_along(self, V):
        """Return the scatter ``V'Z'ZV`` of the rows along V (d, t)."""
        S = np.zeros((V.shape[1], V.shape[1]))
        for _, block in self.blocks():
            along = block @ V
            S += along.T @ along
        return S

    def gram_along(self, V):
        """Return ``V'ZZ'V`` for V (n, t)."""
        G = np.zeros((V.shape[1], V.shape[1]))
        for _, block in self.column_blocks():
            along = block.T @ V
            G += along.T @ along
        return G


def route(solver: str, shape: tuple[int, int], k: int) -> str:
    """Return "scatter", "gram", "lanczos" or "qr" for a solver's name and n x d rows."""
    if solver != "auto":
        return _ROUTES[solver]
    n, d = shape
    if min(n, d) > _LARGE * block_size(k):
        return "lanczos"
    return "scatter" if d <= n else "gram"


def by_scatter(S: np.ndarray, k: int, pick: Pick | None, rows: Rows) -> Spectrum:
    """Decompose S (d, d) itself, and the rows where it has lost digits.

    `pick`, if given, chooses the number of eigenpairs instead of k.
    """
    pairs = scatter_eigenpairs(S, k, pick is not None, rows.dtype)
    return pairs.completed(rows.scatter_along).spectrum(pick, "scatter")


def by_gram(rows: Rows, k: int, pick: Pick | None) -> Spectrum:
    """Decompose the inner products of rows Z (n, d): where ``ZZ'q = lambda q``, Z'q is a component.

    Memory O(n²).
    """
    n, d = rows.shape
    require_memory(n, n, 16, what="the Gram matrix of the rows", instead="use svd_solver='arpack'")
    G = np.zeros((n, n))
    for _, block in rows.column_blocks():
        G += block @ block.T
    pairs = scatter_eigenpairs(G, k, pick is not None, G.dtype)
    found = pairs.completed(rows.gram_along).spectrum(pick, "gram")
    Q = found.vectors
    k = Q.shape[1]
    if k == n < d:  # the covariance has further eigenvalues, all 0
        complete = is_complete(G, found.values, Q, 0.0)
        found = found._replace(next_value=0.0, complete=complete)
    deviations = np.sqrt(np.maximum(found.values[:k], 0.0))
    kept = deviations > max(n, d) * np.finfo(np.float64).eps * deviations[0]
    U = np.zeros((d, k))
    for columns, block in rows.column_blocks():
        U[columns] = block.T @ Q
    U = np.where(kept, U, 0.0) / np.where(kept, deviations, 1.0)
    U, R = linalg.qr(U, mode="economic", overwrite_a=True, check_finite=False)
    return found._replace(vectors=U * np.where(np.diagonal(R) < 0, -1.0, 1.0))


def by_qr(rows: Rows, k: int, pick: Pick | None) -> Spectrum:
    """Decompose the factor R of the rows Z = QR: the most accurate way, twice as slow."""
    d = rows.shape[1]
    R = np.zeros((0, d))
    for _, block in rows.blocks(d):
        stacked = np.vstack([R, block])
        R = linalg.qr(stacked, mode="r", overwrite_a=True, check_finite=False)[0][:d]
    _, deviations, Vt = linalg.svd(R, full_matrices=False, check_finite=False)
    values = deviations**2
    k = pick(values.copy()) if pick else k
    V = Vt[:k].T
    trace = float(values.sum())
    residuals = np.linalg.norm(R.T @ (R @ V) - V * values[:k], axis=0) / (values[0] or 1.0)
    beyond = 0.0 if k < d else -np.inf
    next_value = float(values[k]) if len(values) > k else beyond
    return Spectrum(values, V, trace, trace, residuals, next_value, k == d, "qr")


def by_lanczos(
    rows: Rows, k: int, share: float | None, trace: float, rng, tol: float, max_iter: int
) -> Spectrum:
    """Find k eigenpairs by products with blocks of vectors, or so many as explain `share`."""
    operator, most = _Product(rows, trace), min(rows.shape)
    while True:
        found = leading_eigenpairs(operator, k, rng, tol=tol, max_iter=max_iter)
        if share is None or k == most or found.values.sum() >= share * trace:
            break
        k = min(2 * k, most)
    values = np.maximum(found.values, 0.0)
    if share is not None:
        k = components_for(values, trace, share)
    following = np.append(values, found.next_value)[k]
    next_residual = np.append(found.residuals, found.next_residual)[k]
    return Spectrum(
        values[:k],
        found.vectors[:, :k],
        trace,
        min(trace, found.basis_trace),
        found.residuals[:k],
        float(following),
        False,
        "lanczos",
        float(next_residual),
    )


class _Product:
    """The scatter of centred rows as `leading_eigenpairs` sees it; it is never formed."""

    sparse = True

    def __init__(self, rows, trace):
        self.rows, self.n = rows, rows.shape[1]
        self.unit = np.ldexp(rows.scale, rows.power)
        self.mean = rows.origin + np.ldexp(rows.mean, rows.power)
        total = rows.shape[0] if rows.weight is None else rows.weight.sum()
        # Sparse rows far from 0 are centred block by block, as products would lose the difference.
        far = total * np.sum((self.mean / self.unit) ** 2) > _FAR * trace
        self.by_nonzeros = sp.issparse(rows.X) and not far

    def __matmul__(self, V):
        if self.by_nonzeros:
            return self._sparse(V)
        out = np.zeros((self.n, V.shape[1]))
        for _, block in self.rows.blocks():
            out += block.T @ (block @ V)
        return out

    def _sparse(self, V):
        rows, mean, unit = self.rows, self.mean, self.unit[:, None]
        X = rows.X.astype(np.float64, copy=False)
        V = V / unit
        along = X @ V - mean @ V
        if rows.weight is not None:
            along *= rows.weight[:, None]
        return (X.T @ along - np.outer(mean, along.sum(axis=0))) / unit

    def dense(self):
        return self @ np.eye(self.n)


def completed(found: Spectrum, k: int) -> Spectrum:
    """Return the spectrum with further orthonormal vectors, of eigenvalue 0, so that there are k.

    They are more than rows, whose scatter has no other positive eigenvalues.
    """
    d, known = found.vectors.shape
    if known >= k:
        return found
    wide = np.zeros((d, k))
    wide[:, :known] = found.vectors
    U = linalg.qr(wide, mode="economic", overwrite_a=True, check_finite=False)[0]
    U[:, :known] = found.vectors
    more = np.zeros(k - known)
    return found._replace(
        values=np.append(found.values[:known], more),
        vectors=U,
        residuals=np.append(found.residuals, more),
        next_value=0.0 if k < d else -np.inf,
    )


def components_for(values: np.ndarray, trace: float, share: float) -> int:
    """Return the fewest eigenvalues, all or the leading ones, of at least `share` of the trace."""
    reached = np.cumsum(values) >= share * trace * (1 - len(values) * np.finfo(np.float64).eps)
    return int(np.argmax(reached)) + 1 if reached.any() else len(values)


def without_rounding(values: np.ndarray, limit: float, rank: int) -> np.ndarray:
    """Return descending eigenvalues with 0 for those up to `limit` times the first, and from `rank`
    on.
    """
    kept = np.where(values > limit * values[0], values, 0.0)
    kept[rank:] = 0
    return kept
