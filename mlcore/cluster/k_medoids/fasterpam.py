"""FasterPAM: swaps of a medoid for a sample, each made as soon as it lowers the objective."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mlcore._ext.cluster import fasterpam as _ext
from mlcore.numerics.seeds.greedy_seeds import first_least, greedy_seeds, seeds_of_matrix
from mlcore.runtime.threads import effective_threads

_ROUNDING = 1e-13  # error of a sum in double precision, relative to the objective
_FEWEST = 256  # samples of the smallest part that swaps are made on
_GROWTH = 4  # from one part of the samples to the next
_PER_MEDOID = 20  # least samples of a part
_ROUNDS = 20  # on a part at most


class Swaps(NamedTuple):
    """Result of swaps: medoids (indices of samples), objectives, rounds, convergence."""

    medoids: np.ndarray
    trace: list[Any]
    n_iter: int
    converged: bool


class NearestMedoids:
    """Nearest and second nearest medoid of each sample, and their costs.

    `rows` are Stored or OnDemand; `weights`, float64 (n,), are empty for ones.
    """

    medoids: np.ndarray
    nearest: np.ndarray
    second: np.ndarray
    labels: np.ndarray
    second_labels: np.ndarray
    objective: float
    decrease: np.ndarray

    def __init__(self, rows: Any, weights: np.ndarray, medoids: np.ndarray) -> None:
        self._rows, self._weights = rows, weights
        self.medoids = medoids.copy()
        n, k, dtype = rows.n, len(medoids), rows.dtype
        self._form = _ext.FORMS[rows.form]
        self.nearest = np.full(n, np.inf, dtype=dtype)
        # The only medoid cannot be removed: any bound on costs cancels.
        self.second = np.full(n, rows.max_cost if k == 1 else np.inf, dtype=dtype)
        self.labels, self.second_labels = (np.full(n, -1, dtype=np.int32) for _ in range(2))
        self._costs = np.empty(n, dtype=dtype)
        self._stale = np.empty(n, dtype=np.int64)
        self._removal = np.empty(k)
        for slot, medoid in enumerate(self.medoids):
            self._cost(medoid)
            _ext.add_medoid(
                self._costs, slot, self.nearest, self.second, self.labels, self.second_labels
            )
        self._sum_costs()

    def first_improving(self, block: Any, start: Any, threshold: Any) -> Any:
        """Return the place of the first improving candidate, its slot, and the changes up to it.

        The place is the length of the block if no candidate improves.
        """
        values, places, candidates = block
        threads = effective_threads(self._rows.n * (len(candidates) - start))
        changes, slots = np.empty(len(candidates)), np.zeros(len(candidates) + 1, dtype=np.int32)
        at = _ext.first_improving(
            values, places, candidates, start, threshold, self._form, self.nearest, self.second,
            self._limits, self._rows.norms, self._weights, self.labels, self._removal,
            np.empty((threads, 4 * len(self.medoids))), changes, slots, threads,
        )  # fmt: skip
        return at, int(slots[at]), changes[start : at + 1]

    def swap(self, slot: Any, sample: Any) -> bool:
        """Make `sample` the medoid in `slot`; undo and return False if that is no improvement."""
        state = self.nearest, self.second, self.labels, self.second_labels
        before = *(array.copy() for array in state), self._removal.copy(), self.objective
        old, self.medoids[slot] = self.medoids[slot], sample
        self._cost(sample)
        n_stale = _ext.replace_medoid(self._costs, slot, *state, self._stale)
        if n_stale and len(self.medoids) > 1:
            stale = self._stale[:n_stale]
            values, places, columns = self._rows.submatrix(self.medoids, stale)
            _ext.find_second(
                values, places, self.medoids, columns, stale, self._form, self._rows.norms,
                self.labels, self.second, self.second_labels,
            )  # fmt: skip
        self._sum_costs()
        if self.objective < before[-1]:
            nearest, second, labels = before[:3]
            self.decrease = _ext.largest_decrease(
                slot, self._costs, nearest, second, labels, self.nearest, self._weights
            )
            return True
        self.nearest, self.second, self.labels, self.second_labels = before[:4]
        self._removal, self.objective = before[4:]
        self.medoids[slot] = old
        self._limit()
        return False

    def swaps(self, candidates: np.ndarray, share: float, decrease: Any) -> tuple[Any, ...]:
        """Try candidates in turn, as `first_improving` and `swap` do, in a call for few samples.

        Return changes, decreases when tried, objectives after swaps, and the last decrease.
        """
        n, k = self._rows.n, len(self.medoids)
        changes, decreases = np.empty(len(candidates)), np.empty(len(candidates))
        trace = np.empty(len(candidates) + 1)
        trace[0], decreases[0] = self.objective, decrease
        made, decrease = _ext.swaps(
            self._rows.values, candidates, self._form, share, self._weights, self.medoids,
            self.nearest, self.second, self.labels, self.second_labels, self._removal, self._limits,
            np.empty((3, n), dtype=self.nearest.dtype), np.empty((2, n), dtype=np.int32),
            self._stale, np.empty((2, 4 * k)), changes, decreases, trace,
        )  # fmt: skip
        self.objective = float(trace[made])
        return changes, decreases, trace[1 : made + 1].tolist(), decrease

    def _cost(self, medoid):
        _ext.costs(self._rows.row(medoid), medoid, self._form, self._rows.norms, self._costs)

    def _sum_costs(self):
        self.objective = _ext.sum_costs(
            self.nearest, self.second, self.labels, self._weights, self._removal
        )
        self._limit()

    def _limit(self):
        self._limits = _limits(self._rows, self.second)


def swap_medoids(
    rows: Any,
    state: NearestMedoids,
    order: np.ndarray,
    *,
    tol: float,
    max_iter: int,
    report: Callable[..., Any] | None = None,
) -> Swaps:
    """Swap until no candidate in `order` improves the objective by the share `tol` of it.

    FasterPAM (E. Schubert, P. Rousseeuw, Information Systems 101, 2021). A swap lowers the change
    of the objective by any other candidate by at most `decrease`: rounds after the first skip those
    that cannot improve by now.
    """
    trace, share = [state.objective], max(tol, _ROUNDING)
    # Best change of the objective by each candidate when it was tried, and total `decrease` then.
    changes, decreases = np.full(len(order), -np.inf), np.zeros(len(order))
    decrease = 0.0
    for n_iter in range(1, max_iter + 1):
        least = changes - (decrease - decreases)
        left = np.flatnonzero(least < -share * state.objective)
        if n_iter > 1:
            left = left[np.argsort(least[left], kind="stable")]  # the most promising first
        before = len(trace)
        for block in rows.blocks(order[left]):
            candidates, at = block[2], 0
            if rows.small:
                now, left = left[: len(candidates)], left[len(candidates) :]
                outcome = state.swaps(candidates, share, decrease)
                changes[now], decreases[now], values, decrease = outcome
                for value in values:
                    trace.append(value)
                    if report is not None:
                        report(len(trace) - 1, value, trace[-2] - value)
                continue
            while at < len(candidates):
                threshold = -share * state.objective
                place, slot, tried = state.first_improving(block, at, threshold)
                now = left[at : at + len(tried)]
                changes[now], decreases[now] = tried, decrease
                at = place + 1
                if place == len(candidates):
                    break
                if state.swap(slot, candidates[place]):
                    decrease += state.decrease
                    trace.append(state.objective)
                    if report is not None:
                        report(len(trace) - 1, trace[-1], trace[-2] - trace[-1])
                changes[now[-1]], decreases[now[-1]] = 0.0, decrease
            left = left[len(candidates) :]
        if len(trace) == before:
            return Swaps(state.medoids, trace, n_iter, True)
    converged = not (changes - (decrease - decreases) < -share * state.objective).any()
    return Swaps(state.medoids, trace, n_iter, converged)


def improve_on_parts(
    rows: Any, medoids: np.ndarray, order: np.ndarray, draw: Callable[..., Any]
) -> np.ndarray:
    """Return initial medoids, improved by swaps on ever larger parts of the samples.

    A part a quarter as large takes a sixteenth of the time; ``draw(m)`` returns m samples of one.
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
        swaps = swap_medoids(part, state, along, tol=0.0, max_iter=_ROUNDS)
        medoids = chosen[swaps.medoids]
    return medoids


