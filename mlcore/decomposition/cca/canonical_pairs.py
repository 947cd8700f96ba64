"""Pairs of directions with the largest correlations, from the covariances of two blocks."""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from mlcore.decomposition.cca.two_blocks import Blocks
from mlcore.decomposition.evidence import signs
from mlcore.decomposition.principal_angles import independent_columns

_EPS = float(np.finfo(np.float64).eps)
# Reciprocal condition from which a Cholesky factor of sums in this type has digits enough.
_WELL_CONDITIONED = {np.dtype(np.float64): 1e-6, np.dtype(np.float32): 1e-3}
_ROUNDINGS = 4.0  # that add up in a sum of products, as random errors do


class Factor(NamedTuple):
    """``F'F`` is the covariance matrix, with its ridge, of a block of features."""

    F: np.ndarray  # (r, d) float64: upper triangular in the columns `pivots`
    # (r,) intp: features that do not depend on each other; those left out depend on them
    pivots: np.ndarray

    def solve(self, U: np.ndarray) -> np.ndarray:
        """Return the directions (d, k) whose variates have coefficients U (r, k)."""
        directions = np.zeros((self.F.shape[1], U.shape[1]))
        triangle = self.F[:, self.pivots]
        directions[self.pivots] = linalg.solve_triangular(triangle, U, check_finite=False)
        return directions


class CanonicalPairs(NamedTuple):
    """All canonical correlations, and the directions of the first k."""

    correlations: np.ndarray  # (m,): descending, in [0, 1]; m is the smaller rank
    U: np.ndarray  # (p, k): directions in the first block
    V: np.ndarray  # (q, k): in the second
    AU: np.ndarray  # the covariance of the first block, with its ridge, times U
    AV: np.ndarray  # that of the second, times V
    ranks: tuple[int, int]


def by_cholesky(C: np.ndarray, ridge: np.ndarray, p: int) -> tuple[list[Factor] | None, np.ndarray]:
    """Return the factors of both blocks, None if one has none, and LAPACK's rcond of each.

    `C` (p + q, p + q) are the covariances; `ridge` (p + q,) is added to its diagonal.
    """
    factors, rconds = [], np.zeros(2)
    for i, part in enumerate((slice(0, p), slice(p, None))):
        A = C[part, part].copy(order="F")
        A.flat[:: len(A) + 1] += ridge[part]
        norm = np.abs(A).sum(axis=0).max(initial=0.0)
        F, info = lapack.dpotrf(A, lower=0, clean=1)
        if info == 0 and len(A):
            rconds[i] = lapack.dpocon(F, norm, uplo="U")[0]
            factors.append(Factor(F, np.arange(len(A))))
    return (factors if len(factors) == 2 else None), rconds


def by_pivoted_cholesky(C: np.ndarray, ridge: np.ndarray, p: int, rounding: float) -> list[Factor]:
    """Return the factors of both blocks; what is left of a dependent feature is below `rounding`.

    Arguments as in `by_cholesky`, with a diagonal near 1.
    """
    factors = []
    for part in (slice(0, p), slice(p, None)):
        A = C[part, part].copy(order="F")
        A.flat[:: len(A) + 1] += ridge[part]
        F, order, rank, _ = lapack.dpstrf(A, tol=rounding, lower=0)
        full = np.zeros((rank, len(A)))
        full[:, order - 1] = np.triu(F[:rank])
        factors.append(Factor(full, order[:rank].astype(np.intp) - 1))
    return factors


def by_qr(
    R: np.ndarray, ridge: np.ndarray, p: int, tol: float, most: int
) -> tuple[list[Factor], np.ndarray]:
    """Return the factors of both blocks, and the covariances of their whitened features.

    ``R'R`` are the covariances; pivots up to `tol` times the first are rounding errors.
    """
    factors, bases = [], []
    for part in (slice(0, p), slice(p, None)):
        rows, extra = R[:, part], np.sqrt(ridge[part])
        if extra.any():
            rows = np.concatenate((rows, np.diag(extra)))
        # Columns of equal norms are pivots in their order, whatever the rounding.
        preference = np.linspace(1.0, 0.5, rows.shape[1])
        Q, F, order = independent_columns(rows * preference, tol)
        rank = len(F) if extra.any() else min(len(F), most)
        full = np.zeros((rank, F.shape[1]))
        full[:, order] = F[:rank] / preference[order]
        factors.append(Factor(full, order[:rank]))
        bases.append(Q[: len(R), :rank])
    return factors, bases[0].T @ bases[1]


