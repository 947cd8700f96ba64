"""Quasi-Newton steps (L-BFGS) for logistic regression in a metric near its Hessian."""

import itertools
from collections import deque
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from scipy import linalg
from scipy import sparse as sp
from scipy.linalg import lapack
from scipy.special import expit

from mlcore.linear_model.logistic.logistic_pass import LogisticRows
from mlcore.linear_model.logistic.objective import Objective, Point
from mlcore.linear_model.logistic.steps.newton import Step, search
from mlcore.numerics.scores.log_softmax import log_softmax

_ROWS_OF_METRIC = 4  # times the number of columns
_WIDEST = 4000  # columns up to which their covariance is the metric
_RENEWED = 15  # steps, at least, before the metric is computed again; then 3/2 times as many ...
_DEAR = 8  # passes beyond which the dense metric is put off
_OF_A_PASS = 8  # products that a value costs in a pass, beside two for each class
_FLAT = 1e-200  # product of a step and its change of the gradient that saturation leaves
_VALUES_OF_PAIRS = 1 << 24  # of half the pairs that are kept

Metric = Callable[[np.ndarray], np.ndarray]


def is_wide(rows: LogisticRows) -> bool:
    """Return True if the columns are too many for their covariance."""
    return rows.d > _WIDEST or (sp.issparse(rows.X) and rows.d > rows.n)


def metric_of(rows: LogisticRows) -> Callable[..., Metric]:
    """Return the function, of these below, that computes the metric for such rows."""
    return diagonal_metric if is_wide(rows) else dense_metric


def dense_metric(objective: Objective, point: Point | None = None) -> Metric:
    """Return the inverse of ``S + penalty`` for gradients of all classes.

    S is the mean of ``v x x'`` in every k-th block of rows, v the mean of p (1 - p) over classes.
    """
    rows = objective.rows
    weighted = rows if point is None else _weighted_by_variance(objective, point)
    # So many rows of equal weights know their mean as well.
    n_effective = weighted.total**2 / float((weighted.weight**2).sum())
    stride = 1
    while n_effective >= 2 * stride * _ROWS_OF_METRIC * (rows.d + 1) and stride < 64:
        stride *= 2
    M = weighted.gram(stride)[1] / rows.weight_of(stride)
    objective.n_passes += 1 / stride
    if point is None:
        M *= _variance(rows)
    return inverse_of(M, objective.penalty)


def steps_before_dense(rows: LogisticRows) -> int:
    """Return after how many steps in the diagonal metric the dense one is computed: 0, or as many
    as it costs passes, about, if that is dear.
    """
    cost = 0.0 if is_wide(rows) else _passes_of(rows)
    return int(cost) if cost > _DEAR else 0


def _passes_of(rows):
    n = min(rows.n, 2 * _ROWS_OF_METRIC * (rows.d + 1))
    return (n * rows.d / 2 + rows.d**2 / 6) / (rows.n * (2 * rows.n_scores + _OF_A_PASS))


def inverse_of(M: np.ndarray, penalty: np.ndarray) -> Metric:
    """Return the product with the inverse of M + penalty, which is lost, for rows of gradients."""
    M.flat[:: len(M) + 1] += penalty
    diagonal = M.diagonal().copy()
    diagonal[diagonal <= 0] = 1.0
    scale = 1 / np.sqrt(diagonal)
    M *= scale
    M *= scale[:, None]
    M.flat[:: len(M) + 1] += 1e-8
    factor = linalg.cho_factor(M, lower=True, overwrite_a=True, check_finite=False)[0]
    # SciPy's cho_solve takes longer than the work on few parameters.
    return lambda g: lapack.dpotrs(factor, (g * scale).T, lower=1)[0].T * scale


def diagonal_metric(objective: Objective, point: Point | None = None) -> Metric:
    """Return the inverse of the diagonal of this metric over all rows."""
    if point is None:
        objective.measure()
        squares = objective.deviation**2 + objective.mean**2
        squares[-1] = objective.rows.intercept
        diagonal = _variance(objective.rows) * squares + objective.penalty
    else:
        moments = np.empty((2, objective.rows.d + 1))
        weighted = _weighted_by_variance(objective, point)
        weighted.sums(np.zeros_like(point.theta), moments=moments)
        objective.n_passes += 1
        diagonal = moments[1] / objective.rows.total + objective.penalty
    inverse = np.zeros(len(diagonal))
    np.divide(1, diagonal, out=inverse, where=diagonal > 0)
    return lambda g: g * inverse


