"""FasterPAM: swaps of a medoid for a sample, each made as soon as it lowers the objective."""

from typing import NamedTuple

import numpy as np

from mlcore._ext import fasterpam as _ext
from mlcore.k_means_plus_plus import greedy_seeds, seeds_of_matrix
from mlcore.threads import effective_threads

_ROUNDING = 1e-13  # error of a sum in double precision, relative to the objective
_FEWEST = 256  # samples of the smallest part that medoids are prepared on
_GROWTH = 4  # from one part of the samples to the next
_PER_MEDOID = 20  # samples of a part at least
_ROUNDS = 20  # on a part


class Found(NamedTuple):
    """Medoids (indices of samples), objectives after swaps, rounds, convergence."""

    medoids: np.ndarray
    trace: list
    n_iter: int
    converged: bool


class NearestMedoids:
    """Nearest and second nearest medoid of each sample, and their costs.

    Parameters
    ----------
    rows : Stored or OnDemand
    weights : (n,) float64
        Empty for ones.
    medoids : (k,) int64
    """

    def __init__(self, rows, weights, medoids):
        self._rows, self._weights = rows, weights
        self.medoids = medoids.copy()
        n, k, dtype = rows.n, len(medoids), rows.dtype
        self._form = _ext.FORMS[rows.form]
        self.near = np.full(n, np.inf, dtype=dtype)
        # The only medoid cannot be removed: any bound on what samples cost cancels.
        self.second = np.full(n, rows.far if k == 1 else np.inf, dtype=dtype)
        self.labels, self.seconds = (np.full(n, -1, dtype=np.int32) for _ in range(2))
        self._costs = np.empty(n, dtype=dtype)
        self._lost = np.empty(n, dtype=np.int64)
        self._removal = np.empty(k)
        for slot, medoid in enumerate(self.medoids):
            self._cost(medoid)
            _ext.admit(self._costs, slot, self.near, self.second, self.labels, self.seconds)
        self._settle()

    def first_improving(self, block, start, threshold):
        """Return the place of the first sample worth a swap, its slot, and the changes tried.

        `changes` holds the change of the objective for each sample tried, the found one included.
        The place is the length of the block if there is none.
        """
        values, places, candidates = block
        threads = effective_threads(self._rows.n * (len(candidates) - start))
        changes, slots = np.empty(len(candidates)), np.zeros(len(candidates) + 1, dtype=np.int32)
        at = _ext.first_improving(
            values, places, candidates, start, threshold, self._form, self.near, self.second,
            self._limits, self._rows.norms, self._weights, self.labels, self._removal,
            np.empty((threads, 4 * len(self.medoids))), changes, slots, threads,
        )  # fmt: skip
        return at, int(slots[at]), changes[start : at + 1]

    def swap(self, slot, sample) -> bool:
        """Make `sample` the medoid in `slot`; undo and return False unless the objective falls."""
        state = self.near, self.second, self.labels, self.seconds
        before = *(array.copy() for array in state), self._removal.copy(), self.objective
        old, self.medoids[slot] = self.medoids[slot], sample
        self._cost(sample)
        n_lost = _ext.replace(self._costs, slot, *state, self._lost)
        if n_lost and len(self.medoids) > 1:
            lost = self._lost[:n_lost]
            values, places, columns = self._rows.between(self.medoids, lost)
            _ext.seek(
                values, places, self.medoids, columns, lost, self._form, self._rows.norms,
                self.labels, self.second, self.seconds,
            )  # fmt: skip
        self._settle()
        if self.objective < before[-1]:
            near, second, labels = before[:3]
            self.drift = _ext.moved(
                slot, self._costs, near, second, labels, self.near, self._weights
            )
            return True
        self.near, self.second, self.labels, self.seconds, self._removal, self.objective = before
        self.medoids[slot] = old
        self._limit()
        return False

    def swaps(self, candidates, share, drift):
        """Try candidates of few stored rows in turn, as `first_improving` and `swap` do.

        Return the change of each when it was tried, the drift then, the objectives after swaps, and
        the last drift.
        """
        n, k = self._rows.n, len(self.medoids)
        changes, drifts = np.empty(len(candidates)), np.empty(len(candidates))
        trace = np.empty(len(candidates) + 1)
        trace[0], drifts[0] = self.objective, drift
        made, drift = _ext.swaps(
            self._rows.values, candidates, self._form, share, self._weights, self.medoids,
            self.near, self.second, self.labels, self.seconds, self._removal, self._limits,
            np.empty((3, n), dtype=self.near.dtype), np.empty((2, n), dtype=np.int32), self._lost,
            np.empty((2, 4 * k)), changes, drifts, trace,
        )  # fmt: skip
        self.objective = float(trace[made])
        return changes, drifts, trace[1 : made + 1].tolist(), drift

    def _cost(self, medoid):
        _ext.costs(self._rows.row(medoid), medoid, self._form, self._rows.norms, self._costs)

    def _settle(self):
        self.objective = _ext.settle(
            self.near, self.second, self.labels, self._weights, self._removal
        )
        self._limit()

    def _limit(self):
        self._limits = _limits(self._rows, self.second)


