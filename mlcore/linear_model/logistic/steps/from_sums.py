"""Steps of logistic regression from sums over all rows: a run that goes on from pass to pass."""

import math
from typing import NamedTuple

import numpy as np

from mlcore.checks.stored import stored
from mlcore.linear_model.logistic.elastic_net import absolute_penalties
from mlcore.linear_model.logistic.logistic_pass import Columns, LogisticSums
from mlcore.linear_model.logistic.objective import (
    NewtonSystem,
    Point,
    hessian_of,
    penalised_point,
    penalties,
)
from mlcore.linear_model.logistic.steps.lbfgs import inverse_product
from mlcore.linear_model.logistic.steps.newton import ARMIJO, ROUNDING
from mlcore.linear_model.logistic.steps.proximal_newton import proximal_step

_PAIRS = 20  # of L-BFGS
_SATURATED = 1e-10  # a gradient outside of the Hessian's range that is larger is no rounding
_SLOW = 0.3  # ratio of decrements near a minimum is their square; without a minimum exp(-1/2)


@stored(version=1)
class Line(NamedTuple):
    """The last accepted point, and the step from it that is tried: `length` times `direction`.

    `value` is the objective at `start`, per unit of weight; `slope` is at most 0. `endless`: the
    decrements fall so slowly that there seems to be no minimum.
    """

    start: np.ndarray
    value: float
    gradient: np.ndarray | None
    direction: np.ndarray
    slope: float
    length: float
    endless: bool
    _stored = {
        "start": "float64 c' f+1",
        "value": "float",
        "gradient": "none | float64 c' f+1",
        "direction": "float64 c' f+1",
        "slope": "float",
        "length": "float",
        "endless": "bool",
    }

    def is_too_long(self, value: float) -> bool:
        """Return True if the objective at the end of the step is above Armijo's rule."""
        rounding = 10 * ROUNDING * abs(self.value)
        return value > self.value + ARMIJO * self.length * self.slope + rounding

    def halved(self) -> "Line":
        """Return the line with half the step."""
        return self._replace(length=self.length / 2)


@stored(version=1)
class Run(NamedTuple):
    """State of a fit between two passes over the rows; `line` is None before the first step.

    `theta` is in shifted and scaled columns; `pairs` (2, m, n_scores, d + 1) are of L-BFGS.
    """

    theta: np.ndarray
    columns: Columns
    line: Line | None = None
    pairs: np.ndarray | None = None
    _stored = {
        "theta": "float64 c' f+1",
        "columns": Columns,
        "line": ("|", "none", Line),
        "pairs": "none | float64 2 l? c' f+1",
    }

    def for_sums(self) -> "Run":
        """Return what sums over rows need."""
        return Run(self.theta, self.columns)


class NextStep(NamedTuple):
    """Run after a step, with the objective and the decrement of the point where the step began.

    `value` is per unit of weight; the decrement is infinite where saturation hides the gradient.
    """

    run: Run
    value: float
    decrement: float


def next_step(
    run: Run, sums: LogisticSums, C: float, l1_ratio: float, intercept: bool
) -> NextStep | Run:
    """Return the step that follows from the sums at ``run.theta``.

    It is a `Run` alone, with half the last step, if that step was too long. With ``l1_ratio > 0``
    the sums have a Hessian.
    """
    theta, line, strength = run.theta, run.line, 1 / C / sums.weight
    penalty = penalties(run.columns.scale, strength * (1 - l1_ratio))
    point = penalised_point(theta, sums, penalty)
    lasso = absolute_penalties(run.columns.scale, strength * l1_ratio)
    with np.errstate(over="ignore"):
        point = point._replace(value=point.value + float((lasso * np.abs(theta)).sum()))
    if line is not None and line.is_too_long(point.value):
        line = line.halved()
        return run._replace(theta=line.start + line.length * line.direction, line=line)

    # The direction: of L-BFGS if the parameters are too many for a Hessian, else of Newton.
    pairs, gradient, saturated = None, point.gradient, False
    if l1_ratio > 0:
        direction, slope = proximal_step(point, penalty, lasso, intercept)
        saturated = not math.isfinite(slope)
        if saturated:
            direction, slope = np.zeros_like(theta), 0.0
    elif sums.hessian is None:
        pairs = _with_last_step(run, point)
        direction = _quasi_newton(point, penalty, pairs)
    else:
        system = NewtonSystem(hessian_of(point, penalty), len(theta))
        direction = -system.solve(gradient.ravel()).reshape(theta.shape)
        saturated = system.misses(gradient.ravel(), np.full(theta.size, _SATURATED))
    if l1_ratio == 0:
        slope = float((gradient * direction).sum())
    slope = min(0.0, slope)
    decrement = math.inf if saturated else math.sqrt(-slope)

    # Without penalty there may be no minimum: decrements then fall by a constant factor.
    endless = False
    if pairs is None and C == math.inf and line is not None and line.length == 1:
        if -line.slope > 100 * ROUNDING * point.value:
            endless = slope < _SLOW**2 * line.slope
        else:  # rounding decides nothing
            endless = line.endless
    kept = None if pairs is None else gradient
    line = Line(theta, point.value, kept, direction, slope, 1.0, endless)
    return NextStep(Run(theta + direction, run.columns, line, pairs), point.value, decrement)


def _with_last_step(run: Run, point: Point) -> np.ndarray:
    """Return the last steps and changes of the gradient, (2, m, n_scores, d + 1)."""
    line, pairs = run.line, run.pairs
    if line is None:
        return np.empty((2, 0, *point.theta.shape))
    pair = np.stack([point.theta - line.start, point.gradient - line.gradient])
    if not (pair[0] * pair[1]).sum() > 0:  # rounding
        return pairs
    return np.concatenate([pairs[:, -_PAIRS + 1 :], pair[:, None]], axis=1)


def _quasi_newton(point: Point, penalty: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the direction of L-BFGS, in the metric of columns of unit mean square."""
    share = 1 / max(2, len(point.theta))
    diagonal = share * (1 - share) + penalty

    def inverse(g):
        return g / diagonal

    history = [(s, y, 1 / float((s * y).sum())) for s, y in zip(*pairs, strict=True)]
    gamma = 1.0
    if history:
        s, y, rho = history[-1]
        gamma = 1 / (rho * float((y * inverse(y)).sum()))
    return -inverse_product(point.gradient, history, gamma, inverse)
