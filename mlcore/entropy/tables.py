"""Tables of any number of axes, fitted to given margins."""

import warnings
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from mlcore.checks import as_choice, as_integer, as_real
from mlcore.cluster.scaling.sinkhorn import sinkhorn
from mlcore.entropy.entropies import non_negative
from mlcore.entropy.margins import EQUAL_TOTALS, Margin, scale_to_margins
from mlcore.estimator.printed import fields_as_table

_LARGE = 10_000  # cells: fewer are swept in the time that a scaling takes to begin


class FittedTable(NamedTuple):
    """Table with given margins.

    Parameters
    ----------
    table : ndarray
        Of the shape of the one that was given; 0 where that is 0.
    residual : float
        Largest error of any cell of any margin, as a share of the total.
    n_iter : int
        Sweeps over all margins, and steps of Newton's method.
    converged : bool
        `residual` is at most `tol`.
    trace : array
        `residual` at the start, after each sweep, and after Newton's method.

    Examples
    --------
    >>> from mlcore.entropy import fit_table
    >>> fit_table([[1, 1], [1, 1]], {0: [3, 1], 1: [2, 2]}).table
    array([[1.5, 1.5],
           [0.5, 0.5]])
    """

    table: np.ndarray
    residual: float
    n_iter: int
    converged: bool
    trace: np.ndarray

    __repr__ = fields_as_table


def fit_table(
    table: Any,
    margins: Mapping[Any, Any],
    *,
    solver: Literal["ipf", "newton"] = "ipf",
    tol: float = 1e-10,
    max_iter: int = 1000,
) -> FittedTable:
    """Return the table nearest to another in relative entropy that has given margins.

    Every cell is multiplied by a factor for each margin, so odds ratios that no margin fixes stay
    as they are.

    Parameters
    ----------
    table : array-like of one axis or more
        Non-negative; zeros stay.
    margins : mapping of axes to arrays
        ``{0: rows, 1: columns}``, or ``{(0, 1): A, (1, 2): B}``: an axis or a tuple of them, and
        the sums over all others, with the axes in that order. They may overlap.
    solver : {"ipf", "newton"}, default="ipf"
        Iterative proportional fitting, O(cells) for each margin in a sweep; or Newton's method on
        the dual, which "ipf" goes on with where a sweep leaves more than 0.9 of the residual. A
        large positive table of two axes is fitted by `mlcore.cluster.sinkhorn` instead of sweeps.
    tol : float, default=1e-10
        Largest `residual` at which the iteration ends.
    max_iter : int, default=1000
        Sweeps and steps.

    Returns
    -------
    result : FittedTable
        The table with its evidence.

    Raises
    ------
    ValueError
        If totals of margins differ by more than 1e-9 of them, or zeros of the table make the
        margins impossible: the sums that cannot be met are named. Also for negative or infinite
        values, NaN, and shapes that do not fit.

    Warns
    -----
    ConvergenceWarning
        If `residual` is above `tol` after `max_iter` steps.

    References
    ----------
    W. E. Deming, F. F. Stephan, *On a least squares adjustment of a sampled frequency table when
    the expected marginal totals are known*, Annals of Mathematical Statistics 11, 1940.

    Examples
    --------
    >>> from mlcore.entropy import fit_table
    >>> fitted = fit_table([[10, 20], [30, 40]], {0: [50, 50], 1: [40, 60]})
    >>> fitted.table.round(3)
    array([[17.577, 32.423],
           [22.423, 27.577]])
    >>> fitted.converged
    True
    """
    start = non_negative(table, "table")
    solver = as_choice(solver, "solver", ("ipf", "newton"))
    tol = as_real(tol, "tol", above=0)
    max_iter = as_integer(max_iter, "max_iter", at_least=1)
    if not isinstance(margins, Mapping) or not margins:
        raise ValueError("margins must be a mapping of axes to arrays, such as {0: rows}.")
    parts = [_margin(axes, sums, start.shape) for axes, sums in margins.items()]
    if solver == "ipf" and start.size >= _LARGE and (scaled := _by_scaling(
        start, dict(zip(map(_axis, margins), parts, strict=True)), tol, max_iter
    )):  # fmt: skip
        return scaled
    fitted = scale_to_margins(
        start.ravel(),
        parts,
        solver=solver,
        tol=tol,
        max_iter=max_iter,
        owner="fit_table",
    )
    return FittedTable(
        fitted.cells.reshape(start.shape),
        float(fitted.trace[-1]),
        fitted.n_iter,
        fitted.converged,
        fitted.trace,
    )


def _axis(axes):
    """Return the one axis of a margin; a tuple of others as it is."""
    return axes[0] if isinstance(axes, tuple) and len(axes) == 1 else axes


def _by_scaling(start, margins, tol, max_iter):
    """Return a positive table of two axes fitted by `sinkhorn`; None where that does not apply.

    1,000 x 1,000 cells take a quarter of the time of sweeps, peaked ones less than a tenth.
    """
    margins = {axis + start.ndim if axis in (-1, -2) else axis: m for axis, m in margins.items()}
    if start.ndim != 2 or set(margins) != {0, 1} or not start.min() > 0.0:
        return None
    rows, columns = margins[0].targets, margins[1].targets
    total = rows.sum()
    if not (rows.min() > 0.0 and columns.min() > 0.0):
        return None
    if abs(total - columns.sum()) > EQUAL_TOTALS * max(total, columns.sum()):
        return None
    # An error is a share of the total here, and of its own sum there.
    share = min(0.1, tol * total / max(rows.max(), columns.max()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # sweeps go on where it does not converge
        found = sinkhorn(start, rows, columns, tol=share, max_iter=max_iter)
    trace = np.array(
        [
            max(abs(T.sum(axis=1) - rows).max(), abs(T.sum(axis=0) - columns).max()) / total
            for T in (start * (total / start.sum()), found.matrix)
        ]
    )
    if not trace[-1] <= tol:
        return None
    return FittedTable(found.matrix, float(trace[-1]), found.n_iter, True, trace)


def _margin(axes, sums, shape):
    several = axes if isinstance(axes, tuple) else (axes,)
    whole = [
        isinstance(axis, (int, np.integer)) and -len(shape) <= axis < len(shape) for axis in several
    ]
    numbers = [int(axis) % len(shape) for axis, good in zip(several, whole, strict=True) if good]
    if not whole or not all(whole) or len(set(numbers)) < len(whole):
        raise ValueError(
            f"margins has the axes {axes!r}, but they must be different numbers from 0 to "
            f"{len(shape) - 1}, one or a tuple."
        )
    targets = non_negative(sums, f"margins[{axes!r}]")
    expected = tuple(shape[axis] for axis in numbers)
    if targets.shape != expected:
        raise ValueError(f"margins[{axes!r}] has shape {targets.shape}, but must be {expected}.")
    places = np.indices(shape, sparse=True)
    index = np.ravel_multi_index(
        tuple(np.broadcast_to(places[axis], shape).ravel() for axis in numbers), expected
    )

    def name(sum_number):
        cell = tuple(map(int, np.unravel_index(sum_number, expected)))
        return f"margins[{axes!r}][{', '.join(map(str, cell))}]"

    return Margin(index, targets.ravel(), name)
