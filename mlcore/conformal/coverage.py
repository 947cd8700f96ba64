"""Ranks of calibration scores, and the coverage that an order statistic guarantees."""

import math
from fractions import Fraction
from typing import Any, overload

import numpy as np

from mlcore.bounds.arguments import Number, as_count, as_counts, as_delta, as_plain, as_real
from mlcore.bounds.calculator import calculator, warn_of_confidence
from mlcore.bounds.held_out import binomial_tail_inversion_lower, tail_is_at_most


def conformal_rank(n: int, coverage: float, delta: float | None = None) -> int:
    r"""Return the rank k of the calibration score that is the threshold of a conformal set.

    A new score is at most the k-th smallest of n exchangeable scores with probability at least
    :math:`k / (n + 1)`. Without `delta` the rank is the least with :math:`k / (n + 1)` at least
    `coverage`, an average over calibration sets. With `delta` the scores are independent draws,
    and with probability at least :math:`1 - \delta` over them the coverage given this calibration
    set is at least `coverage`: the rank is the least k with
    :math:`P(\mathrm{Bin}(n, 1 - c) \le n - k) \le \delta`, where c is the coverage.

    Parameters
    ----------
    n : int at least 0
        Number of calibration scores.
    coverage : float in (0, 1)
        Wanted probability that a new label is covered; 0.9 means the decimal number 9/10.
    delta : float in (0, 1), optional
        Probability that the calibration set gives less than `coverage`.

    Returns
    -------
    k : int
        From 1 to n + 1; n + 1 if n is too small: then the threshold is infinite and sets hold
        every label.

    Raises
    ------
    ValueError
        For arguments out of range.

    References
    ----------
    V. Vovk, *Conditional validity of inductive conformal predictors*, Proceedings of the Asian
    Conference on Machine Learning, 2012, Proposition 2a.

    Examples
    --------
    >>> from mlcore.conformal import conformal_rank
    >>> conformal_rank(99, 0.9), conformal_rank(99, 0.9, 0.05), conformal_rank(8, 0.9)
    (90, 95, 9)
    """
    n = as_count(n, "n", at_most=2**53)
    coverage = as_real(coverage, "coverage", above=0, below=1)
    if delta is None:
        return math.ceil((n + 1) * Fraction(repr(coverage)))
    delta = as_delta(delta)
    warn_of_confidence(delta)
    exact = 1 - Fraction(repr(coverage))
    rest = float(exact)
    if Fraction(rest) > exact:  # the smaller number is the safe one
        rest = math.nextafter(rest, 0)
    low, high = 0, n + 1
    while high - low > 1:
        k = (low + high) // 2
        if tail_is_at_most(n - k, n, rest, delta):
            high = k
        else:
            low = k
    return high


@overload
def conformal_coverage(k: Number, n: Number, delta: Number) -> float: ...


@overload
def conformal_coverage(k: Any, n: Any, delta: Any) -> np.ndarray: ...


@calculator("k", "n", "delta", whole=True)
def conformal_coverage(k: Any, n: Any, delta: Any) -> Any:
    r"""Lower bound on the coverage given the calibration set, of the k-th smallest of n scores.

    With probability at least :math:`1 - \delta` over independent scores, a new one is at most the
    k-th smallest with at least this probability. Its distribution over calibration sets is
    :math:`\mathrm{Beta}(k, n + 1 - k)` if scores have no ties, and never smaller: the bound is
    `mlcore.bounds.binomial_tail_inversion_lower` of k successes, one minus
    `mlcore.bounds.binomial_tail_inversion` of n - k errors on n examples.

    Parameters
    ----------
    k, n : int, or arrays of them
        Rank and number of scores, ``1 <= k <= n + 1``. Arrays broadcast.
    delta : float in (0, 1), or array
        Probability that the bound fails.

    Returns
    -------
    coverage : float or ndarray
        Never above the exact value; 1 if k = n + 1, where the threshold is infinite.

    Raises
    ------
    ValueError
        For arguments out of range.

    References
    ----------
    V. Vovk, *Conditional validity of inductive conformal predictors*, Proceedings of the Asian
    Conference on Machine Learning, 2012, Proposition 2a.

    Examples
    --------
    >>> from mlcore.conformal import conformal_coverage
    >>> round(conformal_coverage(90, 99, 0.05), 5), round(conformal_coverage(95, 99, 0.05), 5)
    (0.84672, 0.90993)
    """
    n = as_counts(n, "n")
    k = as_counts(k, "k", at_least=1, at_most=n + 1)
    k, n = np.broadcast_arrays(k, n)
    finite = k <= n
    successes, examples = np.where(finite, k, 1), np.where(finite, n, 1)
    bound = binomial_tail_inversion_lower(successes, examples, delta)
    return as_plain(np.where(finite, bound, 1.0))


def least_size(coverage: float, delta: float | None) -> int:
    """Return the least number of scores with which a threshold is finite, 2**50 if it is larger."""
    high = 1
    while high < 2**50 and conformal_rank(high, coverage, delta) > high:
        high *= 2
    if high == 2**50:
        return high
    low = high // 2
    while high - low > 1:
        n = (low + high) // 2
        if conformal_rank(n, coverage, delta) > n:
            low = n
        else:
            high = n
    return high
