"""Labels of samples from leading eigenvectors."""

from typing import Any, Literal, get_args

import numpy as np
from scipy import linalg
from scipy import sparse as sp

from mlcore.cluster.k_means.k_means import KMeans
from mlcore.runtime.threads import single_threaded_blas

Assignment = Literal["refined", "kmeans", "discretize", "cluster_qr"]
ASSIGNMENTS = get_args(Assignment)
SQUARE = ASSIGNMENTS[2:]  # these need as many vectors as clusters
_ROTATIONS = 100  # at most


def embedded(graph: Any, vectors: np.ndarray, method: str) -> np.ndarray:
    """Return the rows (n, m) that the `method` clusters, from eigenvectors (n, m)."""
    if method == "cluster_qr":
        return vectors
    return vectors / np.sqrt(graph.mass)[:, None] if method == "kmeans" else unit_rows(vectors)


def assigned(
    graph: Any,
    vectors: np.ndarray,
    embedding: np.ndarray,
    k: int,
    method: str,
    n_init: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, float]:
    """Return labels (n,) int32 from leading eigenvectors, and their trace(G' S G).

    `embedding` (n, m) is from `embedded`; `n_init` counts starts of k-means.
    """
    if graph.n_components >= k:
        labels = graph.component_groups(k)
    elif method == "refined":
        return _refined(graph, vectors, embedding, k, n_init, rng)
    elif method == "discretize":
        labels = discretized(embedding, rng)
    elif method == "cluster_qr":
        labels = by_pivots(embedding)
    else:
        labels = KMeans(k, n_init=n_init, random_state=rng).fit(embedding).labels_
    return labels, *_objectives(graph, labels)


def discretized(rows: Any, rng: Any) -> np.ndarray:
    """Return labels, int32: the largest coordinate of each unit row after the best rotation.

    Labels and rotation are optimised in turn (S. Yu, J. Shi, *Multiclass spectral clustering*, ICCV
    2003) until ``trace(L' rows rotation)`` no longer grows, L being the indicator matrix.
    """
    n, k = rows.shape
    with single_threaded_blas():
        # Start from k rows that are as close to orthogonal as possible.
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


def by_pivots(rows: Any) -> np.ndarray:
    """Return labels, int32: the largest coordinate of each row along axes that k rows define.

    The rows are pivots of a QR decomposition (A. Damle, V. Minden, L. Ying, *Simple, direct and
    efficient multi-way spectral clustering*, Information and Inference 8, 2019).
    """
    k = rows.shape[1]
    with single_threaded_blas():
        pivots = linalg.qr(rows.T, mode="r", pivoting=True)[1][:k]
        left, _, right = linalg.svd(rows[pivots].T)
        return np.abs(rows @ (left @ right)).argmax(axis=1).astype(np.int32)


def unit_rows(vectors: np.ndarray) -> np.ndarray:
    """Return rows scaled to unit length; rows of zeros stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0)


def _refined(graph, vectors, embedding, k, n_init, rng):
    if k == 2 and vectors.shape[1] == 2:
        labels = (vectors[:, 1] > 0).astype(np.int32)
        return labels, *_objectives(graph, labels)
    labels = KMeans(k, n_init=n_init, random_state=rng).fit(embedding).labels_
    if graph.matrix.scale is None or graph.matrix.shift is not None:
        return labels, *_objectives(graph, labels)
    # Refine by the normalized cut's own objective: k-means, weighted by the degrees, of rows
    # divided by the roots of the degrees.
    root = np.sqrt(graph.mass)[:, None]
    means = graph.indicators(labels, k).T @ vectors
    mass = np.bincount(labels, graph.mass, minlength=k)
    filled = mass > 0
    means = means[filled] / np.sqrt(mass[filled])[:, None]
    refining = KMeans(len(means), init=means, n_init=1)
    refined = refining.fit(vectors / root, sample_weight=graph.mass).labels_
    first, second = _objectives(graph, labels, refined)
    return (refined, second) if second > first else (labels, first)


def _objectives(graph, *partitions):
    """Return trace(G' S G) of each partition."""
    G = np.hstack([graph.indicators(labels, int(labels.max()) + 1) for labels in partitions])
    of_columns = np.einsum("ij,ij->j", G, graph.matrix @ G)
    ends = np.cumsum([labels.max() + 1 for labels in partitions])[:-1]
    filled = np.einsum("ij,ij->j", G, G)
    return [
        float(graph.of_S(part.sum(), count.sum()))
        for part, count in zip(np.split(of_columns, ends), np.split(filled, ends), strict=True)
    ]
