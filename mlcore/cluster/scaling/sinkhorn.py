"""Scaling of a matrix to given row and column sums, entropic optimal transport."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_bool, as_choice, as_integer, as_real
from mlcore.checks.errors import warn
from mlcore.cluster.scaling.arguments import as_matrix, as_slacks, as_start, as_sums
from mlcore.cluster.scaling.marginals import Marginals
from mlcore.cluster.scaling.problem import Solution, problem_of, solution_of
from mlcore.estimator.printed import fields_as_table
from mlcore.estimator.progress import Progress
from mlcore.runtime.threads import single_threaded_blas

_EXP_RANGE = 700.0  # logarithms of factors in the range of float64


class Scaling(NamedTuple):
    """Result of `sinkhorn`: the plan P, its factors, and the evidence that it is optimal.

    Parameters
    ----------
    matrix : ndarray or csr_array (n, m), or None
        ``row_scaling[i] * K[i, j] * column_scaling[j]``, in the precision of the input.
    row_scaling, column_scaling : float64 (n,) and (m,), or None
        The factors, 0 where a sum is 0; None if some factor leaves the range of float64.
    row_potentials, column_potentials : float64 (n,) and (m,)
        reg times their logarithms, -inf for a factor 0. Where sums are exact, both have the same
        mean in every block of the plan.
    residual : float
        Largest ``|row sum / target - 1|``, or of a column, in float64 and before the matrix is
        rounded to its precision. With `marginal_penalty` the target is the sum that is optimal for
        the potentials.
    residual_trace : float64 (n_iter + 1,)
        The residual at the start and after each step.
    transport_cost : float
        ``sum P cost``, with ``cost = -reg ln K``.
    transport_lower_bound : float
        No plan with these sums has a lower cost; with `marginal_penalty`, a lower cost with the
        penalties.
    entropy : float
        ``-sum P ln P``.
    primal_objective : float
        Upper bound, `dual_objective` plus `duality_gap`, on F of a plan with exactly these sums.
    dual_objective : float
        D at the potentials, see `sinkhorn`.
    duality_gap : float
        At least ``D* - D`` in exact arithmetic; with zeros in K, to first order in what the linear
        system of its proof leaves unsolved. Infinite far from the solution.
    dropped : int
        Positive entries that are 0 in the limit, with ``support="limit"``.
    n_iter : int
        Updates of all factors by the matrix itself.
    n_products : int
        Products with the matrix or a copy of it, those of the evidence included; not those of
        `doubly_stochastic`, which solves a symmetric K with equal sums.
    converged : bool
        True if the residual is within `tol`.
    method : str
        "alternation", or "newton" if Newton's method took part.

    Examples
    --------
    >>> from mlcore.cluster import sinkhorn
    >>> found = sinkhorn([[1.0, 2.0], [3.0, 4.0]])
    >>> found.converged, found.duality_gap < 1e-9
    (True, True)
    """

    matrix: Any
    row_scaling: np.ndarray | None
    column_scaling: np.ndarray | None
    row_potentials: np.ndarray
    column_potentials: np.ndarray
    residual: float
    residual_trace: np.ndarray
    transport_cost: float
    transport_lower_bound: float
    entropy: float
    primal_objective: float
    dual_objective: float
    duality_gap: float
    dropped: int
    n_iter: int
    n_products: int
    converged: bool
    method: str

    __repr__ = fields_as_table


def sinkhorn(
    K: Any = None,
    rows: Any = None,
    columns: Any = None,
    *,
    log_K: Any = None,
    cost: Any = None,
    reg: float | None = None,
    support: Literal["exact", "limit"] = "exact",
    marginal_penalty: float | tuple[float, float] | None = None,
    tol: float = 1e-9,
    method: Literal["auto", "alternation"] = "auto",
    max_iter: int = 10_000,
    init: tuple[Any, Any] | None = None,
    return_matrix: bool = True,
    overwrite: bool = False,
    verbose: bool | int = False,
    callback: Callable[..., Any] | None = None,
) -> Scaling:
    r"""Scale a non-negative matrix to given row and column sums: entropic optimal transport.

    Finds positive u and v for which :math:`P = diag(u) K diag(v)` has the row sums r and the column
    sums c. P is the plan nearest to K in relative entropy, and with :math:`K = e^{-cost / reg}` the
    solution of regularised optimal transport ("Sinkhorn distance"): with
    :math:`f = reg \ln u, g = reg \ln v` it minimises F, and f and g maximise D,

    .. math:: F(P) = \sum_{ij} P_{ij} cost_{ij} + reg \sum_{ij} P_{ij} (\ln P_{ij} - 1), \quad
       D(f, g) = f^T r + g^T c - reg \sum_{ij} e^{(f_i + g_j - cost_{ij}) / reg}.

    With W = sum r, F is by reg W below ``<cost, P> + reg sum P ln P``, the objective of POT, and by
    ``reg (W - sum r ln r - sum c ln c)`` below that with the relative entropy to r c', of OTT.

    Parameters
    ----------
    K : array-like or sparse (n, m), optional
        Entries of at least 0.
    rows, columns : array-like (n,) and (m,), optional
        The sums, with one total; a sum of 0 leaves its row or column out. If one is not given it is
        uniform; without both, rows sum to 1 and columns to n / m.
    log_K : array-like or sparse (n, m), optional
        Instead of K, its logarithm; -inf, and what is not stored, is a K of 0.
    cost : array-like or sparse (n, m), optional
        Instead of K, the cost, with `reg`; inf, and what is not stored, is a K of 0.
    reg : float, optional
        Weight of the entropy.
    support : {"exact", "limit"}, default="exact"
        "limit" drops the positive entries that are 0 in every matrix with these sums, where "exact"
        is an error: the limit of the alternation.
    marginal_penalty : float or pair, optional
        Instead of exact sums, of rows and columns: rho in the terms
        ``rho KL(P 1 | r) + rho KL(P' 1 | c)`` added to F (unbalanced transport); inf is exact.
    tol : float, default=1e-9
        Stop when no sum differs from its target by a larger share of it.
    method : {"auto", "alternation"}, default="auto"
        Newton's method after some updates, or updates of rows and columns in turn alone.
    max_iter : int, default=10000
        Most updates of all factors.
    init : pair of arrays, optional
        ``(row_potentials, column_potentials)`` to start from; rows are solved for the latter.
    return_matrix : bool, default=True
        False leaves `matrix` None.
    overwrite : bool, default=False
        Let the matrix take the place of the input, where that is dense, of floats and in C order.
    verbose : bool or int, default=False
        1 prints about one line a second, 2 every step.
    callback : callable or None, default=None
        Called with ``step=, objective=, change=, seconds=``, both the residual; raising stops it.

    Returns
    -------
    Scaling
        The matrix, its factors, objectives, the duality gap and the residual.

    Raises
    ------
    TypeError, ValueError
        For bad parameters and values; sums with different totals; sums that no matrix with the
        positive entries of K has (rows and columns that prove it are named); with ``"exact"``, a
        positive entry that is 0 in all of them; a reg so small that cost / reg leaves float64.
    MemoryError
        If the result does not fit into free memory.

    Warns
    -----
    ConvergenceWarning
        If `tol` is not met, or entries are dropped.

    Notes
    -----
    Rows are solved exactly, which leaves a convex function of the columns' logarithms [2]_. A step
    takes some products with a copy of K in 16 bits and one reading of K, O(n m) or O(non-zeros).
    A symmetric K with equal sums goes to `doubly_stochastic`.
    Peaked K, given by logarithms or cost, is solved for some larger reg first. Zeros in K are
    tested by a maximum flow [3]_, where they could matter. With exact sums the cost is above that
    of transport without entropy by at most ``reg W min(H(r / W), H(c / W))``.

    References
    ----------
    .. [1] R. Sinkhorn, P. Knopp, *Concerning nonnegative matrices and doubly stochastic matrices*,
       Pacific Journal of Mathematics 21, 1967.
    .. [2] P. A. Knight, D. Ruiz, *A fast algorithm for matrix balancing*, IMA Journal of Numerical
       Analysis 33, 2013.
    .. [3] U. G. Rothblum, H. Schneider, *Scalings of matrices which have prespecified row sums and
       column sums via optimization*, Linear Algebra and its Applications 114, 1989.
    .. [4] M. Cuturi, *Sinkhorn distances: lightspeed computation of optimal transport*, NIPS 2013.
    .. [5] L. Chizat, G. Peyré, B. Schmitzer, F.-X. Vialard, *Scaling algorithms for unbalanced
       optimal transport problems*, Mathematics of Computation 87, 2018.

    Examples
    --------
    >>> from mlcore.cluster import sinkhorn
    >>> sinkhorn([[1.0, 2.0], [3.0, 4.0]]).matrix.round(3)
    array([[0.449, 0.551],
           [0.551, 0.449]])
    >>> plan = sinkhorn(cost=[[0.0, 1.0], [1.0, 0.0]], rows=[0.5, 0.5], columns=[0.3, 0.7], reg=0.1)
    >>> round(plan.transport_cost, 3)
    0.2
    """
    owner = "sinkhorn"
    limit = as_choice(support, "support", ("exact", "limit"), owner=owner) == "limit"
    newton = as_choice(method, "method", ("auto", "alternation"), owner=owner) == "auto"
    tol = as_real(tol, "tol", owner=owner, above=0.0)
    max_iter = as_integer(max_iter, "max_iter", owner=owner, at_least=1)
    write = as_bool(return_matrix, "return_matrix", owner=owner)
    overwrite = as_bool(overwrite, "overwrite", owner=owner)
    with Progress(verbose, callback, owner) as progress, np.errstate(all="ignore"):
        matrix, reg = as_matrix(K, log_K, cost, reg, owner)
        slacks = as_slacks(marginal_penalty, reg, owner)
        shape = matrix.entries.shape
        r, c = as_sums(rows, columns, shape, owner, exact=not any(slacks))
        starts = as_start(init, reg, shape, owner)
        in_place = overwrite and matrix.entries is {"K": K, "log_K": log_K}.get(matrix.name, cost)
        if in_place and not sp.issparse(matrix.entries) and not matrix.entries.flags.writeable:
            raise ValueError(
                f"{matrix.name} is read-only; {owner} with overwrite=True needs a writeable array."
            )
        with single_threaded_blas():
            problem = problem_of(matrix, Marginals(r, c, *slacks), limit, in_place, owner)
            start = None if starts is None else starts[not problem.turned]
            found = solution_of(problem, start, tol, max_iter, newton, write, owner, progress)
    return _result(found, reg, tol, 0 if problem.support is None else len(problem.support.rows))


def _result(found: Solution, reg: float, tol: float, dropped: int) -> Scaling:
    evidence, trace = found.evidence, np.array(found.solved.trace)
    trace[-1] = evidence.residual
    converged = bool(evidence.residual <= tol)
    if not converged:
        warn(
            "ConvergenceWarning",
            f"sinkhorn stopped after {len(trace) - 1} steps with sums off by a share of "
            f"{evidence.residual:.1e}, more than tol={tol:g}: increase max_iter or tol. If they "
            "hardly improve, rounding is reached, or the matrix is close to one without a scaling.",
        )
    logarithms = np.concatenate((found.a, found.b))
    logarithms = logarithms[logarithms > -np.inf]
    factors = (None, None)
    if np.abs(logarithms).max() < _EXP_RANGE:
        factors = np.exp(found.a), np.exp(found.b)
    return Scaling(
        found.matrix,
        *factors,
        reg * found.a,
        reg * found.b,
        evidence.residual,
        trace,
        reg * evidence.transport_cost,
        reg * evidence.lower_bound,
        evidence.entropy,
        reg * (evidence.dual + evidence.gap),
        reg * evidence.dual,
        reg * evidence.gap,
        dropped,
        len(trace) - 1,
        found.n_products,
        converged,
        "newton" if found.solved.n_newton else "alternation",
    )
