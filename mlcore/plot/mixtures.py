"""Mixtures of Gaussians in a plane: ellipses of the components, samples in mixed colours."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlcore.checks import as_integer
from mlcore.checks.parameters import refuse
from mlcore.plot.picture import (
    Picture,
    asked,
    color,
    name_axes,
    names_of_features,
    new_axes,
    plane_samples,
)


def mixture_ellipses(
    model: Any,
    X: Any,
    *,
    n_std: int = 2,
    feature_names: Sequence[str] | None = None,
    ax: Any = None,
) -> Picture:
    """Draw a mixture of Gaussians: ellipses of equal density, samples by their responsibilities.

    The color of a sample is the mean of the components' colors, weighted by the probabilities
    that it came from them.

    Parameters
    ----------
    model : fitted GaussianMixture of mlcore or scikit-learn
        On two features.
    X : array-like of shape (n_samples, 2)
    n_std : int, default=2
        An ellipse at each whole number of standard deviations up to this one.
    feature_names : sequence of str of length 2, optional
        By default those of the model or of the table `X`.
    ax : matplotlib Axes, optional
        By default new ones.

    Returns
    -------
    picture : Picture
        Artists "samples", "ellipses" (component by component, from the inside) and "means".

    Raises
    ------
    TypeError, ValueError
        For samples of other than two features, and a model without covariances.

    Examples
    --------
    >>> from mlcore.mixture import GaussianMixture
    >>> from mlcore.plot import mixture_ellipses
    >>> X = [[0.0, 0.0], [1.0, 0.2], [0.3, 1.0], [9.0, 9.0], [8.0, 9.2], [8.4, 7.9]]
    >>> picture = mixture_ellipses(GaussianMixture(2, random_state=0).fit(X), X)
    >>> len(picture.artists_["ellipses"])
    4
    """
    original, X = X, plane_samples(X)
    n_std = as_integer(n_std, "n_std", at_least=1)
    if not hasattr(model, "covariances_"):
        refuse("model", model, "a fitted GaussianMixture")
    figure, ax = new_axes(ax)

    from matplotlib.colors import to_rgb
    from matplotlib.patches import Ellipse

    means = np.asarray(model.means_)
    shades = np.array([to_rgb(color(k)) for k in range(len(means))])
    probabilities = asked(model.predict_proba, X, original)
    samples = ax.scatter(*X.T, s=14, c=np.clip(probabilities @ shades, 0, 1))
    ellipses = []
    for k, (mean, covariance) in enumerate(zip(means, _covariances(model), strict=True)):
        variances, axes = np.linalg.eigh(covariance)
        angle = np.degrees(np.arctan2(axes[1, 1], axes[0, 1]))
        for n in range(1, n_std + 1):
            height, width = 2 * n * np.sqrt(np.maximum(variances, 0))
            line = Ellipse(mean, width, height, angle=angle, fill=False, linewidth=1.8 / n)
            line.set_edgecolor(color(k))
            ellipses.append(ax.add_patch(line))
    marks = ax.scatter(*means.T, s=60, marker="+", color="black", linewidths=1.2)
    name_axes(ax, *names_of_features(model, 2, original, feature_names))
    ax.autoscale_view()
    return Picture(figure, ax, {"samples": samples, "ellipses": ellipses, "means": marks})


def _covariances(model):
    """Return the covariance matrices (n_components, 2, 2), whatever form the model keeps."""
    values, n = np.asarray(model.covariances_, dtype=np.float64), len(model.means_)
    kind = getattr(model, "covariance_type_", None) or model.covariance_type
    if values.ndim == 3:
        return values
    if kind == "tied":
        return np.broadcast_to(values, (n, 2, 2))
    variances = values if kind == "diag" else np.repeat(values[:, None], 2, axis=1)
    return variances[:, :, None] * np.eye(2)
