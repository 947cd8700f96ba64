"""Linear programme that finds a direction of non-negative products with all rows of a matrix.

Two questions are this one. Classes are separated, so that the likelihood of a logistic regression
has no maximum, if the rows ``y_i x_i`` have such a direction (Albert and Anderson, 1984). Moments c
cannot be met by a distribution over points f_i, or only by one with zeros, if the rows ``c - f_i``
have one.

The programme is ``max sum_i t_i`` subject to ``0 <= t_i <= 1`` and ``t_i <= a_i . u``. As u may be
scaled up at will, every t_i that can be positive at all is 1 at the optimum: one programme finds
all such rows at once. Many rows enter it as they are needed: it is solved for some, and those that
its direction does not serve are added, until there are none.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr, svd
from scipy.optimize import linprog, lsq_linear, nnls

from mlcore.numerics.eigen.lapack import stoppable

__all__ = ["Separation", "separating_direction"]

_TOLERANCE = 1e-9  # of the constraints
_LARGEST = 1e7  # bound of the components of u, for rows and columns of largest value 1
_DENSE = 10**7  # most values of a sparse matrix that is made dense for least squares
_WIDE = 1000  # columns above which all rows enter the programme


class Separation(NamedTuple):
    """Direction u with no negative product with a row of A, and as many positive as can be.

    `verdict` says whether all products are positive ("complete"), some ("quasi-complete") or
    "none". `direction` (n_columns,) has largest product 1 (0 for "none"); `products` (n_rows,) are
    exactly 0 for rows that no u makes positive; `margin` is the least product.
    """

    verdict: str
    direction: np.ndarray
    products: np.ndarray
    margin: float


def __dir__() -> list[str]:
    return __all__


def separating_direction(A: Any) -> Separation:
    """Return the u of ``a_i . u >= 0`` for all rows a_i, positive for as many as possible.

    A is finite, float64 or CSR. A product is positive from about 1e-7 of the largest on, with
    columns scaled alike. ArithmeticError if double precision does not do. A. Albert, J. A.
    Anderson, *On the existence of maximum likelihood estimates in logistic regression models*,
    Biometrika 71, 1984.
    """
    columns = _largest(A, 0)
    scaled = A @ sp.diags_array(1 / columns) if sp.issparse(A) else A / columns
    u, positive = np.zeros(len(columns)), np.zeros(A.shape[0], dtype=bool)
    if min(A.shape):
        u, positive = _solved(_with_rows_scaled(scaled))
    products = np.zeros(len(positive))
    if not positive.any():
        return Separation("none", np.zeros(len(columns)), products, 0.0)
    u = u / columns
    u = u / abs(u).max()
    products[positive] = (A @ u)[positive]
    largest = products.max()
    verdict = "complete" if positive.all() else "quasi-complete"
    return Separation(verdict, u / largest, products / largest, float(products.min() / largest))


def _with_rows_scaled(A):
    """Return A with rows of largest value 1."""
    scale = 1 / _largest(A, 1)
    return sp.csr_array(sp.diags_array(scale) @ A) if sp.issparse(A) else A * scale[:, None]


def _largest(A, axis):
    """Return the largest absolute value of each column or row, 1 where all are 0."""
    if A.size == 0:
        return np.ones(A.shape[1 - axis])
    if sp.issparse(A):
        largest = abs(A).max(axis=axis).toarray().ravel()
    else:
        largest = np.maximum(A.max(axis=axis), -A.min(axis=axis))
    return np.where(largest > 0, largest, 1.0)


def _solved(A):
    """Return u and a mask of the rows with positive products, for A as from `_scaled`."""
    n_rows, n_columns = A.shape
    if n_columns > _WIDE:
        return _programme(A)
    taken = np.zeros(n_rows, dtype=bool)
    taken[:: max(1, n_rows // (10 * n_columns + 500))] = True
    while True:
        rows = np.flatnonzero(taken)
        u, positive = _programme(A[rows])
        # The products with these rows are 0 for every u allowed, and so with rows of their span.
        free = _null_space(A[rows[~positive]])
        u = free @ (free.T @ u)
        products = A @ u
        room = abs(A @ free).max(axis=1, initial=0.0)
        room[rows[~positive]] = 0.0
        able = room > _TOLERANCE * np.sqrt(n_columns)
        # As large as u may be, these would not be positive in the programme either.
        least = 0.5 * abs(u).max(initial=0.0) / _LARGEST
        undecided = np.flatnonzero(able & ~taken & (products <= least))
        if not len(undecided):
            return u, able & (products > 0)
        worst = np.argsort((products - room)[undecided], kind="stable")[: len(rows)]
        taken[undecided[worst]] = True


def _programme(A):
    """Return u and a mask of the rows with positive products, from one linear programme."""
    n_rows, n_columns = A.shape
    cost = np.concatenate([np.zeros(n_columns), -np.ones(n_rows)])
    constraints = sp.hstack([-sp.csr_array(A), sp.eye_array(n_rows)], format="csc")
    bounds = np.empty((n_columns + n_rows, 2))
    bounds[:n_columns] = -_LARGEST, _LARGEST
    bounds[n_columns:] = 0, 1
    options = {
        "primal_feasibility_tolerance": _TOLERANCE,
        "dual_feasibility_tolerance": _TOLERANCE,
    }
    call = (cost, constraints, np.zeros(n_rows), None, None, bounds, "highs")
    result = stoppable(lambda: linprog(*call, options=options))
    if result.status == 0:
        return result.x[:n_columns], result.x[n_columns:] > 0.5
    # HiGHS now and then ends with an unknown status on small and harmless programmes.
    if sp.issparse(A) and n_rows * n_columns > _DENSE:
        raise ArithmeticError(
            f"the linear programme of a separation is not solved: {result.message}"
        )
    return _by_least_squares(A.toarray() if sp.issparse(A) else A)


def _by_least_squares(A):
    """Return u and a mask of the rows with positive products, by non-negative least squares.

    ``r = A'p + A'1`` of least norm over p >= 0 has ``A r >= 0`` of sum ``|r|²``; repeated on the
    rest.
    """
    u, positive = np.zeros(A.shape[1]), np.zeros(len(A), dtype=bool)
    while not positive.all():
        rest = A[~positive].sum(axis=0)
        try:
            p, _ = nnls(A.T, -rest)
        except RuntimeError:  # in SciPy before 1.15 it now and then goes in circles
            result = lsq_linear(A.T, -rest, (0, np.inf), "bvls", tol=1e-14)
            if not result.success:
                raise ArithmeticError(f"the separation is not decided: {result.message}") from None
            p = result.x
        r = A.T @ p + rest
        if not r.any():
            break
        r /= abs(r).max()
        products = A @ r
        new = ~positive & (products > 0.5 / _LARGEST)
        if products.min() < -_TOLERANCE or not new.any():  # r is rounding
            break
        u, positive = u + r, positive | new
    return u, positive


def _null_space(A):
    """Return an orthonormal basis, (n_columns, k), of the u with A u = 0."""
    dense = A.toarray() if sp.issparse(A) else A
    if not len(dense):
        return np.eye(A.shape[1])
    triangle = qr(dense, mode="r", check_finite=False)[0][: A.shape[1]]
    _, values, rows = svd(triangle, check_finite=False)
    rank = np.count_nonzero(values > _TOLERANCE * np.sqrt(len(dense)))
    return rows[rank:].T
