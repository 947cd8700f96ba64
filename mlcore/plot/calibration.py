"""Reliability of predicted probabilities: how often what is said to happen does happen."""

import itertools
from typing import Any

import numpy as np

from mlcore.calibration import reliability
from mlcore.calibration.reliability import Strategy
from mlcore.plot.picture import GREY, Picture, color, lay_out, name_axes, new_axes


def reliability_curve(
    y: Any,
    probability: Any,
    *,
    n_bins: int = 10,
    strategy: Strategy = "uniform",
    delta: float = 0.05,
    label: str | None = None,
    ax: Any = None,
) -> Picture:
    """Draw observed frequencies of classes against predicted probabilities.

    Bars are the intervals of `mlcore.calibration.reliability`, which hold the true frequencies of
    all bins at once with probability ``1 - delta``: a diagonal outside of a bar is evidence that
    the probabilities are off there.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels, on samples that the model was not fitted to.
    probability : array-like of shape (n_samples,) or (n_samples, n_classes)
        Of the later of two classes, such as ``model.predict_proba(X)[:, 1]``, or of each class,
        which then has a curve; in [0, 1].
    n_bins : int, default=10
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of the same width, or of about as many samples each.
    delta : float in (0, 1), default=0.05
    label : str, optional
        Name in the legend.
    ax : matplotlib Axes, optional
        By default new ones; the same for several models compares them.

    Returns
    -------
    picture : Picture
        Artists "curve" (an ErrorbarContainer, or a list of one for each of three classes or more)
        and "counts", the number of samples at each point.

    Raises
    ------
    TypeError, ValueError
        For another number of classes, or probabilities outside [0, 1].

    Examples
    --------
    >>> from mlcore.plot import reliability_curve
    >>> picture = reliability_curve([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], n_bins=2)
    >>> [text.get_text() for text in picture.artists_["counts"]]
    ['2', '2']
    """
    found = reliability(y, probability, n_bins=n_bins, strategy=strategy, delta=delta)
    figure, ax = new_axes(ax, size=(5, 5))
    # The curves; the diagonal below the first one.
    if not ax.containers:
        ax.plot([0, 1], [0, 1], color=GREY, linestyle=":", label="calibrated")
    several = len(found.classes) > 1
    curves = []
    for k, name in enumerate(found.classes):
        own = found.curve == k
        seen, number = found.frequency[own], len(ax.containers)
        below, above = seen - found.lower[own], found.upper[own] - seen
        said = " ".join(filter(None, [label, str(name)])) if several else label
        curves.append(
            ax.errorbar(
                found.predicted[own],
                seen,
                [np.maximum(below, 0).tolist(), np.maximum(above, 0).tolist()],
                color=color(number),
                marker="os^D"[number % 4],
                markersize=4,
                capsize=3,
                linewidth=1,
                label=said or f"frequency, {1 - delta:.0%} intervals",
            )
        )
    # Above them is room for the legend.
    columns = 1 if len(ax.containers) < 5 else 3
    top = 1.08 + 0.07 * (-(-len(ax.containers) // columns) + 1)
    ticks = np.linspace(0, 1, 6)
    ax.set(xlim=(-0.04, 1.04), ylim=(-0.04, top), xticks=ticks, yticks=ticks, aspect="equal")
    of = "the class" if several else str(found.classes[0])
    name_axes(ax, "predicted probability", f"observed frequency of {of}")
    ax.legend(fontsize="small", loc="upper left", ncols=columns)
    counts = _counts(ax, found.predicted, found.frequency, found.sizes)
    return Picture(figure, ax, {"curve": curves if several else curves[0], "counts": counts})


def _counts(ax, predicted, seen, m):
    """Write the number of samples beside each point, where it hides no other number.

    Those without a free place beside their point are not shown.
    """
    lay_out(ax)
    panel = ax.get_window_extent()
    taken = [text.get_window_extent() for text in ax.texts if text.get_visible()]
    counts = []
    for x, y, n in zip(predicted, seen, m, strict=True):
        count = ax.annotate(
            str(n),
            (x, y),
            xytext=(0, 0),
            textcoords="offset points",
            fontsize="x-small",
            va="center",
        )
        counts.append(count)
        for side, height in itertools.product((1, -1), (-7, 7, -14, 14)):
            count.set(position=(5 * side, height), ha="left" if side == 1 else "right")
            box = count.get_window_extent()
            inside = panel.x0 < box.x0 and box.x1 < panel.x1 and panel.y0 < box.y0
            if inside and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
        else:
            count.set_visible(False)
    return counts
