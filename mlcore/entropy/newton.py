"""Newton's method on the dual ``psi(mu) = ln sum_i q_i exp(mu . h_i)`` of maximum entropy."""

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from mlcore.entropy.gibbs import Gibbs, Moments

_ARMIJO = 1e-4
_HALVINGS = 60
_LONGEST = 1e3  # step along an eigenvector of a singular covariance
_SLOPE = 1e-14  # gradient along it that may be rounding
_NEARLY_SINGULAR = 1e-9  # least pivot of a covariance with unit diagonal


class Undecided(Exception):
    """The iteration cannot go on, or behaves as if the minimum were not attained."""


class Dependent(Exception):
    """Features depend on each other, or nearly so."""


class Newton:
    """Newton's steps with Armijo's line search.

    `decrement` is the norm of the last step by the covariance before it.
    """

    decrement: float

    second_order = True
    default_max_iter = 200

    def __init__(self, gibbs: Gibbs, certain: bool):
        self.gibbs = gibbs
        self.certain = certain  # that the minimum is attained
        self.decrement = np.inf
        self._decrements: list[float] = []

    def step(self, mu: np.ndarray, at: Moments) -> tuple[np.ndarray, Moments, np.ndarray]:
        """Return the next mu, the sums there, and the directions (m, 2) that they were asked for.

        Raise `Dependent` if the covariance of coordinates that may depend on each other is nearly
        singular; `Undecided` if it is so otherwise, the decrement shrinks too slowly (unless it is
        `certain` that a minimum exists), or no step lowers psi.
        """
        root = inverse_root(at.covariance)
        if root is None:
            if self.gibbs.whiten is None:
                raise Dependent
            if not self.certain:
                raise Undecided
            root = _limited(at)
        reduced = root.T @ at.gradient
        self.decrement = decrement = float(np.sqrt(reduced @ reduced))
        self._watch(decrement)
        direction = -root @ reduced
        directions = np.column_stack([direction, -at.gradient])
        length = 1.0
        for _ in range(_HALVINGS):
            new = mu + length * direction
            there = self.gibbs.moments(new, directions)
            # Below this decrement the decrease is lost in the rounding of psi.
            fall = _ARMIJO * length * decrement**2
            if decrement < 1e-6 or there.dual <= at.dual - fall:
                return new, there, directions
            length /= 2
        raise Undecided

    def _watch(self, decrement):
        """Raise Undecided if the steps are those of a function without a minimum.

        Its decrement falls by a constant factor; near a minimum it falls quadratically.
        """
        self._decrements.append(decrement)
        last = self._decrements[-5:]
        if self.certain or len(last) < 5:
            return
        steady = all(b > 0.3 * a for a, b in zip(last, last[1:], strict=False))
        if len(self._decrements) > 30 or (steady and last[0] < 2 and last[-1] > 1e-7):
            raise Undecided


def inverse_root(covariance: np.ndarray) -> np.ndarray | None:
    """Return W with ``W W'`` the inverse of a covariance, or None if it is nearly singular."""
    diagonal = covariance.diagonal()
    if not len(diagonal):
        return np.zeros((0, 0))
    if diagonal.min() <= 0:
        return None
    unit = 1 / np.sqrt(diagonal)
    try:
        lower = cholesky(covariance * unit * unit[:, None], lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    if lower.diagonal().min() ** 2 < _NEARLY_SINGULAR:
        return None
    return unit[:, None] * solve_triangular(lower, np.eye(len(unit)), lower=True).T


def _limited(at):
    """Return W for a singular covariance with eigenvalues raised so that steps are limited.

    Steps are long where nearly all probability is at points that look alike. An eigenvalue is at
    least the slope along its eigenvector over the longest step, or 1 where that slope is small.
    """
    values, vectors = np.linalg.eigh(at.covariance)
    slopes = abs(at.gradient @ vectors)
    floors = np.where(slopes > _SLOPE, slopes / _LONGEST, 1.0)
    return vectors / np.sqrt(np.maximum(values, floors))
