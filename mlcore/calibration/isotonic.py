"""Isotonic regression of labels on scores, by pooling adjacent violators."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression

from mlcore.calibration.calibrator import Calibrator, sums_by_score


@dataclass(frozen=True)
class IsotonicLink:
    """Increasing probabilities `values` at the knots, linear between them and constant outside."""

    knots: np.ndarray
    values: np.ndarray

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Return the probabilities of scores (m,)."""
        knots, values = self.knots, self.values
        right = np.clip(np.searchsorted(knots, scores), 1, max(len(knots) - 1, 1))
        right = np.minimum(right, len(knots) - 1)
        left = np.maximum(right - 1, 0)
        # Quarters of the scores, whose differences do not overflow.
        with np.errstate(under="ignore"):
            step = knots[right] / 4 - knots[left] / 4
            share = (scores / 4 - knots[left] / 4) / np.where(step > 0, step, 1)
        share = np.where(step > 0, np.clip(share, 0, 1), scores >= knots[right])
        rise = values[right] - values[left]
        return np.clip(values[left] + share * rise, values[left], values[right])


class IsotonicCalibrator(Calibrator):
    """Calibrates by the increasing function of the scores that is nearest to the labels.

    Minimises ``sum_i w_i (y_i - p(s_i))²`` over all increasing functions p: exactly, by pooling
    adjacent violators. Between the scores seen p is linear, outside of them constant. It needs
    some hundred examples or more: with few it repeats their labels, and says 0 and 1.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    links_ : tuple of IsotonicLink
        The function of each class, one for two classes: `knots` and `values`.

    Notes
    -----
    O(n log n) time and O(n) memory for each class.

    References
    ----------
    M. Ayer, H. D. Brunk, G. M. Ewing, W. T. Reid, E. Silverman, *An empirical distribution function
    for sampling with incomplete information*, Annals of Mathematical Statistics 26, 1955.
    B. Zadrozny, C. Elkan, *Transforming classifier scores into accurate multiclass probability
    estimates*, Proceedings of KDD, 2002.

    Examples
    --------
    >>> from mlcore.calibration import IsotonicCalibrator
    >>> calibrator = IsotonicCalibrator().fit([-2, -1, 0, 1, 2], [0, 1, 0, 1, 1])
    >>> calibrator.predict_proba([-3, -0.5, 0.5])[:, 1].tolist()
    [0.0, 0.5, 0.75]
    """

    def _link(self, scores, positive, weight):
        knots, weights, positives = sums_by_score(scores, weight, weight * positive)
        means = np.clip(positives / weights, 0, 1)
        values = np.clip(isotonic_regression(means, weights=weights).x, 0, 1)
        # Knots inside of a constant stretch change nothing.
        inside = np.zeros(len(knots), bool)
        inside[1:-1] = (values[:-2] == values[1:-1]) & (values[1:-1] == values[2:])
        return IsotonicLink(knots[~inside], values[~inside])
