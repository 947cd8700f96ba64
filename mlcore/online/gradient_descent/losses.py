"""Convex losses of a prediction z = w.x, their derivatives and their conjugates."""

from typing import Literal, NamedTuple

import numpy as np
from scipy.special import expit, xlogy


class Loss(NamedTuple):
    """A loss l(z, y), convex in z; functions of arrays.

    `derivative` is a subgradient at corners; `conjugate`, of a and y, the largest a z - l(z, y).
    `smoothed`, of z, y and mu, is the derivative of a loss nearby, of slope at most `curvature` /
    mu (without `corners`, `curvature`). With `labels`, y is -1 or 1.
    """

    value: object
    derivative: object
    conjugate: object
    smoothed: object
    curvature: float
    corners: bool
    labels: bool


def _negative_entropy(a, y):
    share = -a * y
    return xlogy(share, share) + xlogy(1 - share, 1 - share)


LossName = Literal["hinge", "logistic", "absolute", "squared"]
LOSSES: dict[LossName, Loss] = {
    "hinge": Loss(
        lambda z, y: np.maximum(0, 1 - y * z),
        lambda z, y: np.where(y * z < 1, -y, 0.0),
        lambda a, y: a * y,
        lambda z, y, mu: -y * np.clip((1 - y * z) / mu, 0, 1),
        1.0,
        True,
        True,
    ),
    "logistic": Loss(
        lambda z, y: np.logaddexp(0, -y * z),
        lambda z, y: -y * expit(-y * z),
        _negative_entropy,
        lambda z, y, mu: -y * expit(-y * z),
        0.25,
        False,
        True,
    ),
    "absolute": Loss(
        lambda z, y: np.abs(z - y),
        lambda z, y: np.sign(z - y),
        lambda a, y: a * y,
        lambda z, y, mu: np.clip((z - y) / mu, -1, 1),
        1.0,
        True,
        False,
    ),
    "squared": Loss(
        lambda z, y: (z - y) ** 2,
        lambda z, y: 2 * (z - y),
        lambda a, y: a * a / 4 + a * y,
        lambda z, y, mu: 2 * (z - y),
        2.0,
        False,
        False,
    ),
}
