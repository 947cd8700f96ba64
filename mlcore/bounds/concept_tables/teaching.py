"""Teaching dimension of a table of concepts."""

from typing import Any

import numpy as np

from mlcore.bounds.concept_tables.concept_table import (
    as_integers,
    as_max_sets,
    as_table,
    distinct_concepts,
    refuse_sets,
    separating_columns,
)


def teaching_dimension(H: Any, *, max_sets: int | None = 300_000) -> int:
    """Compute the number of labelled points with which any concept of a table can be taught.

    For a concept this is the least number of points on which no other concept gives all of its
    labels, a minimum hitting set; the dimension is the largest over concepts. The search branches
    over the points that exclude the nearest concept left, those that exclude most first, and prunes
    a branch whose remaining points cannot exclude all.

    Parameters
    ----------
    H : array-like of shape (n_concepts, n_points)
        Zeros and ones; bool, or -1 and 1, are taken too. Equal rows are one concept.
    max_sets : int or None, default=300_000
        Largest number of sets of points to try, some twenty seconds with a thousand concepts; a
        class that takes more is refused.

    Returns
    -------
    dimension : int
        The largest over all concepts.

    Raises
    ------
    ValueError
        If `H` has other entries or is empty, or after more than `max_sets` sets.

    References
    ----------
    S. A. Goldman, M. J. Kearns, *On the complexity of teaching*, Journal of Computer and System
    Sciences 50, 1995.

    Examples
    --------
    >>> from mlcore.bounds import teaching_dimension
    >>> teaching_dimension([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])  # three for the first
    3
    """
    max_sets = as_max_sets(max_sets)
    table = distinct_concepts(as_table(H), None)
    search = _TeachingSets(table, max_sets)
    dimension = 0
    for concept in table:
        search.prepare(concept)
        while not search.found(dimension):
            dimension += 1
    return dimension


class _TeachingSets:
    """Search for points that distinguish one concept of a table from all others.

    A set of other concepts is an integer: bit g stands for the g-th nearest one.
    """

    def __init__(self, table, max_sets):
        self._table = table
        self._columns = separating_columns(table)
        self._n_sets, self._max_sets = 0, max_sets

    def prepare(self, concept):
        """Set the concept to be taught."""
        differs = self._table[:, self._columns] ^ concept[self._columns]
        order = np.argsort(differs.sum(axis=1, dtype=np.int64), kind="stable")
        self._differs = differs[order[1:]]  # the nearest is the concept itself
        self._alike = as_integers(1 - self._differs)

    def found(self, n_points):
        """Return True if some `n_points` points distinguish the concept."""
        # Branches, the most promising last: concepts not yet excluded, number of points left to
        # choose, and points whose sets have all been tried.
        stack = [((1 << len(self._differs)) - 1, n_points, frozenset())]
        while stack:
            others, n_points, passed = stack.pop()
            self._n_sets += 1
            refuse_sets(self._n_sets, self._max_sets, self._table)
            if not others:
                return True
            left = sorted(
                ((others & alike).bit_count(), x)
                for x, alike in enumerate(self._alike)
                if x not in passed
            )
            n_others = others.bit_count()
            if sum(n_others - kept for kept, _ in left[:n_points]) < n_others:
                continue
            nearest = (others & -others).bit_length() - 1
            steps = []
            for _, x in left:
                if self._differs[nearest, x]:
                    steps.append((others & self._alike[x], n_points - 1, passed))
                    passed = passed | {x}
            stack += reversed(steps)
        return False
