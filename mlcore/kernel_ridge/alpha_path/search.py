"""Search for the alpha of the least criterion."""

from collections.abc import Callable

import numpy as np

POINTS = 50  # values of alpha compared at a time
_DECADES = 12  # from the largest eigenvalue downwards
_SECTIONS = 40
_GOLDEN = (np.sqrt(5.0) - 1) / 2


def grid(top: float) -> np.ndarray:
    """Return the alphas that come first, (m,) ascending, for this largest eigenvalue."""
    top = top or 1.0
    return np.geomspace(top * 10.0**-_DECADES, 10 * top, POINTS)


def around(alphas: np.ndarray, best: int) -> np.ndarray:
    """Return the neighbours of the best of ascending alphas, (2,)."""
    return alphas[[max(0, best - 1), min(len(alphas) - 1, best + 1)]]


def vertex(alphas: np.ndarray, values: np.ndarray) -> float:
    """Return where the parabola through the least of these values and its neighbours is least.

    `alphas` have equal ratios; at an end of them it is that end.
    """
    best = int(values.argmin())
    if not 0 < best < len(alphas) - 1:
        return float(alphas[best])
    before, least, after = values[best - 1 : best + 2]
    bend = before - 2 * least + after
    step = 0.5 * (before - after) / bend if bend > 0 else 0.0
    return float(alphas[best] * (alphas[best + 1] / alphas[best]) ** step)


def best_alphas(
    criterion: Callable[[float, np.ndarray], np.ndarray], top: float, n_targets: int
) -> np.ndarray:
    """Return for each target the alpha of the least criterion: the best of 50, then golden section.

    ``criterion(alpha, columns)`` is (k,); `top` is the largest eigenvalue of the Gram matrix.
    """
    alphas, every = grid(top), np.arange(n_targets)
    values = np.array([criterion(alpha, every) for alpha in alphas])
    chosen = np.empty(n_targets)
    for j, best in enumerate(values.argmin(axis=0)):

        def along(t, one=every[j : j + 1]):
            return float(criterion(np.exp(t), one)[0])

        chosen[j] = np.exp(minimum(along, *np.log(around(alphas, best))))
    return chosen


def minimum(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function of one minimum in an interval is least, by golden section."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(_SECTIONS):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = function(right)
    return left if at_left <= at_right else right
