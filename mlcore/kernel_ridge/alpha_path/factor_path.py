"""Ridge functions for a few alphas, each from one Cholesky factor."""

from typing import NamedTuple

import numpy as np

from mlcore.kernel_ridge.alpha_path.alpha_path import AlphaPath, Fitted
from mlcore.kernel_ridge.alpha_path.eigen_path import EigenPath
from mlcore.kernel_ridge.linear_system.cholesky import Cholesky
from mlcore.kernel_ridge.linear_system.system import EPS, RidgeSystem
from mlcore.runtime.memory import require_memory
from mlcore.runtime.threads import single_threaded_blas

EIGEN_BYTES = 40  # of each entry of K: its value, those of the eigenvectors, and what LAPACK needs
FACTOR_BYTES = 24  # its value, that of the factor, and a copy while it is made


class _Factored(NamedTuple):
    """The factor for an alpha, and what it shares among the targets."""

    alpha: float
    factor: Cholesky
    diagonal: np.ndarray  # of G, (n,)
    ones: np.ndarray  # M u, (n,)
    total: float  # u' M u
    log_determinant: float


class FactorPath(AlphaPath):
    """Factors of S + alpha I in float64, of which the last is kept; the Gram matrix is stored.

    Eigenvectors replace one that fails. 2 n³ / 3 operations for each alpha.
    """

    def __init__(self, system: RidgeSystem) -> None:
        super().__init__(system)
        self._last: _Factored | None = None
        self._eigen: EigenPath | None = None

    def fitted(self, alpha: float, columns: np.ndarray) -> Fitted:
        system, last = self.system, self._factored(alpha)
        if last is None:
            return self._eigen.fitted(alpha, columns)
        right = system.right[:, columns]
        with single_threaded_blas():
            coef, intercept = last.factor.solve(right), np.zeros(right.shape[1])
            if system.fit_intercept:
                intercept = system.u @ coef / last.total
                coef -= np.outer(last.ones, intercept)
            energy = np.einsum("ij,ij->j", coef, right)
        return Fitted(coef, intercept, last.diagonal, energy, last.log_determinant)

    def explained(self, k: np.ndarray, alpha: float) -> np.ndarray:
        system, last = self.system, self._factored(alpha)
        if last is None:
            return self._eigen.explained(k, alpha)
        k = k * system.u
        with single_threaded_blas():
            z = last.factor.whitened(k.T)
            variance = np.einsum("ij,ij->j", z, z)
            if system.fit_intercept:
                variance -= (1 - k @ last.ones) ** 2 / last.total
        return variance

    def _factored(self, alpha):
        """Return the factor for this alpha; None if there is none, and eigenvectors instead."""
        if self._last is not None and self._last.alpha == alpha:
            return self._last
        system, self._last = self.system, None  # freed before the next
        if self._eigen is not None:
            return None
        with single_threaded_blas():
            matrix = system.S.plus(alpha).dense(np.float64)
            norm = float(np.abs(matrix).sum(axis=0).max())
            factor = Cholesky.of(matrix)
            matrix = None
            if factor is None or factor.reciprocal_condition(norm) <= len(factor.L) * EPS:
                factor = None
                self._eigen = EigenPath(system)
                return None
            diagonal, log = factor.inverse_diagonal(), 2 * float(np.log(factor.L.diagonal()).sum())
            ones, total = np.zeros(0), 0.0
            if system.fit_intercept:
                ones = factor.solve(system.u[:, None])[:, 0]
                total = float(system.u @ ones)
                diagonal -= ones**2 / total
                log += np.log(total)
        self._last = _Factored(alpha, factor, diagonal, ones, total, log)
        return self._last


def path_for(system: RidgeSystem, n_alphas: int) -> AlphaPath:
    """Return the quickest path for so many alphas."""
    return EigenPath(system) if by_eigenvectors(system.S.n, n_alphas) else FactorPath(system)


def by_eigenvectors(n: int, n_alphas: float) -> bool:
    """Return True if the eigenvectors of n samples take less time than a factor for each alpha.

    They take that of 6, 7 and 10 factors for 1000, 2000 and 4000 samples.
    """
    return n_alphas >= (7 if n < 3000 else 10)


def require_path(n: int, n_alphas: float) -> None:
    """Raise MemoryError if the path of so many alphas does not fit."""
    eigen = by_eigenvectors(n, n_alphas)
    what = "its eigenvectors" if eigen else "a factor of it"
    require_memory(
        n, n, EIGEN_BYTES if eigen else FACTOR_BYTES,
        what=f"the Gram matrix, with {what} and work memory,",
        instead="fit fewer samples, or choose alpha by held-out ones",
    )  # fmt: skip
