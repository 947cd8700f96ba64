"""Preconditioned conjugate gradients for several right sides at once."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Solution(NamedTuple):
    """Result of `conjugate_gradients`.

    Attributes
    ----------
    X : (n, k)
    n_iter : int
        Products with the matrix.
    converged : bool
    definite : bool
        False if a direction was met on which the matrix is not positive.
    """

    X: np.ndarray
    n_iter: int
    converged: bool
    definite: bool


def conjugate_gradients(
    A: object,
    B: np.ndarray,
    precondition: Callable[[np.ndarray], np.ndarray],
    is_solved: Callable[[np.ndarray, np.ndarray, float], np.ndarray],
    max_iter: int,
) -> Solution:
    """Solve A X = B, for a symmetric positive definite A.

    Parameters
    ----------
    A : object with ``A @ V``
    B : (n, k)
    precondition : callable
        Returns an approximation of A^-1 V.
    is_solved : callable
        Returns for each column whether it is done, bool (k,), from X, the residual B - A X and a
        lower bound of the largest eigenvalue of A.
    max_iter : int
        Largest number of products with A.

    References
    ----------
    .. [1] G. Golub, C. Van Loan, *Matrix Computations*, 4th ed., 2013, section 11.5.
    """
    X, R = np.zeros_like(B), B.copy()
    Z = precondition(R)
    P, size = Z.copy(), np.einsum("ij,ij->j", R, Z)
    largest, done = 0.0, is_solved(X, R, 0.0)
    for step in range(max_iter):
        if done.all():
            return Solution(X, step, True, True)
        image = A @ P
        curvature, length = np.einsum("ij,ij->j", P, image), np.einsum("ij,ij->j", P, P)
        if np.any(curvature[~done] <= 0):
            return Solution(X, step + 1, False, False)
        active = np.where(done | (length == 0), 0.0, 1.0)
        norms = np.einsum("ij,ij->j", image, image)
        ratio = np.divide(norms, length, out=np.zeros_like(length), where=length > 0)
        largest = max(largest, float(np.sqrt(ratio.max(initial=0.0))))
        along = active * size / np.where(active > 0, curvature, 1.0)
        X += along * P
        R -= along * image
        Z = precondition(R)
        before, size = size, np.einsum("ij,ij->j", R, Z)
        P = Z + np.divide(size, before, out=np.zeros_like(size), where=before > 0) * P
        done = done | is_solved(X, R, largest)
    return Solution(X, max_iter, bool(done.all()), True)
