"""Scores of sparse rows under a table of few columns, and probabilities in proportion to them."""

from typing import Any, NamedTuple

import numpy as np

from mlcore._ext.numerics import sparse_scores as _ext
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, pieces

_KINDS = ("value", "count", "above", "binary")
_GROUP = 4  # columns that are added at once


class EntryScores(NamedTuple):
    """Scores of k classes, ``start + sum of f(x) table[j]`` over entries x of a row, of column j.

    By `kind`, f is the "value"; the value of a "count", at least 0; 1 for one "above" `threshold`,
    at least 0; or the value of a "binary" entry, 0 or 1. Entries of one column are added first.
    `table` (d, width) and `start` (width,) are padded.
    """

    table: np.ndarray
    start: np.ndarray
    n_classes: int
    kind: str
    threshold: float = 0.0

    @classmethod
    def of(
        cls, weights: np.ndarray, start: np.ndarray, kind: str, threshold: float = 0.0
    ) -> "EntryScores":
        """Return the scores of weights (k, d) of values, and of `start` (k,)."""
        k, d = weights.shape
        width = 1 if k == 1 else -(-k // _GROUP) * _GROUP
        table = scratch_array((d, width), np.float64)
        table[:, :k] = weights.T
        table[:, k:] = 0.0
        padded = np.full(width, -np.inf)
        padded[:k] = start
        return cls(table, padded, k, kind, threshold)


def sparse_scores(
    X: Any, scores: EntryScores, *, softmax: bool = False, checked: bool = True
) -> np.ndarray | None:
    """Return the scores of CSR rows, or their softmax, (n, k) float64.

    Columns may be in any order and repeated, and change no byte. If X is not `checked`, but as
    `is_plain_csr` takes it, the result is None for values or structure that the checks should see.
    """
    (n, d), table = X.shape, scores.table
    limit = np.inf
    if not checked and X.data.dtype.kind == "f":  # no sum of squares of a row overflows
        limit = np.sqrt(float(np.finfo(X.data.dtype).max) / 4 / max(1, X.data.size))
    threads = effective_threads(X.data.size * table.shape[1])
    kind = _KINDS.index(scores.kind)
    out = np.empty((n, scores.n_classes))
    blocks = scratch_array((threads, _ext.BLOCK + table.shape[1]), np.float64)
    present = np.zeros((threads, d // 64 + d // 4096 + 2), np.uint64)
    sums, order = np.zeros((threads, 2 * d)), np.empty((threads, d), np.int64)
    for first, last in pieces(n, (X.data.size / n + 10) * table.shape[1]):
        if not _ext.sparse_scores(
            X.data, X.indices, X.indptr, first, last, kind, scores.threshold, limit, table,
            scores.start, softmax, blocks, present, sums, order, out[first:last], threads,
        ):  # fmt: skip
            return None
    return out
