"""One of the two views of kernel CCA: the principal components of its centred Gram matrix."""

from typing import Any, NamedTuple, Self

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from mlcore.decomposition.centered_gram import CenteredGram, warn_of_negative, warn_of_rounding
from mlcore.decomposition.dual_functions import without_mean
from mlcore.kernels.gram_rows import KernelRows
from mlcore.kernels.kernel import Kernel, of_numbers, precision
from mlcore.kernels.vector_kernels import resolve_gamma
from mlcore.numerics.eigen import largest_by_lapack
from mlcore.numerics.eigen.lapack import eigenpairs, stoppable

_EPS = float(np.finfo(np.float64).eps)
_ROUNDINGS = 4.0  # that add up in a sum of products, as random errors do
_FEW = 4  # a rank below n / _FEW is worth a Cholesky factor before the decomposition
_SMALL = 400  # rows of a matrix up to which all of its singular vectors are computed


class KernelView:
    """Functions of one view: its matrix S = Q diag(D) Q', and the ridge of its functions.

    Coefficients c have the values ``S c`` at the samples, times the roots of their weights, and
    squared norm ``c'S c``. True weights are 2^power times `w`. `alpha` is the ridge in units of S;
    `Q` (n, r) and `values` (r,), descending, are the eigenpairs above rounding; `shrinkage` (r,) is
    ``(D / (D + alpha))^(1/2)``.
    """

    alpha: float
    shrinkage: np.ndarray
    values: np.ndarray

    @classmethod
    def of(
        cls, samples: Any, kernel: Kernel, gamma: str | float, w: np.ndarray, **units: Any
    ) -> tuple[Self, float]:
        """Return the view of samples of positive weight w, and the number that `gamma` means."""
        unused = isinstance(gamma, str) and (kernel.precomputed or not of_numbers(samples))
        gamma = 0.0 if unused else resolve_gamma(gamma, samples, w)
        kernel = kernel.with_gamma(gamma)
        rows = kernel.rows(without_mean(samples, kernel, w / w.sum()), double=True)
        return cls(rows, w, eps=float(np.finfo(precision(samples)).eps), **units), gamma

    def __init__(
        self, rows: KernelRows, w: np.ndarray, alpha: float, power: int, eps: float
    ) -> None:
        self.S = S = CenteredGram(rows, w)
        self.power = power
        self.alpha = float(np.ldexp(alpha, -(power + S.power)))
        psd = bool(rows.kernel.positive_semidefinite)
        values, Q = (_by_cholesky(S) if psd else None) or _by_lapack(S)
        largest = max(values[0], 0.0)
        warn_of_rounding(S.hidden(largest), "KernelCCA")
        floor = 4 * S.rounding(largest)
        if eps > _EPS and alpha == 0:  # features in float32 depend on each other up to this
            floor = max(floor, (S.n * eps) ** 2 * largest)
        if not psd and values[-1] < -max(floor, S.n * eps * largest):
            warn_of_negative(rows.kernel, float(np.ldexp(values[-1], power + S.power)))
        kept = values > floor
        self.values, self.Q = values[kept], np.ascontiguousarray(Q[:, kept])
        self.shrinkage = np.sqrt(self.values / (self.values + self.alpha))

    @property
    def rank(self) -> int:
        """The number of eigenvalues above rounding."""
        return len(self.values)

    def copies(self) -> np.ndarray:
        """Return (n, n) bool, True where sample i has the image of an earlier sample j."""
        A = self.S.dense() / self.S.s
        A /= self.S.s[:, None]
        diagonal = A.diagonal().copy()
        A *= -2
        A += diagonal
        A += diagonal[:, None]
        return np.tril(A <= 64 * self.S.rounding(0.0) / self.S.total, -1)

    def coefficients(self, U: np.ndarray) -> np.ndarray:
        """Return ``Q (D (D + alpha))^(-1/2) U``, of functions f with w f² + alpha |f|² = U²."""
        scale = np.sqrt(self.values) * np.sqrt(self.values + self.alpha)
        return self.Q @ (U / scale[:, None])

    def functions(self, U: np.ndarray) -> "Functions":
        """Return the functions of coefficients U (r, k), in the basis of shrunk components.

        Their values have rounding errors of eps times the largest eigenvalue times |c|.
        """
        C = self.coefficients(U)
        values = self.S @ C
        product = values.T @ values + self.alpha * (C.T @ values)
        size = float(np.linalg.norm(C, axis=0).max())
        noise = _ROUNDINGS * _EPS * float(self.values[0]) * size
        deviation = float(np.abs(product - np.eye(C.shape[1])).max())
        deviation += noise * (2 + self.alpha * size)
        A = self.S.coefficients(C, np.ones(C.shape[1]))
        half = 2.0 ** (-self.power / 2)
        coef, intercept = np.ldexp(A, -self.S.power) * half, -(self.S.means @ A) * half
        return Functions(coef, intercept, values, noise, deviation)


