"""Grids of searches over support vector machines."""

from dataclasses import replace
from typing import Any

import numpy as np

from mlcore.checks import as_real
from mlcore.estimator.scoring.search import as_sequence
from mlcore.svm.machine import Settings


def checked_gammas(model: Any, settings: Settings) -> list[float | str]:
    """Return the widths to try as given; none for the default, one for kernels without."""
    if not settings.kernel.uses_gamma:
        return ["auto"]
    if model.gammas is None:
        return []
    gammas = as_sequence(model.gammas, "gammas", type(model).__name__)
    return [model._checked_gamma(gamma, "gammas") for gamma in gammas]


def resolved_gammas(
    model: Any, gammas: list[float | str], settings: Settings, X: Any, weight: np.ndarray
) -> list[float]:
    """Return the widths to try as numbers, for all samples."""

    def resolved(gamma):
        return model._resolved(replace(settings, gamma=gamma), X, weight).gamma

    if not gammas:
        scale = resolved("scale")
        return [0.1 * scale, scale, 10 * scale]
    return [resolved(gamma) for gamma in gammas]


def numbers_of(model: Any, name: str, **limits: Any) -> list[float]:
    """Return a sequence of numbers among the parameters of a search, checked."""
    owner = type(model).__name__
    values = as_sequence(getattr(model, name), name, owner)
    return [as_real(value, name, owner=owner, **limits) for value in values]
