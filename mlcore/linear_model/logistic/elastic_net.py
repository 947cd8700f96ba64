"""Objective of logistic regression with the penalty of the elastic net, and its duality gap."""

import math
from typing import Any

import numpy as np

from mlcore.linear_model.logistic.intercepts import relative_entropy
from mlcore.linear_model.logistic.logistic_pass import LogisticRows
from mlcore.linear_model.logistic.objective import Objective, Point

_ULP = 2.0**-53


def absolute_penalties(scale: np.ndarray, strength: float) -> np.ndarray:
    """Return the penalties of absolute values, (d + 1,), in columns scaled by `scale` (d,): 0 for
    the intercept.
    """
    with np.errstate(over="ignore", under="ignore"):
        return np.append(np.minimum(strength * scale, 1e300), 0.0)


class ElasticNetObjective(Objective):
    """Mean loss + ``sum_j penalty_j theta_j^2 / 2 + lasso_j |theta_j|``, with `l1_ratio` in (0, 1].

    Gradients are those of the differentiable part; `strength` is 1 / (C times the total weight).
    """

    l1_ratio: float
    lasso: np.ndarray

    def __init__(self, rows: LogisticRows, strength: float, l1_ratio: float) -> None:
        super().__init__(rows, strength * (1 - l1_ratio))
        self._whole, self.l1_ratio = strength, l1_ratio
        self.lasso = absolute_penalties(rows.scale, strength * l1_ratio)

    def of_columns(self, rows: LogisticRows) -> "ElasticNetObjective":
        """Return the objective of rows with some of the columns."""
        return ElasticNetObjective(rows, self._whole, self.l1_ratio)

    def at(self, theta: np.ndarray, **options: Any) -> Point:
        """Return the objective at `theta`; options as those of `Objective.at`."""
        point = super().at(theta, **options)
        with np.errstate(over="ignore"):
            return point._replace(value=point.value + float((self.lasso * np.abs(theta)).sum()))

    def centred(self, theta: np.ndarray) -> np.ndarray:
        """Return theta with intercepts of more than two classes that sum to 0, as data are given.

        Without squares in the penalty the coefficients of the classes do not.
        """
        if len(theta) == 1 or not self.rows.intercept:
            return theta
        theta = theta.copy()
        coef = theta[:, :-1] * self.rows.scale
        theta[:, -1] -= (theta[:, -1] - coef @ self.rows.shift).mean()
        return theta

    def subgradient(self, point: Point) -> np.ndarray:
        """Return the subgradient of the least components."""
        g = point.gradient
        return np.where(point.theta != 0, g + self.lasso * np.sign(point.theta), self._beyond(g))

    def _beyond(self, g):
        return np.sign(g) * np.maximum(np.abs(g) - self.lasso, 0)


def elastic_net_gap(
    objective: ElasticNetObjective,
    point: Point,
    error: np.ndarray,
    shares: np.ndarray,
    factor: float,
) -> float:
    """Return a bound on P, `factor` times the objective, less its minimum at a point.

    The dual point is t times the residuals, those of each class times its share, so that they sum
    to 0. The gap is the relative entropy of ``(1 - t) y + t p`` to p, and for the penalty g, with G
    the gradient of the losses, ``g(W) + g*(-t G) + t <W, G>``, where ``g*(u) = sum (|u| -
    l1_ratio)_+^2 / 2 / (1 - l1_ratio)``.
    """
    rows, ratio = objective.rows, objective.l1_ratio
    scores, none = objective.scores(point.theta), np.zeros(rows.n_scores)
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        W = point.theta[:, :-1] * rows.scale
        pull = objective.penalty * point.theta
        G = factor * (point.gradient - pull)[:, :-1] / rows.scale
        error = factor * error[:, :-1] / rows.scale
        largest = float((np.abs(G) + error).max(initial=0.0))
        inside = 1.0 if largest <= ratio else ratio / largest
        absolute = ratio * np.abs(W)
        square = 0.5 * (1 - ratio) * W**2
        rounding = 8 * _ULP * float((absolute + square + np.abs(W * G)).sum())
        gaps = []
        for t in {inside, 1.0} if ratio < 1 else {inside}:
            outside = np.maximum(t * (np.abs(G) + error) - ratio, 0)
            conjugate = 0.0 if t == inside else 0.5 * outside**2 / (1 - ratio)
            of_penalty = absolute + square + t * W * G + conjugate + t * np.abs(W) * error
            of_losses = factor * relative_entropy(rows, scores, none, t * shares)
            gaps.append(of_losses + float(of_penalty.sum()))
        gap = min(gaps) + rounding
    return gap if gap >= 0 else math.inf