def build(rows: Any, weights: Any, n_clusters: Any, order: Any) -> np.ndarray:
    """Return medoids chosen one by one, each the sample that lowers the objective most.

    L. Kaufman, P. Rousseeuw, *Finding groups in data*, Wiley, 1990, chapter 2: BUILD.
    """
    form, norms = _ext.FORMS[rows.form], rows.norms
    nearest = np.full(rows.n, rows.max_cost, dtype=rows.dtype)
    labels, nothing = np.zeros(rows.n, dtype=np.int32), np.zeros(1)
    medoids = []
    for _ in range(n_clusters):
        least, best, limits = np.inf, -1, _limits(rows, nearest)
        for values, places, candidates in rows.blocks(order):
            threads = effective_threads(rows.n * len(candidates))
            changes, slots = np.empty(len(candidates)), np.empty(len(candidates), dtype=np.int32)
            _ext.first_improving(
                values, places, candidates, 0, -np.inf, form, nearest, nearest, limits, norms,
                weights, labels, nothing, np.empty((threads, 4)), changes, slots, threads,
            )  # fmt: skip
            at = int(np.argmin(changes))
            if changes[at] < least:
                least, best = changes[at], int(candidates[at])
        medoids.append(best)
        order = order[order != best]
        nearest = np.minimum(nearest, _costs(rows, best))
    return np.array(medoids)


def plus_plus(
    rows: Any, weights: np.ndarray, n_clusters: int, sampler: Any, rng: np.random.Generator
) -> np.ndarray:
    """Return medoids drawn by greedy k-means++.

    If fewer samples are distinct, the other medoids are the first unused samples.
    """
    if rows.small:
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
    """Costs of samples at their nearest medoids, as in `k_means_plus_plus.Costs`."""

    def __init__(self, rows, weights):
        self._rows, self._weights = rows, weights
        self.nearest = np.full(rows.n, np.inf, dtype=rows.dtype)

    def add_best(self, candidates):
        left = [np.minimum(self.nearest, _costs(self._rows, sample)) for sample in candidates]
        best = first_least([self._objective(costs) for costs in left])
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
    """Return the values in a candidate's row that correspond to costs of `second`."""
    if rows.form == "values":
        return second
    if rows.form == "squares":
        return np.sqrt(second)
    squares = second * second if rows.form == "roots" else second
    return 0.5 * (rows.norms - (np.sqrt(second) if rows.form == "fourths" else squares))
