"""Proximal Newton steps for logistic regression with the penalty of the elastic net.

A step minimises the quadratic model of the losses plus the penalty itself, by coordinate descent
and by Newton steps in the coefficients that are not 0. Of many columns, those with such
coefficients and those that promise most are changed at a time.

References
----------
J. Friedman, T. Hastie, R. Tibshirani, *Regularization paths for generalized linear models via
coordinate descent*, Journal of Statistical Software 33, 2010.
J. Lee, Y. Sun, M. Saunders, *Proximal Newton-type methods for minimizing composite functions*, SIAM
Journal on Optimization 24, 2014.
"""

import math
from collections.abc import Iterator

import numpy as np
from scipy import linalg
from scipy import sparse as sp
from scipy.linalg import lapack

from mlcore._ext.linear_model import proximal_newton as _ext
from mlcore.linear_model.logistic.elastic_net import ElasticNetObjective
from mlcore.linear_model.logistic.logistic_pass import Columns, LogisticRows
from mlcore.linear_model.logistic.objective import Point, hessian_of
from mlcore.linear_model.logistic.steps.newton import ROUNDING, Step, search
from mlcore.numerics.scatter import row_blocks
from mlcore.runtime.memory import require_memory

_WHOLE = 200  # parameters that a step changes together from the start
_LARGEST = 3000  # parameters that a step changes
_ROUNDS = 50  # of coordinate descent and a Newton step
_SWEEPS = 10  # of coordinate descent in a round
_EXACT = 1e-3  # of the first fall: one that ends the rounds
_RIDGE = 1e-10  # of a Hessian of unit diagonal, where samples are fewer than coefficients
_MOST = 0.5  # of the columns: a step that would change more changes all
_INNER = 0.05  # of the first squared decrement: one that ends the steps in the same columns


def proximal_newton_steps(objective: ElasticNetObjective, theta: np.ndarray) -> Iterator[Step]:
    """Yield points of the objective from `theta` on; none where it is not finite.

    They rise by rounding at most; the squared decrement is the promised fall, to first order.
    """
    rows = objective.rows
    point = objective.at(theta, hessian=theta.size <= _WHOLE)
    if not np.isfinite(point.value):
        return
    if theta.size <= _WHOLE:
        yield from _newton_steps(objective, point)
        return
    can_change_all = theta.size <= _LARGEST
    while True:
        promised = _promised_by_each(objective, point)
        chosen = _columns(point.theta, promised)
        if can_change_all and len(chosen) > _MOST * rows.d:
            break
        of_chosen = _subproblem(objective, point, chosen)
        left = np.delete(promised, chosen, axis=1).sum()
        start = np.ascontiguousarray(point.theta[:, [*chosen, -1]])
        for count, step in enumerate(_newton_steps(of_chosen, of_chosen.at(start, hessian=True))):
            if count == 0:
                first = step.decrement**2
                yield Step(point, math.sqrt(first + left), step.direction)
            if step.decrement**2 <= _INNER * first:
                break
        objective.n_passes += of_chosen.n_passes * (len(chosen) + 1) / (rows.d + 1)
        theta = point.theta.copy()
        theta[:, [*chosen, -1]] = step.point.theta
        trial = objective.at(theta)
        if not trial.value < point.value:
            break
        point = trial
    if can_change_all:
        yield from _newton_steps(objective, objective.at(point.theta, hessian=True))


def promised_fall(objective: ElasticNetObjective, point: Point) -> float:
    """Return about how far the objective is above its minimum, times 2."""
    if point.sums.hessian is not None:
        slope = _step_of(objective, point)[1]
        return max(0.0, -slope) if math.isfinite(slope) else math.inf
    return float(_promised_by_each(objective, point).sum())


def _newton_steps(objective, point):
    before = math.inf
    while True:
        direction, slope = _step_of(objective, point)
        if not math.isfinite(slope):
            yield Step(point, math.inf, direction)
            return
        yield Step(point, math.sqrt(max(0.0, -slope)), direction)
        if slope > -10 * ROUNDING * abs(point.value) and slope < 0.25 * before:
            return  # rounding
        before = slope
        point = search(objective, point, direction, slope, hessian=True)
        if point is None:
            return


def _step_of(objective, point):
    return proximal_step(point, objective.penalty, objective.lasso, objective.rows.intercept)


