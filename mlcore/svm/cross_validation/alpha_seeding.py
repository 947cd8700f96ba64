"""A binary problem and the problems of its folds, for increasing C, by alpha seeding.

A fold leaves out only a part of the samples, so it starts from the solution on all of them, whose
product with K is known: only the rows of what was left out, or moved, are added to it
(DeCoste and Wagstaff, KDD 2000). All of K is in memory, and held-out samples have bounds of 0: the
product holds their decision values too.
"""

from typing import Any

import numpy as np

from mlcore._ext.svm import alpha_seeding as _ext
from mlcore.kernels.gram_rows import add_rows, padded
from mlcore.runtime.scratch import scratch_array
from mlcore.runtime.threads import effective_threads, items_per_call
from mlcore.svm.multiclass.multiclass import UNOPPOSED
from mlcore.svm.smo.bias import round_to_bounds
from mlcore.svm.smo.kernel_cache import KernelCache
from mlcore.svm.smo.problem import Problem, Solution
from mlcore.svm.smo.smo import resolved
from mlcore.svm.smo.working_set import principal_submatrix

# Of each row, as `outcome` in alpha_seeding.pyx.
OUTCOME = np.dtype([("steps", np.int64), ("violation", np.float64), ("multiplier", np.float64)])
_CALL_STEPS = 50_000  # pair steps of one compiled call for each row, then Ctrl-C
_SIDE = 2048  # variables of the largest working set
_TOUCHES = 500  # times that a fold's problem visits each variable, at least
_FACE = 1024  # most free variables that a face is tried with


