"""Decision regions of a classifier in a plane, with margins, support vectors, margin errors."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlcore.checks import as_integer, as_labels
from mlcore.plot.picture import (
    MARKERS,
    Picture,
    asked,
    color,
    legend_beside,
    light,
    name_axes,
    names_of_features,
    new_axes,
    plane_samples,
)

_MANY = 60  # marks: of more, rings and crosses are thin, so that the samples show


def decision_regions(
    model: Any,
    X: Any,
    y: Any,
    *,
    resolution: int = 200,
    feature_names: Sequence[str] | None = None,
    ax: Any = None,
) -> Picture:
    """Draw the class that a classifier predicts at each point of a plane, and its samples.

    With two classes and a ``decision_function`` the boundary is drawn, and for support vector
    machines the margins f = -1 and 1. Circles mark support vectors, crosses margin errors: samples
    of `X` with y f(x) < 1 by more than ``tol``.

    Parameters
    ----------
    model : fitted classifier of any library
        On two features; only `predict` is needed.
    X : array-like of shape (n_samples, 2)
    y : array-like of shape (n_samples,)
        Labels of the samples.
    resolution : int, default=200
        Points along each axis at which the model predicts.
    feature_names : sequence of str of length 2, optional
        By default those of the model or of the table `X`.
    ax : matplotlib Axes, optional
        By default new ones.

    Returns
    -------
    picture : Picture
        Artists "regions", "samples" (one a class), and where they apply "boundary",
        "support_vectors", "margin_errors", "empty_regions" (of classes without samples).

    Raises
    ------
    TypeError, ValueError
        For samples of other than two features, labels of another number, or `resolution` below 2.

    Examples
    --------
    >>> from mlcore.plot import decision_regions
    >>> from mlcore.svm import SVC
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]], [0, 0, 1, 1]
    >>> picture = decision_regions(SVC(kernel="linear").fit(X, y), X, y)
    >>> len(picture.artists_["support_vectors"].get_offsets())
    2
    """
    original, X = X, plane_samples(X)
    classes, codes = as_labels(y, len(X))
    resolution = as_integer(resolution, "resolution", at_least=2)
    low, high = X.min(axis=0), X.max(axis=0)
    edge = 0.08 * np.where(high > low, high - low, 1.0)
    xs, ys = np.linspace(low - edge, high + edge, resolution).T
    points = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2).astype(X.dtype)
    named = asked(model.predict, points, original)
    # Regions of the classes, and the boundary of two.
    known = np.asarray(getattr(model, "classes_", classes))
    known = np.unique(np.concatenate([known, classes]))
    known = np.concatenate([known, np.setdiff1d(named, known)])  # actions such as to ask an expert
    order = np.argsort(known)

    def place(names):
        return order[np.searchsorted(known, names, sorter=order)]

    figure, ax = new_axes(ax)

    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Rectangle

    artists: dict[str, Any] = {
        "regions": ax.pcolormesh(
            xs,
            ys,
            place(named).reshape(resolution, resolution),
            cmap=ListedColormap([light(color(code)) for code in range(len(known))]),
            vmin=-0.5,
            vmax=len(known) - 0.5,
            shading="nearest",
            rasterized=True,
            zorder=0,
        )
    }
    support = getattr(model, "support_vectors_", None)
    if len(known) == 2 and hasattr(model, "decision_function"):
        values = asked(model.decision_function, points, original).reshape(resolution, resolution)
        levels = [0.0] if support is None else [-1.0, 0.0, 1.0]
        styles = ["-"] if support is None else ["--", "-", "--"]
        artists["boundary"] = ax.contour(
            xs, ys, values, levels=levels, linestyles=styles, colors="black", linewidths=1
        )
    # Samples, support vectors and margin errors.
    artists["samples"] = [
        ax.scatter(
            *X[codes == code].T,
            s=22,
            color=color(int(place(name))),
            marker=MARKERS[int(place(name)) % len(MARKERS)],
            edgecolors="white",
            linewidths=0.5,
            label=str(name),
        )
        for code, name in enumerate(classes)
    ]
    if support is not None:
        margins = _margins(model, original, X, y, codes, classes)
        artists |= _marks(ax, _dense(support), X, margins, getattr(model, "tol", 0))
    drawn = np.isin(known, named) & ~np.isin(known, classes)
    if drawn.any():
        artists["empty_regions"] = [
            ax.add_patch(Rectangle((0, 0), 0, 0, color=light(color(code)), label=str(known[code])))
            for code in np.flatnonzero(drawn)
        ]
    names = names_of_features(model, 2, original, feature_names)
    ax.set(xlim=xs[[0, -1]], ylim=ys[[0, -1]])
    name_axes(ax, *names)
    legend_beside(ax)
    return Picture(figure, ax, artists)


def _marks(ax, support, X, margins, tol):
    """Draw rings around support vectors, below the samples, and crosses on margin errors."""
    thin = len(support) > _MANY
    rings = ax.scatter(
        *support.T,
        s=46 if thin else 70,
        facecolors="none",
        edgecolors="black",
        linewidths=0.5 if thin else 0.9,
        alpha=0.6 if thin else 1.0,
        zorder=0.9,
        label="support vector",
    )
    if margins is None:
        return {"support_vectors": rings}
    crosses = ax.scatter(
        *X[margins < 1 - tol].T,
        s=7 if thin else 40,
        marker="x",
        color="black",
        linewidths=0.6 if thin else 1,
        label="margin error",
    )
    return {"support_vectors": rings, "margin_errors": crosses}


def _dense(rows):
    return rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)


def _margins(model, original, X, y, codes, classes):
    """Return y f(x) of the samples, None where the model does not tell."""
    if hasattr(model, "functional_margins"):
        return asked(lambda points: model.functional_margins(points, y), X, original)
    if len(classes) == 2 and len(getattr(model, "classes_", ())) == 2:
        return (2 * codes - 1) * asked(model.decision_function, X, original)
    return None