def _variance(rows):
    shares = np.bincount(rows.codes, weights=rows.weight, minlength=2) / rows.total
    return float((shares * (1 - shares)).mean())


def _weighted_by_variance(objective, point):
    """Return the rows, weighted by the mean of p (1 - p) over the classes."""
    scores = objective.scores(point.theta)
    p = np.exp(log_softmax(scores)) if scores.shape[1] > 1 else expit(scores)
    p *= 1 - p
    # Without penalty all may vanish where classes are separated; squares of the least do not.
    variance = np.maximum(p.mean(axis=1), 1e-140)
    return objective.rows.weighted(objective.rows.weight * variance)


def lbfgs_steps(
    objective: Objective,
    theta: np.ndarray,
    metric: Callable[..., Metric],
    n_pairs: int = 30,
) -> Iterator[Step]:
    """Yield the points of L-BFGS from `theta` on; none where the objective is not finite.

    Points rise by rounding at most. The decrements are ``sqrt(g' B g)``, B being the metric's
    inverse or that of L-BFGS, whichever is larger. Without pairs these are gradient steps of the
    length of Barzilai and Borwein. A dense metric that is dear is first used after as many steps in
    the diagonal one as it costs: both together then take at most twice the time of the better.
    """
    point = objective.at(theta)
    if not np.isfinite(point.value):
        return
    first = steps_before_dense(objective.rows) if metric is dense_metric else 0
    inverse = (diagonal_metric if first else metric)(objective)
    renewed = first or _RENEWED
    # Steps of more pairs are fewer; with many parameters the pairs take the time.
    pairs: deque = deque(maxlen=min(n_pairs, max(6, _VALUES_OF_PAIRS // theta.size)))
    gamma = 1.0
    for count in itertools.count(1):
        # The direction of the pairs, or of the metric if that is no descent.
        g = point.gradient
        plain = inverse(g)
        decrement = float(np.sqrt(max(0.0, (g * plain).sum())))
        direction = -inverse_product(g, pairs, gamma, inverse) if pairs else -gamma * plain
        slope = float((g * direction).sum())
        if not slope < 0:
            pairs.clear()
            gamma, direction, slope = 1.0, -plain, -(decrement**2)
        yield Step(point, max(decrement, float(np.sqrt(-slope))), direction)
        # The line search; once more from the metric alone.
        reached = search(objective, point, direction, slope)
        if reached is None and (pairs or gamma != 1):
            pairs.clear()
            gamma = 1.0
            reached = search(objective, point, -plain, -(decrement**2))
        if reached is None:
            return
        # The pair of this step, if the objective is curved along it.
        s, y = reached.theta - point.theta, reached.gradient - g
        sy, curvature = float((s * y).sum()), float((y * inverse(y)).sum())
        if sy > _FLAT and curvature > _FLAT:
            pairs.append((s, y, 1 / sy))
            gamma = sy / curvature
        point = reached
        # A new metric at the new point.
        if pairs and count >= renewed:
            inverse, renewed = metric(objective, point), max(_RENEWED, 3 * renewed // 2)
            s, y, rho = pairs[-1]
            curvature = float((y * inverse(y)).sum())
            if not 0 < curvature < np.inf:  # nothing is left to descend
                return
            gamma = 1 / (rho * curvature)


def inverse_product(
    g: np.ndarray,
    pairs: Sequence[tuple[np.ndarray, np.ndarray, float]],
    gamma: float,
    inverse: Metric,
) -> np.ndarray:
    """Return the inverse of the approximate Hessian times g, by two loops over the pairs.

    `pairs` are (s, y, 1 / s'y), the last step last; `gamma` scales the metric.
    """
    q, factors = g.copy(), []
    for s, y, rho in reversed(pairs):
        a = rho * float(np.vdot(s, q))
        q -= a * y
        factors.append(a)
    q = gamma * inverse(q)
    for (s, y, rho), a in zip(pairs, reversed(factors), strict=True):
        q += (a - rho * float(np.vdot(y, q))) * s
    return q
