"""Symmetric graphs of nearest neighbours."""

import numpy as np
from scipy import sparse as sp

from mlcore._ext.cluster import neighbor_graph as _ext
from mlcore.runtime.scratch import scratch_array


def neighbor_graph(
    indices: np.ndarray, values: np.ndarray | None, dtype: np.dtype, mutual: bool
) -> sp.csr_array:
    """Return the graph that joins two rows if either, or with `mutual` both, have the other.

    `indices` (n, k) are the neighbours of each row, without itself, `values` (n k,) of the edges
    the same both ways, None for 1. The diagonal is 1, zeros are not stored. O(n k) time and memory.
    """
    n, k = indices.shape
    most = (2 * k + 1) * n
    index = np.int32 if most < 2**31 else np.int64
    indptr, columns = np.empty(n + 1, index), scratch_array((most,), index)
    data = scratch_array((most,), dtype)
    shapes = (2, n + 1), (n * k, 2), (n * k, 2)
    starts, sources, targets = (scratch_array(shape, index) for shape in shapes)
    values = np.empty(0, dtype) if values is None else values.astype(dtype)
    count = _ext.symmetric_graph(
        indices, values, mutual, indptr, columns, data, starts, sources, targets
    )  # fmt: skip
    graph = sp.csr_array((data[:count].copy(), columns[:count].copy(), indptr), shape=(n, n))
    if not values.all():  # the rbf is 0 far away
        graph.eliminate_zeros()
    return graph
