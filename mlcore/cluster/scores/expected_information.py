"""Expected mutual information of two partitions of given sizes that have nothing in common."""

import numpy as np

from mlcore._ext.cluster import expected_information as _ext
from mlcore.runtime.threads import effective_threads, pieces

_OPERATIONS = 30  # of a term
_WIDTH = 20  # standard deviations of a cell, over which terms are summed


def expected_information(a: np.ndarray, b: np.ndarray) -> float:
    """Return the expectation in nats over tables of counts with the margins `a` and `b`.

    Each pair of different sizes is summed once. The margins are whole and have one sum.
    """
    n = float(a.sum())
    a_sizes, a_counts = np.unique(a, return_counts=True)
    b_sizes, b_counts = np.unique(b, return_counts=True)
    rows = a_sizes.astype(np.float64), a_counts.astype(np.float64)
    columns = b_sizes.astype(np.float64), b_counts.astype(np.float64)
    deviation = np.sqrt(rows[0].mean() * columns[0].mean() / n)
    work = _OPERATIONS * (_WIDTH * deviation + _WIDTH)
    pairs, total = len(a_sizes) * len(b_sizes), 0.0
    threads = effective_threads(pairs * work)
    for first, last in pieces(pairs, work):
        out = np.empty(last - first)
        _ext.expected_information(*rows, *columns, n, first, last, out, threads)
        total += float(out.sum())
    return total / n
