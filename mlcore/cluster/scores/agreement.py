"""Agreement of two partitions: by shared information, and by pairs of samples."""

import math
from typing import Any, Literal, get_args

import numpy as np

from mlcore.checks import as_choice, as_real
from mlcore.cluster.scores.contingency import Contingency, contingency
from mlcore.cluster.scores.expected_information import expected_information
from mlcore.numerics.information import deviance, entropies

Average = Literal["arithmetic", "geometric", "min", "max"]
_LARGEST = 3_000_000_000  # samples whose square is an int64


def mutual_information(labels_true: Any, labels: Any, *, sample_weight: Any = None) -> float:
    r"""Return the information in nats that classes and clusters share.

    .. math:: I = \sum_{ij} \frac{n_{ij}}{n} \ln \frac{n n_{ij}}{a_i b_j}

    with :math:`n_{ij}` samples in class i and cluster j, and a and b the sizes of both.

    Parameters
    ----------
    labels_true, labels : array-like of shape (n_samples,)
        The class and the cluster of each sample; any sortable values.
    sample_weight : array-like of shape (n_samples,), optional
        2 stands for two copies of a sample, 0 for its absence.

    Returns
    -------
    information : float
        At least 0, and at most the entropy of either partition.

    Raises
    ------
    ValueError, TypeError
        For labels that are empty, or of different lengths, and for bad weights.

    See Also
    --------
    mlcore.entropy.mutual_information : From a table of probabilities or counts.

    Notes
    -----
    O(n) time for labels that are integers of a short range, otherwise they are sorted. Every term
    is computed as a number of at least 0, so that nearly independent partitions keep their digits.

    References
    ----------
    .. [1] N. X. Vinh, J. Epps, J. Bailey, *Information theoretic measures for clusterings
       comparison*, JMLR 11, 2010, section 2.

    Examples
    --------
    >>> from mlcore.cluster import mutual_information
    >>> round(mutual_information(["a", "a", "b", "b"], [7, 7, 3, 3]), 12)
    0.69314718056
    """
    return information(contingency(labels_true, labels, sample_weight, "mutual_information"))


def normalized_mutual_information(
    labels_true: Any, labels: Any, *, average: Average = "arithmetic", sample_weight: Any = None
) -> float:
    r"""Return the mutual information over an average of both entropies.

    Parameters
    ----------
    labels_true, labels : array-like of shape (n_samples,)
        The class and the cluster of each sample; any sortable values.
    average : {"arithmetic", "geometric", "min", "max"}, default="arithmetic"
        Of the entropies of classes and clusters; scikit-learn's `average_method`. With
        "arithmetic" the score is `v_measure`.
    sample_weight : array-like of shape (n_samples,), optional
        2 stands for two copies of a sample, 0 for its absence.

    Returns
    -------
    score : float, from 0 to 1
        1 for equal partitions, also those of one cluster. It grows with the number of clusters even
        where they are drawn at random, unlike `adjusted_mutual_information`.

    Raises
    ------
    ValueError, TypeError
        As `mutual_information`, and for an unknown average.

    References
    ----------
    .. [1] A. Strehl, J. Ghosh, *Cluster ensembles: a knowledge reuse framework for combining
       multiple partitions*, JMLR 3, 2002, equation 2 (the geometric mean).
    .. [2] N. X. Vinh, J. Epps, J. Bailey, *Information theoretic measures for clusterings
       comparison*, JMLR 11, 2010, table 2.

    Examples
    --------
    >>> from mlcore.cluster import normalized_mutual_information
    >>> round(normalized_mutual_information([0, 0, 1, 1], [0, 0, 1, 2]), 3)
    0.8
    """
    owner = "normalized_mutual_information"
    average = as_choice(average, "average", get_args(Average), owner=owner)
    return normalized(contingency(labels_true, labels, sample_weight, owner), average)


