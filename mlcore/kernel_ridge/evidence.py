"""Distance of a computed ridge function from the exact one, from its residual and rounding."""

from typing import NamedTuple

import numpy as np

from mlcore.kernel_ridge.linear_system.system import EPS, RidgeSystem, Solution


class Evidence(NamedTuple):
    """Bounds of the errors of a solution, for k targets.

    Attributes
    ----------
    gap : float64 (k,)
        Of the objective less its minimum.
    prediction : float64 (k,)
        B with ``|f(x) - f*(x)| <= B k(x, x)^(1/2)``; with an intercept, ``B (k(x, x)^(1/2) +
        max_i k(x_i, x_i)^(1/2))`` for f + b.
    """

    gap: np.ndarray
    prediction: np.ndarray


def evidence(
    system: RidgeSystem, found: Solution, penalties: np.ndarray, rounding: float
) -> Evidence:
    r"""Return bounds that allow for the rounding of kernel values and of sums.

    Parameters
    ----------
    system, found : the problem and its solution
    penalties : float64 (k,)
    rounding : float
        Of a kernel value.

    Notes
    -----
    With S = u K u, c the coefficients and r their residual, ``c - c* = -(S + alpha I)^-1 r``. So
    ``|f - f*|² = r' (S + alpha I)^-1 S (S + alpha I)^-1 r``, to which an eigenvalue s of S gives a
    factor ``s / (s + alpha)² <= 1 / (4 alpha)``: ``|f - f*| <= |r| / (4 alpha)^(1/2)``. With an
    intercept the same holds for S in the plane orthogonal to u. Rounding of kernel values and of
    sums of n terms changes r, and the prediction; n errors of mixed signs make at most 2 n^(1/2)
    of them with great certainty, and independent errors add by their squares.

    References
    ----------
    .. [1] N. Higham, T. Mary, *A new approach to probabilistic rounding error analysis*, SIAM
       Journal on Scientific Computing 41, 2019.
    """
    S, u = system.S, system.u[:, None]
    n = S.n
    norms = np.sqrt(np.maximum(S.diagonal, 0.0)) / system.u  # of the samples in feature space
    largest = float(norms.max()) or 1.0
    a = np.abs(u * found.coef)
    sums, total = norms @ a, a.sum(axis=0)
    one = 2 * np.sqrt(n) * EPS
    sizes = np.outer(norms, sums) ** 2 + (system.right / u) ** 2 + (penalties * a / u**2) ** 2
    if system.fit_intercept:  # coefficients sum to 0 up to rounding
        share = 4 * np.sqrt(np.einsum("ij,ij->j", a, a) / n) / system.total
        sizes += (np.outer(norms, float(norms @ system.u**2) * share) + penalties * share) ** 2
        sizes += (np.abs(system.center) + np.abs(found.intercept)) ** 2 / n
    sizes = np.sqrt(sizes)
    errors = u * (one * sizes + rounding * total)
    changed = np.sqrt(np.einsum("ij,ij->j", errors, errors))
    bound = one * sums + rounding * total / largest
    if system.fit_intercept:
        bound += (changed / np.sqrt(system.total) + one * np.abs(found.intercept)) / largest
    if not found.exact:  # without a residual: alpha |f - f*|² <= gap
        # The objective changes by the rounding of residuals and of |f|², the dual one likewise.
        more = changed * (2 * np.sqrt(found.objective) + changed)
        more += penalties * (rounding * total**2 + one * sums**2)
        gap = np.minimum(found.gap + rounding * found.weight, found.objective) + more
        distance = np.sqrt(gap)
    else:
        gap = (np.sqrt(found.gap) + changed) ** 2
        distance = 0.5 * np.sqrt(found.gap)
    with np.errstate(divide="ignore"):
        return Evidence(gap, bound + (distance + 0.5 * changed) / np.sqrt(penalties))
