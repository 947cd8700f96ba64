"""Doubly stochastic scaling of symmetric affinities: L K L with rows that sum to 1."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from mlcore.checks import as_bool, as_choice, as_integer, as_real
from mlcore.checks.errors import warn
from mlcore.cluster.doubly_stochastic.newton import has_stalled, newton_direction
from mlcore.cluster.doubly_stochastic.symmetric_matrix import (
    DenseSymmetric,
    SparseSymmetric,
    as_symmetric,
)
from mlcore.cluster.doubly_stochastic.total_support import require_total_support
from mlcore.estimator.printed import fields_as_table
from mlcore.estimator.progress import Progress
from mlcore.runtime.threads import single_threaded_blas

_LONGEST_STEP = 2.0  # of a logarithm; the quadratic model does not hold beyond
_DAMPED_FIRST = 3  # damped steps before Newton's, one product each, from any start
_ROUGH = 3e-3  # accuracy of products with 9 bits
_ROUGH_STEPS = 100


class DoublyStochastic(NamedTuple):
    """Result of `doubly_stochastic`.

    Parameters
    ----------
    matrix : ndarray or csr_array (n, n)
        ``scaling[i] * K[i, j] * scaling[j]``, in the precision of K.
    scaling : float64 (n,)
        All positive.
    residual : float
        The largest ``|row sum - 1|``, in float64 and before the matrix is rounded to its precision.
    residual_trace : float64 (n_iter + 1,)
        The residual at the start and after each step.
    n_iter : int
    converged : bool
        True if the residual is within `tol`.

    Examples
    --------
    >>> from mlcore.cluster import doubly_stochastic
    >>> found = doubly_stochastic([[2.0, 1.0], [1.0, 2.0]])
    >>> found.converged, found.residual < 1e-12
    (True, True)
    """

    matrix: Any
    scaling: np.ndarray
    residual: float
    residual_trace: np.ndarray
    n_iter: int
    converged: bool

    __repr__ = fields_as_table


def doubly_stochastic(
    K: Any,
    *,
    tol: float = 1e-12,
    solver: Literal["newton", "fixed_point"] = "newton",
    max_iter: int = 1000,
    overwrite: bool = False,
    verbose: bool | int = False,
    callback: Callable[..., Any] | None = None,
) -> DoublyStochastic:
    r"""Scale a symmetric affinity matrix to unit row sums.

    Finds the positive diagonal L for which :math:`F = L K L` has rows, and so columns, that sum to
    1. F is the doubly stochastic matrix nearest to K in relative entropy,
    :math:`\sum_{ij} F_{ij} \ln (F_{ij} / K_{ij}) - F_{ij} + K_{ij}`, since
    :math:`\ln (F_{ij} / K_{ij})` is a sum of a term for i and one for j. It is the same for any
    multiple of K.

    Parameters
    ----------
    K : array-like or sparse (n, n)
        Symmetric up to rounding (entries below the diagonal count), none negative.
    tol : float, default=1e-12
        Stop when no row sum differs from 1 by more.
    solver : {"newton", "fixed_point"}, default="newton"
        Newton's method on the logarithms of the scaling, its linear systems solved by conjugate
        gradients; or the damped fixed point ``x = sqrt(x / (K x))`` alone, slow where groups of
        samples are far apart.
    max_iter : int, default=1000
        Most steps.
    overwrite : bool, default=False
        Let the result take the place of K, where K is a dense array of floats in C order.
    verbose : bool or int, default=False
        1 prints about one line a second, 2 every step.
    callback : callable or None, default=None
        Called with ``step=, objective=, change=, seconds=``, both the residual; raising stops it.

    Returns
    -------
    DoublyStochastic
        The matrix, its scaling, the residual and its trace.

    Raises
    ------
    TypeError, ValueError
        For parameters out of range; K that is not square, not symmetric, has entries that are
        negative or not finite; a row of zeros; and K without total support: some positive entry
        lies on no permutation of positive entries, so that no scaling exists.
    MemoryError
        If the result does not fit into free memory.

    Warns
    -----
    ConvergenceWarning
        If `tol` is not met; the result is the scaling reached.

    Notes
    -----
    A step takes some products with K of O(n²) time, or O(non-zeros). With a positive diagonal a
    symmetric K has total support; else it is tested, in time about that of some products.

    References
    ----------
    .. [1] R. Sinkhorn, P. Knopp, *Concerning nonnegative matrices and doubly stochastic matrices*,
       Pacific Journal of Mathematics 21, 1967.
    .. [2] P. A. Knight, D. Ruiz, *A fast algorithm for matrix balancing*, IMA Journal of Numerical
       Analysis 33, 2013.
    .. [3] P. A. Knight, D. Ruiz, B. Uçar, *A symmetry preserving algorithm for matrix scaling*,
       SIAM Journal on Matrix Analysis and Applications 35, 2014.
    .. [4] R. Zass, A. Shashua, *A unifying approach to hard and probabilistic clustering*, ICCV
       2005.

    Examples
    --------
    >>> from mlcore.cluster import doubly_stochastic
    >>> doubly_stochastic([[1.0, 0.5], [0.5, 1.0]]).matrix.round(3)
    array([[0.667, 0.333],
           [0.333, 0.667]])
    """
    owner = "doubly_stochastic"
    tol = as_real(tol, "tol", owner=owner, above=0.0)
    newton = as_choice(solver, "solver", ("newton", "fixed_point"), owner=owner) == "newton"
    max_iter = as_integer(max_iter, "max_iter", owner=owner, at_least=1)
    overwrite = as_bool(overwrite, "overwrite", owner=owner)
    with Progress(verbose, callback, owner) as progress:
        matrix = as_symmetric(K, owner, overwrite=overwrite)
        return scaled_to_unit_sums(matrix, owner, tol, newton, max_iter, progress)


def scaled_to_unit_sums(
    matrix: DenseSymmetric | SparseSymmetric,
    owner: str,
    tol: float,
    newton: bool,
    max_iter: int,
    progress: Progress,
) -> DoublyStochastic:
    """Scale a checked matrix; parameters as for `doubly_stochastic`."""
    require_total_support(matrix, owner)
    result = _solve(matrix, owner, tol, newton, max_iter, progress)
    if not result.converged:
        warn(
            "ConvergenceWarning",
            f"{owner} stopped after {result.n_iter} steps with row sums off by "
            f"{result.residual:.1e}, more than tol={tol:g}: increase max_iter or tol. If the sums "
            "hardly improve, the matrix is close to one that has no scaling.",
        )
    return result._replace(matrix=matrix.scaled(result.scaling))


def scaling_to_unit_sums(
    matrix: DenseSymmetric | SparseSymmetric, owner: str, tol: float, max_iter: int
) -> DoublyStochastic:
    """Return the scaling reached of a matrix with total support, without the scaled matrix."""
    return _solve(matrix, owner, tol, True, max_iter, None)


def _solve(matrix, owner, tol, newton, max_iter, progress):
    """Find the scaling, first roughly on a copy of K in 16 bits, then on K itself."""
    x, diagonal, rough = 1.0 / np.sqrt(matrix.sums), matrix.diagonal(), None
    with single_threaded_blas(), np.errstate(all="ignore"):
        short = matrix.shortened(x) if newton else None
        if short is not None:
            start = x
            rough_balance = _balance(
                short.product, None, x * x * diagonal, np.ones(matrix.n), _ROUGH, newton,
                _ROUGH_STEPS,
            )  # fmt: skip
            if np.isfinite(rough_balance[1][-1]) and rough_balance[1][-1] < 1.0:
                x = start * rough_balance[0]

                def rough(x):
                    y = x / start
                    return lambda q: y * short.product(y * q)

        x, trace = _balance(matrix.product, rough, diagonal, x, tol, newton, max_iter, progress)
    if not trace[-1] < np.inf:
        raise ValueError(
            f"K cannot be scaled in float64: {owner} met factors beyond its range. Entries of K "
            "that differ by so many orders of magnitude are best made 0, or larger."
        )
    return DoublyStochastic(
        None, x, trace[-1], np.array(trace), len(trace) - 1, bool(trace[-1] <= tol)
    )


def _balance(product, rough, diagonal, x, tol, newton, max_iter, progress=None):
    """Return the scaling after steps from x until the residual is within `tol`, and the residuals.

    `rough` makes cheap products for Newton's linear systems, None for exact ones.
    """
    sums = x * product(x)
    trace = [_residual(sums)]
    damped = _DAMPED_FIRST if rough is not None else 0  # steps in a row
    while tol < trace[-1] < np.inf and len(trace) <= max_iter and not has_stalled(trace):
        if progress is not None:
            progress.step(len(trace) - 1, objective=trace[-1], change=trace[-1])
        moved = None
        if newton and damped >= _DAMPED_FIRST:
            moved = _newton_step(product, rough, diagonal, x, sums, trace[-1], tol)
            if rough is not None and (moved is None or _residual(moved[1]) > 0.25 * trace[-1]):
                rough = None
        if moved is None:
            damped = 1 if damped > _DAMPED_FIRST else damped + 1
            x = x / np.sqrt(sums)
            sums = x * product(x)
        else:
            damped = _DAMPED_FIRST
            x, sums = moved
        trace.append(_residual(sums))
    if progress is not None:
        progress.step(len(trace) - 1, objective=trace[-1], change=trace[-1])
    return x, trace


def _newton_step(product, rough, diagonal, x, sums, residual, tol):
    """Return the next scaling and its row sums; None if the objective falls too little.

    That is convex in the logarithms u of the scaling: 1/2 sum_ij F_ij - sum_i u_i.
    """
    gradient = sums - 1.0
    accuracy = max(min(0.1, residual), 0.3 * tol / residual)
    if rough is None:
        times = lambda q: x * product(x * q)  # noqa: E731
    else:
        times, accuracy = rough(x), max(accuracy, _ROUGH)
    direction = newton_direction(
        lambda q: sums * q + times(q), -gradient, sums + x * x * diagonal, accuracy
    )
    direction = np.clip(direction, -_LONGEST_STEP, _LONGEST_STEP)
    trial = x * np.exp(direction)
    reached = trial * product(trial)
    change = 0.5 * np.sum(reached - sums) - np.sum(direction)
    # Close to the solution, rounding hides the change of the objective, but not the gradient.
    if change <= 1e-4 * (gradient @ direction) < 0 or _residual(reached) < 0.5 * residual:
        return trial, reached
    return None


def _residual(sums):
    """Return the largest |sum - 1|; infinity if a sum is NaN, infinite or 0."""
    residual = float(np.abs(sums - 1.0).max())
    return residual if residual < np.inf and sums.min() > 0.0 else np.inf
