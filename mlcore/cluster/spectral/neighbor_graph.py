"""Symmetric graphs of nearest neighbours."""

import numpy as np
from scipy import sparse as sp

from mlcore._ext.cluster import neighbor_graph as _ext
from mlcore.runtime.scratch import scratch_array


def neighbor_graph(indices: np.ndarray, values: np.ndarray, mutual: bool) -> sp.csr_array:
    """Return the graph that joins two rows if either, or with `mutual` both, have the other.

    `indices` (n, k) are the neighbours of each row, without itself, `values` (n k,) of the edges
    are the same both ways. The diagonal is 1. O(n k) time and memory.
    """
    n, k = indices.shape
    most = (2 * k + 1) * n
    index = np.int32 if most < 2**31 else np.int64
    indptr, columns = np.empty(n + 1, index), scratch_array((most,), index)
    data = scratch_array((most,), values.dtype)
    starts, rows, edges = (scratch_array(s, np.int64) for s in ((3, n + 1), (2, n * k), (2, n * k)))
    count = _ext.symmetric_graph(
        indices, values, mutual, indptr, columns, data, starts, rows, edges
    )  # fmt: skip
    return sp.csr_array((data[:count].copy(), columns[:count].copy(), indptr), shape=(n, n))
