"""Clusters by density: the condensed tree with those chosen, and the reachability plot."""

from typing import Any

import numpy as np

from mlcore.checks.parameters import refuse
from mlcore.plot.picture import GREY, Picture, color, light, new_axes

_COLUMNS = "parent", "child", "lambda_val", "child_size"
_GAP = 0.03  # between the bars of leaves, as a share of all samples


def condensed_tree(tree: Any, *, selected: Any = None, ax: Any = None) -> Picture:
    """Draw how clusters lose samples and split as the density grows, and which are chosen.

    Each cluster is a bar, as wide as the samples that it still has at the density
    ``lambda = 1 / distance``, which grows downwards. Chosen clusters are outlined; what they split
    into is of a lighter color.

    Parameters
    ----------
    tree : fitted HDBSCAN, or its condensed tree
        With arrays `parent`, `child`, `lambda_val` and `child_size`: as attributes, as columns of a
        table or structured array, or with a method `to_numpy` that returns one, as in
        scikit-learn-contrib's package.
    selected : array-like of int, optional
        The chosen clusters, by their numbers in `parent` and `child`; by default `tree.selected`,
        if there is one.
    ax : matplotlib Axes, optional
        By default new ones.

    Returns
    -------
    picture : Picture
        Artists "clusters" (a collection with a path for each cluster, the root first) and "splits".

    Raises
    ------
    ValueError
        For arrays that are no condensed tree, and for chosen clusters that are not in it.

    Notes
    -----
    Samples at distance 0 leave at an infinite lambda, which is drawn at twice the largest other.

    References
    ----------
    R. J. G. B. Campello, D. Moulavi, A. Zimek, J. Sander, *Hierarchical density estimates for data
    clustering, visualization, and outlier detection*, ACM TKDD 10, 2015, section 5.

    Examples
    --------
    >>> from mlcore.plot import condensed_tree
    >>> tree = {"parent": [4, 4, 4, 5, 5, 6, 6], "child": [5, 6, 0, 1, 2, 3, 3]}
    >>> tree |= {"lambda_val": [0.5, 0.5, 0.1, 1.0, 2.0, 1.0, 1.5], "child_size": [2, 2] + 5 * [1]}
    >>> len(condensed_tree(tree, selected=[5]).artists_["clusters"].get_paths())
    3
    """
    tree = getattr(tree, "condensed_tree_", tree)
    parent, child, lambdas, sizes = _columns(tree)
    root = parent.min()
    inner = np.flatnonzero(child > root)
    inner = inner[np.argsort(child[inner], kind="stable")]
    numbers = np.concatenate(([root], child[inner]))
    own = np.searchsorted(numbers, parent)  # the place of each entry's cluster
    above = np.concatenate(([-1], own[inner]))  # the place of each cluster's parent
    if (
        len(set(numbers.tolist())) < len(numbers)
        or (numbers[np.minimum(own, len(numbers) - 1)] != parent).any()
        or (above >= np.arange(len(numbers))).any()
    ):
        refuse("tree", tree, "a condensed tree whose parents are numbered before children")
    chosen = _chosen(getattr(tree, "selected", None) if selected is None else selected, numbers)
    finite = lambdas[np.isfinite(lambdas)]
    lambdas = np.minimum(lambdas, 2 * finite.max(initial=0.5))
    birth = np.concatenate(([0.0], lambdas[inner]))
    middles = _middles(own, above, sizes)
    # The bar of each cluster, of as many steps as samples leave it.
    order = np.lexsort((lambdas, own))
    ends = np.cumsum(np.bincount(own, minlength=len(numbers)))[:-1]
    groups = np.split(order, ends)
    bars = [
        _bar(middles[c], birth[c], lambdas[group], sizes[group]) for c, group in enumerate(groups)
    ]
    shades, outlines = _shades(above, chosen)
    figure, ax = new_axes(ax)

    from matplotlib.collections import LineCollection, PolyCollection

    clusters = PolyCollection(bars, facecolors=shades, edgecolors=outlines, linewidths=1.2)
    lines = [
        [(middles[above[c]], birth[c]), (middles[c], birth[c])] for c in range(1, len(numbers))
    ]
    splits = LineCollection(lines, colors=GREY, linewidths=0.8)
    ax.add_collection(splits)
    ax.add_collection(clusters)
    ax.autoscale_view()
    ax.set(xticks=[], xlabel="samples", ylabel="lambda = 1 / distance")
    ax.invert_yaxis()
    return Picture(figure, ax, {"clusters": clusters, "splits": splits})


