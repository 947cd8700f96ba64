"""Rows of a Gram matrix, computed from a kernel and its samples where they are needed."""

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from mlcore.checks.errors import warn
from mlcore.kernels.packed import Packed
from mlcore.runtime.scratch import scratch_array

_PSD_SAMPLE = 64
_VALUES = 1_000_000  # kernel values of rows that are made symmetric together


class KernelRows:
    """Kernel values between the training samples, in blocks of rows.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray (n, d), CSR or what `kernel.encode` returns
    size : float
        Approximate size of the largest value.
    double : bool
        True for values in float64; otherwise they are in float32, where `size` allows.

    Attributes
    ----------
    n : int
        Samples.
    dtype : float32 or float64
        Of the values.
    diagonal : float64 (n,)
        k(x, x).
    linear : bool
        True if K b is X (X'b), so that no rows of K are needed.
    halves : bool
        True if `fill_all` takes half the work of `fill`, the kernel being known as symmetric.
    terms : float
        Products of two numbers that one value costs; infinite where that is not known.
    nbytes : int
        Memory taken beside the samples.
    selects : bool
        True if `of_samples` is there.
    distance : float
        Of the origin that a caller took from the samples.
    """

    linear = halves = selects = False
    terms = np.inf
    nbytes = 0
    distance = 0.0
    diagonal: np.ndarray

    def __init__(self, kernel: Any, X: Any, size: float, double: bool) -> None:
        self.kernel, self.n, self._X = kernel, X.shape[0], X
        single = not double and (size == 0 or 1e-30 < size < 1e30)
        self.dtype = np.dtype(np.float32 if single else np.float64)

    @cached_property
    def rounding(self) -> float:
        """Approximate size of the rounding errors in the values."""
        return float(np.finfo(self.dtype).eps) / 2 * float(np.abs(self.diagonal).max())

    def fill(
        self, rows: np.ndarray, out: np.ndarray, dest: np.ndarray, columns: np.ndarray | None = None
    ) -> None:
        """out[dest[r], :m] = k(x of rows[r], x of columns[c]); all n columns by default."""
        raise NotImplementedError

    def fill_all(self, out: np.ndarray, chosen: np.ndarray | None = None) -> None:
        """out[:m, :m] = K between the m chosen samples, all by default."""
        everything = np.arange(self.n) if chosen is None else chosen
        self.fill(everything, out, np.arange(len(everything)), chosen)

    def gram(self) -> np.ndarray:
        """Return the Gram matrix, float64 (n, n), C order, symmetric; a given one is not copied."""
        K = scratch_array((self.n, self.n), np.float64)
        self.fill_all(K)
        return K

    def are_equal(self) -> bool:
        """Return True if all samples are the same; objects are if their kernel values are."""
        X = self._X
        if sparse.issparse(X):
            return not (X - X[np.zeros(self.n, np.intp)]).count_nonzero()
        return not isinstance(X, np.ndarray) or X.dtype.kind == "O" or bool((X == X[:1]).all())

    def of_samples(self, chosen: np.ndarray) -> "KernelRows":
        """Return the kernel values between some of the samples, of the same type."""
        return type(self)(self.kernel, self._X[chosen], self.dtype == np.float64)

    def block(self, rows: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """Return K[rows][:, columns] as a new array."""
        m = self.n if columns is None else len(columns)
        out = np.empty((len(rows), m), dtype=self.dtype)
        self.fill(rows, out, np.arange(len(rows)), columns)
        return out

    def warn_if_indefinite(
        self, so: str = "the solution is a stationary point, and its duality gap no bound"
    ) -> None:
        """Warn of a kernel that is not positive semi-definite on some of the samples.

        `so` states the consequence. Kernels known to be positive semi-definite are not tested.
        """
        if self.kernel.positive_semidefinite:
            return
        sample = np.unique(np.linspace(0, self.n - 1, _PSD_SAMPLE).astype(np.intp))
        K = np.asarray(self.block(sample, sample), dtype=np.float64)
        slack = np.sqrt(np.finfo(self.dtype).eps) * np.abs(K).max()
        name = self.kernel.name
        if np.abs(K - K.T).max() > slack:
            warn("UserWarning", f"kernel {name!r} is not symmetric: k(x, y) differs from k(y, x).")
        elif np.linalg.eigvalsh(K)[0] < -slack:
            warn(
                "UserWarning",
                f"kernel {name!r} is not positive semi-definite on these samples: {so}.",
            )


class PackedRows(KernelRows):
    """Rows for a kernel of vectors, from samples packed for it."""

    selects = True

    def __init__(self, kernel: Any, X: np.ndarray | sparse.csr_array, double: bool) -> None:
        super().__init__(kernel, X, kernel.largest(X), double)
        self.d = X.shape[1]
        self._packed = Packed(X, kernel, dtype=self.dtype)
        self.diagonal = self._packed.diagonal
        self.linear = kernel.linear
        layout = self._packed.layout
        self.halves, self.nbytes = layout.halves, layout.nbytes
        self.terms = layout.terms_per_value

    @cached_property
    def rounding(self) -> float:
        return float(np.finfo(self.dtype).eps) / 2 * self._packed.condition

    def fill(self, rows, out, dest, columns=None):
        if len(rows) == 0:
            return
        rows = np.ascontiguousarray(rows, dtype=np.int64)
        dest = np.ascontiguousarray(dest, dtype=np.int64)
        self._packed.block(rows, self._packed.columns(columns), out, dest)
        if columns is None:
            out[dest, rows] = self.diagonal[rows]

    def fill_all(self, out, chosen=None):
        self._packed.symmetric(out, chosen)

    def add_weights(self, samples: np.ndarray, weights: np.ndarray, w: np.ndarray) -> None:
        """w += sum_s weights[s] x_s, float64 (d,); for the linear kernel."""
        self._packed.layout.combine(samples, weights, w)

    def expand(self, w: np.ndarray, out: np.ndarray) -> None:
        """out = X w, float64 (n,); for the linear kernel."""
        self._packed.layout.project(w, out)


class MatrixRows(KernelRows):
    """Rows of a matrix of kernel values."""

    def __init__(self, kernel: Any, K: np.ndarray, double: bool) -> None:
        super().__init__(kernel, K, max(K.max(), -K.min()), double)
        self.matrix = K
        self.diagonal = kernel.diagonal(K)

    def gram(self):
        return self.matrix

    def are_equal(self):
        return True  # as far as their kernel values tell

    def fill(self, rows, out, dest, columns=None):
        m = self.n if columns is None else len(columns)
        chosen = slice(None) if columns is None else columns
        for r, to in zip(rows, dest, strict=True):
            out[to, :m] = self.matrix[r, chosen]


class CalledRows(KernelRows):
    """Rows for a kernel that is called with blocks of samples."""

    selects = True

    def gram(self):
        """Return the Gram matrix, which is symmetric up to rounding before."""
        K = super().gram()
        step = max(1, _VALUES // self.n)
        for start in range(0, self.n, step):
            stop = start + step
            K[start:stop, :stop] += K[:stop, start:stop].T
            K[start:stop, :stop] *= 0.5
            K[:stop, start:stop] = K[start:stop, :stop].T
        return K

    _VALUES = 4_000_000  # of one call: bounds what a user's function returns

    def __init__(self, kernel: Any, X: Any, double: bool) -> None:
        self.diagonal = kernel.diagonal(X)
        super().__init__(kernel, X, np.abs(self.diagonal).max(), double)
        self.halves = kernel.halves

    def fill(self, rows, out, dest, columns=None):
        X = self._X if columns is None else self._X[columns]
        m = X.shape[0]
        step = max(1, self._VALUES // max(1, m))
        for start in range(0, len(rows), step):
            batch = slice(start, start + step)
            out[dest[batch], :m] = self.kernel.values(self._X[rows[batch]], X)

    def fill_all(self, out, chosen=None):
        if self.halves:
            X = self._X if chosen is None else self._X[chosen]
            out[: X.shape[0], : X.shape[0]] = self.kernel.values(X, X)
        else:
            super().fill_all(out, chosen)
