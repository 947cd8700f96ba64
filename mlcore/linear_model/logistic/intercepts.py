"""Intercepts of a logistic regression whose other parameters are given, and feasible residuals.

Residuals p - y are feasible in the dual if their weighted sums are 0, as intercepts have no
penalty: solved intercepts make them so, to rounding. Residuals of the rows of class a times a share
t_a stay between the same bounds; the mass that goes from class a to class k is then t_a F_ak, with
F_ak the weighted sum of p_k over the rows of a, and the sums are 0 if every class gets what it
gives: t is the stationary distribution of a Markov chain with these rates.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit, logsumexp

from mlcore.linear_model.logistic.logistic_pass import LogisticRows
from mlcore.linear_model.logistic.objective import NewtonSystem, Objective, Point, hessian_of
from mlcore.linear_model.logistic.rounding import ULP, roundings_of_sum
from mlcore.numerics.scores.log_softmax import log_softmax

_STEPS = 100
_VALUES = 1 << 15  # scores of a block
_LEAST = 1e-290  # probabilities, below which quotients overflow
_NEAR = 1.0  # length of Newton's steps up to which they are taken: curvatures change by a factor e


class Intercepts(NamedTuple):
    """Change of the intercepts, (n_scores,), and the mean loss before and after it.

    `objective` is that of intercepts alone.
    """

    change: np.ndarray
    objective: Objective
    first: Point
    last: Point


def solved_intercepts(rows: LogisticRows, scores: np.ndarray | None) -> Intercepts:
    """Return what to add to the intercepts so that residuals sum to 0, at scores (n, n_scores).

    By Newton's steps; where these are too long, by bisection for one intercept, else by scaling,
    which may not end where offsets differ by thousands: the last point is then the least.
    """
    alone = LogisticRows(
        np.empty((rows.n, 0)), rows.codes, rows.weight, scores, rows.n_scores, True
    )
    objective = Objective(alone, 0.0)
    first = objective.at(np.zeros((rows.n_scores, 1)), hessian=True)
    find = _one if rows.n_scores == 1 else _several
    last = find(objective, first)
    return Intercepts(last.theta[:, 0], objective, first, last)


def start_of(objective: Objective) -> tuple[np.ndarray, float]:
    """Return the parameters to start from, coefficients of 0, and the objective there.

    With offsets intercepts are those that are best without columns, else 0.
    """
    rows = objective.rows
    theta = np.zeros((rows.n_scores, rows.d + 1))
    if not len(rows.offset):
        return theta, math.log(max(2, rows.n_scores))
    solved = solved_intercepts(rows, rows.offset)
    if not rows.intercept:
        return theta, solved.first.value
    theta[:, -1] = solved.change
    return theta, solved.last.value


def _is_solved(rows, point):
    return np.abs(point.gradient).max() <= ULP * math.sqrt(roundings_of_sum(rows.n))


def _one(objective, point):
    rows, best = objective.rows, point
    if _is_solved(rows, point):
        return point
    share = float(rows.weight @ rows.codes) / rows.total
    odds = math.log(share) - math.log1p(-share)
    scores = rows.offset if len(rows.offset) else np.zeros(1)
    low, high = odds - float(scores.max()) - 1, odds - float(scores.min()) + 1
    for _ in range(_STEPS):
        at, slope = float(point.theta[0, 0]), float(point.gradient[0, 0])
        low, high = (low, min(high, at)) if slope > 0 else (max(low, at), high)
        curvature = float(point.sums.hessian[0, 0, 0]) / rows.total
        step = -slope / curvature if curvature > 0 else math.inf
        if not (abs(step) <= _NEAR and low < at + step < high):
            step = 0.5 * (low + high) - at
        if not abs(step) > 2 * ULP * max(1.0, abs(at)):
            break
        point = objective.at(np.array([[at + step]]), hessian=True)
        if abs(point.gradient[0, 0]) < abs(best.gradient[0, 0]):
            best = point
        elif abs(step) < 1e-6:  # rounding
            break
        if _is_solved(rows, point):
            break
    return best


def _several(objective, point):
    rows = objective.rows
    for _ in range(_STEPS):
        if _is_solved(rows, point):
            break
        system = NewtonSystem(hessian_of(point, objective.penalty), rows.n_scores)
        gradient = point.gradient.ravel()
        step = -system.solve(gradient)[:, None]
        error = np.full(len(step), ULP * roundings_of_sum(rows.n))
        if system.misses(gradient, error) or np.abs(step).max() > _NEAR:
            step = _scaling(rows, point.theta)
        trial = objective.at(point.theta + step, hessian=True)
        if not trial.value < point.value:
            lower = np.abs(trial.gradient).max() < np.abs(point.gradient).max()
            return trial if lower and np.abs(step).max() < 1e-6 else point
        point = trial
    return point


def _scaling(rows, theta):
    scores = theta.T if not len(rows.offset) else rows.offset + theta.T
    logarithms = log_softmax(np.broadcast_to(scores, (rows.n, rows.n_scores)))
    log_sums = logsumexp(logarithms, axis=0, b=rows.weight[:, None])
    wanted = np.bincount(rows.codes, weights=rows.weight, minlength=rows.n_scores)
    step = np.log(wanted) - log_sums
    return (step - step.mean())[:, None]


def feasible_shares(rows: LogisticRows, scores: np.ndarray, change: np.ndarray) -> np.ndarray:
    """Return t (n_classes,), at most 1, at scores (n, n_scores) plus `change` (n_scores,).

    Where rounding leaves no such numbers they are 0, which is feasible as well.
    """
    if rows.n_scores == 1:
        z = scores[:, 0] + change[0]
        mass = expit(np.negative(z, where=rows.codes == 1, out=z)) * rows.weight
        class_mass = np.bincount(rows.codes, weights=mass, minlength=2)
        return class_mass.min() / class_mass if class_mass.min() > 0 else np.zeros(2)
    flows, classes = np.zeros((rows.n_scores, rows.n_scores)), np.arange(rows.n_scores)
    for block, _, others in _probabilities(rows, scores, change):
        of_class = rows.weight[block] * (classes[:, None] == rows.codes[block])
        flows += of_class @ others
    return _stationary(flows)


def relative_entropy(
    rows: LogisticRows, scores: np.ndarray, change: np.ndarray, t: np.ndarray
) -> float:
    """Return the weighted mean of the relative entropies of ``(1 - t) y + t p`` to p.

    It is at least the true one: what rounding may hide is added.
    """
    total = 0.0
    if (t == 1).all():
        return total
    for block, log_own, others in _probabilities(rows, scores, change):
        share, other = t[rows.codes[block]], others.sum(axis=1)
        own = np.exp(log_own)
        with np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore"):
            kept = (1 - share) + share * own
            ratio = np.log1p((1 - share) * other / own)
            ratio = np.where(own > _LEAST, ratio, np.log(kept) - log_own)
            ratio = np.where(kept > 0, ratio, 0.0)
            rest = np.where(share > 0, share * other * np.log(share), 0.0)
            entropy = kept * ratio + rest
        # Rounding of the terms, of which little is left where t is near 1.
        entropy += 8 * ULP * ((1 - share) * other + kept * np.abs(ratio))
        total += float(rows.weight[block] @ np.maximum(entropy, 0))
    return total / rows.total


def _probabilities(
    rows: LogisticRows, scores: np.ndarray, change: np.ndarray
) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Yield slices of rows, the logarithm of the probability of each row's own class, and those of
    the others, (n_block, n_scores), 0 for its own.
    """
    size = max(64, _VALUES // rows.n_scores)
    for start in range(0, rows.n, size):
        block = slice(start, min(rows.n, start + size))
        codes, moved = rows.codes[block], scores[block] + change
        if rows.n_scores == 1:
            margin = np.where(codes == 1, moved[:, 0], -moved[:, 0])
            yield block, log_expit(margin), expit(-margin)[:, None]
            continue
        logarithms = log_softmax(moved)
        each = np.arange(len(codes))
        own, others = logarithms[each, codes], np.exp(logarithms)
        others[each, codes] = 0
        yield block, own, others


def _stationary(flows):
    """Return the stationary distribution of rates, of largest entry 1.

    The elimination of Grassmann, Taksar and Heyman subtracts nothing: entries have all digits.
    """
    rates, c = flows.copy(), len(flows)
    out = np.ones(c)
    with np.errstate(all="ignore"):
        for k in range(c - 1, 0, -1):
            rates[:k, k] /= rates[k, :k].sum()
            rates[:k, :k] += np.outer(rates[:k, k], rates[k, :k])
        for k in range(1, c):
            out[k] = out[:k] @ rates[:k, k]
        out /= out.max()
    return out if np.isfinite(out).all() else np.zeros(c)
