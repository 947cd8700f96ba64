"""Agglomerative clustering: the two nearest clusters are merged, again and again."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np

from mlcore._ext.cluster.linkage import linkage as _ext
from mlcore.checks import as_bool, as_choice, as_integer, as_real, require_enough
from mlcore.cluster.k_medoids.dissimilarities import given_distances
from mlcore.cluster.linkage.connectivity import LINKAGES, as_edges, merge_along, merge_apart
from mlcore.cluster.linkage.lance_williams import (
    SQUARED,
    diameter,
    fill_euclidean,
    fill_metric,
    merge_matrix,
    square_matrix,
)
from mlcore.cluster.linkage.reciprocal_neighbors import PointClusters
from mlcore.cluster.linkage.spanning_tree import spanning_tree
from mlcore.cluster.metrics import Metric, as_metric
from mlcore.estimator import progress
from mlcore.estimator.model import Clusterer, Model
from mlcore.estimator.progress import Progress
from mlcore.numerics.radix_sort import stable_order

_Linkage = Literal["single", "complete", "average", "weighted", "ward", "centroid", "median"]
_WHOLE = 5792  # samples of which all distances are formed at once, 256 MB
_FEWEST, _MOST = 2048, 8192  # clusters whose distances are formed when there are more samples
_LAST = 512  # clusters: of fewer, a matrix is quicker than searches among their points
_SCALED = ("euclidean", "precomputed")  # metrics whose largest distance needs no matrix
_SMALL, _WIDE = 1024, 32  # of at most so many samples, or more features, Ward's takes a matrix, too


class Settings(NamedTuple):
    """Checked parameters.

    `threshold` is `distance_threshold`, or `scaled_distance_threshold`, whichever is given.
    """

    metric: Any
    n_clusters: int | None
    threshold: float | None
    compute_distances: bool


class AgglomerativeClustering(Clusterer, Model):
    r"""Merge the two nearest clusters until few are left, or their distance is large.

    Each sample is a cluster at first. The linkage defines the distance between two clusters:

    =========== ====================================================================
    "single"    the least distance of a sample of one from a sample of the other
    "complete"  the largest
    "average"   the mean of all
    "weighted"  the mean of the distances from the two clusters that one was merged from
    "ward"      :math:`\sqrt{2 a b / (a + b)}` times the distance of the means, of a and
                b samples: the root of twice the squared error that the merge adds
    "centroid"  the distance of the means
    "median"    the distance of the centres; that of a merge is midway between its two
    =========== ====================================================================

    Parameters
    ----------
    n_clusters : int or None, default=2
        None with a threshold.
    metric : str or callable, default="euclidean"
        Distance of two samples: a name that `scipy.spatial.distance.cdist` knows, or "l1",
        "manhattan", "l2"; a function of two samples; or "precomputed", for which X is the symmetric
        matrix of distances. "ward", "centroid" and "median" linkage take "euclidean" ("l2") and
        "precomputed" only.
    linkage : str, default="ward"
    connectivity : None, array-like, sparse or callable, default=None
        A graph (n_samples, n_samples), or a function of X that returns one: only clusters with an
        edge between them are merged, where either of its two entries is not 0. "single",
        "complete" and "average" linkage are then those of the edges between two clusters, and
        "ward", whose heights may fall then, takes no distances. Components of the graph, where they
        are no more than `n_clusters`, are merged last, whatever their distance.
    compute_distances : bool, default=True
        Set `distances_`, at no cost; it is always set with a threshold.
    distance_threshold : float or None, default=None
        Merges at this distance or above are left out, and with them all that build on them.
    scaled_distance_threshold : float or None, default=None
        `distance_threshold` in units of the largest distance of two samples.
    verbose : bool or int, default=False
        1 prints about one line a second, 2 every step.
    callback : callable or None, default=None
        Called with ``step=, objective=, change=, seconds=`` while the fit runs: merges found, the
        largest of their heights, and the sum of the new ones; raising stops it.

    Attributes
    ----------
    labels_ : (n_samples,) int64
        The cluster of each sample, numbered in the order of their first samples.
    n_clusters_ : int
    n_leaves_ : int
        Samples.
    n_connected_components_ : int
        Components of `connectivity` as given; 1 without.
    linkage_matrix_ : (n_samples - 1, 4) float64
        All merges as in `scipy.cluster.hierarchy`: the two clusters, their distance, and the
        number of samples; cluster ``n_samples + i`` is that of row i.
    children_ : (n_samples - 1, 2) int64
    distances_ : (n_samples - 1,) float64
        The columns of `linkage_matrix_`; distances fall only for "centroid", "median" and with
        `connectivity`.
    distance_threshold_ : float or None
        The distance below which clusters were merged; None without a threshold.
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Notes
    -----
    Single linkage of points takes O(n d) memory, and so does Ward's of up to 32 features. Average
    and complete linkage, and Ward's of more features, form the distances of at most 8,192 clusters
    at once: of more samples, pairs of reciprocal nearest neighbours are merged first, which are
    found from the centres and radii of clusters. Other linkages and metrics take a matrix of n²
    distances, 8 bytes each. Time is O(n² d), in practice.

    Distances equal those of `scipy.cluster.hierarchy.linkage` to rounding. The order of merges of
    equal distances is not defined, so later merges may differ.

    References
    ----------
    S. Shalev-Shwartz, S. Ben-David, *Understanding Machine Learning*, 2014, section 22.1.

    G. N. Lance, W. T. Williams, *A general theory of classificatory sorting strategies*, The
    Computer Journal 9, 1967, equation 1.

    F. Murtagh, *A survey of recent advances in hierarchical clustering algorithms*, The Computer
    Journal 26, 1983 (reciprocal nearest neighbours).

    D. Müllner, *Modern hierarchical, agglomerative clustering algorithms*, arXiv:1109.2378, 2011.

    Examples
    --------
    >>> from mlcore.cluster import AgglomerativeClustering
    >>> model = AgglomerativeClustering(2, linkage="average").fit([[0.0], [1.0], [5.0], [7.0]])
    >>> model.labels_
    array([0, 0, 1, 1])
    >>> model.distances_
    array([1. , 2. , 5.5])
    """

    set_callbacks = progress.set_callbacks
    n_clusters_: int
    n_leaves_: int
    n_connected_components_: int
    linkage_matrix_: np.ndarray
    children_: np.ndarray
    distances_: np.ndarray
    distance_threshold_: float | None
    _stored = {
        "n_clusters_": "size k",
        "n_leaves_": "size n",
        "labels_": "int n < k",
        "n_connected_components_": "count",
        "linkage_matrix_": "float64 n-1 4",
        "children_": "int n-1 2",
        "distances_": "float64 n-1",
        "distance_threshold_": "none | float",
    }

    _no_blocks = "it compares all pairs of rows"
    _instead = {
        "affinity": "use metric=",
        "compute_full_tree": "drop it: linkage_matrix_ always holds all merges",
        "memory": "drop it: scipy.cluster.hierarchy.fcluster cuts linkage_matrix_ again",
        "pooling_func": "use linkage=",
    }

    def __init__(
        self,
        n_clusters: int | None = 2,
        *,
        metric: Metric | Callable[..., float] = "euclidean",
        linkage: _Linkage = "ward",
        connectivity: Any = None,
        compute_distances: bool = True,
        distance_threshold: float | None = None,
        scaled_distance_threshold: float | None = None,
        verbose: bool | int = False,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.linkage = linkage
        self.connectivity = connectivity
        self.compute_distances = compute_distances
        self.distance_threshold = distance_threshold
        self.scaled_distance_threshold = scaled_distance_threshold
        self.verbose = verbose
        self.callback = callback

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Merge the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) of distances
        y : ignored

        Returns
        -------
        self
            This model.

        Raises
        ------
        TypeError, ValueError
            For parameters or data out of range, before any work; for distances of the metric that
            are NaN, infinite or negative.
        MemoryError
            If a matrix of distances does not fit; before it is allocated.
        """
        # Check parameters and data.
        settings, owner = self._settings(), type(self).__name__
        with Progress(self.verbose, self.callback, owner, self) as progress:
            checked = self._check_X(X, reset=True)
            n = len(checked)
            require_enough(n, settings.n_clusters or 1, "n_clusters")
            if self._precomputed:
                checked = given_distances(checked, owner)
            # Merge along the edges of a graph, if one is given.
            merge, n_components = None, 1
            if self.connectivity is not None:
                edges, component = as_edges(self.connectivity, checked, settings.metric, owner)
                n_components = int(component.max()) + 1
                merge = partial(merge_along, edges=edges)
                if 1 < n_components <= (settings.n_clusters or 0):
                    merge = partial(merge_apart, edges=edges, component=component)
            Z, largest = self._merges(checked, settings.metric, merge, merge_reporter(progress))
        # Cut the tree at a number of clusters or at a distance.
        children = Z[:, :2].astype(np.int64)
        k, threshold = settings.n_clusters, settings.threshold
        if self.scaled_distance_threshold is not None:
            threshold = threshold * largest
        kept = np.arange(n - 1) < n - k if threshold is None else Z[:, 2] < threshold
        # Label the samples by the trees that remain.
        n_clusters, labels = cut_tree(children, kept)
        shown = settings.compute_distances or threshold is not None
        self._set_fitted(
            X,
            n_clusters_=n_clusters,
            labels_=labels,
            n_leaves_=n,
            n_connected_components_=n_components,
            linkage_matrix_=Z,
            children_=children,
            **({"distances_": Z[:, 2].copy()} if shown else {}),
            distance_threshold_=None if threshold is None else float(threshold),
        )
        return self

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit to `X` and return the labels of its rows; `y` is ignored.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        labels : (n_samples,)
            `labels_` of the fit.
        """
        return self.fit(X).labels_

    def _check_loaded(self):
        """Refuse links to what is not merged yet, or twice."""
        if "children_" not in vars(self):
            return
        children, n = self.children_, self.n_leaves_
        merged = np.arange(n, 2 * n - 1)[:, None]
        once = np.array_equal(np.sort(children, axis=None), np.arange(2 * n - 2))
        if not once or (children >= merged).any():
            raise ValueError("children_ is no tree.")
        links = vars(self).get("linkage_matrix_", np.empty((n - 1, 0)))
        if links.shape[1] and not np.array_equal(links[:, :2], children):
            raise ValueError("linkage_matrix_ is not the tree of children_.")

    def _settings(self):
        # Check each parameter for itself, and metric with linkage.
        owner = type(self).__name__
        as_choice(self.linkage, "linkage", get_args(_Linkage), owner=owner)
        shown = as_bool(self.compute_distances, "compute_distances", owner=owner)
        metric = as_metric(self.metric, owner)
        if self.linkage in SQUARED and metric not in ("euclidean", "precomputed"):
            raise ValueError(
                f"{owner}: metric={self.metric!r} does not go with linkage={self.linkage!r}, which "
                "needs Euclidean distances: 'euclidean' or 'precomputed'."
            )
        # Connectivity restricts both.
        if self.connectivity is not None:
            as_choice(self.linkage, "with connectivity, linkage", LINKAGES, owner=owner)
            if self.linkage == "ward" and metric == "precomputed":
                raise ValueError(
                    f"{owner}: metric='precomputed' does not go with linkage='ward' and "
                    "connectivity, which need samples: their means tell how far clusters are."
                )
            if self.scaled_distance_threshold is not None and metric not in _SCALED:
                raise ValueError(
                    f"{owner}: scaled_distance_threshold with connectivity needs metric "
                    f"'euclidean' or 'precomputed', found {self.metric!r}."
                )
        # Exactly one rule must say where to cut the tree.
        if self.n_clusters is not None:
            as_integer(self.n_clusters, "n_clusters", owner=owner, at_least=1)
        for name in ("distance_threshold", "scaled_distance_threshold"):
            if getattr(self, name) is not None:
                as_real(getattr(self, name), name, owner=owner, at_least=0, allow_inf=True)
        stops = ("n_clusters", "distance_threshold", "scaled_distance_threshold")
        chosen = [name for name in stops if getattr(self, name) is not None]
        if len(chosen) != 1:
            raise ValueError(
                f"{owner}: Exactly one of n_clusters, distance_threshold and "
                f"scaled_distance_threshold must be given, the others None, but "
                f"{' and '.join(chosen) or 'none'} is not None."
            )
        threshold = None if chosen == ["n_clusters"] else getattr(self, chosen[0])
        return Settings(metric, self.n_clusters, threshold, shown)

    @property
    def _precomputed(self):
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _merges(self, X, metric, along, report):
        """Return the linkage matrix, and the largest distance of two samples if it is needed."""
        n = len(X)
        if n == 1:
            return np.empty((0, 4)), 0.0
        power, largest = 0, None
        scaled = self.scaled_distance_threshold is not None
        owner = type(self).__name__
        if metric == "euclidean":
            # A power of two: no digit changes, and squares neither overflow nor vanish.
            power = int(np.frexp(max(X.max(), -X.min()))[1])
            X = np.ldexp(X.astype(np.float64, copy=False), -power)
            largest = diameter(X) if scaled else None
            report_scaled = lambda new: report(np.ldexp(new, power))  # noqa: E731
            if along is None:
                merged, heights = self._merge_points(X, report_scaled)
            else:
                merged, heights = along(
                    X, linkage=self.linkage, metric=metric, owner=owner, report=report_scaled
                )
        elif along is not None:
            merged, heights = along(
                X, linkage=self.linkage, metric=metric, owner=owner, report=report
            )
            largest = float(X.max()) if scaled else None
        else:
            D = self._distances(X, metric)
            largest = max(D[start : start + 256, :n].max() for start in range(0, n, 256))
            for start in range(0, n if self.linkage in SQUARED else 0, 256):
                np.square(D[start : start + 256], out=D[start : start + 256])
            merged, heights = merge_matrix(D, self.linkage, np.ones(n), np.arange(n), report)
        in_order = along is not None or self.linkage in ("centroid", "median")
        order = np.arange(n - 1) if in_order else stable_order(heights)
        Z = linkage_matrix(merged, heights, order)
        Z[:, 2] = np.ldexp(Z[:, 2], power)
        return Z, np.ldexp(largest, power) if scaled else None

    def _merge_points(self, X, report):
        if self.linkage == "single":
            return spanning_tree(X, report)
        n, d = X.shape
        by_points = self.linkage == "ward" and n > _SMALL and d <= _WIDE
        if by_points or (self.linkage in ("average", "complete", "ward") and n > _WHOLE):
            clusters = PointClusters(X, self.linkage)
            clusters.merge(_LAST if by_points else min(max(_FEWEST, n // 4), _MOST), report)
            if len(clusters) > 1:
                D = square_matrix(len(clusters), type(self).__name__)
                clusters.matrix(D)
                merged, heights = merge_matrix(
                    D, self.linkage, clusters.size, clusters.name, report
                )
                clusters.merged.append(merged)
                clusters.heights.append(heights)
            return np.concatenate(clusters.merged), np.concatenate(clusters.heights)
        D = square_matrix(n, type(self).__name__)
        fill_euclidean(X, D, squared=self.linkage in SQUARED)
        return merge_matrix(D, self.linkage, np.ones(n), np.arange(n), report)

    def _distances(self, X, metric):
        owner, n = type(self).__name__, len(X)
        D = square_matrix(n, owner)
        if self._precomputed:
            for start in range(0, n, 256):
                rows, columns = X[start : start + 256], X[:, start : start + 256].T
                D[start : start + 256, :n] = rows / 2.0 + columns / 2.0
        else:
            fill_metric(X, D, metric, owner)
        return D


def linkage_matrix(merged: np.ndarray, heights: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return SciPy's linkage matrix of merges in `order`, given by a sample of both clusters."""
    n = len(merged) + 1
    Z = np.empty((n - 1, 4))
    _ext.label(np.ascontiguousarray(merged), heights, order, np.arange(n), np.arange(n), Z)
    return Z


def cut_tree(children: np.ndarray, kept: np.ndarray) -> tuple[int, np.ndarray]:
    """Return the number of clusters that the merges `kept` form, and the cluster of each sample.

    Merges above one that is not kept are left out, too. Clusters are in order of first samples.
    """
    n = len(children) + 1
    labels, top = np.empty(n, dtype=np.int64), np.empty(2 * n - 1, dtype=np.int64)
    return _ext.cut(children, kept.astype(np.uint8), top, labels), labels


def merge_reporter(progress):
    """Return a function that takes the distances of new merges and reports progress."""
    seen = [0, 0.0]

    def report(heights):
        if progress.active and len(heights):
            seen[0] += len(heights)
            seen[1] = max(seen[1], float(heights.max()))
            progress.step(seen[0], seen[1], float(heights.sum()))

    return report
