"""Principal angles between two subspaces."""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from mlcore.checks import as_samples
from mlcore.estimator.printed import fields_as_table
from mlcore.runtime.threads import single_threaded_blas


class PrincipalAngles(NamedTuple):
    """Principal angles and vectors of two subspaces of dimensions r_a and r_b.

    Parameters
    ----------
    angles : (k,)
        In radians, from 0 to pi/2, ascending; k is the smaller of r_a and r_b.
    cosines : (k,)
        Their cosines, descending.
    vectors_a, vectors_b : (n, k)
        Orthonormal columns in the first and in the second subspace; the j-th of both enclose the
        j-th angle, and all other pairs are orthogonal.

    Examples
    --------
    >>> from mlcore.decomposition import principal_angles
    >>> principal_angles([[1.0], [0.0]], [[1.0], [1.0]]).angles.round(4)
    array([0.7854])
    """

    angles: np.ndarray
    cosines: np.ndarray
    vectors_a: np.ndarray
    vectors_b: np.ndarray

    __repr__ = fields_as_table


def principal_angles(A: Any, B: Any) -> PrincipalAngles:
    """Return the principal angles between the spans of the columns of `A` and of `B`.

    The first angle is the smallest between a vector of one span and a vector of the other, each
    further one the smallest between vectors orthogonal to those before. Columns that depend on
    others, by the rounding of their type, do not count; columns that are all 0 span nothing.

    Parameters
    ----------
    A : array-like of shape (n, p)
    B : array-like of shape (n, q)

    Returns
    -------
    PrincipalAngles
        Angles, cosines and vectors: float32 if both `A` and `B` are, else float64.

    Raises
    ------
    TypeError, ValueError
        If `A` or `B` is no matrix of finite real numbers, or they differ in their number of rows.

    Notes
    -----
    Time O(n (p² + q²)). Angles below 45 degrees are computed from their sines, the others from
    their cosines, so that each is exact to the rounding of the subspaces themselves.

    References
    ----------
    A. Björck, G. Golub, *Numerical methods for computing angles between linear subspaces*,
    Mathematics of Computation 27, 1973. A. Knyazev, M. Argentati, *Principal angles between
    subspaces in an A-based scalar product*, SIAM Journal on Scientific Computing 23, 2002.

    Examples
    --------
    >>> from mlcore.decomposition import principal_angles
    >>> found = principal_angles([[1, 2], [3, 4], [5, 6]], [[1, 5], [3, 7], [5, -1]])
    >>> found.cosines.round(4)
    array([1.    , 0.8561])
    """
    A = as_samples(A, name="A", owner="principal_angles")
    B = as_samples(B, name="B", owner="principal_angles")
    if len(A) != len(B):
        raise ValueError(f"B has {len(B)} rows, but A has {len(A)}: both must have the same.")
    dtype = np.result_type(A, B)
    with single_threaded_blas():
        basis_a, basis_b = _basis(A), _basis(B)
        if basis_a.shape[1] < basis_b.shape[1]:
            angles, cosines, vectors_b, vectors_a = _angles(basis_b, basis_a)
        else:
            angles, cosines, vectors_a, vectors_b = _angles(basis_a, basis_b)
    parts = angles, cosines, vectors_a, vectors_b
    return PrincipalAngles(*(part.astype(dtype, copy=False) for part in parts))


def independent_columns(A: np.ndarray, tol: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Q (n, r), R (r, p) and order (p,) with ``A[:, order] = QR``, by QR with pivots.

    Pivots up to `tol` times the first are taken for 0: columns `order[r:]` depend on the others.
    """
    Q, R, order = linalg.qr(A, mode="economic", pivoting=True, check_finite=False)
    pivots = np.abs(R.diagonal())
    rank = int((pivots > tol * pivots.max(initial=0.0)).sum())
    return Q[:, :rank], R[:rank], order


def _basis(A):
    """Return an orthonormal basis (n, r) of the span of the columns, float64."""
    scaled = A.astype(np.float64)
    scaled = np.ldexp(scaled, -np.frexp(np.abs(scaled).max(axis=0))[1])
    norms = linalg.norm(scaled, axis=0)
    scaled = scaled[:, norms > 0] / norms[norms > 0]
    if not scaled.shape[1]:
        return scaled
    return independent_columns(scaled, max(A.shape) * np.finfo(A.dtype).eps)[0]


def _angles(wide, narrow):
    """Return angles, cosines and vectors, from bases of which `narrow` has no more columns."""
    product = wide.T @ narrow
    _, cosines, turned = np.linalg.svd(product, full_matrices=False)
    cosines = np.minimum(cosines, 1.0)
    turn, angles = turned.T, np.arccos(cosines)
    small = int((cosines > np.sqrt(0.5)).sum())
    if small:
        # Cosines near 1 do not tell their vectors from each other; sines do.
        start = turn[:, :small]
        away = narrow @ start - wide @ (product @ start)
        _, sines, again = linalg.svd(away, full_matrices=False, check_finite=False)
        turn[:, :small] = start @ again[::-1].T
        angles[:small] = np.arcsin(np.minimum(sines[::-1], 1.0))
        cosines[:small] = np.cos(angles[:small])
    # Of a right angle the partner is any vector orthogonal to the others: QR finds one.
    partners, R = linalg.qr(product @ turn, mode="economic", check_finite=False)
    partners *= np.where(R.diagonal() < 0, -1.0, 1.0)
    return angles, cosines, wide @ partners, narrow @ turn
