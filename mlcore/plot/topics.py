"""Topics by their most probable words."""

import math
from typing import Any

import numpy as np

from mlcore.checks import as_integer
from mlcore.checks.parameters import refuse
from mlcore.plot.picture import Picture, color, new_axes

_COLUMNS = 5


def topics(model: Any, words: Any, *, n_words: int = 8, ax: Any = None) -> Picture:
    """Draw the words that a topic gives most probability, a panel for each topic.

    Parameters
    ----------
    model : fitted PLSA or MultinomialMixture, or topic model of scikit-learn
        With ``components_`` or ``means_`` of shape (n_topics, n_words).
    words : sequence of str, of length n_features
        Of the columns, such as ``WordCounts.get_feature_names_out()``.
    n_words : int, default=8
        For each topic.
    ax : array of matplotlib Axes, optional
        One for each topic; by default new ones.

    Returns
    -------
    picture : Picture
        Artists "bars", one container for each topic.

    Raises
    ------
    TypeError, ValueError
        If there are not as many words as columns.

    Examples
    --------
    >>> from mlcore.mixture import PLSA
    >>> from mlcore.plot import topics
    >>> model = PLSA(2, random_state=0).fit([[3, 2, 0, 0], [4, 1, 0, 0], [0, 0, 5, 2]])
    >>> len(topics(model, ["net", "ball", "vote", "law"], n_words=2).artists_["bars"])
    2
    """
    table = getattr(model, "components_", None)
    if table is None:
        table = getattr(model, "means_", None)
    if table is None:
        refuse("model", model, "a fitted model with components_ or means_")
    table, words = np.asarray(table, dtype=np.float64), [str(word) for word in words]
    if len(words) != table.shape[1]:
        refuse("words", f"{len(words)} words", f"{table.shape[1]}, one for each column")
    n_words = min(as_integer(n_words, "n_words", at_least=1), len(words))
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    n = len(shares)
    columns = n if ax is not None else min(n, _COLUMNS)
    rows = math.ceil(n / columns)
    figure, axes = new_axes(ax, rows, columns, (2.4 * columns, (0.7 + 0.24 * n_words) * rows))
    panels = np.atleast_1d(np.asarray(axes, dtype=object)).ravel()
    weights = getattr(model, "weights_", None)
    bars = []
    for k, panel in enumerate(panels[:n]):
        chosen = np.argsort(-shares[k], kind="stable")[:n_words]
        bars.append(panel.barh(np.arange(n_words), shares[k, chosen], color=color(k)))
        panel.set_yticks(np.arange(n_words), [words[j] for j in chosen], fontsize="small")
        panel.invert_yaxis()
        share = "" if weights is None else f" ({weights[k]:.0%})"
        panel.set_title(f"topic {k}{share}", fontsize="medium")
        panel.tick_params(axis="x", labelsize="x-small")
        panel.set_xlabel("probability", fontsize="small")
    for panel in panels[n:]:
        panel.set_visible(False)
    return Picture(figure, axes, {"bars": bars})
