"""Newton directions of both doubly stochastic methods, and the rule that ends their steps."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlcore.numerics.conjugate_gradients import conjugate_gradients

_MOST_PRODUCTS = 200
_STALLED = 5  # steps without progress


def newton_direction(
    times: Callable[..., Any],
    right: np.ndarray,
    preconditioner: np.ndarray,
    accuracy: float,
    most: int = _MOST_PRODUCTS,
) -> np.ndarray:
    """Solve a positive semi-definite system that has a solution, to a relative accuracy.

    `times` is the product with a vector, made `most` times; the residual is measured by the
    diagonal `preconditioner`.
    """
    iterates = conjugate_gradients(times, right, lambda r: r / preconditioner, np.dot)
    now = next(iterates)
    enough = accuracy**2 * now.size
    for step, now in enumerate(iterates, start=1):  # noqa: B020
        if step == most or not now.size > enough:
            break
    return now.x


def has_stalled(trace: Sequence[float]) -> bool:
    """Return True if the residual, near the precision of the sums, no longer falls."""
    near_precision = trace[-1] < 1e-8 and len(trace) > 2 * _STALLED
    return near_precision and min(trace[-_STALLED:]) >= min(trace[:-_STALLED])
