"""The origin of samples far from 0, for machines of inner products with a free intercept.

Their multipliers add up to 0, so that a vector taken from all samples changes the intercept only.
An offset of many deviations would leave no digits of the inner products of what differs.
"""

from typing import Any

import numpy as np
from scipy import sparse

from mlcore.kernels.kernel import Kernel, as_double, of_numbers

_PROBE = 500  # rows that show where the samples are
_FAR = 64.0  # squared deviations: a nearer origin costs two digits at most


def far_origin(X: Any, kernel: Kernel) -> np.ndarray | None:
    """Return the mean of samples that are many deviations from 0, float64 (d,); None for others.

    The mean of sparse samples is of the features that every row stores: a zero is itself a
    deviation.
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
