"""Distances between samples by SciPy's metrics or a function, and what a distance must be."""

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
from scipy.spatial.distance import cdist

from mlcore.checks import as_choice

ALIASES = {"l1": "cityblock", "l2": "euclidean", "manhattan": "cityblock"}
# Metrics of real vectors that learn no scale from the samples.
_Plain = Literal[
    "euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation", "canberra",
    "braycurtis", "hamming",
]  # fmt: skip
_Other = Literal[
    "dice", "jaccard", "jensenshannon", "mahalanobis", "minkowski", "rogerstanimoto",
    "russellrao", "seuclidean", "sokalsneath", "yule",
]  # fmt: skip
PlainMetric = Literal["precomputed", "l1", "l2", "manhattan"] | _Plain
Metric = PlainMetric | _Other
PLAIN = get_args(_Plain)
NAMED = (*PLAIN, *get_args(_Other))


def as_metric(metric: Any, owner: str, names: tuple[str, ...] = NAMED) -> str | Callable[..., Any]:
    """Return SciPy's name of a metric, or "precomputed"; a function as it is.

    Any other than `names`, their aliases, "precomputed" and functions is refused.
    """
    if callable(metric):
        return metric
    as_choice(metric, "metric", ("precomputed", *names, *ALIASES), owner=owner)
    return ALIASES.get(metric, metric)


def learned_scale(X: np.ndarray, metric: str | Callable[..., Any]) -> np.ndarray | None:
    """Return the scale that a metric takes from samples X (n, d), None if it has none.

    Variances (d,) for "seuclidean", 1 where 0; the inverse covariance (d, d) for "mahalanobis".
    """
    X = X.astype(np.float64, copy=False)
    if metric == "seuclidean":
        variance = X.var(axis=0, ddof=min(1, len(X) - 1))
        return np.where(variance > 0, variance, 1.0)
    if metric == "mahalanobis":
        return np.linalg.pinv(np.atleast_2d(np.cov(X.T)))
    return None


def cdist_arguments(
    metric: str | Callable[..., Any], scale: np.ndarray | None
) -> dict[str, np.ndarray]:
    """Return the scale under the name by which `scipy.spatial.distance.cdist` takes it."""
    if metric == "seuclidean":
        return {"V": scale}
    return {"VI": scale} if metric == "mahalanobis" else {}


def distances(A: Any, B: Any, metric: Any, scale: Any = None, owner: str = "") -> np.ndarray:
    """Return the distances of rows of A (m, d) from rows of B (n, d), float64 (m, n).

    `metric` and `scale` are those of `as_metric` and `learned_scale`; errors as `as_distances`.
    """
    with np.errstate(all="ignore"):
        values = cdist(A, B, metric, **cdist_arguments(metric, scale))
    return as_distances(values, metric, owner)


def as_distances(
    values: np.ndarray, metric: str | Callable[..., Any], owner: str = ""
) -> np.ndarray:
    """Return values of a metric with those of SciPy's that rounding made negative set to 0.

    NaN or infinite values, and negative ones of a function, are refused.
    """
    least, largest = values.min(initial=0.0), values.max(initial=0.0)
    named = isinstance(metric, str)
    if not (np.isfinite(least) and np.isfinite(largest) and (named or least == 0)):
        wrong = values[~(np.isfinite(values) & (values >= 0))][0]
        name = metric if named else getattr(metric, "__name__", repr(metric))
        raise ValueError(
            f"{owner and f'{owner}: '}metric={name} gave {wrong} for two samples, but distances "
            "must be finite and at least 0: rescale the data, or choose another metric."
        )
    return np.maximum(values, 0.0, out=values) if least < 0 else values
