"""Entropies and relative entropies whose terms keep their digits near 0."""

import numpy as np

_LEAST_NORMAL = np.finfo(np.float64).tiny
_ATANH_SERIES = tuple(1.0 / (2 * j + 3) for j in reversed(range(9)))


def entropies(p: np.ndarray) -> np.ndarray:
    """Return ``-sum p ln p`` along the last axis of distributions, with ``0 ln 0 = 0``."""
    return (p * -np.log(p, where=p > 0, out=np.zeros_like(p))).sum(axis=-1)


def excess_over_log(x: np.ndarray) -> np.ndarray:
    """Return phi(x) = x - ln(1 + x) for an array x >= -1, infinite at -1.

    With r = x / (2 + x), near 0 it is r x minus a series that begins with r³.
    """
    r = x / (2 + x)
    square = r * r
    series = np.zeros_like(square)
    for coefficient in _ATANH_SERIES:
        series = series * square + coefficient
    with np.errstate(divide="ignore"):
        return np.where(np.abs(x) < 0.25, r * (x - 2 * square * series), x - np.log1p(x))


def deviance(q: np.ndarray, p: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Return ``q phi(h / q) = q ln(q / p) + p - q``, with h = p - q given to keep its digits.

    With 1 + h / q = (1 + u)², phi(h / q) = u² + 2 phi(u) without cancellation.
    """
    ratio = q / p
    plain = (ratio > _LEAST_NORMAL) & (ratio < np.inf)  # it may over- or underflow
    log_ratio = np.where(plain, np.log(ratio), np.log(q) - np.log(p))
    x = h / q
    u = x / (1 + np.sqrt(1 + x))
    term = np.where(np.abs(u) < 0.25, q * (u * u + 2 * excess_over_log(u)), h + q * log_ratio)
    return np.where(q > 0, term, h)
