"""A working set of the dual problem: its principal submatrix of K, and the problem on it."""

from typing import Any

import numpy as np

from mlcore._ext.svm import working_set as _ext
from mlcore.kernels.gram_rows import padded
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads

_FACE = 4096  # most free variables that a Newton step is tried with: some tenths of a second


def principal_submatrix(K: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """Return K between some samples, ascending; its rows are padded to whole vectors."""
    m = len(samples)
    submatrix, order = np.zeros((m, padded(m)), dtype=K.dtype), np.arange(m)
    _ext.gather(K, samples, samples, submatrix, order, order, effective_threads(m * m))
    return submatrix


class WorkingSet:
    """Variables and the principal submatrix of K between them, kept from round to round.

    A variable keeps its slot, a row and column of the submatrix; group 0 comes first, and `spans`
    lists the slots in use as (begin, end, group). K itself is used if all variables are chosen.
    `faces` (2,) counts the Newton steps tried, and those taken whole.
    """

    cache: Any
    index: np.ndarray
    epsilon: float
    n_iter: int
    faces: np.ndarray
    limits: tuple[Any, ...]
    K: Any
    spans: tuple[Any, ...]

    def __init__(
        self, cache: Any, index: np.ndarray, epsilon: float, members: tuple[Any, ...]
    ) -> None:
        self.cache, self.index, self.epsilon = cache, index, epsilon
        self.n_iter, self.faces = 0, np.zeros(2, dtype=np.int64)
        m, sizes = len(index), [padded(len(k)) for k in members]
        if sum(sizes) > cache.largest_submatrix:
            sizes = [padded(-(-cache.largest_submatrix * len(k) // m)) for k in members]
        self.limits = tuple(sizes)
        self._runs = _runs(index, members)
        self._slot_of = None
        self._shared = False

    @property
    def may_share(self) -> bool:
        """True if all variables can be chosen with K itself in place of a submatrix."""
        return self._runs is not None and self.cache.whole

    @property
    def shared(self) -> Any:
        """True if K itself is worked on."""
        return self._shared

    def load(self, chosen: Any) -> None:
        """Make `chosen` (two ascending arrays of variables) the set."""
        # With all variables chosen, K itself is the submatrix.
        m = len(self.index)
        if self.may_share and sum(map(len, chosen)) == m:
            if not self._shared:
                self.K, self.spans = self.cache.rows, self._runs
                self._slots, self._variables = self.index, np.arange(m)
                self._shared, self._slot_of = True, None
            return
        # Else give each group as many slots as it needs.
        if self._slot_of is None:
            self._begin_empty()
        self._make_room([len(members) for members in chosen])
        entered, spans = [], []
        for members, (begin, end, group) in zip(chosen, self.spans, strict=True):
            # Free the slots of the variables that leave.
            present = self._variable[begin:end]
            stay = np.zeros(m + 1, dtype=bool)  # the last for slots of no variable
            stay[members] = True
            leaving = present[~stay[present] & (present >= 0)]
            present[~stay[present]] = -1
            self._slot_of[leaving] = -1
            # Put the new variables into free slots, after a large loss into fewer.
            new = members[self._slot_of[members] < 0]
            if len(members) < 0.85 * len(present):
                end = self._compact(begin, end)
            end = max(end, begin + padded(len(members)))
            holes = begin + np.flatnonzero(self._variable[begin:end] < 0)[: len(new)]
            self._variable[holes] = new
            self._slot_of[new] = holes
            entered.append(holes)
            spans.append((begin, end, group))
        # Only rows and columns of the new variables are filled.
        self.spans = tuple(spans)
        self._slots = np.flatnonzero(self._variable >= 0)
        self._variables = self._variable[self._slots]
        self._fill(np.concatenate(entered))

    def _begin_empty(self):
        """Start from an empty submatrix."""
        self._shared = False
        self._room = (0, 0)
        self.spans = ((0, 0, 0), (0, 0, 1))
        self._variable = np.zeros(0, dtype=np.int64)  # of each slot, -1 for none
        self._slot_of = np.full(len(self.index), -1, dtype=np.int64)  # of each variable

    def _make_room(self, wanted):
        """Enlarge the submatrix to so many variables of each group, if it is smaller."""
        if all(size <= room for size, room in zip(wanted, self._room, strict=True)):
            return
        room = tuple(
            min(limit, padded(max(have, size + size // 4)))
            for size, have, limit in zip(wanted, self._room, self.limits, strict=True)
        )
        K = scratch_array((sum(room), sum(room)), self.cache.kernel.dtype)
        variable = np.full(sum(room), -1, dtype=np.int64)
        old = np.flatnonzero(self._variable >= 0)
        shift = np.where(old < self._room[0], 0, room[0] - self._room[0])
        if len(old):
            threads = effective_threads(len(old) ** 2)
            _ext.gather(self.K, old, old, K, old + shift, old + shift, threads)
            variable[old + shift] = self._variable[old]
            self._slot_of[variable[old + shift]] = old + shift
        self.K, self._variable, self._room = K, variable, room
        (_, end, _), (begin, last, _) = self.spans
        self.spans = ((0, end, 0), (room[0], room[0] + last - begin, 1))

    def _compact(self, begin, end):
        """Close the gaps of one group; return its new end."""
        old = begin + np.flatnonzero(self._variable[begin:end] >= 0)
        new = np.arange(begin, begin + len(old))
        used = np.concatenate([np.arange(b, e) for b, e, _ in self.spans])
        other = used[(used < begin) | (used >= end)]
        # Rows and columns only move down, in ascending order and by one thread: in place.
        _ext.gather(self.K, old, old, self.K, new, new, 1)
        if len(other):
            _ext.gather(self.K, old, other, self.K, new, other, 1)
            _ext.gather(self.K, other, old, self.K, other, new, 1)
        self._variable[new] = self._variable[old]
        self._variable[begin + len(old) : end] = -1
        self._slot_of[self._variable[new]] = new
        return begin + padded(len(old))

    def _fill(self, entered):
        """Fill rows and columns of the slots that have new variables."""
        if len(entered) == 0:
            return
        # All slots up to the last in use; empty ones are computed too, unused.
        used = np.arange(max(end for begin, end, _ in self.spans if end > begin))
        variables = self._variable[: len(used)]
        samples = np.where(variables >= 0, self.index[variables], 0)
        threads, cache = effective_threads(len(entered) * len(used)), self.cache
        new = samples[entered]
        slots = cache.cached(new)
        cached = (slots >= 0) & cache.keeps
        if cache.kernel.halves and 2 * np.count_nonzero(~cached) > len(used):
            cache.kernel.fill_all(self.K, samples)
            return
        _ext.gather(cache.rows, slots[cached], samples, self.K, entered[cached], used, threads)
        cache.kernel.fill(new[~cached], self.K, entered[~cached], samples)
        stays = np.ones(len(used), dtype=bool)
        stays[entered] = False
        _ext.mirror_rows(self.K, entered, used[stays], threads)

    def solve(
        self,
        beta: np.ndarray,
        gradient: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
        *,
        tol: float,
        max_steps: int,
    ) -> tuple[Any, ...]:
        """Improve the set's variables, to a violation of `tol` or for at most `max_steps`.

        Arrays are (m,); `beta` is changed. Return the variables that moved, and their changes.
        """
        end, slots, v = self.spans[-1][1], self._slots, self._variables
        dtype = self.K.dtype
        low, high, b, G = (np.zeros(end) for _ in range(4))
        low[slots], high[slots], b[slots], G[slots] = lower[v], upper[v], beta[v], gradient[v]
        single = scratch_array((4, padded(end)), dtype)
        diagonal = single[3, :end]
        diagonal[:] = 0
        diagonal[slots] = self.cache.kernel.diagonal[self.index[v]]
        descent = _ext.Descent(
            self.K, diagonal, b, G, low, high, self.spans, self.epsilon, tol, max_steps,
            single, np.empty((6, end)), np.empty((2, end), dtype=np.int64),
            np.empty((2, end), dtype=np.int8),
            min(_FACE, max(256, self.cache.largest_submatrix // 2)), effective_threads(),
        )  # fmt: skip
        while (free := descent.advance()) is not None:  # between two calls, Ctrl-C is heard
            if free:
                descent.take_face(scratch_array((free, free), dtype))
        steps, tried, settled = descent.counts()
        self.n_iter += steps
        self.faces += np.array([tried, settled])
        new = b[slots]
        moved = np.flatnonzero(new != beta[v])
        change = new[moved] - beta[v[moved]]
        beta[v] = new
        return v[moved], change


def _runs(index, members):
    """Return the spans of samples of ascending variables; None if there are more than four."""
    group = np.zeros(len(index), dtype=np.int64)
    group[members[1]] = 1
    breaks = np.flatnonzero((np.diff(index) != 1) | (np.diff(group) != 0)) + 1
    if len(breaks) > 3 or (np.diff(index) <= 0).any():
        return None
    edges = [0, *breaks.tolist(), len(index)]
    return tuple(
        (int(index[a]), int(index[b - 1]) + 1, int(group[a]))
        for a, b in zip(edges, edges[1:], strict=False)
    )
