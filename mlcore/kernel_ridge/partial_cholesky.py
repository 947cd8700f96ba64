"""Partial Cholesky factors of a Gram matrix, and what follows from them."""

import numpy as np
from scipy import linalg

from mlcore.kernel_ridge.gram_operator import GramOperator
from mlcore.threads import pieces, single_threaded_blas

_BLOCK = 64  # pivots drawn together


def random_pivots(S: GramOperator, rank: int, rng: np.random.Generator) -> np.ndarray:
    """Return F (n, r), r <= rank, with F F' near S and F F' <= S: S is positive semi-definite.

    Columns are drawn in blocks, with probabilities that are the diagonal of S - F F'. It ends early
    where that is rounding.

    Notes
    -----
    r columns of S are computed, and O(n r²) operations.

    References
    ----------
    .. [1] Y. Chen, E. Epperly, J. Tropp, R. Webber, *Randomly pivoted Cholesky*, Communications on
       Pure and Applied Mathematics 78, 2025 (arXiv:2207.06503).
    """
    left = S.diagonal.copy()
    n, total = len(left), float(left.sum())
    F, r = np.empty((n, min(rank, n)), order="F"), 0
    rounding = n * np.finfo(np.float64).eps * float(left.max())
    with single_threaded_blas():
        while r < F.shape[1] and left.sum() > np.finfo(np.float64).eps * total:
            count = min(_BLOCK, F.shape[1] - r)
            drawn = np.unique(rng.choice(n, size=count, p=left / left.sum()))
            G = S.columns(drawn)
            G -= F[:, :r] @ F[drawn, :r].T
            corner = 0.5 * (G[drawn] + G[drawn].T)
            values, vectors = linalg.eigh(corner, check_finite=False)
            good = values > rounding
            if not good.any():
                break
            new = G @ (vectors[:, good] / np.sqrt(values[good]))
            F[:, r : r + new.shape[1]] = new
            r += new.shape[1]
            left -= np.einsum("ij,ij->i", new, new)
            left[drawn] = 0.0
            np.maximum(left, 0.0, out=left)
    return F[:, :r]


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
