"""Mistakes on sequences that some concept of a table labels: the least, and those of learners.

A version space is an integer whose bit h tells whether concept h is still possible.
"""

from collections.abc import Callable
from typing import Any

from mlcore.bounds.arguments import as_choice
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


def worst_case_mistakes(H: Any, algorithm: str, *, max_size: int | None = 4096) -> int:
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

    Returns
    -------
    mistakes : int
        The value of the game against an opponent who chooses points and labels, found by going
        through all version spaces that can be reached.

    Raises
    ------
    ValueError
        If `H` has other entries, is empty, or has more than `max_size` different rows; for
        another algorithm.

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
    if algorithm == "soa":
        return littlestone_dimension(H, max_size=max_size)
    table = distinct_concepts(as_table(H), max_size)
    everyone = (1 << len(table)) - 1
    if algorithm == "halving":
        return _value(everyone, set(as_integers(table)), majority, lambda n: n.bit_length() - 1)
    return _value(everyone, set(as_integers(table)), first_concept, lambda n: n - 1)


def majority(space: int, ones: int) -> int:
    """Return what most concepts of a version space say, 1 on a tie; `ones` are those that say 1."""
    return int(2 * ones.bit_count() >= space.bit_count())


def first_concept(space: int, ones: int) -> int:
    """Return what the first concept of a version space says."""
    return int(space & -space & ones != 0)


def _value(
    everyone: int,
    columns: set[int],
    predicts: Callable[[int, int], int],
    most: Callable[[int], int],
) -> int:
    """Most mistakes from a version space, of whose n concepts no more than most(n) can follow."""
    values: dict[int, int] = {}
    # Version spaces under way, with what may follow and the most mistakes so far: a list, for
    # recursion could be as deep as there are concepts.
    path = [[everyone, _following(everyone, columns, predicts), 0]]
    while path:
        space, following, best = path[-1]
        while following:
            mistake, after = following[-1]
            if mistake + most(after.bit_count()) > best:
                if after not in values:
                    path.append([after, _following(after, columns, predicts), 0])
                    break
                best = path[-1][2] = max(best, mistake + values[after])
            following.pop()
        else:
            values[space] = best
            path.pop()
    return values[everyone]


def _following(space, columns, predicts):
    """The version spaces after one more label, each with the mistake it takes, the largest last."""
    found = set()
    for column in columns:
        ones = space & column
        if ones and ones != space:
            predicted = predicts(space, ones)
            found |= {(1 - predicted, ones), (predicted, space ^ ones)}
    return sorted(found, key=lambda step: (step[1].bit_count(), step[0]))
