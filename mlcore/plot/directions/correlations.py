"""Canonical correlations with the tests of how many are not zero."""

from typing import Any, Literal

import numpy as np

from mlcore.checks import as_choice, as_real
from mlcore.checks.parameters import refuse
from mlcore.plot.picture import Picture, color, light, new_axes, thin_labels

_UPRIGHT = 6  # pairs: of more, the probabilities are turned


def canonical_correlations(
    model: Any, *, level: float = 0.05, test: Literal["f", "bartlett"] = "f", ax: Any = None
) -> Picture:
    """Draw canonical correlations, each with the probability that it and all later ones are chance.

    Full bars are correlations whose probability is below `level`, as are those of all before them;
    hatched bars may be chance.

    Parameters
    ----------
    model : fitted CCA or LinearDiscriminantAnalysis
        With a `dimension_test`.
    level : float in (0, 1), default=0.05
    test : {"f", "bartlett"}, default="f"
        Rao's F or Bartlett's chi-squared.
    ax : matplotlib Axes, optional
        By default new ones.

    Returns
    -------
    picture : Picture
        Artists "bars" and "probabilities", the texts above them.

    Raises
    ------
    TypeError, ValueError
        For `level` or `test` out of range, and a model without the test.

    Examples
    --------
    >>> from mlcore.datasets import load_iris
    >>> from mlcore.discriminant import LinearDiscriminantAnalysis
    >>> from mlcore.plot import canonical_correlations
    >>> model = LinearDiscriminantAnalysis().fit(*load_iris())
    >>> [text.get_text() for text in canonical_correlations(model).artists_["probabilities"]]
    ['p = 1e-112', 'p = 6e-08']
    """
    level = as_real(level, "level", above=0, below=1)
    test = as_choice(test, "test", ("f", "bartlett"))
    if not hasattr(model, "dimension_test"):
        refuse("model", model, "a fitted CCA or LinearDiscriminantAnalysis")
    values = getattr(model, "all_correlations_", model.canonical_correlations_)
    probabilities = getattr(model.dimension_test(), f"{test}_p_value")
    n = min(len(values), len(probabilities))
    values, probabilities = values[:n], probabilities[:n]
    real = np.logical_and.accumulate(probabilities < level)
    figure, ax = new_axes(ax)
    bars = ax.bar(np.arange(1, n + 1), values, color=color(0))
    texts = []
    for bar, value, p, kept in zip(bars, values, probabilities, real, strict=True):
        if not kept:
            bar.set(facecolor=light(color(0)), hatch="//", edgecolor=color(0))
        place = bar.get_x() + 0.5 * bar.get_width()
        shown = f"p = {p:.1g}" if p < 0.1 else f"p = {p:.2f}"
        texts.append(ax.text(place, value + 0.01, shown, ha="center", va="bottom"))
    ax.set(xlabel="pair of directions", ylabel="canonical correlation", ylim=(0, 1.1))
    if n > _UPRIGHT:
        for text in texts:
            text.set(rotation=90, fontsize="small")
        ax.set_ylim(0, 1.3)
    thin_labels(ax.xaxis, np.arange(1, n + 1), [str(number) for number in range(1, n + 1)])
    return Picture(figure, ax, {"bars": bars, "probabilities": texts})
