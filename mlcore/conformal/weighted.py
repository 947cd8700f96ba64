"""Thresholds for new examples that are drawn from another distribution, of known weights."""

from fractions import Fraction
from typing import Any

import numpy as np

from mlcore.bounds.arguments import as_real, as_reals, refuse
from mlcore.checks import as_weights


def weighted_thresholds(
    scores: Any, sample_weight: Any, new_weight: Any, coverage: float = 0.9
) -> np.ndarray:
    r"""Return the thresholds of new examples whose distribution differs from the calibration's.

    The weight of an example is the ratio w(x) of the new density of its features to that of the
    calibration, up to a factor; the labels given the features are distributed as before. The
    threshold of a new example of weight v is the smallest score t with
    :math:`\sum_{s_i \le t} w_i \ge c \, (\sum_i w_i + v)`, for coverage c, and infinite if there is
    none. Then its score is at most t with probability at least c, on average over the calibration
    examples and the new one, if the weights are right. Of weights that are estimated the coverage
    falls short by at most half of their mean absolute error, both scaled to a mean of 1. There is
    no guarantee given this calibration set: with unequal weights scores are no order statistics of
    one distribution. Of equal weights the thresholds are those of `conformal_threshold`.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Scores of the true labels of the calibration examples.
    sample_weight : array-like of shape (n,)
        Weights of the calibration examples; of 0 an example counts for nothing.
    new_weight : array-like of shape (m,)
        Weights of the new examples, by the same function.
    coverage : float in (0, 1), default=0.9
        Wanted coverage.

    Returns
    -------
    thresholds : float64 (m,)
        The largest score that is covered, for each new example. O((n + m) log n) time.

    Raises
    ------
    ValueError
        For arguments out of range, no scores, and NaN.

    References
    ----------
    R. Tibshirani, R. Barber, E. Candès, A. Ramdas, *Conformal prediction under covariate shift*,
    Advances in Neural Information Processing Systems 32, 2019, Corollary 1.
    L. Lei, E. Candès, *Conformal inference of counterfactuals and individual treatment effects*,
    Journal of the Royal Statistical Society B 83, 2021, Theorem 3 (estimated weights).

    Examples
    --------
    >>> from mlcore.conformal import weighted_thresholds
    >>> weighted_thresholds([1, 2, 3, 4], [1, 1, 1, 3], [1, 9], 0.5).tolist()
    [4.0, inf]
    """
    scores = list(scores) if isinstance(scores, range) else scores
    scores = as_reals(scores, "scores", allow_inf=True)
    if scores.ndim != 1 or not len(scores):
        refuse("scores", scores.tolist(), "a sequence of at least one number")
    if sample_weight is None:
        refuse("sample_weight", None, "a weight for each score: see conformal_threshold for none")
    weight = as_weights(sample_weight, len(scores))
    new = as_reals(new_weight, "new_weight", at_least=0)
    if new.ndim != 1:
        refuse("new_weight", new.tolist(), "a sequence of weights, one for each new example")
    coverage = as_real(coverage, "coverage", above=0, below=1)
    order = np.argsort(scores, kind="stable")
    # A power of two does not round, and keeps sums finite; equal weights become 1 each.
    unit = np.ldexp(np.longdouble(1), int(np.frexp(weight.max())[1]))
    if weight[weight > 0].min() == weight.max():
        unit = np.longdouble(weight.max())
    sums = np.cumsum(weight[order] / unit)
    exact = Fraction(repr(coverage))
    wanted = (sums[-1] + new / unit) * exact.numerator / exact.denominator
    place = np.searchsorted(sums, wanted, side="left")
    return np.append(scores[order], np.inf)[place]
