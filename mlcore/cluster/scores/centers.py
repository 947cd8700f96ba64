"""Scores from the centres of clusters: variance ratio, and the overlap of neighbours."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp
from scipy.spatial.distance import cdist

from mlcore.checks import as_samples, as_weights
from mlcore.cluster.partition import as_partition

_BLOCK = 2**16  # values at a time, which stay in the cache
_SMALL, _LARGE = 2.0**-600, 2.0**300  # between them squares and their sums are plain numbers
_LOST = 1e-3  # share of a centre's squared norm below which a squared distance has lost digits
_EPSILON = np.finfo(np.float64).eps


class CenterSums(NamedTuple):
    """Centres about an origin, and sums of each cluster over weights; lengths over 2**power."""

    centers: np.ndarray
    sizes: np.ndarray
    distances: np.ndarray
    squares: np.ndarray
    power: int


def weighted_partition(
    X: Any, labels: Any, sample_weight: Any, owner: str, min_clusters: int = 1
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return the samples of positive weight, their clusters 0, 1, ..., and their weights."""
    X = as_samples(X, owner=owner, accept_sparse=True)
    n = X.shape[0]
    _, codes = as_partition(labels, n, owner=owner, min_clusters=min_clusters)
    weights = as_weights(sample_weight, n)
    if not weights.all():
        kept = np.flatnonzero(weights)
        names, codes = np.unique(codes[kept], return_inverse=True)
        X, weights = X[kept], weights[kept]
        if len(names) < min_clusters:
            raise ValueError(
                f"{owner}: samples of positive weight are of {len(names)} cluster, but at least "
                f"{min_clusters} are needed."
            )
    return X, codes, weights


def center_sums(X: Any, codes: np.ndarray, weights: np.ndarray) -> CenterSums:
    """Return centres, sizes and the weighted sums of distances to centres, and of their squares.

    O(n d) time and blocks of memory; for CSR O(entries), but of clusters that are narrow beside
    their distance from the origin, whose rows are made dense block by block.
    """
    sizes = np.bincount(codes, weights)
    if sp.issparse(X):
        centers, squares, power = _of_sparse(X, codes, weights, sizes)
    else:
        centers, squares, power = _of_dense(X, codes, weights, sizes)
    sums = np.bincount(codes, weights * np.sqrt(squares)), np.bincount(codes, weights * squares)
    return CenterSums(centers, sizes, *sums, power)


def _of_dense(X, codes, weights, sizes):
    with np.errstate(all="ignore"):
        centers, squares = _about_first_row(X, codes, weights, sizes, 0)
        if _SMALL < squares.max() < _LARGE and np.abs(centers).max() < _LARGE:
            return centers, squares, 0
    power = _power(max(np.abs(_shifted(X, rows, 0)).max() for rows in _blocks(X)))
    return *_about_first_row(X, codes, weights, sizes, power), power


def _about_first_row(X, codes, weights, sizes, power):
    """Return centres and squared distances to them, of rows over 2**power."""
    sums, squares = np.zeros((len(sizes), X.shape[1])), np.empty(len(X))
    for rows in _blocks(X):
        sums += _members(codes[rows], weights[rows], len(sizes)) @ _shifted(X, rows, power)
    centers = sums / sizes[:, None]
    for rows in _blocks(X):
        block = _shifted(X, rows, power)
        block -= centers[codes[rows]]
        np.einsum("ij,ij->i", block, block, out=squares[rows])
    return centers, squares


