"""Response patterns of groups of neighbouring items: a row then has fewer entries."""

from itertools import pairwise
from typing import Any

import numpy as np

from mlcore._ext.mixture import patterns as _ext
from mlcore.runtime.threads import effective_threads

_PATTERNS = 256  # of one group, at most
_CACHED = 1 << 19  # bytes of the tables of all groups, for them to stay in the second-level cache
_ENTRIES = 64  # rows of a pattern, on average; with fewer, its sums cost more than they save
_CODES = 1 << 16  # values of an item that are looked up in a table, rather than searched for
_SMALL = 256  # smaller categories are found in one pass over all items


class Patterns:
    """Groups of neighbouring items, and patterns: the combinations of their values.

    A row finds the sum of several items in one place of a table by pattern. `holes` (n_items,) bool
    are items with one more outcome, missing, which adds nothing; `width` is the bytes of a table
    row.
    """

    edges: np.ndarray
    length: int
    n_patterns: int
    offsets: np.ndarray

    def __init__(self, sizes: list[Any], holes: Any, n_rows: int, width: int) -> None:
        self.edges = np.cumsum([0, *sizes])
        outcomes = [int(size + hole) for size, hole in zip(sizes, holes, strict=True)]
        limit = _PATTERNS
        while True:
            self._groups, counts = _grouped(outcomes, limit)
            self.length, self.n_patterns = len(counts), sum(counts)
            small = self.n_patterns * width <= _CACHED
            if limit <= 1 or small and self.n_patterns * _ENTRIES <= n_rows * self.length:
                break
            limit //= 2
        self.offsets = np.cumsum([0, *counts])
        self._lookups = None
        self._members, self._steps = [], np.empty(len(sizes), np.int32)
        for (first, last), n_patterns in zip(pairwise(self._groups), counts, strict=True):
            if last == first + 1:  # each category is a pattern
                self._members.append(None)
                self._steps[first] = 1
                continue
            n_categories = self.edges[last] - self.edges[first]
            members, step = np.zeros((n_patterns, n_categories)), 1
            for i in range(first, last):
                outcome = np.arange(n_patterns) // step % outcomes[i]
                for category in range(sizes[i]):
                    members[outcome == category, self.edges[i] - self.edges[first] + category] = 1
                self._steps[i] = step
                step *= outcomes[i]
            self._members.append(members)

    def encoded(self, X: np.ndarray, categories: list[Any]) -> np.ndarray | None:
        """Return the patterns of each row, (n_rows * length,) int32; None if a value is unknown.

        `categories` must be the same in every call.
        """
        if self._lookups is None:
            self._lookups = self._looked_up(categories)
        *lookups, searched = self._lookups
        if searched:
            X = X.astype(np.float64)
        for i in searched:
            X[:, i], unknown = _searched(X[:, i], categories[i])
            if unknown:
                return None
        out, wrong = np.empty((len(X), self.length), np.int32), np.zeros(len(X), np.uint8)
        _ext.patterns(X, *lookups, self.offsets, out, wrong, effective_threads(4.0 * X.size))
        return None if wrong.any() else out.ravel()

    def _looked_up(self, categories):
        """Return lookup tables of categories, and the items whose values are searched instead."""
        lows, lookups, searched = np.empty(len(categories)), [], []
        for i, values in enumerate(categories):
            if values[-1] - values[0] >= _CODES or (values % 1 != 0).any():
                searched.append(i)
                values = np.arange(float(len(values)))
            lows[i] = values[0]
            lookup = np.full(int(values[-1] - values[0]) + 1, -1, np.int32)
            lookup[(values - values[0]).astype(np.int64)] = np.arange(len(values)) * self._steps[i]
            lookups.append(lookup)
        edges = np.cumsum([0, *map(len, lookups)])
        unanswered = np.diff(self.edges).astype(np.int32) * self._steps
        return lows, edges, np.concatenate(lookups), unanswered, np.array(self._groups), searched

    def table(self, logarithms: np.ndarray) -> np.ndarray:
        """Return what patterns add to log-densities, (n_patterns, k), from what categories add."""
        table = np.empty((self.n_patterns, logarithms.shape[1]))
        for members, categories, patterns in self._parts():
            if members is None:
                table[patterns] = 0  # of a missing value
                table[patterns][: len(logarithms[categories])] = logarithms[categories]
            else:
                np.matmul(members, logarithms[categories], out=table[patterns])
        return table

    def counts(self, by_pattern: np.ndarray) -> np.ndarray:
        """Return sums by category, (n_categories, k), from sums by pattern."""
        counts = np.empty((self.edges[-1], by_pattern.shape[1]))
        for members, categories, patterns in self._parts():
            if members is None:
                counts[categories] = by_pattern[patterns][: len(counts[categories])]
            else:
                np.matmul(members.T, by_pattern[patterns], out=counts[categories])
        return counts

    def _parts(self):
        categories = map(slice, self.edges[self._groups[:-1]], self.edges[self._groups[1:]])
        return zip(
            self._members, categories, map(slice, self.offsets[:-1], self.offsets[1:]), strict=True
        )


def found_categories(X: np.ndarray) -> list[Any]:
    """Return the values of each column, ascending, without NaN."""
    present = np.zeros((X.shape[1], _SMALL), np.uint8)
    others = np.zeros(X.shape[1], np.uint8)
    _ext.small_values(X, present, others, effective_threads(2.0 * X.size))
    return [
        _values(X[:, i]) if others[i] else np.flatnonzero(present[i]).astype(np.float64)
        for i in range(X.shape[1])
    ]


def _grouped(outcomes, limit):
    """Return the groups' edges, and numbers of patterns: at most `limit`, or those of one item."""
    edges, counts = [0], []
    for i, outcome in enumerate(outcomes):
        if counts and counts[-1] * outcome <= limit:
            counts[-1] *= outcome
            edges[-1] = i + 1
        else:
            counts.append(outcome)
            edges.append(i + 1)
    return edges, counts


def _values(column):
    low, high = column.min(), column.max()
    if high - low < _CODES and abs(low) <= 2.0**31 and low % 1 == 0:  # NaN compares as false
        codes = (column - low).astype(np.int32)
        if (codes == column - low).all():
            return np.flatnonzero(np.bincount(codes)) + float(low)
    return np.unique(column[~np.isnan(column)]).astype(np.float64)


def _searched(column, values):
    """Return indices of a column in `values`, NaN for NaN, and whether any value is not there."""
    places = np.minimum(np.searchsorted(values, column), len(values) - 1)
    present = ~np.isnan(column)
    return np.where(present, places, np.nan), bool((present & (values[places] != column)).any())
