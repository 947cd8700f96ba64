"""Functional and geometric margins of labelled samples."""

from typing import Any

import numpy as np


class WithMargins:
    """Mixin of classifiers: the margins of labelled samples."""

    def functional_margins(self, X: Any, y: Any) -> np.ndarray:
        """Return y f(x): negative if misclassified, below 1 if inside the margin.

        With several classes, the least over the binary problems that the sample's class is in.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Members of ``classes_``.

        Returns
        -------
        margins : (n_samples,) float64
            In units of the margin.

        Raises
        ------
        ValueError
            If `y` has a label that the fit did not see.
        """
        return self._least_margins(X, y, 1.0)

    def geometric_margins(self, X: Any, y: Any) -> np.ndarray:
        """Return y f(x) / |w|, the signed distances from the boundary in feature space.

        As `functional_margins`, each binary problem divided by its |w|.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        margins : (n_samples,) float64
            Negative if misclassified.
        """
        self._check_fitted()
        return self._least_margins(X, y, 0.5 * np.atleast_1d(self.margin_))

    def _least_margins(self, X, y, scale):
        X = self._checked_later(X)
        codes = self._known_codes(y, X.shape[0])
        signs = np.stack([task.signs(codes) for task in self._tasks()], axis=1)
        margins = np.where(signs != 0, signs * self._decisions(X) * scale, np.inf)
        return margins.min(axis=1)
