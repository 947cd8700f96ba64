"""Exact nearest neighbours of rows."""

from mlcore.numerics.neighbors.neighbors import Neighbors, nearest_neighbors

__all__ = ["Neighbors", "nearest_neighbors"]
