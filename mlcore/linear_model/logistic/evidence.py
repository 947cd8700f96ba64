"""Bounds on the distance of a logistic regression from its optimum."""

import math
from typing import NamedTuple

import numpy as np

from mlcore.linear_model.logistic.logistic_pass import LogisticRows
from mlcore.linear_model.logistic.newton import newton_steps
from mlcore.linear_model.logistic.objective import NewtonSystem, Objective, Point
from mlcore.scatter import row_blocks
from mlcore.threads import single_threaded_blas

LARGEST_SYSTEM = 2000  # parameters, up to which Hessians are computed


class Evidence(NamedTuple):
    """Distance of a fitted logistic regression from the optimum on some data.

    Attributes
    ----------
    objective : float
        P at the fitted parameters.
    gradient_norm : float
        Largest component of the gradient of P per unit of weight and C, in columns centred and
        scaled to unit mean square.
    duality_gap : float
        At least P less its minimum; infinite without penalty.
    newton_decrement : float
        ``sqrt(g' H^-1 g)`` of gradient and Hessian of P; NaN for more than 2000 parameters.
    excess_bound : float
        At least P less its minimum, by self-concordance; infinite if the decrement is too large
        to tell. For more than 2000 parameters, the duality gap.
    """

    objective: float
    gradient_norm: float
    duality_gap: float
    newton_decrement: float
    excess_bound: float


def duality_gap(objective: Objective, point: Point, factor: float) -> tuple[float, Point]:
    """Return a bound on P less its minimum at a point with solved intercepts, and the point.

    P is `factor` times the objective. Residuals are feasible in the dual if they sum to 0, as they
    do once the intercepts are solved for; the gap is then half the squared gradient in W. Where
    that moves the intercepts by little, the gradient is bounded there: no residual moves by more
    than a quarter of the score's change. Else it is computed, by one more pass.
    """
    rows, gradient = objective.rows, np.abs(point.gradient)
    gap = _gap_of(objective, gradient, factor)
    if not rows.intercept:
        return gap, point
    change, gain = _solved_intercepts(rows, objective.scores(point.theta))
    if not change.any():
        return gap, point
    solved = point.theta.copy()
    solved[:, -1] += change
    rise = change.max() - change.min() if len(change) > 1 else np.abs(change[0])
    gradient += 0.25 * rise * np.hypot(objective.deviation, objective.mean)
    bound = _gap_of(objective, gradient, factor)
    if bound <= 1.1 * gap + 1e-12 * factor * point.value:
        return bound, point._replace(theta=solved, value=point.value - gain)
    found = objective.at(solved)
    return _gap_of(objective, np.abs(found.gradient), factor), found


def _solved_intercepts(rows, scores):
    """Return what to add to the intercepts so that residuals sum to 0, (n_scores,), and by how much
    that lowers the mean loss.

    A logistic regression without columns, whose offsets are the scores.
    """
    alone = LogisticRows(
        np.empty((rows.n, 0)), rows.codes, rows.weight, scores, rows.n_scores, True
    )
    theta = np.zeros((rows.n_scores, 1))
    values = []
    for count, step in enumerate(newton_steps(Objective(alone, 0.0), theta)):
        theta = step.point.theta
        values.append(step.point.value)
        if step.decrement < 1e-15 or count == 50:
            break
    return theta[:, 0], max(0.0, values[0] - values[-1])


def _gap_of(objective, gradient, factor):
    if not objective.penalty.any():
        return math.inf
    with np.errstate(over="ignore", under="ignore"):
        return 0.5 * float(np.square(factor * gradient[:, :-1] / objective.rows.scale).sum())


def evidence(objective: Objective, theta: np.ndarray, factor: float) -> Evidence:
    """Return the evidence at theta; P is `factor` times the objective."""
    rows = objective.rows
    small = theta.size <= LARGEST_SYSTEM
    point = objective.at(theta, hessian=small)
    value = factor * point.value
    gap, lower = duality_gap(objective, point, factor)
    gap += max(0.0, factor * (point.value - lower.value))
    norm = objective.gradient_norm(point.gradient)
    if not small:
        return Evidence(value, norm, gap, math.nan, gap)
    with single_threaded_blas():
        system = NewtonSystem(objective.hessian(point), rows.n_scores)
        gradient = point.gradient.ravel()
        decrement = math.sqrt(max(0.0, factor * float(gradient @ system.solve(gradient))))
        radius = math.sqrt(_largest_square(rows, system) / factor)
    return Evidence(value, norm, gap, decrement, _excess(decrement, radius))


def _excess(decrement, radius):
    """Return ``(u + (1 - u) ln(1 - u)) / radius^2`` for u = radius * decrement."""
    u = radius * decrement
    if u >= 1:
        return math.inf
    if u < 1e-3:
        return decrement**2 * (0.5 + u / 6 + u**2 / 6)
    return (u + (1 - u) * math.log1p(-u)) / radius**2


def _largest_square(rows, system):
    """Return the largest squared norm of a row in the inverse Hessian; of several classes, of the
    difference of its copies for any two of them.
    """
    c, D = rows.n_scores, rows.d + 1
    inverse = system.solve(np.eye(c * D)).reshape(c, D, c, D)
    if c == 1:
        forms = [inverse[0, :, 0]]
    else:
        forms = [
            inverse[a, :, a] + inverse[b, :, b] - inverse[a, :, b] - inverse[b, :, a]
            for a in range(c)
            for b in range(a + 1, c)
        ]
    largest = 0.0
    for _, block in row_blocks(rows.X):
        B = np.full((len(block), D), float(rows.intercept))
        B[:, :-1] = (block - rows.shift) * rows.scale
        for form in forms:
            largest = max(largest, float(np.einsum("ij,ij->i", B @ form, B).max()))
    return largest
