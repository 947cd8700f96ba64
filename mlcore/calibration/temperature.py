"""One temperature for the logits of all classes, by Newton's method on a convex function."""

import numpy as np
from scipy.special import entr

from mlcore.bounds.arguments import refuse
from mlcore.calibration.calibrator import Calibrator
from mlcore.checks.errors import warn

_MAX_ITER = 200
_LARGEST = 1e300  # of a logit in units of those of the fit
_VALUES = 2**15  # of logits at a time, in the cache


class TemperatureCalibrator(Calibrator):
    r"""Calibrates logits of any number of classes by dividing them by one temperature.

    Minimises :math:`\sum_i w_i (\ln \sum_k e^{\beta z_{ik}} - \beta z_{i y_i})`, which is convex
    in the inverse temperature :math:`\beta \ge 0`. The most probable class stays the same. Scores
    are logits, or logarithms of probabilities: of two classes also (n,), the logit of the later.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    temperature_ : float
        Above 1 for a model that is too sure; infinite if the scores say nothing about the labels.
    objective_ : float
        Weighted sum of the log loss, in nats.
    duality_gap_ : float
        `objective_` less that of a feasible point of the dual: no temperature is better by more.
    n_iter_ : int
        Newton steps.

    Notes
    -----
    O(n k) time for each of about ten steps and for k classes, O(n) memory beside the scores. The
    dual maximises the entropy of distributions p' with the mean logit of the labels; the point is
    :math:`p'_k = p_k (1 - \delta (z_k - \sum_j p_j z_j))` with the Newton step :math:`\delta`.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, *On calibration of modern neural networks*,
    Proceedings of ICML, 2017, section 4.2.

    Examples
    --------
    >>> from mlcore.calibration import TemperatureCalibrator
    >>> logits = [[4, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4]]
    >>> calibrator = TemperatureCalibrator().fit(logits, [0, 1, 1, 2])
    >>> round(calibrator.temperature_, 4)
    2.2324
    >>> calibrator.predict_proba([[4, 0, 0]]).round(3).tolist()
    [[0.75, 0.125, 0.125]]
    """

    temperature_: float
    objective_: float
    duality_gap_: float
    n_iter_: int

    def _require_columns(self, scores, n_classes):
        if n_classes > 2 or scores.ndim == 1:
            super()._require_columns(scores, n_classes)
        elif scores.shape[1] != 2:
            refuse("scores", f"an array of shape {scores.shape}", "of shape (n,) or (n, 2)")

    def _learn(self, columns, codes, weight):
        size = max(float(np.abs(columns).max()), float(np.finfo(np.float64).tiny))
        own = np.empty(len(codes))
        span = 0.0
        for rows, z in _blocks(columns, size):
            own[rows] = np.take_along_axis(z, codes[None, rows], axis=0)[0]
            span = max(span, float(-z.min()))
        if not (own < 0).any() and span > 0:
            refuse(
                "scores",
                "of which the label's is the largest in every example",
                "scores with some errors: the temperature of these would be 0",
            )
        unit = size * span if span > 0 else 1.0
        problem = _Problem(columns, own / (span or 1.0), weight / weight.max(), size, span or 1.0)
        beta, self.n_iter_ = _root(problem)
        self._unit, self._beta = unit, beta
        value, dual = problem.values(beta)
        self.objective_ = value * float(weight.max())
        self.duality_gap_ = (value - dual) * float(weight.max())
        self.links_ = ()
        with np.errstate(over="ignore", divide="ignore"):
            self.temperature_ = float(np.divide(unit, beta))
        if not value - dual <= 1e-6 * problem.weight.sum():
            warn(
                "ConvergenceWarning", f"Newton's method ended with a gap of {self.duality_gap_:g}."
            )

    def _probabilities(self, columns):
        P = np.empty((len(columns), len(self.classes_)))
        # Not by temperature_, which may overflow.
        for rows, z in _blocks(columns, self._unit):
            with np.errstate(over="ignore"):
                z = np.exp(self._beta * z)
            P[rows] = (z / z.sum(axis=0)).T
        return P


class _Problem:
    """The log loss as a function of the inverse temperature, of logits from -1 to 0."""

    def __init__(self, columns, own, weight, size, span):
        self.columns, self.own, self.weight = columns, own, weight
        self.size, self.span = size, span

    def blocks(self):
        for rows, z in _blocks(self.columns, self.size):
            yield rows, z / self.span

    def derivatives(self, beta):
        """Return the first and the second derivative by the inverse temperature."""
        first = second = 0.0
        for rows, z in self.blocks():
            P = np.exp(beta * z)
            total = P.sum(axis=0)
            P *= z
            mean = P.sum(axis=0) / total
            P *= z
            first += float(self.weight[rows] @ (mean - self.own[rows]))
            # The largest z is 0 and the most probable: nothing cancels.
            second += float(self.weight[rows] @ (P.sum(axis=0) / total - mean**2))
        return first, second

    def values(self, beta):
        """Return the log loss and the value of a point of the dual, -inf if none is feasible."""
        value = dual = 0.0
        first, second = self.derivatives(beta)
        # At 0 the distributions may have a larger mean than the labels: the uniform ones do.
        step = 0.0 if beta == 0 or second == 0 else first / second
        for rows, z in self.blocks():
            P = np.exp(beta * z)
            total = P.sum(axis=0)
            P /= total
            mean = (P * z).sum(axis=0)
            value += float(self.weight[rows] @ (np.log(total) - beta * self.own[rows]))
            near = P * (1 - step * (z - mean))
            if near.min() < 0:
                dual = -np.inf
            dual += float(self.weight[rows] @ entr(np.maximum(near, 0)).sum(axis=0))
        return value, dual


def _root(problem):
    """Return the inverse temperature of least log loss, and the number of steps."""
    first, second = problem.derivatives(0.0)
    if first >= 0:
        if problem.own.any():
            warn(
                "UserWarning", "The scores say nothing about the labels: temperature_ is infinite."
            )
        return 0.0, 0
    # An inverse temperature with a derivative that is not negative.
    low, high, factor = 0.0, 1.0, 2.0
    while (found := problem.derivatives(high))[0] < 0 and high < 1e300:
        low, high, (first, second) = high, factor * high, found
        factor = min(factor**2, 2.0**64)  # one logit may be far beyond the others
    beta, n_iter = low, 0
    while n_iter < _MAX_ITER:
        n_iter += 1
        new = beta - first / second if second > 0 else np.inf
        if not low <= new <= high:
            new = np.sqrt(low) * np.sqrt(high) if low > 0 else high / 2
        done = abs(new - beta) <= 1e-13 * new
        beta = new
        if done:
            break
        first, second = problem.derivatives(beta)
        low, high = (beta, high) if first < 0 else (low, beta)
    return beta, n_iter


def _blocks(columns, unit):
    """Yield slices of rows, and their logits over `unit`, less the largest, a row for each class.

    Classes as rows let vectors run over samples: a sixth of the time for two classes.
    """
    step = max(1, _VALUES // max(columns.shape[1], 2))
    for start in range(0, len(columns), step):
        rows = slice(start, start + step)
        with np.errstate(over="ignore"):
            z = np.clip(np.ascontiguousarray(columns[rows].T) / unit, -_LARGEST, _LARGEST)
        if len(z) == 1:
            z = np.concatenate([np.zeros_like(z), z])
        yield rows, z - z.max(axis=0)
