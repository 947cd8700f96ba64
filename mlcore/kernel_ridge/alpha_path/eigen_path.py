"""All ridge functions of one Gram matrix, for any alpha, from one eigendecomposition."""

import numpy as np
from scipy import linalg

from mlcore.kernel_ridge.alpha_path.alpha_path import AlphaPath, Fitted
from mlcore.kernel_ridge.alpha_path.search import best_alphas
from mlcore.kernel_ridge.linear_system.system import EPS, RidgeSystem
from mlcore.numerics.eigen.lapack import eigenpairs
from mlcore.runtime.threads import single_threaded_blas

_FEW_DIGITS = 1e-10  # alpha over the largest eigenvalue, below which errors of folds lose digits
_VALUES = 1_000_000  # eigenvector entries squared at a time


class EigenPath(AlphaPath):
    """Eigenvectors of S = Q diag(s) Q', and what follows for any alpha in O(n²).

    O(n³) time once. ValueError if S has a negative eigenvalue beyond rounding.
    """

    vectors: np.ndarray
    values: np.ndarray
    targets: np.ndarray
    ones: np.ndarray

    def __init__(self, system: RidgeSystem) -> None:
        super().__init__(system)
        n = system.S.n
        with single_threaded_blas():
            values, self.vectors = eigenpairs(system.S.dense(np.float64), overwrite=True)
            if values[0] < -n * EPS * max(-values[0], values[-1]):
                system.refuse(values[0])
            self.values = np.maximum(values, 0.0)
            self.targets = self.vectors.T @ system.right
            self.ones = self.vectors.T @ system.u

    def fitted(self, alpha: float, columns: np.ndarray) -> Fitted:
        coordinates, intercept, hv, total = self._coordinates(alpha, columns)
        with single_threaded_blas():
            diagonal = self._diagonal(1.0 / (self.values + alpha))
            if self.system.fit_intercept:
                diagonal -= (self.vectors @ hv) ** 2 / total
            energy, log = self._energy(alpha, columns, coordinates, total)
            return Fitted(self.vectors @ coordinates, intercept, diagonal, energy, log)

    def left_out(self, alpha: float, coef: np.ndarray, left: np.ndarray) -> np.ndarray | None:
        """Return the errors (m, k) of samples that are left out together, times u.

        `coef` (n, k) is that of `fitted`. O(n m² + m³) time. None where alpha is so small that
        they would have few digits.
        """
        if alpha < _FEW_DIGITS * self.values[-1]:
            return None
        rows, h = self.vectors[left], 1.0 / (self.values + alpha)
        with single_threaded_blas():
            half = rows * np.sqrt(h)
            G = half @ half.T  # NumPy computes one triangle alone
            if self.system.fit_intercept:
                hv = h * self.ones
                G -= np.outer(along := rows @ hv, along) / float(self.ones @ hv)
            return linalg.solve(G, coef[left], assume_a="pos", overwrite_a=True)

    def explained(self, k: np.ndarray, alpha: float) -> np.ndarray:
        h = 1.0 / (self.values + alpha)
        with single_threaded_blas():
            z = (k * self.system.u) @ self.vectors
            variance = z**2 @ h
            if self.system.fit_intercept:
                hv = h * self.ones
                variance -= (1 - z @ hv) ** 2 / float(self.ones @ hv)
        return variance

    def criterion(self, name: str, alpha: float, columns: np.ndarray) -> np.ndarray:
        if name == "loo":
            return super().criterion(name, alpha, columns)
        coordinates, _, hv, total = self._coordinates(alpha, columns)  # in O(n)
        if name == "gcv":
            trace = float((1.0 / (self.values + alpha)).sum())
            if self.system.fit_intercept:
                trace -= float(hv @ hv) / total
            return self._gcv(coordinates, trace)
        return self._likelihood(*self._energy(alpha, columns, coordinates, total))

    def _coordinates(self, alpha, columns):
        """Return Q'c (n, k), the intercepts, Q'M u and u'M u."""
        h = 1.0 / (self.values + alpha)
        coordinates = h[:, None] * self.targets[:, columns]
        intercept, hv = np.zeros(coordinates.shape[1]), h * self.ones
        total = float(self.ones @ hv)
        if self.system.fit_intercept:
            intercept = self.ones @ coordinates / total
            coordinates -= np.outer(hv, intercept)
        return coordinates, intercept, hv, total

    def _energy(self, alpha, columns, coordinates, total):
        """Return the energies and the log-determinant of `Fitted`."""
        log = float(np.log(self.values + alpha).sum())
        if self.system.fit_intercept:
            log += float(np.log(total))
        return np.einsum("ij,ij->j", coordinates, self.targets[:, columns]), log

    def _diagonal(self, h):
        """Return the diagonal of Q diag(h) Q'."""
        n, diagonal = len(h), np.empty(len(h))
        step = max(1, _VALUES // n)
        for start in range(0, n, step):
            part = slice(start, start + step)
            diagonal[part] = self.vectors[part] ** 2 @ h
        return diagonal

    def best_alphas(self, name: str) -> np.ndarray:
        """Return for each target the alpha of the least criterion, (k,)."""

        def criterion(alpha, columns):
            return self.criterion(name, alpha, columns)

        return best_alphas(criterion, float(self.values[-1]), self.targets.shape[1])
