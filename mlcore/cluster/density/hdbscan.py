"""HDBSCAN: the clusters of all densities, chosen from a hierarchy."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_bool, as_choice, as_integer, as_real, as_weights
from mlcore.cluster.density.condensed_tree import CondensedTree, Selection, clusters_of
from mlcore.cluster.density.dbscan import require_labels
from mlcore.cluster.density.mutual_reachability import (
    as_samples_of,
    joined,
    nearest_in_reach,
    radii,
)
from mlcore.cluster.density.verification import TreeVerification, verified
from mlcore.cluster.k_medoids.dissimilarities import given_distances
from mlcore.cluster.linkage.linkage import cut_tree, linkage_matrix, merge_reporter
from mlcore.cluster.metrics import Metric, as_metric, distances, learned_scale
from mlcore.estimator import progress
from mlcore.estimator.model import Clusterer, Model
from mlcore.estimator.progress import Progress
from mlcore.numerics.radix_sort import stable_order

_Method = Literal["eom", "leaf"]
_Centers = Literal["centroid", "medoid", "both"]
_BLOCK = 2**21  # distances formed at once
_ROWS = 2**16  # new rows whose neighbours are looked for at once


class Settings(NamedTuple):
    """Checked parameters."""

    metric: Any
    min_cluster_size: int
    min_samples: int
    alpha: float
    selection: Selection


class HDBSCAN(Clusterer, Model):
    r"""Find the clusters of a hierarchy of densities that last longest; the rest is noise.

    The core distance of a sample is the least radius that holds `min_samples` samples, itself
    included, and the reach of two samples is

    .. math:: r(i, j) = \max(c_i, c_j, d(x_i, x_j) / \alpha).

    Single linkage by reach merges the samples; edges of equal height are one merge, so that no
    label depends on the order of samples. From the top down, a cluster splits where two or more of
    the parts have `min_cluster_size` samples; smaller parts leave it as noise. With
    :math:`\lambda` for one over the height, the stability of a cluster is the sum of
    :math:`\lambda_i - \lambda_{birth}` over its samples, and "eom" chooses the clusters, none
    inside another, whose stabilities have the largest sum of all such choices.

    Parameters
    ----------
    min_cluster_size : int, default=5
        Least weight of a cluster, at least 2.
    min_samples : int or None, default=None
        Weight within the core distance of a sample, which counts itself, as in scikit-learn; it is
        one more than in the package hdbscan. None is `min_cluster_size`.
    cluster_selection_epsilon : float, default=0.0
        Splits at heights up to this are undone.
    max_cluster_size : int or None, default=None
        Clusters of more weight are not chosen by "eom".
    metric : str or callable, default="euclidean"
        Distance of two samples: a name that `scipy.spatial.distance.cdist` knows, or "l1",
        "manhattan", "l2"; a function of two samples; or "precomputed", for which X is the symmetric
        matrix of distances, dense, or sparse with what is not stored infinite.
    alpha : float, default=1.0
        Distances are divided by it before they are compared with core distances.
    cluster_selection_method : "eom" or "leaf", default="eom"
        "leaf" chooses the clusters that do not split.
    allow_single_cluster : bool, default=False
        If the root, which holds all samples, may be chosen.
    store_centers : None, "centroid", "medoid" or "both", default=None
        Set `centroids_`, `medoids_`; not with "precomputed".
    verbose : bool or int, default=False
        1 prints about one line a second, 2 every step.
    callback : callable or None, default=None
        Called with ``step=, objective=, change=, seconds=`` while the fit runs: edges of the
        spanning tree, the largest height, and the sum of the new ones; raising stops it.

    Attributes
    ----------
    labels_ : (n_samples,) int64
        The cluster of each sample, numbered in the order of their first samples; -1 for noise.
    probabilities_ : (n_samples,) float64
        Lambda at which the sample leaves its cluster, over the largest lambda of the cluster, at
        most 1; 0 for noise.
    outlier_scores_ : (n_samples,) float64
        GLOSH: 1 less the lambda at which the sample leaves all clusters, over the largest lambda of
        its last cluster and those inside.
    cluster_persistence_ : (n_clusters,) float64
        Stability over weight and largest lambda, in [0, 1].
    selection_objective_ : float
        Sum of the stabilities of the chosen clusters.
    condensed_tree_ : CondensedTree
        Arrays parent, child, lambda_val, child_size, and the clusters that have labels.
    single_linkage_tree_ : (n_samples - 1, 4) float64
        The merges as in `scipy.cluster.hierarchy`, by reach.
    spanning_tree_ : (n_samples - 1, 3) float64
        The edges of the minimum spanning tree: two samples and their reach, in rising order.
    core_distances_ : (n_samples,) float64
    n_tied_merges_ : int
        Merges that are one with another of the same height.
    centroids_ : (n_clusters, n_features) float64
        Means of the clusters, weighted by `probabilities_`.
    medoids_ : (n_clusters, n_features)
        The samples with the least sum of distances, weighted likewise, to those of their cluster.
    X_fit_ : (n_samples, n_features)
        The samples, for `predict`; absent with "precomputed".
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Notes
    -----
    A sample of weight w is w copies (but scales of "mahalanobis" and "seuclidean" are those of the
    rows), and one of weight 0 is noise that nothing depends on: its core
    distance is infinite. Samples that have no finite reach join at infinite height.

    With Euclidean distances a fit takes O(n d) memory, and with few features O(n log n) time in
    practice; other metrics take O(n² d) time. The rest takes O(n) time. Where copies have lambda
    infinite, it counts as twice the largest finite one.

    References
    ----------
    R. J. G. B. Campello, D. Moulavi, J. Sander, *Density-based clustering based on hierarchical
    density estimates*, PAKDD 2013, sections 3 to 5, algorithms 1 and 2.

    R. J. G. B. Campello, D. Moulavi, A. Zimek, J. Sander, *Hierarchical density estimates for data
    clustering, visualization, and outlier detection*, ACM Transactions on Knowledge Discovery from
    Data 10, 2015, equation 8 (GLOSH).

    C. Malzer, M. Baum, *A hybrid approach to hierarchical density-based cluster selection*, MFI
    2020 (`cluster_selection_epsilon`).

    Examples
    --------
    >>> from mlcore.cluster import HDBSCAN
    >>> X = [[0.0], [1.0], [2.0], [4.0], [20.0], [21.0], [23.0], [24.0], [26.0], [50.0]]
    >>> model = HDBSCAN(min_cluster_size=3).fit(X)
    >>> model.labels_
    array([ 0,  0,  0,  0,  1,  1,  1,  1,  1, -1])
    >>> model.predict([[3.0], [45.0]])
    array([ 0, -1])
    """

    set_callbacks = progress.set_callbacks

    probabilities_: np.ndarray
    outlier_scores_: np.ndarray
    cluster_persistence_: np.ndarray
    selection_objective_: float
    condensed_tree_: CondensedTree
    single_linkage_tree_: np.ndarray
    spanning_tree_: np.ndarray
    core_distances_: np.ndarray
    n_tied_merges_: int
    centroids_: np.ndarray
    medoids_: np.ndarray
    X_fit_: np.ndarray
    _stored = {
        "labels_": "int64 n",
        "probabilities_": "float64 n",
        "outlier_scores_": "float64 n",
        "cluster_persistence_": "float64 k?",
        "selection_objective_": "float",
        "condensed_tree_": CondensedTree,
        "single_linkage_tree_": "float64 n-1 4",
        "spanning_tree_": "float64 n-1 3",
        "core_distances_": "float64 n",
        "n_tied_merges_": "count",
        "centroids_": "float64 k? f",
        "medoids_": "float k? f",
        "X_fit_": "float n f",
    }

    _no_blocks = "it compares all pairs of rows"
    _instead = {
        "algorithm": "drop it: the data decide",
        "copy": "drop it: X is never changed",
        "leaf_size": "drop it: the data decide",
        "metric_params": "drop it: scales of a metric come from the data",
    }

    def __init__(
        self,
        min_cluster_size: int = 5,
        *,
        min_samples: int | None = None,
        cluster_selection_epsilon: float = 0.0,
        max_cluster_size: int | None = None,
        metric: Metric | Callable[..., float] = "euclidean",
        alpha: float = 1.0,
        cluster_selection_method: _Method = "eom",
        allow_single_cluster: bool = False,
        store_centers: _Centers | None = None,
        verbose: bool | int = False,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.min_cluster_size = min_cluster_size
        self.min_samples = min_samples
        self.cluster_selection_epsilon = cluster_selection_epsilon
        self.max_cluster_size = max_cluster_size
        self.metric = metric
        self.alpha = alpha
        self.cluster_selection_method = cluster_selection_method
        self.allow_single_cluster = allow_single_cluster
        self.store_centers = store_centers
        self.verbose = verbose
        self.callback = callback

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = tags.input_tags.sparse = self._precomputed
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) of distances
            Sparse with "precomputed" only.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            2 is a copy, 0 is absence.

        Returns
        -------
        self
            This model.

        Raises
        ------
        TypeError, ValueError
            For parameters or data out of range, before any work; for less weight than
            `min_samples`; for distances of the metric that are NaN, infinite or negative.
        """
        settings, owner = self._settings(), type(self).__name__
        with Progress(self.verbose, self.callback, owner, self) as progress:
            checked = self._check_X(X, reset=True, accept_sparse=self._precomputed)
            n = checked.shape[0]
            weights = None if sample_weight is None else as_weights(sample_weight, n)
            self._require_weight(n, weights, settings.min_samples)
            # Core distances and the spanning tree, of the samples that are there.
            there = np.arange(n) if weights is None else np.flatnonzero(weights)
            samples = as_samples_of(checked, settings.metric, owner)
            if len(there) < n:
                samples = samples.part(there)
            core = np.full(n, np.inf)
            core[there] = samples.core_distances(
                settings.min_samples, None if weights is None else weights[there]
            )
            edges, heights = samples.spanning_tree(
                core[there], settings.alpha, merge_reporter(progress)
            )
            del samples
            edges, heights = joined(there[edges], heights, n)
        # Merges in order, and the clusters among them.
        order = stable_order(heights)
        Z = linkage_matrix(edges, heights, order)
        ones = np.ones(n) if weights is None else weights
        found = clusters_of(Z, core, ones, settings.min_cluster_size, settings.selection)
        fitted = {}
        if not self._precomputed:
            fitted["X_fit_"] = checked.copy() if np.may_share_memory(checked, X) else checked
            fitted |= self._centers(checked, found.labels, ones * found.probabilities, settings)
        self._set_fitted(
            X,
            labels_=found.labels,
            probabilities_=found.probabilities,
            outlier_scores_=found.outlier_scores,
            cluster_persistence_=found.persistence,
            selection_objective_=found.objective,
            condensed_tree_=found.tree,
            single_linkage_tree_=Z,
            spanning_tree_=np.column_stack((edges[order], heights[order])),
            core_distances_=core,
            n_tied_merges_=found.n_tied_merges,
            **fitted,
        )
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the cluster of each row of `X`, or -1.

        A row joins the sample of the fit of least reach, of equal ones the nearest, then the first,
        and is in its cluster unless the reach is above the height at which the cluster splits off.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), or (n_rows, n_samples) of distances

        Returns
        -------
        labels : (n_rows,) int64
            Labels as in `labels_`.
        """
        settings = self._settings()
        X = self._check_X(
            X, reset=False, accept_sparse=self._precomputed, like=getattr(self, "X_fit_", None)
        )
        core, tree = self.core_distances_, self.condensed_tree_
        n, labels = len(core), np.empty(X.shape[0], dtype=np.int64)
        weights = tree.child_size[:n]
        weights = None if (weights == 1).all() else weights
        births = np.full(len(tree.selected) + 1, np.inf)  # that of noise is never met
        split = tree.selected > n
        births[:-1][~split] = 0.0
        births[:-1][split] = tree.lambda_val[tree.selected[split] - 1]
        others, alpha = settings.min_samples - 1, settings.alpha  # the row itself weighs 1
        near = settings.metric == "euclidean"
        step = _ROWS if near else max(1, _BLOCK // n)
        for start in range(0, len(labels), step):
            rows = slice(start, start + step)
            if near:
                at, least = nearest_in_reach(self.X_fit_, X[rows], core, others, weights, alpha)
            else:
                values = self._distances_from_fit(X[rows], settings.metric)
                own = radii(values, others, weights)
                reach = np.maximum(values / alpha, np.maximum(core, own[:, None]))
                least = reach.min(axis=1)
                at = np.where(reach == least[:, None], values, np.inf).argmin(axis=1)
            label = self.labels_[at]
            with np.errstate(divide="ignore", over="ignore"):
                labels[rows] = np.where(1 / least >= births[label], label, -1)
        return labels

    def dbscan_clustering(self, eps: float, min_cluster_size: int = 5) -> np.ndarray:
        """Return the clusters of core samples of `DBSCAN` at `eps`, which is a cut of the tree.

        Parameters
        ----------
        eps : float
            Height up to which, itself included, merges are kept.
        min_cluster_size : int, default=5
            Components of less weight are noise.

        Returns
        -------
        labels : (n_samples,) int64
            Numbered in the order of their first samples; -1 for noise.
        """
        self._check_fitted()
        owner = type(self).__name__
        eps = as_real(eps, "eps", owner=owner, at_least=0)
        least = as_integer(min_cluster_size, "min_cluster_size", owner=owner, at_least=1)
        Z, n = self.single_linkage_tree_, len(self.labels_)
        k, labels = cut_tree(Z[:, :2].astype(np.int64), Z[:, 2] <= eps)
        dense = self.core_distances_ <= eps
        size = np.bincount(labels, self.condensed_tree_.child_size[:n] * dense, minlength=k)
        number = np.full(k, -1)
        large = (size >= least) & (np.bincount(labels, dense, minlength=k) > 0)
        number[large] = np.arange(np.count_nonzero(large))
        return np.where(dense, number[labels], -1)

    def verify(self, X: Any, sample_weight: Any = None) -> TreeVerification:
        """Return evidence that `spanning_tree_` is a minimum spanning tree of the samples.

        Core distances, heights and paths are compared with distances formed anew: those of all
        pairs of at most 2,000 samples, else of a seeded part.

        Parameters
        ----------
        X : as in `fit`
            The samples of the fit.
        sample_weight : as in `fit`

        Returns
        -------
        verification : TreeVerification
            Total height, its bound, and the largest deviations.
        """
        settings, owner = self._settings(), type(self).__name__
        checked = self._check_X(
            X, reset=False, accept_sparse=self._precomputed, like=getattr(self, "X_fit_", None)
        )
        n = checked.shape[0]
        if n != len(self.labels_):
            raise ValueError(
                f"{owner}: X has {n} rows, but verify needs the {len(self.labels_)} of the fit."
            )
        weights = None if sample_weight is None else as_weights(sample_weight, n)
        there = np.arange(n) if weights is None else np.flatnonzero(weights)
        place = np.full(n, -1)
        place[there] = np.arange(len(there))
        edges, heights = place[self.spanning_tree_[:, :2].astype(np.int64)], self.spanning_tree_
        used = (edges >= 0).all(axis=1)
        return verified(
            as_samples_of(checked, settings.metric, owner).part(there),
            None if weights is None else weights[there],
            settings.min_samples,
            settings.alpha,
            self.core_distances_[there],
            edges[used],
            heights[used, 2].copy(),
        )

    def _check_loaded(self):
        """Refuse samples, merges and clusters that do not exist."""
        if "labels_" not in vars(self):
            return
        n, tree = len(self.labels_), self.condensed_tree_
        require_labels(self.labels_, len(tree.selected))
        children, merged = self.single_linkage_tree_[:, :2], np.arange(n, 2 * n - 1)[:, None]
        once = np.array_equal(np.sort(children, axis=None), np.arange(2 * n - 2))
        if not once or (children >= merged).any():
            raise ValueError("single_linkage_tree_ is no tree.")
        ends = self.spanning_tree_[:, :2]
        if not ((ends >= 0) & (ends < n)).all():
            raise ValueError(f"spanning_tree_ names samples that are not from 0 to {n - 1}.")
        clusters = len(tree.child) - n
        known = (tree.selected >= n) & (tree.selected <= n + clusters)
        if clusters < 0 or not known.all():
            raise ValueError("condensed_tree_.selected names clusters that do not exist.")

    def _settings(self):
        owner = type(self).__name__
        metric = as_metric(self.metric, owner)
        size = as_integer(self.min_cluster_size, "min_cluster_size", owner=owner, at_least=2)
        least, most = size, np.inf
        if self.min_samples is not None:
            least = as_integer(self.min_samples, "min_samples", owner=owner, at_least=1)
        if self.max_cluster_size is not None:
            most = as_integer(self.max_cluster_size, "max_cluster_size", owner=owner, at_least=1)
        method = self.cluster_selection_method
        as_choice(method, "cluster_selection_method", get_args(_Method), owner=owner)
        if self.store_centers is not None:
            as_choice(self.store_centers, "store_centers", get_args(_Centers), owner=owner)
            if self._precomputed:
                raise ValueError(
                    f"{owner}: store_centers={self.store_centers!r} does not go with "
                    "metric='precomputed', which has no coordinates; it must be None."
                )
        epsilon = as_real(
            self.cluster_selection_epsilon, "cluster_selection_epsilon", owner=owner, at_least=0
        )
        alpha = as_real(self.alpha, "alpha", owner=owner, above=0)
        root = as_bool(self.allow_single_cluster, "allow_single_cluster", owner=owner)
        selection = Selection(method == "leaf", root, most, epsilon)
        return Settings(metric, size, least, alpha, selection)

    @property
    def _precomputed(self):
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _require_weight(self, n, weights, least):
        """Refuse samples of less weight than `min_samples`."""
        total = n if weights is None else weights.sum()
        if total < least:
            name = "min_cluster_size" if self.min_samples is None else "min_samples"
            weight = "" if weights is None else f" have weight {total:g}, which"
            raise ValueError(f"n_samples={n}{weight} should be >= {name}={least}.")

    def _distances_from_fit(self, X, metric):
        """Return the distances of rows from the samples of the fit, float64 (m, n)."""
        owner = type(self).__name__
        if metric != "precomputed":
            samples = self.X_fit_.astype(np.float64, copy=False)
            return distances(X, samples, metric, learned_scale(samples, metric), owner)
        if not sp.issparse(X):
            return given_distances(X, owner, square=False).astype(np.float64, copy=False)
        stored = given_distances(X, owner, square=False).tocoo()
        values = np.full(stored.shape, np.inf)
        values[stored.coords] = stored.data
        return values

    def _centers(self, X, labels, weights, settings):
        """Return centroids and medoids as `store_centers` asks for them."""
        k, centers, owner = labels.max() + 1, {}, type(self).__name__
        members = [np.flatnonzero(labels == c) for c in range(k)]
        if self.store_centers in ("centroid", "both"):
            wide = [np.average(X[rows], axis=0, weights=weights[rows]) for rows in members]
            centers["centroids_"] = np.array(wide, dtype=np.float64).reshape(k, X.shape[1])
        if self.store_centers in ("medoid", "both"):
            scale = learned_scale(X, settings.metric)
            best = []
            for rows in members:
                sums, step = [], max(1, _BLOCK // len(rows))
                for start in range(0, len(rows), step):
                    part = X[rows[start : start + step]]
                    sums.append(
                        distances(part, X[rows], settings.metric, scale, owner) @ weights[rows]
                    )
                best.append(rows[np.concatenate(sums).argmin()])
            centers["medoids_"] = X[np.array(best, dtype=np.int64)]
        return centers