def reachability(model: Any, *, labels: Any = None, ax: Any = None) -> Picture:
    """Draw the distance at which each sample joins those before it, in the order of the tree.

    Clusters are valleys: their samples join at small distances, and the first of them at the height
    at which the cluster joins what is to its left.

    Parameters
    ----------
    model : fitted clustering, or linkage matrix of shape (n_samples - 1, 4)
        With `single_linkage_tree_` (HDBSCAN), `linkage_matrix_` (`AgglomerativeClustering`), or
        `reachability_` and `ordering_` (scikit-learn's OPTICS).
    labels : array-like of int of shape (n_samples,), optional
        Clusters, -1 for noise, which is grey; by default `model.labels_`.
    ax : matplotlib Axes, optional
        By default new ones.

    Returns
    -------
    picture : Picture
        Artists "bars" (a collection with a bar for each sample) and "order", that of the samples.

    Raises
    ------
    ValueError
        For a model without such a tree, and for labels of another length.

    Notes
    -----
    The first sample joins nothing: its bar, as any of an infinite distance, is as high as the
    highest.

    References
    ----------
    M. Ankerst, M. M. Breunig, H.-P. Kriegel, J. Sander, *OPTICS: ordering points to identify the
    clustering structure*, SIGMOD 1999, section 4.

    Examples
    --------
    >>> from mlcore.cluster import AgglomerativeClustering
    >>> from mlcore.plot import reachability
    >>> model = AgglomerativeClustering(2, linkage="single").fit([[0.0], [9.0], [1.0], [11.0]])
    >>> reachability(model).artists_["order"].tolist()
    [0, 2, 1, 3]
    """
    if hasattr(model, "ordering_"):
        order, distances = np.asarray(model.ordering_), np.asarray(model.reachability_)
        distances = distances[order].astype(float)
    else:
        order, distances = _of_tree(model)
    n = len(order)
    labels = getattr(model, "labels_", np.zeros(n, dtype=int)) if labels is None else labels
    labels = np.asarray(labels)
    if labels.shape != (n,) or labels.dtype.kind not in "iu":
        refuse("labels", labels, f"{n} integers, one for each sample")
    finite = distances[np.isfinite(distances)]
    distances = np.minimum(distances, finite.max(initial=0.0) or 1.0)
    figure, ax = new_axes(ax)

    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgba_array

    left, zero = np.arange(n) - 0.5, np.zeros(n)
    across = np.stack((left, left, left + 1, left + 1), axis=1)
    along = np.stack((zero, distances, distances, zero), axis=1)
    palette = to_rgba_array([GREY, *(color(code) for code in range(8))])
    own = labels[order]
    shades = palette[np.where(own < 0, 0, 1 + own % 8)]
    bars = PolyCollection(np.stack((across, along), axis=2), facecolors=shades, linewidths=0)
    ax.add_collection(bars)
    ax.set(xlim=(-0.5, n - 0.5), ylim=(0, 1.05 * distances.max()))
    ax.set(xticks=[], xlabel="samples, in the order of the tree", ylabel="reachability distance")
    return Picture(figure, ax, {"bars": bars, "order": order})


