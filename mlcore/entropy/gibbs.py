"""Gibbs distributions ``p_i = q_i exp(mu . h_i) / Z`` and the sums over points that fits need."""

from collections.abc import Iterator
from copy import copy
from typing import NamedTuple

import numpy as np

_BLOCK = 1 << 16  # values of features at a time, which stay in the cache
_EPS = np.finfo(np.float64).eps
# Share of the largest |f| or |c| by which a target may miss its features: rounding of sums.
_ROUNDING = 1e-13
_EQUAL = 64 * _EPS


class Moments(NamedTuple):
    """Sums over the points at one mu.

    `dual` is psi, ``ln sum_i q_i exp(mu . h_i)``; `gradient` (m,) the mean of h, `covariance` (m,
    m) or None; `highest` (1 + k,) the largest ``u . h_i`` for mu and the k directions asked for.
    """

    dual: float
    gradient: np.ndarray
    covariance: np.ndarray | None
    highest: np.ndarray


class Gibbs:
    """Points with features ``h = (f - c) / scale``, at most 1 in absolute value, and a prior.

    `points`, intp (n,), may have positive probability; the rest are (m,) by feature, unless said.
    `scale` is the largest ``|f_ij - c_j|``, 1 for `constant` features, whose differences are up to
    `floor`. `at_end`: targets at an end of their range, or outside; `slack`: the largest h that
    rounding explains; `lower`, `upper`: the range of h. `flatness` is the share of the largest
    range that counts as 0. `whiten` (m, r) maps h to independent coordinates; `null` (m, m - r)
    spans the orthogonal rest.
    """

    f: np.ndarray
    c: np.ndarray
    points: np.ndarray
    flatness: float
    null: np.ndarray
    log_prior: np.ndarray
    scale: np.ndarray
    floor: np.ndarray
    constant: np.ndarray
    at_end: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    slack: np.ndarray

    def __init__(
        self,
        f: np.ndarray,
        c: np.ndarray,
        log_prior: np.ndarray,
        points: np.ndarray,
        flatness: float = 0.0,
        floor: np.ndarray | float = 0.0,
    ):
        self.f, self.c, self.points, self.flatness = f, c, points, flatness
        self.whiten: np.ndarray | None = None
        self.null = np.zeros((len(c), 0))
        self._all = len(points) == len(f)
        self.log_prior = log_prior if self._all else log_prior[points]
        self.scale = np.ones(f.shape[1])
        low, high = np.full(len(c), np.inf), np.full(len(c), -np.inf)
        for _, h in self.blocks(offset=c):
            np.minimum(low, h.min(axis=0), out=low)
            np.maximum(high, h.max(axis=0), out=high)
        size = np.maximum(-low, high)
        self.floor = _ROUNDING * size
        rounding = _ROUNDING * np.maximum(np.maximum(abs(low + c), abs(high + c)), abs(c))
        rounding = np.maximum(rounding, floor)
        self.constant = size <= rounding
        # A target equals the end of its feature's range but for the rounding of these two numbers.
        self.at_end = ~self.constant & (
            (low > -_EQUAL * np.maximum(abs(low + c), abs(c)))
            | (high < _EQUAL * np.maximum(abs(high + c), abs(c)))
        )
        self.scale = np.where(self.constant, 1.0, size)
        self.lower, self.upper = low / self.scale, high / self.scale
        self.slack = rounding / self.scale + 4 * _EPS

    def blocks(self, offset: np.ndarray | None = None) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield blocks of h with their places among the points; each overwrites the one before.

        They are ``h @ whiten`` once that is known. With `offset`, they are ``f - offset``.
        """
        n, m = len(self.points), self.f.shape[1]
        step = max(64, _BLOCK // m)
        space = np.empty((min(step, n), m))
        for first in range(0, n, step):
            place = slice(first, min(first + step, n))
            h = space[: place.stop - first]
            rows = self.f[place] if self._all else self.f[self.points[place]]
            np.subtract(rows, self.c if offset is None else offset, out=h)
            if offset is None:
                h /= self.scale
                h[:, self.constant] = 0.0
                if self.whiten is not None:
                    h = h @ self.whiten
            yield place, h

    def moments(
        self, mu: np.ndarray, directions: np.ndarray | None = None, *, covariance: bool = True
    ) -> Moments:
        """Return the sums at mu; `directions` is (m, k).

        Weights are relative to the largest so far: one pass over the points, and no overflow.
        """
        m = len(mu)
        rows = mu[None] if directions is None else np.vstack([mu, directions.T])
        largest, total = -np.inf, 0.0
        first, second = np.zeros(m), np.zeros((m, m)) if covariance else None
        highest = np.full(len(rows), -np.inf)
        for place, h in self.blocks():
            scores = rows @ h.T
            np.maximum(highest, scores.max(axis=1), out=highest)
            z = scores[0] + self.log_prior[place]
            top = z.max()
            if top > largest:
                fall = np.exp(largest - top)
                total, first = total * fall, first * fall
                if covariance:
                    second *= fall
                largest = top
            weights = np.exp(z - largest)
            total += weights.sum()
            first += weights @ h
            if covariance:
                h *= np.sqrt(weights)[:, None]
                second += h.T @ h
        mean = first / total
        if covariance:
            second /= total
            second -= np.outer(mean, mean)
        return Moments(float(largest + np.log(total)), mean, second, highest)

    def probabilities(self, mu: np.ndarray) -> np.ndarray:
        """Return p (n,) of the points."""
        z = self.log_prior.copy()
        for place, h in self.blocks():
            z[place] += h @ mu
        p = np.exp(z - z.max())
        return p / p.sum()

    def proves(self, direction: np.ndarray, highest: float) -> bool:
        """Return whether ``direction . h_i <= highest`` for all points shows that no mean is 0."""
        return highest < -self.rounding_of(direction)

    def rounding_of(self, direction: np.ndarray) -> float:
        """Return how far from 0 rounding may move the mean of ``direction . h``."""
        size = abs(self.features_of(direction))
        return float(size @ self.slack + len(size) * _EPS * size.sum())

    def whitened(self) -> "Gibbs":
        """Return the same points in coordinates of h that do not depend on each other.

        QR of blocks of points tells nearly dependent features from dependent ones.
        """
        m = len(self.c)
        triangle = np.zeros((0, m))
        for _, h in self.blocks():
            triangle = np.linalg.qr(np.vstack([triangle, h]), mode="r")
        _, values, rows = np.linalg.svd(triangle)
        tolerance = max(max(len(self.points), m) * _EPS, self.flatness) * values.max(initial=0.0)
        rank = np.count_nonzero(values > tolerance)
        other = copy(self)
        unit = values[:rank] / np.sqrt(len(self.points))
        other.whiten, other.null = rows[:rank].T / unit, rows[rank:].T
        other._unwhiten = rows[:rank].T * unit
        return other

    def features_of(self, mu: np.ndarray) -> np.ndarray:
        """Return a vector of coefficients (r,) in the coordinates of the sums as one of h (m,)."""
        return mu if self.whiten is None else self.whiten @ mu

    def coordinates_of(self, mu: np.ndarray) -> np.ndarray:
        """Return coefficients (m,) of h as those (r,) in the coordinates of the sums."""
        return mu if self.whiten is None else self._unwhiten.T @ mu

    def residual(self, gradient: np.ndarray) -> float:
        """Return the largest mean of an h, from the means in the coordinates of the sums."""
        means = gradient if self.whiten is None else self._unwhiten @ gradient
        return float(abs(means).max(initial=0.0))