def _blocks(X):
    step = max(1, _BLOCK // X.shape[1])
    return [slice(start, start + step) for start in range(0, len(X), step)]


def _shifted(X, rows, power):
    block = np.subtract(X[rows], X[0].astype(np.float64))
    return np.ldexp(block, -power) if power else block


def _of_sparse(X, codes, weights, sizes):
    n, d = X.shape
    power = _power(np.abs(X.data).max(initial=0))
    data = np.ldexp(X.data.astype(np.float64), -power)
    # Features that all rows store are taken from the first row; the others have their origin in 0.
    stored = X.indices[: X.indptr[1]]
    full = np.bincount(X.indices, minlength=d)[stored] == n
    if full.any():
        origin = np.zeros(d)
        origin[stored[full]] = data[: len(stored)][full]
        data -= origin[X.indices]
    X = sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
    centers = (_members(codes, weights, len(sizes)).tocsr() @ X).toarray() / sizes[:, None]
    # |x - c|² is |c|², corrected at the stored entries of x.
    rows = np.repeat(np.arange(n), np.diff(X.indptr))
    own = centers[codes[rows], X.indices]
    norms = np.einsum("ij,ij->i", centers, centers)[codes]
    squares = norms + np.bincount(rows, X.data * (X.data - 2 * own), n)
    lost = np.flatnonzero(squares <= _LOST * norms)
    step = max(1, _BLOCK // d)
    for start in range(0, len(lost), step):
        chosen = lost[start : start + step]
        block = X[chosen].toarray() - centers[codes[chosen]]
        squares[chosen] = np.einsum("ij,ij->i", block, block)
    return centers, squares, power


def _members(codes, weights, k):
    """Return the matrix (k, n) of weights that adds the rows of each cluster."""
    return sp.csc_array((weights, codes, np.arange(len(codes) + 1)), shape=(k, len(codes)))


def _power(largest):
    return int(np.frexp(largest)[1])


def calinski_harabasz_score(X: Any, labels: Any, *, sample_weight: Any = None) -> float:
    r"""Return the variance between clusters over that inside them: high for separate clusters.

    .. math:: \frac{B / (k - 1)}{W / (n - k)}, \qquad B = \sum_C |C| \|c_C - c\|^2,
       \quad W = \sum_C \sum_{i \in C} \|x_i - c_C\|^2

    with k clusters C of means :math:`c_C`, and the mean c of all n samples.

    Parameters
    ----------
    X : array-like or sparse of shape (n_samples, n_features)
    labels : array-like of shape (n_samples,)
        The cluster of each sample, two clusters at least; any sortable values.
    sample_weight : array-like of shape (n_samples,), optional
        2 stands for two copies of a sample, 0 for its absence.

    Returns
    -------
    score : float
        At least 0, of no unit; about 1 for labels drawn at random. Infinite where the samples of
        each cluster are equal and clusters differ, for which scikit-learn returns 1. 1 where all
        samples are equal.

    Raises
    ------
    ValueError, TypeError
        For bad samples, weights or labels, and for no more samples (their weight) than clusters.

    Notes
    -----
    O(n d) time and O(k d) memory. Sums are about a sample and scaled by a power of two: an offset
    costs no digits, and no unit overflows.

    References
    ----------
    .. [1] T. Caliński, J. Harabasz, *A dendrite method for cluster analysis*, Communications in
       Statistics 3, 1974, section 4.

    Examples
    --------
    >>> from mlcore.cluster import calinski_harabasz_score
    >>> calinski_harabasz_score([[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1])
    32.0
    """
    owner = "calinski_harabasz_score"
    X, codes, weights = weighted_partition(X, labels, sample_weight, owner, 2)
    sums = center_sums(X, codes, weights)
    k, total = len(sums.sizes), float(sums.sizes.sum())
    if total <= k:
        raise ValueError(
            f"{owner}: n_samples={total:.15g} (their weight) must be above the number of clusters, "
            f"{k}."
        )
    differences = sums.centers - sums.sizes @ sums.centers / total
    between = sums.sizes @ np.einsum("ij,ij->i", differences, differences)
    inside = sums.squares.sum()
    if inside == 0:
        return np.inf if between > 0 else 1.0
    return float(between / inside * ((total - k) / (k - 1)))


def davies_bouldin_score(X: Any, labels: Any, *, sample_weight: Any = None) -> float:
    r"""Return how much each cluster overlaps the worst other one: low for separate clusters.

    .. math:: \frac{1}{k} \sum_i \max_{j \ne i} \frac{s_i + s_j}{\|c_i - c_j\|}

    with the mean distance :math:`s_i` of the samples of cluster i from their mean :math:`c_i`.

    Parameters
    ----------
    X : array-like or sparse of shape (n_samples, n_features)
    labels : array-like of shape (n_samples,)
        The cluster of each sample, two clusters at least; any sortable values.
    sample_weight : array-like of shape (n_samples,), optional
        2 stands for two copies of a sample, 0 for its absence.

    Returns
    -------
    score : float
        At least 0, of no unit. Infinite where two clusters have the same centre up to rounding:
        they overlap entirely. scikit-learn leaves such pairs out, and returns 0 if there are no
        others.

    Raises
    ------
    ValueError, TypeError
        For bad samples, weights or labels.

    Notes
    -----
    O(n d + k² d) time and O(k d) memory. Sums are about a sample and scaled by a power of two.

    References
    ----------
    .. [1] D. L. Davies, D. W. Bouldin, *A cluster separation measure*, IEEE PAMI 1, 1979,
       definition 5, with exponents 1 and 2.

    Examples
    --------
    >>> from mlcore.cluster import davies_bouldin_score
    >>> davies_bouldin_score([[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1])
    0.25
    """
    X, codes, weights = weighted_partition(X, labels, sample_weight, "davies_bouldin_score", 2)
    sums = center_sums(X, codes, weights)
    k = len(sums.sizes)
    radii = sums.distances / sums.sizes
    # The rounding of a centre is some units of the lengths that it is the mean of.
    rounding = 8 * _EPSILON * (np.sqrt(np.einsum("ij,ij->i", sums.centers, sums.centers)) + radii)
    worst = np.empty(k)
    step = max(1, _BLOCK // k)
    for start in range(0, k, step):
        rows = slice(start, min(k, start + step))
        between = cdist(sums.centers[rows], sums.centers)
        between[between <= rounding[rows, None] + rounding] = 0
        with np.errstate(divide="ignore", invalid="ignore"):
            overlap = np.where(between > 0, (radii[rows, None] + radii) / between, np.inf)
        overlap[np.arange(rows.stop - start), np.arange(start, rows.stop)] = 0
        worst[rows] = overlap.max(axis=1)
    return float(worst.mean())