def swap_medoids(rows, state, order, *, tol, max_iter, report=None) -> Found:
    """Swap until no candidate in `order` is worth a swap.

    A round tries all of them, a later one those that may have become worth a swap: swaps since
    have lowered what others would change by no more than a sum over samples, whatever the metric.
    The last round, without a swap, leaves none.

    Parameters
    ----------
    rows : Stored or OnDemand
    state : NearestMedoids
        Of the samples of `rows` to the medoids to start from.
    order : int64 array
        Candidates.
    tol : float
        Swaps that lower the objective by a smaller share of it are left.
    max_iter : int
        Most rounds.
    report : callable, optional
        Called with step, objective and change.

    References
    ----------
    E. Schubert, P. Rousseeuw, *Fast and eager k-medoids clustering*, Information Systems 101, 2021.
    """
    trace, share = [state.objective], max(tol, _ROUNDING)
    # Best change of the objective by each candidate when it was tried, and `drift` then.
    changes, drifts = np.full(len(order), -np.inf), np.zeros(len(order))
    drift = 0.0
    for n_iter in range(1, max_iter + 1):
        least = changes - (drift - drifts)
        left = np.flatnonzero(least < -share * state.objective)
        if n_iter > 1:
            left = left[np.argsort(least[left], kind="stable")]  # the most promising first
        before = len(trace)
        for block in rows.blocks(order[left]):
            candidates, at = block[2], 0
            if rows.few:
                now, left = left[: len(candidates)], left[len(candidates) :]
                changes[now], drifts[now], values, drift = state.swaps(candidates, share, drift)
                for value in values:
                    trace.append(value)
                    if report is not None:
                        report(len(trace) - 1, value, trace[-2] - value)
                continue
            while at < len(candidates):
                threshold = -share * state.objective
                found, slot, tried = state.first_improving(block, at, threshold)
                now = left[at : at + len(tried)]
                changes[now], drifts[now] = tried, drift
                at = found + 1
                if found == len(candidates):
                    break
                if state.swap(slot, candidates[found]):
                    drift += state.drift
                    trace.append(state.objective)
                    if report is not None:
                        report(len(trace) - 1, trace[-1], trace[-2] - trace[-1])
                changes[now[-1]], drifts[now[-1]] = 0.0, drift
            left = left[len(candidates) :]
        if len(trace) == before:
            return Found(state.medoids, trace, n_iter, True)
    converged = not (changes - (drift - drifts) < -share * state.objective).any()
    return Found(state.medoids, trace, n_iter, converged)


