"""Partial Cholesky factor of a Gram matrix, and its inverse plus a multiple of the unit matrix."""

import numpy as np

from mlcore.kernels.span import Columns, random_pivots
from mlcore.runtime.threads import pieces, single_threaded_blas

# Rank of the partial factor: this times the root of n_samples, as its cost is then that of two or
# three products with the Gram matrix (0.75 of the time of a rank of 450 for 15,000 samples).
_LEAST_RANK, _RANK = 200, 7


def partial_factor(S: Columns, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return F (n, r) with F F' near S (n, n), for conjugate gradients."""
    rank = min(n, max(_LEAST_RANK, int(_RANK * n**0.5)))
    return random_pivots(S, rank, rng)[0]


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
