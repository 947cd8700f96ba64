"""Intervals that hold a target with a wanted probability, from any regressor."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mlcore.bounds.arguments import as_reals, refuse
from mlcore.bounds.certificates.classifiers import Classifier
from mlcore.bounds.certificates.freshness import unsure_of
from mlcore.bounds.certificates.report import for_terminal
from mlcore.checks import as_labels, as_targets
from mlcore.conformal.threshold import ConformalThreshold, calibrated
from mlcore.estimator.tables import table

_ROUNDING = 1 + 4 * 2.0**-52  # of a score, and of its product with a scale


@dataclass(frozen=True)
class ConformalIntervals:
    """Calibrated intervals, made by `conformal_intervals`.

    Parameters
    ----------
    name : str
        Name of the regressor.
    predictions : callable
        Function of X that returns predictions and their scales, the latter None or one for each.
    threshold : ConformalThreshold
        Thresholds of the scores, with their guarantees.
    unsure : str or None
        Doubts whether the calibration examples are fresh.

    Examples
    --------
    >>> import numpy as np
    >>> from mlcore.conformal import conformal_intervals
    >>> intervals = conformal_intervals(np.zeros_like, np.zeros(9), np.arange(9.0), 0.8)
    >>> lower, upper = intervals.predict(np.zeros(1))
    >>> round(float(lower[0]), 9), round(float(upper[0]), 9)
    (-7.0, 7.0)
    """

    name: str
    predictions: Callable[[Any], tuple[np.ndarray, np.ndarray | None]]
    threshold: ConformalThreshold
    unsure: str | None = None

    def predict(self, X: Any, groups: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of the intervals.

        Parameters
        ----------
        X : array-like
            New examples.
        groups : array-like of shape (m,), optional
            Groups of the examples, if the calibration had groups.

        Returns
        -------
        lower, upper : float64 (m,)
            Rounded outwards; infinite where the calibration examples are too few.

        Raises
        ------
        ValueError
            For predictions that are not finite, scales that are not positive, and other groups.
        """
        predicted, scale = self.predictions(X)
        limits = self.threshold.of(groups)
        if limits.ndim and len(limits) != len(predicted):
            refuse("groups", groups, f"of {len(predicted)} examples")
        with np.errstate(over="ignore"):
            half = limits * _ROUNDING * (1.0 if scale is None else scale)
            lower, upper = predicted - half, predicted + half
        return np.nextafter(lower, -np.inf), np.nextafter(upper, np.inf)

    def _sentences(self):
        if self.unsure is not None:
            yield self.unsure
        yield f"Intervals around the predictions of {self.name}."

    def __repr__(self) -> str:
        return for_terminal(*self._sentences()) + "\n" + repr(self.threshold)

    def _repr_html_(self) -> str:
        return table({}, title=for_terminal(*self._sentences())) + self.threshold._repr_html_()


