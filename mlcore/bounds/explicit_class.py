"""Classes given as a table, one row for each concept and one column for each point.

What a table of zeros and ones shows of itself: its patterns, its VC dimension and that of its dual,
and its growth function. All answers are exact.
"""

import math
from typing import Any

import numpy as np

from mlcore._ext import explicit_class as _ext
from mlcore.bounds.arguments import as_count, as_flag
from mlcore.bounds.concept_table import as_bitsets, as_table, bitset_of, distinct_concepts

_CALL_WORDS = 50_000_000  # of rows read in one compiled call: a fifth of a second, then Ctrl-C
_RUNNING, _FOUND = 0, 1


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
        Each once, in lexicographic order.

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
    """Tell whether the concepts of a table show all patterns there are on some of its points.

    Parameters
    ----------
    H : array-like of shape (n_concepts, n_points)
        Zeros and ones; bool, or -1 and 1, are taken too.
    subset : sequence of int
        Columns of `H`; the empty set is shattered.

    Returns
    -------
    shattered : bool
        Whether there are 2^len(subset) patterns.

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


def vc_dimension(
    H: Any, *, return_set: bool = False, max_size: int | None = None
) -> int | tuple[int, tuple[int, ...]]:
    """Compute the VC dimension of a class given as a table.

    It is the size of the largest set of points on which the concepts show all patterns. The search
    goes through sets of columns in ascending order and keeps the concepts apart by their patterns;
    a column goes on only if it leaves enough concepts on either side of every pattern, and a set
    only if enough columns go on (Östergård's bound from the sets of later columns included). Time
    is quasi-polynomial in the worst case, with N concepts and n points no more than
    ``n ** log2(N)`` sets, and the problem complete for LOGNP: fair coins are hard to search.

    Parameters
    ----------
    H : array-like of shape (n_concepts, n_points)
        Zeros and ones; bool, or -1 and 1, are taken too.
    return_set : bool, default=False
        Also return the columns of a largest shattered set.
    max_size : int, optional
        The most different concepts to search among; more are refused.

    Returns
    -------
    dimension : int
    columns : tuple of int
        Only with `return_set`.

    Raises
    ------
    ValueError
        If `H` has other entries, is empty, or has more than `max_size` different rows.

    References
    ----------
    V. N. Vapnik, A. Ya. Chervonenkis, *On the uniform convergence of relative frequencies of events
    to their probabilities*, Theory of Probability and its Applications 16, 1971. C. Papadimitriou,
    M. Yannakakis, *On limited nondeterminism and the complexity of the V-C dimension*, Journal of
    Computer and System Sciences 53, 1996. P. R. J. Östergård, *A fast algorithm for the maximum
    clique problem*, Discrete Applied Mathematics 120, 2002.

    Examples
    --------
    >>> from mlcore.bounds import vc_dimension
    >>> intervals = [[int(a <= x < b) for x in range(5)] for a in range(6) for b in range(a, 6)]
    >>> vc_dimension(intervals)
    2
    >>> vc_dimension(intervals, return_set=True)
    (2, (1, 3))
    """
    with_set = as_flag(return_set, "return_set")
    table = distinct_concepts(as_table(H), max_size)
    columns = largest_shattered_set(table)
    return (len(columns), columns) if with_set else len(columns)


def dual_vc_dimension(H: Any, *, max_size: int | None = None) -> int:
    """Compute the VC dimension of the dual class, in which points and concepts change places.

    It is less than 2^(d + 1) for a class of VC dimension d.

    Parameters
    ----------
    H : array-like of shape (n_concepts, n_points)
        Zeros and ones; bool, or -1 and 1, are taken too.
    max_size : int, optional
        The most different points, that is, concepts of the dual class; more are refused.

    Returns
    -------
    dimension : int

    Raises
    ------
    ValueError
        If `H` has other entries, is empty, or has more than `max_size` different columns.

    References
    ----------
    P. Assouad, *Densité et dimension*, Annales de l'institut Fourier 33, 1983.

    Examples
    --------
    >>> from mlcore.bounds import dual_vc_dimension
    >>> all_patterns = [[i >> x & 1 for x in range(4)] for i in range(16)]
    >>> dual_vc_dimension(all_patterns)
    2
    """
    return len(largest_shattered_set(distinct_concepts(as_table(H).T, max_size)))


def growth_function(H: Any, m: int) -> int:
    """Count the most patterns that the concepts of a table show on `m` of its points.

    Exact, by branch and bound over sets of columns, whose number is the cost in the worst case.

    Parameters
    ----------
    H : array-like of shape (n_concepts, n_points)
        Zeros and ones; bool, or -1 and 1, are taken too.
    m : int in 1..n_points

    Returns
    -------
    patterns : int
        2^m exactly where m is at most the VC dimension d, and never above Sauer's
        ``sum_{i <= d} C(m, i)``.

    Raises
    ------
    ValueError
        If `H` has other entries or is empty, or if `m` is no number of its points.

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
        raise ValueError(f"m={m} must be at most {table.shape[1]}, the number of points of H.")
    table = distinct_concepts(table, None)
    columns = _separating_columns(table)
    if m >= len(columns):
        return len(table)
    dimension = len(largest_shattered_set(table))
    limit = min(len(table), sum(math.comb(m, i) for i in range(dimension + 1)))
    packed = as_bitsets(table[:, columns])
    rows, spans, todo = _scratch(packed, m)
    todo[0] = bitset_of(range(len(columns)), todo.shape[1])
    cells = np.zeros((m, 2), dtype=np.int64)
    cells[0] = (1, 0) if len(packed) > 1 else (0, 1)
    gains = np.zeros(64 * todo.shape[1], dtype=np.int32)
    place = np.array([0, 1])
    best, done = min(2**dimension, limit), False
    while not done:
        best, done = _ext.search_patterns(
            rows, spans, todo, cells, gains, place, m, best, limit, _CALL_WORDS
        )
    return best


def largest_shattered_set(table: np.ndarray) -> tuple[int, ...]:
    """Return the columns of a largest shattered set; the rows of the table differ."""
    columns = _separating_columns(table)
    packed = as_bitsets(table[:, columns])
    deepest = len(table).bit_length() - 1
    rows, spans, todo = _scratch(packed, max(deepest, 1))
    chosen = np.zeros(max(deepest, 1), dtype=np.int32)
    among_last = np.zeros(len(columns), dtype=np.int32)
    best = []
    for first in reversed(range(len(columns))):
        if len(best) == deepest:
            break
        # A set in which `first` is new has at most one column more than the best without it.
        among_last[first] = len(best) + 1
        todo[0] = bitset_of(range(first, len(columns)), todo.shape[1])
        place = np.zeros(1, dtype=np.int64)
        status = _RUNNING
        while status == _RUNNING:
            status = _ext.search_shattered(
                rows, spans, todo, chosen, among_last, place, len(best) + 1, _CALL_WORDS
            )
        if status == _FOUND:
            best = chosen[: len(best) + 1].tolist()
        among_last[first] = len(best)
    return tuple(sorted(int(columns[x]) for x in best))


def _scratch(packed, depths):
    """The arrays of a search, the rows as one cell at depth 0."""
    n, words = packed.shape
    rows = np.empty((depths, n * words), dtype=np.uint64)
    rows[0] = packed.ravel()
    spans = np.empty((depths, 2 * n), dtype=np.int64)
    spans[0, :2] = 0, n
    return rows, spans, np.zeros((depths, words), dtype=np.uint64)


def _separating_columns(table):
    """Columns that are neither constant nor equal or opposite to one before; the fairest last."""
    ones = table.sum(axis=0, dtype=np.int64)
    opposite = np.bitwise_xor(table, table[0])
    packed = np.ascontiguousarray(np.packbits(opposite.T, axis=1))
    first = np.unique(packed.view(f"V{packed.shape[1]}").ravel(), return_index=True)[1]
    fewer = np.minimum(ones, len(table) - ones)
    first = np.sort(first[fewer[first] > 0])
    return first[np.argsort(fewer[first], kind="stable")]


def _columns(subset, n_points):
    columns = [as_count(x, "subset", at_least=0) for x in np.asarray(subset, dtype=object).ravel()]
    if any(x >= n_points for x in columns):
        raise ValueError(f"subset={subset!r} must hold columns of H, 0 to {n_points - 1}.")
    return columns