def prepared(rows, medoids, order, draw) -> np.ndarray:
    """Return medoids found by swaps on parts of the samples, to start from.

    A part a quarter as large takes a sixteenth of the time, and leaves few swaps to the whole.

    Parameters
    ----------
    rows : Stored or OnDemand
    medoids : (k,) int64
    order : int64 array
        Candidates.
    draw : callable
        ``draw(m)`` returns m samples, evenly along `order` by their weights.
    """
    rank = np.empty(rows.n, dtype=np.int64)
    rank[order] = np.arange(len(order))
    sizes, size = [], rows.n // _GROWTH
    while size > max(_FEWEST, _PER_MEDOID * len(medoids)):
        sizes.append(size)
        size //= _GROWTH
    for size in reversed(sizes):
        chosen, counts = np.unique(np.r_[draw(size), medoids], return_counts=True)
        along = np.argsort(rank[chosen], kind="stable")
        start = np.searchsorted(chosen, medoids)
        weights = counts.astype(np.float64)
        part = rows.part(chosen)
        state = NearestMedoids(part, weights, start)
        found = swap_medoids(part, state, along, tol=0.0, max_iter=_ROUNDS)
        medoids = chosen[found.medoids]
    return medoids


def build(rows, weights, n_clusters, order) -> np.ndarray:
    """Return medoids chosen one by one, each the sample that lowers the objective most.

    References
    ----------
    L. Kaufman, P. Rousseeuw, *Finding groups in data*, Wiley, 1990, chapter 2: BUILD.
    """
    form, norms = _ext.FORMS[rows.form], rows.norms
    near = np.full(rows.n, rows.far, dtype=rows.dtype)
    labels, nothing = np.zeros(rows.n, dtype=np.int32), np.zeros(1)
    medoids = []
    for _ in range(n_clusters):
        least, best, limits = np.inf, -1, _limits(rows, near)
        for values, places, candidates in rows.blocks(order):
            threads = effective_threads(rows.n * len(candidates))
            changes, slots = np.empty(len(candidates)), np.empty(len(candidates), dtype=np.int32)
            _ext.first_improving(
                values, places, candidates, 0, -np.inf, form, near, near, limits, norms, weights,
                labels, nothing, np.empty((threads, 4)), changes, slots, threads,
            )  # fmt: skip
            at = int(np.argmin(changes))
            if changes[at] < least:
                least, best = changes[at], int(candidates[at])
        medoids.append(best)
        order = order[order != best]
        near = np.minimum(near, _costs(rows, best))
    return np.array(medoids)


def plus_plus(rows, weights, n_clusters, sampler, rng) -> np.ndarray:
    """Return medoids drawn by greedy k-means++.

    Where all samples equal medoids, the others are the first that are left.
    """
    if rows.few:
        squared = rows.form == "squares"
        medoids = seeds_of_matrix(
            rows.values, weights, sampler.order, n_clusters, rng, squared=squared
        )
    else:
        medoids = greedy_seeds(_Costs(rows, weights), n_clusters, sampler, rng)
    if len(medoids) == n_clusters:
        return medoids
    unused = np.setdiff1d(sampler.order, medoids)
    if len(weights):
        unused = unused[weights[unused] > 0]
    return np.r_[medoids, unused[: n_clusters - len(medoids)]]


class _Costs:
    """Costs of samples at their nearest medoids, as `k_means_plus_plus.Costs`."""

    def __init__(self, rows, weights):
        self._rows, self._weights = rows, weights
        self.nearest = np.full(rows.n, np.inf, dtype=rows.dtype)

    def add_best(self, candidates):
        left = [np.minimum(self.nearest, _costs(self._rows, sample)) for sample in candidates]
        best = int(np.argmin([self._objective(costs) for costs in left]))
        self.nearest = left[best]
        return int(candidates[best])

    def _objective(self, costs):
        w = self._weights
        return w @ costs if len(w) else costs.sum(dtype=np.float64)


def _costs(rows, medoid):
    costs = np.empty(rows.n, dtype=rows.dtype)
    _ext.costs(rows.row(medoid), medoid, _ext.FORMS[rows.form], rows.norms, costs)
    return costs


def _limits(rows, second):
    """Return the values in a candidate's row at which samples cost `second`."""
    if rows.form == "values":
        return second
    if rows.form == "squares":
        return np.sqrt(second)
    squares = second * second if rows.form == "roots" else second
    return 0.5 * (rows.norms - (np.sqrt(second) if rows.form == "fourths" else squares))
