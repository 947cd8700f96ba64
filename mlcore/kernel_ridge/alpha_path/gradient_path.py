"""Ridge functions by conjugate gradients, for a Gram matrix that is not stored."""

import numpy as np

from mlcore.checks.errors import warn
from mlcore.kernel_ridge.alpha_path.alpha_path import AlphaPath, Fitted
from mlcore.kernel_ridge.linear_system.partial_cholesky import LowRankInverse
from mlcore.kernel_ridge.linear_system.system import EPS, RidgeSystem
from mlcore.numerics.conjugate_gradients import solve_columns

_VALUES = 8_000_000  # of the right sides solved together
_RELATIVE = 1e-10  # error of a quadratic form, and of coefficients
_STEPS = 1000


class GradientPath(AlphaPath):
    """Solutions by conjugate gradients with a partial factor F of S.

    The diagonal of the inverse takes n right sides, in blocks: O(n³) time a step.
    """

    def __init__(self, system: RidgeSystem, F: np.ndarray) -> None:
        super().__init__(system)
        self._F = F
        self._last: tuple[float, np.ndarray] | None = None

    def fitted(self, alpha: float, columns: np.ndarray) -> Fitted:
        system = self.system
        coef, intercept, ones, total = self._coefficients(alpha, columns)
        if self._last is None or self._last[0] != alpha:
            self._last = alpha, self._diagonal(alpha)
        diagonal = self._last[1]
        if system.fit_intercept:
            diagonal = diagonal - ones**2 / total
        energy = np.einsum("ij,ij->j", coef, system.right[:, columns])
        return Fitted(coef, intercept, diagonal, energy, np.nan)

    def energy(self, alpha: float, columns: np.ndarray) -> np.ndarray:
        coef = self._coefficients(alpha, columns)[0]
        return np.einsum("ij,ij->j", coef, self.system.right[:, columns])

    def _coefficients(self, alpha, columns):
        """Return c, the intercepts, M u and u'M u."""
        system = self.system
        both = np.column_stack([system.right[:, columns], system.u])
        both = self._solve(alpha, both, quadratic=False)
        coef, ones = both[:, :-1], both[:, -1]
        intercept, total = np.zeros(coef.shape[1]), float(system.u @ ones)
        if system.fit_intercept:
            intercept = system.u @ coef / total
            coef = coef - np.outer(ones, intercept)
        return coef, intercept, ones, total

    def _diagonal(self, alpha):
        """Return the diagonal of (S + alpha I)^-1."""
        n, step = self.system.S.n, self._at_once
        diagonal = np.empty(n)
        for start in range(0, n, step):
            part = np.arange(start, min(n, start + step))
            unit = np.zeros((n, len(part)))
            unit[part, part - start] = 1.0
            diagonal[part] = self._solve(alpha, unit)[part, part - start]
        return diagonal

    def explained(self, k: np.ndarray, alpha: float) -> np.ndarray:
        system, variance = self.system, np.empty(len(k))
        k = k * system.u
        for start in range(0, len(k), self._at_once):
            part = slice(start, start + self._at_once)
            B = np.ascontiguousarray(k[part].T)
            variance[part] = np.einsum("ij,ij->j", B, self._solve(alpha, B))
        if system.fit_intercept:
            ones, total = self._coefficients(alpha, np.arange(0))[2:]
            variance -= (1 - k @ ones) ** 2 / total
        return variance

    @property
    def _at_once(self):
        return max(1, _VALUES // self.system.S.n)

    def _solve(self, alpha, B, quadratic=True):
        """Return (S + alpha I)^-1 B, precise as quadratic forms, or else in each value."""
        A = self.system.S.plus(alpha)
        sides = np.sqrt(np.einsum("ij,ij->j", B, B))

        def small(X, R, largest):
            residual = np.sqrt(np.einsum("ij,ij->j", R, R))
            length = np.sqrt(np.einsum("ij,ij->j", X, X))
            wanted = _RELATIVE * alpha * length
            if quadratic:
                form = np.maximum(np.einsum("ij,ij->j", X, B), 0.0)
                wanted = np.sqrt(_RELATIVE * alpha * form)
            return residual <= np.maximum(wanted, 4 * EPS * (largest * length + sides))

        solution = solve_columns(A.__matmul__, B, LowRankInverse(self._F, alpha), small, _STEPS)
        if not solution.definite:
            self.system.refuse(None)
        if not solution.converged:
            warn(
                "ConvergenceWarning",
                f"{self.system.name}: conjugate gradients stopped after {_STEPS} steps; what "
                "rests on all samples is less precise. Raise alpha.",
            )
        return solution.X
