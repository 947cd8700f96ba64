"""Assignment of few dense samples: several steps of Lloyd's algorithm in one call."""

from typing import Any

import numpy as np

from mlcore._ext.cluster.k_means import small_assignment as _ext
from mlcore.cluster.k_means.origin_and_unit import OriginAndUnit


def half_norms(centers: np.ndarray) -> np.ndarray:
    """Return half the squared norms of centres, compiled: all searches use the same bits."""
    halves = np.empty(len(centers), dtype=centers.dtype)
    _ext.half_norms(centers, halves)
    return halves


def search_scratch(n_features: int, n_centers: int, itemsize: int) -> int:
    """Return the number of values that a thread's search of all centres, padded, works in."""
    return _ext.scratch_values(n_features, n_centers, itemsize)


class SmallAssignment:
    """Assignment of few dense samples: all centres are searched, several steps in one call.

    `weights`, float64 (n,), are empty for ones; `summed` is False if only labels are wanted.
    """

    weights: np.ndarray
    labels: np.ndarray

    def __init__(
        self,
        X: np.ndarray,
        weights: np.ndarray,
        units: OriginAndUnit,
        n_clusters: int,
        summed: bool = True,
    ) -> None:
        n, d = X.shape
        self.weights, self.labels = weights, np.full(n, -1, dtype=np.int32)
        self._X = units.place(X)
        rows = n_clusters if summed else 0
        self._sums, self._counts = np.zeros((rows, d)), np.zeros(rows)
        padded = -(-n_clusters // 4) * 4
        size = padded * (d + 1) + search_scratch(d, padded, X.itemsize)
        self._scratch = np.zeros(size, dtype=X.dtype)

    def assign(self, centers: np.ndarray) -> int:
        """Give each sample the label of its nearest centre, and return how many labels changed."""
        return _ext.assign(
            self._X, self.weights, centers, self.labels, self._sums, self._counts, self._scratch
        )

    def steps(
        self, centers: np.ndarray, n_steps: int, tol: float, squares: float, duplicate: float
    ) -> tuple[Any, ...]:
        """Take up to `n_steps` steps of Lloyd's algorithm.

        Return centres, trace, squared movements, labels changed last, and True if that exceeded
        `tol`.
        """
        centers = centers.copy()
        trace, shifts = np.empty(n_steps), np.empty(n_steps)
        made, changed, moved = _ext.steps(
            self._X, self.weights, centers, self.labels, self._sums, self._counts,
            np.empty_like(self._sums), np.empty_like(self._counts), self._scratch,
            np.empty(len(self._X)), squares, tol, duplicate, trace, shifts,
        )  # fmt: skip
        return centers, trace[:made].tolist(), shifts[:made].tolist(), changed, moved

    def totals(self) -> tuple[Any, ...]:
        """Return the weighted sums (k, d) and the weights (k,) by label, both float64."""
        return self._sums, self._counts

    def objective(self, centers: np.ndarray) -> tuple[Any, ...]:
        """Return the weighted sum of squared distances from the centres, and the largest."""
        squared = np.empty(len(self._X))
        return _ext.distances(self._X, self.weights, centers, self.labels, squared)
