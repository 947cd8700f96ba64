"""Probabilities from counts and a pseudo-count, and their limit where it is 0."""

from typing import NamedTuple

import numpy as np


class Smoothed(NamedTuple):
    """Logarithms of probabilities ``(count + alpha) / (total + size alpha)``.

    Attributes
    ----------
    logs : array
        -inf for a probability of 0.
    finite : array
        The same, and for a probability of 0 its limit for small alpha less ln alpha, ``-ln total``.
    never : array of float64, or None
        1 for probabilities of 0; None if there are none.
    """

    logs: np.ndarray
    finite: np.ndarray
    never: np.ndarray | None


def smoothed(counts: np.ndarray, totals: np.ndarray, size: int, alpha: float) -> Smoothed:
    """Return the logarithms of ``(counts + alpha) / (totals + size alpha)``.

    Where `totals` and `alpha` are 0, all `size` outcomes are equally probable: the limit.
    """
    if alpha > 0:
        logs = counts + alpha
        np.log(logs, out=logs)
        logs -= np.log(totals + size * alpha)
        return Smoothed(logs, logs, None)
    totals = np.broadcast_to(totals, counts.shape)
    seen, rows = counts > 0, totals > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        finite = np.where(seen, np.log(counts) - np.log(totals), -np.log(totals))
    finite[~rows] = -np.log(size)
    never = (~seen & rows).astype(np.float64)
    if not never.any():
        return Smoothed(finite, finite, None)
    return Smoothed(np.where(never > 0, -np.inf, finite), finite, never)
