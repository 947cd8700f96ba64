"""Two partitions beside each other, and the gap statistic of several numbers of clusters."""

from typing import Any

import numpy as np

from mlcore.checks.parameters import refuse
from mlcore.cluster.scores.contingency import contingency
from mlcore.plot.picture import Picture, color, new_axes, number_cells, thin_labels

_CELLS = 150  # with numbers
_PIXELS = 4000


def contingency_table(
    labels_true: Any, labels: Any, *, sample_weight: Any = None, ax: Any = None
) -> Picture:
    """Draw how many samples each class shares with each cluster.

    Clusters stand in the order of the classes that most of their samples are of: a good partition
    is a staircase.

    Parameters
    ----------
    labels_true, labels : array-like of shape (n_samples,)
        The class and the cluster of each sample; at most 4,000 of each, a pixel each.
    sample_weight : array-like of shape (n_samples,), optional
        2 stands for two copies of a sample, 0 for its absence.
    ax : matplotlib Axes, optional
        By default new ones.

    Returns
    -------
    picture : Picture
        Artists "table", the image, and "names", those of the clusters from left to right.

    Raises
    ------
    TypeError, ValueError
        As `contingency_matrix`, and for too many classes or clusters.

    Examples
    --------
    >>> from mlcore.plot import contingency_table
    >>> picture = contingency_table(["a", "a", "b", "b"], [1, 1, 0, 0])
    >>> picture.artists_["table"].get_array().tolist(), picture.artists_["names"]
    ([[2.0, 0.0], [0.0, 2.0]], ['1', '0'])
    """
    found = contingency(labels_true, labels, sample_weight, "contingency_table")
    classes, clusters = found.classes, found.clusters
    if max(len(classes), len(clusters)) > _PIXELS:
        sizes = f"{len(classes)} classes and {len(clusters)} clusters"
        refuse("labels", sizes, f"at most {_PIXELS} of each")
    table = np.zeros((len(classes), len(clusters)))
    table[found.rows, found.columns] = found.counts
    order = np.lexsort((-table.max(axis=0), table.argmax(axis=0)))
    figure, ax = new_axes(ax)
    image = ax.imshow(table[:, order], cmap="cividis", aspect="auto", vmin=0)
    figure.colorbar(image, ax=ax, label="samples")
    ax.set(xlabel="cluster", ylabel="class")
    names = [str(name) for name in clusters[order]]
    thin_labels(ax.yaxis, np.arange(len(classes)), [str(name) for name in classes])
    thin_labels(ax.xaxis, np.arange(len(names)), names)
    if table.size <= _CELLS:
        number_cells(ax, image)
    return Picture(figure, ax, {"table": image, "names": names})


def gap_curve(result: Any, *, ax: Any = None) -> Picture:
    """Draw the gap statistic by the number of clusters, with its standard errors and its choice.

    Parameters
    ----------
    result : GapStatistic
        Of `gap_statistic`.
    ax : matplotlib Axes, optional
        By default new ones.

    Returns
    -------
    picture : Picture
        Artists "gap" (the line with its errors) and "best" (the mark at the number chosen).

    Raises
    ------
    ValueError
        For anything but the result of `gap_statistic`.

    References
    ----------
    R. Tibshirani, G. Walther, T. Hastie, *Estimating the number of clusters in a data set via the
    gap statistic*, JRSS B 63, 2001, figure 1.

    Examples
    --------
    >>> from mlcore.cluster import gap_statistic
    >>> from mlcore.plot import gap_curve
    >>> X = [[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]]
    >>> found = gap_statistic(X, n_clusters=[1, 2, 3], n_references=5, random_state=0)
    >>> len(gap_curve(found).artists_["gap"].lines[0].get_xdata())
    3
    """
    names = "n_clusters", "gap", "standard_error", "best_n_clusters"
    if not all(hasattr(result, name) for name in names):
        refuse("result", result, "the result of gap_statistic")
    figure, ax = new_axes(ax)
    k, best = np.asarray(result.n_clusters), result.best_n_clusters
    line = ax.errorbar(
        k, result.gap, result.standard_error, color=color(0), marker="o", markersize=4, capsize=3
    )
    at = np.flatnonzero(k == best)
    text = f"{best} clusters" if result.found else f"{best} clusters, the most tried"
    (mark,) = ax.plot(
        k[at], result.gap[at], "s", color=color(5), markersize=9, fillstyle="none", label=text
    )
    ax.set(xlabel="clusters", ylabel="gap statistic")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend(fontsize="small")
    return Picture(figure, ax, {"gap": line, "best": mark})
