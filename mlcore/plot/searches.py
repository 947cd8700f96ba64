"""Scores of a search over parameters, such as cross-validation over C and gamma."""

from typing import Any

import numpy as np

from mlcore.checks.parameters import refuse
from mlcore.plot.picture import Picture, color, new_axes, number_cells, thin_labels

_CELLS = 150
_DECADE = 10
_CRITERIA = {
    "loo": "mean squared leave-one-out error",
    "gcv": "generalised cross-validation",
    "likelihood": "negative log-likelihood",
}


def search_scores(search: Any, *, ax: Any = None) -> Picture:
    """Draw the scores of a search: a line of one parameter, a table of two.

    Parameters
    ----------
    search : fitted SVCCV, KernelRidgeCV or the like, or search of scikit-learn
        With ``cv_results_`` over one or two parameters of several values, or
        ``criterion_values_``.
    ax : matplotlib Axes, optional
        By default new ones.

    Returns
    -------
    picture : Picture
        Artists "scores" (the line or the image) and "best" (the mark at the best).

    Raises
    ------
    ValueError
        For a search over more than two parameters, or none.

    Examples
    --------
    >>> from mlcore.datasets import load_iris
    >>> from mlcore.plot import search_scores
    >>> from mlcore.svm import SVCCV
    >>> search = SVCCV(Cs=(0.1, 1, 10), gammas=(0.01, 0.1), cv=3).fit(*load_iris())
    >>> search_scores(search).artists_["scores"].get_array().shape
    (2, 3)
    """
    names, values, mean, deviation, label, lower = _table(search)
    best = int(np.nanargmin(mean) if lower else np.nanargmax(mean))
    figure, ax = new_axes(ax)
    if len(names) == 1:
        scores, mark = _line(ax, names[0], values[0], mean, deviation, best, label)
    else:
        scores, mark = _cells(figure, ax, names, values, mean, best, label, lower)
    return Picture(figure, ax, {"scores": scores, "best": mark})


def _line(ax, name, values, mean, deviation, best, label):
    numbers = np.array([isinstance(value, (int, float, np.number)) for value in values])
    if numbers.all():
        order = np.argsort(values.astype(float), kind="stable")
        places = values.astype(float)[order]
        if places[0] > 0 and places[-1] > 10 * places[0]:
            ax.set_xscale("log")
    else:
        order, places = np.arange(len(values)), np.arange(len(values))
        ax.set_xticks(places, [str(value) for value in values])
    errors = None if deviation is None else deviation[order]
    scores = ax.errorbar(
        places, mean[order], errors, color=color(0), marker="o", markersize=4, capsize=3
    )
    at = np.flatnonzero(order == best)
    (mark,) = ax.plot(places[at], mean[[best]], "s", color=color(5), markersize=9, fillstyle="none")
    ax.set(xlabel=name, ylabel=label)
    return scores, mark


def _cells(figure, ax, names, values, mean, best, label, lower):
    kinds, codes = zip(*(_sorted_codes(column) for column in values), strict=True)
    table = np.full([len(kind) for kind in kinds], np.nan)
    table[codes] = mean
    # Errors: beside the largest the least would have one color.
    norm = "log" if lower and 0 < _DECADE * np.nanmin(table) < np.nanmax(table) else "linear"
    scores = ax.imshow(table, cmap="cividis", aspect="auto", origin="lower", norm=norm)
    figure.colorbar(scores, ax=ax, label=label)
    place = (codes[1][best], codes[0][best])
    (mark,) = ax.plot(*place, "s", color=color(5), fillstyle="none", markeredgewidth=2)
    ax.set(ylabel=names[0], xlabel=names[1])
    for axis, kind in ((ax.yaxis, kinds[0]), (ax.xaxis, kinds[1])):
        thin_labels(axis, np.arange(len(kind)), [_shown(value) for value in kind])
    # The mark and the numbers are as large as the cells allow.
    (left, bottom), (right, top) = ax.transData.transform([(0, 0), (1, 1)])
    width, height = right - left, top - bottom
    mark.set_markersize(min(60, 0.9 * min(width, height) * 72 / figure.dpi))
    if table.size <= _CELLS:
        number_cells(ax, scores)
    return scores, mark


def _shown(value):
    return f"{value:.3g}" if isinstance(value, (float, np.floating)) else str(value)


def _sorted_codes(column):
    """Return the different values, numbers sorted, and the place of each entry among them."""
    kinds = list(dict.fromkeys(column.tolist()))
    if all(isinstance(kind, (int, float)) for kind in kinds):
        kinds.sort()
    return kinds, np.array([kinds.index(value) for value in column.tolist()])


def _table(search):
    """Return parameters, their values, mean and deviation of the scores, label, less is better."""
    criterion = getattr(search, "criterion_values_", None)
    if criterion is not None:
        criterion = np.asarray(criterion)
        if criterion.ndim == 3:
            criterion = criterion.mean(axis=2)
        gammas, label = np.asarray(search.gammas_), _CRITERIA[search.criterion]
        if search.alphas is None:  # the best of all alphas for each gamma
            return ["gamma"], [gammas], criterion[:, 0], None, label, True
        alphas = np.asarray(search.alphas, dtype=np.float64)
        if len(gammas) == 1:
            return ["alpha"], [alphas], criterion[0], None, label, True
        grid = [np.repeat(gammas, len(alphas)), np.tile(alphas, len(gammas))]
        return ["gamma", "alpha"], grid, criterion.ravel(), None, label, True
    results = getattr(search, "cv_results_", None)
    if results is None:
        refuse("search", search, "a fitted search with cv_results_ or criterion_values_")
    columns = {
        name.removeprefix("param_"): np.asarray(values, dtype=object)
        for name, values in results.items()
        if name.startswith("param_")
    }
    columns = {name: values for name, values in columns.items() if len({*map(repr, values)}) > 1}
    if not 1 <= len(columns) <= 2:
        refuse("search", sorted(columns), "one or two parameters of several values")
    names = sorted(columns, reverse=True)
    # Of several scores the one that chose, or the first.
    scores = [name.removeprefix("mean_test_") for name in results if name.startswith("mean_test_")]
    refit = getattr(search, "refit", None)
    score = refit if isinstance(refit, str) and refit in scores else scores[0]
    mean, deviation = (np.asarray(results[f"{kind}_test_{score}"]) for kind in ("mean", "std"))
    return names, [columns[name] for name in names], mean, deviation, f"mean test {score}", False
