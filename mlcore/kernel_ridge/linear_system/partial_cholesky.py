"""Inverse of a partial Cholesky factor of a Gram matrix, plus a multiple of the unit matrix."""

import numpy as np

from mlcore.threads import pieces, single_threaded_blas


class LowRankInverse:
    """Products with (F F' + alpha I)^-1, the approximate inverse of S + alpha I."""

    def __init__(self, F: np.ndarray, alpha: float) -> None:
        self._F, self._alpha = F, alpha
        n, rank = F.shape
        inner = np.zeros((rank, rank))
        with single_threaded_blas():
            for first, last in pieces(n, rank**2):
                inner += F[first:last].T @ F[first:last]
            values, self._vectors = np.linalg.eigh(inner)
        self._inverse = 1.0 / (np.maximum(values, 0.0) + alpha)

    def __call__(self, V: np.ndarray) -> np.ndarray:
        """Return the product with V (n, k)."""
        with single_threaded_blas():
            inner = self._vectors.T @ (self._F.T @ V)
            inner = self._vectors @ (self._inverse[:, None] * inner)
            return (V - self._F @ inner) / self._alpha
