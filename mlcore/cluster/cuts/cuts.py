"""Minimum cuts of a graph of affinities, and the values of a partition by four measures.

The graph is a symmetric matrix K >= 0: an edge of weight K[i, j] between samples i and j.
"""

from typing import Any, Literal, NamedTuple, overload

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_bool, as_integer, as_weights
from mlcore.cluster.cuts.edge_sums import (
    EdgeSums,
    as_directed_graph,
    as_graph,
    directed_cut,
    edge_sums,
    without_diagonal,
)
from mlcore.cluster.cuts.max_flow import minimum_st_cut
from mlcore.cluster.cuts.stoer_wagner import global_min_cut
from mlcore.cluster.partition import as_partition
from mlcore.estimator.printed import fields_as_table


class MinCut(NamedTuple):
    """A minimum cut, and a bound that shows that none is lighter.

    Parameters
    ----------
    value : float
        Total weight of the edges between the two sides, each counted once.
    labels : ndarray of shape (n_samples,), int32
        The side of each sample, 0 or 1. Side 0 is the source's, or that of sample 0.
    bound : float
        Lower bound on the weight of any cut: the value of a flow from source to sink; without
        these, the least connectivity of samples that were merged. Equals `value` up to rounding.

    Examples
    --------
    >>> from mlcore.cluster import min_cut
    >>> cut = min_cut([[0, 2, 1], [2, 0, 2], [1, 2, 0]])
    >>> cut.value == cut.bound
    True
    """

    value: float
    labels: np.ndarray
    bound: float

    __repr__ = fields_as_table


@overload
def min_cut(
    K: Any,
    source: int | None = None,
    sink: int | None = None,
    *,
    directed: bool = False,
    return_flow: Literal[False] = False,
) -> MinCut: ...


@overload
def min_cut(
    K: Any,
    source: int | None = None,
    sink: int | None = None,
    *,
    directed: bool = False,
    return_flow: Literal[True],
) -> tuple[MinCut, sp.csr_array]: ...


def min_cut(
    K: Any,
    source: int | None = None,
    sink: int | None = None,
    *,
    directed: bool = False,
    return_flow: bool = False,
) -> MinCut | tuple[MinCut, sp.csr_array]:
    """Find a minimum cut of a graph, of all cuts or of those between two samples.

    Without `source` and `sink`, vertices are ordered as by Stoer and Wagner [1]_: the last one is a
    side of a minimum cut between it and the one before. Neighbours in that order whose connectivity
    is at least the lightest cut so far are merged [2]_, all at once, so that a few rounds are
    enough for most graphs. With them, the cut comes from a maximum flow [3]_, and is the one whose
    sink's side is smallest.

    Parameters
    ----------
    K : array-like or sparse array of shape (n_samples, n_samples)
        Affinities: symmetric, not negative. The diagonal does not count.
    source, sink : int, optional
        Two different samples to separate; both or neither.
    directed : bool, default=False
        Let K[i, j] be the capacity from i to j alone, so that K need not be symmetric. The value is
        that of the edges from the source's side to the sink's; both must be given.
    return_flow : bool, default=False
        Return also a maximum flow from source to sink, which proves that no cut is lighter.

    Returns
    -------
    cut : MinCut
        `value`, `labels` and `bound`; one of the cuts, if several are lightest.
    flow : csr_array of shape (n_samples, n_samples)
        With `return_flow`: what goes from i to j, at most K[i, j]; what enters a sample other than
        source and sink also leaves it, up to rounding.

    Raises
    ------
    ValueError, TypeError
        For affinities that are not square, not symmetric, negative or not finite, fewer than two
        samples, and for a source or sink that is no sample, is missing, or is the other one.
    MemoryError
        If the copy of a dense K that the method works on does not fit.

    Notes
    -----
    For n samples and e edges. All cuts: time O(n²) a round for dense K, O(e + n log n) for sparse,
    a few rounds as a rule and n - 1 at worst. Between two: O(n³) at worst, far less as a rule.
    Memory: one copy of K, in float64.

    References
    ----------
    .. [1] M. Stoer, F. Wagner, *A Simple Min-Cut Algorithm*, Journal of the ACM 44, 1997.
    .. [2] H. Nagamochi, T. Ono, T. Ibaraki, *Implementing an efficient minimum capacity cut
       algorithm*, Mathematical Programming 67, 1994.
    .. [3] A. V. Goldberg, R. E. Tarjan, *A new approach to the maximum-flow problem*, Journal of
       the ACM 35, 1988.

    Examples
    --------
    >>> from mlcore.cluster import min_cut
    >>> K = [[0, 3, 1, 0], [3, 0, 1, 1], [1, 1, 0, 4], [0, 1, 4, 0]]
    >>> cut = min_cut(K)
    >>> cut.value, cut.labels.tolist()
    (3.0, [0, 0, 1, 1])
    >>> min_cut(K, source=0, sink=1).value
    4.0
    >>> cut, flow = min_cut(
    ...     [[0, 2, 1], [0, 0, 1], [0, 0, 0]], 0, 2, directed=True, return_flow=True
    ... )
    >>> cut.value, flow.toarray().tolist()
    (2.0, [[0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    """
    directed = as_bool(directed, "directed", owner="min_cut")
    return_flow = as_bool(return_flow, "return_flow", owner="min_cut")
    K = as_directed_graph(K, "min_cut") if directed else _as_undirected_graph(K)
    n = K.shape[0]
    if source is None and sink is None:
        if directed or return_flow:
            given = "directed" if directed else "return_flow"
            raise ValueError(f"min_cut: {given}=True needs a source and a sink.")
        bound, inside = global_min_cut(without_diagonal(K))
        labels = (inside != inside[0]).astype(np.int32)
        return MinCut(_undirected_value(K, labels), labels, bound)
    if source is None or sink is None:
        missing = "source" if source is None else "sink"
        raise ValueError(
            f"min_cut: {missing} is missing: give both source and sink for a cut between two "
            "samples, or neither for the lightest cut of all."
        )
    source = as_integer(source, "source", owner="min_cut", at_least=0, at_most=n - 1)
    sink = as_integer(sink, "sink", owner="min_cut", at_least=0, at_most=n - 1)
    if source == sink:
        raise ValueError(f"min_cut: source and sink are both {source}, but must differ.")
    W = without_diagonal(K, directed=directed)
    bound, labels = minimum_st_cut(W, source, sink, whole_flow=return_flow)
    value = directed_cut(K, labels) if directed else _undirected_value(K, labels)
    cut = MinCut(value, labels, bound)
    return (cut, _flow(without_diagonal(K, directed=directed), W)) if return_flow else cut


