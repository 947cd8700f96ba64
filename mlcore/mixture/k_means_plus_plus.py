"""Seeds of EM: rows far from each other, by greedy k-means++ on a sample of the rows.

Draws go by the rows' values and weights, not by their places: neither the order of rows nor writing
a row twice instead of weighting it changes a start.
"""

import numpy as np

from mlcore._ext import k_means_plus_plus as _ext
from mlcore.threads import pieces

_ROUNDING = 1e-14  # of squared distances, in the largest of squared norms
_OPERATIONS_OF_A_VALUE = 4  # of a row, for each candidate


def distinct(key: np.ndarray, weight, most: int, rng) -> tuple[np.ndarray, np.ndarray]:
    """Places of rows in the order of their keys, and their weights: all, or a draw of many.

    Rows of the same key are one, of their weight together.
    """
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    w = np.diff(np.append(first, len(key))).astype(np.float64)
    if weight is not None:
        w = np.add.reduceat(weight[order], first)
    if len(first) <= most:
        return order[first], w
    places, times = np.unique(drawn(w, np.sort(rng.random(most))), return_counts=True)
    return order[first[places]], times * (w.sum() / most)


def drawn(weight: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """Places drawn with chances in proportion to `weight`, by numbers uniform in [0, 1)."""
    cumulative = np.cumsum(weight)
    places = np.searchsorted(cumulative, uniform * cumulative[-1], side="right")
    return np.minimum(places, np.searchsorted(cumulative, cumulative[-1]))  # later ones weigh 0


def far_rows(Z: np.ndarray, weight: np.ndarray, k: int, rng) -> np.ndarray:
    """Places (k,) of rows Z (n, d) that are far from each other, by greedy k-means++: of a few
    candidates, drawn by their distance, the best.
    """
    n, d = Z.shape
    trials = 2 + int(np.log(k))
    order, seeds = np.arange(n, dtype=np.int32), np.empty(k, np.int64)
    nearest, sums, points = np.empty(n), np.empty(n), np.empty((trials, d))
    panel = np.empty((1, d * _ext.PANEL_WIDTH[8]))
    for begin, end in pieces(k, _OPERATIONS_OF_A_VALUE * n * (d + 1) * trials):
        uniform = rng.random((end - begin) * trials - (trials - 1 if begin == 0 else 0))
        count = _ext.seeds(
            Z, weight, order, uniform, trials, nearest, sums, points, panel, begin, seeds[:end]
        )
        if count < end:  # all rows equal seeds
            seeds[count:] = drawn(weight, rng.random(k - count))
            break
    return seeds


def far_rows_again(Z: np.ndarray, weight: np.ndarray, k: int, times: int, rng) -> np.ndarray:
    """Places (times, k), each row of them as `far_rows` draws them, of few rows Z: from the
    distances of all pairs, which one product gives.
    """
    n, trials = len(Z), 2 + int(np.log(k))
    squares = Z @ Z.T
    norms = np.diagonal(squares).copy()
    squares *= -2
    squares += norms
    squares += norms[:, None]
    squares[squares <= _ROUNDING * norms.max()] = 0
    order, seeds = np.arange(n, dtype=np.int32), np.empty((times, k), np.int64)
    left, sums = np.empty((1 + trials, n)), np.empty(n)
    for row in seeds:
        uniform = rng.random(k * trials - (trials - 1))
        count = _ext.medoids(squares, False, weight, order, uniform, trials, left, sums, row)
        if count < k:  # all rows equal seeds
            row[count:] = drawn(weight, rng.random(k - count))
    return seeds
