"""Directions that have no negative product with any row of a matrix."""

from mlcore.separating_direction.linear_programme import Separation, separating_direction

__all__ = ["Separation", "separating_direction"]


def __dir__() -> list[str]:
    return __all__
