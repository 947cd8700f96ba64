"""Table of two partitions: how many samples each class shares with each cluster."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_bool, as_weights
from mlcore.cluster.partition import as_partition
from mlcore.runtime.memory import require_memory

_EXACT = 2**53  # whole float64 numbers are exact up to here


@dataclass(frozen=True)
class Contingency:
    """Cells of the table that are not 0, and its margins: int64, or float64 for other weights."""

    classes: np.ndarray
    clusters: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    counts: np.ndarray

    @cached_property
    def a(self) -> np.ndarray:
        """Sizes of the classes."""
        return self._margin(self.rows, len(self.classes))

    @cached_property
    def b(self) -> np.ndarray:
        """Sizes of the clusters."""
        return self._margin(self.columns, len(self.clusters))

    @cached_property
    def total(self) -> Any:
        return self.counts.sum().item()

    def _margin(self, places, length):
        return np.bincount(places, self.counts, length).astype(self.counts.dtype)

    @property
    def pure(self) -> bool:
        """Every cluster holds samples of one class."""
        return len(self.counts) == len(self.clusters)

    @property
    def complete(self) -> bool:
        """Every class lies in one cluster."""
        return len(self.counts) == len(self.classes)


def contingency(
    labels_true: Any, labels: Any, sample_weight: Any, owner: str, *, whole: bool = False
) -> Contingency:
    """Return the table of checked labels. Samples of weight 0 are absent.

    `whole` refuses weights that are no numbers of copies.
    """
    classes, true = as_partition(labels_true, None, owner=owner, name="labels_true")
    n = len(true)
    clusters, found = as_partition(labels, n, owner=owner)
    weights = None
    if sample_weight is not None:
        weights = as_weights(sample_weight, n)
        counted = bool((weights == np.floor(weights)).all()) and weights.sum() <= _EXACT
        if whole and not counted:
            require_copies(weights, owner)
        kept = np.flatnonzero(weights)
        if len(kept) < n:
            weights = weights[kept]
            used, true = np.unique(true[kept], return_inverse=True)
            classes = classes[used]
            used, found = np.unique(found[kept], return_inverse=True)
            clusters = clusters[used]
    k, m = len(classes), len(clusters)
    if k * m <= 4 * n + 1024:
        table = np.bincount(true * m + found, weights, k * m)
        cells = np.flatnonzero(table)
        rows, columns, counts = cells // m, cells % m, table[cells]
    else:
        ones = np.ones(len(true), dtype=np.int64) if weights is None else weights
        matrix = sp.coo_array((ones, (true, found)), shape=(k, m)).tocsr()
        matrix.sort_indices()
        rows = np.repeat(np.arange(k), np.diff(matrix.indptr))
        columns, counts = matrix.indices.astype(np.int64), matrix.data
    if weights is None or counted:
        counts = counts.astype(np.int64)
    return Contingency(classes, clusters, rows, columns, counts)


def require_copies(weights: np.ndarray, owner: str) -> None:
    """Refuse weights that are not whole or have too large a sum, as they count copies."""
    broken = np.flatnonzero(weights != np.floor(weights))
    if len(broken):
        raise ValueError(
            f"{owner}: sample_weight[{broken[0]}] is {weights[broken[0]]:.15g}, but must be a "
            "whole number, as it counts copies of the sample."
        )
    if weights.sum() > _EXACT:
        raise ValueError(
            f"{owner}: sample_weight has the sum {weights.sum():.15g}, but may count at most "
            f"{_EXACT} copies."
        )


def contingency_matrix(
    labels_true: Any, labels: Any, *, sparse: bool = False, sample_weight: Any = None
) -> Any:
    """Return how many samples each class of one partition shares with each cluster of another.

    Parameters
    ----------
    labels_true, labels : array-like of shape (n_samples,)
        The class and the cluster of each sample; any sortable values.
    sparse : bool, default=False
        Return a csr_array, for partitions into many parts.
    sample_weight : array-like of shape (n_samples,), optional
        2 stands for two copies of a sample, 0 for its absence.

    Returns
    -------
    table : ndarray or csr_array of shape (n_classes, n_clusters)
        In the order of the sorted labels; int64, or float64 for weights that are not whole.

    Raises
    ------
    ValueError, TypeError
        For labels that are empty, or of different lengths, and for bad weights.
    MemoryError
        If the dense table does not fit into free memory.

    Notes
    -----
    O(n) time for labels that are integers of a short range, otherwise they are sorted.

    References
    ----------
    .. [1] L. Hubert, P. Arabie, *Comparing partitions*, Journal of Classification 2, 1985, table 1.

    Examples
    --------
    >>> from mlcore.cluster import contingency_matrix
    >>> contingency_matrix(["a", "a", "b", "b"], [0, 1, 1, 1])
    array([[1, 1],
           [0, 2]])
    """
    owner = "contingency_matrix"
    sparse = as_bool(sparse, "sparse", owner=owner)
    table = contingency(labels_true, labels, sample_weight, owner)
    shape = len(table.classes), len(table.clusters)
    if sparse:
        return sp.csr_array((table.counts, (table.rows, table.columns)), shape=shape)
    require_memory(*shape, 8, what="The table", instead="pass sparse=True")
    cells = np.zeros(shape, dtype=table.counts.dtype)
    cells[table.rows, table.columns] = table.counts
    return cells
