"""Conjugate gradients for a regression, to a share of the targets or the digits of float64, and the
condition they show.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from mlcore.linear_model.regression.least_squares import EPS
from mlcore.numerics.conjugate_gradients import Product, conjugate_gradients

TRUE = 1e3  # times rounding: a residual above it is no solution
ROUNDING = 4.0  # times that of one operation: where the steps end
_RESTARTS = 3
_TINY = 1e-300


class Found(NamedTuple):
    """Solution by conjugate gradients; `largest` bounds the largest eigenvalue from below.

    `rcond` and `least`, the least eigenvalue, are of the matrix with its preconditioner.
    """

    x: np.ndarray
    rcond: float
    least: float
    largest: float
    right: np.ndarray

    def rounding(self, left: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return the residual of each right side over the rounding of its terms."""
        scale = self.largest * np.linalg.norm(x, axis=0) + self.right
        return np.linalg.norm(left, axis=0) / np.where(scale > 0, EPS * scale, 1.0)


class Enough(NamedTuple):
    """Lengths (k,) of residuals that are small enough, in weights of the equations.

    `weights` are None for ones, or (m,) or (m, k).
    """

    length: Any
    weights: np.ndarray | None

    @classmethod
    def of(cls, tol: float, right: np.ndarray, weights: np.ndarray | None) -> "Enough":
        """Return the share `tol` of the length of `right` (m,) or (m, k)."""
        return cls(tol * cls(0.0, weights).length_of(right), weights)

    def length_of(self, residual: np.ndarray) -> Any:
        """Return the lengths (k,) of residuals."""
        inner = np.dot if residual.ndim == 1 else _inner
        weighted = residual if self.weights is None else self.weights * residual
        return np.sqrt(inner(weighted, residual))

    def holds(self, residual: np.ndarray) -> Any:
        """Return True for residuals (k,) that are as small."""
        return self.length_of(residual) <= self.length


def corrected(
    solution: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]],
    times: Product,
    right: np.ndarray,
    precondition: Product,
    most: int,
    enough: Enough,
    least: int = 0,
    largest: float = 0.0,
) -> tuple[np.ndarray, np.ndarray, Found] | None:
    """Return coefficients and residual by conjugate gradients, restarted where their own residual
    has lost digits, with the first steps; None if these are too many, or end at no solution.

    `solution` returns coefficients, residual, and what is left of `right` (m,) or (m, k), of which
    column `least` has the least penalty; `most` steps are taken at most, until the residual is
    small enough, or that of rounding. `largest` bounds the largest eigenvalue from below.
    """
    a, left = np.zeros_like(right), right
    first: Any = None
    for _ in range(_RESTARTS):
        found = _steps(times, left, precondition, most, right, enough, least, largest)
        if found is None:
            return None
        first = first or found
        a += found.x
        coef, residual, left = solution(a)
        rounding, small = found.rounding(left, a), enough.holds(left)
        if np.all(small | (rounding <= 2 * ROUNDING)):
            return coef, residual, first
    return (coef, residual, first) if np.all(small | (rounding <= TRUE)) else None


def _steps(times, right, precondition, most, whole, enough, least, largest):
    """Return the solution after the steps that its own residual asks for; None after too many.

    Lengths of steps and ratios of residuals are the tridiagonal matrix of Lanczos, whose largest
    and smallest eigenvalue estimate the condition. Golub, Van Loan, 2013, 11.3.
    """
    one = right.ndim == 1
    inner, root = (np.dot, math.sqrt) if one else (_inner, np.sqrt)
    unsolved = None if one else np.ones(right.shape[1], bool)
    size = root(inner(whole, whole))
    lengths, sizes = [], []
    for step, now in enumerate(conjugate_gradients(times, right, precondition, inner, unsolved)):
        if step:
            length = now.length if one else now.length[least]
            if length > 0:
                lengths.append(length)
            moved, images = inner(now.direction, now.direction), inner(now.image, now.image)
            if one:
                largest = max(largest, root(images / max(moved, _TINY)))
            else:
                largest = max(largest, float(np.sqrt(images / np.maximum(moved, _TINY)).max()))
        sizes.append(now.size if one else now.size[least])
        scale = ROUNDING * EPS * (largest * root(inner(now.x, now.x)) + size)
        solved = (root(inner(now.residual, now.residual)) <= scale) | enough.holds(now.residual)
        if unsolved is not None:
            unsolved &= ~solved
        if solved if one else solved.all():
            first, last = eigenvalues(lengths, sizes)
            return Found(now.x, first / last, first, largest, size)
        if step == most:
            return None
    return None


def eigenvalues(lengths: Any, sizes: Any) -> tuple[float, float]:
    """Return the least and the largest eigenvalue of Lanczos' matrix, from lengths of steps and
    inner products of residuals.
    """
    if not len(lengths):
        return 1.0, 1.0
    steps = np.asarray(lengths)
    ratios = np.asarray(sizes[1 : len(steps)]) / np.asarray(sizes[: len(steps) - 1])
    diagonal = 1 / steps
    diagonal[1:] += ratios / steps[:-1]
    values = linalg.eigvalsh_tridiagonal(diagonal, np.sqrt(ratios) / steps[:-1])
    return float(max(values[0], 0.0)), float(values[-1])


def _inner(A, B):
    return np.einsum("ij,ij->j", A, B)
