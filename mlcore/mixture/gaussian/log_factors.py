"""Means and log-Cholesky factors of Gaussians, and derivatives of log-densities in them."""

from typing import Any

import numpy as np

from mlcore.mixture.standard_errors import Coordinates


class LogFactors(Coordinates):
    """Means, and U of the precisions U U', upper triangular, with the logarithms of its diagonal.

    With d = x - m and y = U'd the log-density is sum(log U_bb) - y'y / 2. `means` (k, d); `factors`
    are (k, d, d), of diagonal covariances (k, d).
    """

    def __init__(self, means: np.ndarray, factors: np.ndarray) -> None:
        self._means, self._factors = means, factors
        k, d = means.shape
        full = factors.ndim == 3
        self._rows, self._columns = np.triu_indices(d) if full else (np.arange(d), np.arange(d))
        self.boundary = []
        self.names = [
            [f"means_[{j}, {a}]" for a in range(d)]
            + [
                f"log U[{j}, {a}, {a}]" if a == b else f"U[{j}, {a}, {b}]"
                for a, b in zip(self._rows, self._columns, strict=True)
            ]
            for j in range(k)
        ]

    def _factor(self, j):
        return self._factors[j] if self._factors.ndim == 3 else np.diag(self._factors[j])

    def block(self, X: np.ndarray) -> np.ndarray:
        if np.isnan(X).any():
            raise ValueError("standard errors of Gaussians take no missing values: X contains NaN.")
        return X.astype(np.float64)

    def log_densities(self, block: np.ndarray) -> np.ndarray:
        columns = []
        for j, mean in enumerate(self._means):
            U = self._factor(j)
            y = (block - mean) @ U
            columns.append(np.log(np.diag(U)).sum() - 0.5 * (y**2).sum(axis=1))
        return np.column_stack(columns)

    def scores(self, block: np.ndarray, j: int) -> np.ndarray:
        U, a, b = self._factor(j), self._rows, self._columns
        difference = block - self._means[j]
        y = difference @ U
        of_factor = -y[:, b] * difference[:, a] * self._units(U) + (a == b)
        return np.hstack([y @ U.T, of_factor])

    def _units(self, U):
        """Return dU/dt of each coordinate t: U itself for logarithms of the diagonal, else 1."""
        return np.where(self._rows == self._columns, U[self._rows, self._columns], 1.0)

    def information(self, block: np.ndarray, weight: np.ndarray, j: int) -> np.ndarray:
        U, a, b = self._factor(j), self._rows, self._columns
        difference, d, units = block - self._means[j], len(U), self._units(U)
        y = difference @ U
        squares = (difference.T * weight) @ difference
        # Minus the second derivatives, first in U itself: only one column of U is in each y_b.
        of_factors = np.where(b[:, None] == b, squares[np.ix_(a, a)], 0.0) * np.outer(units, units)
        diagonal = a == b
        cross_sum = ((y.T * weight) @ difference)[b, a]
        of_factors += np.diag(np.where(diagonal, units * cross_sum, 0.0))
        sums = weight @ difference, weight @ y
        of_both = -(U[:, b] * sums[0][a] + (np.arange(d)[:, None] == a) * sums[1][b]) * units
        of_means = weight.sum() * (U @ U.T)
        return np.block([[of_means, of_both], [of_both.T, of_factors]])

    def gradient(self, j: int) -> np.ndarray:
        return np.eye(self._means.shape[1], len(self.names[j]))

    def attributes(self, errors: np.ndarray) -> dict[str, Any]:
        return {"means": errors.T}
