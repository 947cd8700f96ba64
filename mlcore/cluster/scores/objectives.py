"""Costs of a partition under the objectives of clustering."""

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np

from mlcore.checks import as_choice, as_weights
from mlcore.cluster.cuts.cuts import (
    cut_value,
    normalized_association,
    normalized_cut_value,
    ratio_cut_value,
)
from mlcore.cluster.cuts.edge_sums import as_graph, edge_sums
from mlcore.cluster.metrics import PlainMetric
from mlcore.cluster.partition import as_partition
from mlcore.cluster.scores.centers import center_sums, weighted_partition
from mlcore.cluster.scores.distance_sums import by_cluster, check_distances, distance_sums

_CUTS = {
    "cut": cut_value,
    "ratio_cut": ratio_cut_value,
    "normalized_cut": normalized_cut_value,
    "normalized_association": normalized_association,
}
_OWNER = "clustering_cost"
_Objective = Literal[
    "kmeans", "kmedoids", "kmedian", "sum_of_distances", "kernel_kmeans", "trace",
    "cut", "ratio_cut", "normalized_cut", "normalized_association",
]  # fmt: skip


def clustering_cost(
    X: Any,
    labels: Any,
    objective: _Objective = "kmeans",
    *,
    metric: PlainMetric | Callable[..., float] = "euclidean",
    sample_weight: Any = None,
) -> float:
    r"""Return the cost of any partition under one of the objectives of clustering.

    With clusters C of weight ``|C|``, their means c and members m, the first four are costs of
    samples X, the others of affinities or kernel values K:

    ====================== ================================================================
    kmeans                 :math:`\sum_C \sum_{i \in C} \|x_i - c_C\|^2`
    kmedoids               :math:`\sum_C \min_{m \in C} \sum_{i \in C} d(x_i, x_m)^2`
    kmedian                :math:`\sum_C \min_{m \in C} \sum_{i \in C} d(x_i, x_m)`
    sum_of_distances       :math:`\sum_C \sum_{i \in C} \sum_{j \in C} d(x_i, x_j)`
    trace                  :math:`trace(G^T K G) = \sum_C \sum_{i, j \in C} K_{ij} / |C|`
    kernel_kmeans          :math:`trace(K) - trace(G^T K G)`, k-means in feature space
    cut                    see `cut_value`
    ratio_cut              see `ratio_cut_value`
    normalized_cut         see `normalized_cut_value`
    normalized_association see `normalized_association`
    ====================== ================================================================

    G has a column for each cluster, with ``1 / sqrt(|C|)`` for its members. Lower is better, except
    for "trace" and "normalized_association". With the linear kernel "kernel_kmeans" is "kmeans";
    with a doubly stochastic K both "ratio_cut" and "normalized_cut" are the number of clusters
    minus "trace".

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
        Samples, distances with ``metric="precomputed"``, or K. Sparse for "kmeans" and for K.
    labels : array-like of shape (n_samples,)
        The cluster of each sample; any sortable values.
    objective : str, default="kmeans"
    metric : str or callable, default="euclidean"
        The distance d, as for `silhouette_samples`.
    sample_weight : array-like of shape (n_samples,), optional
        2 stands for two copies of a sample, 0 for its absence.

    Returns
    -------
    cost : float
        In the units of the objective.

    Raises
    ------
    ValueError, TypeError
        For bad samples, weights or labels; for an unknown objective or metric; for K that is not
        square, not symmetric or, for a cut, negative; for a cut with one cluster only; for a cost
        that overflows.

    Notes
    -----
    O(n d) time for "kmeans", O(n²) with K, and the sum of O(d |C|²) for distances; O(n d)
    memory.

    References
    ----------
    .. [1] S. Shalev-Shwartz, S. Ben-David, *Understanding Machine Learning*, 2014, section 22.2:
       the first four objectives.
    .. [2] A. Shashua, *Introduction to Machine Learning*, arXiv:0904.3664, equation 6.5: the trace.

    Examples
    --------
    >>> from mlcore.cluster import clustering_cost
    >>> X, labels = [[0.0], [1.0], [5.0]], [0, 0, 1]
    >>> clustering_cost(X, labels), clustering_cost(X, labels, "kmedian")
    (0.5, 1.0)
    """
    as_choice(objective, "objective", get_args(_Objective), owner=_OWNER)
    if objective in _CUTS:
        return _CUTS[objective](X, labels, sample_weight=sample_weight)
    if objective in ("kernel_kmeans", "trace"):
        cost = _in_feature_space(X, labels, sample_weight, objective)
    elif objective == "kmeans":
        sums = center_sums(*weighted_partition(X, labels, sample_weight, _OWNER))
        with np.errstate(over="ignore"):
            cost = np.ldexp(sums.squares.sum(), 2 * sums.power)
    else:
        cost = _of_distances(X, labels, sample_weight, objective, metric)
    if not np.isfinite(cost):
        raise ValueError(f"{_OWNER}: the cost overflows float64, as values in X are too large.")
    return float(cost)


def _of_distances(X, labels, sample_weight, objective, metric):
    X, metric = check_distances(X, metric, _OWNER)
    _, codes = as_partition(labels, len(X), owner=_OWNER)
    weights = as_weights(sample_weight, len(X))
    order, starts = by_cluster(codes)
    cost = 0.0
    for start, end in zip(starts[:-1], starts[1:], strict=True):
        members = order[start:end][weights[order[start:end]] > 0]
        if len(members) == 0:
            continue
        blocks = distance_sums(
            X, metric, members, np.array([0, len(members)]), weights=weights[members],
            squared=objective == "kmedoids",
        )  # fmt: skip
        sums = np.concatenate([sums[:, 0] for _, sums in blocks])
        cost += weights[members] @ sums if objective == "sum_of_distances" else sums.min()
    return cost


def _in_feature_space(K, labels, sample_weight, objective):
    K = as_graph(K, _OWNER, negative=True)
    n = K.shape[0]
    _, codes = as_partition(labels, n, owner=_OWNER)
    weights = as_weights(sample_weight, n)
    sums = edge_sums(K, codes, weights)
    present = sums.sizes > 0
    trace = (sums.inside[present] / sums.sizes[present]).sum()
    return trace if objective == "trace" else weights @ K.diagonal().astype(np.float64) - trace
