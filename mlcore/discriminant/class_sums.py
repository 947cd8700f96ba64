"""Sums over the samples of each class, from which linear discriminant analysis is computed."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp

from mlcore.numerics.scatter import in_range, origin_of, powers_of_two, row_blocks, scatter_by_class


class ClassSums(NamedTuple):
    """Sums over the samples of each class, all of ``2^-power x``."""

    total: float  # weight of all samples
    shares: np.ndarray  # (c,) float64: part of it in each class
    # (d,), float32 or float64 as the data: A point near the samples, not multiplied
    origin: np.ndarray
    # (d,) float64: mean of all samples, relative to the origin: far from 0 their sum would lose
    # digits
    mean: np.ndarray
    means: np.ndarray  # (c, d) float64: means of the classes, relative to the mean of all
    # (d, d) float64: scatter of all samples about their mean, divided by `total`
    scatter: np.ndarray
    power: np.ndarray  # (d,) int
    # (d, d) float64, optional: scatter of samples about the means of their classes, divided by
    # `total`, if it was summed: it then stands in for the rows
    within: np.ndarray | None = None
    # (d, d) float64, optional: mean of ``r_a² r_b²`` of residuals r, for pairs of features, if it
    # was summed
    fourth: np.ndarray | None = None

    @property
    def center(self) -> np.ndarray:
        """Mean of all samples, (d,), not multiplied."""
        return self.origin + np.ldexp(self.mean, self.power)


def class_sums_in_range(
    X: Any, codes: np.ndarray, weight: np.ndarray, shares: np.ndarray, owner: str
) -> ClassSums:
    """Return the sums by class, of features multiplied by powers of two where squares need it."""
    origin = origin_of(X)
    sums = scatter_by_class(X, codes, len(shares), weight, origin, owner=owner)
    squares = sums[0].scatter.diagonal()
    power = np.zeros(X.shape[1], int)
    outside = np.flatnonzero(~in_range(squares, X.dtype))
    first = X[:1].toarray()[0] if sp.issparse(X) else X[0]
    if len(outside):
        varies = [(block[:, outside] != first[outside]).any(axis=0) for _, block in row_blocks(X)]
        outside = outside[np.any(varies, axis=0)]
    if len(outside):
        power[outside] = powers_of_two(X, origin)[outside]
        tiny = outside[power[outside] < -960]
        if len(tiny):
            raise ValueError(
                f"{owner}: the data are degenerate: feature {tiny[0]} varies by less than 1e-289; "
                "multiply it by a constant."
            )
        sums = scatter_by_class(X, codes, len(shares), weight, origin, power=power, owner=owner)
    return _class_sums(*sums, shares, origin.astype(X.dtype), power)


def _class_sums(scatter, by_class, weights, origin, power):
    """Return the sums of classes of these `weights` (c,) from what `scatter_by_class` gives."""
    constant = scatter.scatter.diagonal() == 0
    means = np.where(constant, 0.0, by_class / weights[:, None] - scatter.mean)
    total = weights.sum()
    S = scatter.scatter / total
    return ClassSums(total, weights / total, origin, scatter.mean, means, S, power)