class SeededTask:
    """A binary problem and the problems of its folds, at one width of the kernel.

    `prepare` the first C, then `advance` from each to the next: the problem on all samples is one C
    ahead of the folds, so that threads work on both. `signs` (n,) is 0 for samples that take no
    part; `unit_bounds` (1 + n_folds, n) are at C = 1; `beta` and `product` (K beta) (1 + n_folds,
    m).
    """

    tol: float
    samples: np.ndarray
    diagonal: np.ndarray
    linear: np.ndarray
    beta: np.ndarray
    product: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    steps: np.ndarray
    violation: np.ndarray
    index: Any

    def __init__(
        self,
        cache: KernelCache,
        signs: np.ndarray,
        unit_bounds: np.ndarray,
        tol: float,
        max_iter: int,
        steps: int,
    ) -> None:
        # Keep the settings, and the rounding of the kernel values.
        self._requested_tol, self.tol = tol, tol
        self._most_steps = steps * max(1000, np.count_nonzero(signs)) if max_iter < 0 else max_iter
        taking = np.flatnonzero(signs)
        self.samples, K = taking, cache.rows
        self._largest = float(np.abs(cache.kernel.diagonal).max())
        self._rounding, self._distance = cache.kernel.rounding, cache.kernel.distance
        # Leave out the samples that take no part.
        self.index = ...
        diagonal = cache.kernel.diagonal
        if len(taking) < len(signs):
            self.index = taking
            signs, unit_bounds, diagonal = signs[taking], unit_bounds[:, taking], diagonal[taking]
            K = principal_submatrix(K, taking)
        self.K, self.diagonal = K, diagonal.astype(K.dtype)
        # At C = 1 the bounds are these; `prepare` scales them.
        self.linear = -signs
        self._unit_lower = np.where(signs < 0, -unit_bounds, 0.0)
        self._unit_upper = np.where(signs > 0, unit_bounds, 0.0)
        self._everything = cache.rows
        # Row 0 is of all samples, the others of the folds.
        shape = unit_bounds.shape
        self.beta, self.product = np.zeros(shape), np.zeros(shape)
        self._outcomes = np.zeros(shape[0], OUTCOME)
        self.steps = self._outcomes["steps"]
        self.violation, self.multiplier = self._outcomes["violation"], self._outcomes["multiplier"]
        self.C, self.lower, self.upper = 0.0, np.empty(shape), np.empty(shape)
        # Each thread has scratch for one problem.
        m, rows, dtype = shape[1], effective_threads(shape[0] * shape[1] * _TOUCHES), self.K.dtype
        side, face, wide = min(_SIDE, padded(m)), min(_FACE, padded(m)), padded(m)
        self._scratch = (
            scratch_array((rows, side * side), dtype),
            scratch_array((rows, face * face), dtype),
            scratch_array((rows, 4 * wide), dtype),
            np.empty((rows, 10 * wide)),
            np.empty((rows, 4 * wide), dtype=np.int64),
            np.empty((rows, 2 * wide), dtype=np.int8),
        )

    def start(self, beta: np.ndarray) -> None:
        """Start all samples from the multipliers found at another width of the kernel."""
        moved = np.flatnonzero(beta)
        self.beta[0] = beta
        add_rows(moved, beta[moved], self.K, self.product[0], 0, len(beta))

    def prepare(self, C: float) -> None:
        """Solve the problem on all samples for this C, at least the one before."""
        self._grow(C)
        self._settle(0, 1)

    def advance(self, following: float | None) -> np.ndarray:
        """Solve the folds for the prepared C while preparing the `following` one.

        Returns the rows of folds whose violation is still above `tol`.
        """
        C, ratio = self.C, self._ratio
        self._set_bounds(slice(1, None), C)
        n_rows, m = self.beta.shape
        threads = effective_threads(n_rows * m * _TOUCHES)
        slots, change = np.empty((threads, m), dtype=np.int64), np.empty((threads, m))
        _ext.seed(
            self.K, self.lower, self.upper, ratio, self.beta, self.product, slots, change, threads
        )
        if following is not None:
            self._grow(following)
        self._settle(1 if following is None else 0, n_rows)
        return 1 + np.flatnonzero(self.violation[1:] > self.tol)

    def _grow(self, C: float) -> None:
        """Start the problem on all samples for this C from a multiple of its last solution."""
        self._ratio = self.C / C
        if self.C > 0:
            growth = best_multiple(self.beta[0], self.linear, self.product[0], C / self.C)
            self.beta[0] *= growth
            self.product[0] *= growth
        self.C = C
        self._set_bounds(0, C)

    def _set_bounds(self, rows: int | slice, C: float) -> None:
        self.lower[rows] = C * self._unit_lower[rows]
        self.upper[rows] = C * self._unit_upper[rows]

    def _settle(self, first: int, last: int) -> None:
        """Solve rows first..last to `tol`, or until their pair steps run out."""
        steps, left = np.zeros_like(self.steps), self._most_steps
        work = 0.6 * len(self.linear) * (last - first)  # of a step in each row
        at_once = min(_CALL_STEPS, items_per_call(work) + 1)
        while True:
            self.tol = max(self._requested_tol, resolved(self.product, self.linear))
            self._step(first, last, min(left, at_once))
            steps += self.steps
            left -= int(self.steps[first:last].max())
            active = (self.steps > 0) & (self.violation > self.tol)
            if left <= 0 or not active[first:last].any():
                break
        self.steps[first:last] = steps[first:last]

    def _step(self, first: int, last: int, max_steps: int) -> None:
        m = len(self.linear)
        threads = effective_threads((last - first) * m * _TOUCHES)
        submatrices, faces, single, wide, integers, marks = self._scratch
        _ext.settle(
            self.K, self.diagonal, self.linear, self.lower, self.upper, self.beta, self.product,
            first, last, self.tol, max_steps, UNOPPOSED, self._outcomes, submatrices, single, wide,
            integers, marks, faces, threads,
        )  # fmt: skip

    def problem(self, row: int) -> Problem:
        """Return the problem of a row, to start from its multipliers."""
        return Problem(
            linear=self.linear,
            lower=self.lower[row].copy(),
            upper=self.upper[row].copy(),
            index=self.index,
            start=self.beta[row],
        )

    def replace(self, row: int, solution: Solution) -> None:
        """Store a solution of `problem(row)`."""
        self.beta[row], self.product[row] = solution.beta, solution.gradient - self.linear
        self._step(row, row + 1, 0)

    def solution(self, row: int) -> Solution:
        """Return the `Solution` of a row."""
        problem, product = self.problem(row), self.product[row]
        beta = round_to_bounds(self.beta[row], problem.lower, problem.upper)
        multiplier, violation = float(self.multiplier[row]), float(self.violation[row])
        return Solution(
            beta=beta,
            gradient=product + self.linear,
            objective=float(beta @ (0.5 * product + self.linear)),
            violation=violation,
            multipliers=[(multiplier, multiplier, multiplier)],
            n_iter=int(self.steps[row]),
            converged=violation <= self.tol,
            rounding=self._rounding,
            largest=self._largest,
            distance=self._distance,
        )

    def decisions(self, spans: np.ndarray) -> np.ndarray:
        """Return decision values (1 + n_folds, n), filled for (row, first, last) of `spans`."""
        if self.index is ...:
            return self.product - self.multiplier[:, None]
        n = self._everything.shape[1]
        out = np.empty((len(self.beta), n))
        slots, change = np.empty(len(self.linear), dtype=np.int64), np.empty(len(self.linear))
        _ext.decide(
            self._everything, self.samples, self.beta, self.multiplier, spans, slots, change, out
        )
        return out


def best_multiple(
    beta: np.ndarray, linear: np.ndarray, product: np.ndarray, longest: float
) -> float:
    """Return the s, 1 <= s <= longest, that minimises the objective of s beta."""
    curvature = float(beta @ product)
    best = -float(beta @ linear) / curvature if curvature > 0 else longest
    return min(max(best, 1.0), longest)


def spans_of(folds: list[np.ndarray]) -> np.ndarray:
    """Return the runs of held-out samples of each fold as rows (1 + fold, first, last), int64."""
    spans = []
    for f, test in enumerate(folds):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], test.astype(np.int8), [0]])))
        spans += [(1 + f, first, last) for first, last in edges.reshape(-1, 2)]
    return np.array(spans, dtype=np.int64)
