"""Minimum s-t cuts by maximum flow, for real capacities."""

from typing import Any

import numpy as np
from scipy import sparse as sp

from mlcore._ext.cluster.cuts import max_flow as _ext
from mlcore.runtime.threads import items_per_call

_OPERATIONS_OF_AN_EDGE = 4  # seen, about


def minimum_st_cut(
    W: Any, source: int, sink: int, *, whole_flow: bool = False
) -> tuple[float, np.ndarray]:
    """Return the value of a maximum flow, and the sides of a minimum cut: 0 source, 1 sink.

    `W`, C-contiguous float64 or CSR, >= 0, without a diagonal, is overwritten by the residual
    capacities: W_ij of the edge from i to j less what goes along it. CSR has a symmetric pattern.
    What starts at the source but does not arrive stays where it ends, unless `whole_flow` is asked
    for, which takes it back.
    """
    n = W.shape[0]
    if sp.issparse(W):
        W.sort_indices()
        starts, heads = W.indptr.astype(np.int64), W.indices.astype(np.int64)
        # The pattern is symmetric: the e-th edge by columns, then rows, is the reverse of edge e.
        backs = np.argsort(W.indices, kind="stable")
        edges = W.data, starts, heads, backs
    else:
        none = np.empty(0, dtype=np.int64)
        edges = W.reshape(-1), none, none, none
    excess, state = np.zeros(n), np.zeros(4, dtype=np.int64)
    vertices = np.empty((4, n), dtype=np.int64)
    _push(edges, source, sink, excess, vertices, state)
    sides = (vertices[0] < n).astype(np.int32)
    value = float(excess[sink])
    if whole_flow:  # from where it stays, all of it can reach the source
        _push(edges, sink, source, excess, vertices, np.array([0, 0, 0, 1]))
    return value, sides


def _push(edges, source, sink, excess, vertices, state):
    at_once = items_per_call(_OPERATIONS_OF_AN_EDGE)
    while not _ext.push_relabel(*edges, source, sink, excess, vertices, state, at_once):
        pass
