"""The result of every plot: figure, axes and what was drawn; the palette, and new axes."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mlcore.checks import as_samples
from mlcore.checks.parameters import refuse

# M. Okabe, K. Ito, Color Universal Design, 2008, ordered so that neighbours differ in lightness.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
MARKERS = "o^sDvPX*"
GREY = "#777777"


@dataclass(frozen=True)
class Picture:
    """Result of a plot: the figure, its axes and the artists on them.

    Parameters
    ----------
    figure_ : matplotlib.figure.Figure
    ax_ : matplotlib.axes.Axes or ndarray of Axes
        Several where the picture has panels.
    artists_ : dict of str to Any
        The lines, collections and texts drawn, by what they show, for changes afterwards.

    Examples
    --------
    >>> from mlcore.plot import bound_curves
    >>> picture = bound_curves({"one over m": lambda m: 1 / m}, [10, 100])
    >>> sorted(picture.artists_)
    ['curves', 'vacuous']
    """

    figure_: Any
    ax_: Any
    artists_: Mapping[str, Any] = field(default_factory=dict, repr=False)


def new_axes(ax: Any, rows: int = 1, columns: int = 1, size: tuple[float, float] = (6, 4)) -> Any:
    """Return figure and axes: those given, or new ones, an array of them for several panels."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "mlcore.plot draws with matplotlib, which cannot be imported: "
            'python -m pip install "mlcore[plot]".'
        ) from error
    if ax is None:
        return pyplot.subplots(
            rows, columns, figsize=size, layout="constrained", squeeze=rows * columns == 1
        )
    if rows * columns == 1:
        if not hasattr(ax, "plot"):
            refuse("ax", ax, "None or the axes to draw on")
        return ax.figure, ax
    panels = np.asarray(ax, dtype=object)
    if panels.size != rows * columns:
        refuse("ax", ax, f"None or {rows * columns} axes")
    return panels.flat[0].figure, panels.reshape(rows, columns)


def color(number: int) -> str:
    """Return the palette's color of a class, cluster or curve; after eight they repeat."""
    return COLORS[number % len(COLORS)]


def light(shade: str) -> tuple[float, ...]:
    """Return the color mixed with three times as much white, for areas behind samples."""
    from matplotlib.colors import to_rgb

    return tuple(0.25 * value + 0.75 for value in to_rgb(shade))


def plane_samples(X: Any) -> np.ndarray:
    """Return samples of two features; ValueError for any other number of them."""
    X = as_samples(X)
    if X.shape[1] != 2:
        refuse("X", f"{X.shape[1]} features", "samples of 2 features, which span the picture")
    return X


def asked(method: Callable[[Any], Any], points: np.ndarray, X: Any) -> np.ndarray:
    """Return what a model's method says of points in the plane of the samples `X`.

    Where `X` is a table, points are one with its columns: models may know them by their names.
    """
    columns = getattr(X, "columns", None)
    if hasattr(X, "column_names"):  # of Arrow
        points = type(X).from_arrays(list(points.T), names=X.column_names)
    elif columns is not None:
        named = {"columns": columns} if hasattr(X, "iloc") else {"schema": list(columns)}
        points = type(X)(points, **named)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return np.asarray(method(points))


def feature_names(model: Any, n_features: int, X: Any = None) -> list[str]:
    """Return the names of the features of a fitted model, or of the table X, or numbered ones."""
    names = getattr(model, "feature_names_in_", None)
    for name in ("column_names", "columns"):
        names = getattr(X, name, None) if names is None else names
    if names is None or len(names) != n_features:
        return [f"feature {j}" for j in range(n_features)]
    return [str(name) for name in names]


def legend_beside(ax: Any, **options: Any) -> Any:
    """Draw the legend to the right of the axes, where it hides nothing."""
    return ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small", **options)
