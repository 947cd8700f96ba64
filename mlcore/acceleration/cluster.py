"""Replacements of classes of `sklearn.cluster`."""

from heapq import heappush, heappushpop
from numbers import Integral
from typing import Any

import numpy as np
import sklearn.cluster
from scipy import sparse
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import _check_sample_weight

import mlcore.cluster
from mlcore.acceleration.replacement import Fallback, Replacement, by_mlcore
from mlcore.acceleration.rules import (
    COUNT,
    FREE,
    NONE,
    NOT_NEGATIVE,
    SILENT,
    TRUTH,
    Rule,
    any_seed,
    one_of,
)
from mlcore.runtime.threads import effective_threads

_RANDOM_STARTS = 10  # of scikit-learn's n_init="auto"
_TIED = 1e-12  # relative
_SEEN = 1000  # rows, of which the distinct numbers are counted
_COPIES = 4  # of each number on average, from which data are on a grid
_NO_GRID = (
    "data that are not on a grid, as pixels and counts are: their distances are tied, and rounding "
    "chooses among several results"
)


class KMeans(Replacement, sklearn.cluster.KMeans):
    """scikit-learn's KMeans: its starts, and the steps of `mlcore.cluster.KMeans`."""

    original = sklearn.cluster.KMeans
    peer = "mlcore.cluster.KMeans"
    rules = {
        "n_clusters": COUNT,
        "init": Rule(
            "'k-means++', 'random' or an array",
            lambda value: (
                value in ("k-means++", "random") if isinstance(value, str) else _is_rows(value)
            ),
            passed=False,
        ),
        "n_init": Rule(
            "'auto' or an integer, at least 1",
            lambda value: value == "auto" if isinstance(value, str) else COUNT.allows(value),
            passed=False,
        ),
        "max_iter": COUNT,
        "tol": NOT_NEGATIVE,
        "verbose": SILENT,
        "random_state": any_seed(),
        "copy_x": FREE,
        "algorithm": one_of("lloyd", "elkan", passed=False),
    }
    conditions = (_NO_GRID, "as many distinct samples as clusters")
    note = (
        "starts are drawn by scikit-learn's own `kmeans_plusplus`, so the same start leads to the "
        "same local optimum; `n_iter_` may be one less"
    )
    sparse_rows = single_precision = True

    fit = by_mlcore(sklearn.cluster.KMeans.fit)

    def _fitted(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, dict[str, Any]]:
        given = not isinstance(self.init, str)
        if given and self.n_init not in ("auto", 1):
            raise Fallback("n_init is not 1 while the start is given")
        X = self._validated(X)
        if X.shape[0] < self.n_clusters:
            raise Fallback("there are fewer samples than clusters")
        _refuse_grid(X)
        weights = _check_sample_weight(sample_weight, X, dtype=X.dtype)
        origin = np.zeros(X.shape[1], X.dtype) if sparse.issparse(X) else X.mean(axis=0)
        rows = X if sparse.issparse(X) else X - origin
        tol = self.tol if sample_weight is None else self.tol * _ratio_of_variances(rows, weights)
        weighing = None if sample_weight is None else weights
        best, rng = None, check_random_state(self.random_state)
        n_init = {"auto": 1 if given or self.init == "k-means++" else _RANDOM_STARTS}
        for _ in range(n_init.get(self.n_init, self.n_init)):
            model = mlcore.cluster.KMeans(
                **(self._passed() | {"tol": tol}),
                init=self._start(rows, weights, origin, rng),
                n_init=1,
            ).fit(rows, sample_weight=weighing)
            if len(model.cluster_centers_) < self.n_clusters:
                raise Fallback("there are fewer distinct samples than clusters")
            if best is None or (
                model.inertia_ < best.inertia_ and not _alike(model.labels_, best.labels_)
            ):
                best = model
        return best, {
            "cluster_centers_": best.cluster_centers_ + origin,
            "labels_": best.labels_.copy(),
            "inertia_": float(best.inertia_),
            "n_iter_": best.n_iter_,
            "_n_features_out": self.n_clusters,
            "_n_threads": effective_threads(),
        }

    def _start(self, rows: Any, weights: Any, origin: Any, rng: Any) -> Any:
        """Return centres as scikit-learn draws them."""
        if not isinstance(self.init, str):
            return check_array(self.init, dtype=rows.dtype, order="C") - origin
        if self.init == "k-means++":
            centers, _ = sklearn.cluster.kmeans_plusplus(
                rows, self.n_clusters, sample_weight=weights, random_state=rng
            )
        else:
            share = weights / weights.sum()
            centers = rows[rng.choice(len(weights), self.n_clusters, replace=False, p=share)]
        return centers.toarray() if sparse.issparse(centers) else centers

    def _evidence(self) -> str:
        trace = self.mlcore_model_.objective_trace_
        rise = max(0.0, float(np.max(np.diff(trace), initial=0)))
        return (
            f"objective {trace[-1]:.6g} after {len(trace)} steps, largest rise in a step {rise:.1e}"
        )


