"""Probabilistic clustering: a non-negative factor of the normalised affinities."""

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse as sp

from mlcore._ext.cluster import probabilistic as _ext
from mlcore.checks import require_enough
from mlcore.cluster.k_means.evidence import warn_of_rise
from mlcore.cluster.spectral.affinity import Normalization
from mlcore.cluster.spectral.affinity_graph import Affinity, AffinityClusterer
from mlcore.cluster.spectral.assign_labels import assigned, unit_rows
from mlcore.cluster.spectral.spectral import relaxed
from mlcore.estimator import progress
from mlcore.estimator.model import warn
from mlcore.estimator.progress import Progress
from mlcore.kernels.vector_kernels import GammaRule
from mlcore.runtime.threads import effective_threads, items_per_call, single_threaded_blas

_WIDTH = 8  # columns of G are padded to a multiple
_BLOCK = 2**20  # values of F in a block of the objective
_STARTS = 10  # of k-means


class ProbabilisticClustering(AffinityClusterer):
    r"""Factor the normalised affinities into probabilities of the clusters.

    With F the doubly stochastic normalisation of the affinity matrix,

    .. math:: \min_{G \ge 0} |F - G G^T|_F^2,

    with G of shape (n_samples, n_clusters). Rows of G, divided by their sums, are the probabilities
    of the clusters. If G is orthogonal, clusters are hard, and this is spectral clustering.

    Coordinate descent: each entry of G in turn takes its optimal value given all others, a root of
    a cubic, so the objective never increases.

    Parameters
    ----------
    n_clusters : int, default=8
    affinity : {"rbf", "nearest_neighbors", "precomputed"}, default="rbf"
        As in `SpectralClustering`.
    gamma : float, "scale" or "auto", default="scale"
        Of "rbf", as in `SpectralClustering`.
    n_neighbors : as in `SpectralClustering`
    normalization : str, default="doubly_stochastic"
        Or "frobenius", "normalized_cut", "ratio_cut": F as `mlcore.cluster.normalize_affinity`
        defines them.
    n_init : int, default=1
        Starts, of which the one with the least objective is kept: the clusters of
        `SpectralClustering`, then random ones.
    tol : float, default=1e-4
        Stop when no entry of G changes by more than this share of the largest.
    max_iter : int, default=1000
        Most sweeps over G from one start.
    verbose : bool or int, default=False
        1 prints about one line a second, 2 every sweep.
    callback : callable or None, default=None
        Called with ``step=, objective=, change=, seconds=`` while the fit runs; raising stops it.
    random_state : as in `SpectralClustering`

    Attributes
    ----------
    probabilities_ : (n_samples, n_clusters)
        Rows sum to 1.
    labels_ : (n_samples,) int32
        The most probable cluster of each sample.
    factor_ : (n_samples, n_clusters)
        G.
    objective_ : float
        The objective of `factor_`.
    objective_trace_ : (n_iter + 1,) float64
        The objective at the start and after each sweep; the last is `objective_`. A rise by more
        than rounding is warned of.
    largest_change_ : float
        Of an entry of G in the last sweep, over the largest entry; 0 at a stationary point.
    converged_ : bool
        True if the last sweep met `tol`.
    n_connected_components_, n_iter_, n_features_in_, feature_names_in_
        As in `SpectralClustering`.

    Notes
    -----
    A sweep takes O(n² k) time, or k times the non-zeros; memory is that of the affinities.

    References
    ----------
    R. Zass, A. Shashua, *A unifying approach to hard and probabilistic clustering*, ICCV 2005.

    A. Vandaele, N. Gillis, Q. Lei, K. Zhong, I. Dhillon, *Efficient and non-convex coordinate
    descent for symmetric nonnegative matrix factorization*, IEEE Transactions on Signal Processing
    64, 2016.

    Examples
    --------
    >>> from mlcore.cluster import ProbabilisticClustering
    >>> X = [[0.0], [1.0], [4.0], [7.0], [8.0]]
    >>> model = ProbabilisticClustering(2, gamma=0.1, random_state=0).fit(X)
    >>> middle = model.probabilities_[2]
    >>> bool(middle.min() > 0.45)
    True
    """

    set_callbacks = progress.set_callbacks
    probabilities_: np.ndarray
    factor_: np.ndarray
    largest_change_: float
    _stored = {
        "probabilities_": "float n k",
        "factor_": "float n k",
        "labels_": "int n < k",
        "largest_change_": "float",
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        affinity: Affinity = "rbf",
        gamma: float | GammaRule = "scale",
        n_neighbors: int = 10,
        normalization: Normalization = "doubly_stochastic",
        n_init: int = 1,
        tol: float = 1e-4,
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
        """Find the probabilities; X, y and errors as in `SpectralClustering.fit`.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
            This model.
        """
        # Check parameters and data, and form the graph.
        k, n_init, max_iter, tol, rng = self._settings()
        owner = type(self).__name__
        with Progress(self.verbose, self.callback, owner, self) as progress:
            checked = self._check_X(X, reset=True)
            require_enough(checked.shape[0], k, "n_clusters")
            graph, _ = self._graph(self._affinity(checked), explicit=True)
            # Descend from the spectral start and random ones, and keep the best.
            F, best = graph.matrix.K, None
            for start in range(n_init):
                G = _random(F, k, rng) if start else _spectral(graph, k, rng)
                descent = _descend(F, G, tol, max_iter, progress)
                if best is None or descent.trace[-1] < best.trace[-1]:
                    best = descent
            G = best.G
            best.trace[-1] = objective = _objective(F, G)
        # Warn of a rise beyond rounding, and of an early end.
        entries = (F.data if sp.issparse(F) else F).ravel()
        rounding = (
            len(G)
            * float(np.finfo(np.float64).eps)
            * float(np.einsum("i,i->", entries, entries, dtype=np.float64))
        )
        warn_of_rise(best.trace, rounding, owner, "sums of its decrease have lost their digits")
        if not best.converged:
            warn(
                "ConvergenceWarning",
                f"{owner} stopped after {max_iter} sweeps, the last of which moved an entry "
                f"by {best.change:.1e} of the largest, more than tol={tol:g}: increase "
                "max_iter or tol.",
            )
        # Rows of the factor are probabilities up to their sum.
        sums = G.sum(axis=1, keepdims=True)
        probabilities = np.where(sums > 0, G / np.where(sums > 0, sums, 1.0), 1.0 / k)
        self._set_fitted(
            X,
            probabilities_=probabilities.astype(checked.dtype),
            labels_=G.argmax(axis=1).astype(np.int32),
            factor_=G.astype(checked.dtype),
            objective_=objective,
            objective_trace_=best.trace,
            largest_change_=best.change,
            n_connected_components_=graph.n_components,
            n_iter_=len(best.trace) - 1,
            converged_=best.converged,
        )
        return self


class _Found(NamedTuple):
    G: np.ndarray
    trace: np.ndarray
    change: float
    converged: bool


def _spectral(graph, k, rng):
    """Return the G of a spectral clustering."""
    vectors = relaxed(graph, k, rng).vectors
    labels, _ = assigned(graph, vectors, unit_rows(vectors), k, "refined", _STARTS, rng)
    return graph.indicators(labels, k)


def _random(F, k, rng):
    """Return a random G, scaled so that the mean of G G' is about that of F."""
    n = F.shape[0]
    return rng.random((n, k)) * np.sqrt(4.0 * max(float(F.sum()), 0.0) / (n * n * k))


def _descend(F, G, tol, max_iter, progress):
    """Sweep over G until no entry changes by more than `tol` times the largest."""
    n, k = G.shape
    width = -(-k // _WIDTH) * _WIDTH
    padded = np.zeros((n, width))
    padded[:, :k] = G
    products, before = np.empty((_ext.BLOCK, width)), np.empty(k)
    per_row = k * max(1, F.nnz // n) if sp.issparse(F) else width * n
    step = max(1, items_per_call(per_row) // _ext.BLOCK) * _ext.BLOCK
    trace, change = [_objective(F, G)], np.inf
    while change > tol and len(trace) <= max_iter:
        with single_threaded_blas():
            M = padded[:, :k].T @ padded[:, :k]  # anew: rounding does not accumulate
        gain = np.zeros(2)
        for first in range(0, n, step):
            last = min(n, first + step)
            if sp.issparse(F):
                parts = F.data, F.indices, F.indptr
                _ext.descend_sparse(*parts, padded, M, first, last, products[0], before, gain)
            else:
                threads = effective_threads(_ext.BLOCK * per_row)
                _ext.descend(F, padded, M, first, last, products, before, gain, threads)
        change = float(gain[1] / max(padded.max(), np.finfo(float).tiny))
        trace.append(max(0.0, trace[-1] - gain[0]))
        progress.step(len(trace) - 1, trace[-1], change)
    return _Found(np.ascontiguousarray(padded[:, :k]), np.array(trace), change, change <= tol)


def _objective(F, G):
    """Return ``|F - GG'|²``, computed in blocks of rows."""
    n, total = len(G), 0.0
    step = max(1, _BLOCK // n)
    with single_threaded_blas():
        for start in range(0, n, step):
            rows = slice(start, start + step)
            rest = G[rows] @ G.T
            rest -= F[rows].toarray() if sp.issparse(F) else F[rows]
            total += float(np.einsum("ij,ij->", rest, rest))
    return total
