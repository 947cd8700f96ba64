"""Objective of logistic regression per unit of weight, its gradient and Hessian."""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from mlcore.linear_model.logistic.logistic_pass import LogisticRows, LogisticSums

_FLAT = 1e-280  # curvatures of which rounding to the least numbers has left no digits
_OUTSIDE = 1e-9  # part of a vector outside of a range that vectors of the null space may feign


class Point(NamedTuple):
    """Parameters theta, (n_scores, d + 1), and the objective and its gradient there.

    Theta is in shifted and scaled columns, see `LogisticRows`; the intercepts are the last column.
    """

    theta: np.ndarray
    value: float
    gradient: np.ndarray
    sums: LogisticSums


def penalties(scale: np.ndarray, strength: float) -> np.ndarray:
    """Return the penalties of the parameters of a score, (d + 1,): 0 for the intercept.

    They are factors of ``theta_j^2 / 2``, in columns scaled by `scale` (d,).
    """
    penalty = np.zeros(len(scale))
    if strength > 0:
        with np.errstate(over="ignore", under="ignore"):
            penalty = np.minimum(strength * scale**2, 1e300)
    return np.append(penalty, 0.0)


def penalised_point(theta: np.ndarray, sums: LogisticSums, penalty: np.ndarray) -> Point:
    """Return the mean loss + ``1/2 sum_j penalty_j theta_j^2``, from sums at `theta`."""
    with np.errstate(over="ignore"):
        pull = penalty * theta
        value = sums.loss / sums.weight + 0.5 * float((pull * theta).sum())
    gradient = sums.gradient / sums.weight + pull
    return Point(theta, value, gradient, sums)


def hessian_of(point: Point, penalty: np.ndarray) -> np.ndarray:
    """Return the Hessian at a point with sums of it, (n_scores (d + 1), same)."""
    blocks, c = point.sums.hessian / point.sums.weight, len(point.theta)
    D = blocks.shape[-1]
    H = np.zeros((c, D, c, D))
    if c == 1:
        H[0, :, 0] = blocks[0]
    else:
        a, b = np.triu_indices(c, 1)
        H[a, :, b] = H[b, :, a] = -blocks
        classes = np.arange(c)
        H[classes, :, classes] = -H.sum(axis=2)
    each = np.arange(D)
    for k in range(c):
        H[k, each, k, each] += penalty
    return H.reshape(c * D, c * D)


class Objective:
    """Mean loss of rows in memory + ``1/2 sum_j penalty_j theta_j^2``.

    `strength` is 1 / (C times the weight of all rows), 0 without penalty.
    """

    strength: float
    penalty: np.ndarray
    n_passes: float
    rows: LogisticRows
    mean: Any
    deviation: Any

    l1_ratio: float = 0.0  # share of absolute values in the penalty

    def __init__(self, rows: LogisticRows, strength: float) -> None:
        self.rows, self.strength = rows, strength
        self.penalty = penalties(rows.scale, strength)
        self.n_passes = 0.0
        self._scores = self._scored = None
        self.mean = self.deviation = None

    def subgradient(self, point: Point) -> np.ndarray:
        """Return the subgradient of least norm, 0 at the minimum, (n_scores, d + 1)."""
        return point.gradient

    def measure(self) -> None:
        """Compute means and root mean squares of the columns, if not yet known."""
        if self.mean is None:
            moments = np.empty((2, self.rows.d + 1))
            self.at(np.zeros((self.rows.n_scores, self.rows.d + 1)), moments=moments)

    def _set_moments(self, moments):
        self.mean, squares = moments / self.rows.total
        if self.rows.intercept:
            squares = squares - self.mean**2
        else:
            self.mean = np.zeros_like(self.mean)
        squares[squares < 1e-20 * moments[1] / self.rows.total] = 0
        self.deviation = np.sqrt(np.maximum(squares, 0))
        self.deviation[-1] = 1.0

    def at(
        self,
        theta: np.ndarray,
        *,
        hessian: bool = False,
        stride: int = 1,
        moments: np.ndarray | None = None,
    ) -> Point:
        """Return the objective at `theta`, over every `stride`-th block of rows."""
        scores = None
        if stride == 1:
            if self._scores is None:
                self._scores = np.empty((self.rows.n, self.rows.n_scores))
            scores, self._scored = self._scores, theta
        if moments is None and self.mean is None and stride == 1:
            moments = np.empty((2, self.rows.d + 1))
        sums = self.rows.sums(theta, hessian=hessian, stride=stride, moments=moments, scores=scores)
        self.n_passes += 1 / stride
        if moments is not None:
            self._set_moments(moments)
        return penalised_point(theta, sums, self.penalty)

    def scores(self, theta: np.ndarray) -> np.ndarray:
        """Return the scores of all rows at `theta`, without a pass if the last one was there."""
        if self._scored is not theta:
            self.at(theta)
        return self._scores

    def gradient_norm(self, gradient: np.ndarray) -> float:
        """Return the largest component in columns centred and scaled to unit mean square."""
        self.measure()
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled = np.abs(gradient - self.mean * gradient[:, -1:]) / self.deviation
        scaled[:, -1] = np.abs(gradient[:, -1])
        scaled[:, self.deviation == 0] = 0
        return float(scaled.max())


