"""Matrices of positive entries times factors of rows and columns: sums and products.

A kernel K with factors exp(a) of rows and exp(b) of columns is the plan P = exp(log K + a + b).
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp

from mlcore._ext.cluster import scaled_kernel as _ext
from mlcore.cluster.scaling.marginals import Marginals
from mlcore.runtime.memory import require_memory
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, pieces

_SHORTENED = 1 << 14  # entries: with fewer, a copy in 16 bits saves no time
_EXP = 20  # operations
_SAMPLED = 32  # rows and columns
_BLOCK = 1 << 20  # entries of a block of columns


class Finished(NamedTuple):
    """A plan, None if not asked for, its sums in float64, and what makes them exact.

    `x` is (r - p - P y) / p for the row sums p, `largest` the largest entry of each row,
    `column_sums` P'1, `image` P'x, and `logarithm` the sum of P log K.
    """

    matrix: Any
    row_sums: np.ndarray
    x: np.ndarray
    largest: np.ndarray
    column_sums: np.ndarray
    image: np.ndarray
    logarithm: float


class _Panels:
    """Panels of rows of a dense matrix (n, m), and compiled loops over them."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.n, self.m = shape
        self._count = -(-self.n // _ext.PANEL_ROWS)

    def run(self, loop: Any, *arguments: Any, work: float = 2.0) -> None:
        """Call `loop` with the first and last panels of each call and the number of threads."""
        for first, last in pieces(self._count, work * self.m * _ext.PANEL_ROWS):
            loop(*arguments, first, last, self.threads())

    def threads(self) -> int:
        return effective_threads(self.n * self.m)

    def columns(self, *width: int, dtype: Any = np.float64) -> np.ndarray:
        return np.empty((self._count, *width, self.m), dtype)

    def row(self, dtype: Any = np.float64, rows: int = 1) -> np.ndarray:
        """Return a row, or some, of scratch for each thread."""
        return np.empty((self.threads(), rows * self.m), dtype)


def spread_of(L: np.ndarray) -> float:
    """Return the range of logarithms less the means of rows and columns, NaN apart."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a row or column of NaN
        L = L - np.nanmean(L, axis=0)
        L = L - np.nanmean(L, axis=1)[:, None]
        spread = float(np.nanmax(L) - np.nanmin(L))
    return spread if np.isfinite(spread) else 0.0


class Factored:
    """Dense kernel whose factors are relative to `base`: M is K exp(base_a + base_b), as stored.

    M is float32, float64, or 16 bits, whose products have about seven digits.
    """

    def __init__(self, M: np.ndarray, base_a: np.ndarray, base_b: np.ndarray) -> None:
        self.M, self._a, self._b = M, base_a, base_b
        self.rough = M.dtype == np.uint16
        self._panels = _Panels(M.shape)
        self._totals, self._factors = np.empty((2, len(M)))
        self._columns = self._panels.columns(dtype=np.float32 if self.rough else np.float64)
        self.n_products = 0

    def _both_sides(self, mode, x, targets, power):
        """Set factors of rows from M x, and return M' times these."""
        self.n_products += 2
        loop, size = _ext.both_sides, 1.0
        if self.rough:  # scaled, so that sums stay in the range of single precision
            loop, size = _ext.both_sides_short, float(np.abs(x).max()) or 1.0
            x = (x / size).astype(np.float32)
            targets = targets / size if mode == _ext.SOLVE else targets * size
        self._panels.run(
            loop, mode, self.M, x, targets, power, self._totals, self._factors, self._columns
        )
        return self._columns.sum(axis=0, dtype=np.float64)

    def rows_solved(self, b: np.ndarray, marginals: Marginals) -> tuple[np.ndarray, np.ndarray]:
        """Return the logarithms a that solve the rows for b, and the column sums."""
        x = np.exp(b - self._b)
        targets = marginals.rows * np.exp(-marginals.row_slack * self._a)
        sums = self._both_sides(_ext.SOLVE, x, targets, marginals.row_power())
        return self._a + np.log(self._factors), x * sums

    def squared(self, a: np.ndarray, b: np.ndarray, weights: np.ndarray) -> Any:
        """Return the function that multiplies by P' diag(weights) P."""
        x, rows = np.exp(b - self._b), weights * np.exp(2.0 * (a - self._a))

        def times(d):
            return x * self._both_sides(_ext.WEIGHT, x * d, rows, 1.0)

        return times


class DenseKernel:
    """Dense kernel exp(scale (L - shift)), or with scale None the array K, float32 or float64."""

    rough = False

    def __init__(
        self,
        K: np.ndarray,
        scale: float | None,
        shift: float,
        owner: str,
        in_place: bool = False,
    ) -> None:
        self._in_place = in_place
        self.K, self.n, self.m = K, *K.shape
        self.scale, self.shift, self._owner = scale, shift, owner
        self.logs = scale is not None
        self._panels = _Panels(K.shape)
        self._columns = self._panels.columns()
        self._products = 0
        self._copy: Factored | None = None
        self._memory: np.ndarray | None = None
        self._factored = Factored(K, np.zeros(self.n), np.zeros(self.m)) if scale is None else None

    @property
    def n_products(self) -> int:
        """Products of the kernel, or a copy, with a vector."""
        others = (self._factored, self._copy)
        return self._products + sum(one.n_products for one in others if one is not None)

    def add_products(self, other: "DenseKernel") -> None:
        """Count the products of another kernel."""
        self._products += other.n_products

    def rows_solved(self, b: np.ndarray, marginals: Marginals) -> tuple[np.ndarray, np.ndarray]:
        """Return the logarithms a that solve the rows for b, and the column sums."""
        if self._factored is not None:
            return self._factored.rows_solved(b, marginals)
        self._products += 2
        a = np.empty(self.n)
        self._panels.run(
            _ext.log_rows, self.K, self.scale, self.shift, b, np.log(marginals.rows),
            marginals.row_power(), a, self._columns, self._panels.row(), work=_EXP,
        )  # fmt: skip
        return a, self._columns.sum(axis=0)

    def tempered(self, share: float) -> "DenseKernel":
        """Return the kernel K^share, of logarithms."""
        assert self.scale is not None
        return DenseKernel(self.K, self.scale * share, self.shift, self._owner)

    def spread(self) -> float:
        """Return the range of logarithms that no factors change, of some rows and columns."""
        rows, columns = (
            np.unique(np.linspace(0, size - 1, _SAMPLED).astype(int)) for size in (self.n, self.m)
        )
        L = self._logarithms(self.K[np.ix_(rows, columns)])
        return spread_of(np.where(np.isfinite(L), L, np.nan))

    def log_column_sums(self, a: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Return log sum_i exp(log K_ij + a_i) of the columns `which`."""
        sums = np.empty(len(which))
        step = max(1, _BLOCK // self.n)
        for start in range(0, len(which), step):
            block = self._logarithms(self.K[:, which[start : start + step]]) + a[:, None]
            top = block.max(axis=0)
            sums[start : start + step] = top + np.log(np.exp(block - top).sum(axis=0))
        return sums

    def _logarithms(self, K):
        K = K.astype(np.float64)
        return np.log(K) if self.scale is None else self.scale * (K - self.shift)

    def squared(self, a: np.ndarray, b: np.ndarray, weights: np.ndarray) -> Any:
        """Return the function that multiplies by P' diag(weights) P."""
        kernel = self._factored
        if kernel is None:
            P = self._result(self.K.dtype)
            self._write(a, b, np.zeros(self.m), np.ones(self.n), P)
            kernel = Factored(P, a, b)
        times = kernel.squared(a, b, weights)

        def counted(d):
            if kernel is not self._factored:
                self._products += 2
            return times(d)

        return counted

    def shortened(self, a: np.ndarray, b: np.ndarray, marginals: Marginals) -> Factored | None:
        """Return a copy of P / (r c')^1/2 in 16 bits; None if it would save no time.

        Its entries are at most 1 once the sums are met.
        """
        if self.n * self.m < _SHORTENED:
            return None
        total = np.log(marginals.rows.sum())  # factors of rows are about 1, whatever the total
        a = a - 0.5 * (np.log(marginals.rows) - total)
        b = b - 0.5 * (np.log(marginals.columns) + total)
        short = self._result(np.uint16)
        factors = (a, b) if self.logs else (np.exp(a), np.exp(b))
        self._panels.run(
            _ext.shorten, self.logs, self.K, self.scale or 0.0, self.shift, *factors,
            np.ones(self.m), short, self._panels.row(), work=_EXP,
        )  # fmt: skip
        self._products += 1 + (self._copy.n_products if self._copy is not None else 0)
        self._copy = Factored(short, a, b)
        return self._copy

    def finished(
        self, a: np.ndarray, b: np.ndarray, y: np.ndarray, marginals: Marginals, write: bool
    ) -> Finished:
        """Return the plan and its sums; y (m,) as in `Finished`."""
        dtype = self.K.dtype
        if write:
            out = self.K if self._in_place else self._result(dtype)
        else:
            out = np.empty((0, 0), dtype)
        found = self._write(a, b, y, marginals.rows, out)
        return Finished(out if write else None, *found)

    def _write(self, a, b, y, targets, out):
        self._products += 2
        panels = self._panels
        totals, x, largest = np.empty((3, self.n))
        columns = panels.columns(2)
        logarithms = np.empty(len(columns))
        if not self.logs:
            a, b = np.exp(a), np.exp(b)
        panels.run(
            _ext.scaled, self.logs, self.K, self.scale or 0.0, self.shift, a, b, y, targets, totals,
            x, largest, logarithms, columns, out, panels.row(rows=_ext.EVIDENCE_ROWS),
            panels.row(out.dtype), work=2 * _EXP,
        )  # fmt: skip
        column_sums, image = columns.sum(axis=0)
        return totals, x, largest, column_sums, image, float(logarithms.sum())

    def _result(self, dtype):
        """Return an array of the kernel's shape, which shares its memory with those before."""
        size = self.n * self.m * np.dtype(dtype).itemsize
        if self._memory is None or self._memory.nbytes < size:
            size = max(size, self.n * self.m * self.K.itemsize)
            require_memory(
                size, 1, 1, what=f"the plan of {self._owner}",
                instead="pass K as a sparse array, or float32 numbers",
            )  # fmt: skip
            self._memory = scratch_array((size,), np.dtype(np.uint8))
        size = self.n * self.m * np.dtype(dtype).itemsize
        return self._memory[:size].view(dtype).reshape(self.n, self.m)


class SparseKernel:
    """CSR kernel of logarithms L (n, m) of its entries, float64; `dtype` is that of the plan."""

    rough = False

    def __init__(self, L: sp.csr_array, dtype: np.dtype) -> None:
        self._L, self._dtype, self.logs = L, dtype, True
        self.n, self.m = L.shape
        self._row_of = np.repeat(np.arange(self.n), np.diff(L.indptr))
        self.n_products = 0

    def rows_solved(self, b: np.ndarray, marginals: Marginals) -> tuple[np.ndarray, np.ndarray]:
        """Return the logarithms a that solve the rows for b, and the column sums."""
        self.n_products += 2
        z, starts = self._L.data + b[self._L.indices], self._L.indptr[:-1]
        top = np.maximum.reduceat(z, starts)
        z -= top[self._row_of]
        sums = np.add.reduceat(np.exp(z), starts)
        a = marginals.row_power() * (np.log(marginals.rows) - np.log(sums) - top)
        z += (a + top)[self._row_of]
        return a, np.bincount(self._L.indices, np.exp(z), self.m)

    def tempered(self, share: float) -> "SparseKernel":
        """Return the kernel K^share."""
        data = share * self._L.data
        L = sp.csr_array((data, self._L.indices, self._L.indptr), shape=self._L.shape)
        return SparseKernel(L, self._dtype)

    def add_products(self, other: "SparseKernel") -> None:
        """Count the products of another kernel."""
        self.n_products += other.n_products

    def spread(self) -> float:
        """Return the range of logarithms within rows."""
        starts = self._L.indptr[:-1]
        top = np.maximum.reduceat(self._L.data, starts)
        return float((top - np.minimum.reduceat(self._L.data, starts)).max())

    def log_column_sums(self, a: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Return log sum_i exp(log K_ij + a_i) of the columns `which`."""
        L = self._L.tocsc()[:, which]
        z, starts = L.data + a[L.indices], L.indptr[:-1]
        top = np.maximum.reduceat(z, starts)
        return top + np.log(np.add.reduceat(np.exp(z - np.repeat(top, np.diff(L.indptr))), starts))

    def _plan(self, a, b):
        P = np.exp(self._L.data + a[self._row_of] + b[self._L.indices])
        return sp.csr_array((P, self._L.indices, self._L.indptr), shape=self._L.shape)

    def squared(self, a: np.ndarray, b: np.ndarray, weights: np.ndarray) -> Any:
        """Return the function that multiplies by P' diag(weights) P."""
        P = self._plan(a, b)
        transposed = P.T

        def times(d):
            self.n_products += 2
            return transposed @ (weights * (P @ d))

        return times

    def shortened(self, a: np.ndarray, b: np.ndarray, marginals: Marginals) -> None:
        """Return None: a copy in 16 bits would need as many indices."""

    def finished(
        self, a: np.ndarray, b: np.ndarray, y: np.ndarray, marginals: Marginals, write: bool
    ) -> Finished:
        """Return the plan and its sums; y (m,) as in `Finished`."""
        P = self._plan(a, b)
        p = np.asarray(P.sum(axis=1))
        x = (marginals.rows - p - P @ y) / p
        matrix = None
        if write:
            data = P.data.astype(self._dtype, copy=False)
            matrix = sp.csr_array((data, P.indices.copy(), P.indptr.copy()), shape=P.shape)
        sums, image = np.asarray(P.sum(axis=0)), P.T @ x
        largest = np.maximum.reduceat(P.data, P.indptr[:-1])
        return Finished(matrix, p, x, largest, sums, image, float(P.data @ self._L.data))
