"""DBSCAN: samples with many others near them, joined where they are near each other."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from mlcore.checks import as_integer, as_real, as_weights
from mlcore.cluster.density.mutual_reachability import as_samples_of, components
from mlcore.cluster.metrics import Metric, as_metric
from mlcore.estimator.model import Clusterer, Model


class DBSCAN(Clusterer, Model):
    """Join samples in dense regions; the rest is noise.

    A core sample has samples of weight `min_samples` or more within `eps`, its own included. Core
    samples within `eps` of each other are in one cluster; another sample that has core samples
    within `eps` is in the cluster of the nearest of them, of equally near ones the first.

    Parameters
    ----------
    eps : float, default=0.5
        Distance up to which, itself included, two samples are neighbours.
    min_samples : int, default=5
        Least weight of the neighbours of a core sample, which counts itself.
    metric : str or callable, default="euclidean"
        As in `HDBSCAN`.

    Attributes
    ----------
    labels_ : (n_samples,) int64
        The cluster of each sample, in the order of their first core samples, or -1 for noise.
    core_sample_indices_ : (n_core_samples,) int64
    components_ : (n_core_samples, n_features)
        The core samples; not with "precomputed".
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Notes
    -----
    Memory is O(n d): neither distances nor lists of neighbours are kept. With few features a fit
    takes O(n log n) time in practice, for any `eps`, and O(n² d) with many or with another metric.
    The clusters of core samples are those of `HDBSCAN.single_linkage_tree_`, cut at `eps`.

    A sample of weight 0 is no core sample, but gets the label that a new one in its place would.

    References
    ----------
    M. Ester, H.-P. Kriegel, J. Sander, X. Xu, *A density-based algorithm for discovering clusters
    in large spatial databases with noise*, KDD 1996, definitions 1 to 6.

    R. J. G. B. Campello, D. Moulavi, J. Sander, *Density-based clustering based on hierarchical
    density estimates*, PAKDD 2013, section 3 (clusters of core samples as a cut of a tree).

    Examples
    --------
    >>> from mlcore.cluster import DBSCAN
    >>> DBSCAN(eps=1.5, min_samples=3).fit([[0.0], [1.0], [2.0], [3.5], [9.0]]).labels_
    array([ 0,  0,  0,  0, -1])
    """

    core_sample_indices_: np.ndarray
    components_: np.ndarray
    _stored = {
        "labels_": "int64 n",
        "core_sample_indices_": "int64 c? < n",
        "components_": "float c? f",
    }

    _no_blocks = "it compares all pairs of rows"
    _instead = {
        "algorithm": "drop it: the data decide",
        "leaf_size": "drop it: the data decide",
        "metric_params": "drop it: scales of a metric come from the data",
        "p": "use metric=, such as 'cityblock' or 'chebyshev'",
    }

    def __init__(
        self,
        eps: float = 0.5,
        *,
        min_samples: int = 5,
        metric: Metric | Callable[..., float] = "euclidean",
    ) -> None:
        self.eps = eps
        self.min_samples = min_samples
        self.metric = metric

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = tags.input_tags.sparse = self.metric == "precomputed"
        return tags

    def _check_loaded(self):
        """Refuse labels that are neither noise nor clusters."""
        if "labels_" in vars(self):
            require_labels(self.labels_, len(self.core_sample_indices_))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the core samples, and join them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) of distances
            As in `HDBSCAN`.
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
            For parameters or data out of range, before any work; for distances of the metric that
            are NaN, infinite or negative.
        """
        owner = type(self).__name__
        eps = as_real(self.eps, "eps", owner=owner, above=0)
        least = as_integer(self.min_samples, "min_samples", owner=owner, at_least=1)
        metric = as_metric(self.metric, owner)
        checked = self._check_X(X, reset=True, accept_sparse=metric == "precomputed")
        n = checked.shape[0]
        weights = None if sample_weight is None else as_weights(sample_weight, n)
        samples = as_samples_of(checked, metric, owner)
        # Core samples, of those that are there.
        there = np.arange(n) if weights is None else np.flatnonzero(weights)
        present = samples if len(there) == n else samples.part(there)
        core = present.core_distances(least, None if weights is None else weights[there])
        core, core_samples = core[core <= eps], there[core <= eps]
        # Their components, and the nearest of them for each other sample.
        labels = np.full(n, -1, dtype=np.int64)
        if len(core_samples):
            dense = samples.part(core_samples)
            # Core distances change no edge up to eps that joins two of them, and spare searches.
            edges, _ = dense.spanning_tree(core, 1.0, lambda _: None, eps)
            labels[core_samples] = components(edges, dense.n)
            others = np.flatnonzero(labels < 0)
            if len(others):
                nearest, distance = samples.nearest(others, core_samples)
                near = distance <= eps
                labels[others[near]] = labels[nearest[near]]
        kept = {} if metric == "precomputed" else {"components_": checked[core_samples]}
        self._set_fitted(X, labels_=labels, core_sample_indices_=core_samples, **kept)
        return self


def require_labels(labels: np.ndarray, n_clusters: int) -> None:
    """Refuse labels in a file that are not from -1 to the number of clusters less 1."""
    if labels.min() < -1 or labels.max() >= n_clusters:
        raise ValueError(f"labels_ must be from -1 to {n_clusters - 1}.")