def _as_undirected_graph(K):
    try:
        return as_graph(K, "min_cut", min_samples=2)
    except ValueError as error:
        if not str(error).startswith("K is not symmetric"):
            raise
        raise ValueError(f"{error} Capacities from i to j alone need directed=True.") from None


def _undirected_value(K, labels):
    return float(edge_sums(K, labels, np.ones(len(labels))).across.sum() / 2)


def _flow(capacities, residual):
    """Return what goes from i to j, less what goes back."""
    if sp.issparse(capacities):
        capacities.sort_indices()
        capacities.data -= residual.data  # the patterns are the same
        np.maximum(capacities.data, 0.0, out=capacities.data)
        capacities.eliminate_zeros()
        return capacities
    capacities -= residual
    np.maximum(capacities, 0.0, out=capacities)
    return sp.csr_array(capacities)


def cut_value(K: Any, labels: Any, *, sample_weight: Any = None) -> float:
    r"""Return the total weight of the edges between clusters, each counted once.

    .. math:: cut(C_1, ..., C_k) = \frac12 \sum_c \sum_{i \in C_c, j \notin C_c} K_{ij}

    Parameters
    ----------
    K : array-like or sparse array of shape (n_samples, n_samples)
        Affinities: symmetric, not negative.
    labels : array-like of shape (n_samples,)
        The cluster of each sample, two clusters at least; any sortable values.
    sample_weight : array-like of shape (n_samples,), optional
        2 stands for two copies of a sample, 0 for its absence: K_ij becomes w_i w_j K_ij.

    Returns
    -------
    value : float
        In the units of the affinities.

    Raises
    ------
    ValueError, TypeError
        For affinities that are not square, not symmetric, negative or not finite, for labels that
        are of another length or all the same, and for bad weights.

    Notes
    -----
    This and the other values of partitions take O(n²) time, O(e) for sparse K with e entries, and
    O(n) memory beside K.

    References
    ----------
    .. [1] S. Shalev-Shwartz, S. Ben-David, *Understanding Machine Learning*, 2014, section 22.3.1
       (where every edge counts twice).

    Examples
    --------
    >>> from mlcore.cluster import cut_value
    >>> cut_value([[0, 3, 1], [3, 0, 2], [1, 2, 0]], ["a", "a", "b"])
    3.0
    """
    return float(_partition_sums(K, labels, sample_weight, "cut_value").across.sum() / 2)


