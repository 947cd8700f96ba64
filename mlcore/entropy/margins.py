"""Cells scaled to given margins: iterative proportional fitting and Newton's method."""

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mlcore.checks.errors import warn
from mlcore.entropy.maximum_entropy import InfeasibleTargets, maximum_entropy
from mlcore.runtime.memory import require_memory

EQUAL_TOTALS = 1e-9  # relative
_SLOW = 0.9  # of the residual: sweeps that leave more give way to Newton's method
_SHOWN = 4  # margins named in an error


class Margin(NamedTuple):
    """Sums that cells must have: cell i belongs to sum `index[i]`, with a target in `targets`.

    `index` is intp (n_cells,); `name` gives the text for the sum of a number, for errors.
    """

    index: np.ndarray
    targets: np.ndarray
    name: Callable[[int], str]


class Scaled(NamedTuple):
    """Cells after scaling, with the residual at the start, after each sweep, and at the end."""

    cells: np.ndarray
    trace: np.ndarray
    n_iter: int
    converged: bool


def scale_to_margins(
    cells: np.ndarray, margins: list[Margin], *, solver: str, tol: float, max_iter: int, owner: str
) -> Scaled:
    """Return cells times a factor for each sum of each margin, nearest in relative entropy.

    ValueError if totals differ, or the positive cells cannot have these sums.
    """
    # The margins must have one total.
    totals = [margin.targets.sum() for margin in margins]
    total = totals[0]
    if not total > 0 or max(totals) - min(totals) > EQUAL_TOTALS * max(totals):
        shown = ", ".join(f"{value:.12g}" for value in totals)
        raise ValueError(f"{owner}: the margins must have one positive total, but have {shown}.")
    # Cells with a sum of 0 become 0; every other sum needs a cell that is left.
    used = cells > 0
    for margin in margins:
        used &= margin.targets[margin.index] > 0
    for margin in margins:
        there = np.bincount(margin.index[used], minlength=len(margin.targets)) > 0
        empty = np.flatnonzero(~there & (margin.targets > 0))
        if len(empty):
            others = f"; {len(empty) - 1} more sums have none either" if len(empty) > 1 else ""
            raise ValueError(
                f"{owner}: {margin.name(int(empty[0]))} has the target "
                f"{margin.targets[empty[0]]:.6g}, but no positive cell that the other margins "
                f"allow{others}."
            )
    # Sweeps over the margins, while each takes a tenth or more of the residual.
    used_margins = [Margin(m.index[used], m.targets, m.name) for m in margins]
    fitted, trace = cells[used] / cells[used].max(), []
    fitted *= total / fitted.sum()
    trace.append(_residual(fitted, used_margins, total))
    while solver == "ipf" and trace[-1] > tol and len(trace) <= max_iter:
        for margin in used_margins:
            sums = np.bincount(margin.index, weights=fitted, minlength=len(margin.targets))
            factors = np.divide(margin.targets, sums, where=sums > 0, out=np.zeros(len(sums)))
            fitted = fitted * factors[margin.index]
        trace.append(_residual(fitted, used_margins, total))
        if len(trace) > 3 and trace[-1] > _SLOW * trace[-2]:
            break
    # Newton's method goes on from the last sweep.
    n_iter = len(trace) - 1
    if trace[-1] > tol and n_iter < max_iter:
        start = fitted if solver == "ipf" else cells[used]
        fitted, steps = _by_newton(start, used_margins, total, tol, max_iter - n_iter, owner)
        trace.append(_residual(fitted, used_margins, total))
        n_iter += steps
    # The cells of all, with a warning where the residual is too large.
    result = np.zeros(len(cells))
    result[used] = fitted
    converged = trace[-1] <= tol
    if not converged:
        warn(
            "ConvergenceWarning",
            f"{owner}: the residual is {trace[-1]:.1e}, above tol={tol:.1e}, after "
            f"{n_iter} steps. Increase max_iter or tol.",
        )
    return Scaled(result, np.array(trace), n_iter, bool(converged))


def _residual(cells, margins, total):
    """Return the largest error of a sum of any margin, as a share of the total."""
    return max(
        float(abs(np.bincount(m.index, cells, len(m.targets)) - m.targets).max()) / total
        for m in margins
    )


def _by_newton(cells, margins, total, tol, max_iter, owner):
    """Return the cells and the number of steps, by maximum entropy with a feature for each sum.

    Of each margin but the first one sum is left out, which follows from the total.
    """
    # A feature for each sum: the indicator of its cells, whose target is its share of the total.
    sums = [(m, s) for m in margins for s in range(m is not margins[0], len(m.targets))]
    sums = [(m, s) for m, s in sums if m.targets[s] > 0]
    require_memory(
        len(cells),
        len(sums),
        8,
        what="Newton's method with an indicator of each margin for every cell",
        instead="raise tol, at which the sweeps of solver='ipf' end",
    )
    features = np.empty((len(cells), len(sums)))
    targets = np.empty(len(sums))
    for column, (margin, s) in enumerate(sums):
        features[:, column] = margin.index == s
        targets[column] = margin.targets[s] / margin.targets.sum()
    # Without a solution, the direction of maximum entropy is a combination of sums to report.
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the residual over all margins decides
            nearest = maximum_entropy(features, targets, cells, tol=tol / 10, max_iter=max_iter)
    except InfeasibleTargets as error:
        weights = abs(error.direction)
        order = [
            j for j in np.argsort(-weights, kind="stable") if weights[j] > 1e-6 * weights.max()
        ]
        shown = ", ".join(
            f"{error.direction[j]:+.3g} times {sums[j][0].name(sums[j][1])} of target "
            f"{sums[j][0].targets[sums[j][1]]:.6g}"
            for j in order[:_SHOWN]
        )
        others = f" and {len(order) - _SHOWN} more" if len(order) > _SHOWN else ""
        raise ValueError(
            f"{owner}: no numbers in the positive cells have these margins. The sum of {shown}"
            f"{others} is above what they allow by {error.margin * total:.6g} or more."
        ) from None
    return nearest.probabilities * total, max(nearest.n_iter, 1)
