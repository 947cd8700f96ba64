"""Bounds on the distance of a logistic regression from its optimum."""

import math
from dataclasses import dataclass

import numpy as np

from mlcore.estimator.verification import Verification
from mlcore.linear_model.logistic.elastic_net import ElasticNetObjective, elastic_net_gap
from mlcore.linear_model.logistic.intercepts import (
    feasible_shares,
    relative_entropy,
    solved_intercepts,
)
from mlcore.linear_model.logistic.objective import NewtonSystem, Objective, Point, hessian_of
from mlcore.linear_model.logistic.rounding import (
    ULP,
    error_of_gradient,
    largest_terms,
    roundings_of_pass,
    roundings_of_score,
    roundings_of_sum,
)
from mlcore.linear_model.logistic.steps.hessian_products import bounds_by_products
from mlcore.linear_model.logistic.steps.proximal_newton import promised_fall
from mlcore.numerics.scatter import row_blocks
from mlcore.runtime.threads import single_threaded_blas

LARGEST_SYSTEM = 2000  # parameters, up to which Hessians are computed
_UNPROVEN = 1e-2  # of P, beyond which a gap or bound on its excess proves nothing
_LITTLE = 1e-9  # share of residuals, of which the effect is bounded, not computed


@dataclass(frozen=True, repr=False)
class LogisticVerification(Verification):
    """Distance of a fitted logistic regression from the optimum on some data.

    The bounds hold for the coefficients as they are stored: what rounding may do to the gradients
    of float64 is in them.

    Parameters
    ----------
    objective : float
        P at the fitted parameters.
    duality_gap : float
        At least P less its minimum; infinite without penalty.
    gradient_norm : float
        Largest component of the gradient of P per unit of weight and C, in columns centred and
        scaled to unit mean square.
    newton_decrement : float
        ``sqrt(g' H^-1 g)`` of gradient and Hessian of P. For more than 2000 parameters a bound from
        above, by conjugate gradients; without penalty an estimate, from below. With ``l1_ratio >
        0`` the root of the fall that a step promises, for more parameters in each column alone.
    excess_bound : float
        At least P less its minimum, by self-concordance, or the duality gap where that is smaller,
        and with ``l1_ratio > 0``; infinite if the decrement is too large to tell.

    Examples
    --------
    >>> from mlcore.datasets import load_iris
    >>> from mlcore.linear_model import LogisticRegression
    >>> X, y = load_iris()
    >>> verification = LogisticRegression().fit(X, y).verify(X, y)
    >>> verification.duality_gap < 1e-6 * verification.objective
    True
    """

    gradient_norm: float
    newton_decrement: float
    excess_bound: float


def duality_gap(objective: Objective, point: Point, factor: float) -> tuple[float, float, Point]:
    """Return bounds on P less its minimum at a point with solved intercepts, and on P's fall to it.

    P is `factor` times the objective; the point is returned last. The gap is half the squared
    gradient in W at feasible residuals, and their relative entropies to those of the point.
    """
    rows, lasso = objective.rows, isinstance(objective, ElasticNetObjective)
    error = error_of_gradient(objective, point.theta)
    if not rows.intercept:
        if lasso:
            shares = np.ones(max(2, rows.n_scores))
            return elastic_net_gap(objective, point, error, shares, factor), 0.0, point
        return _gap_of(objective, np.abs(point.gradient) + error, factor), 0.0, point
    scores = objective.scores(point.theta)
    solved = solved_intercepts(rows, scores)
    change, gain = solved.change, factor * _gain(solved)
    shares = feasible_shares(rows, scores, change)
    if not lasso:
        gap = _gap_nearby(objective, point, error, solved, shares, factor)
        if gap is not None:
            value = point.value - (solved.first.value - solved.last.value)
            return gap, gain, point._replace(theta=_moved(point.theta, change), value=value)
    if change.any():
        point = objective.at(_moved(point.theta, change))
        error = error_of_gradient(objective, point.theta)
    gradient, off = point.gradient, 1 - shares.min()
    if off < _LITTLE:
        error = error + off * np.hypot(objective.deviation, objective.mean)
    else:
        gradient = _gradient_of(objective, point, shares)
    if lasso:
        dual = point._replace(gradient=gradient)
        return elastic_net_gap(objective, dual, error, shares, factor), gain, point
    gap = _gap_of(objective, np.abs(gradient) + error, factor)
    return gap + _entropy(objective, point, 0 * change, shares, gap, factor), gain, point


def _gap_nearby(objective, point, error, solved, shares, factor):
    """Return the gap at solved intercepts, from the gradient at `point`; None if that is too far
    from them to bound it well.
    """
    change = solved.change
    rise = change.max() - change.min() if len(change) > 1 else np.abs(change[0])
    moved, gradient = 0.25 * rise + (1 - shares.min()), np.abs(point.gradient) + error
    gap = _gap_of(objective, gradient, factor)
    if not np.isfinite(gap):
        return gap
    gradient += moved * np.hypot(objective.deviation, objective.mean)
    bound, little = _gap_of(objective, gradient, factor), 1e-12 * factor * point.value
    bound += _entropy(objective, point, change, shares, gap, factor)
    return bound if bound <= 1.1 * gap + little else None


