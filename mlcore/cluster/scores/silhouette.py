"""Silhouettes: how much closer samples are to their own cluster than to the next one."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mlcore.checks import as_integer, as_random_state, as_weights, require_random_state
from mlcore.cluster.metrics import PlainMetric
from mlcore.cluster.partition import as_partition
from mlcore.cluster.scores.contingency import require_copies
from mlcore.cluster.scores.distance_sums import by_cluster, check_distances, distance_sums


def silhouette_samples(
    X: Any, labels: Any, *, metric: PlainMetric | Callable[..., float] = "euclidean"
) -> np.ndarray:
    r"""Return the silhouette of each sample, which says how well it fits its cluster.

    .. math:: s_i = \frac{b_i - a_i}{\max(a_i, b_i)}

    where a is the mean distance to the other members of its cluster, and b the least mean distance
    to the members of another cluster.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or (n_samples, n_samples)
        Samples, or with ``metric="precomputed"`` the distances, row i those from sample i; dense.
    labels : array-like of shape (n_samples,)
        The cluster of each sample, two clusters at least; any sortable values.
    metric : str or callable, default="euclidean"
        "euclidean" ("l2"), "sqeuclidean", "cityblock" ("l1", "manhattan"), "chebyshev", "cosine",
        "correlation", "canberra", "braycurtis", "hamming", "precomputed", or a function of two
        samples.

    Returns
    -------
    silhouettes : ndarray of shape (n_samples,), float32 if X is, else float64
        From -1 to 1. 0 for the only member of a cluster, and where both means are 0.

    Raises
    ------
    ValueError, TypeError
        For bad samples; for labels of another length or all the same; for an unknown metric, one
        that is negative or not finite for these samples, and for invalid distances.

    Notes
    -----
    O(n² d) time, on all threads for the Euclidean metrics, with the same result for any number of
    them; O(n d) memory, and blocks of some megabytes of distances. Euclidean distances of float32
    samples are formed in single precision, unless they are short compared with the samples'
    distances from the mean: a mean distance is accurate to a few units of it, about 1e-7.

    References
    ----------
    .. [1] P. J. Rousseeuw, *Silhouettes: a graphical aid to the interpretation and validation of
       cluster analysis*, Journal of Computational and Applied Mathematics 20, 1987.

    Examples
    --------
    >>> from mlcore.cluster import silhouette_samples
    >>> silhouette_samples([[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1]).round(3)
    array([0.778, 0.714, 0.714, 0.778])
    """
    X, metric = check_distances(X, metric, "silhouette_samples")
    _, codes = as_partition(labels, len(X), owner="silhouette_samples", min_clusters=2)
    return _silhouettes(X, metric, codes, np.arange(len(X)), None)


def _silhouettes(X, metric, codes, rows, weights):
    """Return the silhouettes of some rows, by their clusters; their weights count copies."""
    order, starts = by_cluster(codes)
    own, sizes = codes[order], np.diff(starts)
    if weights is not None:
        weights = weights[order]
        sizes = np.add.reduceat(weights, starts[:-1])
    silhouettes = np.empty(len(rows), dtype=X.dtype)
    single = X.dtype == np.float32
    blocks = distance_sums(X, metric, rows[order], starts, weights=weights, single=single)
    for places, sums in blocks:
        numbers, mine = np.arange(len(sums)), own[places]
        inside = sums[numbers, mine] / np.maximum(1, sizes[mine] - 1)
        means = sums / sizes
        means[numbers, mine] = np.inf
        outside = means.min(axis=1)
        larger = np.maximum(inside, outside)
        undefined = (sizes[mine] == 1) | (larger == 0)
        larger[undefined] = 1
        silhouettes[order[places]] = np.where(undefined, 0, (outside - inside) / larger)
    return silhouettes


def silhouette_score(
    X: Any,
    labels: Any,
    *,
    metric: PlainMetric | Callable[..., float] = "euclidean",
    sample_size: int | None = None,
    random_state: Any = None,
    sample_weight: Any = None,
) -> float:
    """Return the mean of the silhouettes: high for compact and well separated clusters.

    Parameters
    ----------
    X, labels, metric : as in `silhouette_samples`
    sample_size : int, optional
        Score so many samples (copies, with weights), drawn without replacement, as if there were no
        others. By default all.
    random_state : int, numpy.random.Generator or RandomState, optional
        Of the draw.
    sample_weight : array-like of shape (n_samples,), optional
        Whole numbers: 2 stands for two copies of a sample, which have distance 0 from each other, 0
        for its absence.

    Returns
    -------
    score : float, from -1 to 1
        1 at best.

    Raises
    ------
    ValueError, TypeError
        As for `silhouette_samples`; for weights that are not whole; for a `sample_size` that is no
        integer from 2 to the number of samples, or draws from one cluster only.

    Notes
    -----
    O(m² d) time for m samples drawn; the score of all has about the standard error of a mean of m.

    References
    ----------
    .. [1] P. J. Rousseeuw, *Silhouettes: a graphical aid to the interpretation and validation of
       cluster analysis*, Journal of Computational and Applied Mathematics 20, 1987.

    Examples
    --------
    >>> from mlcore.cluster import silhouette_score
    >>> X, labels = [[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1]
    >>> round(silhouette_score(X, labels), 3)
    0.746
    >>> round(silhouette_score(X, labels, sample_weight=[2, 1, 1, 1]), 3)
    0.801
    """
    owner = "silhouette_score"
    X, metric = check_distances(X, metric, owner)
    n = len(X)
    _, codes = as_partition(labels, n, owner=owner, min_clusters=2)
    if sample_size is None and sample_weight is None:
        require_random_state(random_state, owner=owner)
        silhouettes = _silhouettes(X, metric, codes, np.arange(n), None)
        return float(silhouettes.mean(dtype=np.float64))
    weights = as_weights(sample_weight, n)
    require_copies(weights, owner)
    if sample_size is not None:
        weights = _drawn(weights.astype(np.int64), sample_size, random_state, owner)
    rows = np.flatnonzero(weights)
    names, codes = np.unique(codes[rows], return_inverse=True)
    if len(names) < 2:
        raise ValueError(
            f"{owner}: all samples that are scored are of one cluster, but at least 2 are needed: "
            "raise sample_size, or the weights of others."
        )
    weights = weights[rows].astype(np.float64)
    silhouettes = _silhouettes(X, metric, codes, rows, weights).astype(np.float64)
    return float(weights @ silhouettes / weights.sum())


def _drawn(copies, sample_size, random_state, owner):
    """Return how many copies of each sample are among `sample_size` drawn without replacement."""
    ends = np.cumsum(copies)
    total = int(ends[-1])
    size = as_integer(sample_size, "sample_size", owner=owner, at_least=2, at_most=total)
    drawn = as_random_state(random_state, owner=owner).choice(total, size, replace=False)
    return np.bincount(np.searchsorted(ends, drawn, side="right"), minlength=len(copies))
