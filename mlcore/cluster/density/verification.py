"""Evidence for a minimum spanning tree of mutual reachability."""

from dataclasses import dataclass

import numpy as np

from mlcore._ext.cluster.density import verification as _ext
from mlcore.cluster.density.mutual_reachability import Graph, Pairs, Points, radii
from mlcore.estimator.verification import Verification
from mlcore.numerics.radix_sort import stable_order

_ALL = 2000  # samples of which all pairs are compared
_DISTANCES = 2**25  # between a part of more samples and all, for their core distances
_LEAST = 64  # samples in that part
_TILE = 512


@dataclass(frozen=True, repr=False)
class TreeVerification(Verification):
    """Total height of a spanning tree, and how pairs of samples compare with its paths.

    A spanning tree is minimal if, for each pair of samples, no edge on the path between them is
    longer than their reach.

    Parameters
    ----------
    objective : float
        Sum of the finite edges.
    duality_gap : float
        Upper bound of the objective less its minimum, n - 1 times `largest_excess`; infinite unless
        all pairs were compared.
    n_pairs : int
        Pairs compared: all of at most 2,000 samples, else those of a seeded part.
    largest_excess : float
        Largest edge on the path between two samples less their reach, the largest over the pairs;
        infinite if the edges do not span the samples.
    core_error : float
        Largest relative error of the core distances of the samples compared.
    height_error : float
        Largest relative error of the heights of the edges.

    Examples
    --------
    >>> from mlcore.cluster import HDBSCAN
    >>> X = [[0.0], [1.0], [2.0], [4.0], [20.0], [21.0], [23.0], [24.0], [26.0], [50.0]]
    >>> shown = HDBSCAN(3).fit(X).verify(X)
    >>> shown.objective, shown.duality_gap, shown.n_pairs
    (59.0, 0.0, 45)
    """

    n_pairs: int
    largest_excess: float
    core_error: float
    height_error: float


def verified(
    samples: Points | Pairs | Graph,
    weights: np.ndarray | None,
    least: float,
    alpha: float,
    core: np.ndarray,
    edges: np.ndarray,
    heights: np.ndarray,
) -> TreeVerification:
    """Return the verification of edges with these heights as a minimum spanning tree."""
    n = samples.n
    m = n if n <= _ALL else min(_ALL, max(_LEAST, _DISTANCES // n))
    rows, everyone = np.sort(np.random.default_rng(0).choice(n, m, replace=False)), np.arange(n)
    # Core distances of the part, from all samples, and heights of the edges, from their ends.
    step = max(1, _DISTANCES // 8 // n)
    own = np.concatenate(
        [
            radii(samples.block(rows[start : start + step], everyone), least, weights)
            for start in range(0, m, step)
        ]
    )
    true_heights = samples.reach(edges, core, alpha)
    height_error = _largest_error(heights, true_heights)
    order = stable_order(true_heights)
    edges, heights = edges[order], true_heights[order]
    # The longest edges on the paths of the tree, compared with the reach of their ends.
    parent, link = np.arange(n), np.full(n, len(edges), dtype=np.int64)
    _ext.link_trees(edges, parent, link, np.ones(n, dtype=np.int64))
    excess = -np.inf
    for start in range(0, m, _TILE):
        for after in range(start, m, _TILE):
            a, b = rows[start : start + _TILE], rows[after : after + _TILE]
            largest = np.empty((len(a), len(b)))
            _ext.largest_edges(parent, link, heights, a, b, largest)
            reach = np.maximum(own[start : start + _TILE, None], own[after : after + _TILE])
            reach = np.maximum(reach, samples.block(a, b) / alpha)
            compared = np.isfinite(reach) & (a[:, None] < b)
            excess = max(excess, np.max(largest[compared] - reach[compared], initial=-np.inf))
    gap = (n - 1) * excess if np.isfinite(excess) else 0.0
    return TreeVerification(
        objective=float(heights[np.isfinite(heights)].sum()),
        duality_gap=float(gap) if m == n and excess < np.inf else np.inf,
        n_pairs=m * (m - 1) // 2,
        largest_excess=float(excess),
        core_error=_largest_error(core[rows], own),
        height_error=height_error,
    )


def _largest_error(values, true):
    """Return the largest relative error; infinite where one of two values is."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        error = np.abs(values - true) / true
    error[values == true] = 0.0
    return float(np.nan_to_num(error, nan=np.inf, posinf=np.inf).max(initial=0.0))