def ratio_cut_value(K: Any, labels: Any, *, sample_weight: Any = None) -> float:
    r"""Return the ratio cut: for each cluster, the weight that leaves it over its size.

    .. math:: \sum_c \frac1{|C_c|} \sum_{i \in C_c, j \notin C_c} K_{ij} = trace(H^T (D - K) H)

    with the degrees D = diag(K 1) and ``H_ic = 1 / sqrt(|C_c|)`` for i in cluster c.

    Parameters
    ----------
    K, labels, sample_weight : as in `cut_value`
        Sizes count the weights.

    Returns
    -------
    value : float
        In the units of the affinities.

    Raises
    ------
    ValueError, TypeError
        As for `cut_value`.

    References
    ----------
    .. [1] L. Hagen, A. B. Kahng, *New spectral methods for ratio cut partitioning and clustering*,
       IEEE Transactions on Computer-Aided Design 11, 1992.

    Examples
    --------
    >>> from mlcore.cluster import ratio_cut_value
    >>> ratio_cut_value([[0, 3, 1], [3, 0, 2], [1, 2, 0]], ["a", "a", "b"])
    4.5
    """
    sums = _partition_sums(K, labels, sample_weight, "ratio_cut_value")
    return float((sums.across / sums.sizes).sum())


def normalized_cut_value(K: Any, labels: Any, *, sample_weight: Any = None) -> float:
    r"""Return the normalized cut: for each cluster, the weight that leaves it over its degree.

    .. math:: \sum_c \frac{\sum_{i \in C_c, j \notin C_c} K_{ij}}{\sum_{i \in C_c, j} K_{ij}}

    Degrees include the diagonal of K. The sum with `normalized_association` is the number of
    clusters.

    Parameters
    ----------
    K, labels, sample_weight : as in `cut_value`

    Returns
    -------
    value : float, from 0 to the number of clusters
        Lower for better clusters.

    Raises
    ------
    ValueError, TypeError
        As for `cut_value`; and for a cluster without any edge, whose term is 0 / 0.

    References
    ----------
    .. [1] J. Shi, J. Malik, *Normalized cuts and image segmentation*, IEEE Transactions on Pattern
       Analysis and Machine Intelligence 22, 2000.

    Examples
    --------
    >>> from mlcore.cluster import normalized_cut_value
    >>> normalized_cut_value([[0, 3, 1], [3, 0, 2], [1, 2, 0]], ["a", "a", "b"])
    1.3333333333333333
    """
    sums = _partition_sums(K, labels, sample_weight, "normalized_cut_value", degrees=True)
    return float((sums.across / (sums.inside + sums.across)).sum())


def normalized_association(K: Any, labels: Any, *, sample_weight: Any = None) -> float:
    r"""Return, summed over clusters, the weight within each over its degree.

    .. math:: \sum_c \frac{\sum_{i, j \in C_c} K_{ij}}{\sum_{i \in C_c, j} K_{ij}}

    Parameters
    ----------
    K, labels, sample_weight : as in `cut_value`

    Returns
    -------
    value : float, from 0 to the number of clusters
        Higher for better clusters.

    Raises
    ------
    ValueError, TypeError
        As for `normalized_cut_value`.

    References
    ----------
    .. [1] J. Shi, J. Malik, *Normalized cuts and image segmentation*, IEEE Transactions on Pattern
       Analysis and Machine Intelligence 22, 2000.

    Examples
    --------
    >>> from mlcore.cluster import normalized_association
    >>> normalized_association([[0, 3, 1], [3, 0, 2], [1, 2, 0]], ["a", "a", "b"])
    0.6666666666666666
    """
    sums = _partition_sums(K, labels, sample_weight, "normalized_association", degrees=True)
    return float((sums.inside / (sums.inside + sums.across)).sum())


def _partition_sums(K, labels, sample_weight, owner, degrees=False):
    K = as_graph(K, owner)
    n = K.shape[0]
    clusters, codes = as_partition(labels, n, owner=owner, min_clusters=2)
    weights = as_weights(sample_weight, n)
    sums = edge_sums(K, codes, weights)
    present = sums.sizes > 0
    if present.sum() < 2:
        raise ValueError(
            f"sample_weight leaves 1 class in labels, but {owner} needs at least 2 classes."
        )
    sums = EdgeSums(*(values[present] for values in sums))
    without = sums.inside + sums.across == 0
    if degrees and without.any():
        cluster = clusters[present][np.argmax(without)]
        raise ValueError(
            f"cluster {cluster!s} of labels has no edge in K: its degree is 0, but {owner} divides "
            "by the degrees of the clusters."
        )
    return sums
