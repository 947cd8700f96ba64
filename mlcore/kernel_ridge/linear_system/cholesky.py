"""Cholesky factors of large positive definite matrices, in place, by threads, in short calls."""

from typing import Self

import numpy as np
from scipy import linalg

from mlcore._ext.kernel_ridge import cholesky as _ext
from mlcore.runtime.threads import effective_threads, pieces, single_threaded_blas

_COLUMNS = 256  # of an inverse, computed together
_BLOCK = 128  # columns factored together


class Cholesky:
    """Factor L of A = L L', float32 or float64 in C order, read below the diagonal only."""

    def __init__(self, L: np.ndarray) -> None:
        self.L = L
        self._solve = linalg.get_lapack_funcs("potrs", (L,))

    @classmethod
    def of(cls, A: np.ndarray, block: int = _BLOCK) -> Self | None:
        """Factor A, which is overwritten; return None if it is not positive definite.

        Left-looking, by blocks whose rows threads share: the same bytes for any number of them.
        """
        n = len(A)
        with single_threaded_blas():
            for first in range(0, n, block):
                last = min(n, first + block)
                for start, stop in _rows(first, n, first * (last - first)) if first else ():
                    threads = effective_threads((stop - start) * first * (last - first))
                    _ext.subtract(A, first, last, start, stop, threads)
                if not _ext.factor(A, first, last):
                    return None
                for start, stop in _rows(last, n, (last - first) ** 2):
                    threads = effective_threads((stop - start) * (last - first) ** 2)
                    _ext.divide(A, first, last, start, stop, threads)
        return cls(A)

    def solve(self, B: np.ndarray) -> np.ndarray:
        """Return A^-1 B, in the type of B, for B (n, k)."""
        solution, _ = self._solve(self.L.T, B.astype(self.L.dtype), lower=0)
        return solution.astype(B.dtype, copy=False)

    def whitened(self, B: np.ndarray) -> np.ndarray:
        """Return L^-1 B, for B (n, k)."""
        return linalg.solve_triangular(self.L.T, B, trans="T", check_finite=False)

    def inverse_diagonal(self) -> np.ndarray:
        """Return the diagonal of A^-1, (n,), from L^-1 by blocks of columns: n³/3 operations."""
        n, diagonal = len(self.L), np.empty(len(self.L))
        for start in range(0, n, _COLUMNS):
            part = slice(start, min(n, start + _COLUMNS))
            Z = np.zeros((n - start, part.stop - start), self.L.dtype)
            np.fill_diagonal(Z, 1.0)
            for first in range(start, n, _COLUMNS):
                rows = slice(first, min(n, first + _COLUMNS))
                here, above = slice(first - start, rows.stop - start), slice(first - start)
                Z[here] -= self.L[rows, start:first] @ Z[above]
                corner = np.ascontiguousarray(self.L[rows, rows])
                Z[here] = linalg.solve_triangular(corner.T, Z[here], trans="T", check_finite=False)
            diagonal[part] = np.einsum("ij,ij->j", Z, Z)
        return diagonal

    def reciprocal_condition(self, norm: float) -> float:
        """Estimate the reciprocal condition number of A, whose 1-norm is given."""
        rcond, _ = linalg.get_lapack_funcs("pocon", (self.L,))(self.L.T, norm, uplo="U")
        return float(rcond)


def _rows(first, n, work):
    """Yield the rows from `first` on that each compiled call takes."""
    for start, stop in pieces(n - first, work):
        yield first + start, first + stop
