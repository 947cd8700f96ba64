"""Test for a scaling to given sums, with the proof where there is none.

A plan with the support of K exists if every set of rows has sums of at most those of its columns;
it is a scaling of K if no set of rows fills its columns to the last while others use them too [1]_.

.. [1] U. G. Rothblum, H. Schneider, *Scalings of matrices which have prespecified row sums and
   column sums via optimization*, Linear Algebra and its Applications 114, 1989.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp
from scipy.sparse.csgraph import breadth_first_order, connected_components

from mlcore.checks.errors import warn
from mlcore.cluster.cuts.max_flow import minimum_st_cut
from mlcore.runtime.memory import require_memory

_TIGHT = 1e-12  # of the total: differences of sums that count as none
_SMALLEST = 1e-3  # of a row's and a column's sum: flows below it may be rounding
_BLOCK = 1 << 22  # entries
_SHOWN = 5


class Support(NamedTuple):
    """Entries that are positive in no plan, and the blocks that the others leave.

    `rows` and `columns` give the places, `places` those among all entries row by row;
    `block_of_row` and `block_of_column` are None for one block.
    """

    rows: np.ndarray
    columns: np.ndarray
    places: np.ndarray
    block_of_row: np.ndarray | None = None
    block_of_column: np.ndarray | None = None


def support_of(
    K: Any,
    zero: float,
    rows: np.ndarray,
    columns: np.ndarray,
    owner: str,
    name: str,
    limit: bool,
    exact: bool,
) -> Support:
    """Return the entries to drop; ValueError if there is no plan, or without `limit` any of them.

    `zero` is the value in K, dense or CSR, that stands for no entry; all sums are positive. Of sums
    that are not `exact` each only needs an entry.
    """
    none = Support(*np.empty((3, 0), np.intp))
    filled = entries_by_line(K, zero, rows, columns)
    _require_entries(filled[0], rows, "row", name, owner)
    _require_entries(filled[1], columns, "column", name, owner)
    total = rows.sum()
    # A block of zeros lies in the zeros of any of its rows, and of any of its columns.
    if not exact or (total - filled[0].min()) + (total - filled[1].min()) < total * (1.0 - _TIGHT):
        return none
    pattern = _pattern(K, zero)
    places = pattern.row, pattern.col
    flow = _flow(places, rows, columns, name, owner)
    # In a residual graph: along any entry, and back where there is flow.
    n = len(rows)
    least = np.minimum(rows[places[0]], columns[places[1]]) / total
    used = flow > np.minimum(_TIGHT, _SMALLEST * least)
    tails = np.concatenate((places[0], n + places[1][used]))
    heads = np.concatenate((n + places[1], places[0][used]))
    size = n + len(columns)
    graph = sp.csr_array((np.ones(len(tails), np.int8), (tails, heads)), (size, size))
    _, block = connected_components(graph, connection="strong")
    outside = block[places[0]] != block[n + places[1]]
    if outside.any() and not limit:
        i, j = (int(place[np.argmax(outside)]) for place in places)
        _refuse_entry(graph, i, j, n, rows, columns, name, owner)
    if outside.any():
        warn(
            "ConvergenceWarning",
            f"{owner} drops {np.count_nonzero(outside)} of {len(outside)} positive entries of "
            f"{name}, which are 0 in the limit of the alternation (support='limit').",
        )
    dropped = places[0][outside], places[1][outside], np.flatnonzero(outside)
    return Support(*dropped, block[:n], block[n:])


def entries_by_line(
    K: Any, zero: float, rows: np.ndarray, columns: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return for each row the sum of `columns` over its entries, and the like for columns."""
    if sp.issparse(K):
        ones = sp.csr_array((np.ones(K.nnz), K.indices, K.indptr), shape=K.shape)
        return ones @ columns.astype(np.float64), ones.T @ rows.astype(np.float64)
    of_rows, of_columns = np.empty(len(rows)), np.zeros(len(columns))
    step = max(1, _BLOCK // len(columns))
    for start in range(0, len(rows), step):
        block = (K[start : start + step] != zero).astype(np.float64)
        of_rows[start : start + step] = block @ columns
        of_columns += rows[start : start + step] @ block
    return of_rows, of_columns


def _require_entries(filled, sums, what, name, owner):
    if not filled.min() > 0.0:
        at = int(np.argmin(filled))
        raise ValueError(
            f"{what.capitalize()} {at} of {name} has no positive entry, but must sum to "
            f"{sums[at]:.6g}: {owner} cannot scale it. Leave it out, or make its sum 0."
        )


def _pattern(K, zero):
    if sp.issparse(K):
        return K.tocoo()
    require_memory(
        *K.shape, 60, what="the test for a scaling of a dense matrix with zeros",
        instead="pass a sparse array, or positive entries",
    )  # fmt: skip
    return sp.coo_array(K != zero)


def _flow(places, rows, columns, name, owner):
    """Return the flow along each entry, as a share of the total."""
    total = rows.sum()
    rows, columns = rows / total, columns / total
    n, m, entries = len(rows), len(columns), len(places[0])
    source, sink = n + m, n + m + 1
    tails = np.concatenate((np.full(n, source), n + np.arange(m), places[0]))
    heads = np.concatenate((np.arange(n), np.full(m, sink), n + places[1]))
    capacity = np.concatenate((rows, columns, np.full(entries, 2.0)))
    graph = sp.csr_array(
        (
            np.concatenate((capacity, np.zeros(len(capacity)))),
            (np.concatenate((tails, heads)), np.concatenate((heads, tails))),
        ),
        shape=(n + m + 2, n + m + 2),
    )
    value, sides = minimum_st_cut(graph, source, sink)
    if value < 1.0 - _TIGHT:
        short = np.flatnonzero(sides[:n] == 0)
        held = np.flatnonzero(sides[n : n + m] == 0)
        raise ValueError(
            f"{name} cannot be scaled: {_some(short, 'row')} must sum to "
            f"{total * rows[short].sum():.6g}, but {owner} finds positive entries of theirs "
            f"only in {_some(held, 'column')}, which sum to {total * columns[held].sum():.6g}."
        )
    # What went along an entry is the residual capacity of its reverse.
    back = graph[n : n + m, :n].tocsr()
    return _entries_of(back, places[1], places[0])


def _entries_of(matrix, rows, columns):
    """Return entries of canonical CSR at places where they are stored."""
    matrix.sort_indices()
    order = np.lexsort((columns, rows))
    values = np.empty(len(rows))
    values[order] = matrix.data
    return values


def _refuse_entry(graph, i, j, n, rows, columns, name, owner):
    """Name an entry that is 0 in every plan, and the rows that fill its column and others."""
    reached = breadth_first_order(graph, n + j, return_predecessors=False)
    filling, filled = reached[reached < n], reached[reached >= n] - n
    raise ValueError(
        f"{name}[{i}, {j}] is positive, but lies on no matrix with these sums: "
        f"the entries of {_some(np.sort(filling), 'row')} with the sum "
        f"{rows[filling].sum():.6g} are all in {_some(np.sort(filled), 'column')} with the sum "
        f"{columns[filled].sum():.6g}, and fill them. No scaling makes the entry 0: {owner} takes "
        "the limit with support='limit', or make it 0."
    )


def _some(places, what):
    shown = ", ".join(map(str, places[:_SHOWN]))
    more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
    return f"{what}{'s' if len(places) != 1 else ''} {shown}{more}"
