"""Logits of the probabilities of discrete components, and derivatives of log-densities in them."""

from typing import TYPE_CHECKING, Any

import numpy as np

from mlcore.mixture.discrete.zero_probabilities import logarithm
from mlcore.mixture.standard_errors import BOUNDARY, Coordinates

if TYPE_CHECKING:
    from mlcore.mixture.discrete.components import DiscreteComponents, Parameters


class Logits(Coordinates):
    """Logits of each item's probabilities against its last one that is neither 0 nor 1.

    A row's log-density is the sum over outcomes of their counts times log p, so that the score is
    the counts less what is expected of their total.
    """

    def __init__(self, components: "DiscreteComponents", parameters: "Parameters") -> None:
        self._components, self._table = components, parameters.table
        n_columns, k = self._table.shape
        n_items = np.size(components.n_outcomes) if np.ndim(components.n_outcomes) else 1
        items = components.by_column(np.arange(n_items)[:, None])
        items = np.broadcast_to(items, (n_columns, 1)).ravel()
        self._indicators = (items[:, None] == np.arange(n_items)).astype(np.float64)
        self._items = items
        labels = components.parameter_names()
        self.names, self.boundary, self._own, self._free = [], [], [], []
        for j in range(k):
            p = self._table[:, j]
            free = (p > BOUNDARY) & (p < 1 - BOUNDARY)
            free &= (self._indicators.T @ free)[items] > 1
            places = np.flatnonzero(free)
            last = np.unique(items[places][::-1], return_index=True)[1]
            own = np.delete(places, len(places) - 1 - last)
            # An item of one outcome is certain, and no boundary.
            fixed = np.flatnonzero(~free & (self._indicators.sum(axis=0)[items] > 1))
            self._own.append(own)
            self._free.append(free)
            self.names.append([labels(j, column) for column in own])
            self.boundary += dict.fromkeys(labels(j, column) for column in fixed)

    def block(self, X: Any) -> np.ndarray:
        return self._components.outcome_counts(X)

    def log_densities(self, block: np.ndarray) -> np.ndarray:
        possible = np.where(self._table > 0, self._table, 1.0)
        never = (self._table == 0).astype(np.float64)
        return np.where(block @ never > 0, -np.inf, block @ logarithm(possible))

    def _shares(self, j):
        """Return the probabilities of the own columns among the free ones of their items."""
        p = np.where(self._free[j], self._table[:, j], 0.0)
        return (p / np.maximum(self._indicators @ (self._indicators.T @ p), BOUNDARY))[self._own[j]]

    def _totals(self, block, j):
        """Return the counts of an item's free outcomes, (n, n_items)."""
        return (block * self._free[j]) @ self._indicators

    def scores(self, block: np.ndarray, j: int) -> np.ndarray:
        own = self._own[j]
        expected = self._totals(block, j)[:, self._items[own]] * self._shares(j)
        return block[:, own] - expected

    def information(self, block: np.ndarray, weight: np.ndarray, j: int) -> np.ndarray:
        own, q = self._own[j], self._shares(j)
        totals = (weight @ self._totals(block, j))[self._items[own]]
        same = self._items[own][:, None] == self._items[own]
        return np.diag(totals * q) - np.where(same, np.outer(totals * q, q), 0.0)

    def gradient(self, j: int) -> np.ndarray:
        own, p = self._own[j], self._table[:, j] * self._free[j]
        same = self._items[:, None] == self._items[own]
        return p[:, None] * (
            (np.arange(len(p))[:, None] == own) - np.where(same, self._shares(j), 0.0)
        )

    def attributes(self, errors: np.ndarray) -> dict[str, Any]:
        return self._components.by_attribute(errors)