def _refuse_grid(X: Any) -> None:
    """Raise Fallback for data of few distinct numbers."""
    numbers = X[:_SEEN].data if sparse.issparse(X) else X[:_SEEN]
    if len(np.unique(numbers)) * _COPIES < numbers.size:
        raise Fallback("the data are on a grid, so that distances are tied")


def _is_rows(value: Any) -> bool:
    return hasattr(value, "__array__") or isinstance(value, list)


def _ratio_of_variances(rows: Any, weights: Any) -> float:
    """Return scikit-learn's variance, of rows, over mlcore's, of weighted rows."""

    def variance(weights: Any) -> float:
        total = weights.sum()
        mean = np.asarray(rows.T @ weights).ravel() / total
        squares = rows.multiply(rows) if sparse.issparse(rows) else rows**2
        return float(np.mean(np.asarray(squares.T @ weights).ravel() / total - mean**2))

    weighted = variance(weights.astype(np.float64))
    if not weighted > 0:
        raise Fallback("samples with weight do not vary")
    return variance(np.ones(len(weights))) / weighted


def _alike(labels: Any, others: Any) -> bool:
    """Return True for the same clusters, whatever their numbers."""
    pairs = np.unique(labels.astype(np.int64) * (others.max() + 1) + others)
    return len(pairs) == len(np.unique(labels)) == len(np.unique(others))


class AgglomerativeClustering(Replacement, sklearn.cluster.AgglomerativeClustering):
    """scikit-learn's AgglomerativeClustering, by the merges of mlcore's class."""

    original = sklearn.cluster.AgglomerativeClustering
    peer = "mlcore.cluster.AgglomerativeClustering"
    rules = {
        "n_clusters": Rule(
            "an integer, at least 1, or None",
            lambda value: value is None or COUNT.allows(value),
            passed=False,
        ),
        "metric": one_of("euclidean", "precomputed"),
        "memory": NONE,
        "connectivity": NONE,
        "compute_full_tree": one_of("auto", True, False, passed=False),
        "linkage": one_of("ward", "complete", "average"),
        "distance_threshold": Rule(
            "None or a number, at least 0",
            lambda value: value is None or NOT_NEGATIVE.allows(value),
            passed=False,
        ),
        "compute_distances": TRUTH,
    }
    conditions = (
        _NO_GRID,
        "no tied heights of merges: where there are ties, several trees are right",
    )
    note = "the same merges, numbered as in scikit-learn"

    fit = by_mlcore(sklearn.cluster.AgglomerativeClustering.fit)

    def _fitted(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, dict[str, Any]]:
        X = self._validated(X, ensure_min_samples=2)
        n, threshold = len(X), self.distance_threshold
        if (self.n_clusters is None) == (threshold is None) or (
            threshold is not None and not self.compute_full_tree
        ):
            raise Fallback("n_clusters and distance_threshold do not go together")
        if self.n_clusters is not None and self.n_clusters > n:
            raise Fallback("there are fewer samples than clusters")
        _refuse_grid(X)
        passed = self._passed() | {"compute_distances": True}
        model = mlcore.cluster.AgglomerativeClustering(n_clusters=1, **passed).fit(X)
        heights, children = model.distances_, model.children_.astype(np.intp)
        if (np.diff(heights) <= _TIED * heights[1:]).any():
            raise Fallback("heights of merges are tied")
        n_clusters = self.n_clusters
        if threshold is not None:
            n_clusters = np.count_nonzero(heights >= threshold) + 1
        attributes = {
            "children_": children,
            "labels_": _cut(children, n, n_clusters),
            "n_clusters_": n_clusters,
            "n_leaves_": n,
            "n_connected_components_": 1,
            "_metric": self.metric,
        }
        if threshold is not None or self.compute_distances:
            attributes["distances_"] = heights
        return model, attributes

    def _evidence(self) -> str:
        heights = self.mlcore_model_.distances_
        closest = float(np.min(np.diff(heights) / heights[1:], initial=1))
        return f"{len(heights)} merges, heights differ by {closest:.1e} of themselves or more"


def _cut(children: Any, n_leaves: int, n_clusters: int | Integral) -> Any:
    """Return labels of the clusters that remain when the last merges are undone.

    They are numbered as in scikit-learn: by their place in a heap of nodes, the last merge first.
    """
    nodes = [-(2 * n_leaves - 2)]
    for _ in range(int(n_clusters) - 1):
        left, right = children[-nodes[0] - n_leaves]
        heappush(nodes, -left)
        heappushpop(nodes, -right)
    label = np.full(2 * n_leaves - 1, -1, dtype=np.intp)
    label[[-node for node in nodes]] = np.arange(len(nodes))
    for merge in range(n_leaves - 2, -1, -1):
        if label[n_leaves + merge] >= 0:
            label[children[merge]] = label[n_leaves + merge]
    return label[:n_leaves].copy()
