"""Substrings of one length, ranked exactly, and how often each string has them."""

from typing import NamedTuple

import numpy as np
from scipy import sparse as sp

from mlcore.kernels.structured.strings import Strings


class _Pairs(NamedTuple):
    """Substrings of `first` symbols, and of `second` symbols that begin `shift` places later."""

    first: int
    second: int
    shift: int
    n_second: int
    numbers: np.ndarray  # rank of the first times n_second, plus rank of the second; sorted


class Grams:
    """The substrings of `length` symbols that a list of strings has, in columns.

    Longer ones are pairs of shorter ones, which may overlap. A pair is a number, so that none is
    taken for another, and the rank of a number is that of the substring: columns are sorted.

    Parameters
    ----------
    strings : Strings
    length : int
    """

    def __init__(self, strings: Strings, length: int) -> None:
        self.strings, self.length = strings, length
        codes = strings.codes.astype(np.int64)
        self._symbols, ranks = ranked(codes, int(codes.max(initial=0)) + 1)
        self._pairs: list[_Pairs] = []
        known, sizes, width = {1: ranks}, {1: len(self._symbols)}, 1
        starts, ends = _starts(strings, length)
        while width < length:
            first, second, shift = _parts(width, length, sizes, len(codes))
            width = shift + second
            at = starts if width == length else np.arange(max(0, len(codes) - width + 1))
            numbers = known[first][at] * sizes[second] + known[second][at + shift]
            table, known[width] = ranked(numbers, sizes[first] * sizes[second])
            self._pairs.append(_Pairs(first, second, shift, sizes[second], table))
            sizes[width] = len(table)
        self.n_columns = sizes[length]
        self.counts = _counts(known[length], ends, self.n_columns)

    def of(self, strings: Strings) -> sp.csr_array:
        """Return how often strings have these substrings, float64 (n, n_columns)."""
        if strings.same(self.strings):
            return self.counts[strings.chosen]
        part = strings.packed()
        starts, ends = _starts(part, self.length)
        known = {1: places_in(part.codes_in(self.strings), self._symbols)}
        for pair in self._pairs:
            first, second = known[pair.first], known[pair.second][pair.shift :]
            first = first[: len(second)]
            numbers = np.where((first < 0) | (second < 0), -1, first * pair.n_second + second)
            known[pair.shift + pair.second] = places_in(numbers, pair.numbers)
        columns = known[self.length][starts]
        found = columns >= 0
        return _counts(columns[found], np.append(0, np.cumsum(found))[ends], self.n_columns)


def _parts(width, length, sizes, n):
    """Return of which substrings the next ones consist: first, second, shift."""
    few = [w for w in sizes if w <= length - width and sizes[width] * sizes[w] <= _most_marked(n)]
    if few:
        return width, max(few), width
    return width, width, min(width, length - width)


def _starts(strings, length):
    """Return where substrings begin that lie within a string, and the end of each string's."""
    lengths = np.diff(strings.offsets)
    n_starts = np.maximum(lengths - length + 1, 0)
    ends = np.append(0, np.cumsum(n_starts))
    return np.arange(ends[-1]) + np.repeat(strings.offsets[:-1] - ends[:-1], n_starts), ends


def _counts(columns, ends, n_columns):
    counts = sp.csr_array((np.ones(len(columns)), columns, ends), (len(ends) - 1, n_columns))
    counts.sum_duplicates()
    return counts


def _most_marked(n):
    """Return up to which number n numbers are ranked by marking those that occur."""
    return 8 * n + 1000


def ranked(numbers: np.ndarray, bound: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers that occur, sorted, and the place among them of each; all below bound."""
    if bound > _most_marked(len(numbers)):
        return np.unique(numbers, return_inverse=True)
    marks = np.zeros(bound, bool)
    marks[numbers] = True
    return np.flatnonzero(marks), (np.cumsum(marks) - 1)[numbers]


def places_in(numbers: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Return the place in the sorted table of each number, -1 for one that it lacks."""
    if not len(table):
        return np.full(len(numbers), -1)
    places = np.searchsorted(table, numbers)
    places[places == len(table)] = 0
    return np.where(table[places] == numbers, places, -1)
