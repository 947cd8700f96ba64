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


def names_of_features(model: Any, n_features: int, X: Any, given: Any) -> list[str]:
    """Return the names given, or of a fitted model, or of the table X, or numbered ones."""
    if given is not None:
        if len(given) != n_features:
            refuse("feature_names", given, f"{n_features} names, one for each feature")
        return [str(name) for name in given]
    names = getattr(model, "feature_names_in_", None)
    for name in ("column_names", "columns"):
        names = getattr(X, name, None) if names is None else names
    if names is None or len(names) != n_features:
        return [f"feature {j}" for j in range(n_features)]
    return [str(name) for name in names]


def name_axes(ax: Any, x: str, y: str) -> None:
    """Name the axes of a panel; where they are shared, the outer panels have the names."""
    if ax.xaxis.get_tick_params()["labelbottom"]:
        ax.set_xlabel(x)
    if ax.yaxis.get_tick_params()["labelleft"]:
        ax.set_ylabel(y)


def lay_out(artist: Any) -> None:
    """Give all texts of an artist's figure their places; it may be a figure within a figure."""
    artist.get_figure().canvas.figure.draw_without_rendering()


def thin_labels(axis: Any, places: Any, names: list[str]) -> None:
    """Label the places along an axis: all, or every second, third, ... until none overlap."""
    axis.set_ticks(places, names)
    lay_out(axis)
    boxes = [label.get_window_extent() for label in axis.get_ticklabels()]
    ends = np.array([box.intervalx if axis.axis_name == "x" else box.intervaly for box in boxes])
    for step in range(1, len(ends) + 1):
        shown = np.sort(ends[::step], axis=0)
        if (shown[1:, 0] > shown[:-1, 1] + 1).all():
            axis.set_ticks(places[::step], names[::step])
            return


def number_cells(ax: Any, image: Any) -> None:
    """Write the values of an image into its cells, if all of them have room."""
    (left, bottom), (right, top) = ax.transData.transform([(0, 0), (1, 1)])
    style = {"ha": "center", "va": "center", "fontsize": "small"}
    texts = [
        ax.text(
            column, row, f"{value:.3g}", color="white" if image.norm(value) < 0.5 else "black",
            **style,
        )
        for (row, column), value in np.ndenumerate(np.ma.filled(image.get_array(), np.nan))
        if np.isfinite(value)
    ]  # fmt: skip
    boxes = [text.get_window_extent() for text in texts]
    wide = max(box.width for box in boxes) > 0.9 * abs(right - left)
    if wide or max(box.height for box in boxes) > 0.8 * abs(top - bottom):
        for text in texts:
            text.remove()


def legend_beside(ax: Any, **options: Any) -> Any:
    """Draw the legend to the right of the axes, where it hides nothing."""
    return ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small", **options)
