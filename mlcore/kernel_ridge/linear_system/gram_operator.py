"""Products with a scaled Gram matrix plus a multiple of the unit matrix."""

import copy

import numpy as np

from mlcore.kernels.expansion import weighted
from mlcore.kernels.kernel_rows import KernelRows
from mlcore.numerics.eigen import times
from mlcore.runtime.scratch import scratch_array

_VALUES = 1_000_000  # kernel values of a block of rows: some megabytes
_CHUNKS, _LEAST_WIDTH = 16, 1024  # of columns, where each value is computed once: 9/16 of the work


class GramOperator:
    """The matrix ``diag(u) K diag(u) + alpha I``; K is stored, or computed in blocks of rows.

    Parameters
    ----------
    rows : KernelRows
        In float64.
    u : float64 (n,)
    K : float64 (n, n), optional
        The Gram matrix, where it is stored.
    alpha : float
    """

    def __init__(
        self,
        rows: KernelRows,
        u: np.ndarray,
        K: np.ndarray | None = None,
        alpha: float = 0.0,
    ) -> None:
        self.rows, self.K, self.alpha = rows, K, alpha
        self.u = None if (u == 1).all() else u
        self.n = rows.n

    def plus(self, alpha: float) -> "GramOperator":
        """Return the same matrix with this multiple of the unit matrix."""
        operator = copy.copy(self)
        operator.alpha = alpha
        return operator

    @property
    def diagonal(self) -> np.ndarray:
        """The diagonal without alpha, float64 (n,)."""
        diagonal = self.rows.diagonal if self.K is None else self.K.diagonal()
        return diagonal * (1.0 if self.u is None else self.u**2)

    @property
    def fits_single(self) -> bool:
        """True if float32 holds the matrix, whose largest entries are on the diagonal."""
        largest = float(self.diagonal.max(initial=0.0)) + self.alpha
        return 1e-30 < largest < 1e30

    def columns(self, chosen: np.ndarray) -> np.ndarray:
        """Return these columns without alpha, float64 (n, len(chosen)), Fortran order."""
        if self.K is None:
            block = np.empty((len(chosen), self.n))
            self.rows.fill(chosen, block, np.arange(len(chosen)))
        else:
            block = self.K[chosen]
        if self.u is not None:
            block *= self.u[chosen, None]
            block *= self.u
        return block.T

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        """Return the product with V (n, k); the same bytes for any number of threads."""
        scaled = V if self.u is None else V * self.u[:, None]
        if self.K is not None:
            product = times(self.K, scaled)
        elif self.rows.halves:
            product = self._by_halves(scaled)
        else:
            product = np.empty(V.shape)
            step = max(1, _VALUES // self.n)
            block = np.empty((min(step, self.n), self.n))
            for start in range(0, self.n, step):
                chosen = np.arange(start, min(self.n, start + step))
                self.rows.fill(chosen, block, np.arange(len(chosen)))
                product[chosen] = weighted(block[: len(chosen)], scaled)
        if self.u is not None:
            product *= self.u[:, None]
        return product + self.alpha * V if self.alpha else product

    def _by_halves(self, V):
        """Return K V for a symmetric K, each value computed once for both of its places."""
        n, product = self.n, np.zeros(V.shape)
        width = max(_LEAST_WIDTH, -(-n // _CHUNKS))
        step = max(1, _VALUES // width)
        block = np.empty((min(step, n), min(width, n)))
        for left in range(0, n, width):
            columns = np.arange(left, min(n, left + width))
            for start in range(0, columns[-1] + 1, step):
                rows = np.arange(start, min(columns[-1] + 1, start + step))
                part = block[: len(rows), : len(columns)]
                self.rows.fill(rows, block, np.arange(len(rows)), columns)
                inside = rows[rows >= left]  # of the triangle on the diagonal
                if len(inside):
                    at = np.arange(len(rows) - len(inside), len(rows))
                    part[at, inside - left] = self.rows.diagonal[inside]
                product[rows] += weighted(part, V[columns])
                before = rows[rows < left]
                product[columns] += weighted(part[: len(before)].T, V[before])
        return product

    def dense(self, dtype: type) -> np.ndarray:
        """Return a copy of the matrix of this type, C order; K must be stored."""
        A = scratch_array((self.n, self.n), dtype)
        step = max(1, _VALUES // self.n)
        for start in range(0, self.n, step):
            part = slice(start, start + step)
            block = self.K[part]
            if self.u is not None:
                block = block * self.u[part, None] * self.u
            A[part] = block
        A.flat[:: self.n + 1] += self.alpha
        return A
