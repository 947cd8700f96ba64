"""Probabilities from counts and a pseudo-count, and their limit where it is 0."""

from typing import Any, NamedTuple

import numpy as np

from mlcore.checks import as_real
from mlcore.checks.penalties import as_penalties
from mlcore.checks.stored import stored


@stored(version=1)
class Smoothed(NamedTuple):
    """Logarithms of probabilities ``(count + alpha) / (total + size alpha)``, -inf for 0.

    There `finite` has the limit for small alpha less ln alpha, ``-ln total``, and `never` 1.
    """

    logs: np.ndarray
    finite: np.ndarray
    never: np.ndarray | None
    _stored = {
        "logs": "float64 c f",
        "finite": "float64 c f",
        "never": "none | float64 c f",
    }


def smoothed(
    counts: np.ndarray, totals: np.ndarray, size: int, alpha: Any, mass: Any = None
) -> Smoothed:
    """Return the logarithms of ``(counts + alpha) / (totals + mass)``, `mass` the sum of alpha.

    Where `totals` and `mass` are 0, all outcomes are equally probable: the limit.
    """
    mass = size * alpha if mass is None else mass
    if np.min(alpha) > 0:
        logs = counts + alpha
        np.log(logs, out=logs)
        logs -= np.log(totals + mass)
        return Smoothed(logs, logs, None)
    totals = np.broadcast_to(totals + mass, counts.shape)
    counts = counts + alpha
    seen, rows = counts > 0, totals > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        finite = np.where(seen, np.log(counts) - np.log(totals), -np.log(totals))
    finite[~rows] = -np.log(size)
    never = (~seen & rows).astype(np.float64)
    if not never.any():
        return Smoothed(finite, finite, None)
    return Smoothed(np.where(never > 0, -np.inf, finite), finite, never)


def pseudo_counts(alpha: Any, owner: str, n_features: int | None = None) -> Any:
    """Return a parameter alpha as a number, or one for each feature as float64 (n_features,)."""
    if np.ndim(alpha) == 0:
        return float(as_real(alpha, "alpha", owner=owner, at_least=0))
    alphas = as_penalties(alpha, "alpha", owner)
    if n_features not in (None, len(alphas)):
        raise ValueError(
            f"{owner}: alpha has {len(alphas)} values, but X has {n_features} features: give one "
            "number, or one for each feature."
        )
    return alphas