class Functions(NamedTuple):
    """Functions ``A'k(x) + b`` of one view, and the evidence for them."""

    coef: np.ndarray  # (n, k): A
    intercept: np.ndarray  # (k,): b
    values: np.ndarray  # (n, k): at the samples, times the square roots of their weights
    noise: float  # rounding errors of these
    # ``|C'(S² + alpha S)C - I|`` for the coefficients C, and what rounding may hide
    deviation: float


def require_ranks(views: list[KernelView], owner: str) -> None:
    """Refuse a view that is constant, or without a ridge takes any values at the samples."""
    for name, view in zip("Xy", views, strict=True):
        if view.rank == 0:
            raise ValueError(
                f"{owner}: the samples of {name} are constant for their kernel: nothing "
                "correlates with them."
            )
    if all(view.alpha > 0 for view in views):
        return
    copies = views[0].copies() & views[1].copies()
    n_distinct = len(copies) - np.count_nonzero(copies.any(axis=1))
    for name, view in zip("Xy", views, strict=True):
        if view.alpha == 0 and view.rank >= n_distinct - 1:
            raise ValueError(
                f"{owner}: alpha=0, and functions of {name} take any values at {n_distinct} "
                f"samples (rank {view.rank}): they correlate perfectly with everything. Use "
                "alpha > 0."
            )


def leading_pairs(M: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the k leading left singular vectors of M, its singular values, and right vectors."""
    if min(M.shape) <= max(_SMALL, 2 * k):
        U, rho, Vt = stoppable(lambda: np.linalg.svd(M, full_matrices=False))
        return U[:, :k], rho[:k], Vt[:k].T
    if M.shape[0] < M.shape[1]:
        V, rho, U = leading_pairs(M.T, k)
        return U, rho, V
    squares = largest_by_lapack(stoppable(lambda: M.T @ M), k)[1]
    # Squaring costs half of the digits of small values; a decomposition of M V does not.
    U, rho, Vt = linalg.svd(M @ squares, full_matrices=False, check_finite=False)
    return U, rho, squares @ Vt.T


def _by_lapack(S):
    values, Q = eigenpairs(S.dense(), overwrite=True)
    return values[::-1], Q[:, ::-1]


def _by_cholesky(S):
    """Return the eigenpairs by a pivoted Cholesky factor, None where its rank is large.

    S must be positive semi-definite. What the factor leaves out is rounding.
    """
    tol = 32 / S.n * S.rounding(0.0)
    U, order, rank, _ = lapack.dpstrf(S.dense().T, tol=tol, lower=0, overwrite_a=1)
    if rank == 0:
        return np.zeros(1), np.zeros((S.n, 1))
    if rank > S.n // _FEW:
        return None
    F = np.zeros((S.n, rank))
    F[order - 1] = np.triu(U[:rank]).T
    Q, s, _ = stoppable(lambda: np.linalg.svd(F, full_matrices=False))
    return s * s, Q
