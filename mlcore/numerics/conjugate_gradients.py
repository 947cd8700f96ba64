"""Preconditioned conjugate gradients, for one right side or for several at once."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

Product = Callable[[np.ndarray], np.ndarray]


class Iterate:
    """Solution `x` after some steps, and its `residual`; the next step changes the arrays.

    `size` is the inner product of residual and preconditioned residual, `length` the last step's
    along `direction`, and `image` the product of the matrix with the direction.
    """

    __slots__ = ("direction", "image", "length", "residual", "size", "x")


def conjugate_gradients(
    times: Product,
    right: np.ndarray,
    precondition: Product,
    inner: Callable[[np.ndarray, np.ndarray], Any],
    unsolved: np.ndarray | None = None,
) -> Iterator[Iterate]:
    """Yield 0 and the solutions after each step, for a symmetric positive definite matrix.

    `times` multiplies `right` (any shape) by the matrix, `precondition` solves approximately into a
    new array, `inner` is by column. A direction that is not positive ends the steps; the caller
    ends them earlier. It clears in `unsolved` (k,) the columns that are solved. Golub, Van Loan,
    2013, 11.5.
    """
    now = Iterate()
    x, residual = now.x, now.residual = np.zeros_like(right), right.copy()
    direction = precondition(residual)
    size = now.size = inner(residual, direction)
    yield now
    while True:
        # Minimise along the direction.
        image = times(direction)
        curvature = inner(direction, image)
        if unsolved is None:
            if not 0.0 < curvature < np.inf:
                return
            length = size / curvature
        else:
            if (curvature[unsolved] <= 0).any():
                return
            length = np.divide(size, curvature, out=np.zeros_like(size), where=unsolved)
        x += length * direction
        residual -= length * image
        z = precondition(residual)
        before, size = size, inner(residual, z)
        now.size, now.length, now.direction, now.image = size, length, direction, image
        yield now
        # The next direction is conjugate to the last.
        if unsolved is None:
            ratio = size / before
        else:
            ratio = np.divide(size, before, out=np.zeros_like(size), where=before > 0)
        direction = z + ratio * direction


class Columns(NamedTuple):
    """Result of `solve_columns`: X is (n, k), and `n_iter` counts products with the matrix.

    `definite` is False if a direction was met on which the matrix is not positive.
    """

    X: np.ndarray
    n_iter: int
    converged: bool
    definite: bool


def solve_columns(
    times: Product,
    B: np.ndarray,
    precondition: Product,
    is_solved: Callable[[np.ndarray, np.ndarray, float], np.ndarray],
    max_iter: int,
) -> Columns:
    """Solve A X = B (n, k), for a symmetric positive definite A, until each column is solved.

    `is_solved` returns bool (k,) from X, the residual and a lower bound of the largest eigenvalue.
    """
    unsolved, largest = np.ones(B.shape[1], bool), 0.0
    for step, now in enumerate(conjugate_gradients(times, B, precondition, _inner, unsolved)):
        if step:  # |A p| / |p| is at most the largest eigenvalue
            squares, lengths = _inner(now.image, now.image), _inner(now.direction, now.direction)
            ratio = np.divide(squares, lengths, out=np.zeros_like(lengths), where=lengths > 0)
            largest = max(largest, float(np.sqrt(ratio.max(initial=0.0))))
        unsolved &= ~is_solved(now.x, now.residual, largest)
        if not unsolved.any() or step == max_iter:
            return Columns(now.x, step, not unsolved.any(), True)
    return Columns(now.x, step + 1, False, False)


def _inner(A, B):
    return np.einsum("ij,ij->j", A, B)