def adjusted_mutual_information(
    labels_true: Any, labels: Any, *, average: Average = "arithmetic", sample_weight: Any = None
) -> float:
    r"""Return the normalized mutual information, corrected for what chance gives.

    .. math:: \frac{I - E}{mean(H_{classes}, H_{clusters}) - E},
       E = \sum_{ij} \sum_k \frac{k}{n} \ln \frac{n k}{a_i b_j} P(k; n, a_i, b_j)

    where E is the expectation of I over partitions with the same cluster sizes, and P the
    hypergeometric distribution.

    Parameters
    ----------
    labels_true, labels : array-like of shape (n_samples,)
        The class and the cluster of each sample; any sortable values.
    average : {"arithmetic", "geometric", "min", "max"}, default="arithmetic"
        Of the entropies of classes and clusters; scikit-learn's `average_method`.
    sample_weight : array-like of shape (n_samples,), optional
        Whole numbers: 2 stands for two copies of a sample, 0 for its absence.

    Returns
    -------
    score : float, at most 1
        1 for equal partitions, about 0 for unrelated ones. 0 where one partition is a single
        cluster or has no two samples together, and the other is not: all partitions of its sizes
        share the same information with it.

    Raises
    ------
    ValueError, TypeError
        As `normalized_mutual_information`, and for weights that are not whole.

    Notes
    -----
    O(n) time, and for each pair of different cluster sizes a and b some ten deviations of k, of
    about sqrt(a b / n) terms. P follows from its ratios, without logarithms of factorials.

    References
    ----------
    .. [1] N. X. Vinh, J. Epps, J. Bailey, *Information theoretic measures for clusterings
       comparison*, JMLR 11, 2010, theorem 3 and table 2.

    Examples
    --------
    >>> from mlcore.cluster import adjusted_mutual_information
    >>> adjusted_mutual_information([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    >>> round(adjusted_mutual_information([0, 0, 1, 1], [0, 1, 0, 1]), 2)
    -0.5
    """
    owner = "adjusted_mutual_information"
    average = as_choice(average, "average", get_args(Average), owner=owner)
    return adjusted(contingency(labels_true, labels, sample_weight, owner, whole=True), average)


def homogeneity(labels_true: Any, labels: Any, *, sample_weight: Any = None) -> float:
    """Return the share of the classes' entropy that the clusters explain.

    Parameters
    ----------
    labels_true, labels : array-like of shape (n_samples,)
        The class and the cluster of each sample; any sortable values.
    sample_weight : array-like of shape (n_samples,), optional
        2 stands for two copies of a sample, 0 for its absence.

    Returns
    -------
    score : float, from 0 to 1
        1 where every cluster holds samples of one class only.

    Raises
    ------
    ValueError, TypeError
        As `mutual_information`.

    References
    ----------
    .. [1] A. Rosenberg, J. Hirschberg, *V-measure: a conditional entropy-based external cluster
       evaluation measure*, EMNLP 2007, equation 1.

    Examples
    --------
    >>> from mlcore.cluster import homogeneity
    >>> homogeneity([0, 0, 1, 1], [0, 1, 2, 2]), homogeneity([0, 0, 1, 1], [0, 0, 0, 0])
    (1.0, 0.0)
    """
    return explained(contingency(labels_true, labels, sample_weight, "homogeneity"))[0]


def completeness(labels_true: Any, labels: Any, *, sample_weight: Any = None) -> float:
    """Return the share of the clusters' entropy that the classes explain.

    Parameters
    ----------
    labels_true, labels : array-like of shape (n_samples,)
        The class and the cluster of each sample; any sortable values.
    sample_weight : array-like of shape (n_samples,), optional
        2 stands for two copies of a sample, 0 for its absence.

    Returns
    -------
    score : float, from 0 to 1
        1 where all samples of a class are in one cluster.

    Raises
    ------
    ValueError, TypeError
        As `mutual_information`.

    References
    ----------
    .. [1] A. Rosenberg, J. Hirschberg, *V-measure: a conditional entropy-based external cluster
       evaluation measure*, EMNLP 2007, equation 2.

    Examples
    --------
    >>> from mlcore.cluster import completeness
    >>> completeness([0, 0, 1, 1], [0, 0, 0, 0]), completeness([0, 0, 0, 0], [0, 1, 1, 0])
    (1.0, 0.0)
    """
    return explained(contingency(labels_true, labels, sample_weight, "completeness"))[1]


def v_measure(
    labels_true: Any, labels: Any, *, beta: float = 1.0, sample_weight: Any = None
) -> float:
    r"""Return the weighted harmonic mean of homogeneity h and completeness c.

    .. math:: V = \frac{(1 + \beta) h c}{\beta h + c}

    Parameters
    ----------
    labels_true, labels : array-like of shape (n_samples,)
        The class and the cluster of each sample; any sortable values.
    beta : float, default=1.0
        At least 0; above 1 completeness counts more.
    sample_weight : array-like of shape (n_samples,), optional
        2 stands for two copies of a sample, 0 for its absence.

    Returns
    -------
    score : float, from 0 to 1
        1 for equal partitions.

    Raises
    ------
    ValueError, TypeError
        As `mutual_information`, and for `beta` out of range.

    References
    ----------
    .. [1] A. Rosenberg, J. Hirschberg, *V-measure: a conditional entropy-based external cluster
       evaluation measure*, EMNLP 2007, equation 3.

    Examples
    --------
    >>> from mlcore.cluster import v_measure
    >>> round(v_measure([0, 0, 1, 1], [0, 0, 1, 2]), 3)
    0.8
    """
    beta = as_real(beta, "beta", owner="v_measure", at_least=0)
    return harmonic(*explained(contingency(labels_true, labels, sample_weight, "v_measure")), beta)


