"""Mixtures whose scores are known: what `FisherVectors` asks of them."""

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np


class ScoreTable(NamedTuple):
    """The parameters of the k components of a mixture as their scores need them.

    ``z = (x - centre) * factor``, both (k, d), has mean 0 and variance 1. There are `scales` of
    "each" feature, "one" or "none"; `of_total`: the centres are those of a row of total 1.
    """

    centres: np.ndarray
    factors: np.ndarray
    scales: str = "none"
    of_total: bool = False
    threshold: float | None = None


@runtime_checkable
class HasScores(Protocol):
    """Protocol of mixtures that `FisherVectors` takes."""

    def _require_scores(self) -> None:
        """Raise ValueError if the parameters are of a kind whose scores are not known."""

    def _score_table(self) -> ScoreTable:
        """Return the components of a fitted mixture."""


def inverse_roots(values: np.ndarray) -> np.ndarray:
    """Return 1 / sqrt(value), and 0 where a value is 0."""
    return np.where(values > 0, 1 / np.sqrt(np.where(values > 0, values, 1)), 0.0)