def conformal_intervals(
    regressor: Any,
    X: Any,
    y: Any,
    coverage: float = 0.9,
    *,
    delta: float | None = None,
    scale: Literal["std"] | Any = None,
    groups: Any = None,
) -> ConformalIntervals:
    r"""Calibrate intervals that hold the target with probability at least `coverage`.

    The score of an example is :math:`|y - f(x)|`, or :math:`|y - f(x)| / s(x)` with a scale s, and
    the interval :math:`f(x) \pm q s(x)`, q the threshold of `conformal_threshold`. With a scale,
    intervals are wide where the regressor is unsure; a wrong one makes them longer, and takes
    nothing from the coverage.

    Assumes that calibration and new examples are exchangeable (with `delta`, independent draws
    from one distribution), and that the calibration examples took no part in fitting or choosing
    the regressor or the scale.

    Parameters
    ----------
    regressor : object with `predict`, or function
        A fitted regressor of any library, or a function of X that returns predictions.
    X : array-like
        Calibration examples.
    y : array-like of shape (n,)
        Their targets.
    coverage : float in (0, 1), default=0.9
        Wanted probability that an interval holds the target.
    delta : float in (0, 1), optional
        Probability that this calibration set gives less than `coverage`; without it `coverage`
        holds on average over calibration sets.
    scale : {"std"}, object with `predict`, or function, optional
        Source of positive scales: the deviations of ``regressor.predict(X, return_std=True)``, a
        second regressor, or a function of X.
    groups : array-like of shape (n,), optional
        Groups of the examples, each calibrated by its own.

    Returns
    -------
    intervals : ConformalIntervals
        Its `predict` returns both ends; it prints as a table.

    Raises
    ------
    ValueError
        For arguments out of range, predictions that are not finite, scales that are not positive,
        and examples that the regressor was fitted to, as far as it keeps them.

    Warns
    -----
    UserWarning
        If the examples are too few for a finite threshold.

    References
    ----------
    J. Lei, M. G'Sell, A. Rinaldo, R. Tibshirani, L. Wasserman, *Distribution-free predictive
    inference for regression*, Journal of the American Statistical Association 113, 2018, sections
    2.2 (absolute) and 5.2 (scaled).

    Examples
    --------
    >>> import numpy as np
    >>> from mlcore.conformal import conformal_intervals
    >>> from mlcore.linear_model import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 2))
    >>> y = X @ [1, 2] + rng.normal(size=3000)
    >>> model = LinearRegression().fit(X[:1000], y[:1000])
    >>> intervals = conformal_intervals(model, X[1000:2000], y[1000:2000], 0.9)
    >>> lower, upper = intervals.predict(X[2000:])
    >>> bool(abs(((lower <= y[2000:]) & (y[2000:] <= upper)).mean() - 0.9) < 0.03)
    True
    """
    source = _source(regressor, "regressor")
    predictions = _predictions(source, scale)
    unsure = unsure_of(source, X, None, "calibration")
    predicted, scales = predictions(X)
    y = as_targets(y, len(predicted))
    codes, names = None, ("all",)
    if groups is not None:
        labels, codes = as_labels(groups, len(y), name="groups")
        names = tuple(labels.tolist())
    with np.errstate(over="ignore"):
        scores = np.abs(y - predicted)
        if scales is not None:
            scores /= scales
    return ConformalIntervals(
        source.name, predictions, calibrated(scores, codes, names, coverage, delta), unsure
    )


def _source(source, name):
    """Return a fitted regressor or a function under its name, or raise ValueError."""
    if not isinstance(source, type):
        if callable(getattr(source, "predict", None)):
            return Classifier(type(source).__name__, source, source.predict, None)
        if callable(source):
            return Classifier(
                getattr(source, "__name__", type(source).__name__), None, source, None
            )
    refuse(name, source, "a fitted regressor or a function of X that returns predictions")


def _predictions(source, scale):
    """Return the function of X that returns predictions and scales, (m,), the latter or None."""
    if isinstance(scale, str):
        if scale != "std" or source.model is None:
            allowed = '"std" for a regressor that predicts deviations, a regressor, or a function'
            refuse("scale", scale, allowed)

        def both(X):
            return source.predict(X, return_std=True)
    elif scale is None:

        def both(X):
            return source.predict(X), None
    else:
        scales = _source(scale, "scale").predict

        def both(X):
            return source.predict(X), scales(X)

    def checked(X):
        predicted, scales = both(X)
        predicted = _vector(predicted, f"predictions of {source.name}")
        if scales is not None:
            scales = _vector(scales, "scale", above=0)
            if len(scales) != len(predicted):
                refuse("scale", len(scales), f"{len(predicted)} numbers, one for each example")
        return predicted, scales

    return checked


def _vector(values, name, **limits):
    array = as_reals(values, name, **limits)
    if array.ndim != 1:
        raise ValueError(f"{name} of shape {array.shape} must be one number for each example.")
    return array
