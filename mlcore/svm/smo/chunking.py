"""Chunking: a dual problem of many variables by those few that are not at zero, or violate."""

from dataclasses import replace
from typing import Any

import numpy as np

from mlcore.svm.smo.kernel_cache import KernelCache
from mlcore.svm.smo.problem import Problem


class Chunks:
    """The smaller problems by which a large one is solved, and the kernel rows of each.

    Each chunk has the variables that are not zero, and those that violate the conditions of the
    chunk before (Vapnik 1982; Osuna, Freund and Girosi, NNSP 1997). `index` (m,) is the sample of
    each variable; `cache` is of all samples.
    """

    FIRST, MOST = 0.1, 0.5  # part of the variables in the first chunk, and in any
    LEFT = 0.05  # part of the variables for which a chunk must have room beside those not at zero
    GOAL, FINER = 0.05, 0.3  # violation of the first chunk, relative; how much less in the next

    def __init__(
        self, problem: Problem, index: np.ndarray, members: tuple[Any, ...], cache: KernelCache
    ) -> None:
        self._problem, self._index, self._members, self._cache = problem, index, members, cache
        self._before: np.ndarray | None = None
        self._goal = np.inf

    def next(
        self, beta: np.ndarray, up: np.ndarray, low: np.ndarray, violation: float, tol: float
    ) -> tuple[np.ndarray, Problem, KernelCache, float] | None:
        """Return the next chunk: its variables, problem, kernel cache and final violation.

        None where too many variables are not at zero.
        """
        self._goal = max(0.4 * tol, min(self.FINER * self._goal, 2 * self.GOAL * violation))
        chosen, m = beta != 0, len(beta)
        if chosen.any():
            room = int(self.MOST * m) - np.count_nonzero(chosen)
            if room < self.LEFT * m:
                return None
            excess = self._excess(chosen, up, low)
            violating = np.flatnonzero((excess > 0.4 * tol) & ~chosen)
            if len(violating) > room:
                worst = np.argpartition(-excess[violating], room)[:room]
                violating = violating[worst]
            chosen[violating] = True
        else:
            chosen = (0.6180339887498949 * np.arange(m)) % 1.0 < self.FIRST
        self._before, variables = chosen, np.flatnonzero(chosen)
        samples, index = np.unique(self._index[variables], return_inverse=True)
        problem, group = self._problem, self._problem.group
        part = replace(
            problem,
            linear=problem.linear[variables],
            lower=problem.lower[variables],
            upper=problem.upper[variables],
            index=index,
            start=beta[variables],
            group=None if group is None else group[variables],
        )
        return variables, part, self._cache.of_samples(samples), self._goal

    def _excess(self, nonzero, up, low):
        """Return how far each violates, at the constraints' multipliers of the last chunk."""
        violation = np.empty(len(up))
        known = nonzero if self._before is None else self._before
        for members in self._members:
            held = members[known[members]]
            if len(held) == 0:
                held = members
            if len(held):
                middle = 0.5 * (up[held].max() + low[held].min())
                violation[members] = np.maximum(up[members] - middle, middle - low[members])
        return violation
