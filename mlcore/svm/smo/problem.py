"""Dual problem of support vector machines, and its solution."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from types import EllipsisType
from typing import Any

import numpy as np

_PLAIN = 256  # exponents of bounds up to which squares of sums neither overflow nor vanish


@dataclass
class Problem:
    """min 1/2 b'Kb + linear'b + epsilon |b|_1 in a box, with the sum of each group fixed.

    `index` (m,) is the sample of each variable, ``...`` for all in order; `group` (m,) int8 is 0 or
    1; `start` (m,) is feasible, by default 0 or a vector that meets `total`.
    """

    linear: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    index: np.ndarray | EllipsisType = ...
    start: np.ndarray | None = None
    epsilon: float = 0.0
    group: np.ndarray | None = None
    total: tuple[Any, ...] | None = None

    @cached_property
    def largest_bound(self) -> float:
        """The largest absolute value that a variable may take."""
        return float(max(self.upper.max(), -self.lower.min()))

    @property
    def power(self) -> int:
        """The power of two to divide by before squares are formed; 0 for ordinary bounds.

        Without a linear term and epsilon the solution is proportional to the bounds.
        """
        if not 0 < self.largest_bound < np.inf or self.epsilon or is_plain(self.largest_bound):
            return 0
        return 0 if self.linear.any() else math.frexp(self.largest_bound)[1]

    def divided(self, power: int) -> "Problem":
        """Return the problem whose solution is this one's over 2 to the `power`."""
        bounds = {
            name: None if values is None else np.ldexp(values, -power)
            for name in ("lower", "upper", "start", "total")
            for values in [getattr(self, name)]
        }
        return replace(self, **bounds)


def is_plain(largest_bound: float) -> bool:
    """Return True if squares of sums of values up to this one neither overflow nor vanish."""
    return abs(math.frexp(largest_bound)[1]) <= _PLAIN


@dataclass
class Solution:
    """Result of a solver, with the evidence of its optimality.

    `gradient` (m,) is Kb + q, `multipliers` the (low, high, value) of each group. `cause` says why
    it ended before `tol`: "steps", "rounding" or "kernel" (no step lowered the objective).
    `diverged`: no finite optimum. `rounding` is the size of the errors in K, `largest` its largest
    value, `distance` that of the subtracted origin, `coarseness` the rounding of predictions in
    that of K.
    """

    beta: np.ndarray
    gradient: np.ndarray
    objective: float
    violation: float
    multipliers: list[Any]
    n_iter: int
    converged: bool
    diverged: bool = False
    cause: str = "steps"
    rounding: float = 0.0
    largest: float = 1.0
    distance: float = 0.0
    coarseness: float = 1.0

    @property
    def uncertainty(self) -> float:
        """Size of the errors that rounding of K makes in decision values."""
        return self.error_of(self.beta)

    @property
    def one_sided(self) -> float:
        """Size of the errors where no multiplier is negative: those in exp do not cancel then."""
        products = float(np.abs(self.gradient).max(initial=0))
        return self.uncertainty + self.rounding / max(self.largest, 1e-300) * products

    def error_of(self, beta: np.ndarray) -> float:
        """Return the size of the errors in K beta, less what they have in common."""
        size = float(np.abs(beta).max(initial=0))
        length = size * float(np.linalg.norm(beta / size)) if size > 0 else 0.0
        return 2 * self.rounding * length