def adjusted_rand_index(labels_true: Any, labels: Any, *, sample_weight: Any = None) -> float:
    r"""Return how far two partitions agree on the pairs of samples that belong together.

    .. math:: \frac{pairs\ together\ in\ both - expected}{mean\ of\ pairs\ together - expected}

    where the expectation is over partitions with the same cluster sizes: 1 for equal partitions,
    about 0 for unrelated ones, for any numbers and names of clusters.

    Parameters
    ----------
    labels_true, labels : array-like of shape (n_samples,)
        The cluster of each sample; any sortable values.
    sample_weight : array-like of shape (n_samples,), optional
        Whole numbers: 2 stands for two copies of a sample, 0 for its absence.

    Returns
    -------
    index : float, from -0.5 to 1
        Counted in integers: exact up to one division.

    Raises
    ------
    ValueError, TypeError
        For labels that are empty, or of different lengths, and for weights that are not whole.

    References
    ----------
    .. [1] L. Hubert, P. Arabie, *Comparing partitions*, Journal of Classification 2, 1985,
       equation 5.

    Examples
    --------
    >>> from mlcore.cluster import adjusted_rand_index
    >>> adjusted_rand_index(["a", "a", "b", "b"], [7, 7, 3, 3])
    1.0
    >>> round(adjusted_rand_index([0, 0, 1, 1], [0, 1, 0, 1]), 2)
    -0.5
    """
    table = contingency(labels_true, labels, sample_weight, "adjusted_rand_index", whole=True)
    return rand(table)


def fowlkes_mallows_index(labels_true: Any, labels: Any, *, sample_weight: Any = None) -> float:
    r"""Return the geometric mean of precision and recall of the pairs that are together.

    .. math:: FM = \frac{T}{\sqrt{P Q}}

    with T pairs of samples together in both partitions, P in the first and Q in the second.

    Parameters
    ----------
    labels_true, labels : array-like of shape (n_samples,)
        The class and the cluster of each sample; any sortable values.
    sample_weight : array-like of shape (n_samples,), optional
        Whole numbers: 2 stands for two copies of a sample, 0 for its absence.

    Returns
    -------
    index : float, from 0 to 1
        1 for equal partitions, also those without any pair, for which scikit-learn returns 0. It is
        not corrected for chance.

    Raises
    ------
    ValueError, TypeError
        As `adjusted_rand_index`.

    References
    ----------
    .. [1] E. B. Fowlkes, C. L. Mallows, *A method for comparing two hierarchical clusterings*,
       JASA 78, 1983, section 2.

    Examples
    --------
    >>> from mlcore.cluster import fowlkes_mallows_index
    >>> fowlkes_mallows_index([0, 0, 0, 1, 1], [0, 0, 0, 2, 3])
    0.8660254037844386
    """
    owner = "fowlkes_mallows_index"
    return fowlkes_mallows(contingency(labels_true, labels, sample_weight, owner, whole=True))


def pair_confusion_matrix(
    labels_true: Any, labels: Any, *, sample_weight: Any = None
) -> np.ndarray:
    """Return how many ordered pairs of samples are together or not in each of two partitions.

    Parameters
    ----------
    labels_true, labels : array-like of shape (n_samples,)
        The class and the cluster of each sample; any sortable values.
    sample_weight : array-like of shape (n_samples,), optional
        Whole numbers: 2 stands for two copies of a sample, 0 for its absence.

    Returns
    -------
    pairs : int64 (2, 2)
        ``[i, j]`` counts pairs together (1) or not (0) in the first partition (i) and in the second
        (j). Pairs are ordered: each counts twice.

    Raises
    ------
    ValueError, TypeError
        As `adjusted_rand_index`, and for more than 3e9 samples, whose pairs int64 does not hold.

    References
    ----------
    .. [1] L. Hubert, P. Arabie, *Comparing partitions*, Journal of Classification 2, 1985,
       section 2.

    Examples
    --------
    >>> from mlcore.cluster import pair_confusion_matrix
    >>> pair_confusion_matrix([0, 0, 1, 1], [0, 0, 1, 2])
    array([[8, 0],
           [2, 2]])
    """
    owner = "pair_confusion_matrix"
    table = contingency(labels_true, labels, sample_weight, owner, whole=True)
    if table.total > _LARGEST:
        raise ValueError(
            f"{owner}: {table.total} samples have more pairs than an int64 counts, but at most "
            f"{_LARGEST} are allowed."
        )
    both, first, second, all_pairs = _pairs_of(table)
    apart = all_pairs - first - second + both
    return 2 * np.array([[apart, second - both], [first - both, both]], dtype=np.int64)


