"""Centres to start from when rows come in blocks: few passes, no row missed for being rare."""

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_weights
from mlcore.cluster.k_means.assignment import nearest_labels

ROUNDS = 3
_VALUES = 1 << 20  # of a block of rows: some megabytes


class FarRows(NamedTuple):
    """Rows drawn by their distance from the centres, the smallest keys of all rows, ascending.

    `offsets`, float64 (m, n_features), are from the model's origin.
    """

    keys: np.ndarray
    offsets: np.ndarray


class DrawFarRows:
    """The task that draws rows, each next one in proportion to weight times squared distance.

    The smallest keys win, so that neither the order of blocks nor the total matters (P. Efraimidis,
    P. Spirakis, *Weighted random sampling with a reservoir*, Inf. Process. Lett. 97, 2006).
    """

    model: Any
    n_rows: int
    seed: list[Any]
    name: str

    def __init__(self, model: Any, n_rows: int, seed: list[int], name: str) -> None:
        self.model, self.n_rows, self.seed, self.name = model, n_rows, seed, name

    def __call__(self, number: int, X: Any, y: Any, sample_weight: Any) -> FarRows:
        X, units, centers = self.model._new_samples(X)
        cost = squared_distances(X, nearest_labels(X, units, centers), self.model)
        if sample_weight is not None:
            cost *= as_weights(sample_weight, X.shape[0])
        drawn = np.random.default_rng([*self.seed, number]).standard_exponential(X.shape[0])
        with np.errstate(divide="ignore", over="ignore"):
            keys = np.where(cost > 0, drawn / cost, np.inf)
        rows = np.argsort(keys, kind="stable")[: self.n_rows]
        rows = rows[keys[rows] < np.inf]
        chosen = X[rows].toarray() if sp.issparse(X) else X[rows]
        return FarRows(keys[rows], chosen.astype(np.float64) - self.model.origin_)

    def merge(self, a: FarRows, b: FarRows) -> FarRows:
        keys, offsets = np.concatenate([a.keys, b.keys]), np.concatenate([a.offsets, b.offsets])
        rows = np.argsort(keys, kind="stable")[: self.n_rows]
        return FarRows(keys[rows], offsets[rows])


class WeighCells:
    """The task that sums the rows nearest to each centre."""

    model: Any
    merge: Any
    name: str

    def __init__(self, model: Any, name: str) -> None:
        self.model, self.merge, self.name = model, model.merge, name

    def __call__(self, number: int, X: Any, y: Any, sample_weight: Any) -> Any:
        return self.model.partial_statistics(X, y, sample_weight)


def squared_distances(X: Any, labels: np.ndarray, model: Any) -> np.ndarray:
    """Return the squared distances of checked rows from the centres of their labels, float64."""
    out = np.empty(X.shape[0])
    offsets, origin = model.offsets_.astype(np.float64), model.origin_.astype(np.float64)
    if not sp.issparse(X):
        step = max(1, _VALUES // X.shape[1])
        for first in range(0, len(out), step):
            rows = slice(first, first + step)
            off = X[rows] - origin - offsets[labels[rows]]
            out[rows] = np.einsum("ij,ij->i", off, off)
        return out
    centers, n_values = offsets + origin, np.diff(X.indptr)
    row = np.repeat(np.arange(len(out)), n_values)
    values, products = X.data.astype(np.float64), centers[labels[row], X.indices]
    out[:] = np.bincount(row, values * (values - 2 * products), minlength=len(out))
    return np.maximum(0.0, out + np.square(centers).sum(axis=1)[labels])


def start_over_blocks(model: Any, total: Callable[[Any], Any], seed: int) -> np.ndarray | None:
    """Return offsets of centres to start from, None if the model's own do as well.

    After B. Bahmani et al., *Scalable k-means++*, PVLDB 5, 2012, algorithm 2, the centres of the
    model in place of the first rounds. `total` returns what a task gives for all blocks, merged.
    """
    rough, k, name = copy.copy(model), model.n_clusters, f"{type(model).__name__}-start"
    rough.callback = None  # it need not be pickled
    for step in range(ROUNDS):
        far = total(DrawFarRows(rough, k, [seed, step], f"{name}-{step + 1}"))
        if len(far.keys) == 0:
            break
        offsets = np.concatenate([rough.offsets_, far.offsets])
        rough._move(offsets.astype(model.offsets_.dtype))
    cells = total(WeighCells(rough, f"{name}-weights"))
    present = cells.counts > 0
    if np.count_nonzero(present) < k or len(rough.offsets_) == len(model.offsets_):
        return None
    means, weights = cells.sums[present] / cells.counts[present, None], cells.counts[present]
    coarse = type(model)(k, n_init=3, random_state=seed % 2**32)
    centers = coarse.fit(means, sample_weight=weights).cluster_centers_
    return centers.astype(model.offsets_.dtype)
