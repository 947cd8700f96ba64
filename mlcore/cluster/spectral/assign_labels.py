"""Clusters from leading eigenvectors: one label for each row."""

import numpy as np
from scipy import linalg
from scipy import sparse as sp

from mlcore.cluster.k_means.k_means import KMeans
from mlcore.threads import single_threaded_blas

ASSIGNMENTS = "refined", "kmeans", "discretize", "cluster_qr"
SQUARE = ASSIGNMENTS[2:]  # they need as many vectors as clusters
_ROTATIONS = 100  # at most; each but the last agrees better with the clusters


def embedded(graph, vectors, how) -> np.ndarray:
    """Return the rows, of eigenvectors (n, m), that are grouped in this way."""
    if how == "cluster_qr":
        return vectors
    return vectors / np.sqrt(graph.mass)[:, None] if how == "kmeans" else unit_rows(vectors)


def assigned(graph, vectors, embedding, k, how, n_init, rng) -> tuple[np.ndarray, float]:
    """Return labels, int32, from rows of leading eigenvectors, and their trace(G' S G).

    Parameters
    ----------
    graph : Graph
    vectors : (n, m)
        As many as clusters, for "discretize" and "cluster_qr".
    embedding : (n, m)
        As `embedded` makes it.
    k : int
    how : one of `ASSIGNMENTS`
    n_init : int
        Starts of k-means.
    rng : Generator
    """
    if graph.n_components >= k:
        labels = graph.gathered(k)
    elif how == "refined":
        return _refined(graph, vectors, embedding, k, n_init, rng)
    elif how == "discretize":
        labels = discretized(embedding, rng)
    elif how == "cluster_qr":
        labels = by_pivots(embedding)
    else:
        labels = KMeans(k, n_init=n_init, random_state=rng).fit(embedding).labels_
    return labels, *_objectives(graph, labels)


def discretized(rows, rng) -> np.ndarray:
    """Labels, int32, of the clusters that these rows, rotated, come nearest to.

    The rotation and the labels are improved in turn until the trace of their agreement,
    ``trace(labels' rows rotation)`` with labels as a matrix of 0 and 1, stays.

    Parameters
    ----------
    rows : (n, k)
        Of unit length.
    rng : Generator
        Draws the first row of the first rotation.

    References
    ----------
    S. Yu, J. Shi, *Multiclass spectral clustering*, ICCV 2003.
    """
    n, k = rows.shape
    with single_threaded_blas():
        # First rows as nearly orthogonal to each other as there are.
        rotation, along = np.empty((k, k)), np.zeros(n)
        chosen = int(rng.integers(n))
        for j in range(k):
            rotation[:, j] = rows[chosen]
            along += np.abs(rows @ rotation[:, j])
            chosen = int(along.argmin())
        before = -np.inf
        for _ in range(_ROTATIONS):
            labels = (rows @ rotation).argmax(axis=1).astype(np.int32)
            sums = sp.csr_array((np.ones(n), labels, np.arange(n + 1)), shape=(n, k)).T @ rows
            left, agreement, right = linalg.svd(sums)
            if agreement.sum() <= before * (1 + 4 * np.finfo(np.float64).eps):
                break
            before, rotation = agreement.sum(), (left @ right).T
    return labels


def by_pivots(rows) -> np.ndarray:
    """Labels, int32: the largest coordinate of each row, when k of them are the axes.

    The k rows that a pivoted QR takes first stand for the clusters; the axes are the orthonormal
    ones nearest to them. Nothing is drawn at random.

    References
    ----------
    A. Damle, V. Minden, L. Ying, *Simple, direct and efficient multi-way spectral clustering*,
    Information and Inference 8, 2019.
    """
    k = rows.shape[1]
    with single_threaded_blas():
        pivots = linalg.qr(rows.T, mode="r", pivoting=True)[1][:k]
        left, _, right = linalg.svd(rows[pivots].T)
        return np.abs(rows @ (left @ right)).argmax(axis=1).astype(np.int32)


def unit_rows(vectors: np.ndarray) -> np.ndarray:
    """Rows at unit length; zeros stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0)


def _refined(graph, vectors, embedding, k, n_init, rng):
    if k == 2 and vectors.shape[1] == 2:
        labels = (vectors[:, 1] > 0).astype(np.int32)
        return labels, *_objectives(graph, labels)
    labels = KMeans(k, n_init=n_init, random_state=rng).fit(embedding).labels_
    if graph.matrix.scale is None:
        return labels, *_objectives(graph, labels)
    # From there, the normalized cut's own k-means: rows over the roots of the degrees, weighted.
    root = np.sqrt(graph.mass)[:, None]
    means = graph.indicators(labels, k).T @ vectors
    mass = np.bincount(labels, graph.mass, minlength=k)
    held = mass > 0
    means = means[held] / np.sqrt(mass[held])[:, None]
    refining = KMeans(len(means), init=means, n_init=1)
    refined = refining.fit(vectors / root, sample_weight=graph.mass).labels_
    first, second = _objectives(graph, labels, refined)
    return (refined, second) if second > first else (labels, first)


def _objectives(graph, *partitions):
    """trace(G' S G) of each partition."""
    G = np.hstack([graph.indicators(labels, int(labels.max()) + 1) for labels in partitions])
    of_columns = np.einsum("ij,ij->j", G, graph.matrix @ G)
    ends = np.cumsum([labels.max() + 1 for labels in partitions])[:-1]
    return [float(part.sum()) for part in np.split(of_columns, ends)]
