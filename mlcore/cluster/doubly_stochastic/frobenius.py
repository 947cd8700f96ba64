"""The doubly stochastic matrix nearest to a symmetric one in Frobenius norm."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mlcore.checks import as_bool, as_integer, as_real
from mlcore.checks.errors import warn
from mlcore.cluster.doubly_stochastic.newton import has_stalled, newton_direction
from mlcore.cluster.doubly_stochastic.symmetric_matrix import DenseSymmetric, as_symmetric
from mlcore.estimator.printed import fields_as_table
from mlcore.estimator.progress import Progress
from mlcore.runtime.threads import single_threaded_blas

_FIRST_RIDGE, _LEAST_RIDGE = 1e-2, 1e-12  # on the diagonal of the Hessian, whose entries are counts


class FrobeniusProjection(NamedTuple):
    """Result of `frobenius_projection`.

    Parameters
    ----------
    matrix : ndarray (n, n)
        ``max(0, K[i, j] + shift[i] + shift[j])``, in the precision of K.
    shift : float64 (n,)
        Multipliers of the row sums.
    residual : float
        The largest ``|row sum - 1|``, in float64 and before the matrix is rounded to its precision.
    residual_trace : float64 (n_iter + 1,)
        The residual at the start and after each step.
    n_iter : int
    converged : bool
        True if the residual is within `tol`.

    Examples
    --------
    >>> from mlcore.cluster import frobenius_projection
    >>> found = frobenius_projection([[2.0, 1.0], [1.0, 2.0]])
    >>> found.converged, found.n_iter < 5
    (True, True)
    """

    matrix: np.ndarray
    shift: np.ndarray
    residual: float
    residual_trace: np.ndarray
    n_iter: int
    converged: bool

    __repr__ = fields_as_table


def frobenius_projection(
    K: Any,
    *,
    tol: float = 1e-10,
    max_iter: int = 200,
    overwrite: bool = False,
    verbose: bool | int = False,
    callback: Callable[..., Any] | None = None,
) -> FrobeniusProjection:
    r"""Project a symmetric matrix onto the doubly stochastic ones.

    Minimises :math:`\|F - K\|_F` over F with non-negative entries and unit row and column sums. By
    the optimality conditions :math:`F_{ij} = \max(0, K_{ij} + u_i + u_j)`; the multipliers u
    minimise the convex :math:`\frac14 \sum_{ij} F_{ij}^2 - \sum_i u_i`, whose gradient is the row
    sums less 1. It is piecewise quadratic, so that Newton's method ends after a few steps.

    Parameters
    ----------
    K : array-like (n, n)
        Symmetric up to rounding (entries below the diagonal count); dense, as F is where K is 0.
    tol : float, default=1e-10
        Stop when no row sum differs from 1 by more.
    max_iter : int, default=200
        Most steps.
    overwrite : bool, default=False
        Let the result take the place of K, where K is an array of floats in C order.
    verbose : bool or int, default=False
        1 prints about one line a second, 2 every step.
    callback : callable or None, default=None
        Called with ``step=, objective=, change=, seconds=``, both the residual; raising stops it.

    Returns
    -------
    FrobeniusProjection
        The matrix, the multipliers, the residual and its trace.

    Raises
    ------
    TypeError, ValueError
        For parameters out of range; K that is sparse, not square, not symmetric, or not finite.
    MemoryError
        If the result does not fit into free memory.

    Warns
    -----
    ConvergenceWarning
        If `tol` is not met; the result is the matrix reached.

    Notes
    -----
    A step takes some passes over K, O(n²) time each.

    References
    ----------
    .. [1] R. Zass, A. Shashua, *Doubly stochastic normalization for spectral clustering*, NIPS
       2006.
    .. [2] L. Qi, D. Sun, *A quadratically convergent Newton method for computing the nearest
       correlation matrix*, SIAM Journal on Matrix Analysis and Applications 28, 2006, for the
       method.

    Examples
    --------
    >>> from mlcore.cluster import frobenius_projection
    >>> frobenius_projection([[1.0, 0.2, 0.0], [0.2, 1.0, 0.6], [0.0, 0.6, 1.0]]).matrix.round(3)
    array([[0.973, 0.027, 0.   ],
           [0.027, 0.68 , 0.293],
           [0.   , 0.293, 0.707]])
    """
    owner = "frobenius_projection"
    tol = as_real(tol, "tol", owner=owner, above=0.0)
    max_iter = as_integer(max_iter, "max_iter", owner=owner, at_least=1)
    overwrite = as_bool(overwrite, "overwrite", owner=owner)
    with Progress(verbose, callback, owner) as progress:
        matrix = as_symmetric(
            K, owner, negative=True, additive=True, sparse=False, overwrite=overwrite
        )
        return projected(matrix, owner, tol, max_iter, progress)


def projected(
    matrix: DenseSymmetric, owner: str, tol: float, max_iter: int, progress: Progress
) -> FrobeniusProjection:
    """Project a checked matrix; parameters as for `frobenius_projection`."""
    n = matrix.n
    # Start from the projection onto unit sums alone, in which entries may be negative.
    u = (1.0 - matrix.sums - np.sum(1.0 - matrix.sums) / (2 * n)) / n
    with single_threaded_blas():
        sums, value = matrix.positive_part(u)
        trace, ridge = [_residual(sums)], _FIRST_RIDGE
        while trace[-1] > tol and len(trace) <= max_iter and not has_stalled(trace):
            progress.step(len(trace) - 1, objective=trace[-1], change=trace[-1])
            moved = None
            while moved is None and ridge < 4 * n:
                moved = _step(matrix, u, sums, value, trace[-1], tol, ridge)
                ridge = ridge * 10.0 if moved is None else max(_LEAST_RIDGE, ridge / 100.0)
            if moved is None:
                break
            u, sums, value = moved
            trace.append(_residual(sums))
    progress.step(len(trace) - 1, objective=trace[-1], change=trace[-1])
    converged = bool(trace[-1] <= tol)
    if not converged:
        warn(
            "ConvergenceWarning",
            f"{owner} stopped after {len(trace) - 1} steps with row sums off by {trace[-1]:.1e}, "
            f"more than tol={tol:g}: {_advice(matrix, u, tol)}.",
        )
    return FrobeniusProjection(
        matrix.projected(u), u, trace[-1], np.array(trace), len(trace) - 1, converged
    )


def _advice(matrix, u, tol):
    """Return what helps: entries are K + u + u, and so have the rounding of the largest."""
    sizes = np.abs(u).max(), matrix.K.max(), -matrix.K.min()
    largest = 2.0 * float(max(sizes))
    rounding = matrix.n * float(np.finfo(np.float64).eps) * largest
    if rounding <= tol:
        return "increase max_iter or tol"
    return (
        f"entries of up to {largest:.1e} leave a row sum, which is 1, errors of up to "
        f"{rounding:.1e}, that no step removes. Divide K by its largest entry first, which "
        "projects another matrix, or increase tol"
    )


def _step(matrix, u, sums, value, residual, tol, ridge):
    """Return the next multipliers, their row sums and objective; None if it does not fall.

    The Hessian counts positive entries; the ridge bounds the step where it is singular.
    """
    gradient = sums - 1.0
    counts = matrix.active_product(u, np.ones_like(u)) + ridge
    diagonal = matrix.diagonal() + 2.0 * u > 0.0
    direction = newton_direction(
        lambda q: counts * q + matrix.active_product(u, q),
        -gradient, counts + diagonal, max(min(0.1, residual), 0.3 * tol / residual),
    )  # fmt: skip
    trial = u + direction
    reached, lower = matrix.positive_part(trial)
    # Close to the solution, rounding hides the change of the objective, but not the gradient.
    if lower <= value + 1e-4 * (gradient @ direction) or _residual(reached) < 0.5 * residual:
        return trial, reached, lower
    return None


def _residual(sums):
    return float(np.abs(sums - 1.0).max())
