"""Cholesky factors of large positive definite matrices, in place and in short calls."""

from typing import Self

import numpy as np
from scipy import linalg

from mlcore.threads import pieces

_COLUMNS = 256  # of an inverse, computed together
_BLOCK = 4096  # rows that one call of LAPACK factors, in less than a second


class Cholesky:
    """Factor L of A = L L'.

    Parameters
    ----------
    L : float32 or float64 (n, n), C order
        Read below the diagonal only.
    """

    def __init__(self, L: np.ndarray) -> None:
        self.L = L
        self._solve = linalg.get_lapack_funcs("potrs", (L,))

    @classmethod
    def of(cls, A: np.ndarray, block: int = _BLOCK) -> Self | None:
        """Factor A, which is overwritten; return None if it is not positive definite.

        Parameters
        ----------
        A : float32 or float64 (n, n), C order
        block : int
            Rows of one call of LAPACK.

        Notes
        -----
        n³/3 operations. A left-looking method by blocks, so that Ctrl-C is seen soon.
        """
        n, potrf = len(A), linalg.get_lapack_funcs("potrf", (A,))
        for first in range(0, n, block):
            last = min(n, first + block)
            left, top = A[:, :first], A[first:last, :first]
            if first:
                for start, stop in pieces(n - first, first * len(top)):
                    rows = slice(first + start, first + stop)
                    A[rows, first:last] -= left[rows] @ top.T
            corner = np.ascontiguousarray(A[first:last, first:last])
            _, info = potrf(corner.T, lower=0, overwrite_a=1, clean=0)
            if info != 0:
                return None
            A[first:last, first:last] = corner
            for start, stop in pieces(n - last, len(top) ** 2):
                rows = slice(last + start, last + stop)
                A[rows, first:last] = linalg.solve_triangular(
                    corner.T, A[rows, first:last].T, trans="T", check_finite=False
                ).T
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
        n, found = len(self.L), np.empty(len(self.L))
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
            found[part] = np.einsum("ij,ij->j", Z, Z)
        return found

    def reciprocal_condition(self, norm: float) -> float:
        """Estimate the reciprocal condition number of A, whose 1-norm is given."""
        rcond, _ = linalg.get_lapack_funcs("pocon", (self.L,))(self.L.T, norm, uplo="U")
        return float(rcond)
