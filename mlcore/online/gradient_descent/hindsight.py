"""Best vector in hindsight: the least total loss over a set, with a gap that proves it."""

from typing import NamedTuple

import numpy as np

from mlcore.online.gradient_descent.losses import Loss
from mlcore.online.gradient_descent.sets import VectorSet

_STAGES, _STEPS = 24, 150
_GAP = 1e-9  # relative to the total loss and 1


class Hindsight(NamedTuple):
    """Outcome of `best_in_hindsight`: no vector of the set has a total loss below value - gap."""

    vector: np.ndarray
    value: float
    gap: float


def best_in_hindsight(X: np.ndarray, y: np.ndarray, loss: Loss, vectors: VectorSet) -> Hindsight:
    """Return a vector u of the set that nearly minimises the sum of l(x_t.u, y_t).

    Accelerated projected gradient on ever less smoothed losses, until the duality gap is small: for
    derivatives a_t, sum l >= -support(-X'a) - sum_t l*(a_t).
    """
    if vectors.kind is None:
        vectors = VectorSet("ball", vectors.radius)
    best = Hindsight(vectors.start(X.shape[1]), np.inf, np.inf)
    lower, mu = -np.inf, 1.0
    curvature = max(np.linalg.norm(X, 2) ** 2 * loss.curvature, np.finfo(np.float64).tiny)
    for _ in range(_STAGES):
        step = (mu if loss.corners else 1.0) / curvature
        u = ahead = best.vector
        for i in range(1, _STEPS + 1):
            a = loss.smoothed(X @ ahead, y, mu)
            before, u = u, vectors.project(ahead - step * (X.T @ a))
            ahead = u + (i - 1) / (i + 2) * (u - before)
        z = X @ u
        value, a = float(loss.value(z, y).sum()), loss.smoothed(z, y, mu)
        lower = max(lower, -vectors.support(-(X.T @ a)) - float(loss.conjugate(a, y).sum()))
        if value <= best.value:
            best = Hindsight(u, value, 0.0)
        if best.value - lower <= _GAP * (1 + abs(best.value)):
            break
        mu /= 2
    return best._replace(gap=max(best.value - lower, 0.0))
