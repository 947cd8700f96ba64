"""Condensed tree of a hierarchy of merges: clusters that split, and rows that leave them."""

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from mlcore._ext.cluster.density import condensed_tree as _ext
from mlcore.checks.stored import stored
from mlcore.estimator.printed import fields_as_table


@stored(version=1)
@dataclass(frozen=True, repr=False)
class CondensedTree:
    """Clusters of a hierarchy, each with what it splits into and the rows that leave it.

    Entry i below n is row i of the samples, those from n on are the clusters but the root. Clusters
    are numbered from n, the root, and parents come before children.

    Parameters
    ----------
    parent : (n_entries,) int64
        The cluster that the row leaves, or that splits.
    child : (n_entries,) int64
        The row, or the new cluster.
    lambda_val : (n_entries,) float64
        One over the height at which this happens; infinite for height 0.
    child_size : (n_entries,) float64
        Weight of the row or of the cluster's rows.
    selected : (n_clusters,) int64
        The clusters that have labels 0, 1, ...

    Examples
    --------
    >>> from mlcore.cluster import HDBSCAN
    >>> X = [[0.0], [1.0], [2.0], [4.0], [20.0], [21.0], [23.0], [24.0], [26.0], [50.0]]
    >>> tree = HDBSCAN(3).fit(X).condensed_tree_
    >>> tree.child_size[10:], 1 / tree.lambda_val[10:]
    (array([4., 5.]), array([16., 16.]))
    """

    parent: np.ndarray
    child: np.ndarray
    lambda_val: np.ndarray
    child_size: np.ndarray
    selected: np.ndarray

    _stored = {
        "parent": "int64 e",
        "child": "int64 e",
        "lambda_val": "float64 e",
        "child_size": "float64 e",
        "selected": "int64 k?",
    }

    __repr__ = fields_as_table

    def to_frame(self) -> Any:
        """Return a pandas data frame with a row for each entry.

        Returns
        -------
        frame : pandas.DataFrame
            The columns parent, child, lambda_val and child_size.
        """
        import pandas as pd

        names = [field.name for field in fields(self)[:4]]
        return pd.DataFrame({name: getattr(self, name) for name in names})


class Selection(NamedTuple):
    """Parameters of `HDBSCAN` that choose clusters, checked; `most` is infinite for no limit."""

    leaves: bool
    root: bool
    most: float
    epsilon: float


class Clusters(NamedTuple):
    """Labels of the rows, what they are worth, and the tree that they come from."""

    tree: CondensedTree
    labels: np.ndarray
    probabilities: np.ndarray
    outlier_scores: np.ndarray
    persistence: np.ndarray
    objective: float
    n_tied_merges: int


def clusters_of(
    Z: np.ndarray, core: np.ndarray, weights: np.ndarray, least: float, selection: Selection
) -> Clusters:
    """Return the clusters of weight `least` or more of a hierarchy, SciPy's linkage matrix.

    A weight stands for copies of a row, which merge at its core distance. O(n) time.
    """
    n = len(core)
    # Heights of magnitude 1: their reciprocals are finite.
    finite = Z[:, 2][np.isfinite(Z[:, 2])]
    power = int(np.frexp(finite.max(initial=0.0))[1])
    size, fall = np.empty((2, 2 * n - 1))
    size[:n] = weights
    head, state = np.empty((2, 2 * n - 1), dtype=np.int64)
    parent, birth, weight = np.empty(2 * n, dtype=np.int64), *np.empty((2, 2 * n))
    cluster, leave = np.empty(n, dtype=np.int64), np.empty(n)
    count, tied = _ext.condense(
        Z[:, :2].astype(np.int64), np.ldexp(Z[:, 2], -power), np.ldexp(core, -power), least, size,
        head, state, fall, parent, birth, weight, cluster, leave,
    )  # fmt: skip
    del size, fall, head, state
    parent, birth, weight = (a[:count].copy() for a in (parent, birth, weight))
    with np.errstate(over="ignore"):
        lambdas = np.ldexp(np.concatenate((leave, birth[1:])), -power)
    # For what follows, rows that merge at height 0 do so at half of the least height above.
    at_zero = np.isinf(leave)
    if at_zero.any():
        most = max(leave[~at_zero].max(initial=0.0), birth[np.isfinite(birth)].max())
        leave[at_zero], birth[np.isinf(birth)] = 2 * most or 1.0, 2 * most
    sums, (stability, last), peak = np.empty((count, 2)), np.empty((2, count)), np.zeros(count)
    _ext.stabilities(
        cluster, leave, weights, parent, birth, weight, sums, stability, last, peak
    )  # fmt: skip
    # Choose clusters, and label their rows.
    chosen, scratch = np.empty(count, dtype=np.uint8), np.empty((3, count), dtype=np.int64)
    _ext.select(
        parent, weight, stability, selection.leaves, selection.root, selection.most, sums, chosen
    )
    epsilon, densest = float(np.ldexp(selection.epsilon, -power)), 0.0
    if epsilon > 0:
        densest = 1 / epsilon
        _ext.merge_splits(parent, birth, selection.root, densest, scratch[0], chosen)
    labels, own = np.empty(n, dtype=np.int64), scratch[0]
    k = _ext.label_rows(
        cluster, leave, parent, chosen, densest, own, scratch[1], labels, scratch[2]
    )
    selected = scratch[2, :k].copy()
    inside = labels >= 0
    probabilities = np.zeros(n)
    top = last[own[cluster[inside]]]
    probabilities[inside] = np.minimum(leave[inside], top) / top
    summits = peak[cluster]
    scores = 1 - np.divide(leave, summits, out=np.ones(n), where=summits > 0)
    tree = CondensedTree(
        np.concatenate((cluster, parent[1:])) + n,
        np.concatenate((np.arange(n), np.arange(n + 1, n + count))),
        lambdas,
        np.concatenate((weights, weight[1:])),
        selected + n,
    )
    with np.errstate(over="ignore"):
        objective = float(np.ldexp(stability[selected].sum(), -power))
    persistence = stability[selected] / (weight[selected] * last[selected])
    return Clusters(tree, labels, probabilities, scores, persistence, objective, tied)
