"""Ridge functions of one Gram matrix for several alphas, and criteria that choose among them."""

from typing import Literal, NamedTuple, get_args

import numpy as np

from mlcore.estimator.printed import fields_as_table
from mlcore.kernel_ridge.linear_system.system import RidgeSystem

Criterion = Literal["loo", "gcv", "likelihood"]
CRITERIA = get_args(Criterion)


class RidgePath(NamedTuple):
    """Ridge functions for m penalties.

    With several targets, every array but `alphas` has an axis of targets more. With an intercept
    and the linear kernel the functions are of ``X - origin_``, as those of the model. The criteria
    count samples, whatever their weights: copies are samples of their own.

    Parameters
    ----------
    alphas : (m,)
    dual_coef : (m, n_samples)
    intercept : (m,)
    effective_dimension : (m,)
    loo : (m,)
        Weighted mean of the squared leave-one-out errors; of `NystroemRidge` of the samples that
        `path` was given, NaN without.
    gcv : (m,)
        Generalised cross-validation.
    likelihood : (m,)
        -2 log p of the targets as a Gaussian process, less a constant that does not depend on
        alpha; the least is best.

    Examples
    --------
    >>> from mlcore.kernel_ridge import KernelRidge
    >>> model = KernelRidge().fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 2.0])
    >>> model.path([0.5, 1.0]).effective_dimension.round(4)
    array([0.9655, 0.9333])
    """

    alphas: np.ndarray
    dual_coef: np.ndarray
    intercept: np.ndarray
    effective_dimension: np.ndarray
    loo: np.ndarray
    gcv: np.ndarray
    likelihood: np.ndarray

    __repr__ = fields_as_table


class Fitted(NamedTuple):
    """Ridge functions of one alpha for k targets, and what the criteria need.

    `coef` (n, k) is c, where a = u c; G takes u y to c: `inverse_diagonal` (n,) is its diagonal,
    `energy` (k,) is ``(u y)' G u y``. `intercept` (k,) is of targets less their mean.
    """

    coef: np.ndarray
    intercept: np.ndarray
    inverse_diagonal: np.ndarray
    energy: np.ndarray
    log_determinant: float


class AlphaPath:
    """Ridge functions of a system for any alpha above 0; a subclass solves it.

    With M the inverse of S + alpha I, G is M; with an intercept ``M - M u u' M / u' M u``. Sources:
    Golub, Heath, Wahba, *Generalized cross-validation*, Technometrics 21, 1979; Rasmussen,
    Williams, *Gaussian Processes for Machine Learning*, 2006, chapter 5.
    """

    def __init__(self, system: RidgeSystem) -> None:
        self.system = system

    def fitted(self, alpha: float, columns: np.ndarray) -> Fitted:
        """Return the functions of this alpha for these targets."""
        raise NotImplementedError

    def explained(self, k: np.ndarray, alpha: float) -> np.ndarray:
        """Return ``k' M k``, what the samples take from the variance of f, for each k (m, n).

        With an intercept less ``(1 - k' M 1)² / 1' M 1``, the variance of b.
        """
        raise NotImplementedError

    def degrees_of_freedom(self, alpha: float, fitted: Fitted) -> float:
        """Return the trace of the map from targets to fitted values."""
        return self.system.S.n - alpha * float(fitted.inverse_diagonal.sum())

    def energy(self, alpha: float, columns: np.ndarray) -> np.ndarray:
        """Return the energies of these targets, (k,)."""
        return self.fitted(alpha, columns).energy

    def criterion(self, name: str, alpha: float, columns: np.ndarray) -> np.ndarray:
        """Return the criterion whose minimum chooses alpha, (k,).

        "loo" is the mean square of leave-one-out errors, "gcv" generalised cross-validation,
        "likelihood" -2 log p of Gaussian targets (with an intercept, of their contrasts) at the
        best s².
        """
        return self.criterion_of(name, self.fitted(alpha, columns))

    def criterion_of(self, name: str, fitted: Fitted) -> np.ndarray:
        """Return the criterion of fitted functions, (k,)."""
        if name == "loo":
            errors = fitted.coef / fitted.inverse_diagonal[:, None]
            return np.einsum("ij,ij->j", errors, errors) / self.system.total
        if name == "gcv":
            return self._gcv(fitted.coef, float(fitted.inverse_diagonal.sum()))
        return self._likelihood(fitted.energy, fitted.log_determinant)

    def _gcv(self, coef, trace):
        coef = coef / trace  # before it is squared: a large alpha makes both small
        return self.system.S.n * np.einsum("ij,ij->j", coef, coef)

    def _likelihood(self, energy, log_determinant):
        with np.errstate(divide="ignore"):
            return log_determinant + self._contrasts * np.log(
                np.maximum(energy, 0.0) / self._contrasts
            )

    @property
    def _contrasts(self):
        return self.system.S.n - int(self.system.fit_intercept)
