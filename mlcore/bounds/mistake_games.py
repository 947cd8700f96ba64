"""Mistakes on sequences that some concept of a table labels: the least, and those of learners.

A version space is an integer whose bit h tells whether concept h is still possible.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mlcore.bounds.arguments import as_choice, as_count
from mlcore.bounds.concept_table import as_integers, as_table, distinct_concepts

_ALGORITHMS = ("soa", "halving", "consistent")


def littlestone_dimension(H: Any, *, max_size: int | None = 4096) -> int:
    """Compute the Littlestone dimension of a class given as a table.

    It is the depth of the largest complete tree of points all of whose paths some concept labels,
    and so the least number of mistakes that a deterministic learner can guarantee on sequences
    labelled by a concept. A version space has dimension t if some point splits it into two of
    dimension t - 1; those that were decided are remembered. Time and memory are exponential in
    the worst case.

    Parameters
    ----------
    H : array-like of shape (n_concepts, n_points)
        Zeros and ones; bool, or -1 and 1, are taken too.
    max_size : int or None, default=4096
        The most different concepts; more are refused.

    Returns
    -------
    dimension : int
        At least the VC dimension and at most the base-2 logarithm of the number of concepts.

    Raises
    ------
    ValueError
        If `H` has other entries, is empty, or has more than `max_size` different rows.

    References
    ----------
    N. Littlestone, *Learning quickly when irrelevant attributes abound: a new linear-threshold
    algorithm*, Machine Learning 2, 1988.

    Examples
    --------
    >>> from mlcore.bounds import littlestone_dimension
    >>> thresholds = [[int(x >= a) for x in range(7)] for a in range(8)]
    >>> littlestone_dimension(thresholds)
    3
    """
    table = distinct_concepts(as_table(H), max_size)
    return LittlestoneTree(set(as_integers(table))).dimension((1 << len(table)) - 1)


class LittlestoneTree:
    """Littlestone dimensions of the version spaces of one class, each decided once."""

    def __init__(self, columns):
        self._columns = columns
        self._known = {}  # version space: (a dimension it has, one it has not)

    def dimension(self, space):
        """Return the dimension of a version space, -1 for the empty one."""
        t = -1
        while self._has(space, t + 1):
            t += 1
        return t

    def _has(self, space, t):
        size = space.bit_count()
        if t <= 1 or size < 1 << t:
            return size >= 1 << t
        reached, refuted = self._known.get(space, (1, size.bit_length()))
        if t <= reached or t >= refuted:
            return t <= reached
        seen = set()
        for column in self._columns:
            ones = space & column
            small, large = sorted((ones, space ^ ones), key=int.bit_count)
            if small.bit_count() < 1 << (t - 1) or small in seen:
                continue
            seen.add(small)
            if self._has(small, t - 1) and self._has(large, t - 1):
                self._known[space] = (t, refuted)
                return True
        self._known[space] = (reached, t)
        return False


def worst_case_mistakes(
    H: Any, algorithm: str, *, max_size: int | None = 4096, max_spaces: int | None = 100_000
) -> int:
    """Compute the most mistakes of a learner on any sequence that some concept labels.

    Parameters
    ----------
    H : array-like of shape (n_concepts, n_points)
        Zeros and ones; bool, or -1 and 1, are taken too.
    algorithm : {"soa", "halving", "consistent"}
        "soa" is the standard optimal algorithm, whose mistakes are the Littlestone dimension;
        "halving" predicts as most concepts that are still possible, and 1 on a tie; "consistent"
        as the first of them in the table.
    max_size : int or None, default=4096
        The most different concepts; more are refused.
    max_spaces : int or None, default=100_000
        The most version spaces to go through for "halving" and "consistent", some twenty seconds;
        a class that leads to more is refused.

    Returns
    -------
    mistakes : int
        The value of the game against an opponent who chooses points and labels, found by going
        through the version spaces that can be reached, of those that differ in names only through
        one. There can be exponentially many.

    Raises
    ------
    ValueError
        If `H` has other entries, is empty, or has more than `max_size` different rows; if there are
        more than `max_spaces` version spaces; for another algorithm.

    References
    ----------
    N. Littlestone, *Learning quickly when irrelevant attributes abound: a new linear-threshold
    algorithm*, Machine Learning 2, 1988.

    Examples
    --------
    >>> from mlcore.bounds import worst_case_mistakes
    >>> singletons = [[0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    >>> [worst_case_mistakes(singletons, name) for name in ("soa", "halving", "consistent")]
    [1, 1, 1]
    >>> worst_case_mistakes(singletons[::-1], "consistent")
    4
    """
    algorithm = as_choice(algorithm, "algorithm", _ALGORITHMS)
    if max_spaces is not None:
        max_spaces = as_count(max_spaces, "max_spaces", at_least=1)
    if algorithm == "soa":
        return littlestone_dimension(H, max_size=max_size)
    table = distinct_concepts(as_table(H), max_size)
    if algorithm == "halving":
        return _value(table, majority, _most_of_halving, _same_to_halving, max_spaces)
    return _value(table, first_concept, _most_of_consistent, _same_to_consistent, max_spaces)


def majority(space: int, ones: int) -> int:
    """Return what most concepts of a version space say, 1 on a tie; `ones` are those that say 1."""
    return int(2 * ones.bit_count() >= space.bit_count())


def first_concept(space: int, ones: int) -> int:
    """Return what the first concept of a version space says."""
    return int(space & -space & ones != 0)


def _value(
    table: np.ndarray,
    predicts: Callable[[int, int], int],
    most: Callable[[int, set[int], set[tuple[int, int]]], int],
    same: Callable[[np.ndarray], np.ndarray],
    max_spaces: int | None,
) -> int:
    """Most mistakes on sequences of a table, of which n concepts are left at most most(n, ...).

    `same` gives equal tables for version spaces that differ in the names of points, or of concepts.
    """
    columns, everyone = set(as_integers(table)), (1 << len(table)) - 1
    values: dict[int, int] = {}
    limits: dict[int, int] = {}  # the most mistakes that can follow on those looked at
    values_of_tables: dict[bytes, int] = {}
    # Version spaces under way, with their tables, what may follow, and the most mistakes so far and
    # ever: a list, for recursion could be as deep as there are concepts.
    path = [[everyone, b"", *_following(everyone, columns, predicts, most)]]
    while path:
        space, key, following, best, limit = path[-1]
        while following and best < limit:
            mistake, after = following.pop()
            if mistake + limits.get(after, after.bit_count() - 1) <= best:
                continue
            if after not in values:
                found = _following(after, columns, predicts, most)
                limits[after] = found[-1]
                if max_spaces is not None and len(limits) > max_spaces:
                    raise ValueError(
                        f"max_spaces={max_spaces}, but H, of {len(table)} different concepts on "
                        f"{table.shape[1]} points, leads to more version spaces."
                    )
                if mistake + found[-1] <= best:
                    continue
                key_after = _key(same(table[_members(after, len(table))]))
                if key_after not in values_of_tables:
                    following.append((mistake, after))
                    path.append([after, key_after, *found])
                    break
                values[after] = values_of_tables[key_after]
            best = path[-1][3] = max(best, mistake + values[after])
        else:
            values[space] = values_of_tables[key] = best
            path.pop()
    return values[everyone]


def _following(space, columns, predicts, most):
    """The version spaces after one more label, each with the mistake it takes, the largest last;

    then the mistakes of the best step to a single concept, and the most that there can be.
    """
    steps, best, splits = set(), 0, set()
    for column in columns:
        ones = space & column
        if ones and ones != space:
            predicted = predicts(space, ones)
            splits.add(min(ones, space ^ ones))
            for mistake, after in ((1 - predicted, ones), (predicted, space ^ ones)):
                if after & (after - 1):
                    steps.add((mistake, after))
                else:
                    best = max(best, mistake)
    limit = most(space.bit_count(), splits, steps)
    order = sorted(steps, key=lambda step: (step[1].bit_count() + step[0], step))
    return order, best, max(best, limit)


def _most_of_halving(n, splits, steps):
    """A mistake leaves at most the larger of the smaller sides, and later ones half each."""
    return max((after.bit_count().bit_length() for mistake, after in steps if mistake), default=0)


def _most_of_consistent(n, splits, steps):
    """A mistake rules out a concept, and a point brings but one."""
    return min(n - 1, len(splits))


def _same_to_halving(table):
    """Ones in the minority, and rows in an order by their ones, which halving does not see."""
    ones = table.sum(axis=0, dtype=np.int64)
    table = table ^ (2 * ones > len(table))
    sizes = np.minimum(ones, len(table) - ones)
    for _ in range(2):  # rows by the sizes of their columns, then columns by those rows, and again
        rows = (table * (sizes * sizes + 1)).sum(axis=1)
        sizes = (table * (rows * rows % 1_000_003)[:, None]).sum(axis=0) % 1_000_003
    return table[np.argsort(rows, kind="stable")]


def _same_to_consistent(table):
    """Zeros in the first row, which is the prediction."""
    return table ^ table[0]


def _key(table):
    """The table but for constant and repeated columns and for their order."""
    apart = table[:, (table != table[0]).any(axis=0)]
    packed = np.packbits(apart.T, axis=1)
    columns = sorted({column.tobytes() for column in packed})
    return len(table).to_bytes(4) + b"".join(columns)


def _members(space, n):
    packed = np.frombuffer(space.to_bytes((n + 7) // 8, "little"), dtype=np.uint8)
    return np.unpackbits(packed, count=n, bitorder="little").astype(bool)
