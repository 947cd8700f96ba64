"""All ridge functions of one Gram matrix, for any alpha, from one eigendecomposition."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg

from mlcore.kernel_ridge.system import EPS, RidgeSystem
from mlcore.threads import single_threaded_blas

CRITERIA = ("loo", "gcv", "likelihood")
_GRID = 50  # values of alpha from which the golden section starts
_DECADES = 12  # from the largest eigenvalue downwards
_SECTIONS = 40
_VALUES = 1_000_000  # eigenvector entries squared at a time
_GOLDEN = (np.sqrt(5.0) - 1) / 2


class Fitted(NamedTuple):
    """One ridge function for one target, in eigenvector coordinates.

    Attributes
    ----------
    coef : float64 (n,)
        c, where a = u c.
    intercept : float
    inverse_diagonal : float64 (n,)
        Of the matrix G that takes u y to c.
    degrees_of_freedom : float
        Trace of the map from targets to fitted values.
    """

    coef: np.ndarray
    intercept: float
    inverse_diagonal: np.ndarray
    degrees_of_freedom: float


class EigenPath:
    """Eigenvectors of S, and what follows from them for any alpha in O(n²).

    Parameters
    ----------
    system : RidgeSystem
        Its S has a stored Gram matrix.

    Raises
    ------
    ValueError
        If S has a negative eigenvalue beyond rounding.

    Notes
    -----
    O(n³) time once. S = Q diag(s) Q'. With h_i = 1 / (s_i + alpha) and v = Q'u, G = Q diag(h) Q',
    less, with an intercept, ``G u u' G / u' G u``.

    References
    ----------
    .. [1] G. Golub, M. Heath, G. Wahba, *Generalized cross-validation as a method for choosing a
       good ridge parameter*, Technometrics 21, 1979.
    .. [2] C. Rasmussen, C. Williams, *Gaussian Processes for Machine Learning*, 2006, chapter 5.
    """

    def __init__(self, system: RidgeSystem) -> None:
        self.system, n = system, system.S.n
        with single_threaded_blas():
            values, self.vectors = linalg.eigh(
                system.S.dense(np.float64), overwrite_a=True, check_finite=False, driver="evd"
            )
            if values[0] < -n * EPS * max(-values[0], values[-1]):
                system.refuse(values[0])
            self.values = np.maximum(values, 0.0)
            self.targets = self.vectors.T @ system.right
            self.ones = self.vectors.T @ system.u

    def at(self, alpha: float, target: int) -> Fitted:
        """Return the function of this alpha, above 0, for one target."""
        h = 1.0 / (self.values + alpha)
        coordinates, b = h * self.targets[:, target], 0.0
        with single_threaded_blas():
            diagonal = self._diagonal(h)
            freedom = float(self.values @ h)
            if self.system.fit_intercept:
                hv = h * self.ones
                total = float(self.ones @ hv)
                b = float(self.ones @ coordinates) / total
                coordinates = coordinates - b * hv
                diagonal = diagonal - (self.vectors @ hv) ** 2 / total
                freedom += alpha * float(hv @ hv) / total
            return Fitted(self.vectors @ coordinates, b, diagonal, freedom)

    def _diagonal(self, h):
        """Return the diagonal of Q diag(h) Q'."""
        n, found = len(h), np.empty(len(h))
        step = max(1, _VALUES // n)
        for start in range(0, n, step):
            part = slice(start, start + step)
            found[part] = self.vectors[part] ** 2 @ h
        return found

    def explained(self, k: np.ndarray, alpha: float) -> np.ndarray:
        """Return what the samples take from the variance of f at new ones, before the factor s².

        ``k' M k`` for each, M the inverse of K + alpha/w; with an intercept less
        ``(1 - k' M 1)² / 1' M 1``, the variance of b.

        Parameters
        ----------
        k : float64 (m, n)
            Kernel values of new samples with those of the fit.
        alpha : float
        """
        h = 1.0 / (self.values + alpha)
        with single_threaded_blas():
            z = (k * self.system.u) @ self.vectors
            found = z**2 @ h
            if self.system.fit_intercept:
                hv = h * self.ones
                found -= (1 - z @ hv) ** 2 / float(self.ones @ hv)
        return found

    def variance(self, alpha: float, target: int) -> float:
        """Return s² = (y - b)' a / n, the variance that makes the targets most likely.

        With an intercept the divisor is n - 1.
        """
        found = self.at(alpha, target)
        n = self.system.S.n - self.system.fit_intercept
        return max(float(found.coef @ self.system.right[:, target]), 0.0) / max(n, 1)

    def criterion(self, name: str, alpha: float, target: int) -> float:
        """Return the criterion whose minimum chooses alpha.

        "loo" is the weighted mean square of the leave-one-out errors, "gcv" generalised
        cross-validation, "likelihood" -2 log p of targets that are Gaussian with covariance
        ``s² (K + alpha / w)``, less a constant, at its best s²; with an intercept, of their
        contrasts (restricted likelihood).
        """
        system, n = self.system, self.system.S.n
        if name == "loo":
            found = self.at(alpha, target)
            errors = found.coef / found.inverse_diagonal
            return float(errors @ errors) / system.total
        h = 1.0 / (self.values + alpha)
        coordinates, trace = h * self.targets[:, target], float(h.sum())
        hv = h * self.ones
        total = float(self.ones @ hv)
        if system.fit_intercept:
            coordinates = coordinates - float(self.ones @ coordinates) / total * hv
            trace -= float(hv @ hv) / total
        if name == "gcv":
            return n * float(coordinates @ coordinates) / trace**2
        freedom = n - 1 if system.fit_intercept else n
        energy = max(float(coordinates @ self.targets[:, target]), 0.0) / freedom
        value = -float(np.log(h).sum())
        if system.fit_intercept:
            value += np.log(total)
        with np.errstate(divide="ignore"):
            return float(value + freedom * np.log(energy))

    def best_alpha(self, name: str, target: int) -> float:
        """Return the alpha that minimises the criterion: the best of 50, then golden section."""
        top = float(self.values[-1]) or 1.0
        grid = np.geomspace(top * 10.0**-_DECADES, 10 * top, _GRID)
        best = int(np.argmin([self.criterion(name, alpha, target) for alpha in grid]))
        low, high = np.log(grid[max(0, best - 1)]), np.log(grid[min(_GRID - 1, best + 1)])
        return float(np.exp(minimum(lambda t: self.criterion(name, np.exp(t), target), low, high)))


def minimum(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function of one minimum in an interval is least, by golden section."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(_SECTIONS):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = function(right)
    return left if at_left <= at_right else right
