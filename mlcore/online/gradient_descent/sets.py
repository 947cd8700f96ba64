"""Convex sets of vectors: projections, diameters and support functions."""

import math
from typing import NamedTuple

import numpy as np


class VectorSet(NamedTuple):
    """All vectors (None), or a ball, box or simplex of this radius.

    The box has entries from -radius to radius, the simplex those >= 0 whose sum is the radius.
    """

    kind: str | None
    radius: float

    def start(self, d: int) -> np.ndarray:
        """Return the centre, from which descent begins."""
        return np.full(d, self.radius / d) if self.kind == "simplex" else np.zeros(d)

    def reach(self, d: int) -> float:
        """Return the largest distance from the centre; of all vectors, the radius itself."""
        if self.kind == "box":
            return self.radius * math.sqrt(d)
        return self.radius * (math.sqrt(1 - 1 / d) if self.kind == "simplex" else 1.0)

    def diameter(self, d: int) -> float:
        """Return the largest distance of two vectors of the set."""
        if self.kind == "simplex":
            return self.radius * (math.sqrt(2) if d > 1 else 0.0)
        return math.inf if self.kind is None else 2 * self.reach(d)

    def project(self, w: np.ndarray) -> np.ndarray:
        """Return the nearest vector of the set."""
        if self.kind == "ball":
            norm = float(np.linalg.norm(w))
            return w * (self.radius / norm) if norm > self.radius else w
        if self.kind == "box":
            return np.clip(w, -self.radius, self.radius)
        if self.kind == "simplex":
            ordered = np.sort(w)[::-1]
            shifts = (np.cumsum(ordered) - self.radius) / np.arange(1, len(w) + 1)
            return np.maximum(w - shifts[np.flatnonzero(ordered > shifts)[-1]], 0)
        return w

    def support(self, v: np.ndarray) -> float:
        """Return the largest v.w over the set; of all vectors, over the ball of this radius."""
        if self.kind == "simplex":
            return self.radius * float(v.max())
        return self.radius * float(np.linalg.norm(v, 1 if self.kind == "box" else 2))
