"""Spectral clustering: the relaxed cuts of a graph of affinities."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from mlcore.cluster.graph import AffinityClusterer
from mlcore.cluster.k_means import KMeans
from mlcore.eigen import Eigenpairs, block_size, by_lapack, leading_eigenpairs, times
from mlcore.model import warn
from mlcore.progress import Progress


class SpectralClustering(AffinityClusterer):
    r"""Divide a graph of affinities where it holds together least.

    All cuts are one objective under different normalisations S of the affinity matrix K,

    .. math:: \max_G \operatorname{trace}(G^T S G), \quad G^T G = I,

    where a column of G is constant (or the root of the degrees) on one cluster and 0 outside.
    Without that last condition the k leading eigenvectors of S are optimal. Their rows, at unit
    length, are grouped by k-means, and the groups of a normalized cut then moved to where it is
    better; two clusters are told by the sign of the second eigenvector.

    Parameters
    ----------
    n_clusters : int, default=8
    affinity : {"rbf", "nearest_neighbors", "precomputed"}, default="rbf"
        :math:`\exp(-\gamma |x - y|^2)`; who is among whose nearest, a sparse matrix; or X is the
        affinity matrix itself, symmetric and not negative, dense or sparse.
    gamma : float, "scale" or "auto", default="scale"
        Of "rbf"; "scale" is 1 / (n_features Var(X)), "auto" is 1 / n_features.
    n_neighbors : int, default=10
        Of "nearest_neighbors".
    normalization : str, default="normalized_cut"
        "normalized_cut", "ratio_cut", "doubly_stochastic" or "frobenius", as
        `mlcore.cluster.normalize_affinity` defines them.
    n_init : int, default=10
        Starts of k-means.
    tol : float, default=1e-6
        Largest residual of an eigenvector, relative to the largest eigenvalue by modulus.
    max_iter : int, default=1000
        Most passes over the affinities that the search for eigenvectors may make.
    verbose : bool or int, default=False
        1 prints about one line a second, 2 every step.
    callback : callable or None, default=None
        Called with ``step=, objective=, change=, seconds=`` while eigenvectors are sought: the sum
        of the eigenvalues, and the largest residual; raising stops the fit.
    random_state : None, int, Generator or RandomState, default=None

    Attributes
    ----------
    labels_ : (n_samples,) int32
    embedding_ : (n_samples, n_clusters)
        What k-means groups: rows of the eigenvectors, at unit length.
    eigenvectors_ : (n_samples, n_clusters)
    eigenvalues_ : (n_clusters,) float64
        Descending.
    eigengaps_ : (n_clusters,) float64
        How much each eigenvalue exceeds the next; a large last one speaks for this number of
        clusters. One fewer where there are as many clusters as samples.
    residuals_ : (n_clusters,) float64
        ``|S v - value v|`` of each eigenvector v, relative as `tol` is.
    objective_ : float
        trace(G' S G) of the clusters found: for cuts, `n_clusters` less their value.
    objective_bound_ : float
        The sum of the eigenvalues, which no clusters exceed.
    objective_trace_ : (n_iter,) float64
        The sum of the eigenvalues at each step of their search, never decreasing.
    n_connected_components_ : int
        Of the graph.
    n_iter_ : int
    converged_ : bool
        Whether the residuals meet `tol`.
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Warns
    -----
    UserWarning
        If the graph is not connected. Its components then are clusters; more of them than
        `n_clusters` are gathered, by descending weight each into the lightest cluster so far.
    ConvergenceWarning
        If `max_iter` was too small.

    Notes
    -----
    A dense matrix of affinities is formed once and normalised on the way, O(n²) memory; about ten
    passes over it, O(n² k) time each, find the eigenvectors. Sparse ones stay sparse.

    References
    ----------
    J. Shi, J. Malik, *Normalized cuts and image segmentation*, IEEE Transactions on Pattern
    Analysis and Machine Intelligence 22, 2000.

    A. Ng, M. Jordan, Y. Weiss, *On spectral clustering: analysis and an algorithm*, NIPS 2001.

    R. Zass, A. Shashua, *Doubly stochastic normalization for spectral clustering*, NIPS 2006.

    Examples
    --------
    >>> from mlcore.cluster import SpectralClustering
    >>> X = [[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]]
    >>> labels = SpectralClustering(2, gamma=0.5, random_state=0).fit(X).labels_
    >>> bool(len(set(labels[:3])) == len(set(labels[3:])) == 1 and labels[0] != labels[5])
    True
    """

    embedding_: np.ndarray
    eigenvectors_: np.ndarray
    eigenvalues_: np.ndarray
    eigengaps_: np.ndarray
    residuals_: np.ndarray
    objective_bound_: float

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        affinity: str = "rbf",
        gamma: float | str = "scale",
        n_neighbors: int = 10,
        normalization: str = "normalized_cut",
        n_init: int = 10,
        tol: float = 1e-6,
        max_iter: int = 1000,
        verbose: bool | int = False,
        callback: Callable[..., Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.normalization = normalization
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.callback = callback
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features), or (n_samples, n_samples) if
            precomputed
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            For parameters or data out of range, before any work; for a precomputed affinity that is
            not square, not symmetric or negative; and for samples without any affinity.
        MemoryError
            If the affinities do not fit into free memory.
        """
        rng = self._check_parameters()
        owner = type(self).__name__
        with Progress(self.verbose, self.callback, owner) as progress:
            checked = self._check_X(X, reset=True)
            n, k = checked.shape[0], self.n_clusters
            self._check_n_clusters(n)
            K, owned = self._affinity(checked)
            # One pass gives the degrees and, of drawn vectors, a first step of the search.
            drawn = None if by_lapack(n, k) else rng.standard_normal((n, block_size(k) - 1))
            ones = np.ones((n, 1))
            sums = times(K, ones if drawn is None else np.hstack([ones, drawn]))
            graph = self._graph(K, owned, sums[:, 0])
            if drawn is not None and self.normalization == "normalized_cut":
                drawn = sums[:, 1:] * graph.matrix.scale[:, None]
            del K, sums
            found = relaxed(
                graph, k, rng, drawn, self.tol, self.max_iter,
                lambda step, total, residual: progress.step(step, total, residual),
            )  # fmt: skip
            embedding = unit_rows(found.vectors).astype(checked.dtype)
            labels, objective = rounded(graph, found.vectors, embedding, self.n_init, rng)
        if not found.converged:
            warn(
                "ConvergenceWarning",
                f"{owner} stopped after {len(found.trace)} passes with residuals of up to "
                f"{found.residuals.max():.1e}, more than tol={self.tol:g}: increase max_iter or "
                "tol.",
            )
        after = [found.next_value] if k < n else []
        self._set_fitted(
            X,
            labels_=labels,
            embedding_=embedding,
            eigenvectors_=found.vectors.astype(checked.dtype),
            eigenvalues_=found.values,
            eigengaps_=-np.diff(np.r_[found.values, after]),
            residuals_=found.residuals,
            objective_=objective,
            objective_bound_=float(found.values.sum()),
            objective_trace_=found.trace,
            n_connected_components_=graph.n_components,
            n_iter_=len(found.trace),
            converged_=found.converged,
        )
        return self


def relaxed(graph, k, rng, start=None, tol=1e-4, max_iter=1000, report=None) -> Eigenpairs:
    """The leading eigenvectors of a graph; those of its components, or of groups, are known."""
    parts = min(k, graph.n_components)
    known = graph.indicators(graph.gathered(parts), parts)
    return leading_eigenpairs(
        graph.matrix, k, rng, known=known, start=start, tol=tol, max_iter=max_iter, report=report
    )


def rounded(graph, vectors, embedding, n_init, rng) -> tuple[np.ndarray, float]:
    """Labels, int32, from the rows of k leading eigenvectors, and their trace(G' S G)."""
    k = vectors.shape[1]
    if graph.n_components >= k or k == 2:
        two = (vectors[:, -1] > 0).astype(np.int32)
        labels = graph.gathered(k) if graph.n_components >= k else two
        return labels, *_objectives(graph, labels)
    labels = KMeans(k, n_init=n_init, random_state=rng).fit(embedding).labels_
    if graph.matrix.scale is None:
        return labels, *_objectives(graph, labels)
    # From there, the normalized cut's own k-means: rows over the roots of the degrees, weighted.
    root = np.sqrt(graph.mass)[:, None]
    means = graph.indicators(labels, k).T @ vectors
    means /= np.sqrt(np.bincount(labels, graph.mass))[:, None]
    refining = KMeans(k, init=means, n_init=1)
    refined = refining.fit(vectors / root, sample_weight=graph.mass).labels_
    first, second = _objectives(graph, labels, refined)
    return (refined, second) if second > first else (labels, first)


def unit_rows(vectors: np.ndarray) -> np.ndarray:
    """Rows at unit length; zeros stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0)


def _objectives(graph, *partitions):
    """trace(G' S G) of each partition."""
    G = np.hstack([graph.indicators(labels, int(labels.max()) + 1) for labels in partitions])
    of_columns = np.einsum("ij,ij->j", G, graph.matrix @ G)
    ends = np.cumsum([labels.max() + 1 for labels in partitions])[:-1]
    return [float(part.sum()) for part in np.split(of_columns, ends)]
