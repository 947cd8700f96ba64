"""Newton's method for logistic regression, with a start from a part of the rows."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mlcore.linear_model.logistic.objective import NewtonSystem, Objective, Point, hessian_of
from mlcore.linear_model.logistic.rounding import error_of_gradient

_STRIDES = 32, 8, 2  # every so many blocks of rows are the parts to start from
_PER_PARAMETER = 25  # rows that a part needs
_SUFFICIENT = 100  # those that make a larger part of no use
_KEPT = 1e-4  # squared decrement below which the next step's Hessian is the same
_FAST = 0.1  # factor of the squared decrement in a step, above which it is not the same any more
ARMIJO = 1e-4
ROUNDING = 2e-15  # of an objective, a sum over rows


class Step(NamedTuple):
    """Point of an iteration, the decrement ``sqrt(g' H^-1 g)`` there, and where it goes on."""

    point: Point
    decrement: float
    direction: np.ndarray


def first_point(objective: Objective, theta: np.ndarray) -> np.ndarray:
    """Return parameters to start from: those of fits to growing parts of the rows, from `theta`."""
    rows = objective.rows
    strides = [k for k in _STRIDES if rows.n >= k * _PER_PARAMETER * (rows.d + 1)]
    for stride in strides:
        part = rows.codes[rows.chosen(stride)]
        if np.bincount(part, minlength=max(2, rows.n_scores)).all():
            enough = theta.size / len(part)  # the optimum of the part is no nearer
            for step, _ in zip(newton_steps(objective, theta, stride), range(20), strict=False):
                theta = step.point.theta
                if step.decrement**2 <= enough:
                    theta = theta + step.direction
                    break
            if rows.n >= _SUFFICIENT * stride * (rows.d + 1):
                break
    return theta


def newton_steps(objective: Objective, theta: np.ndarray, stride: int = 1) -> Iterator[Step]:
    """Yield the points of Newton's method from `theta` on; none where the objective is not finite.

    Points rise by rounding at most. The decrement is infinite where probabilities are saturated, so
    that the gradient has a part in which the Hessian is 0.
    """
    rows, keep, before, system = objective.rows, False, np.inf, None
    point = objective.at(theta, hessian=True, stride=stride)
    if not np.isfinite(point.value):
        return
    while True:
        gradient = point.gradient.ravel()
        if keep and system is not None:
            direction = -system.solve(gradient)
            keep = -float(gradient @ direction) < _FAST * before**2
            if not keep:
                point = objective.at(point.theta, hessian=True, stride=stride)
        if not keep:
            system = NewtonSystem(hessian_of(point, objective.penalty), rows.n_scores)
            direction = -system.solve(gradient)
        slope = float(gradient @ direction)
        decrement = float(np.sqrt(max(0.0, -slope)))
        if not system.is_regular() and stride == 1:
            error = error_of_gradient(objective, point.theta)
            decrement = np.inf if system.misses(gradient, error.ravel()) else decrement
        yield Step(point, decrement, direction.reshape(point.theta.shape))
        if slope > -10 * ROUNDING * abs(point.value) and decrement > 0.5 * before:
            return
        keep = slope > -_KEPT
        following = search(objective, point, direction, slope, not keep, stride)
        if following is None:
            return
        point, before = following, decrement


def search(
    objective: Objective,
    point: Point,
    direction: np.ndarray,
    slope: float,
    hessian: bool = False,
    stride: int = 1,
) -> Point | None:
    """Return the first point of full, half, quarter ... steps that is low enough; None if none is.

    Armijo's rule; where the change is below rounding, any point not higher by more than that.
    """
    length, direction = 1.0, direction.reshape(point.theta.shape)
    least = ROUNDING * abs(point.value)
    if not slope < 0:
        return None
    for _ in range(60):
        trial = objective.at(point.theta + length * direction, hessian=hessian, stride=stride)
        if trial.value <= point.value + ARMIJO * length * slope:
            return trial
        if -length * slope < 10 * least and trial.value <= point.value + least:
            return trial
        if -length * slope < least:
            return None
        length /= 2
    return None
