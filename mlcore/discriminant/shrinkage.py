"""Shrinkage of correlations toward the identity that is nearest to the true ones on average."""

from typing import Any, Literal, get_args

import numpy as np

from mlcore.checks.parameters import as_choice, as_real

ShrinkageRule = Literal["auto", "oas"]


def checked_shrinkage(shrinkage: Any, owner: str) -> float | ShrinkageRule:
    """Return the parameter, checked: a number, or the name of a rule."""
    if isinstance(shrinkage, str):
        return as_choice(shrinkage, "shrinkage", (*get_args(ShrinkageRule), None), owner=owner)
    return as_real(shrinkage, "shrinkage", owner=owner, at_least=0, at_most=1)


def ledoit_wolf(correlations: np.ndarray, weight: float, fourth: float) -> float:
    """Return the shrinkage toward the identity that minimises the expected squared error.

    `correlations` are of `weight` residuals z of variance 1, `fourth` is the mean of ``|z|⁴``.
    """
    squares = np.square(correlations).sum()
    distance = squares - len(correlations)
    error = (fourth - squares) / weight
    return 1.0 if distance <= max(error, 0) else max(0.0, float(error / distance))


def oracle_approximating(correlations: np.ndarray, weight: float) -> float:
    """Return the oracle approximating shrinkage toward the identity, for normal residuals."""
    d = len(correlations)
    squares = np.square(correlations).sum()
    above = (1 - 2 / d) * squares + d * d
    below = (weight + 1 - 2 / d) * (squares - d)
    return 1.0 if above >= below else float(above / below)
