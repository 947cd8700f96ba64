"""Intervals of F1, Jaccard, AUC, mean losses, R2 and quantiles by fresh examples, no bootstrap.

All hold for every distribution and every number of examples, under one assumption: the examples are
independent and took no part in fitting or choosing what is measured.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from mlcore.bounds.arguments import (
    as_counts,
    as_plain,
    as_positive,
    as_range,
    as_real,
    as_reals,
    refuse,
)
from mlcore.bounds.calculator import calculator, warn_of_confidence
from mlcore.bounds.held_out import clopper_pearson, hoeffding_bentkus_bound, tail_is_at_most
from mlcore.bounds.metrics.bounded_mean import (
    mean_interval,
    moments_of,
    on_range,
    variance_bound,
    variance_lower_bound,
)

_EPSILON = 2.0**-52


@calculator("true_positives", "false_positives", "false_negatives", "delta", whole=True)
def jaccard_interval(
    true_positives: Any, false_positives: Any, false_negatives: Any, delta: Any
) -> tuple[Any, Any]:
    r"""Interval that holds the Jaccard index with probability at least :math:`1 - \delta`.

    The index is :math:`J = P(\mathrm{TP}) / (1 - P(\mathrm{TN}))`. Given the number of examples
    that are no true negatives, the true positives among them are binomial with rate J, so that
    `clopper_pearson` of the two counts holds exactly. Assumes independent examples, none of them
    used to fit or to choose the classifier or its threshold.

    Parameters
    ----------
    true_positives, false_positives, false_negatives : int, or arrays of them
        Counts of a confusion matrix, at least 0. Arrays broadcast.
    delta : float in (0, 1), or array
        Probability that the interval fails.

    Returns
    -------
    lower, upper : float or ndarray
        Ends of the interval; 0 and 1 if all counts are 0.

    References
    ----------
    C. J. Clopper, E. S. Pearson, *The use of confidence or fiducial limits illustrated in the case
    of the binomial*, Biometrika 26, 1934.

    Examples
    --------
    >>> from mlcore.bounds import jaccard_interval
    >>> lower, upper = jaccard_interval(80, 10, 10, 0.05)
    >>> round(lower, 5), round(upper, 5)
    (0.70816, 0.87334)
    """
    hits = as_counts(true_positives, "true_positives")
    total = hits + as_counts(false_positives, "false_positives")
    total = total + as_counts(false_negatives, "false_negatives")
    delta = as_reals(delta, "delta", above=0, below=1)
    hits, total, delta = np.broadcast_arrays(hits, total, delta)
    empty = total == 0
    lower, upper = clopper_pearson(hits, np.where(empty, 1, total), delta)
    return as_plain(np.asarray(lower)), as_plain(np.where(empty, 1.0, upper))


@calculator("true_positives", "false_positives", "false_negatives", "delta", whole=True)
def f1_interval(
    true_positives: Any, false_positives: Any, false_negatives: Any, delta: Any
) -> tuple[Any, Any]:
    r"""Interval that holds the F1 score with probability at least :math:`1 - \delta`.

    The score is :math:`F_1 = 2 J / (1 + J)` of the Jaccard index J, which increases with J: the
    ends are those of `jaccard_interval`, under its assumptions.

    Parameters
    ----------
    true_positives, false_positives, false_negatives : int, or arrays of them
        Counts of a confusion matrix, at least 0. Arrays broadcast.
    delta : float in (0, 1), or array
        Probability that the interval fails.

    Returns
    -------
    lower, upper : float or ndarray
        Ends of the interval; 0 and 1 if all counts are 0.

    References
    ----------
    C. J. van Rijsbergen, *Information Retrieval*, 2nd edition, 1979, chapter 7.

    Examples
    --------
    >>> from mlcore.bounds import f1_interval
    >>> lower, upper = f1_interval(80, 10, 10, 0.05)
    >>> round(lower, 5), round(upper, 5)
    (0.82915, 0.93239)
    """
    lower, upper = jaccard_interval(true_positives, false_positives, false_negatives, delta)
    return (
        as_plain(np.asarray(2 * lower / (1 + lower) * (1 - 2 * _EPSILON))),
        as_plain(np.minimum(2 * upper / (1 + upper) * (1 + 2 * _EPSILON), 1)),
    )


def auc_interval(positive_scores: Any, negative_scores: Any, delta: float) -> tuple[float, float]:
    r"""Interval that holds the area under the ROC curve with probability at least :math:`1-\delta`.

    The area is :math:`P(s_+ > s_-) + P(s_+ = s_-) / 2`, its estimate U the average over all pairs,
    a two-sample U-statistic. U is an average over permutations of averages of
    :math:`r = \min(n_+, n_-)` independent pairs. By Jensen's inequality all moments by which
    Hoeffding's and Bentkus's inequalities bound a tail are no larger than for one of these, so that
    `hoeffding_bentkus_bound` of U and r holds, for each end at :math:`\delta / 2`. Assumes
    independent examples, none of them used to fit or to choose the model.

    Parameters
    ----------
    positive_scores, negative_scores : array-like of shape (n_positives,) and (n_negatives,)
        Finite scores of the examples of each class, larger for the positive class.
    delta : float in (0, 1)
        Probability that the interval fails, at least 2**-1021.

    Returns
    -------
    lower, upper : float
        Ends of the interval. O(n log n) time and O(n) memory.

    References
    ----------
    W. Hoeffding, *Probability inequalities for sums of bounded random variables*, Journal of the
    American Statistical Association 58, 1963, section 5b.
    V. Bentkus, *On Hoeffding's inequalities*, Annals of Probability 32, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from mlcore.bounds import auc_interval
    >>> lower, upper = auc_interval(np.arange(100, 400), np.arange(300), 0.05)
    >>> round(lower, 5), round(upper, 5)
    (0.71473, 0.8339)
    """
    positive = _as_vector(positive_scores, "positive_scores")
    negative = _as_vector(negative_scores, "negative_scores")
    half = _half(delta)
    won, pairs = pairs_won(positive, negative)
    r = min(len(positive), len(negative))
    return rate_interval(won / pairs, (pairs - won) / pairs, r, half)


def mean_loss_interval(
    losses: Any, delta: float, *, value_range: float = 1.0
) -> tuple[float, float]:
    r"""Interval that holds the mean of a bounded loss with probability at least :math:`1 - \delta`.

    For absolute errors it bounds the MAE, for squared errors the MSE. Each end is the tighter of
    two bounds, each at :math:`\delta / 4`: `hoeffding_bentkus_bound`, and an empirical Bernstein
    bound, which is Bernstein's inequality with an upper bound on the variance. That is Hoeffding
    and Bentkus's for the U-statistic of :math:`(x - x')^2 / 2`, an average of averages of
    :math:`\lfloor m / 2 \rfloor` independent terms. Assumes independent examples, none of them used
    to fit or to choose the model.

    Parameters
    ----------
    losses : array-like of shape (m,)
        Losses of the examples, from 0 to `value_range`.
    delta : float in (0, 1)
        Probability that the interval fails, at least 2**-1021.
    value_range : float above 0, default=1.0
        Largest loss that is possible, known beforehand: the largest one seen is not valid.

    Returns
    -------
    lower, upper : float
        Ends of the interval, in units of the losses.

    References
    ----------
    S. Bates, A. Angelopoulos, L. Lei, J. Malik, M. I. Jordan, *Distribution-free, risk-controlling
    prediction sets*, Journal of the ACM 68, 2021.
    W. Hoeffding, *Probability inequalities for sums of bounded random variables*, Journal of the
    American Statistical Association 58, 1963, section 5a (the variance).
    S. Bernstein, *The Theory of Probabilities*, Moscow, 1946.

    Examples
    --------
    >>> from mlcore.bounds import mean_loss_interval
    >>> lower, upper = mean_loss_interval([0.0, 1.0, 2.0, 1.0] * 250, 0.05, value_range=10.0)
    >>> round(lower, 5), round(upper, 5)
    (0.85877, 1.14123)
    """
    largest = as_positive(value_range, "value_range")
    losses = _as_vector(losses, "losses", at_least=0, at_most=largest)
    interval = mean_interval(moments_of(losses, 0.0, largest), 2 * _half(delta))
    return on_range(interval, 0.0, largest)


def r2_interval(
    y: Any, predictions: Any, delta: float, *, value_range: tuple[float, float]
) -> tuple[float, float]:
    r"""Interval that holds the R2 of predictions with probability at least :math:`1 - \delta`.

    The coefficient of determination is :math:`1 - E (y - f(x))^2 / \mathrm{Var}\, y`. The ends
    combine those of `mean_loss_interval` of the squared errors with bounds on the variance of y,
    each of the four at :math:`\delta / 4`; the latter are Hoeffding and Bentkus's for the
    U-statistic of :math:`(y - y')^2 / 2`, an average of averages of :math:`\lfloor m / 2 \rfloor`
    independent terms. Assumes independent examples, none of them used to fit or to choose the
    model, and a range that was known beforehand.

    Parameters
    ----------
    y, predictions : array-like of shape (m,)
        Targets and predictions in `value_range`; clip predictions that could be outside.
    delta : float in (0, 1)
        Probability that the interval fails, at least 2**-1021.
    value_range : (float, float)
        Least and largest target that is possible, known beforehand.

    Returns
    -------
    lower, upper : float
        Ends of the interval, at most 1; `lower` is minus infinity where the variance of y may be 0.
        O(m) time.

    Raises
    ------
    ValueError
        For arguments out of range, and another number of predictions than targets.

    References
    ----------
    W. Hoeffding, *Probability inequalities for sums of bounded random variables*, Journal of the
    American Statistical Association 58, 1963, section 5a.
    V. Bentkus, *On Hoeffding's inequalities*, Annals of Probability 32, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from mlcore.bounds import r2_interval
    >>> y = np.linspace(0, 1, 2000)
    >>> lower, upper = r2_interval(y, 0.1 + 0.8 * y, 0.05, value_range=(0, 1))
    >>> round(lower, 5), round(upper, 5)
    (0.87521, 0.99289)
    """
    low, high = as_range(value_range, "value_range")
    y = _as_vector(y, "y", at_least=low, at_most=high)
    predictions = _as_vector(predictions, "predictions", at_least=low, at_most=high)
    if len(predictions) != len(y):
        refuse("predictions", len(predictions), f"{len(y)} numbers, one for each target")
    part = _half(delta) / 2
    if len(y) < 2:
        return -math.inf, 1.0
    errors = ((y - predictions) / (high - low)) ** 2
    least, most = mean_interval(moments_of(errors, 0.0, 1.0), 2 * part)
    targets = moments_of(y, low, high)
    smallest, largest = variance_lower_bound(targets, part), variance_bound(targets, part)
    lower = 1 - most / smallest * (1 + 2 * _EPSILON) if smallest > 0 else -math.inf
    upper = 1 - least / largest * (1 - 2 * _EPSILON)
    return math.nextafter(lower, -math.inf), min(math.nextafter(upper, math.inf), 1.0)


def quantile_interval(values: Any, q: float, delta: float) -> tuple[float, float]:
    r"""Interval that holds a quantile of a distribution with probability at least :math:`1-\delta`.

    The ends are order statistics: the l-th is above the quantile only if fewer than l values are at
    or below it, the u-th is below only if at least u values are below it. Both counts are binomial,
    and l is the largest and u the smallest rank for which this has probability at most
    :math:`\delta / 2`. Assumes independent values, such as errors of predictions on fresh examples.

    Parameters
    ----------
    values : array-like of shape (m,)
        Finite values.
    q : float in (0, 1)
        Level of the quantile, 0.5 for the median.
    delta : float in (0, 1)
        Probability that the interval fails, at least 2**-1021.

    Returns
    -------
    lower, upper : float
        Ends of the interval; minus or plus infinity where m is too small for any rank. O(m) time.

    References
    ----------
    H. A. David, H. N. Nagaraja, *Order Statistics*, 3rd edition, 2003, section 7.1.

    Examples
    --------
    >>> from mlcore.bounds import quantile_interval
    >>> quantile_interval(range(1000), 0.9, 0.05)
    (880.0, 918.0)
    """
    values = _as_vector(values, "values")
    q = as_real(q, "q", above=0, below=1)
    half, m = _half(delta), len(values)
    # P(Bin(m, q) >= u) is P(Bin(m, 1 - q) <= m - u); a rounded 1 - q has to be the smaller one.
    rest = 1 - q
    if Fraction(rest) > 1 - Fraction(q):
        rest = math.nextafter(rest, 0)
    lower, upper = _most_failures(m, q, half), m - 1 - _most_failures(m, rest, half)
    ranks = [rank for rank in (lower, upper) if 0 <= rank < m]
    ordered = np.partition(values, ranks) if ranks else values
    return (
        float(ordered[lower]) if lower >= 0 else -math.inf,
        float(ordered[upper]) if upper < m else math.inf,
    )


def pairs_won(positive: np.ndarray, negative: np.ndarray) -> tuple[int, int]:
    """Return twice the pairs whose positive score is larger, ties by half, and twice all pairs."""
    # Both are sorted: searches then run through memory, a fifth of the time for a million scores.
    positive, negative = np.sort(positive), np.sort(negative)
    below = np.searchsorted(negative, positive, side="left").sum(dtype=np.int64)
    not_above = np.searchsorted(negative, positive, side="right").sum(dtype=np.int64)
    return int(below) + int(not_above), 2 * len(positive) * len(negative)


def _most_failures(m, p, delta):
    """Return the largest k with P(Bin(m, p) <= k) <= delta, or -1."""
    low, high = -1, m
    while high - low > 1:
        k = (low + high) // 2
        if tail_is_at_most(k, m, p, delta):
            low = k
        else:
            high = k
    return low


def _half(delta):
    """Return half of a probability of failure, exactly; warn of one above 1/2."""
    delta = as_real(delta, "delta", at_least=2.0**-1021, below=1)
    warn_of_confidence(delta)
    return delta / 2


def rate_interval(mean: float, rest: float, m: int, half: float) -> tuple[float, float]:
    """Return the interval for an expectation in [0, 1], each end of which may fail with `half`."""
    upper = hoeffding_bentkus_bound(mean, m, half) * (1 + 4 * _EPSILON)
    lower = 1 - hoeffding_bentkus_bound(rest, m, half) * (1 + 4 * _EPSILON)
    return max(lower - _EPSILON, 0.0), min(upper, 1.0)


def _as_vector(values, name, **limits):
    if isinstance(values, range):
        values = list(values)
    array = as_reals(values, name, **limits)
    if array.ndim != 1 or not len(array):
        refuse(name, values, "a sequence of at least one number")
    return array
