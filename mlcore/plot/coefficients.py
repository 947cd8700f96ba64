"""Coefficients of linear models: along a path of penalties, and with their intervals."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mlcore.checks import as_bool, as_integer, as_real
from mlcore.checks.parameters import refuse
from mlcore.plot.picture import (
    COLORS,
    GREY,
    Picture,
    color,
    legend_beside,
    names_of_features,
    new_axes,
    thin_labels,
)

_SAME = 1e-9  # relative: of a chosen penalty and that of the path


class _Path(NamedTuple):
    """Penalties (m,), ascending, coefficients (m, d), and the penalty that was chosen, or None."""

    name: str
    penalties: np.ndarray
    coef: np.ndarray
    chosen: float | None


def penalty_path(
    path: Any,
    *,
    chosen: Any = None,
    target: int | None = None,
    feature_names: Sequence[Any] | None = None,
    n_names: int = 8,
    ax: Any = None,
) -> Picture:
    """Draw the coefficients of a linear model along its penalties, and mark the one chosen.

    The largest coefficients at the chosen penalty have colors and names, others are grey; without
    a choice, the largest at any penalty.

    Parameters
    ----------
    path : PenaltyPath, LogisticPath, LinearPath, CostPath, or fitted LogisticRegressionCV
        What `path` of a linear model returns. A search has means over its folds, at the share of
        absolute values that it chose.
    chosen : float or fitted model, optional
        The penalty to mark: a number within the path, or that of a fitted search, ``alpha_`` or
        ``C_``. By default what a search chose, or in a `LinearPath` the least ``gcv``.
    target : int, optional
        Number of the target or class, where there are several.
    feature_names : sequence of str, optional
        By default those of a fitted model, or numbers.
    n_names : int, default=8
        Largest number of named features, at most 8.
    ax : matplotlib Axes, optional
        By default new ones.

    Returns
    -------
    picture : Picture
        Artists "coefficients", one line for each feature, and "chosen" where there is one.

    Raises
    ------
    TypeError, ValueError
        For what is no path of two penalties at least, penalties of 0 or infinity, which have no
        place on the axis, and a choice outside of the path.

    Examples
    --------
    >>> from mlcore.linear_model import Lasso
    >>> from mlcore.plot import penalty_path
    >>> path = Lasso().path([[0.0], [1.0], [2.0]], [0.0, 1.0, 3.0], alphas=[1.0, 0.5, 0.1])
    >>> picture = penalty_path(path, chosen=0.5)
    >>> picture.artists_["coefficients"][0].get_ydata().round(6)
    array([1.35, 0.75, 0.  ])
    """
    n_names = as_integer(n_names, "n_names", at_least=0, at_most=len(COLORS))
    found = _as_path(path, chosen, target)
    names = names_of_features(
        path if hasattr(path, "coefs_paths_") else chosen, found.coef.shape[1], None, feature_names
    )
    place = None if found.chosen is None else _place(found)
    sizes = np.abs(found.coef).max(axis=0) if place is None else np.abs(found.coef[place])
    order = np.argsort(-sizes, kind="stable")
    named = [j for j in order[:n_names] if sizes[j] > 0]
    figure, ax = new_axes(ax, size=(7, 4))
    lines: list[Any] = [None] * len(names)
    for j in order[::-1]:  # the largest above the others
        style = {"color": GREY, "linewidth": 0.7, "alpha": 0.7}
        if j in named:
            rank = named.index(j)
            style = {
                "color": color(rank),
                "label": names[j],
                "linestyle": "-" if rank < 4 else "--",
            }
        (lines[j],) = ax.plot(found.penalties, found.coef[:, j], **style)
    artists: dict[str, Any] = {"coefficients": lines}
    ax.set_xscale("log")
    if found.chosen is not None:
        used = int(np.count_nonzero(found.coef[place]))
        text = f"chosen: {found.name} = {found.chosen:.3g}"
        if math.isclose(found.penalties[place], found.chosen) and used < len(names):
            text += f",\n{used} of {len(names)} not 0"
        artists["chosen"] = ax.axvline(found.chosen, color="black", linestyle=":", label=text)
    ax.set(xlabel=found.name, ylabel="coefficient")
    handles = [*(lines[j] for j in named), *([artists["chosen"]] if "chosen" in artists else [])]
    if handles:
        legend_beside(ax, handles=handles)
    return Picture(figure, ax, artists)


def _as_path(path, chosen, target):
    """Return the path of one target with its choice, penalties ascending."""
    name = next((name for name in ("alphas", "Cs") if hasattr(path, name)), None)
    if hasattr(path, "coefs_paths_"):  # folds, shares, penalties, classes, features and intercept
        share = int(np.flatnonzero(path.l1_ratios_ == path.l1_ratio_)[0])
        name, penalties = "C", path.Cs_
        coef = path.coefs_paths_[:, share, ..., :-1].astype(np.float64).mean(axis=0)
        coef = coef[:, 0] if coef.shape[1] == 1 else coef
    elif name is not None and hasattr(path, "coef"):
        penalties, coef, name = getattr(path, name), np.asarray(path.coef), name.removesuffix("s")
    else:
        refuse(
            "path",
            path,
            "what path(...) of a linear model returns, or a fitted LogisticRegressionCV; "
            "ElasticNetCV keeps no coefficients of other penalties: "
            "use penalty_path(ElasticNet(l1_ratio=search.l1_ratio_).path(X, y), chosen=search)",
        )
    several = coef.ndim == 3
    if several != (target is not None):
        what = f"a number below {coef.shape[1]}, of the target or class" if several else "None"
        refuse("target", target, f"{what}: the path has {coef.shape[1] if several else 1}")
    if several:
        target = as_integer(target, "target", at_least=0, at_most=coef.shape[1] - 1)
        coef = coef[:, target]
    penalties = np.asarray(penalties, dtype=np.float64)
    if len(penalties) < 2 or not ((penalties > 0) & (penalties < np.inf)).all():
        refuse("path", penalties, f"of two {name}s at least, all of them finite and above 0")
    number = _chosen(path, chosen, name, penalties, target)
    order = np.argsort(penalties, kind="stable")
    return _Path(name, penalties[order], coef[order], number)


def _chosen(path, chosen, name, penalties, target):
    """Return the penalty to mark, None if there is none."""
    if chosen is None and hasattr(path, "coefs_paths_"):
        return float(path.C_)
    if chosen is None and hasattr(path, "gcv"):
        return float(penalties[np.argmin(path.gcv if target is None else path.gcv[:, target])])
    if chosen is None:
        return None
    number = getattr(chosen, f"{name}_", chosen)
    if not isinstance(number, (int, float, np.number)):
        refuse("chosen", chosen, f"a number, or a fitted model that has {name}_")
    number = as_real(number, "chosen")
    low, high = penalties.min(), penalties.max()
    if not low * (1 - _SAME) <= number <= high * (1 + _SAME):
        refuse("chosen", number, f"within the path, from {low:.6g} to {high:.6g}")
    return float(number)


def _place(found):
    """Return the place of the penalty of the path that is nearest to the chosen one."""
    return int(np.argmin(np.abs(np.log(found.penalties / found.chosen))))


def coefficient_intervals(
    inference: Any,
    *,
    level: float = 0.95,
    intercept: bool = False,
    target: int | None = None,
    feature_names: Sequence[Any] | None = None,
    ax: Any = None,
) -> Picture:
    """Draw the coefficients of a regression with their confidence intervals.

    Full marks are coefficients whose interval does not hold 0, hollow ones may be 0. Each interval
    misses its coefficient with probability ``1 - level``; of many, some will.

    Parameters
    ----------
    inference : Inference
        What `inference` of a linear or logistic regression returns.
    level : float in (0, 1), default=0.95
    intercept : bool, default=False
        True to draw the intercept as well.
    target : int, optional
        Number of the target, or of the class after the first, where there are several.
    feature_names : sequence of str, optional
        By default the names of `inference`.
    ax : matplotlib Axes, optional
        By default new ones.

    Returns
    -------
    picture : Picture
        Artists "surely", "perhaps" (the marks of both kinds), "intervals" (the bars) and "zero".
        A coefficient that the data do not determine has no mark.

    Raises
    ------
    TypeError, ValueError
        For arguments out of range.

    Examples
    --------
    >>> from mlcore.datasets import load_iris
    >>> from mlcore.linear_model import LinearRegression
    >>> from mlcore.plot import coefficient_intervals
    >>> X, _ = load_iris()
    >>> picture = coefficient_intervals(LinearRegression().fit(X[:, :3], X[:, 3]).inference())
    >>> [len(picture.artists_[name].get_xdata()) for name in ("surely", "perhaps")]
    [3, 0]
    """
    level = as_real(level, "level", above=0, below=1)
    intercept = as_bool(intercept, "intercept")
    if not hasattr(inference, "confidence_interval"):
        refuse("inference", inference, "what inference() of a fitted regression returns")
    estimates, ends = np.asarray(inference.estimates), inference.confidence_interval(level)
    # Parameters of several classes are those of each but the first.
    several = len(estimates) if estimates.ndim == 2 else 1
    if (several > 1) != (target is not None):
        what = f"a number below {several}" if several > 1 else "None"
        refuse("target", target, f"{what}: there are coefficients of {several}")
    if estimates.ndim == 2:
        at = 0 if target is None else as_integer(target, "target", at_least=0, at_most=several - 1)
        estimates, ends = estimates[at], ends[at]
    has_intercept = inference.names[-1] == "intercept"
    n = len(inference.names) - has_intercept
    names = list(inference.names[:n])
    if feature_names is not None:
        names = names_of_features(None, n, None, feature_names)
    if intercept and has_intercept:
        names, n = [*names, "intercept"], n + 1
    estimates, (low, high) = estimates[:n], ends[:n].T
    known = np.isfinite(low) & np.isfinite(high)
    surely = known & ((low > 0) | (high < 0))
    names = [
        name if here else f"{name} (undetermined)" for name, here in zip(names, known, strict=True)
    ]

    figure, ax = new_axes(ax, size=(6, max(2.5, min(0.3 * n + 1, 8))))
    places = np.arange(n)
    zero = ax.axvline(0, color=GREY, linestyle="--", linewidth=1)
    bars = ax.hlines(places[known], low[known], high[known], color=color(0))
    (full,) = ax.plot(estimates[surely], places[surely], "o", color=color(0))
    (hollow,) = ax.plot(
        estimates[known & ~surely], places[known & ~surely], "o", color=color(0),
        markerfacecolor="white",
    )  # fmt: skip
    ax.set(xlabel=f"coefficient, with its {100 * level:.6g}% interval", ylim=(n - 0.5, -0.5))
    thin_labels(ax.yaxis, places, names)
    return Picture(figure, ax, {"surely": full, "perhaps": hollow, "intervals": bars, "zero": zero})