def information(table: Contingency) -> float:
    """Return the mutual information of a table in nats."""
    n = table.total
    if isinstance(n, int) and n <= _LARGEST:  # differences from independence are exact
        independent = table.a[table.rows] * table.b[table.columns]
        difference = (independent - n * table.counts) / n
        empty = (n * n - int(independent.sum())) / n
        independent = independent / n
    else:
        independent = table.a[table.rows] * (table.b[table.columns] / n)
        difference = independent - table.counts
        full = len(table.counts) == len(table.classes) * len(table.clusters)
        empty = 0.0 if full else max(0.0, n - independent.sum())
    counts = table.counts.astype(np.float64)
    with np.errstate(all="ignore"):  # of terms that are not chosen
        terms = deviance(counts, independent, difference)
    return float(terms.sum() + empty) / n


def normalized(table: Contingency, average: Average) -> float:
    """Return the normalized mutual information of a table."""
    if table.pure and table.complete:
        return 1.0
    mean = _mean_entropy(table, average)
    return min(1.0, information(table) / mean) if mean > 0 else 0.0


def adjusted(table: Contingency, average: Average) -> float:
    """Return the adjusted mutual information of a table of whole counts."""
    if table.pure and table.complete:
        return 1.0
    parts = len(table.classes), len(table.clusters)
    if 1 in parts or table.total in parts:  # every table with these margins has the same I
        return 0.0
    by_chance = expected_information(table.a, table.b)
    return (information(table) - by_chance) / (_mean_entropy(table, average) - by_chance)


def explained(table: Contingency) -> tuple[float, float]:
    """Return homogeneity and completeness of a table."""
    shared = information(table)
    whole = _entropy(table.a, table.total), _entropy(table.b, table.total)
    return (
        1.0 if table.pure or whole[0] == 0 else min(1.0, shared / whole[0]),
        1.0 if table.complete or whole[1] == 0 else min(1.0, shared / whole[1]),
    )


def harmonic(h: float, c: float, beta: float) -> float:
    """Return the V-measure of homogeneity `h` and completeness `c`."""
    return (1 + beta) * (h * c / (beta * h + c)) if h * c > 0 else 0.0


def rand(table: Contingency) -> float:
    """Return the adjusted Rand index of a table of whole counts."""
    both, first, second, total = _pairs_of(table)
    # Numerator and denominator times 2 total are integers.
    above = 2 * (both * total - first * second)
    below = (first + second) * total - 2 * first * second
    return above / below if below else 1.0


def fowlkes_mallows(table: Contingency) -> float:
    """Return the Fowlkes-Mallows index of a table of whole counts."""
    if table.pure and table.complete:
        return 1.0
    both, first, second, _ = _pairs_of(table)
    return math.sqrt(both / first) * math.sqrt(both / second) if both else 0.0


def _pairs_of(table):
    """Return the pairs together in both, in the classes, in the clusters, and all pairs."""
    n = table.total
    return (*map(_pairs, (table.counts, table.a, table.b)), n * (n - 1) // 2)


def _pairs(counts):
    if counts.max() < 2**20 and len(counts) < 2**20:  # the sum is an int64
        return int((counts * (counts - 1)).sum()) // 2
    return sum(count * (count - 1) // 2 for count in counts.tolist())


def _entropy(sizes, total):
    return float(entropies(sizes / total)) + 0.0


def _mean_entropy(table, average):
    both = _entropy(table.a, table.total), _entropy(table.b, table.total)
    if average == "geometric":
        return math.sqrt(both[0]) * math.sqrt(both[1])
    return 0.5 * sum(both) if average == "arithmetic" else (min if average == "min" else max)(both)


# scikit-learn's names.
adjusted_mutual_info_score = adjusted_mutual_information
adjusted_rand_score = adjusted_rand_index
completeness_score = completeness
fowlkes_mallows_score = fowlkes_mallows_index
homogeneity_score = homogeneity
mutual_info_score = mutual_information
normalized_mutual_info_score = normalized_mutual_information
v_measure_score = v_measure
