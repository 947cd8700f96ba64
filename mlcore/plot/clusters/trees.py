"""Tree of merges of a hierarchical clustering, with the height at which it stopped."""

from typing import Any

import numpy as np
from scipy.cluster import hierarchy

from mlcore.checks.parameters import refuse
from mlcore.plot.picture import GREY, Picture, color, legend_beside, new_axes

_DEPTH = 400  # merges on a path: SciPy draws trees by recursion, which Python limits to 1000 calls
_CHARACTERS = 40  # of all labels: more are turned, so as not to overlap
_UPRIGHT = (None, "top", "bottom")  # orientations whose leaves are side by side
_TAKEN = ("labels", "no_labels", "leaf_rotation", "leaf_font_size", "orientation", "truncate_mode")


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
        ``p=30``, ``labels``, ``orientation``. Trees deeper than SciPy's recursion may go, such as
        long chains of single linkage, take ``labels``, ``no_labels``, ``leaf_rotation``,
        ``leaf_font_size``, ``orientation`` and ``above_threshold_color`` if they are not truncated.

    Returns
    -------
    picture : Picture
        Artists "tree" (SciPy's dictionary) and "stop" (None if no merge was left out).

    Raises
    ------
    ValueError
        If the model has no linkage matrix, or a single sample; for an option that a deep tree does
        not take.

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
    labels = options.get("labels")
    if labels is not None and sum(len(str(label)) for label in labels) > _CHARACTERS:
        options.setdefault("leaf_rotation", 90 if options.get("orientation") in _UPRIGHT else 0)
    above = options["above_threshold_color"]

    def color_of(node):
        return color(of_node[node]) if of_node[node] >= 0 else above

    if options.get("truncate_mode") or _depth(Z) < _DEPTH:
        tree = hierarchy.dendrogram(Z, ax=ax, link_color_func=color_of, **options)
    else:
        tree = _deep(Z, ax, color_of, **options)
    stop = _stop(model, Z)
    sideways = options.get("orientation", "top") in ("left", "right")
    line = None
    if stop is not None:
        draw = ax.axvline if sideways else ax.axhline
        text = f"{model.n_clusters_} clusters"
        line = draw(stop, color="black", linestyle="--", linewidth=1, label=text)
        legend_beside(ax)
    (ax.set_xlabel if sideways else ax.set_ylabel)("distance of the clusters merged")
    return Picture(figure, ax, {"tree": tree, "stop": line})


def _depth(Z):
    """Return the number of merges on the longest path of the tree."""
    n = len(Z) + 1
    depth = np.zeros(2 * n - 1, dtype=np.int64)
    for node, (a, b) in enumerate(Z[:, :2].astype(np.int64).tolist(), start=n):
        depth[node] = 1 + max(depth[a], depth[b])
    return int(depth[-1])


def _deep(Z, ax, color_of, above_threshold_color, **options):
    """Draw a tree of any depth, and return SciPy's dictionary of it."""
    wrong = [name for name in options if name not in _TAKEN]
    if wrong:
        refuse(wrong[0], options[wrong[0]], "left out for a tree so deep, or go with truncate_mode")
    orientation = options.get("orientation", "top")
    if orientation not in ("top", "bottom", "left", "right"):
        refuse("orientation", orientation, "'top', 'bottom', 'left' or 'right'")
    labels = options.get("labels")
    if labels is not None and len(labels) != len(Z) + 1:
        refuse("labels", f"{len(labels)} labels", f"one for each of {len(Z) + 1} samples")
    # The tree.
    across, along, nodes, leaves = _layout(Z)
    colors = [color_of(node) for node in nodes]

    from matplotlib.collections import LineCollection

    sideways = orientation in ("left", "right")
    corners = (along, across) if sideways else (across, along)
    ax.add_collection(LineCollection(np.stack(corners, axis=2), colors=colors))
    ends = [0, 10 * len(leaves)], [0, 1.05 * float(Z[:, 2].max()) or 1.0]
    if orientation in ("bottom", "left"):
        ends[1].reverse()
    ax.set(xlim=ends[sideways], ylim=ends[not sideways])
    # Names of the leaves.
    names = [str(leaf if labels is None else labels[leaf]) for leaf in leaves]
    axis = ax.yaxis if sideways else ax.xaxis
    if options.get("no_labels"):
        axis.set_ticks([])
    else:
        turned = {"rotation": options.get("leaf_rotation"), "size": options.get("leaf_font_size")}
        axis.set_ticks(5 + 10 * np.arange(len(leaves)), names, **turned)
    return {
        "icoord": across.tolist(), "dcoord": along.tolist(), "ivl": names, "leaves": leaves,
        "color_list": colors,
    }  # fmt: skip


def _layout(Z):
    """Return the corners of all merges (n - 1, 4), across and along, their nodes, and the leaves.

    In SciPy's order: what is on the left first, a merge after what it merges.
    """
    n = len(Z) + 1
    children = Z[:, :2].astype(np.int64).tolist()
    backwards, waiting = [], [2 * n - 2]
    while waiting:
        node = waiting.pop()
        backwards.append(node)
        if node >= n:
            waiting.extend(children[node - n])
    order = backwards[::-1]
    leaves = [node for node in order if node < n]
    nodes = [node for node in order if node >= n]
    place, height = np.zeros(2 * n - 1), np.zeros(2 * n - 1)
    place[leaves] = 5 + 10 * np.arange(n)
    height[n:] = Z[:, 2]
    for node, (a, b) in enumerate(children, start=n):
        place[node] = (place[a] + place[b]) / 2
    left, right = np.array([children[node - n] for node in nodes]).T
    across = np.column_stack((place[left], place[left], place[right], place[right]))
    along = np.column_stack((height[left], height[nodes], height[nodes], height[right]))
    return across, along, nodes, leaves


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
