"""Few of the largest eigenpairs of a dense matrix, to rounding, in a fraction of LAPACK's time."""

import numpy as np

from mlcore.numerics.eigen.lanczos import basis_for, orthonormal_block, times
from mlcore.numerics.eigen.lapack import eigenpairs

_BLOCK = 8  # vectors: with more the basis is larger, with fewer the matrix is read more often
_SMALL = 400  # rows up to which LAPACK is as quick
_FEW = 1 / 12  # part of the rows that the eigenvectors are at most
_BASIS = 1 / 3  # and the basis, with more of which LAPACK is as quick
_LEAST = 3  # blocks in the basis at the first look
_HOPED = 1.75  # power by which decades of residuals grow at most: see `basis_for`


def largest_by_lanczos(
    S: np.ndarray, count: int, tol: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the largest eigenvalues of S, descending, and vectors; None if LAPACK is as quick.

    S (n, n) is positive semi-definite but for rounding. `tol` limits residuals relative to the
    largest value. Values that are repeated more often than a block has vectors may be missed. Block
    Lanczos without restarts; O(n² m + n m²) time for a basis of m vectors, mostly 3 to 5 times
    `count`. G. Golub, R. Underwood, *The block Lanczos method for computing eigenvalues*, 1977.
    """
    n, most = len(S), int(_BASIS * len(S))
    if n <= _SMALL or count > _FEW * n:
        return None
    rng = np.random.default_rng(0)
    V, H = np.empty((most + _BLOCK, n)), np.zeros((most + _BLOCK, most + _BLOCK))
    size, m, check = 0.0, 0, max(2 * count + _BLOCK, _LEAST * _BLOCK)
    X = orthonormal_block(rng.standard_normal((n, _BLOCK)), V[:0], 0.0, rng)
    while True:
        V[m : m + _BLOCK] = X.T
        m += _BLOCK
        basis = V[:m]
        W = times(S, X)
        C = basis @ W
        W -= basis.T @ C
        H[:m, m - _BLOCK : m] = C
        H[m - _BLOCK : m, :m] = C.T
        size = max(size, H.diagonal()[m - _BLOCK : m].max())
        if m >= check:
            values, Y = eigenpairs(H[:m, :m])  # all: as quick as a third, and closer to rounding
            values, Y = values[: -count - 1 : -1], Y[:, : -count - 1 : -1]
            size = values[0]
            worst = np.linalg.norm(W @ Y[m - _BLOCK :], axis=0).max()
            if worst <= tol * size:
                return values, basis.T @ Y
            if m >= most or not basis_for(tol, m, count, worst / size, _HOPED) <= most:
                return None
            check = min(2 * m, most, basis_for(tol, m, count, worst / size))
        X = orthonormal_block(W, basis, size, rng)
