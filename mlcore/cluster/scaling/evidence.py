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


def evidence_of(
    state: State, y: np.ndarray, found: Finished, marginals: Marginals, least: float | None
) -> Evidence:
    """Return the evidence of a plan whose Newton direction is y for the columns.

    `least` is the least logarithm of K, None with zeros in it.
    """
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
        gap = _gap(state, y, found, marginals, least)
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


def _gap(state, y, found, marginals, least):
    """Return at least F - D for a plan with exactly the sums wanted.

    That of P (1 + t), t = x + y, is at most ``sum P t²``, as ``ln(1 + t) <= t``; rows are exact.
    What its columns lack, e, is taken from those with too much and given where too little is [1]_:
    each unit moves F by the logarithm of P / K where it comes, at most that of r or c over the
    least K, less that where it goes. With zeros in K no place may be free, so that the potentials
    have to do for both, to first order.

    .. [1] J. Altschuler, J. Weed, P. Rigollet, *Near-linear time approximation algorithms for
       optimal transport via Sinkhorn iteration*, NIPS 2017.
    """
    (a, b, *_), x, q = state, found.x, found.column_sums
    least_t = x.min() + y.min()
    if not least_t > -1.0:
        return np.inf
    made = q + found.image + q * y
    squares = x @ (marginals.rows - found.row_sums) + y @ (found.image + q * y)  # sum P t²
    moved = 0.5 * np.abs(marginals.columns - made).sum()
    if not moved:
        return squares
    leaving = a.min() + b.min()
    arriving = a.max() + b.max()
    if least is not None:
        kept = min(1.0, float((marginals.columns / made).min()))
        leaving += np.log1p(least_t) + np.log(kept)
        arriving = np.log(min(marginals.rows.max(), marginals.columns.max())) - least
    return squares + moved * (arriving - leaving)
