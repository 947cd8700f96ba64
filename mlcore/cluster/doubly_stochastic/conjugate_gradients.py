"""Conjugate gradients and stopping rule for the Newton steps of both doubly stochastic methods."""

from collections.abc import Callable, Sequence

import numpy as np

_MOST_PRODUCTS = 200
_STALLED = 5  # steps without progress


def conjugate_gradients(
    times: Callable, right: np.ndarray, preconditioner: np.ndarray, accuracy: float
) -> np.ndarray:
    """Solve a positive semi-definite system that has a solution, to a relative accuracy.

    Parameters
    ----------
    times : callable
        Returns the product of the matrix with a vector.
    right : float64 (n,)
    preconditioner : float64 (n,)
        Diagonal of the matrix, or an approximation.
    accuracy : float
        Factor by which the residual falls, in the norm of the preconditioner.
    """
    solution = np.zeros_like(right)
    residual = right.copy()
    step = residual / preconditioner
    size = residual @ step
    enough = accuracy**2 * size
    for _ in range(_MOST_PRODUCTS):
        image = times(step)
        curvature = step @ image
        if not 0.0 < curvature < np.inf:
            break
        length = size / curvature
        solution += length * step
        residual -= length * image
        scaled = residual / preconditioner
        before, size = size, residual @ scaled
        if not size > enough:
            break
        step = scaled + (size / before) * step
    return solution


def has_stalled(trace: Sequence[float]) -> bool:
    """Return True if the residual, near the precision of the sums, no longer falls."""
    near_precision = trace[-1] < 1e-8 and len(trace) > 2 * _STALLED
    return near_precision and min(trace[-_STALLED:]) >= min(trace[:-_STALLED])
