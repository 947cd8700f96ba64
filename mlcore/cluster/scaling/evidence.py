"""Objectives of a scaled matrix, and the gap between them."""

from typing import NamedTuple

import numpy as np

from mlcore.cluster.scaling.marginals import Marginals
from mlcore.cluster.scaling.scaled_kernel import Finished
from mlcore.cluster.scaling.solver import State


class Evidence(NamedTuple):
    """Sums over a plan, in units of reg = 1."""

    residual: float
    transport_cost: float
    lower_bound: float
    entropy: float
    dual: float
    gap: float


def evidence_of(state: State, y: np.ndarray, found: Finished, marginals: Marginals) -> Evidence:
    """Return the evidence of a plan whose Newton direction is y for the columns."""
    a, b = state.a, state.b
    p, q = found.row_sums, found.column_sums
    row_targets, column_targets = marginals.row_targets(a), marginals.column_targets(b)
    residual = max(
        float(np.abs(p / row_targets - 1.0).max()), float(np.abs(q / column_targets - 1.0).max())
    )
    dual = (
        _conjugate(marginals.rows, marginals.row_slack, a)
        + _conjugate(marginals.columns, marginals.column_slack, b)
        - p.sum()
    )
    if marginals.row_slack or marginals.column_slack:
        gap = _penalised(p, row_targets, marginals.row_slack) + _penalised(
            q, column_targets, marginals.column_slack
        )
    else:
        gap = _gap(state, y, found, marginals)
    # The dual of the unregularised problem: f_i = min_j cost_ij - g_j.
    f = a - np.log(found.largest)
    bound = _conjugate(marginals.rows, marginals.row_slack, f)
    bound += _conjugate(marginals.columns, marginals.column_slack, b)
    entropy = -(found.logarithm + a @ p + b @ q)
    return Evidence(
        residual, -found.logarithm, float(bound), float(entropy), float(dual), float(gap)
    )


def _conjugate(sums, slack, logarithms):
    return sums @ logarithms if not slack else -sums @ np.expm1(-slack * logarithms) / slack


def _penalised(sums, targets, slack):
    """Return at least ``KL(sums | targets) / slack``, by ln(1 + t) <= t."""
    return (targets @ np.square(sums / targets - 1.0)) / slack if slack else 0.0


def _gap(state, y, found, marginals):
    """Return at least F(P (1 + x + y)) - D, whose marginals are those wanted.

    ``sum P ((1 + t) ln (1 + t) - t) <= sum P t²``, which is a sum over rows and columns. Rows are
    exact; what columns still lack, e, moves F by e.b to first order.
    """
    x, p, q = found.x, found.row_sums, found.column_sums
    if not x.min() + y.min() >= -1.0:
        return np.inf
    squares = x @ (marginals.rows - p) + y @ (found.image + q * y)  # sum P t²
    lacking = marginals.columns - q - found.image - q * y
    b = state.b - marginals.columns @ state.b / marginals.columns.sum()  # e sums to 0
    return squares + abs(lacking @ b)
