"""Littlestone dimension, and worst-case mistakes of learners on sequences labelled by a concept.

A version space is an integer: bit h is set while concept h is possible.
"""

from typing import Any, Literal, get_args

import numpy as np

from mlcore.bounds.arguments import as_choice, as_count
from mlcore.bounds.concept_tables.concept_table import as_integers, as_table, distinct_concepts

_Algorithm = Literal["soa", "halving", "consistent"]


def littlestone_dimension(H: Any, *, max_size: int | None = 4096) -> int:
    """Compute the Littlestone dimension of a class given as a table.

    It is the depth of the deepest complete binary tree of points each of whose paths is labelled by
    a concept, and the least number of mistakes that a deterministic learner can guarantee on
    sequences labelled by a concept. A version space has dimension t or more if some point splits it
    into two of dimension t - 1 or more; results are cached. Time and memory are exponential in the
    worst case.

    Parameters
    ----------
    H : array-like of shape (n_concepts, n_points)
        Zeros and ones; bool, or -1 and 1, are taken too.
    max_size : int or None, default=4096
        Largest number of different concepts allowed.

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
    """Littlestone dimensions of the version spaces of one class, each computed once."""

    def __init__(self, columns: Any) -> None:
        self._columns = columns
        self._known = {}  # version space -> lower bound of its dimension, and a value above it

    def dimension(self, space: Any) -> Any:
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
    H: Any, algorithm: _Algorithm, *, max_size: int | None = 4096, max_spaces: int | None = 500_000
) -> int:
    """Compute the worst-case number of mistakes of a learner on sequences labelled by a concept.

    Parameters
    ----------
    H : array-like of shape (n_concepts, n_points)
        Zeros and ones; bool, or -1 and 1, are taken too.
    algorithm : {"soa", "halving", "consistent"}
        "soa" is the standard optimal algorithm, whose number of mistakes is the Littlestone
        dimension; "halving" predicts the label of most concepts that are still possible, 1 on a
        tie; "consistent" that of the first of them in the table.
    max_size : int or None, default=4096
        Largest number of different concepts allowed.
    max_spaces : int or None, default=500_000
        Largest number of version spaces to try for "halving" and "consistent", some twenty seconds;
        a class that takes more is refused.

    Returns
    -------
    mistakes : int
        Value of the game against an opponent who chooses points and labels, found by a search
        through the version spaces that can be reached, the most promising first. There can be
        exponentially many; those equal up to the order of points and concepts are mostly tried
        once.

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
    algorithm = as_choice(algorithm, "algorithm", get_args(_Algorithm))
    if max_spaces is not None:
        max_spaces = as_count(max_spaces, "max_spaces", at_least=1)
    if algorithm == "soa":
        return littlestone_dimension(H, max_size=max_size)
    table = distinct_concepts(as_table(H), max_size)
    shape = table.shape
    if algorithm == "halving":
        table = np.unique(table, axis=0)  # sorted rows reveal more equal tables
        steps, same_tables = _halving_steps, _SameTables(table)
    else:
        steps, same_tables = _consistent_steps, None
    columns, everyone = set(as_integers(table)), (1 << len(table)) - 1

    def following(space, n_spaces):
        if max_spaces is not None and n_spaces > max_spaces:
            raise ValueError(
                f"max_spaces={max_spaces}, but H, of {shape[0]} different concepts on "
                f"{shape[1]} points, leads to more version spaces."
            )
        return steps(space, columns)

    return _value(everyone, following, same_tables)


def majority(space: int, ones: int) -> int:
    """Return the label of most concepts of a version space, 1 on a tie; `ones` are those for 1."""
    return int(2 * ones.bit_count() >= space.bit_count())


