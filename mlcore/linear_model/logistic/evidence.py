"""Bounds on the distance of a logistic regression from its optimum."""

import math
from typing import NamedTuple

import numpy as np
from scipy import sparse as sp

from mlcore.linear_model.logistic.elastic_net import ElasticNetObjective, elastic_net_gap
from mlcore.linear_model.logistic.logistic_pass import LogisticRows
from mlcore.linear_model.logistic.objective import NewtonSystem, Objective, Point
from mlcore.linear_model.logistic.steps.conjugate_gradients import bounds_by_products
from mlcore.linear_model.logistic.steps.newton import newton_steps
from mlcore.linear_model.logistic.steps.proximal_newton import promised_fall
from mlcore.scatter import row_blocks
from mlcore.threads import single_threaded_blas

LARGEST_SYSTEM = 2000  # parameters, up to which Hessians are computed
_ULP = 2.0**-53


class Evidence(NamedTuple):
    """Distance of a fitted logistic regression from the optimum on some data.

    The bounds hold for the coefficients as they are stored: what rounding may do to the gradients
    of float64 is in them.

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
        ``sqrt(g' H^-1 g)`` of gradient and Hessian of P. For more than 2000 parameters a bound from
        above, by conjugate gradients; without penalty an estimate, from below. With ``l1_ratio >
        0`` the root of the fall that a step promises, for more parameters in each column alone.
    excess_bound : float
        At least P less its minimum, by self-concordance, or the duality gap where that is smaller,
        and with ``l1_ratio > 0``; infinite if the decrement is too large to tell.
    """

    objective: float
    gradient_norm: float
    duality_gap: float
    newton_decrement: float
    excess_bound: float


def duality_gap(objective: Objective, point: Point, factor: float) -> tuple[float, float, Point]:
    """Return a bound on P less its minimum at a point with solved intercepts, a bound on how much
    lower P is there than at `point`, and the point.

    P is `factor` times the objective. Residuals are feasible in the dual if they sum to 0, as they
    do once the intercepts are solved for; the gap is then half the squared gradient in W. Where
    that moves the intercepts by little, the gradient is bounded there: no residual moves by more
    than a quarter of the score's change. Else it is computed, by one more pass.
    """
    if isinstance(objective, ElasticNetObjective):
        return _elastic_net_gap(objective, point, factor)
    rows, gradient = objective.rows, np.abs(point.gradient) + _rounding(objective, point.theta)
    gap = _gap_of(objective, gradient, factor)
    if not rows.intercept:
        return gap, 0.0, point
    change, gain = _solved_intercepts(rows, objective.scores(point.theta))
    gain *= factor
    if not change.any():
        return gap, gain, point
    solved = point.theta.copy()
    solved[:, -1] += change
    rise = change.max() - change.min() if len(change) > 1 else np.abs(change[0])
    gradient += 0.25 * rise * np.hypot(objective.deviation, objective.mean)
    bound = _gap_of(objective, gradient, factor)
    if bound <= 1.1 * gap + 1e-12 * factor * point.value:
        value = min(point.value, point.value - gain / factor)
        return bound, gain, point._replace(theta=solved, value=value)
    found = objective.at(solved)
    gradient = np.abs(found.gradient) + _rounding(objective, solved)
    return _gap_of(objective, gradient, factor), gain, found


def _elastic_net_gap(objective, point, factor):
    rows, gain = objective.rows, 0.0
    if rows.intercept:
        change, gain = _solved_intercepts(rows, objective.scores(point.theta))
        if change.any():
            solved = point.theta.copy()
            solved[:, -1] += change
            point = objective.at(solved)
    error = _rounding(objective, point.theta)
    return elastic_net_gap(objective, point, error, factor), factor * gain, point


def _solved_intercepts(rows, scores):
    """Return what to add to the intercepts so that residuals sum to 0, (n_scores,), and a bound on
    how much that lowers the mean loss.

    A logistic regression without columns, whose offsets are the scores.
    """
    alone = LogisticRows(
        np.empty((rows.n, 0)), rows.codes, rows.weight, scores, rows.n_scores, True
    )
    objective = Objective(alone, 0.0)
    theta = np.zeros((rows.n_scores, 1))
    first = None
    for count, step in enumerate(newton_steps(objective, theta)):
        theta = step.point.theta
        first = step.point if first is None else first
        if step.decrement < 1e-15 or count == 50:
            break
    by_values = max(0.0, first.value - step.point.value)
    by_values += 2 * _ULP * _terms(rows.n) * first.value
    decrement, radius = _of_system(objective, first, 1.0)
    return theta[:, 0], min(by_values, excess(decrement, radius))


def _gap_of(objective, gradient, factor):
    if not objective.penalty.any():
        return math.inf
    with np.errstate(over="ignore", under="ignore"):
        return 0.5 * float(np.square(factor * gradient[:, :-1] / objective.rows.scale).sum())


def _terms(n):
    """Return a bound on the roundings of a sum over n rows, in eight parts and more."""
    return 16 + n / 8


