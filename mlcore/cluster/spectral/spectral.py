"""Spectral clustering: the relaxed cuts of a graph of affinities."""

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np

from mlcore.checks import as_choice, as_integer, as_real, require_enough
from mlcore.cluster.doubly_stochastic.symmetric_matrix import as_symmetric
from mlcore.cluster.spectral.affinity import Normalization, of_pairs, shared_nearest
from mlcore.cluster.spectral.affinity_graph import AFFINITIES, Affinity, AffinityClusterer
from mlcore.cluster.spectral.assign_labels import (
    ASSIGNMENTS,
    SQUARE,
    Assignment,
    assigned,
    embedded,
)
from mlcore.estimator import progress
from mlcore.estimator.model import warn
from mlcore.estimator.progress import Progress
from mlcore.kernels.gram import gram_matrix
from mlcore.kernels.vector_kernels import KERNELS, GammaRule, VectorKernelName, resolve_gamma
from mlcore.numerics.eigen import Eigenpairs, block_size, by_lapack, leading_eigenpairs

_Affinity = Affinity | VectorKernelName | Literal["precomputed_nearest_neighbors"]


class SpectralClustering(AffinityClusterer):
    r"""Cluster samples by the leading eigenvectors of their normalised affinities.

    The cuts of a graph are one objective under different normalisations S of the affinity matrix K,

    .. math:: \max_G \operatorname{trace}(G^T S G), \quad G^T G = I,

    where a column of G is constant (or the root of the degrees) on one cluster and 0 outside.
    Relaxed to any orthonormal G, the k leading eigenvectors of S are optimal. Their rows, scaled to
    unit length, are grouped by k-means; for a normalized cut, weighted k-means then lowers the cut
    itself. Two clusters are given by the sign of the second eigenvector. `assign_labels` names
    other ways.

    Parameters
    ----------
    n_clusters : int, default=8
    affinity : str or callable, default="rbf"
        The weights of the edges, at least 0:

        =============================== ====================================================
        "rbf"                           :math:`\exp(-\gamma |x - y|^2)`
        "nearest_neighbors"             1 for two samples that are neighbours of each other,
                                        1/2 where one is of the other; a sparse matrix
        "precomputed"                   X is the matrix of weights, symmetric, dense or
                                        sparse
        "precomputed_nearest_neighbors"
                                        X is a matrix of distances, dense or sparse, whose
                                        rows tell the nearest
        a kernel                        "laplacian", "chi2", "linear", "polynomial" or
                                        "poly", "sigmoid", "cosine", as
                                        `mlcore.kernels.gram_matrix` has them
        a function                      of two samples and `kernel_params`, symmetric
        =============================== ====================================================
    gamma : float, "scale" or "auto", default="scale"
        Of kernels; "scale" is 1 / (n_features Var(X)), "auto" is 1 / n_features.
    n_neighbors : int, default=10
        Neighbours of a sample, of which it is itself the first.
    degree, coef0 : int, float, default=3, 1.0
        Of kernels, as in `mlcore.kernels.gram_matrix`.
    kernel_params : dict or None, default=None
        Keyword arguments of a function.
    normalization : str, default="normalized_cut"
        "normalized_cut", "ratio_cut", "doubly_stochastic" or "frobenius", as
        `mlcore.cluster.normalize_affinity` defines them.
    n_components : int or None, default=None
        Eigenvectors that are grouped; as many as clusters by default. The first are constant on
        each connected component of the graph: if all are, one more is taken, with a warning.
    eigen_solver : {None, "arpack", "lobpcg"}, default=None
        None is block Lanczos, which also finds multiple eigenvalues; or one of SciPy's solvers.
        Small matrices are decomposed by LAPACK.
    assign_labels : str, default="refined"
        ============ ====================================================================
        "refined"    as above
        "kmeans"     k-means on rows of the eigenvectors; for a normalized cut on those of
                     the random walk, divided by the roots of the degrees
        "discretize" the largest coordinate of rows at unit length after the best
                     rotation [4]_
        "cluster_qr" the largest coordinate along axes that a pivoted QR finds [5]_;
                     nothing is drawn at random
        ============ ====================================================================

        The last two need as many eigenvectors as clusters.
    n_init : int, default=10
        Starts of k-means.
    tol : float, default=1e-6
        Largest residual of an eigenvector, relative to the largest eigenvalue by modulus; for a
        ratio cut, to twice the largest degree, which bounds the range of eigenvalues.
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
    embedding_ : (n_samples, n_components)
        The rows that are grouped: those of the eigenvectors, scaled as `assign_labels` says.
    eigenvectors_ : (n_samples, n_components)
    eigenvalues_ : (n_components,) float64
        Descending.
    eigengaps_ : (n_components,) float64
        The difference of each eigenvalue from the next; a large last one speaks for this number of
        clusters. One fewer if `n_components` is the number of samples.
    residuals_ : (n_components,) float64
        ``|S v - value v|`` of each eigenvector v, relative as `tol` is.
    objective_ : float
        trace(G' S G) of the clusters found: for cuts, `n_clusters` less their value.
    objective_bound_ : float
        The sum of the `n_clusters` largest eigenvalues, or an upper bound of it if fewer were
        found: no clustering has a larger objective.
    objective_trace_ : (n_iter,) float64
        The sum of the eigenvalues at each step of their search, never decreasing.
    n_connected_components_ : int
        Connected components of the graph.
    n_iter_ : int
    converged_ : bool
        True if the residuals meet `tol`.
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Warns
    -----
    UserWarning
        If `n_components` eigenvectors tell nothing; and if the graph is not connected. Its
        components then are clusters; if they are more than `n_clusters`, each joins the lightest
        cluster so far, by descending weight.
    ConvergenceWarning
        If `max_iter` was too small.

    Notes
    -----
    A dense matrix of affinities is formed once and normalised on the way, O(n²) memory; about ten
    passes over it, O(n² k) time each, find the eigenvectors. Sparse ones stay sparse.

    References
    ----------
    .. [1] J. Shi, J. Malik, *Normalized cuts and image segmentation*, IEEE Transactions on Pattern
       Analysis and Machine Intelligence 22, 2000.
    .. [2] A. Ng, M. Jordan, Y. Weiss, *On spectral clustering: analysis and an algorithm*, NIPS
       2001.
    .. [3] R. Zass, A. Shashua, *Doubly stochastic normalization for spectral clustering*, NIPS
       2006.
    .. [4] S. Yu, J. Shi, *Multiclass spectral clustering*, ICCV 2003.
    .. [5] A. Damle, V. Minden, L. Ying, *Simple, direct and efficient multi-way spectral
       clustering*, Information and Inference 8, 2019.

    Examples
    --------
    >>> from mlcore.cluster import SpectralClustering
    >>> X = [[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]]
    >>> labels = SpectralClustering(2, gamma=0.5, random_state=0).fit(X).labels_
    >>> bool(len(set(labels[:3])) == len(set(labels[3:])) == 1 and labels[0] != labels[5])
    True
    """

    set_callbacks = progress.set_callbacks
    _affinities = (*AFFINITIES, "precomputed_nearest_neighbors", "poly")
    _affinities += tuple(name for name in KERNELS if name not in AFFINITIES)
    _takes_functions = True

    embedding_: np.ndarray
    eigenvectors_: np.ndarray
    eigenvalues_: np.ndarray
    eigengaps_: np.ndarray
    residuals_: np.ndarray
    objective_bound_: float
    _stored = {
        "embedding_": "float n e",
        "eigenvectors_": "float n v",
        "eigenvalues_": "float64 v",
        "eigengaps_": "float64 g?",
        "residuals_": "float64 v",
        "objective_bound_": "float",
    }

    _instead = {
        "eigen_tol": "use tol=",
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        affinity: _Affinity | Callable[..., float] = "rbf",
        gamma: float | GammaRule = "scale",
        n_neighbors: int = 10,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        normalization: Normalization = "normalized_cut",
        n_components: int | None = None,
        eigen_solver: Literal["arpack", "lobpcg"] | None = None,
        assign_labels: Assignment = "refined",
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
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.normalization = normalization
        self.n_components = n_components
        self.eigen_solver = eigen_solver
        self.assign_labels = assign_labels
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
            This model.

        Raises
        ------
        TypeError, ValueError
            For parameters or data out of range, before any work; for a precomputed affinity that is
            not square, not symmetric or negative; for samples without any affinity, except for a
            ratio cut, which has them as clusters of their own.
        MemoryError
            If the affinities do not fit into free memory.
        """
        # Check parameters and data, and form the graph.
        k, n_init, max_iter, tol, rng = self._settings()
        owner = type(self).__name__
        with Progress(self.verbose, self.callback, owner, self) as progress:
            checked = self._check_X(X, reset=True)
            n, m = checked.shape[0], self.n_components or k
            require_enough(n, k, "n_clusters")
            require_enough(n, m, "n_components")
            drawn = None
            if self.eigen_solver is None and not by_lapack(n, m):
                drawn = rng.standard_normal((n, block_size(m) - 1))
            graph, start = self._graph(self._affinity(checked), drawn)
            # Eigenvectors of connected components are known: search for one more.
            if m <= graph.n_components < k:
                self._warn_of_constant(graph.n_components)
                m, start = graph.n_components + 1, None
            # Search for the leading eigenvectors.
            eigenpairs = relaxed(
                graph, m, rng, start, tol, max_iter,
                lambda step, total, residual: progress.step(
                    step, float(graph.of_S(total, m)), residual
                ),
                self.eigen_solver,
            )  # fmt: skip
            # Label the samples in their embedding.
            method = self.assign_labels
            progress.note(f"Computing label assignment using {method}")
            embedding = embedded(graph, eigenpairs.vectors, method).astype(checked.dtype)
            labels, objective = assigned(
                graph, eigenpairs.vectors, embedding, k, method, n_init, rng
            )
        if not eigenpairs.converged:
            warn(
                "ConvergenceWarning",
                f"{owner} stopped after {len(eigenpairs.trace)} passes with residuals of up to "
                f"{eigenpairs.residuals.max():.1e}, more than tol={tol:g}: increase max_iter or "
                "tol.",
            )
        # The eigenvalues bound the objective of all partitions.
        after = [eigenpairs.next_value] if m < n else []
        bound = eigenpairs.values[:k].sum() + max(0, k - m) * eigenpairs.values[-1]
        self._set_fitted(
            X,
            labels_=labels,
            embedding_=embedding,
            eigenvectors_=eigenpairs.vectors.astype(checked.dtype),
            eigenvalues_=graph.of_S(eigenpairs.values),
            eigengaps_=-graph.unit * np.diff(np.r_[eigenpairs.values, after]),
            residuals_=eigenpairs.residuals,
            objective_=objective,
            objective_bound_=float(graph.of_S(bound, k)),
            objective_trace_=graph.of_S(eigenpairs.trace, m),
            n_connected_components_=graph.n_components,
            n_iter_=len(eigenpairs.trace),
            converged_=eigenpairs.converged,
        )
        return self

    def _warn_of_constant(self, connected):
        warn(
            "UserWarning",
            f"{type(self).__name__}: n_components={self.n_components} eigenvectors are constant on "
            f"each connected component of the graph, of which there are {connected}, and cannot "
            f"tell n_clusters={self.n_clusters} clusters apart: {connected + 1} are taken.",
        )

    def _settings(self):
        settings, owner = super()._settings(), type(self).__name__
        as_choice(self.assign_labels, "assign_labels", ASSIGNMENTS, owner=owner)
        as_choice(self.eigen_solver, "eigen_solver", (None, "arpack", "lobpcg"), owner=owner)
        if self.n_components is not None:
            as_integer(self.n_components, "n_components", owner=owner, at_least=1)
            if self.assign_labels in SQUARE and self.n_components != self.n_clusters:
                raise ValueError(
                    f"{owner}: n_components={self.n_components} must be "
                    f"n_clusters={self.n_clusters}, or None, with "
                    f"assign_labels={self.assign_labels!r}."
                )
        as_integer(self.degree, "degree", owner=owner, at_least=0)
        as_real(self.coef0, "coef0", owner=owner)
        if not isinstance(self.kernel_params, dict | None):
            raise TypeError(
                f"{owner}: kernel_params is of type {type(self.kernel_params).__name__}, but must "
                "be a dict or None."
            )
        return settings

    def _affinity(self, X):
        kind, owner = self.affinity, type(self).__name__
        if callable(kind):
            return of_pairs(X, kind, self.kernel_params or {}, owner)
        if kind == "precomputed_nearest_neighbors":
            return shared_nearest(X, self.n_neighbors, owner)
        if kind in AFFINITIES:
            return super()._affinity(X)
        K = gram_matrix(
            X, kernel=kind, gamma=resolve_gamma(self.gamma, X), degree=self.degree, coef0=self.coef0
        )
        return as_symmetric(K, owner, overwrite=True)


def relaxed(
    graph: Any,
    k: int,
    rng: np.random.Generator,
    start: Any = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
    report: Callable[..., Any] | None = None,
    solver: Any = None,
) -> Eigenpairs:
    """Return the k leading eigenpairs of a graph, given the eigenvectors of its components."""
    parts = min(k, graph.n_components)
    known = graph.indicators(graph.component_groups(parts), parts)
    return leading_eigenpairs(
        graph.matrix, k, rng, known=known, start=start, tol=tol, max_iter=max_iter, report=report,
        solver=solver,
    )  # fmt: skip
