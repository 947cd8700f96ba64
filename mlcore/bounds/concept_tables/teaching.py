"""How many examples teach a concept."""

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
    """Compute how many labelled points tell every concept of a table from all the others.

    The largest, over concepts, of the least number of points that no other concept labels alike:
    a minimum hitting set for each. A search takes a point that tells the concept from the nearest
    one left, most useful points first, and ends where as many points more cannot tell it from all.

    Parameters
    ----------
    H : array-like of shape (n_concepts, n_points)
        Zeros and ones; bool, or -1 and 1, are taken too. Equal rows are one concept.
    max_sets : int or None, default=300_000
        The most sets of points to go through, some twenty seconds with a thousand concepts; a
        class that takes more is refused.

    Returns
    -------
    dimension : int

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
    """Search for the points that tell a concept from all others of a table.

    A set of other concepts is an integer whose bit g tells whether it holds the g-th nearest one.
    """

    def __init__(self, table, max_sets):
        self._table = table
        self._columns = separating_columns(table)
        self._n_sets, self._max_sets = 0, max_sets

    def prepare(self, concept):
        """Go over to another concept."""
        differs = self._table[:, self._columns] ^ concept[self._columns]
        order = np.argsort(differs.sum(axis=1, dtype=np.int64), kind="stable")
        self._differs = differs[order[1:]]  # the nearest is the concept itself
        self._alike = as_integers(1 - self._differs)

    def found(self, n_points):
        """Tell whether so many points tell the concept from all others."""
        # What is left to do, the most promising last: others, points that may be taken, points
        # whose sets are all done.
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
