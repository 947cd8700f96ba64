"""Mistakes of a perceptron against the bound that its last function proves."""

import math

import numpy as np

from mlcore.bounds import perceptron_mistake_bound


def signed_margins(scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return by how much the score of each row's class exceeds those of the others, (n,).

    `scores` (n_scores, n) has one row for two classes, positive for class 1.
    """
    if len(scores) == 1:
        return np.where(codes == 1, scores[0], -scores[0])
    rows, others = np.arange(scores.shape[1]), scores.copy()
    own = scores[codes, rows]
    others[codes, rows] = -np.inf
    return own - others.max(axis=0)


def mistake_bound(
    margins: np.ndarray, counts: np.ndarray, radius: float, length: float, n_classes: int
) -> float:
    """Return a bound on the sum of the mistakes `counts` (n,) of the rows, infinite if none holds.

    (R / margin)² if w separates the rows, else by the hinge loss over all mistakes of the best a w;
    with more than two classes the radius is sqrt(2) R.
    """
    if not (0 < length < math.inf and radius > 0):
        return math.inf
    mistakes = float(counts.sum())
    if n_classes > 2:
        radius = math.nextafter(math.sqrt(2) * radius, math.inf)
    least = float(margins.min())
    if least > 0:
        return _at_least(mistakes, radius, length / least, 0.0)
    wrong = np.flatnonzero(counts)
    wrong = wrong[np.argsort(margins[wrong], kind="stable")]
    m, c = margins[wrong], counts[wrong].astype(np.float64)
    below, weighted = np.cumsum(c) - c, np.cumsum(c * m) - c * m
    usable = m > np.finfo(np.float64).tiny
    if not usable.any():
        return math.inf
    a = 1 / m[usable]
    with np.errstate(over="ignore"):
        losses = np.maximum(below[usable] - a * weighted[usable], 0)
        sizes = radius * length * a
        best = a[np.argmin(sizes + np.sqrt(sizes * sizes + 4 * losses))]
    loss = math.fsum(c * np.maximum(1 - best * m, 0))
    return _at_least(mistakes, radius, float(best * length), loss)


def _at_least(mistakes, radius, w_norm, loss):
    """Return the bound; where rounding of its arguments puts it below `mistakes`, these."""
    if not 0 < w_norm < math.inf:
        return math.inf
    return max(mistakes, perceptron_mistake_bound(radius, w_norm=w_norm, hinge_loss=loss))
