"""Projections as pictures: samples and features in a plane, and samples made from few numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlcore.checks import as_integer, as_labels, as_samples
from mlcore.checks.parameters import refuse
from mlcore.plot.picture import (
    MARKERS,
    Picture,
    color,
    lay_out,
    legend_beside,
    names_of_features,
    new_axes,
)

_ROUNDS = 100  # of moving names apart


def biplot(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    n_arrows: int = 8,
    feature_names: Sequence[str] | None = None,
    ax: Any = None,
) -> Picture:
    """Draw samples in the plane of two components, and the features that point along it.

    Parameters
    ----------
    model : fitted PCA, of mlcore or scikit-learn
        With ``components_`` of shape (n_components, n_features), at least two.
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,), optional
        Labels, for colors.
    n_arrows : int, default=8
        Features with the longest arrows are drawn.
    feature_names : sequence of str of length n_features, optional
        By default those of the model or of the table `X`.
    ax : matplotlib Axes, optional
        By default new ones.

    Returns
    -------
    picture : Picture
        Artists "samples" (one a class), "arrows" and "names". An arrow is the feature's loading,
        all of them scaled by one number so that the longest spans the samples.

    Raises
    ------
    TypeError, ValueError
        For a model of fewer than two components.

    References
    ----------
    K. R. Gabriel, *The biplot graphic display of matrices with application to principal component
    analysis*, Biometrika 58, 1971.

    Examples
    --------
    >>> from mlcore.decomposition import PCA
    >>> from mlcore.plot import biplot
    >>> X = [[0.0, 0.0, 1.0], [1.0, 1.2, 0.0], [2.0, 1.9, 1.0], [3.0, 3.1, 0.0]]
    >>> len(biplot(PCA(2).fit(X), X).artists_["arrows"])
    3
    """
    components = np.asarray(getattr(model, "components_", np.empty((0, 0))))
    if len(components) < 2:
        refuse("model", model, "a fitted model with at least two rows in components_")
    n_arrows = as_integer(n_arrows, "n_arrows", at_least=0)
    scores = np.asarray(model.transform(X))[:, :2]
    codes, classes = np.zeros(len(scores), dtype=np.intp), np.array([None])
    if y is not None:
        classes, codes = as_labels(y, len(scores))
    figure, ax = new_axes(ax, size=(6, 5))
    samples = [
        ax.scatter(
            *scores[codes == code].T,
            s=14,
            color=color(code),
            marker=MARKERS[code % len(MARKERS)],
            alpha=0.7,
            label=None if y is None else str(name),
        )
        for code, name in enumerate(classes)
    ]
    # Arrows of the longest loadings, in units of the scores.
    names = names_of_features(model, components.shape[1], X, feature_names)
    loadings = (components[:2] * np.sqrt(model.explained_variance_[:2, None])).T
    lengths = np.hypot(*loadings.T)
    chosen = np.argsort(-lengths, kind="stable")[:n_arrows]
    scale = np.abs(scores).max() / max(float(lengths.max()), np.finfo(float).tiny)
    arrows, texts = [], []
    for j in chosen:
        end = scale * loadings[j]
        style = {"arrowstyle": "->", "color": "black", "linewidth": 0.9}
        arrows.append(ax.annotate("", xy=end, xytext=(0, 0), arrowprops=style))
        side = "left" if end[0] >= 0 else "right"
        texts.append(ax.text(*(1.03 * end), names[j], fontsize="small", ha=side, va="center"))
        texts[-1].set_bbox({"facecolor": "white", "alpha": 0.7, "linewidth": 0, "pad": 0.5})
    ax.axhline(0, color="0.8", linewidth=0.6, zorder=0)
    ax.axvline(0, color="0.8", linewidth=0.6, zorder=0)
    share = getattr(model, "explained_variance_ratio_", [np.nan, np.nan])
    ax.set(xlabel=f"component 1 ({share[0]:.1%})", ylabel=f"component 2 ({share[1]:.1%})")
    ax.margins(0.12)
    if len(chosen) < len(names):
        title = f"the {len(chosen)} longest of {len(names)} features"
        ax.set_title(title, fontsize="small", loc="left")
    if y is not None:
        legend_beside(ax)
    _part(ax, texts)
    return Picture(figure, ax, {"samples": samples, "arrows": arrows, "names": texts})


def _part(ax, texts):
    """Move texts up or down, as little as needed, until no two overlap."""
    lay_out(ax)
    boxes = [text.get_window_extent() for text in texts]
    middles = np.array([(box.y0 + box.y1) / 2 for box in boxes])
    heights = np.array([box.height for box in boxes])
    for _ in range(_ROUNDS):
        moved = False
        for i in range(len(boxes)):
            for j in range(i):
                near = heights[[i, j]].mean() - abs(middles[i] - middles[j])
                beside = boxes[i].x0 > boxes[j].x1 or boxes[j].x0 > boxes[i].x1
                if near > 0.5 and not beside:
                    up = 1 if middles[i] >= middles[j] else -1
                    middles[[i, j]] += up * near / 2, -up * near / 2
                    moved = True
        if not moved:
            break
    to_data = ax.transData.inverted()
    for text, box, middle in zip(texts, boxes, middles, strict=True):
        shift = ax.transData.transform(text.get_position()) + (0, middle - (box.y0 + box.y1) / 2)
        text.set_position(to_data.transform(shift))
    corners = [(x, y) for box, y in zip(boxes, middles, strict=True) for x in box.intervalx]
    if corners:  # names are inside of the axes
        low, high = ax.get_xlim()
        reach = 1.1 * to_data.transform(corners)[:, 0]
        ax.set_xlim(min(low, reach.min()), max(high, reach.max()))


def reconstructions(
    model: Any,
    X: Any,
    shape: tuple[int, int],
    *,
    counts: Sequence[int] = (1, 4, 16),
    ax: Any = None,
) -> Picture:
    """Draw images beside what the first few components make of them.

    Parameters
    ----------
    model : fitted PCA or KernelPCA, of mlcore or scikit-learn
        With `transform` and `inverse_transform`.
    X : array-like of shape (n_images, n_features)
        A row of the picture for each.
    shape : (int, int)
        Height and width of an image, in pixels; their product is n_features.
    counts : sequence of int, default=(1, 4, 16)
        Numbers of components; those beyond the model's are left out. The last column has all.
    ax : array of matplotlib Axes, optional
        n_images rows and a column more than counts, with all; by default new ones.

    Returns
    -------
    picture : Picture
        Artists "images", one for each panel in order of rows; titles give the root of the mean
        squared error of a pixel.

    Raises
    ------
    TypeError, ValueError
        For a shape that does not fit.

    Examples
    --------
    >>> from mlcore.datasets import load_digits
    >>> from mlcore.decomposition import PCA
    >>> from mlcore.plot import reconstructions
    >>> X, _ = load_digits()
    >>> len(reconstructions(PCA(20).fit(X), X[:2], (8, 8)).artists_["images"])
    10
    """
    X = as_samples(X)
    if len(shape) != 2 or shape[0] * shape[1] != X.shape[1]:
        refuse("shape", shape, f"height and width with the product {X.shape[1]}")
    scores = np.asarray(model.transform(X))
    most = scores.shape[1]
    steps = [n for n in (as_integer(n, "counts", at_least=0) for n in counts) if n < most]
    steps.append(most)
    columns = len(steps) + 1
    figure, axes = new_axes(ax, len(X), columns, (1.5 * columns, 1.75 * len(X)))
    images = []
    for column in range(columns):
        made, title = X, "original"
        if column:
            kept = np.where(np.arange(most) < steps[column - 1], scores, 0)
            made = np.asarray(model.inverse_transform(kept.astype(scores.dtype)))
            error = np.sqrt(((made - X) ** 2).mean())
            title = f"components: {steps[column - 1]}\nerror {error:.2g}"
        for row in range(len(X)):
            panel = axes[row, column]
            low, high = X[row].min(), X[row].max()
            image = made[row].reshape(shape)
            images.append(panel.imshow(image, cmap="gray_r", vmin=low, vmax=high))
            panel.set(xticks=[], yticks=[])
        axes[0, column].set_title(title, fontsize="small")
    by_rows = [images[column * len(X) + row] for row in range(len(X)) for column in range(columns)]
    return Picture(figure, axes, {"images": by_rows})
