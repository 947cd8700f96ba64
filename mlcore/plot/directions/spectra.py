"""Spectra: eigenvalues with their gaps, and the variance that components explain."""

from typing import Any

import numpy as np

from mlcore.checks.parameters import refuse
from mlcore.plot.picture import GREY, Picture, color, new_axes, thin_labels

_ROUNDING = 1e-9  # of shares that sum to 1


def eigengaps(model: Any, *, ax: Any = None) -> Picture:
    """Draw the eigenvalues of a `SpectralClustering` and the gap after each, on its own axis.

    A large gap after the k-th says that k clusters are well separated.

    Parameters
    ----------
    model : fitted SpectralClustering
    ax : matplotlib Axes, optional
        By default new ones.

    Returns
    -------
    picture : Picture
        Artists "eigenvalues", "gaps" and "chosen", the line at the number of clusters.

    Raises
    ------
    ValueError
        If the model has no eigengaps.

    Examples
    --------
    >>> from mlcore.cluster import SpectralClustering
    >>> from mlcore.plot import eigengaps
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> picture = eigengaps(SpectralClustering(2, random_state=0).fit(X))
    >>> len(picture.artists_["gaps"].patches)
    2
    """
    if not hasattr(model, "eigengaps_"):
        refuse("model", model, "a fitted SpectralClustering")
    values, gaps = np.asarray(model.eigenvalues_), np.asarray(model.eigengaps_)
    figure, ax = new_axes(ax)
    numbers = np.arange(1, len(values) + 1)
    beside = ax.twinx()  # gaps may be far smaller than the eigenvalues
    beside.set_zorder(ax.get_zorder() - 1)
    ax.patch.set_visible(False)
    bars = beside.bar(
        numbers[: len(gaps)] + 0.5, gaps, width=0.5, color=color(4), label="gap to the next"
    )
    beside.set_ylim(0, 1.6 * gaps.max(initial=0.0) or 1.0)  # the upper part is the eigenvalues'
    beside.set_ylabel("gap to the next eigenvalue", color=color(0))
    (points,) = ax.plot(numbers, values, "o", color=color(0), markersize=4, label="eigenvalue")
    chosen = ax.axvline(
        model.n_clusters + 0.5, color=GREY, linestyle=":", label=f"{model.n_clusters} clusters"
    )
    low, high = ax.get_ylim()
    if values[len(values) // 2 :].max() > high - 0.35 * (high - low):
        ax.set_ylim(low, high + 0.35 * (high - low))  # room for the legend
    ax.set(xlabel="eigenvector", ylabel="eigenvalue")
    thin_labels(ax.xaxis, numbers, [str(number) for number in numbers])
    ax.legend(handles=[points, bars, chosen], fontsize="small", loc="upper right")
    return Picture(figure, ax, {"eigenvalues": points, "gaps": bars, "chosen": chosen})


def scree(model: Any, *, ax: Any = None) -> Picture:
    """Draw the share of the variance that each component explains, and their sum.

    mlcore's `PCA` proves how much more the best subspace of as many dimensions could explain: the
    shaded strip at the end of the sum, thin as a line where the fit is exact.

    Parameters
    ----------
    model : fitted PCA, KernelPCA or LinearDiscriminantAnalysis, of mlcore or scikit-learn
        With ``explained_variance_ratio_``.
    ax : matplotlib Axes, optional
        By default new ones.

    Returns
    -------
    picture : Picture
        Artists "shares", "sum" and, where known, "bounds".

    Raises
    ------
    ValueError
        If the model has no explained variances.

    Examples
    --------
    >>> from mlcore.decomposition import PCA
    >>> from mlcore.plot import scree
    >>> picture = scree(PCA().fit([[0.0, 0.0], [1.0, 1.0], [2.0, 2.5]]))
    >>> float(picture.artists_["sum"].get_ydata()[-1].round(9))
    1.0
    """
    shares = getattr(model, "explained_variance_ratio_", None)
    if shares is None or not len(shares):
        refuse("model", model, "a fitted model with explained_variance_ratio_")
    figure, ax = new_axes(ax)
    numbers, total = np.arange(1, len(shares) + 1), np.cumsum(shares)
    artists: dict[str, Any] = {
        "shares": ax.bar(numbers, shares, color=color(4), label="each"),
        "sum": ax.plot(numbers, total, "o-", color=color(0), markersize=3.5, label="sum")[0],
    }
    bounds = getattr(model, "explained_fraction_bounds_", None)
    if bounds is not None:
        low, high = (float(value) for value in bounds)
        whole = low >= 1 - _ROUNDING
        text = "all of the variance" if whole else f"best possible: at most {min(high, 1):.3%}"
        artists["bounds"] = ax.axhspan(low, high, color=color(5), alpha=0.4, label=text)
    ax.set(xlabel="component", ylabel="share of the variance", ylim=(0, 1.05))
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend(fontsize="small", loc="best")
    return Picture(figure, ax, artists)