def _entropy(objective, point, change, shares, gap, factor):
    """Return a bound on the relative entropies of residuals times the shares of their classes.

    As they are convex, they are at most that share of the losses by which residuals change.
    """
    most = float(factor * (1 - shares.min()) * point.value)
    if most <= 0.01 * gap:
        return most
    scores = objective.scores(point.theta)
    return factor * relative_entropy(objective.rows, scores, change, shares)


def _gradient_of(objective, point, shares):
    """Return the gradient of residuals times the shares of their classes."""
    rows = objective.rows
    sums = rows.weighted(rows.weight * shares[rows.codes]).sums(point.theta)
    objective.n_passes += 1
    return sums.gradient / rows.total + objective.penalty * point.theta


def _moved(theta, change):
    """Return theta with other intercepts; the same array if there is no change."""
    if not change.any():
        return theta
    theta = theta.copy()
    theta[:, -1] += change
    return theta


def _gain(solved):
    """Return a bound on how much solved intercepts lower the mean loss."""
    first, last = solved.first, solved.last
    by_values = max(0.0, first.value - last.value)
    by_values += 2 * ULP * roundings_of_sum(solved.objective.rows.n) * first.value
    decrement, radius = _of_system(solved.objective, first, 1.0)
    return min(by_values, excess(decrement, radius))


def _gap_of(objective, gradient, factor):
    if not objective.penalty.any():
        return math.inf
    with np.errstate(over="ignore", under="ignore"):
        return 0.5 * float(np.square(factor * gradient[:, :-1] / objective.rows.scale).sum())


def rise_as_stored(objective: Objective, point: Point, factor: float) -> float:
    """Return a bound on how much P rises as the parameters of a point are rounded to their type."""
    rows = objective.rows
    unit = np.finfo(rows.X.dtype).eps / 2 + roundings_of_score(rows) * ULP
    with np.errstate(over="ignore", under="ignore"):
        moved = unit * largest_terms(objective, point.theta)  # of scores
        slopes = np.abs(objective.subgradient(point))
        linear = unit * float((slopes * np.abs(point.theta)).sum()) + moved * slopes[:, -1].sum()
        pull = unit**2 * float((objective.penalty * point.theta**2).sum())
        # The second derivative in the scores is at most 1/2.
        return factor * float(linear + 0.25 * (2 * moved) ** 2 + 0.5 * pull)


def evidence(objective: Objective, theta: np.ndarray, factor: float) -> LogisticVerification:
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
        return LogisticVerification(value, gap, norm, decrement, gap)
    with single_threaded_blas():
        if small:
            decrement, radius = _of_system(objective, point, factor)
        else:
            error = error_of_gradient(objective, theta)
            decrement, radius = bounds_by_products(objective, point, error, factor)
    return LogisticVerification(value, gap, norm, decrement, min(gap, excess(decrement, radius)))


def is_proven(objective: Objective, point: Point, gap: float, factor: float) -> bool:
    """Return False if P may be above its minimum by more than a hundredth.

    The gap decides, or with a penalty too small for it, the decrement.
    """
    most = _UNPROVEN * factor * point.value
    if gap <= most or not (objective.penalty.any() or objective.l1_ratio):
        return True
    if point.theta.size > LARGEST_SYSTEM:
        if objective.l1_ratio > 0:
            return False
        error = error_of_gradient(objective, point.theta)
        decrement, radius = bounds_by_products(objective, point, error, factor)
        return (0.5 * decrement**2 if radius == math.inf else excess(decrement, radius)) <= most
    if point.sums.hessian is None:
        point = objective.at(point.theta, hessian=True)
    point = point._replace(gradient=objective.subgradient(point))
    return excess(*_of_system(objective, point, factor)) <= most


def excess(decrement: float, radius: float) -> float:
    """Return ``(u + (1 - u) ln(1 - u)) / radius^2`` for u = radius * decrement."""
    u = radius * decrement
    if not u < 1:
        return math.inf
    if u < 1e-3:
        return decrement**2 * (0.5 + u / 6 + u**2 / 6)
    return (u + (1 - u) * math.log1p(-u)) / radius**2


def _of_system(objective, point, factor):
    """Return bounds on the decrement and on the largest norm of a row in the inverse Hessian.

    The latter is infinite where the Hessian is singular in float64 but not in truth.
    """
    rows = objective.rows
    system = NewtonSystem(hessian_of(point, objective.penalty), rows.n_scores)
    gradient = point.gradient.ravel()
    inverse = system.solve(np.eye(gradient.size))
    decrement = math.sqrt(max(0.0, factor * float(gradient @ system.solve(gradient))))
    # Relative error of quadratic forms, as the Hessian of unit diagonal is rounded.
    condition = float(np.linalg.norm(inverse / system.unit(), 2)) if inverse.size else 0.0
    error = ULP * roundings_of_pass(rows) * gradient.size * condition
    rounding = error_of_gradient(objective, point.theta)
    if system.misses(gradient, rounding.ravel()):
        return math.inf, math.inf
    if error > 0.5 or (system.singular and objective.penalty.any()):
        return decrement, math.inf
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
    if rows.d == 0:  # all rows are the same
        return float(max(form[0, 0] for form in forms))
    largest = 0.0
    for _, block in row_blocks(rows.X):
        B = np.full((len(block), D), float(rows.intercept))
        B[:, :-1] = (block - rows.shift) * rows.scale
        for form in forms:
            largest = max(largest, float(np.einsum("ij,ij->i", B @ form, B).max()))
    return largest
