"""A matrix to scale, without rows and columns that play no part, and its solution."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp

from mlcore.cluster.doubly_stochastic.doubly_stochastic import scaling_to_unit_sums
from mlcore.cluster.doubly_stochastic.symmetric_matrix import as_symmetric
from mlcore.cluster.scaling.arguments import Matrix, refuse, with_entries
from mlcore.cluster.scaling.evidence import Evidence, evidence_of
from mlcore.cluster.scaling.feasibility import Support, entries_by_line, support_of
from mlcore.cluster.scaling.marginals import Marginals
from mlcore.cluster.scaling.scaled_kernel import DenseKernel, SparseKernel
from mlcore.cluster.scaling.solver import Solved, direction, solve, solve_by_levels
from mlcore.estimator.progress import Progress
from mlcore.runtime.memory import require_memory

_ACCURACY = 1e-8, 3e-3  # of the Newton direction of the duality gap, without and with a copy
# Range of the logarithms of K above which warm starts pay: 20 times normal numbers, of 600 x 900,
# take 0.30 s without and 0.03 s with.
_PEAKED = 120.0
_LEAST = 1e-150  # entry of K whose products with factors stay in the range of float64


class Problem(NamedTuple):
    """A matrix with positive marginals, each row and column having an entry.

    `kept` are the rows and columns of the whole that it is made of, None for all; `support` has
    what the test for zeros found, None without one; `constant` is a term of the objective over reg
    for what is left out. `turned` tells that it is the transpose.
    """

    matrix: Matrix
    marginals: Marginals
    shape: tuple[int, int]
    kept: tuple[np.ndarray, np.ndarray] | None
    support: Support | None
    constant: float
    turned: bool
    in_place: bool


class Solution(NamedTuple):
    """Logarithms of all factors, -inf for those left out, the plan, and the evidence."""

    matrix: Any
    a: np.ndarray
    b: np.ndarray
    evidence: Evidence
    solved: Solved
    n_products: int


def problem_of(
    matrix: Matrix, marginals: Marginals, limit: bool, in_place: bool, owner: str
) -> Problem:
    """Return the problem; ValueError if zeros leave no scaling."""
    # Rows are the ones with exact sums, if only one side has them.
    turned = marginals.row_slack > 0.0 and not marginals.column_slack
    if turned:
        r, c, r_slack, c_slack = marginals
        marginals = Marginals(c, r, c_slack, r_slack)
        matrix = matrix._replace(entries=_rows_and_columns(matrix.entries.T))
    shape = matrix.entries.shape
    # Leave out what has the sum 0, and with penalties what has no entry.
    rows, columns = marginals.rows > 0.0, marginals.columns > 0.0
    constant, zeros = 0.0, sp.issparse(matrix.entries) or not matrix.full
    if zeros and marginals.column_slack:
        of_rows, of_columns = entries_by_line(matrix.entries, matrix.zero, rows, columns)
        empty = (of_rows == 0.0) & (marginals.row_slack > 0.0), of_columns == 0.0
        constant = _sum_over(marginals.rows[empty[0]], marginals.row_slack)
        constant += _sum_over(marginals.columns[empty[1]], marginals.column_slack)
        rows, columns = rows & ~empty[0], columns & ~empty[1]
    kept = None
    if not (rows.all() and columns.all()):
        kept, in_place = (rows, columns), False
        matrix = matrix._replace(entries=_rows_and_columns(matrix.entries[rows][:, columns]))
        marginals = marginals._replace(
            rows=marginals.rows[rows], columns=marginals.columns[columns]
        )
    support = None
    if zeros:
        exact = not marginals.column_slack
        support = support_of(
            matrix.entries, matrix.zero, *marginals[:2], owner, matrix.name, limit, exact
        )
        if len(support.rows):
            matrix, in_place = _without(matrix, support), False
    return Problem(matrix, marginals, shape, kept, support, constant, turned, in_place)


def _sum_over(sums, slack):
    return float(sums.sum()) / slack if slack else 0.0


def _rows_and_columns(entries):
    return sp.csr_array(entries) if sp.issparse(entries) else np.ascontiguousarray(entries)


def _without(matrix, support):
    """Return the matrix without the entries that are 0 in the limit."""
    entries = matrix.entries
    if not sp.issparse(entries):
        entries = entries.copy()
        entries[support.rows, support.columns] = matrix.zero
        return matrix._replace(entries=entries)
    dropped = np.zeros(entries.nnz, bool)
    dropped[support.places] = True
    return matrix._replace(entries=with_entries(entries, ~dropped))


def solution_of(
    problem: Problem,
    start: np.ndarray | None,
    tol: float,
    max_iter: int,
    newton: bool,
    write: bool,
    owner: str,
    progress: Progress,
) -> Solution:
    """Return the last state of the iteration with its evidence."""
    marginals = problem.marginals
    if start is not None and problem.kept is not None:
        start = start[problem.kept[1]]
    symmetric = _symmetric(problem, tol, max_iter, owner) if start is None and newton else None
    if symmetric is not None:
        start = np.log(symmetric.scaling) + 0.5 * np.log(marginals.rows[0])
    kernel = _kernel(problem, owner, logs=False)
    found = _solved(kernel, marginals, start, tol, max_iter, newton, progress)
    if not kernel.logs and not found.state.residual < np.inf:
        kernel = _kernel(problem, owner, logs=True)
        found = _solved(kernel, marginals, start, tol, max_iter, newton, progress)
    if symmetric is not None:  # its steps come first
        trace = [*symmetric.residual_trace[:-1], *found.trace]
        found = found._replace(trace=trace, n_newton=found.n_newton + symmetric.n_iter)
    state = found.state
    if not (np.isfinite(state.a).all() and np.isfinite(state.b).all()):
        raise ValueError(
            f"{owner} met factors beyond the range of float64: {problem.matrix.name} has entries "
            "that differ by too many orders of magnitude; with a cost, reg is too small."
        )
    y = direction(kernel, marginals, state, _ACCURACY[found.rough is not None], found.rough)
    y = y if np.isfinite(y).all() else np.zeros(len(y))
    plan = kernel.finished(state.a, state.b, y, marginals, write)
    if shift := _shift(problem):  # the kernel's logarithms were less by scale times this
        shift *= problem.matrix.scale
        state = state._replace(a=state.a - shift)
        plan = plan._replace(logarithm=plan.logarithm + shift * plan.row_sums.sum())
    evidence = evidence_of(state, y, plan, marginals, _least(problem))
    if problem.constant:
        evidence = evidence._replace(
            dual=evidence.dual + problem.constant,
            lower_bound=evidence.lower_bound + problem.constant,
        )
    a, b = _centred(state.a, state.b, problem)
    matrix = plan.matrix
    if write and not sp.issparse(matrix):
        matrix = matrix.astype(problem.matrix.entries.dtype, copy=False)
    if problem.kept is not None:
        a, b, matrix = _embedded(a, b, matrix, problem)
    if problem.turned:
        a, b, matrix = b, a, _rows_and_columns(matrix.T) if write else None
    return Solution(matrix, a, b, evidence, found, kernel.n_products)


def _least(problem):
    """Return the least logarithm of K, None with zeros in it."""
    matrix = problem.matrix
    if sp.issparse(matrix.entries) or not matrix.full:
        return None
    return float(np.log(matrix.least)) if matrix.scale is None else matrix.scale * matrix.least


def _shift(problem):
    """Return the constant that is left out of logarithms, whose rounding would be of its size.

    Where sums are exact the plan does not depend on it.
    """
    exact = not problem.marginals.column_slack
    return problem.matrix.extreme if exact and problem.matrix.scale is not None else 0.0


def _kernel(problem, owner, logs):
    X, scale, name = problem.matrix.entries, problem.matrix.scale, problem.matrix.name
    extreme = problem.matrix.extreme
    shift = _shift(problem)
    logs = logs or sp.issparse(X) or extreme < _LEAST
    if logs and scale is None and np.isinf(X.max()):
        refuse(X, name, owner)
    if sp.issparse(X):
        data = X.data.astype(np.float64)
        data = np.log(data) if scale is None else scale * (data - shift)
        return SparseKernel(sp.csr_array((data, X.indices, X.indptr), shape=X.shape), X.dtype)
    kernel = DenseKernel(X, scale, shift, owner, problem.in_place)
    if scale is None and (logs or kernel.spread() > _PEAKED):
        require_memory(
            *X.shape, 8, what=f"the logarithms of K in {owner}", instead="pass them, log_K"
        )
        return DenseKernel(np.log(X, dtype=np.float64), 1.0, 0.0, owner)
    return kernel


def _solved(kernel, marginals, start, tol, max_iter, newton, progress):
    if start is None:
        return solve_by_levels(kernel, marginals, tol, max_iter, newton, progress)
    return solve(kernel, marginals, start, tol, max_iter, newton, progress)


def _symmetric(problem, tol, max_iter, owner):
    """Return the scaling to unit sums of a symmetric K with equal sums; None if it has none.

    Half of the entries are enough for its steps.
    """
    X, (r, c, *slacks) = problem.matrix.entries, problem.marginals
    if problem.matrix.scale is not None or any(slacks) or X.shape[0] != X.shape[1]:
        return None
    if not (r == r[0]).all() or not (c == r[0]).all() or not _is_symmetric(X):
        return None
    try:
        found = scaling_to_unit_sums(as_symmetric(X, owner), owner, tol, max_iter)
    except ValueError:  # beyond the range of float64
        return None
    return found if found.converged else None


def _is_symmetric(X):
    if sp.issparse(X):
        return (X != X.T).nnz == 0
    if not (X[0] == X[:, 0]).all():
        return False
    step = max(1, (1 << 18) // len(X))
    return all(
        (X[top : top + step, : top + step] == X[: top + step, top : top + step].T).all()
        for top in range(0, len(X), step)
    )


def _centred(a, b, problem):
    """Return the logarithms with equal means in each block, where a constant changes nothing."""
    if problem.marginals.column_slack:
        return a, b
    if problem.support is None or problem.support.block_of_row is None:
        shift = 0.5 * (b.mean() - a.mean())
        return a + shift, b - shift
    of_rows, of_columns = problem.support.block_of_row, problem.support.block_of_column
    n = max(of_rows.max(), of_columns.max()) + 1
    means = [
        np.bincount(block, values, n) / np.maximum(np.bincount(block, minlength=n), 1)
        for block, values in ((of_rows, a), (of_columns, b))
    ]
    shift = 0.5 * (means[1] - means[0])
    return a + shift[of_rows], b - shift[of_columns]


def _embedded(a, b, matrix, problem):
    """Return logarithms and matrix with the rows and columns that were left out."""
    whole = [np.full(size, -np.inf) for size in problem.shape]
    for values, kept, given in zip(whole, problem.kept, (a, b), strict=True):
        values[kept] = given
    places = tuple(map(np.flatnonzero, problem.kept))
    if sp.issparse(matrix):
        counts = np.zeros(problem.shape[0], np.intp)
        counts[places[0]] = np.diff(matrix.indptr)
        indptr = np.concatenate(([0], np.cumsum(counts)))
        matrix = sp.csr_array((matrix.data, places[1][matrix.indices], indptr), shape=problem.shape)
    elif matrix is not None:
        large = np.zeros(problem.shape, matrix.dtype)
        large[np.ix_(*places)] = matrix
        matrix = large
    return *whole, matrix
