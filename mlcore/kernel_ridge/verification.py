"""Objective of a ridge function on given samples, and its distance from the minimum."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mlcore.estimator.verification import Verification
from mlcore.kernel_ridge.linear_system.system import EPS, RidgeSystem
from mlcore.kernels.expansion import Expansion, weighted
from mlcore.kernels.kernel import Kernel, as_double


@dataclass(frozen=True, repr=False)
class RidgeVerification(Verification):
    """Objective of a ridge function on given samples, and bounds of its distance from the best.

    Of several targets they are arrays (n_targets,).

    Parameters
    ----------
    objective : float
        P(f, b) on these data.
    duality_gap : float
        Upper bound of the objective less its minimum over all functions, rounding included.
    prediction_bound : float
        ``|f(x) + b - f*(x) - b*|``, for the minimiser f*, b* of these data, is at most this times
        ``k(x, x)^(1/2)``; with an intercept times the sum of that and the largest of a sample.

    Examples
    --------
    >>> from mlcore.kernel_ridge import KernelRidge, NystroemRidge
    >>> X, y = [[0.0], [0.5], [2.0]], [1.0, 2.0, 4.0]
    >>> one = NystroemRidge(kernel="rbf", n_centers=1, random_state=0).fit(X, y)
    >>> best, shown = KernelRidge(kernel="rbf").fit(X, y), one.verify(X, y)
    >>> round(shown.objective, 3), round(shown.duality_gap, 3), round(best.objective_, 3)
    (17.087, 14.797, 9.647)
    """

    prediction_bound: float | np.ndarray


def verified(
    system: RidgeSystem, kernel: Kernel, centers: Any, beta: np.ndarray, offset: np.ndarray, X: Any
) -> RidgeVerification:
    """Return the verification of ``f = sum_j beta_j k(c_j, .)`` and b, for k targets.

    With e = y - f - b, the dual point is ``nu = w e`` (with an intercept less ``w sum(nu) / W``),
    and the gap there is ``alpha |f - g|²``, ``g = sum_i nu_i k(x_i, .) / alpha``, plus ``W
    mean(e)²``. It bounds ``alpha |f - f*|²``. One product with K, computed in blocks.
    """
    S, u, units = system.S, system.u[:, None], system.units
    fit_intercept, rounding = system.fit_intercept, system.rounding
    n, alpha = S.n, units.penalties
    beta = np.ldexp(beta, units.kernel_power - units.target_power)
    b = np.ldexp(offset, -units.target_power) - system.center

    own = kernel.diagonal(as_double(X))
    norms = np.sqrt(np.maximum(np.ldexp(own, -units.kernel_power), 0.0))
    at_centers = centers if not kernel.precomputed else X[centers]
    expansion = Expansion(centers if kernel.precomputed else as_double(centers), kernel)

    def values_of_f(samples):
        f = np.empty((samples.shape[0], beta.shape[1]))
        for rows, values in expansion.blocks(as_double(samples)):
            f[rows] = weighted(np.ldexp(values, -units.kernel_power), beta)
        return f

    with np.errstate(over="ignore", invalid="ignore"):  # a bound that overflows is none
        # Errors of the fit, and the point of the dual problem that they make.
        f = values_of_f(X)
        error = system.right / u - f - b
        mean = np.zeros(len(b))
        if fit_intercept:
            mean = (u * u)[:, 0] @ error / system.total
        nu = u * u * (error - mean)
        g = (S @ (nu / u)) / u / alpha
        ff = np.einsum("ij,ij->j", beta, values_of_f(at_centers))
        squared = ff + np.einsum("ij,ij->j", nu, g - 2 * f) / alpha

        # Allowances for rounding, then the bounds.
        one = 2 * np.sqrt(n + len(beta)) * EPS
        own = kernel.diagonal(as_double(at_centers)) if not kernel.precomputed else own[centers]
        size = np.sqrt(np.maximum(np.ldexp(own, -units.kernel_power), 0.0)) @ np.abs(beta)
        total = np.abs(nu).sum(axis=0)
        terms = size + norms @ np.abs(nu) / alpha
        weights = np.abs(beta).sum(axis=0) + total / alpha
        squared = np.abs(squared) + one * terms**2 + rounding * weights**2
        slack = one * (np.abs(error).max(axis=0) + norms.max() * size) + rounding * weights
        distance = np.sqrt(squared)
        if fit_intercept:  # nu sums to 0 up to rounding
            distance += one * total / system.total * float(norms @ (u * u)[:, 0]) / alpha
            slack += np.abs(mean) + one * np.abs(b)
        gap = alpha * distance**2 + system.total * slack**2
        bound = np.sqrt(gap / alpha) + one * size
        if fit_intercept:
            bound += np.sqrt(gap / system.total) / (float(norms.max()) or 1.0)
        loss = np.einsum("ij,ij->j", u * error, u * error) + alpha * np.maximum(ff, 0.0)
    loss, gap, bound = (np.where(np.isnan(v), np.inf, v) for v in (loss, gap, bound))
    return RidgeVerification(
        np.ldexp(loss, units.square_power),
        np.ldexp(gap, units.square_power),
        np.ldexp(bound, units.target_power - units.kernel_power // 2),
    )
