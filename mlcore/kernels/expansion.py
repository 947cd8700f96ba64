"""Kernel expansions sum_j a_j k(x, v_j) over fixed vectors v_j."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from mlcore.estimator.derived import cached
from mlcore.kernels.kernel import Kernel
from mlcore.runtime.threads import single_threaded_blas

_VALUES = 1_000_000  # kernel values, or features, of a block of rows: some megabytes


class Expansion:
    """Vectors v_j prepared for sum_j a_j k(x, v_j), one block of rows x at a time.

    V is (m, d), a result of `kernel.encode`, or the columns (m,) of a precomputed kernel.
    """

    def __init__(self, V: Any, kernel: Kernel) -> None:
        self._m, self._packed = V.shape[0], kernel.packed
        self._values = kernel.against(V) if self._m else None

    def blocks(self, X: Any, width: int = 0) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield slices of rows of X, and their kernel values against all vectors.

        `width` is the number of values per row that the caller computes: it bounds blocks too.
        """
        out = None
        for rows in row_blocks(X, max(self._m, width)):
            if self._values is None:
                yield rows, np.empty((rows.stop - rows.start, 0))
            else:
                values = self._values(X[rows], out)
                if self._packed and out is None:
                    out = values  # the first block is as large as any
                yield rows, values

    def values(self, X: Any) -> np.ndarray:
        """Return the kernel values of some rows with all vectors, (n, m)."""
        return self._values(X) if self._values is not None else np.empty((X.shape[0], 0))

    def sums(self, X: Any, A: np.ndarray) -> np.ndarray:
        """Return sum_j k(x_i, v_j) A[j, c] for each row of X, float64 (n, k)."""
        sums = np.empty((X.shape[0], A.shape[1]))
        for rows, values in self.blocks(X):
            sums[rows] = weighted(values, A)
        return sums


def kept_expansion(model: Any, V: Any, kernel: Kernel) -> Expansion:
    """Return the `Expansion` of a fitted model's vectors, cached from the first call on."""
    return cached(model, (V,), kernel, lambda: Expansion(V, kernel))


def row_blocks(X: Any, width: int) -> Iterator[slice]:
    """Yield slices of rows of X whose features, or `width` values each, take some megabytes."""
    n = X.shape[0]
    stored = X.nnz // max(1, n) if sparse.issparse(X) else X.shape[1]
    step = max(1, _VALUES // max(1, width, stored))
    for start in range(0, n, step):
        yield slice(start, min(n, start + step))


def weighted(values: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Return values @ A in float64, the same bytes whatever the number of threads."""
    with single_threaded_blas():
        return values.astype(np.float64, copy=False) @ A
