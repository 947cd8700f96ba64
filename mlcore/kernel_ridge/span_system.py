"""The ridge problem in the features of a span of kernel functions, from sums over rows."""

from typing import Any, NamedTuple

import numpy as np

from mlcore.checks import scaled_weights
from mlcore.checks.stored import stored
from mlcore.kernel_ridge.linear_system.cholesky import Cholesky
from mlcore.kernel_ridge.linear_system.system import EPS
from mlcore.kernels.kernel import as_double
from mlcore.kernels.span import Span
from mlcore.numerics.powers_of_two import even_exponent
from mlcore.numerics.scatter import ROWS, Scatter, merged_scatter, scatter_of
from mlcore.runtime.threads import single_threaded_blas


@stored(version=1)
class RowUnits(NamedTuple):
    """Units of the rows [phi y] of features and targets: powers of two, and an `origin` (m + k,).

    `several` is True if the targets are columns, False if they are a vector.
    """

    weight_power: int
    target_power: int
    origin: np.ndarray
    several: bool

    _stored = {
        "weight_power": "int",
        "target_power": "int",
        "origin": "float64 w",
        "several": "bool",
    }


def units_of(span: Span, X: Any, y: np.ndarray, weight: np.ndarray, several: bool) -> RowUnits:
    """Return the units of sums, from samples X (for a precomputed kernel, their rows), y (n, k)."""
    _, phi = next(span.features(as_double(X[:ROWS])))
    power = even_exponent(float(np.abs(y).max()))
    y = np.ldexp(y[: len(phi)], -power)
    origin = np.concatenate([phi.mean(axis=0), y.mean(axis=0)])
    return RowUnits(scaled_weights(weight)[1], power, origin, several)


@stored(version=1)
class SpanSums(NamedTuple):
    """Sums over weighted rows [phi y]: those of `Scatter`, and the number of rows."""

    weight: float
    mean: np.ndarray
    scatter: np.ndarray
    n_samples: int

    _stored = {
        "weight": "float",
        "mean": "float64 w",
        "scatter": "float64 w w",
        "n_samples": "count",
    }


def merged_sums(a: SpanSums, b: SpanSums) -> SpanSums:
    """Return the sums over the rows of both."""
    both = merged_scatter(Scatter(*a[:3]), Scatter(*b[:3]))
    return SpanSums(*both, a.n_samples + b.n_samples)


def sums_of(span: Span, units: RowUnits, X: Any, y: np.ndarray, weight: np.ndarray) -> SpanSums:
    """Return the sums over rows [phi(x) y] of positive weight, read once in blocks; y is (n, k)."""
    total = None
    weight = np.ldexp(weight, -units.weight_power)
    for rows, phi in span.features(as_double(X)):
        if not weight[rows].any():
            continue
        block = np.concatenate([phi, np.ldexp(y[rows], -units.target_power)], axis=1)
        part = scatter_of(block, weight[rows], units.origin)
        total = part if total is None else merged_scatter(total, part)
    return SpanSums(*total, len(weight))


class Solved(NamedTuple):
    """Coordinates `theta` (m, k) of the function of each target, and bounds (k,) of their errors.

    `distance` bounds |f - f*|, f* the minimiser in the span.
    """

    theta: np.ndarray
    intercept: np.ndarray
    gap: np.ndarray
    objective: np.ndarray
    distance: np.ndarray


