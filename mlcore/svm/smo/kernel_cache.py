"""Rows of the kernel matrix that a solver keeps, within the ``cache_size`` of a model.

And the origin that is taken from samples far from 0, for models of inner products with a free
intercept: their multipliers add up to 0, so that a vector taken from all samples changes the
intercept only. An offset of many deviations would leave no digits of the inner products.
"""

from typing import Any

import numpy as np
from scipy import sparse

from mlcore.kernels.gram_rows import GramRows, KernelRows, padded
from mlcore.kernels.kernel import Kernel, as_double, of_numbers

_PROBE = 500  # rows that show where the samples are
_FEW = 20  # sparse rows that show that samples are near 0
_FAR = 64.0  # squared deviations: a nearer origin costs two digits at most


class KernelCache(GramRows):
    """Rows of K over all training samples, and the bound on a principal submatrix.

    `cache_size` is in megabytes, for rows, submatrix and packed samples together.
    """

    largest_submatrix: int

    LITTLE = 256 << 20  # bytes of a K of cheap values: up to this, all of it is computed at once
    SMALL = 2048  # samples: up to this, the submatrix of all is the only one that is needed

    def __init__(self, kernel: KernelRows, cache_size: float) -> None:
        n, size, self._cache_size = kernel.n, kernel.dtype.itemsize, cache_size
        budget = max(0.0, cache_size * 1e6 - kernel.nbytes)
        # The rest of the budget is for packed samples and the lists of a round. With too few rows,
        # or too small a submatrix, every round would fetch everything again.
        super().__init__(kernel, int(min(n, max(64, 0.66 * budget // (padded(n) * size)))))
        self.largest_submatrix = int(max(512, (0.25 * budget / size) ** 0.5))

    def of_samples(self, chosen: np.ndarray) -> "KernelCache":
        """Return rows between some of the samples, within the same bound."""
        return KernelCache(self.kernel.of_samples(chosen), self._cache_size)

    def complete(self, sharing: int = 1) -> None:
        """Compute and keep all of K, if it fits and that pays for `sharing` problems on it."""
        n = self.n
        little = not self.keeps and n * padded(n) * self.dtype.itemsize <= self.LITTLE
        if self.whole or self.capacity < n or not (sharing > 2 or n <= self.SMALL or little):
            return
        self.compute_first()


def far_origin(X: Any, kernel: Kernel) -> np.ndarray | None:
    """Return the mean (d,) of samples that are many deviations from 0; None for others.

    For sparse samples it is of the features that every row stores.
    """
    if not kernel.linear or not of_numbers(X):
        return None
    n = X.shape[0]
    if sparse.issparse(X):
        return _stored_origin(X)
    probe = X[:: max(1, n // _PROBE)].astype(np.float64)
    mean, square = _moments(probe)
    if not 1e-200 < square < 1e200:  # beyond the range of products of floats, or 0
        unit = float(np.abs(probe).max())
        if unit == 0:
            return None
        mean, square = _moments(probe / unit)
    if (1 + _FAR) * mean <= _FAR * square:
        return None
    return X.mean(axis=0, dtype=np.float64)


def _moments(X):
    """Return |mean of X|² and the mean of |x|²."""
    mean = np.add.reduce(X, axis=0) / len(X)
    return float(mean @ mean), float(np.einsum("ij,ij->", X, X)) / len(X)


def _stored_origin(X):
    n, d = X.shape
    if n >= 2 * _FEW and _stored_origin(X[:: n // _FEW]) is None:
        return None
    shared = _row(X, 0)
    for row in {n // 3, n // 2, n - 1}:
        shared = np.intersect1d(shared, _row(X, row))
    if len(shared) == 0:
        return None
    counts = np.bincount(X.indices, minlength=d)
    full = shared[counts[shared] == n]
    if len(full) == 0:
        return None
    columns = X[:, full].toarray().astype(np.float64)
    unit = float(np.abs(X.data).max())
    if unit == 0:
        return None
    mean, variance = columns.mean(axis=0) / unit, (columns / unit).var(axis=0).sum()
    stored = np.square(X.data / unit, dtype=np.float64).sum() / n
    rest = max(0.0, float(stored - np.square(columns / unit).sum() / n))
    if mean @ mean <= _FAR * (variance + rest):
        return None
    origin = np.zeros(d)
    origin[full] = mean * unit
    return origin


def _row(X, row):
    return X.indices[X.indptr[row] : X.indptr[row + 1]]


def less(X: Any, origin: np.ndarray | None) -> Any:
    """Return samples less `origin` in float64, stored as they are; X itself without an origin."""
    if origin is None:
        return X
    X = as_double(X)
    if not sparse.issparse(X):
        return X - origin
    return sparse.csr_array((X.data - origin[X.indices], X.indices, X.indptr), shape=X.shape)