def _rounding(objective, theta):
    """Return a bound on the error of the gradient at theta, of its shape.

    Every term ``w x (p - y)`` is rounded, and its p errs by at most the error of the scores, which
    are sums of d + 1 products.
    """
    per_score = _products(objective.rows) * _largest_terms(objective, theta)
    root = np.hypot(objective.deviation, objective.mean)
    with np.errstate(over="ignore", under="ignore"):
        error = np.outer(np.ones(len(theta)), (_terms(objective.rows.n) + per_score) * root)
        return _ULP * (error + np.abs(objective.penalty * theta))


def _products(rows):
    """Return a bound on the roundings of a score."""
    longest = np.diff(rows.X.indptr).max(initial=0) if sp.issparse(rows.X) else rows.d
    return int(longest) + 3


def _largest_terms(objective, theta):
    """Return the root mean square, at most, of the sum of absolute terms of a class's scores."""
    objective.measure()
    rows, root = objective.rows, np.hypot(objective.deviation, objective.mean)
    with np.errstate(over="ignore", under="ignore"):
        size = np.abs(theta) @ root + np.abs(theta[:, :-1] * rows.scale) @ np.abs(rows.shift)
    return float(size.max())


def rise_as_stored(objective: Objective, point: Point, factor: float) -> float:
    """Return a bound on how much P rises as the parameters of a point are rounded to their type."""
    rows = objective.rows
    unit = np.finfo(rows.X.dtype).eps / 2 + _products(rows) * _ULP
    with np.errstate(over="ignore", under="ignore"):
        moved = unit * _largest_terms(objective, point.theta)  # of scores
        slopes = np.abs(objective.subgradient(point))
        linear = unit * float((slopes * np.abs(point.theta)).sum()) + moved * slopes[:, -1].sum()
        pull = unit**2 * float((objective.penalty * point.theta**2).sum())
        # The second derivative in the scores is at most 1/2.
        return factor * float(linear + 0.25 * (2 * moved) ** 2 + 0.5 * pull)


def evidence(objective: Objective, theta: np.ndarray, factor: float) -> Evidence:
    """Return the evidence at theta; P is `factor` times the objective."""
    small = theta.size <= LARGEST_SYSTEM
    point = objective.at(theta, hessian=small)
    value = factor * point.value
    gap, gain, _ = duality_gap(objective, point, factor)
    gap += gain
    objective.scores(theta)
    norm = objective.gradient_norm(objective.subgradient(point))
    if isinstance(objective, ElasticNetObjective):
        decrement = math.sqrt(factor * promised_fall(objective, point))
        return Evidence(value, norm, gap, decrement, gap)
    with single_threaded_blas():
        if small:
            decrement, radius = _of_system(objective, point, factor)
        else:
            error = _rounding(objective, theta)
            decrement, radius = bounds_by_products(objective, point, error, factor)
    return Evidence(value, norm, gap, decrement, min(gap, excess(decrement, radius)))


def excess(decrement: float, radius: float) -> float:
    """Return ``(u + (1 - u) ln(1 - u)) / radius^2`` for u = radius * decrement."""
    u = radius * decrement
    if u >= 1:
        return math.inf
    if u < 1e-3:
        return decrement**2 * (0.5 + u / 6 + u**2 / 6)
    return (u + (1 - u) * math.log1p(-u)) / radius**2


def _of_system(objective, point, factor):
    """Return bounds on the decrement and on the largest norm of a row in the inverse Hessian.

    The latter is infinite where the Hessian is singular in float64 but not in truth.
    """
    rows = objective.rows
    system = NewtonSystem(objective.hessian(point), rows.n_scores)
    gradient = point.gradient.ravel()
    inverse = system.solve(np.eye(gradient.size))
    decrement = math.sqrt(max(0.0, factor * float(gradient @ system.solve(gradient))))
    # Relative error of quadratic forms, as the Hessian of unit diagonal is rounded.
    condition = float(np.linalg.norm(inverse / system.unit(), 2)) if inverse.size else 0.0
    error = _ULP * _terms(rows.n) * gradient.size * condition
    if error > 0.5 or (system.singular and objective.penalty.any()):
        return decrement, math.inf
    rounding = _rounding(objective, point.theta)
    lengths = np.sqrt(np.maximum(inverse.diagonal(), 0)).reshape(rounding.shape)
    off = float((rounding * lengths).sum())
    if objective.penalty[:-1].all():  # rounding in W has no more than its norm in the penalty
        norm = float(np.linalg.norm(rounding[:, :-1] / np.sqrt(objective.penalty[:-1])))
        off = min(off, norm + float(rounding[:, -1] @ lengths[:, -1]))
    decrement = (1 + error) * (decrement + math.sqrt(factor) * off)
    return decrement, (1 + error) * math.sqrt(_largest_square(rows, inverse) / factor)


def _largest_square(rows, inverse):
    """Return the largest squared norm of a row in the inverse Hessian; of several classes, of the
    difference of its copies for any two of them.
    """
    c, D = rows.n_scores, rows.d + 1
    inverse = inverse.reshape(c, D, c, D)
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
