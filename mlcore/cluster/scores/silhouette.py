"""Silhouettes: how much closer samples are to their own cluster than to the next one."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mlcore.cluster.metrics import PlainMetric
from mlcore.cluster.partition import as_partition
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
    n = len(X)
    _, codes = as_partition(labels, n, owner="silhouette_samples", min_clusters=2)
    order, starts = by_cluster(codes)
    own, sizes = codes[order], np.diff(starts)
    silhouettes = np.empty(n, dtype=X.dtype)
    single = X.dtype == np.float32
    for places, sums in distance_sums(X, metric, order, starts, single=single):
        rows, mine = np.arange(len(sums)), own[places]
        inside = sums[rows, mine] / np.maximum(1, sizes[mine] - 1)
        means = sums / sizes
        means[rows, mine] = np.inf
        outside = means.min(axis=1)
        larger = np.maximum(inside, outside)
        undefined = (sizes[mine] == 1) | (larger == 0)
        larger[undefined] = 1
        silhouettes[order[places]] = np.where(undefined, 0, (outside - inside) / larger)
    return silhouettes


def silhouette_score(
    X: Any, labels: Any, *, metric: PlainMetric | Callable[..., float] = "euclidean"
) -> float:
    """Return the mean of the silhouettes: high for compact and well separated clusters.

    Parameters
    ----------
    X, labels, metric : as in `silhouette_samples`

    Returns
    -------
    score : float, from -1 to 1
        1 at best.

    Raises
    ------
    ValueError, TypeError
        As for `silhouette_samples`.

    References
    ----------
    .. [1] P. J. Rousseeuw, *Silhouettes: a graphical aid to the interpretation and validation of
       cluster analysis*, Journal of Computational and Applied Mathematics 20, 1987.

    Examples
    --------
    >>> from mlcore.cluster import silhouette_score
    >>> round(silhouette_score([[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1]), 3)
    0.746
    """
    return float(silhouette_samples(X, labels, metric=metric).mean(dtype=np.float64))
