"""Platt's sigmoid of scores, by Newton's method with a duality gap."""

from dataclasses import dataclass

import numpy as np
from scipy.special import entr, expit

from mlcore.calibration.calibrator import Calibrator
from mlcore.checks.errors import warn

_MAX_ITER = 100
_ROWS = 2**13  # at a time
_TOL = 1e-12  # Newton decrement, of the total weight


@dataclass(frozen=True)
class PlattSigmoid:
    """Fit of a sigmoid to the scores of one class against the rest.

    Parameters
    ----------
    center, unit : float
        Mean and deviation of the scores.
    slope, offset : float
        The probability of a score s is ``expit(slope * (s - center) / unit + offset)``.
    objective : float
        Cross entropy from the softened labels, summed over the samples, in nats.
    duality_gap : float
        `objective` less that of a feasible point of the dual: no sigmoid is better by more.
    n_iter : int
        Newton steps.

    Examples
    --------
    >>> from mlcore.calibration import PlattCalibrator
    >>> (fit,) = PlattCalibrator().fit([-2, -1, 0, 1, 2, 3], [0, 0, 1, 0, 1, 1]).links_
    >>> fit.center, round(fit.slope / fit.unit, 3)
    (0.5, 0.536)
    """

    center: float
    unit: float
    slope: float
    offset: float
    objective: float
    duality_gap: float
    n_iter: int

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Return the probabilities of scores (m,)."""
        if self.slope == 0:
            return np.full(len(scores), float(expit(self.offset)))
        with np.errstate(over="ignore"):
            return expit(self.slope * ((scores - self.center) / self.unit) + self.offset)


class PlattCalibrator(Calibrator):
    r"""Calibrates by a sigmoid of the scores, fitted by maximum likelihood.

    Minimises :math:`-\sum_i w_i (t_i \ln p_i + (1 - t_i) \ln (1 - p_i))` for
    :math:`p_i = 1 / (1 + e^{-(a s_i + b)})`, with the labels softened to
    :math:`t = (N_+ + 1) / (N_+ + 2)` and :math:`1 / (N_- + 2)`, by Newton's method. Two numbers are
    learnt, so that few examples are enough, if a sigmoid fits at all. Of labels that fall with
    the scores the slope is negative.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    links_ : tuple of PlattSigmoid
        The fit of each class, one for two classes, with its objective and duality gap.

    Notes
    -----
    O(n) time for each Newton step, of which there are about ten, and O(n) memory. The dual point
    is :math:`p' = p - p (1 - p) (x \cdot \delta)` with the Newton step :math:`\delta`: it is
    feasible, since it meets the two equations of the gradient, and its value is the entropy of p'.

    References
    ----------
    J. Platt, *Probabilistic outputs for support vector machines and comparisons to regularized
    likelihood methods*, Advances in Large Margin Classifiers, 1999.
    H.-T. Lin, C.-J. Lin, R. C. Weng, *A note on Platt's probabilistic outputs for support vector
    machines*, Machine Learning 68, 2007.

    Examples
    --------
    >>> from mlcore.calibration import PlattCalibrator
    >>> calibrator = PlattCalibrator().fit([-2, -1, 0, 1, 2, 3], [0, 0, 1, 0, 1, 1])
    >>> calibrator.predict_proba([-1, 0.5, 2])[:, 1].round(3).tolist()
    [0.309, 0.5, 0.691]
    >>> abs(calibrator.links_[0].duality_gap) < 1e-9
    True
    """

    def _link(self, scores, positive, weight):
        n_positive = float(weight[positive].sum())
        n_negative = float(weight[~positive].sum())
        target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
        weight = weight / float(weight.max())
        center, unit, x = _standardised(scores, weight)
        mean = float(weight @ target) / float(weight.sum())
        start = np.array([0.0, np.log(mean / (1 - mean))])
        (slope, offset), objective, gap, n_iter = _newton(x, target, weight, start)
        scale = (n_positive + n_negative) / float(weight.sum())
        fit = PlattSigmoid(
            center, unit, float(slope), float(offset), objective * scale, gap * scale, n_iter
        )
        if not gap <= 1e-6 * float(weight.sum()):
            warn("ConvergenceWarning", f"Newton's method ended with a duality gap of {gap:g}.")
        return fit


def _standardised(scores, weight):
    """Return the mean and deviation of the scores, and the scores less the mean over the latter."""
    size = max(float(np.abs(scores).max()), float(np.finfo(np.float64).tiny))
    x = scores / size
    share = weight / weight.sum()
    center = float(share @ x)
    x -= center
    center, x = center + float(share @ x), x - float(share @ x)
    deviation = float(np.sqrt(share @ x**2))
    if deviation <= 1e-14:  # one value, up to rounding
        return center * size, size, np.zeros_like(x)
    return center * size, deviation * size, x / deviation


def _newton(x, target, weight, at):
    """Return slope and offset of least cross entropy, its value, the duality gap, and the steps."""
    total, n_iter = float(weight.sum()), 0
    value, gradient, hessian = _derivatives(x, target, weight, at)
    while True:
        step = np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        decrement = float(gradient @ step)
        if not decrement > _TOL * total or n_iter == _MAX_ITER:
            break
        # Half steps until the value falls enough.
        length = 1.0
        while length > 1e-10:
            new = _derivatives(x, target, weight, at - length * step)
            if new[0] <= value - 1e-4 * length * decrement:
                break
            length /= 2
        else:
            break
        at, n_iter = at - length * step, n_iter + 1
        value, gradient, hessian = new
    return at, value, value - _dual(x, weight, at, step), n_iter


def _derivatives(x, target, weight, at):
    """Return the cross entropy at a slope and an offset, its gradient, and its Hessian."""
    value, gradient, hessian = 0.0, np.zeros(2), np.zeros((2, 2))
    for rows in _blocks(x):
        part, w, t = x[rows], weight[rows], target[rows]
        z = at[0] * part + at[1]
        e = np.exp(-np.abs(z))
        # np.log of 1 + e and of its rounding: a third of the time of np.log1p.
        one = 1 + e
        log_one = np.log(one) + (e - (one - 1)) / one
        value += float(w @ (np.maximum(z, 0) + log_one - t * z))
        p = np.where(z >= 0, 1.0, e) / one
        residual = w * (p - t)
        gradient += float(residual @ part), float(residual.sum())
        curvature = w * (p * (1 - p))
        along = curvature * part
        cross = float(along.sum())
        hessian += [[float(along @ part), cross], [cross, float(curvature.sum())]]
    return value, gradient, hessian


def _dual(x, weight, at, step):
    """Return the value of the dual point next to the probabilities, -inf if it is not feasible."""
    value = 0.0
    for rows in _blocks(x):
        p = expit(at[0] * x[rows] + at[1])
        near = p - p * (1 - p) * (step[0] * x[rows] + step[1])
        if near.min() < 0 or near.max() > 1:
            return -np.inf
        value += float(weight[rows] @ (entr(near) + entr(1 - near)))
    return value


def _blocks(x):
    """Yield slices of samples, so few that arrays of them stay in the cache."""
    return (slice(start, start + _ROWS) for start in range(0, len(x), _ROWS))