class NewtonSystem:
    """Solutions of systems with the Hessian; their part in its null space is 0.

    Equal changes of all classes are filled up; other singular Hessians take their eigenvalues.
    """

    singular: bool

    def __init__(self, H: np.ndarray, n_scores: int) -> None:
        D = len(H) // n_scores
        H = H.reshape(n_scores, D, n_scores, D).copy()
        if n_scores > 1:
            for j in range(D):
                H[:, j, :, j] += H[:, j, :, j].trace() / n_scores**2
        H = H.reshape(n_scores * D, n_scores * D)
        diagonal = H.diagonal()
        self._kept = np.flatnonzero(diagonal > _FLAT)
        self._scale = 1 / np.sqrt(diagonal[self._kept])
        self._size = len(H)
        scaled = H[np.ix_(self._kept, self._kept)] * self._scale * self._scale[:, None]
        self.singular = False
        if scaled.size:
            # By LAPACK itself: SciPy's functions take longer than the work on few parameters.
            self._factor, failed = lapack.dpotrf(scaled, lower=1, clean=0)
            self.singular = failed > 0 or bool(np.abs(self._factor.diagonal()).min() < 1e-7)
        if self.singular:
            values, vectors = linalg.eigh(scaled)
            fine = values > len(values) * 1e-14 * values.max(initial=0.0)
            self._null = vectors[:, ~fine]
            self._vectors = vectors[:, fine]
            self._inverse = 1 / values[fine]

    def null_space(self) -> np.ndarray:
        """Return vectors that span the null space, in columns; not those filled up."""
        if not self.singular:
            return np.zeros((self._size, 0))
        out = np.zeros((self._size, self._null.shape[1]))
        out[self._kept] = self._scale[:, None] * self._null
        return out

    def is_regular(self) -> bool:
        """Return True if the Hessian has an inverse."""
        return not self.singular and len(self._kept) == self._size

    def misses(self, b: np.ndarray, error: np.ndarray) -> bool:
        """Return True if b (n_scores (d + 1),) has a part, beyond its error, outside of the range.

        Of such a part, as saturated probabilities leave it, solutions and decrements know nothing.
        """
        if self.is_regular():
            return False
        dropped = np.ones(self._size, bool)
        dropped[self._kept] = False
        if (np.abs(b[dropped]) > error[dropped]).any():
            return True
        if not self.singular:
            return False
        b, error = b[self._kept] * self._scale, error[self._kept] * self._scale
        allowed = np.abs(self._null.T) @ error + _OUTSIDE * np.linalg.norm(b)
        return bool((np.abs(self._null.T @ b) > allowed).any())

    def unit(self) -> np.ndarray:
        """Return by what to divide the inverse for that of the matrix of unit diagonal."""
        scale = np.ones(self._size)
        scale[self._kept] = self._scale
        return np.outer(scale, scale)

    def solve(self, b: np.ndarray) -> np.ndarray:
        """Return ``H^+ b`` for b (n_scores (d + 1),) or a matrix of such columns."""
        scale = self._scale if b.ndim == 1 else self._scale[:, None]
        b_scaled = b[self._kept] * scale
        if self.singular:
            inner = self._vectors.T @ b_scaled
            inverse = self._inverse if b.ndim == 1 else self._inverse[:, None]
            x = self._vectors @ (inner * inverse)
        elif not b_scaled.size:
            x = b_scaled
        else:
            x = lapack.dpotrs(self._factor, b_scaled, lower=1)[0]
        out = np.zeros(b.shape)
        out[self._kept] = x * scale
        return out
