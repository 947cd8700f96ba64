"""Plain losses by the augmented Lagrangian of the dual, whose steps are semismooth Newton's.

Each outer step minimises the Moreau envelopes of the losses about the dual variables so far, and
moves these to the slopes there; sigma grows. R. Rockafellar, *Augmented Lagrangians and
applications of the proximal point algorithm in convex programming*, Mathematics of Operations
Research 1, 1976.
"""

from collections.abc import Iterator

import numpy as np

from mlcore.svm.linear.band_newton import (
    Band,
    BandPoint,
    BandSystem,
    first_point,
    newton_points,
    plain_gap,
    point_at,
)
from mlcore.svm.linear.linear_rows import LinearRows
from mlcore.svm.linear.loss_problem import DualPoint, LossProblem

_FIRST = 1.0  # sigma, in units of the inverse mean of |x|²
_GROWTH, _MOST = 4.0, 1e4  # of sigma
_ENOUGH = 1e3  # of sigma, times the costs
_IDLE = 6  # outer steps without a smaller gap, after which rounding is all that is left
_INNER = 2.0  # of the gap, that the rest of an inner problem may be


def augmented_lagrangian_points(
    rows: LinearRows,
    problem: LossProblem,
    start: DualPoint,
    fit_intercept: bool,
    sigma: float | None,
    tol: float,
    rough: bool = False,
) -> Iterator[tuple[float, DualPoint]]:
    """Yield sigma and the points from `start` on, one after each Newton step, until none helps.

    `tol` is the share of P that the gap may be; sigma None is one that suits rows like these. With
    `rough` systems are solved as by `BandSystem`.
    """
    lower, upper = problem.bounds(problem.cost)
    if sigma is None:
        sigma = typical_sigma(rows, problem)
    theta, b, beta = start.theta, start.b, start.beta
    costs = float(problem.cost.max()) * _ENOUGH
    system, best, idle, growth = BandSystem(rows, rough), np.inf, 0, _GROWTH
    while True:
        band = Band(problem.y, beta, np.full(rows.n, sigma), lower, upper, problem.eps)
        first = point = first_point(rows, band, theta, b, fit_intercept)
        found = _dual_point(band, point)
        yield sigma, found
        for point in newton_points(system, band, first, fit_intercept):
            found = _dual_point(band, point)
            yield sigma, found
            outer, allowed = found.gap - point.rest(), tol * found.value
            if point.rest() <= max(_INNER * outer, 1e-3 * allowed):
                break
        # Where the gap hardly falls, sigma is far too small for the costs.
        growth = _GROWTH if found.gap <= 0.5 * best else min(_MOST, _GROWTH * growth)
        idle = 0 if found.gap < 0.9 * best or sigma < costs else idle + 1
        best = min(best, found.gap)
        if idle >= _IDLE:
            return
        theta, b, beta = point.theta, point.b, point.beta
        sigma = growth * sigma


def typical_sigma(rows: LinearRows, problem: LossProblem) -> float:
    """Return a sigma with which a step moves many dual variables from bound to bound."""
    squares = float(rows.squares[0].mean())
    typical = _FIRST / squares if squares > 0 else 1.0
    return float(max(min(float(problem.cost.mean()), typical), 1e-290))


def start_of_part(
    rows: LinearRows, problem: LossProblem, point: DualPoint, sigma: float
) -> DualPoint:
    """Return the start for all rows from the solution of some: those near a kink are within."""
    lower, upper = problem.bounds(problem.cost)
    middle = 0.5 * (lower + upper) if problem.of_classes else np.zeros(rows.n)
    band = Band(problem.y, middle, np.full(rows.n, sigma), lower, upper, problem.eps)
    f = rows.times(point.theta) + point.b
    found = point_at(rows, band, point.theta, point.b, f)
    return _dual_point(band, found)


def _dual_point(band: Band, point: BandPoint):
    losses, brackets = plain_gap(band, point)
    value = 0.5 * float(point.theta @ point.theta) + losses
    return DualPoint(point.theta, point.b, point.beta, value, brackets + point.rest())