def _columns(tree):
    """Return the four arrays of a condensed tree in any of its forms."""
    source = tree
    if hasattr(tree, "to_numpy") and not hasattr(tree, "columns"):
        source = tree.to_numpy()
    try:
        columns = [
            np.asarray(getattr(source, name) if hasattr(source, name) else source[name])
            for name in _COLUMNS
        ]
    except (TypeError, KeyError, IndexError, ValueError):
        refuse("tree", tree, f"a condensed tree, with arrays {', '.join(_COLUMNS)}")
    if {column.shape for column in columns} != {(len(columns[0]),)} or not len(columns[0]):
        refuse("tree", tree, "a condensed tree with four arrays of one length, at least 1")
    parent, child = (column.astype(np.int64) for column in columns[:2])
    lambdas, sizes = (column.astype(np.float64) for column in columns[2:])
    return parent, child, lambdas, sizes


def _chosen(selected, numbers):
    """Return the places of the chosen clusters."""
    selected = np.asarray([] if selected is None else selected, dtype=np.int64).ravel()
    foreign = np.setdiff1d(selected, numbers)
    if len(foreign):
        refuse("selected", int(foreign[0]), "clusters of the tree")
    return np.searchsorted(numbers, selected)


def _middles(own, above, sizes):
    """Return the middle of each cluster's bar; its place holds those of its children."""
    k = len(above)
    width = np.bincount(own, sizes, k)  # samples of each cluster at its birth
    inner, place = np.zeros(k), np.zeros(k)  # room of the children, and of the cluster
    for c in range(k - 1, -1, -1):
        place[c] = max(inner[c], width[c] + _GAP * width[0])
        if c:
            inner[above[c]] += place[c]
    start = np.zeros(k)
    free = (place - inner) / 2  # where the next child begins, from the start of the cluster
    for c in range(1, k):
        start[c] = start[above[c]] + free[above[c]]
        free[above[c]] += place[c]
    return start + place / 2


def _bar(middle, birth, lambdas, sizes):
    """Return the corners of a bar whose width falls by `sizes` at the sorted `lambdas`."""
    left = np.append(np.cumsum(sizes[::-1])[::-1], 0)  # samples before each of them leaves
    half = np.repeat(left, 2)[:-1] / 2
    heights = np.append(birth, np.repeat(lambdas, 2))
    return np.concatenate((
        np.column_stack((middle - half, heights)), np.column_stack((middle + half, heights))[::-1]
    ))  # fmt: skip


def _shades(above, chosen):
    """Return the colors of the bars of clusters and of their outlines."""
    shades, outlines = [(0.85, 0.85, 0.85)] * len(above), ["none"] * len(above)
    inside = np.full(len(above), -1)
    for number, c in enumerate(chosen.tolist()):
        shades[c], outlines[c], inside[c] = color(number), "black", number
    for c in range(1, len(above)):
        if outlines[c] == "none" and inside[above[c]] >= 0:
            inside[c] = inside[above[c]]
            shades[c] = light(color(inside[c]))
    return shades, outlines


def _of_tree(model):
    """Return the order of the leaves of a tree, and the height at which each joins the ones before.

    A merge joins the leftmost leaf of its smaller part to its larger one: outliers come last.
    """
    Z = getattr(model, "single_linkage_tree_", getattr(model, "linkage_matrix_", model))
    Z = np.asarray(Z.to_numpy() if hasattr(Z, "to_numpy") else Z)
    if Z.ndim != 2 or Z.shape[1:] != (4,) or not len(Z):
        refuse("model", model, "a clustering with a tree of merges, or a linkage matrix")
    n = len(Z) + 1
    first = np.concatenate((np.arange(n), np.zeros(n - 1, dtype=np.int64)))  # leaf of each node
    following, last = np.full(n, -1), first.copy()  # the leaf after each leaf, so far
    joined = np.full(n, np.inf)
    size = np.concatenate((np.ones(n), Z[:, 3]))
    for node, (a, b) in enumerate(Z[:, :2].astype(np.int64).tolist(), start=n):
        if size[b] > size[a]:
            a, b = b, a
        joined[first[b]] = Z[node - n, 2]
        following[last[a]] = first[b]
        first[node], last[node] = first[a], last[b]
    order, leaf = np.empty(n, dtype=np.int64), first[-1]
    for place in range(n):
        order[place], leaf = leaf, following[leaf]
    return order, joined[order]
