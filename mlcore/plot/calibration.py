"""Reliability of predicted probabilities: how often what is said to happen does happen."""

import itertools
from typing import Any, Literal

import numpy as np

from mlcore.bounds import clopper_pearson
from mlcore.checks import as_choice, as_integer, as_labels, as_real
from mlcore.checks.parameters import refuse
from mlcore.plot.picture import GREY, Picture, color, lay_out, name_axes, new_axes


def reliability_curve(
    y: Any,
    probability: Any,
    *,
    n_bins: int = 10,
    strategy: Literal["uniform", "quantile"] = "uniform",
    delta: float = 0.05,
    label: str | None = None,
    ax: Any = None,
) -> Picture:
    """Draw observed frequencies of the positive class against predicted probabilities.

    Bars are exact intervals (Clopper and Pearson) that hold each bin's true frequency with
    probability ``1 - delta``, one bin at a time: a diagonal outside a bar is evidence that the
    probabilities are off there.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels of two classes, on samples that the model was not fitted to; the later in order is
        the positive one.
    probability : array-like of shape (n_samples,)
        Of the positive class, such as ``model.predict_proba(X)[:, 1]``; in [0, 1].
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
        Artists "curve" (an ErrorbarContainer) and "counts", the number of samples at each point.

    Raises
    ------
    TypeError, ValueError
        For labels of other than two classes, or probabilities outside [0, 1].

    Examples
    --------
    >>> from mlcore.plot import reliability_curve
    >>> picture = reliability_curve([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], n_bins=2)
    >>> [text.get_text() for text in picture.artists_["counts"]]
    ['2', '2']
    """
    probability = np.asarray(probability, dtype=np.float64)
    if probability.ndim != 1 or not ((probability >= 0) & (probability <= 1)).all():
        refuse("probability", probability, "probabilities in [0, 1], one for each sample")
    classes, codes = as_labels(y, len(probability))
    if len(classes) != 2:
        refuse("y", f"{len(classes)} classes", "labels of 2 classes")
    n_bins = as_integer(n_bins, "n_bins", at_least=1)
    as_choice(strategy, "strategy", ("uniform", "quantile"))
    delta = as_real(delta, "delta", above=0, below=1)
    # Bins that have samples, and the intervals of their frequencies.
    edges = np.linspace(0, 1, n_bins + 1)
    if strategy == "quantile":
        edges = np.unique(np.quantile(probability, edges))
    bins = np.clip(np.searchsorted(edges, probability, side="right") - 1, 0, max(len(edges) - 2, 0))
    m = np.bincount(bins)
    used = m > 0
    k = np.bincount(bins, weights=codes)[used].astype(np.int64)
    predicted = np.bincount(bins, weights=probability)[used] / m[used]
    m = m[used]
    low, high = clopper_pearson(k, m, delta)
    figure, ax = new_axes(ax, size=(5, 5))
    # The curve; the diagonal below the first one.
    number = len(ax.containers)
    if not number:
        ax.plot([0, 1], [0, 1], color=GREY, linestyle=":", label="calibrated")
    seen = k / m
    curve = ax.errorbar(
        predicted,
        seen,
        [np.maximum(seen - low, 0).tolist(), np.maximum(high - seen, 0).tolist()],
        color=color(number),
        marker="os^D"[number % 4],
        markersize=4,
        capsize=3,
        linewidth=1,
        label=label or f"frequency, {1 - delta:.0%} intervals",
    )
    # Above them is room for the legend.
    top = 1.08 + 0.07 * (number + 2)
    ticks = np.linspace(0, 1, 6)
    ax.set(xlim=(-0.04, 1.04), ylim=(-0.04, top), xticks=ticks, yticks=ticks, aspect="equal")
    name_axes(ax, "predicted probability", f"observed frequency of {classes[1]!s}")
    ax.legend(fontsize="small", loc="upper left")
    counts = _counts(ax, predicted, seen, m)
    return Picture(figure, ax, {"curve": curve, "counts": counts})


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