class SpanSystem:
    """The ridge problem in the features of a span."""

    m: int
    fit_intercept: bool
    total: float
    n_samples: int
    mean: np.ndarray
    squares: np.ndarray

    def __init__(self, sums: SpanSums, origin: np.ndarray, m: int, fit_intercept: bool) -> None:
        self.m, self.fit_intercept, self.total = m, fit_intercept, sums.weight
        self.n_samples = sums.n_samples
        self.mean = origin + sums.mean
        S = sums.scatter
        if not fit_intercept:
            S = S + sums.weight * np.outer(self.mean, self.mean)
        self.A, self.C, self.squares = S[:m, :m], S[:m, m:], S.diagonal()[m:]
        # Sizes of the terms that were summed, and so of their rounding.
        raw = sums.scatter.diagonal() + sums.weight * sums.mean**2
        raw = np.maximum(raw, S.diagonal())
        self._sizes, self._target_sizes = np.sqrt(raw[:m]), np.sqrt(raw[m:])

    @property
    def n_contrasts(self) -> int:
        """Number of samples, less one for an intercept."""
        return self.n_samples - int(self.fit_intercept)

    def factor(self, alpha: float) -> Cholesky:
        """Return the factor of A + alpha I."""
        A = np.array(self.A, order="C")
        A.flat[:: self.m + 1] += alpha
        return Cholesky.of(A)

    def solve(self, alpha: float, columns: np.ndarray, span: Span) -> Solved:
        """Solve for these targets, with bounds that allow for rounding.

        With the residual ``rho = C - (A + alpha I) theta``, the objective is at most ``|rho|² /
        alpha`` above its minimum in the span, and ``|f - f*| <= |rho| / alpha``.
        """
        m, C, rounding = self.m, self.C[:, columns], span.rounding
        with single_threaded_blas():
            factor = self.factor(alpha)
            theta = factor.solve(C)
            theta += factor.solve(C - self.A @ theta - alpha * theta)
            residual = C - self.A @ theta - alpha * theta
            inverse = float(Cholesky(np.ascontiguousarray(span.L)).inverse_diagonal().sum())
        norms = np.sqrt(np.einsum("ij,ij->j", theta, theta))
        changes = 2 * np.sqrt(m) * (rounding + EPS) * inverse  # of L L' about K, largest value 1
        features = np.sqrt(m * inverse) * (rounding + 2 * EPS)  # of one sample
        one = 2 * np.sqrt(max(self.total, m)) * EPS
        targets = self._target_sizes[columns]
        size = float(np.sqrt(self._sizes @ self._sizes))
        root = np.sqrt(self.total)
        errors = one * size * (self._sizes @ np.abs(theta) + targets)
        errors += features * root * (targets + 2 * size * norms)
        errors += alpha * (changes + one) * norms
        rho = np.sqrt(np.einsum("ij,ij->j", residual, residual)) + errors
        gap = rho**2 / alpha
        objective = self.squares[columns] - np.einsum("ij,ij->j", theta, C + residual)
        objective = np.maximum(objective, alpha * norms**2)
        means = self.mean[:m], self.mean[m:][columns]
        intercept = means[1] - means[0] @ theta if self.fit_intercept else np.zeros(len(columns))
        distance = rho / alpha + (changes + one) * norms
        # Rounding of a prediction; norms of centres reach 1/2 at least.
        beta = np.abs(span.coefficients(theta)).sum(axis=0)
        distance += 2 * (np.sqrt(m) * EPS + rounding) * beta
        if self.fit_intercept:
            # A mean is rounded as the terms of its sum are, which may be far larger.
            terms = np.maximum(np.abs(means[1]), targets / root)
            shift = one * (np.abs(intercept) + terms) + features * norms
            gap += self.total * shift**2
            distance += 2 * shift
        return Solved(theta, intercept, gap, objective, distance)

    def effective_dimension(self, alpha: float) -> float:
        """Return the trace of the map from targets to fitted values."""
        diagonal = self.factor(alpha).inverse_diagonal()
        return self.m - alpha * float(diagonal.sum()) + float(self.fit_intercept)

    def energy(self, alpha: float, factor: Cholesky, columns: np.ndarray) -> np.ndarray:
        """Return ``y'a`` of these targets, (k,): the least objective is alpha times it."""
        C = self.C[:, columns]
        with single_threaded_blas():
            theta = factor.solve(C)
        objective = self.squares[columns] - np.einsum("ij,ij->j", theta, C)
        objective = np.maximum(objective, alpha * np.einsum("ij,ij->j", theta, theta))
        return objective / alpha

    def leverages(self, factor: Cholesky, phi: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return the derivatives of fitted values by their own targets, (n,), for features (n, m).

        ``w phi' (A + alpha I)^-1 phi``; with an intercept of phi less its mean, and w / W more.
        """
        if self.fit_intercept:
            phi = phi - self.mean[: self.m]
        with single_threaded_blas():
            z = factor.whitened(phi.T)
            squares = np.einsum("ij,ij->j", z, z)
        return weight * (squares + (1 / self.total if self.fit_intercept else 0.0))
