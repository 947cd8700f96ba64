"""What the Newton methods of this family share: their linear systems, and when they have ended."""

from collections.abc import Callable, Sequence

import numpy as np

_MOST_PRODUCTS = 200
_STALLED = 5  # steps without gain, near the precision of the sums


def conjugate_gradients(
    times: Callable, right: np.ndarray, preconditioner: np.ndarray, accuracy: float
) -> np.ndarray:
    """Solve a positive semi-definite system that has a solution, to a relative accuracy.

    Parameters
    ----------
    times : callable
        The product of the matrix with a vector.
    right : float64 (n,)
    preconditioner : float64 (n,)
        The diagonal of the matrix, or near it.
    accuracy : float
        By which the residual falls, in the norm of the preconditioner.
    """
    solution = np.zeros_like(right)
    left = right.copy()
    step = left / preconditioner
    size = left @ step
    enough = accuracy**2 * size
    for _ in range(_MOST_PRODUCTS):
        image = times(step)
        curvature = step @ image
        if not 0.0 < curvature < np.inf:
            break
        length = size / curvature
        solution += length * step
        left -= length * image
        scaled = left / preconditioner
        before, size = size, left @ scaled
        if not size > enough:
            break
        step = scaled + (size / before) * step
    return solution


def has_stalled(trace: Sequence[float]) -> bool:
    """Whether the residual no longer falls, near the precision of the sums."""
    near_precision = trace[-1] < 1e-8 and len(trace) > 2 * _STALLED
    return near_precision and min(trace[-_STALLED:]) >= min(trace[:-_STALLED])
