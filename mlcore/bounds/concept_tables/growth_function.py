"""Growth function of a table: the largest number of patterns on m points."""

import math
from typing import Any

import numpy as np

from mlcore._ext.bounds import growth_function as _ext
from mlcore.bounds.arguments import as_count, refuse
from mlcore.bounds.calculator import calculator
from mlcore.bounds.concept_tables.concept_table import (
    as_bitsets,
    as_max_sets,
    as_table,
    bitset_of,
    distinct_concepts,
    refuse_sets,
    search_arrays,
    separating_columns,
)
from mlcore.bounds.concept_tables.vc_dimension import (
    NO_LIMIT,
    OPERATIONS_OF_A_WORD,
    largest_shattered_set,
)
from mlcore.runtime.threads import items_per_call


def dichotomies(H: Any, subset: Any) -> np.ndarray:
    """Return the patterns that the concepts of a table show on some of its points.

    Parameters
    ----------
    H : array-like of shape (n_concepts, n_points)
        Zeros and ones; bool, or -1 and 1, are taken too.
    subset : sequence of int
        Columns of `H`, in the order of the patterns' columns.

    Returns
    -------
    patterns : ndarray of shape (n_patterns, len(subset)), int8
        Distinct, in lexicographic order.

    Raises
    ------
    ValueError
        If `H` has other entries or is empty, or if `subset` is no sequence of its columns.

    Examples
    --------
    >>> from mlcore.bounds import dichotomies
    >>> dichotomies([[0, 0, 0], [0, 1, 1], [1, 1, 1]], [0, 2])
    array([[0, 0],
           [0, 1],
           [1, 1]], dtype=int8)
    """
    table = as_table(H)
    patterns = table[:, _columns(subset, table.shape[1])]
    if patterns.shape[1] == 0:
        return patterns[:1]
    return np.unique(patterns, axis=0)


def shatters(H: Any, subset: Any) -> bool:
    """Return True if the concepts of a table show all patterns on some of its points.

    Parameters
    ----------
    H : array-like of shape (n_concepts, n_points)
        Zeros and ones; bool, or -1 and 1, are taken too.
    subset : sequence of int
        Columns of `H`; the empty set is shattered.

    Returns
    -------
    shattered : bool
        True for 2^len(subset) patterns.

    Raises
    ------
    ValueError
        If `H` has other entries or is empty, or if `subset` is no sequence of its columns.

    Examples
    --------
    >>> from mlcore.bounds import shatters
    >>> thresholds = [[0, 0], [0, 1], [1, 1]]
    >>> shatters(thresholds, [0]), shatters(thresholds, [0, 1])
    (True, False)
    """
    patterns = dichotomies(H, subset)
    return len(patterns) == 2 ** patterns.shape[1]


@calculator("m")
def growth_function(H: Any, m: Any, *, max_sets: int | None = 3_000_000) -> Any:
    """Compute the largest number of patterns of a table's concepts on `m` of its points.

    Exact, by branch and bound over sets of columns, all of which are tried in the worst case.

    Parameters
    ----------
    H : array-like of shape (n_concepts, n_points)
        Zeros and ones; bool, or -1 and 1, are taken too.
    m : int or array in 1..n_points
    max_sets : int or None, default=3_000_000
        Largest number of sets of points to try, some twenty seconds with two thousand concepts; a
        class that takes more is refused. At worst all sets of up to m points are tried.

    Returns
    -------
    patterns : int or ndarray
        2^m if and only if m is at most the VC dimension d, and never above Sauer's
        ``sum_{i <= d} C(m, i)``.
        An array where an argument is one; arrays broadcast.

    Raises
    ------
    ValueError
        If `H` has other entries or is empty, if `m` is no number of its points, or after more than
        `max_sets` sets.

    References
    ----------
    N. Sauer, *On the density of families of sets*, Journal of Combinatorial Theory A 13, 1972.

    Examples
    --------
    >>> from mlcore.bounds import growth_function
    >>> intervals = [[int(a <= x < b) for x in range(5)] for a in range(6) for b in range(a, 6)]
    >>> [growth_function(intervals, m) for m in range(1, 6)]
    [2, 4, 7, 11, 16]
    """
    table = as_table(H)
    m = as_count(m, "m", at_least=1)
    if m > table.shape[1]:
        refuse("m", m, f"an integer <= {table.shape[1]}, the number of points of H")
    max_sets = as_max_sets(max_sets)
    table = distinct_concepts(table, None)
    columns = separating_columns(table)
    if m >= len(columns):
        return len(table)
    dimension = len(largest_shattered_set(table, m, max_sets))
    limit = min(len(table), sum(math.comb(m, i) for i in range(dimension + 1)))
    packed = as_bitsets(table[:, columns])
    rows, spans, candidates = search_arrays(packed, m)
    candidates[0] = bitset_of(range(len(columns)), candidates.shape[1])
    cells = np.zeros((m, 2), dtype=np.int64)
    cells[0] = (1, 0) if len(packed) > 1 else (0, 1)
    gains = np.zeros(64 * candidates.shape[1], dtype=np.int32)
    place = np.array([0, 1, 0])
    best, done = min(2**dimension, limit), False
    while not done:
        best, done = _ext.search_patterns(
            rows, spans, candidates, cells, gains, place, m, best, limit,
            items_per_call(OPERATIONS_OF_A_WORD), NO_LIMIT if max_sets is None else max_sets,
        )  # fmt: skip
        refuse_sets(place[2], max_sets, table)
    return best


def _columns(subset, n_points):
    columns = [as_count(x, "subset", at_least=0) for x in np.asarray(subset, dtype=object).ravel()]
    if any(x >= n_points for x in columns):
        refuse("subset", subset, f"columns of H, 0 to {n_points - 1}")
    return columns
