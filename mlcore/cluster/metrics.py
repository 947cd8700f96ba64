"""Distances between samples by SciPy's metrics or a function, and what a distance must be."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse as sp
from scipy.spatial.distance import cdist

from mlcore._ext import dissimilarities as _ext
from mlcore.checks import as_choice
from mlcore.checks.symmetry import rounding_of_distances
from mlcore.threads import effective_threads, pieces

ALIASES = {"l1": "cityblock", "l2": "euclidean", "manhattan": "cityblock"}
# Metrics of real vectors that learn no scale from the samples.
PLAIN = (
    "euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation", "canberra",
    "braycurtis", "hamming",
)  # fmt: skip
NAMED = (
    *PLAIN, "dice", "jaccard", "jensenshannon", "mahalanobis", "minkowski", "rogerstanimoto",
    "russellrao", "seuclidean", "sokalsneath", "yule",
)  # fmt: skip


def as_metric(metric: Any, owner: str, names: tuple[str, ...] = NAMED) -> str | Callable:
    """Return SciPy's name of a metric, or "precomputed"; a function as it is.

    Raises
    ------
    ValueError, TypeError
        For a metric that is none of `names`, an alias, "precomputed" or a function.
    """
    if callable(metric):
        return metric
    as_choice(metric, "metric", ("precomputed", *names, *ALIASES), owner=owner)
    return ALIASES.get(metric, metric)


def learned_scale(X: np.ndarray, metric: str | Callable) -> np.ndarray | None:
    """Return the scale that a metric takes from samples X (n, d).

    Returns
    -------
    scale : float64 (d,), float64 (d, d) or None
        The variances for "seuclidean", 1 where they are 0; the inverse covariance matrix for
        "mahalanobis"; None for all others.
    """
    X = X.astype(np.float64, copy=False)
    if metric == "seuclidean":
        variance = X.var(axis=0, ddof=min(1, len(X) - 1))
        return np.where(variance > 0, variance, 1.0)
    if metric == "mahalanobis":
        return np.linalg.pinv(np.atleast_2d(np.cov(X.T)))
    return None


def cdist_arguments(metric: str | Callable, scale: np.ndarray | None) -> dict[str, np.ndarray]:
    """Return the scale under the name by which `scipy.spatial.distance.cdist` takes it."""
    if metric == "seuclidean":
        return {"V": scale}
    return {"VI": scale} if metric == "mahalanobis" else {}


def distances(A, B, metric, scale=None, owner: str = "") -> np.ndarray:
    """Return the distances of rows of A (m, d) from rows of B (n, d), float64 (m, n).

    `metric` and `scale` are those of `as_metric` and `learned_scale`; errors as `as_distances`.
    """
    with np.errstate(all="ignore"):
        values = cdist(A, B, metric, **cdist_arguments(metric, scale))
    return as_distances(values, metric, owner)


def as_distances(values: np.ndarray, metric: str | Callable, owner: str = "") -> np.ndarray:
    """Return values of a metric with those of SciPy's that rounding made negative set to 0.

    Raises
    ------
    ValueError
        For a value that is NaN or infinite, and for a negative one of a function.
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


def given_distances(
    D: Any, owner: str, *, square: bool = True, symmetric: bool = True, in_place: bool = False
) -> Any:
    """Return distances that the user gave, checked, without the rounding of how they were formed.

    Values a little below 0, and those a little off 0 on the diagonal, become 0, in a copy; a little
    is up to `rounding_of_distances` times the largest. Mirrored values may differ by as much.

    Parameters
    ----------
    D : ndarray or CSR (n, n), or (m, n) of other samples if not `square`
        Finite values.
    owner : str
        That errors name.
    square : bool
        True for distances between the samples themselves.
    symmetric : bool
        False if row i, the distances from sample i, may differ from column i.
    in_place : bool
        True if D itself may be corrected.

    Raises
    ------
    ValueError
        For anything else; the message names an entry.
    """
    if square and D.shape[0] != D.shape[1]:
        raise ValueError(
            f"{owner}: Distance matrix should be square, got matrix of shape {D.shape}: with "
            "metric='precomputed' X holds the distance of every sample from every other."
        )
    values = D.data if sp.issparse(D) else D
    dense = square and not sp.issparse(D)
    if dense:
        least, largest, asymmetry = extremes(D)
    else:
        least, largest, asymmetry = values.min(initial=0.0), values.max(initial=0.0), 0.0
    rounding = rounding_of_distances(D.dtype) * max(largest, 0.0)
    if least < -rounding:
        raise ValueError(
            f"Negative values in data passed to {owner} as distances: {_least_entry(D)} is "
            f"{least:g}, but distances are at least 0."
        )
    own = D.diagonal() if square else np.zeros(1)
    if np.abs(own).max(initial=0.0) > rounding:
        i = int(np.argmax(np.abs(own)))
        raise ValueError(
            f"{owner}: X[{i}, {i}] is {own[i]:g}, but the distance of a sample from itself must be "
            "0: are these similarities?"
        )
    if symmetric and asymmetry > rounding:
        i, j = _most_asymmetric(D)
        raise ValueError(
            f"{owner}: X is not symmetric: X[{i}, {j}] is {D[i, j]:g} and X[{j}, {i}] is "
            f"{D[j, i]:g}, but precomputed distances must be: pass (X + X.T) / 2."
        )
    if least >= 0 and not own.any():
        return D
    D = D if in_place else D.copy()
    values = D.data if sp.issparse(D) else D
    np.maximum(values, 0.0, out=values)
    if dense:
        np.fill_diagonal(D, 0.0)
    elif square:
        values[D.indices == np.repeat(np.arange(D.shape[0]), np.diff(D.indptr))] = 0.0
    return D


def extremes(D: np.ndarray) -> tuple[float, float, float]:
    """Return the least and the largest value of a square matrix, and its largest asymmetry."""
    tiles = -(-len(D) // _ext.TILE_SIDE)
    found = np.empty((tiles, 3))
    for first, last in pieces(tiles, 2 * _ext.TILE_SIDE * len(D)):
        _ext.extremes(D, first, last, found, effective_threads(D.size))
    return float(found[:, 0].min()), float(found[:, 1].max()), float(found[:, 2].max())


def _least_entry(D):
    if sp.issparse(D):
        at = int(np.argmin(D.data))
        i, j = int(np.searchsorted(D.indptr, at, side="right")) - 1, D.indices[at]
    else:
        i, j = divmod(int(np.argmin(D)), D.shape[1])
    return f"X[{i}, {j}]"


def _most_asymmetric(D):
    best, pair = -1.0, (0, 0)
    for start in range(0, len(D), 256):
        off = np.abs(D[start : start + 256] - D[:, start : start + 256].T)
        at = int(off.argmax())
        if off.flat[at] > best:
            best, pair = off.flat[at], (start + at // len(D), at % len(D))
    return pair
