"""Course of a fit step by step, with the proven distance to its optimum; fits by their starts."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mlcore.checks import as_integer
from mlcore.checks.parameters import refuse
from mlcore.plot.picture import MARKERS, Picture, color, new_axes

_TRACES = {
    "log_likelihood_trace_": "log-likelihood",  # of mixtures, which name it objective_trace_, too
    "objective_trace_": "objective",
    "mistake_trace_": "mistakes in the epoch",
    "residual_trace": "largest deviation from the sums asked for",
}


def objective_trace(model: Any, *, label: str | None = None, ax: Any = None) -> Picture:
    """Draw the objective, log-likelihood, mistakes or residual of each step of a fit.

    A dashed line is what the optimum is proved not to be beyond, where the fit has a duality gap:
    the objective less this gap.

    Parameters
    ----------
    model : fitted model, or result
        With one of ``objective_trace_``, ``log_likelihood_trace_``, ``mistake_trace_``,
        ``residual_trace``.
    label : str, optional
        Name in the legend, by default that of the class.
    ax : matplotlib Axes, optional
        By default new ones; the same for several models compares them.

    Returns
    -------
    picture : Picture
        Artists "trace", and "bound" where there is one.

    Raises
    ------
    ValueError
        If the model has no trace.

    Examples
    --------
    >>> from mlcore.cluster import KMeans
    >>> from mlcore.plot import objective_trace
    >>> model = KMeans(2, random_state=0).fit([[0.0], [1.0], [8.0], [9.0]])
    >>> float(objective_trace(model).artists_["trace"].get_ydata()[-1])
    1.0
    """
    name = next((name for name in _TRACES if hasattr(model, name)), None)
    if name is None:
        refuse("model", model, f"a fitted model with one of {', '.join(_TRACES)}")
    values = np.asarray(getattr(model, name), dtype=np.float64)
    figure, ax = new_axes(ax)
    number = len(ax.get_lines())
    shade = color(number)
    label = type(model).__name__ if label is None else label
    marker = MARKERS[number % len(MARKERS)]
    (line,) = ax.plot(
        np.arange(len(values)), values, color=shade, marker=marker, markersize=3.5, label=label
    )
    artists: dict[str, Any] = {"trace": line}
    bound = _bound(model, values) if name == "objective_trace_" else None
    if bound is not None:
        text = f"{label}: bound on the optimum ({abs(values[-1] - bound):.2g} away)"
        artists["bound"] = ax.axhline(bound, color=shade, linestyle="--", linewidth=1, label=text)
    if name == "residual_trace":
        ax.set_yscale("log")
    ax.set(xlabel="step", ylabel=_TRACES[name])
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend(fontsize="small")
    return Picture(figure, ax, artists)


def _bound(model, values):
    """Return what the fit proves the optimum not to be beyond, in the unit of its trace."""
    gap = getattr(model, "duality_gap_", None)
    if gap is not None and np.ndim(gap) == 0 and np.isfinite(gap):
        return float(values[-1] - gap)
    return None


def start_quality(
    models: Mapping[str, Any], X: Any, *, n_starts: int = 20, ax: Any = None
) -> Picture:
    """Draw how far fits from different random starts end above the best of them all.

    Each model is fitted `n_starts` times, with ``random_state`` 0, 1, ...; the final objectives are
    sorted. A curve at 0 from left to right is a start that never misleads.

    Parameters
    ----------
    models : dict of str to model
        Unfitted models by name, of the same objective and of any library: with ``random_state``,
        and after a fit ``inertia_``, ``objective_trace_``, ``log_likelihood_trace_`` or
        ``lower_bound_``. The models themselves stay as they are.
    X : array-like of shape (n_samples, n_features)
        Samples, or what else the models' `fit` takes.
    n_starts : int, default=20
    ax : matplotlib Axes, optional
        By default new ones.

    Returns
    -------
    picture : Picture
        Artists "curves", one for each model: the excess over the best objective, relative to it
        (for log-likelihoods the difference), in percent (in nats).

    Raises
    ------
    TypeError, ValueError
        If `models` is empty or one has no objective.

    Examples
    --------
    >>> from mlcore.cluster import KMeans
    >>> from mlcore.plot import start_quality
    >>> models = {name: KMeans(2, init=name, n_init=1) for name in ("k-means++", "random")}
    >>> picture = start_quality(models, [[0.0], [1.0], [8.0], [9.0]], n_starts=3)
    >>> [len(curve.get_ydata()) for curve in picture.artists_["curves"]]
    [3, 3]
    """
    n_starts = as_integer(n_starts, "n_starts", at_least=1)
    if not isinstance(models, Mapping) or not models:
        refuse("models", models, "a dict of at least one model by its name")
    # Fits of all starts.
    ends_of, likelihood = {}, False
    for name, model in models.items():
        ends = []
        for seed in range(n_starts):
            parameters = {**model.get_params(deep=False), "random_state": seed}
            end, likelihood = _end(type(model)(**parameters).fit(X))
            ends.append(end)
        ends_of[name] = np.sort(ends)
    best = min(ends[0] for ends in ends_of.values())
    scale = 1.0 if likelihood else max(abs(best), np.finfo(float).tiny) / 100
    figure, ax = new_axes(ax)
    curves = [
        ax.plot(
            np.arange(1, n_starts + 1),
            (ends - best) / scale,
            color=color(number),
            marker=MARKERS[number % len(MARKERS)],
            markersize=4,
            label=name,
        )[0]
        for number, (name, ends) in enumerate(ends_of.items())
    ]
    ax.set(
        xlabel="start, from the best to the worst",
        ylabel="log-likelihood below the best" if likelihood else "% above the best objective",
    )
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend(fontsize="small")
    return Picture(figure, ax, {"curves": curves})


def _end(model):
    """Return the final objective, the less the better, and whether it is a log-likelihood."""
    for name in ("log_likelihood_trace_", "lower_bound_"):
        if hasattr(model, name):
            return -float(np.ravel(getattr(model, name))[-1]), True
    for name in ("inertia_", "objective_trace_"):
        if hasattr(model, name):
            return float(np.ravel(getattr(model, name))[-1]), False
    refuse("models", model, "models that have an objective after a fit")
