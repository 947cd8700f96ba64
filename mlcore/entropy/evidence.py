"""Bound on the duality gap of maximum entropy, and the multipliers of least norm."""

import numpy as np

from mlcore.entropy.gibbs import Gibbs, Moments
from mlcore.entropy.newton import inverse_root

_EPS = np.finfo(np.float64).eps
_SMALL = 0.1


def evidence(gibbs: Gibbs, mu: np.ndarray, at: Moments) -> tuple[float, np.ndarray]:
    """Return a bound on the duality gap, and the multipliers of f that belong to mu."""
    root = inverse_root(at.covariance)
    if root is None and gibbs.whiten is None:
        gibbs = gibbs.whitened()
        mu = gibbs.coordinates_of(mu)
        at = gibbs.moments(mu)
        root = inverse_root(at.covariance)
    of_features = gibbs.features_of(mu)
    gap = abs(float(mu @ at.gradient)) + _rounding(gibbs, of_features)
    gap += np.inf if root is None else _excess(gibbs, at.gradient, root)
    return gap, _least_norm(of_features / gibbs.scale, gibbs.scale, gibbs.null)


def _excess(gibbs, gradient, root):
    """Return a bound on how far psi is above its minimum, infinite if there is none.

    Along any line the third derivative of psi is at most the range of the scores' change times the
    second. So with the decrement delta and the diameter rho of the points in the norm of the
    inverse covariance, it is at most ``(u + (1 - u) ln(1 - u)) / rho²`` for u = rho delta < 1.
    """
    reduced = gradient @ root
    delta = float(np.linalg.norm(reduced))
    if delta == 0:
        return 0.0
    # Twice the largest distance from the mean is at least the diameter; mostly a bound of that
    # by norms is enough, which needs no pass over the points.
    size = np.sqrt(len(gibbs.c)) if gibbs.whiten is None else np.inf
    u = 2 * np.linalg.norm(root, 2) * (size + np.linalg.norm(gradient)) * delta
    if u >= _SMALL:
        farthest = 0.0
        for _, h in gibbs.blocks():
            z = h @ root - reduced
            farthest = max(farthest, float(np.einsum("ij,ij->i", z, z).max()))
        u = 2 * np.sqrt(farthest) * delta
    if u >= 1:
        return np.inf
    # u²/2 + u³/6 + u⁴/12 + ... is at most u²/2 (1 + u) while u is small.
    share = (1 + u) / 2 if u < _SMALL else (u + (1 - u) * np.log1p(-u)) / u**2
    return float(share * delta**2)


def _rounding(gibbs, mu):
    """Return how far rounding may move psi and the relative entropy."""
    scores = abs(mu).sum() * (len(mu) + 4) + abs(gibbs.log_prior).max() + np.log(len(gibbs.points))
    return float(4 * _EPS * (scores + 4))


def _least_norm(multipliers, scale, null):
    """Return the multipliers without what changes no probability."""
    if not null.shape[1]:
        return multipliers
    null = null / scale[:, None]
    null = np.linalg.qr(null / abs(null).max(axis=0))[0]
    return multipliers - null @ (null.T @ multipliers)
