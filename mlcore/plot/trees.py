"""Tree of merges of a hierarchical clustering, with the height at which it stopped."""

from typing import Any

import numpy as np
from scipy.cluster import hierarchy

from mlcore.checks.parameters import refuse
from mlcore.plot.picture import GREY, Picture, color, new_axes


def dendrogram(model: Any, *, ax: Any = None, **options: Any) -> Picture:
    """Draw the tree of merges of an `AgglomerativeClustering`, its clusters and where it stopped.

    Merges within a cluster have its color, those above the stop are grey. The dashed line is the
    distance threshold, or midway between the last merge made and the first not made.

    Parameters
    ----------
    model : fitted AgglomerativeClustering
    ax : matplotlib Axes, optional
        By default new ones.
    **options
        Passed to `scipy.cluster.hierarchy.dendrogram`, such as ``truncate_mode="lastp"``,
        ``p=30``, ``labels``, ``orientation``.

    Returns
    -------
    picture : Picture
        Artists "tree" (SciPy's dictionary) and "stop" (None if no merge was left out).

    Raises
    ------
    ValueError
        If the model has no linkage matrix, or a single sample.

    Examples
    --------
    >>> from mlcore.cluster import AgglomerativeClustering
    >>> from mlcore.plot import dendrogram
    >>> model = AgglomerativeClustering(2).fit([[0.0], [1.0], [8.0], [9.0]])
    >>> dendrogram(model).artists_["tree"]["leaves"]
    [0, 1, 2, 3]
    """
    Z = getattr(model, "linkage_matrix_", None)
    if Z is None or not len(Z):
        refuse("model", model, "a clustering fitted to at least two samples, with linkage_matrix_")
    figure, ax = new_axes(ax)
    of_node = _cluster_of_nodes(model)
    options.setdefault("no_labels", len(Z) > 40)
    options.setdefault("above_threshold_color", GREY)
    tree = hierarchy.dendrogram(
        Z,
        ax=ax,
        link_color_func=lambda node: color(of_node[node]) if of_node[node] >= 0 else GREY,
        **options,
    )
    stop = _stop(model, Z)
    sideways = options.get("orientation", "top") in ("left", "right")
    line = None
    if stop is not None:
        draw = ax.axvline if sideways else ax.axhline
        text = f"{model.n_clusters_} clusters"
        line = draw(stop, color="black", linestyle="--", linewidth=1, label=text)
        ax.legend(fontsize="small")
    (ax.set_xlabel if sideways else ax.set_ylabel)("distance of the clusters merged")
    return Picture(figure, ax, {"tree": tree, "stop": line})


def _cluster_of_nodes(model):
    """Return the cluster that a node of the tree lies in, -1 where it holds several."""
    labels = np.asarray(model.labels_)
    n = len(labels)
    of_node = np.concatenate([labels, np.full(n - 1, -1)])
    for node, (a, b) in enumerate(model.children_, start=n):
        if of_node[a] == of_node[b]:
            of_node[node] = of_node[a]
    return of_node


def _stop(model, Z):
    """Return the height at which merging stopped, None if everything was merged."""
    if model.n_clusters_ == 1:
        return None
    if model.distance_threshold_ is not None:
        return model.distance_threshold_
    made = len(Z) - model.n_clusters_ + 1
    below = Z[made - 1, 2] if made else 0.0
    return 0.5 * (below + Z[made, 2])
