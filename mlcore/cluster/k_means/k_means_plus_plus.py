"""Seeds for k-means: greedy k-means++, and rows drawn at random.

Rows are drawn along one fixed projection of the data, so that neither their order nor whether
weights or copies repeat them makes a difference.
"""

import numpy as np
from scipy import sparse as sp

from mlcore._ext import k_means_plus_plus as _ext
from mlcore.cluster.k_means.sparse_assignment import SparseRows, seed_columns
from mlcore.threads import effective_threads

_BLOCK = 2**14  # rows summed at a time
_POTENTIALS = 8  # sums that threads fill side by side
_FEW = 2**24  # differences of a start: some milliseconds, in a single call


class RowSampler:
    """Draws rows of `X` with probabilities in proportion to their weights, empty for ones."""

    def __init__(self, X, weights):
        n, d = X.shape
        direction = np.sin(1.0 + np.arange(d))
        keys = np.empty(n)
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, n, _BLOCK):
                block = X if n <= _BLOCK else X[start : start + _BLOCK]
                if not sp.issparse(block):
                    block = np.asarray(block, dtype=np.float64)
                keys[start : start + _BLOCK] = block @ direction
        order = np.argsort(keys)
        del keys
        self._order = order.astype(np.int32 if n < 2**31 else np.int64)
        self._weights = weights
        self._cumulative = None

    @property
    def order(self) -> np.ndarray:
        """All rows, along the projection."""
        return self._order

    def draw(self, uniform, factor=None) -> np.ndarray:
        """Return a row for each of the numbers in [0, 1); none where all probabilities are 0.

        `factor` multiplies the weights.
        """
        starts = range(0, len(self._order), _BLOCK)
        ends = np.cumsum([self._mass(start, factor).sum() for start in starts])
        if not ends[-1] > 0:
            return np.empty(0, dtype=np.int64)
        found = np.empty(len(uniform), dtype=np.int64)
        cumulative = {}
        for t, target in enumerate(np.asarray(uniform) * ends[-1]):
            block = min(int(np.searchsorted(ends, target, side="right")), len(ends) - 1)
            while block and ends[block] == ends[block - 1]:
                block -= 1
            if block not in cumulative:
                mass = self._mass(starts[block], factor)
                cumulative[block] = np.cumsum(mass), int(np.flatnonzero(mass)[-1])
            sums, last = cumulative[block]
            before = ends[block - 1] if block else 0.0
            at = min(int(np.searchsorted(sums, target - before, side="right")), last)
            found[t] = self._order[starts[block] + at]
        return found

    def draw_many(self, uniform) -> np.ndarray:
        """Return what `draw` does, for many numbers and again and again."""
        n = len(self._order)
        if not len(self._weights):
            return self._order[np.minimum((uniform * n).astype(np.int64), n - 1)]
        if self._cumulative is None:
            self._cumulative = np.cumsum(self._weights[self._order])
        total = self._cumulative[-1]
        at = np.searchsorted(self._cumulative, uniform * total, side="right")
        last = np.searchsorted(self._cumulative, total)  # later ones have no weight
        return self._order[np.minimum(at, last)]

    def _mass(self, start, factor):
        rows = self._order[start : start + _BLOCK]
        mass = self._weights[rows] if len(self._weights) else np.ones(len(rows))
        return mass if factor is None else mass * factor[rows]


def k_means_plus_plus(X, weights, units, n_clusters, rng, sampler) -> np.ndarray:
    """Return up to `n_clusters` rows: each in proportion to its squared distance from the others.

    Of ``2 + log k`` rows drawn so, the one is kept that leaves the least objective. There are fewer
    than `n_clusters` where the data have fewer distinct points.

    References
    ----------
    D. Arthur, S. Vassilvitskii, *k-means++: the advantages of careful seeding*, SODA 2007.
    """
    n_trials = 2 + int(np.log(n_clusters))
    few = X.shape[0] <= _BLOCK and X.shape[0] * X.shape[1] * n_trials * n_clusters <= _FEW
    if sp.issparse(X):
        return _of_sparse(X, weights, units, n_clusters, n_trials, rng, sampler)
    if few:
        return _in_one_call(units.place(X), weights, n_clusters, n_trials, rng, sampler)
    nearest = np.full(X.shape[0], np.inf, dtype=X.dtype)
    rows = [int(sampler.draw([rng.random()])[0])]
    _compare(X, weights, units, rows, nearest, take=True)
    for _ in range(n_clusters - 1):
        trials = sampler.draw(rng.random(n_trials), nearest)
        if not len(trials):
            break
        potentials = _compare(X, weights, units, trials, nearest, take=False)
        rows.append(int(trials[np.argmin(potentials)]))
        _compare(X, weights, units, rows[-1:], nearest, take=True)
    return np.array(rows)


def _of_sparse(X, weights, units, n_clusters, n_trials, rng, sampler):
    rows, samples = np.empty(n_clusters, dtype=np.int64), SparseRows(X, units)
    left = np.empty((1 + n_trials, samples.n))  # squared distances from seeds, and with a trial
    left[0] = np.inf
    columns = seed_columns(samples.d, n_trials)
    for c in range(n_clusters):
        n_drawn, factor = (n_trials, left[0]) if c else (1, None)
        trials = sampler.draw(rng.random(n_drawn), factor)
        if not len(trials):
            return rows[:c]
        samples.compare(trials, columns, left)
        costs = left[1 : 1 + len(trials)]
        best = np.argmin([cost @ weights if len(weights) else cost.sum() for cost in costs])
        rows[c] = trials[best]
        left[0] = costs[best]
    return rows


def _in_one_call(X, weights, n_clusters, n_trials, rng, sampler):
    (n, d), rows = X.shape, np.empty(n_clusters, dtype=np.int64)
    count = _ext.seeds(
        X, weights, sampler.order, rng.random(1 + (n_clusters - 1) * n_trials), n_trials,
        np.empty(n, dtype=X.dtype), np.empty(n), np.empty((n_trials, d), dtype=X.dtype),
        _panels(1, d, X.dtype), 0, rows,
    )  # fmt: skip
    return rows[:count]


def random_rows(sampler, n_clusters, n_samples, rng) -> np.ndarray:
    """Return different rows, drawn one after the other by their weights."""
    left = np.ones(n_samples)
    rows = []
    while len(rows) < n_clusters:
        drawn = sampler.draw(rng.random(n_clusters - len(rows)), left)
        drawn = list(dict.fromkeys(drawn.tolist()))
        rows += drawn
        left[drawn] = 0
    return np.array(rows)


def _compare(X, weights, units, candidates, nearest, *, take):
    d, n_candidates = X.shape[1], len(candidates)
    points = np.ascontiguousarray(units.place(X[candidates]))
    threads = effective_threads(X.size * n_candidates)
    potentials = np.zeros((_POTENTIALS, n_candidates))
    scratch = _panels(threads, d, X.dtype)
    for rows, block in units.blocks(X, d * n_candidates + 64):
        some = weights[rows] if len(weights) else weights
        _ext.lower(block, points, some, nearest[rows], potentials, scratch, take, threads)
    return potentials.sum(axis=0)


def _panels(n_threads, n_features, dtype):
    """Return scratch of the compiled loops: a panel of samples for each thread."""
    return np.empty((n_threads, n_features * _ext.PANEL_WIDTH[dtype.itemsize]), dtype=dtype)
