"""Validation of penalties: one number, or one for each target."""

from typing import Any

import numpy as np

from mlcore.checks.arrays import real_array
from mlcore.checks.parameters import as_real


def as_penalties(alphas: Any, name: str, owner: str) -> np.ndarray:
    """Return penalties as float64 (m,), each finite and at least 0."""
    alphas = real_array(alphas, name).astype(np.float64)
    if alphas.ndim != 1 or len(alphas) == 0:
        raise ValueError(f"{owner}: {name} has shape {alphas.shape}, but must be of shape (m,).")
    for alpha in alphas:
        as_real(float(alpha), name, owner=owner, at_least=0)
    return alphas


def as_target_penalties(alpha: Any, n_targets: int, owner: str) -> np.ndarray:
    """Return a parameter alpha, a number or one for each target, as float64 (n_targets,)."""
    if np.ndim(alpha) == 0:
        return np.full(n_targets, as_real(alpha, "alpha", owner=owner, at_least=0))
    alphas = as_penalties(alpha, "alpha", owner)
    if alphas.shape != (n_targets,):
        raise ValueError(
            f"{owner}: alpha has shape {alphas.shape}, but must be a number or one for each of "
            f"the {n_targets} targets."
        )
    return alphas


def by_penalty(alphas: np.ndarray) -> list[tuple[float, np.ndarray]]:
    """Return each different penalty, ascending, with the targets that have it."""
    return [(float(alpha), np.flatnonzero(alphas == alpha)) for alpha in np.unique(alphas)]
