"""Seeds of EM: rows far from each other, by greedy k-means++ on a sample of the rows.

Draws go by the rows' values and weights, not by their places: neither the order of rows nor writing
a row twice instead of weighting it changes a start.
"""

import numpy as np

from mlcore.numerics.seeds.greedy_seeds import seeds_of_matrix, seeds_of_points

_ROUNDING = 1e-14  # of squared distances, relative to the largest squared norm


def distinct(
    key: np.ndarray, weight: np.ndarray | None, most: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return indices of distinct rows by key, ascending, and their weights: all, or `most` drawn.

    Rows of the same key count as one row of their total weight.
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
    """Return indices drawn in proportion to `weight`, by numbers uniform in [0, 1)."""
    cumulative = np.cumsum(weight)
    places = np.searchsorted(cumulative, uniform * cumulative[-1], side="right")
    return np.minimum(places, np.searchsorted(cumulative, cumulative[-1]))  # later ones weigh 0


def far_rows(Z: np.ndarray, weight: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Return indices (k,) of rows Z (n, d) that are far from each other, by greedy k-means++."""
    order = np.arange(len(Z), dtype=np.int32)
    return _filled(seeds_of_points(Z, weight, order, k, rng), weight, k, rng)


def far_rows_again(
    Z: np.ndarray, weight: np.ndarray, k: int, times: int, rng: np.random.Generator
) -> np.ndarray:
    """Return indices (times, k) of several draws of `far_rows`, for few rows Z.

    The distances of all pairs come from one product.
    """
    squares = Z @ Z.T
    norms = np.diagonal(squares).copy()
    squares *= -2
    squares += norms
    squares += norms[:, None]
    squares[squares <= _ROUNDING * norms.max()] = 0
    order = np.arange(len(Z), dtype=np.int32)
    starts = (seeds_of_matrix(squares, weight, order, k, rng) for _ in range(times))
    return np.array([_filled(seeds, weight, k, rng) for seeds in starts])


def _filled(seeds, weight, k: int, rng) -> np.ndarray:
    """Return k seeds: those found and, if all rows equal them, others drawn by weight."""
    return np.r_[seeds, drawn(weight, rng.random(k - len(seeds)))] if len(seeds) < k else seeds
