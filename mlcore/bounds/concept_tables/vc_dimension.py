"""Exact VC dimension of a table of concepts (rows) on points (columns), and of its dual."""

from typing import Any, Literal, overload

import numpy as np

from mlcore._ext.bounds import vc_dimension as _ext
from mlcore.bounds.arguments import as_bool
from mlcore.bounds.concept_tables.concept_table import (
    as_bitsets,
    as_table,
    bitset_of,
    distinct_concepts,
    refuse_sets,
    search_arrays,
    separating_columns,
)
from mlcore.runtime.threads import items_per_call

NO_LIMIT = 2**62  # sets of columns
OPERATIONS_OF_A_WORD = 12  # to read a word of 64 columns and to count their ones
_RUNNING, _FOUND = 0, 1


@overload
def vc_dimension(
    H: Any, *, return_set: Literal[False] = ..., max_size: int | None = ...
) -> int: ...


@overload
def vc_dimension(
    H: Any, *, return_set: Literal[True], max_size: int | None = ...
) -> tuple[int, tuple[int, ...]]: ...


@overload
def vc_dimension(H: Any, *, return_set: bool, max_size: int | None = ...) -> Any: ...


def vc_dimension(H: Any, *, return_set: bool = False, max_size: int | None = None) -> Any:
    """Compute the VC dimension of a class given as a table.

    It is the size of the largest set of points on which the concepts show all patterns. The search
    tries sets of columns in ascending order and divides the concepts into cells by their patterns.
    A column stays a candidate only if it leaves enough concepts on both sides in every cell, and a
    set is extended only if enough candidates remain, by Östergård's bound too. Time is
    quasi-polynomial in the worst case: at most ``n ** log2(N)`` sets for N concepts and n points.
    The problem is complete for LOGNP; random tables are hard.

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
        Size of the largest shattered set.
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
    with_set = as_bool(return_set, "return_set")
    table = distinct_concepts(as_table(H), max_size)
    columns = largest_shattered_set(table)
    return (len(columns), columns) if with_set else len(columns)


def dual_vc_dimension(H: Any, *, max_size: int | None = None) -> int:
    """Compute the VC dimension of the dual class, in which points and concepts are exchanged.

    It is less than 2^(d + 1) for a class of VC dimension d.

    Parameters
    ----------
    H : array-like of shape (n_concepts, n_points)
        Zeros and ones; bool, or -1 and 1, are taken too.
    max_size : int, optional
        Largest number of different points (concepts of the dual class) allowed.

    Returns
    -------
    dimension : int
        Size of the largest set of concepts that is shattered.

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


def largest_shattered_set(
    table: np.ndarray, at_most: int | None = None, max_sets: int | None = None
) -> tuple[int, ...]:
    """Return the columns of a largest shattered set of at most `at_most` columns.

    The rows of `table` are distinct. Raise ValueError after more than `max_sets` sets of columns.
    """
    columns = separating_columns(table)
    packed = as_bitsets(table[:, columns])
    deepest = len(table).bit_length() - 1
    if at_most is not None:
        deepest = min(deepest, at_most)
    rows, spans, candidates = search_arrays(packed, max(deepest, 1))
    chosen = np.zeros(max(deepest, 1), dtype=np.int32)
    among_last = np.zeros(len(columns), dtype=np.int32)
    best = []
    place = np.zeros(2, dtype=np.int64)
    for first in reversed(range(len(columns))):
        if len(best) == deepest:
            break
        # The best set with `first` has at most one column more than the best without it.
        among_last[first] = len(best) + 1
        candidates[0] = bitset_of(range(first, len(columns)), candidates.shape[1])
        place[0] = 0
        status = _RUNNING
        while status == _RUNNING:
            status = _ext.search_shattered(
                rows, spans, candidates, chosen, among_last, place, len(best) + 1,
                items_per_call(OPERATIONS_OF_A_WORD), NO_LIMIT if max_sets is None else max_sets,
            )  # fmt: skip
            refuse_sets(place[1], max_sets, table)
        if status == _FOUND:
            best = chosen[: len(best) + 1].tolist()
        among_last[first] = len(best)
    return tuple(sorted(int(columns[x]) for x in best))
