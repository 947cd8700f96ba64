"""Substrings of one length, ranked exactly, and how often each string has them."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp

from mlcore.kernels.gram import gram_matrix
from mlcore.kernels.structured.strings import KernelOfStrings, Strings


@dataclass(frozen=True)
class SpectrumKernel(KernelOfStrings):
    """Counts common substrings of one length."""

    normalize: bool
    length: int

    def products(self, X: Any, Y: Any) -> Any:
        grams = self.grams(Y)
        if not grams.n_columns:
            return np.zeros((len(X), len(Y)))
        counts = grams.of(X)
        if X is Y:
            return gram_matrix(counts, kernel="linear")
        return gram_matrix(counts, grams.of(Y), kernel="linear")

    def squares(self, X: Any) -> Any:
        counts = self.grams(X).of(X)
        return np.asarray(counts.multiply(counts).sum(axis=1))

    def grams(self, X: Strings) -> "Grams":
        """Return the substrings of the list of which X is a part."""
        return X.of_all(("grams", self.length), lambda whole: Grams(whole, self.length))


class _Pairs(NamedTuple):
    """Substrings of `first` symbols, and of `second` symbols that begin `shift` places later."""

    first: int
    second: int
    shift: int
    n_second: int
    numbers: np.ndarray  # rank of the first times n_second, plus rank of the second; sorted


class Grams:
    """The substrings of `length` symbols that a list of strings has, in sorted columns.

    Longer ones are pairs of shorter ones, which may overlap, numbered by their rank.
    """

    length: int
    n_columns: int
    strings: Strings
    counts: np.ndarray

    def __init__(self, strings: Strings, length: int) -> None:
        self.strings, self.length = strings, length
        codes = strings.codes.astype(np.int64)
        self._symbols, of_symbols = ranked(codes, int(codes.max(initial=0)) + 1)
        self._pairs: list[_Pairs] = []
        ranks, sizes, width = {1: of_symbols}, {1: len(self._symbols)}, 1
        starts, ends = _starts(strings, length)
        while width < length:
            first, second, shift = _parts(width, length, sizes, len(codes))
            width = shift + second
            at = starts if width == length else np.arange(max(0, len(codes) - width + 1))
            numbers = ranks[first][at] * sizes[second] + ranks[second][at + shift]
            table, ranks[width] = ranked(numbers, sizes[first] * sizes[second])
            self._pairs.append(_Pairs(first, second, shift, sizes[second], table))
            sizes[width] = len(table)
        self.n_columns = sizes[length]
        self.counts = _counts(ranks[length], ends, self.n_columns)

    def of(self, strings: Strings) -> sp.csr_array:
        """Return how often strings have these substrings, float64 (n, n_columns)."""
        if strings.same(self.strings):
            return self.counts[strings.chosen]
        packed = strings.packed()
        starts, ends = _starts(packed, self.length)
        ranks = {1: places_in(packed.codes_in(self.strings), self._symbols)}
        for pair in self._pairs:
            first, second = ranks[pair.first], ranks[pair.second][pair.shift :]
            first = first[: len(second)]
            numbers = np.where((first < 0) | (second < 0), -1, first * pair.n_second + second)
            ranks[pair.shift + pair.second] = places_in(numbers, pair.numbers)
        columns = ranks[self.length][starts]
        there = columns >= 0
        return _counts(columns[there], np.append(0, np.cumsum(there))[ends], self.n_columns)


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
