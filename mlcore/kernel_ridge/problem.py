"""A ridge problem: samples, targets and weights as a linear system in safe units."""

from typing import Any, NamedTuple, Self

import numpy as np

from mlcore.kernel_ridge.linear_system.gram_operator import GramOperator
from mlcore.kernel_ridge.linear_system.system import RidgeSystem
from mlcore.kernel_ridge.units import Units
from mlcore.kernels.gram_rows import gram
from mlcore.kernels.kernel import Kernel, as_double


class Problem(NamedTuple):
    """The system of a fit, its units, and the rounding of a kernel value in these."""

    system: RidgeSystem
    units: Units
    rounding: float

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        samples: Any,
        y: np.ndarray,
        weight: np.ndarray,
        alphas: np.ndarray | str,
        fit_intercept: bool,
        stored: bool,
        name: str,
    ) -> Self:
        """Return the problem of checked samples of positive weight, y (n, k).

        `alphas` are those of the targets, or a criterion: then the penalties are 0. `stored` asks
        for the Gram matrix to be stored.
        """
        rows = kernel.rows(as_double(samples), double=True)
        rows.warn_if_indefinite("they have no feature space, and K + alpha/w may be singular")
        K = gram(rows) if stored else None
        given = np.zeros(y.shape[1]) if isinstance(alphas, str) else alphas
        units = Units.of(float(np.abs(rows.diagonal).max()), weight, y, given)
        u = np.sqrt(units.weight)
        S = GramOperator(rows, np.ldexp(u, -units.kernel_power // 2), K)
        system = RidgeSystem(S, u, units.targets, fit_intercept, name)
        return cls(system, units, float(np.ldexp(rows.rounding, -units.kernel_power)))

    def dual(self, coef: np.ndarray) -> np.ndarray:
        """Return the dual coefficients, in the units of the user, of c (n, k)."""
        power = self.units.target_power - self.units.kernel_power
        return np.ldexp(self.system.u[:, None] * coef, power)