def proximal_step(
    point: Point, penalty: np.ndarray, lasso: np.ndarray, intercept: bool
) -> tuple[np.ndarray, float]:
    """Return where the quadratic model is least, from here, and the fall to first order, < 0.

    Not finite where curvatures of saturated probabilities are so small that steps overflow.
    """
    theta, g = point.theta, point.gradient
    c, D = theta.shape
    H = hessian_of(point, penalty).reshape(c, D, c, D)
    if c > 1:  # equal changes of all intercepts change nothing
        H[:, -1, :, -1] += H[:, -1, :, -1].trace() / c**2
    others = np.ascontiguousarray(H[:, :-1, :, :-1].reshape(c * (D - 1), -1))
    slope, with_intercepts = g[:, :-1].ravel(), H[:, -1, :, :-1].reshape(c, -1)
    solved = np.zeros((c, 1 + len(slope)))
    if intercept:
        # Without the intercepts, which are where the model is least whatever the coefficients.
        solved = linalg.lstsq(H[:, -1, :, -1], np.c_[g[:, -1], with_intercepts], cond=1e-14)[0]
        with_intercepts = with_intercepts.T
        with np.errstate(over="ignore", invalid="ignore"):
            others -= with_intercepts @ solved[:, 1:]
            slope = slope - with_intercepts @ solved[:, 0]
    w = theta[:, :-1].ravel()
    with np.errstate(over="ignore", invalid="ignore"):
        moved = _least(others, slope, np.tile(lasso[:-1], c), w) - w
        direction = np.c_[moved.reshape(c, D - 1), -solved[:, 0] - solved[:, 1:] @ moved]
        change = lasso * (np.abs(theta + direction) - np.abs(theta))
        return direction, float((g * direction + change).sum())


def _least(H, b, lasso, w):
    """Return w + u with the least ``b'u + u'Hu / 2 + sum_j lasso_j |w_j + u_j|``."""
    new, slope, tol = w.copy(), b.copy(), 0.0
    for _ in range(_ROUNDS):
        fall = _ext.descend(H, lasso, new, slope, tol, _SWEEPS)
        tol = tol or _EXACT * fall
        if fall <= tol:
            break
        _move_in_face(H, lasso, new, slope)
        slope = b + H @ (new - w)
    return new


def _move_in_face(H, lasso, w, slope):
    """Go towards the minimum with these signs, up to the first coefficient that becomes 0."""
    face = np.flatnonzero((w != 0) & (H.diagonal() > 0))
    if not len(face):
        return
    scale = 1 / np.sqrt(H.diagonal()[face])
    M = H[np.ix_(face, face)] * scale * scale[:, None]
    M.flat[:: len(M) + 1] += _RIDGE
    pull = scale * (slope[face] + lasso[face] * np.sign(w[face]))
    if not (np.isfinite(M).all() and np.isfinite(pull).all()):
        return
    factor, failed = lapack.dpotrf(M, lower=1, clean=0)
    if failed:
        return
    u = -lapack.dpotrs(factor, pull, lower=1)[0]
    fall, curvature = -float(pull @ u), float(u @ M @ u)
    if not (fall > 0 and 0 < curvature < math.inf):
        return
    u *= scale
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        lengths = np.where(u * w[face] < 0, -w[face] / u, np.inf)
    first, length = int(lengths.argmin()), fall / curvature
    w[face] += min(length, lengths[first]) * u
    if lengths[first] <= length:
        w[face[first]] = 0


def _promised_by_each(objective, point):
    """Return about twice the fall that each coefficient alone can give, (n_scores, d)."""
    rows = objective.rows
    objective.measure()
    share = 1 / max(2, rows.n_scores)
    residual = objective.subgradient(point)
    residual = residual[:, :-1] - objective.mean[:-1] * residual[:, -1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        curvature = share * (1 - share) * objective.deviation[:-1] ** 2 + objective.penalty[:-1]
        return np.where(objective.deviation[:-1] > 0, residual**2 / curvature, 0.0)


def _columns(theta, promised):
    """Return the columns to change, sorted: those in use, and as many that promise most."""
    c, d = promised.shape
    most = max(1, _LARGEST // c - 1)
    used = theta[:, :-1].any(axis=0)
    worth = promised.sum(axis=0)
    n_used = np.count_nonzero(used)
    if 2 * n_used <= most:
        worth = np.where(used, np.inf, worth)
    n_chosen = min(d, most, np.count_nonzero(worth), 2 * n_used + 100)
    if not n_chosen:
        return np.zeros(0, int)
    return np.sort(np.argpartition(-worth, n_chosen - 1)[:n_chosen])


def _subproblem(objective, point, columns):
    """Return the objective of these columns; the others' scores are an offset."""
    rows = objective.rows
    require_memory(
        rows.n, len(columns), rows.X.dtype.itemsize, what="a copy of columns",
        instead="raise the penalty",
    )  # fmt: skip
    X = rows.X[:, columns]
    X = sp.csr_array(X) if sp.issparse(X) else np.ascontiguousarray(X)
    like = Columns(rows.shift[columns], rows.scale[columns])
    theta = np.ascontiguousarray(point.theta[:, [*columns, -1]])
    others = point.theta.copy()
    others[:, [*columns, -1]] = 0
    scores = rows.offset if len(rows.offset) else None
    if others.any():
        scores = objective.scores(point.theta).copy()
        for part, block in row_blocks(X):
            scores[part] -= ((block - like.shift) * like.scale) @ theta[:, :-1].T + theta[:, -1]
    smaller = LogisticRows(X, rows.codes, rows.weight, scores, rows.n_scores, rows.intercept, like)
    return objective.of_columns(smaller)
