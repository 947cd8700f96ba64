"""Greedy k-means++: seeds drawn in proportion to the samples' costs at the seeds so far.

Of ``2 + log k`` drawn candidates the one that leaves the least objective becomes a seed. There are
fewer than k seeds if there are fewer distinct samples.

References
----------
D. Arthur, S. Vassilvitskii, *k-means++: the advantages of careful seeding*, SODA 2007.
"""

import math
from typing import Any, Protocol

import numpy as np

from mlcore._ext.numerics import greedy_seeds as _ext
from mlcore.runtime.threads import pieces

_OPERATIONS = 4  # per feature of a sample and candidate


class Costs(Protocol):
    """Costs of samples at their nearest seeds, (n,); the objective is their weighted sum."""

    nearest: np.ndarray

    def add_best(self, candidates: np.ndarray) -> int:
        """Make the candidate that leaves the least objective a seed, and return it."""


def first_least(objectives: Any) -> int:
    """Return the first of the least, rounding aside, which the order of samples changes."""
    return int(np.argmax(objectives <= (1 + 1e-12) * np.min(objectives)))


def n_candidates(n_seeds: int) -> int:
    """Return the number of candidates for each seed but the first."""
    return 2 + int(math.log(n_seeds))


def greedy_seeds(costs: Costs, n_seeds: int, sampler: Any, rng: np.random.Generator) -> np.ndarray:
    """Return up to `n_seeds` indices of samples, int64, drawn by `sampler` by weight times cost."""
    seeds = [costs.add_best(sampler.draw(rng.random(1)))]
    while len(seeds) < n_seeds:
        candidates = sampler.draw(rng.random(n_candidates(n_seeds)), costs.nearest)
        if not len(candidates):
            break
        seeds.append(costs.add_best(candidates))
    return np.array(seeds)


def seed_scratch(n_features: int, n_candidates: int, itemsize: int) -> int:
    """Return the number of values that the comparison of a block with candidates works in."""
    return _ext.scratch_values(n_features, n_candidates, itemsize)


def seeds_of_points(
    X: np.ndarray, weights: np.ndarray, order: np.ndarray, n_seeds: int, rng: np.random.Generator
) -> np.ndarray:
    """Return up to `n_seeds` row indices of X (n, d), int64, by squared distances; for few rows.

    `weights` is empty for ones; `order` (n,) int32 that of rows in cumulative sums for the draws.
    """
    (n, d), seeds = X.shape, np.empty(n_seeds, dtype=np.int64)
    trials = n_candidates(n_seeds)
    scratch = (
        np.empty(n, dtype=X.dtype), np.empty(n), np.empty((trials, d), dtype=X.dtype),
        np.empty(seed_scratch(d, trials, X.itemsize), dtype=X.dtype),
    )  # fmt: skip
    for first, last in pieces(n_seeds, _OPERATIONS * n * (d + 1) * trials):
        n_numbers = (last - first) * trials - (trials - 1 if first == 0 else 0)
        count = _ext.seeds_of_points(
            X, weights, order, rng.random(n_numbers), trials, *scratch, first, seeds[:last]
        )
        if count < last:
            return seeds[:count]
    return seeds


def seeds_of_matrix(
    matrix: np.ndarray,
    weights: np.ndarray,
    order: np.ndarray,
    n_seeds: int,
    rng: np.random.Generator,
    *,
    squared: bool = False,
) -> np.ndarray:
    """Return up to `n_seeds` indices of samples, int64, by a matrix (n, n) of costs.

    Row j has the costs at sample j (their roots if `squared`); for the rest see `seeds_of_points`.
    """
    n, seeds, trials = len(order), np.empty(n_seeds, dtype=np.int64), n_candidates(n_seeds)
    uniform = rng.random(1 + (n_seeds - 1) * trials)
    count = _ext.seeds_of_matrix(
        matrix, squared, weights, order, uniform, trials,
        np.empty((1 + trials, n), dtype=matrix.dtype), np.empty(n), seeds,
    )  # fmt: skip
    return seeds[:count]
