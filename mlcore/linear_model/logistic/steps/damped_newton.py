"""Newton's method by conjugate gradients, for classes that many features nearly separate.

There the Hessian of the losses changes by factors of a thousand on the way, as fewer and fewer rows
have a variance, and no metric of L-BFGS stays near it. Each step minimises the quadratic model plus
``lambda/2 s' S s``, S the scatter of the columns, in the metric of the blocks of the classes on the
diagonal of the Hessian; lambda follows how well the model predicted the change of the objective
(Levenberg and Marquardt).
"""

from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import expit

from mlcore.linear_model.logistic.logistic_pass import LogisticRows
from mlcore.linear_model.logistic.objective import Objective, Point
from mlcore.linear_model.logistic.steps.hessian_products import Products
from mlcore.linear_model.logistic.steps.lbfgs import Metric, inverse_of
from mlcore.linear_model.logistic.steps.newton import ROUNDING, Step
from mlcore.numerics.scores.log_softmax import log_softmax

_LARGEST = 1 << 25  # values of the blocks of all classes
_STEPS = 400  # of conjugate gradients
_LEFT = 1e-2  # share of the squared decrement that may be left
_ACTIVE = 1e-6  # least variance of a row in a block, of the largest
_ROWS = 8  # of a block at most, times the number of columns, but for equal ones
_FIRST = 1e-3  # damping: losses have second derivatives of at most 1/4


def is_small(rows: LogisticRows) -> bool:
    """Return True if the blocks of all classes fit."""
    return rows.n_scores * (rows.d + 1) ** 2 <= _LARGEST


def damped_steps(objective: Objective, point: Point) -> Iterator[Step]:
    """Yield the points after `point`, each lower than the last, until no step helps.

    Decrements are of the damped model, while damping matters at least 0.3 of the last.
    """
    rows = objective.rows
    # The scatter that damps is that of a part of the rows, if these are many.
    stride = 1
    while rows.n >= 2 * stride * _ROWS * (rows.d + 1) and rows.weight_of(2 * stride) > 0:
        stride *= 2
    scatter = rows.gram(stride)[1] / rows.weight_of(stride)
    objective.n_passes += 1 / stride
    damping, last = _FIRST, np.inf
    while True:
        products, blocks = Products(objective, point), _blocks(objective, point)
        while True:
            # A step of the damped model; a stronger damping if it raises the objective.
            metric = _metric_of(blocks, damping * scatter, objective.penalty)
            s, Hs = _minimum(products, point.gradient, metric, damping * scatter)
            objective.n_passes += products.count
            products.count = 0
            slope, curvature = float((point.gradient * s).sum()), float((s * Hs).sum())
            promised = -slope - 0.5 * curvature
            trial = objective.at(point.theta + s)
            ratio = (point.value - trial.value) / promised if promised > 0 else -np.inf
            if ratio > 1e-3 or not promised > ROUNDING * abs(point.value):
                break
            damping *= 4 if ratio < -1 else 2
        if not trial.value < point.value:
            return
        # Where the damping matters, the decrement counts for 0.3 of the last one or more.
        matters = damping * float(((s @ scatter) * s).sum()) > 1e-2 * curvature
        decrement = float(np.sqrt(max(0.0, -slope)))
        last = max(decrement, 0.3 * last) if matters and np.isfinite(last) else decrement
        yield Step(trial, last, s)
        # The next damping, by the quality of the model's promise.
        if ratio > 0.75:
            damping /= 5 if ratio > 0.9 else 2.5
        elif ratio < 0.25:
            damping *= 2
        point = trial


def _minimum(
    products: Products, g: np.ndarray, metric: Metric, damping: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return a step s near the minimum of the damped model, and ``H s`` without damping."""
    g, H_direction = products.determined(g), None

    def damped(direction):
        nonlocal H_direction
        H_direction = products(direction)
        return H_direction + direction @ damping

    iterates = products.conjugate_gradients(g, metric, damped)
    now, Hs = next(iterates), np.zeros_like(g)
    enough = _LEFT * now.size
    for step, now in enumerate(iterates, start=1):
        Hs += now.length * H_direction
        if step == _STEPS or not now.size > enough:
            break
    return now.x, Hs


def _blocks(objective, point):
    """Return for each score the mean of ``p (1 - p) x x'``, over the rows of the largest."""
    rows, scores = objective.rows, objective.scores(point.theta)
    p = expit(scores) if scores.shape[1] == 1 else np.exp(log_softmax(scores))
    like = rows.columns
    blocks = []
    for variance in (p * (1 - p)).T:
        weight = rows.weight * variance
        least, many = _ACTIVE * weight.max(), _ROWS * (rows.d + 1)
        if many < rows.n:
            least = max(least, np.partition(weight, rows.n - many)[rows.n - many])
        chosen = np.flatnonzero(weight >= least)
        of_class = LogisticRows(
            rows.X[chosen], rows.codes[chosen], weight[chosen], None, rows.n_scores,
            rows.intercept, like,
        )  # fmt: skip
        share = weight.sum() / max(of_class.total, np.finfo(float).tiny)
        blocks.append(of_class.gram(1)[1] * (share / rows.total))
        objective.n_passes += len(chosen) / rows.n
    return blocks


def _metric_of(blocks, damping, penalty) -> Callable[[np.ndarray], np.ndarray]:
    inverses = [inverse_of(block + damping, penalty) for block in blocks]
    return lambda g: np.concatenate([f(g[k : k + 1]) for k, f in enumerate(inverses)])
