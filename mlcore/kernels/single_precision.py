"""A matrix in single precision, for a search whose result is computed in double precision."""

from typing import Any

import numpy as np

from mlcore._ext.kernels import single_precision as _ext
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, pieces


class Single:
    """A symmetric matrix in float32, times vectors in float32: quick, and rough.

    K (n, n) is in C order, its largest entries about 1.
    """

    n: Any

    sparse = False

    def __init__(self, K: np.ndarray) -> None:
        self.K, self.n = K, K.shape[0]

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        """Return the product with V (n, m), float64; the same bytes for any number of threads."""
        m = V.shape[1]
        vectors = np.zeros((self.n, -(-m // _ext.WIDTH) * _ext.WIDTH), np.float32)
        vectors[:, :m] = V
        out = np.empty_like(vectors)
        for first, last in pieces(self.n, vectors.size):
            threads = effective_threads((last - first) * vectors.size)
            _ext.product(self.K, vectors, out, first, last, threads)
        return out[:, :m].astype(np.float64)


def centered_single(K: np.ndarray, means: np.ndarray, mean: float, scale: np.ndarray) -> Single:
    """Return ``diag(scale) (K - means 1' - 1 means' + mean) diag(scale)``, rounded to float32.

    K (n, n), float32 or float64, is in C order; `means` and `scale` are float64 (n,).
    """
    n = len(K)
    out = scratch_array((n, n), np.float32)
    for first, last in pieces(n, 4 * n):
        threads = effective_threads(4 * n * (last - first))
        _ext.centered(K, means, scale, mean, out, first, last, threads)
    return Single(out)
