"""Total support: the condition under which a matrix can be scaled to unit row sums."""

import numpy as np
from scipy import sparse as sp
from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching

from mlcore.cluster.doubly_stochastic.symmetric_matrix import DenseSymmetric, SparseSymmetric


def require_total_support(matrix: DenseSymmetric | SparseSymmetric, owner: str) -> None:
    """Refuse a symmetric non-negative matrix that no diagonal scales to unit row sums.

    A scaling exists if and only if every positive entry lies on a permutation of positive entries
    (Sinkhorn and Knopp 1967): a maximum matching decides where simpler conditions do not.
    """
    require_rows(matrix, owner)
    if matrix.diagonal().min() > 0.0:
        return
    if 2 * int(matrix.counts().min()) > matrix.n:
        return
    pattern = matrix.pattern()
    match = maximum_bipartite_matching(pattern, perm_type="column")
    if match.min() < 0:
        row = int(np.argmin(match))
        raise ValueError(
            f"K has no support: no permutation has positive entries only, and row {row} is one "
            f"that finds no column of its own, so that {_CANNOT.format(owner)}"
        )
    entries = pattern.tocoo()
    row_of_column = np.empty_like(match)
    row_of_column[match] = np.arange(matrix.n)
    matched = row_of_column[entries.col]
    graph = sp.csr_array((np.ones(entries.nnz, np.int8), (entries.row, matched)), pattern.shape)
    _, component = connected_components(graph, connection="strong")
    outside = component[entries.row] != component[matched]
    if outside.any():
        at = int(np.argmax(outside))
        raise ValueError(
            f"K has no total support: K[{entries.row[at]}, {entries.col[at]}] is positive, but "
            "lies on no permutation of positive entries. It would have to become 0, so that "
            + _CANNOT.format(owner)
        )


def require_rows(matrix: DenseSymmetric | SparseSymmetric, owner: str) -> None:
    """Refuse rows of zeros."""
    if not matrix.sums.min() > 0.0:
        row = int(np.argmin(matrix.sums))
        raise ValueError(
            f"Row {row} of K is zero: sample {row} has no affinity, not even to itself, and cannot "
            f"be scaled. {owner} needs a positive entry in every row; leave such samples out, or "
            "give them a positive diagonal."
        )


_CANNOT = (
    "no scaling makes the rows sum to 1. {0} needs total support, which a positive diagonal gives: "
    "add a small multiple of the identity, or leave such samples out."
)
