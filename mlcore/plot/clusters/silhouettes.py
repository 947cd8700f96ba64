"""Silhouettes of a partition, cluster by cluster."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mlcore.cluster import silhouette_samples
from mlcore.cluster.metrics import PlainMetric
from mlcore.cluster.partition import as_partition
from mlcore.plot.picture import Picture, color, name_axes, new_axes, thin_labels


def silhouettes(
    X: Any, labels: Any, *, metric: PlainMetric | Callable[..., float] = "euclidean", ax: Any = None
) -> Picture:
    """Draw how much closer each sample is to its own cluster than to the next, sorted in clusters.

    Parameters
    ----------
    X : array-like or sparse of shape (n_samples, n_features)
    labels : array-like of shape (n_samples,)
        Clusters, of any library.
    metric : str or callable, default="euclidean"
        As in `silhouette_samples`.
    ax : matplotlib Axes, optional
        By default new ones.

    Returns
    -------
    picture : Picture
        Artists "clusters", one for each label, and "mean".

    Raises
    ------
    TypeError, ValueError
        As `silhouette_samples`.

    References
    ----------
    P. J. Rousseeuw, *Silhouettes: a graphical aid to the interpretation and validation of cluster
    analysis*, J. Computational and Applied Mathematics 20, 1987.

    Examples
    --------
    >>> from mlcore.plot import silhouettes
    >>> picture = silhouettes([[0.0], [1.0], [8.0], [9.0]], [0, 0, 1, 1])
    >>> len(picture.artists_["clusters"])
    2
    """
    values = silhouette_samples(X, labels, metric=metric)
    names, codes = as_partition(labels, len(values), owner="silhouettes")
    figure, ax = new_axes(ax)
    clusters, start, middles = [], 0, []
    gap = max(1, len(values) // 50)
    for code in range(len(names)):
        own = np.sort(values[codes == code])
        places = np.arange(start, start + len(own))
        bars = ax.fill_betweenx(places, 0, own, step="mid", color=color(code), linewidth=0)
        clusters.append(bars)
        middles.append(start + 0.5 * (len(own) - 1))
        start += len(own) + gap
    mean = float(values.mean())
    top = start + 0.15 * (start + gap)  # above the clusters is room for the legend
    line = ax.axvline(
        mean,
        ymax=(start + gap) / (top + gap),
        color="black",
        linestyle="--",
        linewidth=1,
        label=f"mean {mean:.3f}",
    )
    ax.set_ylim(-gap, top)
    thin_labels(ax.yaxis, np.array(middles), [str(name) for name in names])
    name_axes(ax, "silhouette", "cluster")
    ax.legend(fontsize="small", loc="upper center")
    return Picture(figure, ax, {"clusters": clusters, "mean": line})
