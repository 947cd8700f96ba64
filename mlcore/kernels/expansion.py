"""Sums of kernel values against vectors that stay the same from call to call."""

from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse

from mlcore.kernels.packed import Packed
from mlcore.kernels.rows import called
from mlcore.threads import single_threaded_blas

_VALUES = 1_000_000  # kernel values, or features, of a block of rows: some megabytes
_KEPT: WeakKeyDictionary[Any, tuple] = WeakKeyDictionary()  # model -> vectors, spec, expansion


class Expansion:
    """Vectors v_j laid out for sums_j a_j k(x, v_j), block of rows x by block.

    Parameters
    ----------
    V : ndarray or CSR (m, d)
    kernel : a name of `mlcore.kernels.gram.KERNELS`, or a callable
    gamma, degree, coef0 : the kernel's parameters
    """

    def __init__(
        self, V: Any, kernel: Any, *, gamma: float = 1.0, degree: int = 3, coef0: float = 0.0
    ) -> None:
        self._vectors, self._kernel, self._columns = V, kernel, None
        self._parameters = {"gamma": gamma, "degree": degree, "coef0": coef0, "dtype": V.dtype}
        if not callable(kernel) and V.shape[0] > 0:
            self._columns = Packed(V, kernel, **self._parameters).only_columns()

    def blocks(self, X: Any, width: int = 0) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield some rows of X, as a slice, and their kernel values against all vectors.

        `width` values for each row are what the caller makes of them.
        """
        V, columns, m = self._vectors, self._columns, self._vectors.shape[0]
        if callable(self._kernel) and sparse.issparse(X) != sparse.issparse(V):
            X, V = sparse.csr_array(X), sparse.csr_array(V)
        out = None
        for rows in row_blocks(X, max(m, width)):
            if m == 0:
                yield rows, np.empty((rows.stop - rows.start, 0))
            elif columns is None:
                yield rows, called(self._kernel, X[rows], V)
            else:
                packed = Packed(X[rows], self._kernel, **self._parameters, like=columns)
                if out is None:
                    out = np.empty((packed.n, m), V.dtype)
                order = np.arange(packed.n)
                packed.block(order, columns.columns(), out, order)
                yield rows, out[: packed.n]

    def sums(self, X: Any, A: np.ndarray) -> np.ndarray:
        """Return sum_j k(x_i, v_j) A[j, c] for each row of X, float64 (n, k)."""
        sums = np.empty((X.shape[0], A.shape[1]))
        for rows, values in self.blocks(X):
            sums[rows] = weighted(values, A)
        return sums


def kept_expansion(model: Any, V: Any, kernel: Any, **parameters: Any) -> Expansion:
    """Return the `Expansion` of a fitted model's vectors, laid out in its first call only.

    It lives as long as the model, beside it: no copy, pickle or saved file holds it. Other vectors
    or parameters make a new one; to change the values of these is refused by NumPy from now on.
    """
    spec = (kernel, *parameters.values())
    vectors, known, expansion = _KEPT.get(model, (None, None, None))
    if vectors is V and known == spec:
        return expansion
    for array in (V.data, V.indices, V.indptr) if sparse.issparse(V) else (V,):
        array.flags.writeable = False
    expansion = Expansion(V, kernel, **parameters)
    _KEPT[model] = V, spec, expansion
    return expansion


def kernel_sums(X, V, A, kernel, **parameters) -> np.ndarray:
    """Expansions sum_j k(x_i, v_j) A[j, c], without the matrix of kernel values.

    Parameters
    ----------
    X : ndarray or CSR (n, d)
    V : ndarray or CSR (m, d)
    A : float64 (m, k)
    kernel : a name of `KERNELS`, a callable, or "precomputed", when X is itself K (n, m)
    gamma, degree, coef0 : the kernel's parameters

    Returns
    -------
    sums : float64 (n, k)

    Notes
    -----
    O(n m (d + k)) time, O(m d) memory and blocks of some megabytes.
    """
    if not isinstance(kernel, str) or kernel != "precomputed":
        return Expansion(V, kernel, **parameters).sums(X, A)
    sums = np.empty((X.shape[0], A.shape[1]))
    for rows in row_blocks(X, len(A)):
        sums[rows] = weighted(X[rows], A)
    return sums


def row_blocks(X: Any, width: int) -> Iterator[slice]:
    """Yield the rows of X in turn, as many at once as have some megabytes of `width` values."""
    n = X.shape[0]
    stored = X.nnz // max(1, n) if sparse.issparse(X) else X.shape[1]
    step = max(1, _VALUES // max(1, width, stored))
    for start in range(0, n, step):
        yield slice(start, min(n, start + step))


def weighted(values: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Return values @ A in float64, the same bytes whatever the number of threads."""
    with single_threaded_blas():
        return values.astype(np.float64, copy=False) @ A