def whitened(C: np.ndarray, factors: list[Factor], p: int) -> np.ndarray:
    """Return the covariances of the whitened features, (r_x, r_y)."""
    x, y = factors
    part = C[np.ix_(x.pivots, p + y.pivots)]
    left = linalg.solve_triangular(x.F[:, x.pivots], part, trans="T", check_finite=False)
    return linalg.solve_triangular(y.F[:, y.pivots], left.T, trans="T", check_finite=False).T


def canonical_pairs(factors: list[Factor], M: np.ndarray, k: int) -> CanonicalPairs:
    """Return the pairs from the singular vectors of M, the covariances of whitened features."""
    U, rho, Vt = linalg.svd(M, full_matrices=False, check_finite=False)
    U, V = U[:, :k], Vt[:k].T
    x, y = factors
    return CanonicalPairs(
        np.clip(rho, 0.0, 1.0),
        x.solve(U),
        y.solve(V),
        x.F.T @ U,
        y.F.T @ V,
        (len(x.pivots), len(y.pivots)),
    )


def column_correlations(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the correlation of each column of x (n, k) with that of y, 0 where one is constant."""
    return np.clip((_standardised(x) * _standardised(y)).sum(axis=0), -1.0, 1.0)


def _standardised(variates):
    """Return centred columns of norm 1; 0 for those that do not vary."""
    centred = variates.astype(np.float64)
    centred /= np.maximum(np.abs(centred).max(axis=0), np.finfo(float).tiny)
    centred -= centred.mean(axis=0)
    norms = np.sqrt(np.einsum("ij,ij->j", centred, centred))
    varies = norms > 8 * np.finfo(variates.dtype).eps * np.sqrt(len(centred))
    return np.where(varies, centred, 0.0) / np.where(varies, norms, 1.0)


class BlockOfVariates(NamedTuple):
    """The directions of one block, (d, k) each, in the units of the data."""

    weights: np.ndarray  # (d, k): for features of unit variance, made orthonormal in their order
    rotations: np.ndarray  # (d, k): centred data times these are the variates
    loadings: np.ndarray  # (d, k): correlations of features and variates
    patterns: np.ndarray  # (d, k): covariances of features, with their ridge, and variates


class Factorisation(NamedTuple):
    """Factors of both blocks, and the covariances of their whitened features."""

    factors: list[Factor]  # two
    M: np.ndarray  # (r_x, r_y): these covariances
    C: np.ndarray  # (p + q, p + q): covariances of the features, to all digits that are known
    R: np.ndarray | None  # (m, p + q) or None: ``R'R = C``, if the rows were factorised
    # (2,): LAPACK's estimates of the reciprocal condition of both correlation matrices
    rcond: np.ndarray
    solver: str


class ScaledCovariances:
    """Covariances `C` (p + q, p + q) of the features that vary, in units near their deviations.

    `ridge` (p + q,) is to be added to the diagonal: the sum is about 1.
    """

    kept: np.ndarray
    p: int
    unit: Any
    ridge: Any
    powers: np.ndarray
    n_x: int
    divisor: float

    def __init__(
        self,
        sums: Any,
        powers: np.ndarray,
        p: int,
        divisor: float,
        alphas: tuple[Any, ...],
        scale: bool,
    ) -> None:
        d = len(powers)
        variances = sums.scatter.diagonal() / divisor
        with np.errstate(over="ignore"):
            alpha = np.ldexp(np.repeat(alphas, [p, d - p]), -2 * powers)
        self.kept = np.flatnonzero(variances > 0)
        self.p = int((self.kept < p).sum())
        unit = np.sqrt(variances + alpha)[self.kept]
        self.unit = unit if scale else np.ldexp(1.0, np.frexp(unit)[1])
        self.C = sums.scatter[np.ix_(self.kept, self.kept)] / divisor
        self.C /= self.unit
        self.C /= self.unit[:, None]
        self.ridge = alpha[self.kept] / self.unit / self.unit
        self.powers, self.n_x, self.divisor = powers, p, divisor

    def require_variance(self, owner: str) -> None:
        """Refuse a block without a feature that varies."""
        for name, varying in (("X", self.p), ("y", len(self.kept) - self.p)):
            if not varying:
                raise ValueError(
                    f"{owner}: all features of {name} are constant: nothing correlates with them."
                )

    def factorised(
        self, blocks: Blocks | None, center: np.ndarray, dtype: np.dtype, n_rows: int
    ) -> Factorisation:
        """Return the factors: by Cholesky, or where that loses digits from the rows, if any.

        `blocks` are all rows, `center` (p + q,) their mean, `dtype` their type.
        """
        C, ridge, p, eps = self.C, self.ridge, self.p, np.finfo(dtype).eps
        factors, rcond = by_cholesky(C, ridge, p)
        if factors is not None and rcond.min() >= _WELL_CONDITIONED[dtype]:
            return Factorisation(factors, whitened(C, factors, p), C, None, rcond, "cholesky")
        if blocks is not None:
            R = self.triangle(blocks, center)
            tol = max(n_rows, self.n_x, len(self.powers) - self.n_x) * eps
            factors, M = by_qr(R, ridge, p, tol, n_rows - 1)
            return Factorisation(factors, M, R.T @ R, R, rcond, "qr")
        factors = by_pivoted_cholesky(C, ridge, p, max(1000, len(C)) * eps)
        M = whitened(C, factors, p)
        return Factorisation(factors, M, C, None, rcond, "pivoted cholesky")

    def triangle(self, blocks: Blocks, center: np.ndarray) -> np.ndarray:
        """Return R with ``R'R = C`` from the rows, by QR of one block after the other."""
        kept, powers, R = self.kept, self.powers[self.kept], np.zeros((0, len(self.kept) + 1))
        unit = self.unit * np.sqrt(self.divisor)
        for rows, joined in blocks.joined():
            part = np.ones((len(joined), len(kept) + 1))
            np.subtract(joined[:, kept], center[kept], out=part[:, 1:])
            part[:, 1:] = np.ldexp(part[:, 1:], -powers) / unit
            if blocks.weight is not None:
                part *= np.sqrt(blocks.weight[rows])[:, None]
            R = np.linalg.qr(np.concatenate((R, part)), mode="r")
        return R[1:, 1:]  # the column of ones takes out what is left of the mean

    def in_units_of_the_data(
        self, pairs: CanonicalPairs, C: np.ndarray
    ) -> tuple["BlockOfVariates", "BlockOfVariates"]:
        """Return the directions of both blocks with their signs, and what follows from them.

        `C` are the covariances to all digits.
        """
        deviations = np.sqrt(C.diagonal())
        turn = signs(pairs.U * deviations[: self.p, None])
        x = self._block(pairs.U * turn, pairs.AU * turn, slice(self.p), deviations)
        y = self._block(pairs.V * turn, pairs.AV * turn, slice(self.p, None), deviations)
        return x, y

    def _block(self, directions, products, part, deviations):
        kept = self.kept[part]
        first, last = (self.n_x, len(self.powers)) if part.start else (0, self.n_x)
        unit, power = self.unit[part, None], self.powers[kept, None]
        ridge, deviations = self.ridge[part, None], deviations[part, None]
        covariances = products - ridge * directions
        variances = np.einsum("jk,jk->k", directions, covariances)
        deviation = np.sqrt(variances) if ridge.any() else 1.0
        weights, R = linalg.qr(directions * deviations, mode="economic")
        weights *= np.where(R.diagonal() < 0, -1.0, 1.0)
        loadings = np.clip(covariances / deviations / deviation, -1.0, 1.0)
        values = np.zeros((4, last - first, directions.shape[1]))  # 0 for features without variance
        values[:, kept - first] = (
            weights,
            np.ldexp(directions / unit, -power),
            loadings,
            np.ldexp(products * unit, power),
        )
        return BlockOfVariates(*values)

    def evidence(
        self, pairs: CanonicalPairs, C: np.ndarray, R: np.ndarray | None = None, eps: float = _EPS
    ) -> tuple[Any, ...]:
        """Return the largest ``|U'AU - I|``, of V too, and off the diagonal ``|U'C_xy V|``.

        Rounding errors are added: `eps` of the directions and of R, which changes a variate by that
        times ``sum_j |u_j|``, and without R (``R'R = C``) those of the covariances.
        """
        p, deviation, noises, variates = self.p, 0.0, [], []
        for W, part in ((pairs.U, slice(0, p)), (pairs.V, slice(p, None))):
            sums = float(np.abs(W).sum(axis=0).max())
            noise = _ROUNDINGS * eps * sums
            if R is None:
                products = C[:, part] @ W
                noise += _ROUNDINGS * _EPS * sums * sums
                product = W.T @ products[part]
            else:
                products = R[:, part] @ W
                product = products.T @ products
            product += W.T @ (self.ridge[part, None] * W)
            own = float(np.abs(product - np.eye(len(product))).max()) + 2 * noise
            deviation = max(deviation, own)
            noises.append(noise)
            variates.append(products)
        cross = pairs.U.T @ variates[1][:p] if R is None else variates[0].T @ variates[1]
        np.fill_diagonal(cross, 0.0)
        return deviation, float(np.abs(cross).max()) + sum(noises) * (len(cross) > 1)
