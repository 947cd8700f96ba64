"""Draws of rows in proportion to their weights.

Rows are drawn along one fixed projection of the data, so that neither their order nor repetition by
weights or by copies changes the draws.
"""

from typing import Any

import numpy as np
from scipy import sparse as sp

from mlcore.runtime.threads import single_threaded_blas

_BLOCK = 2**14  # rows summed at a time
_MISSING = 0.3690123


class RowSampler:
    """Draws rows of `X` with probabilities in proportion to their weights, empty for ones."""

    @single_threaded_blas()
    def __init__(self, X: Any, weights: Any) -> None:
        n, d = X.shape
        direction = np.sin(1.0 + np.arange(d))
        keys = np.empty(n)
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, n, _BLOCK):
                block = X if n <= _BLOCK else X[start : start + _BLOCK]
                if not sp.issparse(block):
                    block = np.asarray(block, dtype=np.float64)
                sums = block @ direction
                if np.isnan(sums).any():  # missing values count as one that no data have
                    sums = np.where(np.isnan(block), _MISSING, block) @ direction
                keys[start : start + _BLOCK] = sums
        order = np.argsort(keys)
        del keys
        self._order = order.astype(np.int32 if n < 2**31 else np.int64)
        self._weights = weights
        self._cumulative = None

    @property
    def order(self) -> np.ndarray:
        """Indices of all rows, sorted along the projection."""
        return self._order

    def draw(self, uniform: np.ndarray, factor: np.ndarray | None = None) -> np.ndarray:
        """Return a row for each number in [0, 1), or no rows if all probabilities are 0.

        `factor` multiplies the weights.
        """
        starts = range(0, len(self._order), _BLOCK)
        ends = np.cumsum([self._mass(start, factor).sum() for start in starts])
        if not ends[-1] > 0:
            return np.empty(0, dtype=np.int64)
        drawn = np.empty(len(uniform), dtype=np.int64)
        cumulative = {}
        for t, target in enumerate(np.asarray(uniform) * ends[-1]):
            block = min(int(np.searchsorted(ends, target, side="right")), len(ends) - 1)
            while block and ends[block] == ends[block - 1]:
                block -= 1
            if block not in cumulative:
                mass = self._mass(starts[block], factor)
                last = len(mass) - 1 - int(np.argmax(mass[::-1] > 0))
                cumulative[block] = np.cumsum(mass), last
            sums, last = cumulative[block]
            before = ends[block - 1] if block else 0.0
            at = min(int(np.searchsorted(sums, target - before, side="right")), last)
            drawn[t] = self._order[starts[block] + at]
        return drawn

    def draw_many(self, uniform: np.ndarray) -> np.ndarray:
        """Return rows as `draw` does; faster for many numbers or calls."""
        n = len(self._order)
        if not len(self._weights):
            return self._order[np.minimum((uniform * n).astype(np.int64), n - 1)]
        if self._cumulative is None:
            self._cumulative = np.cumsum(self._weights[self._order])
        total = self._cumulative[-1]
        at = np.searchsorted(self._cumulative, uniform * total, side="right")
        last = np.searchsorted(self._cumulative, total)  # later ones have no weight
        return self._order[np.minimum(at, last)]

    def _mass(self, start, factor):
        rows = self._order[start : start + _BLOCK]
        if len(self._weights):
            mass = self._weights[rows]
            return mass if factor is None else mass * factor[rows]
        return np.ones(len(rows)) if factor is None else factor[rows].astype(np.float64, copy=False)


def random_rows(sampler: Any, n_clusters: Any, n_samples: Any, rng: Any) -> np.ndarray:
    """Return distinct rows, drawn one after the other by their weights."""
    left = np.ones(n_samples)
    rows = []
    while len(rows) < n_clusters:
        drawn = sampler.draw(rng.random(n_clusters - len(rows)), left)
        drawn = list(dict.fromkeys(drawn.tolist()))
        rows += drawn
        left[drawn] = 0
    return np.array(rows)