def _value(everyone, following, same_tables):
    """Return the worst-case number of mistakes from a version space, by branch and bound.

    `following` returns the possible steps as `_consistent_steps` does.
    """
    values: dict[int, int] = {}
    limits: dict[int, int] = {}  # upper bounds on the values
    # The current branch: version space, name of its table, steps left, most mistakes found, upper
    # bound. A list, since recursion could be as deep as there are concepts.
    path = [[everyone, None, *following(everyone, 1)]]
    while path:
        space, name, steps, best, limit = path[-1]
        while steps and best < limit and steps[-1][0] > best:
            step = steps.pop()
            _, mistake, _, after = step
            if after not in values:
                if mistake + limits.get(after, limit) <= best:
                    continue
                expanded = following(after, len(limits) + 1)
                limits[after] = expanded[-1]
                if mistake + expanded[-1] <= best:
                    continue
                name_after = same_tables and same_tables.name(after, len(limits))
                known = same_tables.values.get(name_after) if name_after else None
                if known is None:
                    steps.append(step)
                    path.append([after, name_after, *expanded])
                    break
                values[after] = known
            best = path[-1][3] = max(best, mistake + values[after])
        else:
            values[space] = best
            if name:
                same_tables.values[name] = best
            path.pop()
    return values[everyone]


def _consistent_steps(space, columns):
    """Return the steps, the best value of steps to one concept, and an upper bound on the value.

    Steps are mistakes, ascending: (upper bound on the value after it, mistakes, size, version
    space).
    """
    first, sides = space & -space, set()
    for column in columns:
        side = space & column
        if side & first:
            side ^= space
        if side:
            sides.add(side)
    # A mistake rules out a concept, and each point causes at most one.
    limit = min(space.bit_count() - 1, len(sides))
    sizes = sorted((side.bit_count(), side) for side in sides)
    return [(size, 1, size, side) for size, side in sizes if size > 1], min(limit, 1), limit


def _halving_steps(space, columns):
    """Return the steps of the halving algorithm, as `_consistent_steps` does.

    A mistake leaves at most the minority of the concepts, and each later one half of those.
    """
    n, steps, largest = space.bit_count(), {}, 0
    for column in columns:
        ones = space & column
        if not ones or ones == space:
            continue
        wrong = space ^ ones if majority(space, ones) else ones
        few = wrong.bit_count()
        steps[wrong] = (few.bit_length(), 1, few, wrong)
        right = space ^ wrong
        if right not in steps:
            steps[right] = ((n - few).bit_length() - 1, 0, n - few, right)
        if few > largest:
            largest = few
    several = sorted(step for step in steps.values() if step[2] > 1)
    return several, min(largest, 1), largest.bit_length()


class _SameTables:
    """Values of version spaces by the name of their table, the same for reordered rows and columns.

    Names cost more than steps: they begin at the thousandth version space.
    """

    def __init__(self, table):
        self.values = {}
        self._table = table
        self._computed = self._known = 0

    def name(self, space, n_spaces):
        """Return the name of a version space's table, None if it is not computed."""
        if n_spaces < 1000 or self._computed > 8 + 4 * self._known + n_spaces // 32:
            return None
        rows = self._table[_members(space, len(self._table))]
        sizes = rows.sum(axis=0, dtype=np.int64)
        for _ in range(2):  # scores of rows from the sizes of their columns, then the reverse
            scores = (rows * (sizes * sizes + 1)).sum(axis=1)
            sizes = (rows * (scores * scores % 1_000_003)[:, None]).sum(axis=0) % 1_000_003
        rows = rows[np.argsort(scores, kind="stable")]
        splitting = rows[:, (rows != rows[0]).any(axis=0)]
        packed = np.packbits(splitting.T, axis=1)
        distinct = sorted({column.tobytes() for column in packed})
        name = len(rows).to_bytes(4) + b"".join(distinct)
        self._computed += 1
        self._known += name in self.values
        return name


def _members(space, n):
    packed = np.frombuffer(space.to_bytes((n + 7) // 8, "little"), dtype=np.uint8)
    return np.unpackbits(packed, count=n, bitorder="little").astype(bool)
