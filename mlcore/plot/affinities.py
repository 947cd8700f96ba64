"""Affinity matrix with its rows ordered by cluster, and its four normalisations beside it."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from mlcore.checks.parameters import refuse
from mlcore.cluster import normalize_affinity
from mlcore.cluster.partition import as_partition
from mlcore.cluster.spectral.affinity import METHODS, Normalization
from mlcore.plot.picture import Picture, new_axes

_PIXELS = 4000


def normalized_affinities(
    affinity: Any, labels: Any = None, *, methods: Iterable[Normalization] = METHODS, ax: Any = None
) -> Picture:
    """Draw an affinity matrix and its normalisations, samples of a cluster beside each other.

    Parameters
    ----------
    affinity : array-like or sparse of shape (n_samples, n_samples)
        Symmetric, not negative; of at most 4,000 samples, a pixel each.
    labels : array-like of shape (n_samples,), optional
        Clusters, which order the rows and are outlined; by default the rows stay as they are.
    methods : sequence of str
        Normalisations to show, by default all four of `normalize_affinity`.
    ax : array of matplotlib Axes, optional
        One more than there are methods; by default new ones.

    Returns
    -------
    picture : Picture
        Artists "images", the first of the matrix itself.

    Raises
    ------
    TypeError, ValueError
        For a matrix that is too large, and as `normalize_affinity`.

    Examples
    --------
    >>> from mlcore.plot import normalized_affinities
    >>> K = [[1.0, 0.9, 0.1], [0.9, 1.0, 0.2], [0.1, 0.2, 1.0]]
    >>> picture = normalized_affinities(K, [0, 0, 1], methods=["doubly_stochastic"])
    >>> picture.artists_["images"][1].get_array().sum(axis=1).round(6).tolist()
    [1.0, 1.0, 1.0]
    """
    K = affinity.toarray() if sp.issparse(affinity) else np.asarray(affinity, dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not 0 < len(K) <= _PIXELS:
        refuse("affinity", f"shape {K.shape}", f"a square matrix of 1 to {_PIXELS} samples")
    methods = tuple(methods)
    codes = np.zeros(len(K), dtype=np.intp)
    if labels is not None:
        _, codes = as_partition(labels, len(K), owner="normalized_affinities")
    order = np.argsort(codes, kind="stable")
    edges = np.flatnonzero(np.diff(codes[order])) + 0.5
    panels = [K, *(normalize_affinity(K, method) for method in methods)]
    figure, axes = new_axes(ax, 1, len(panels), (2.6 * len(panels), 2.9))
    images = []
    places = np.atleast_1d(np.asarray(axes, dtype=object)).flat
    for axis, matrix, name in zip(places, panels, ("affinity", *methods), strict=True):
        shown = np.array(matrix)[np.ix_(order, order)]
        others = shown[~np.eye(len(K), dtype=bool)] if len(K) > 1 else shown
        # The diagonal would hide what lies beside it.
        top = np.quantile(others, 0.99) or others.max() or 1.0
        low = min(0.0, float(others.min()))
        images.append(axis.imshow(shown, cmap="cividis", vmin=low, vmax=top))
        axis.hlines(edges, -0.5, len(K) - 0.5, color="white", linewidth=0.6)
        axis.vlines(edges, -0.5, len(K) - 0.5, color="white", linewidth=0.6)
        axis.set(xticks=[], yticks=[], title=name.replace("_", " "))
    return Picture(figure, axes, {"images": images})
