"""Bounds on the true error from errors on fresh examples, the tightest bounds there are.

The errors on m independent examples that took no part in choosing the classifier are binomial, and
no bound from their number is better than the inverse of the binomial tail. The other bounds are for
losses other than 0 and 1, and for looking at the count after every example.
"""

import math
from fractions import Fraction
from typing import Any, overload

import numpy as np

from mlcore.bounds.arguments import (
    Number,
    as_count,
    as_counts,
    as_delta,
    as_log_delta,
    as_plain,
    as_rate,
    as_real,
    as_reals,
    refuse,
)
from mlcore.bounds.calculator import calculator
from mlcore.bounds.concentration.bernoulli_kl import inverse_rates
from mlcore.bounds.concentration.binomial_tail import (
    LARGEST_ODDS,
    largest_odds,
    log_binomial_tail,
    log_factorial_excess,
)
from mlcore.bounds.directed_rounding import ceiling, log, log1p, working_digits

_EPSILON = 2.0**-52


@overload
def binomial_tail_inversion(
    k: Number, m: Number, delta: Number | None, *, log_delta: Number | None = ...
) -> float: ...


@overload
def binomial_tail_inversion(k: Any, m: Any, delta: Any, *, log_delta: Any = ...) -> np.ndarray: ...


@calculator("k", "m", "delta", "log_delta", whole=True)
def binomial_tail_inversion(k: Any, m: Any, delta: Any, *, log_delta: Any = None) -> Any:
    r"""Upper bound on the error rate after `k` errors on `m` fresh examples.

    With probability at least :math:`1 - \delta` over the examples, the true error is at most

    .. math:: \sup \{p : P(\mathrm{Bin}(m, p) \le k) \ge \delta\}.

    Assumes independent examples from the distribution of interest, none of them used to fit or to
    choose the classifier. No smaller bound that depends on the count alone is valid for every p.

    Parameters
    ----------
    k, m : int, or arrays of them
        Errors and examples, ``0 <= k <= m`` and m at least 1. Arrays broadcast.
    delta : float in (0, 1), or array
        Probability that the bound fails.
    log_delta : float below 0, or array, optional
        Natural logarithm of delta, in place of `delta` (then None) where that underflows.

    Returns
    -------
    bound : float or ndarray
        Never below the exact value; 1 if k = m.

    References
    ----------
    C. J. Clopper, E. S. Pearson, *The use of confidence or fiducial limits illustrated in the case
    of the binomial*, Biometrika 26, 1934.
    J. Langford, *Tutorial on practical prediction theory for classification*, JMLR 6, 2005,
    Theorem 3.3.

    Examples
    --------
    >>> from mlcore.bounds import binomial_tail_inversion
    >>> round(binomial_tail_inversion(30, 1000, 0.05), 5)
    0.04047
    >>> binomial_tail_inversion(0, 10**9, None, log_delta=-1e6) < 1e-3 + 1e-6
    True
    """
    m = as_counts(m, "m", at_least=1)
    k = as_counts(k, "k", at_most=m)
    return as_plain(_upper(k, m, as_log_delta(delta, log_delta)))


@overload
def binomial_tail_inversion_lower(k: Number, m: Number, delta: Number) -> float: ...


@overload
def binomial_tail_inversion_lower(k: Any, m: Any, delta: Any) -> np.ndarray: ...


@calculator("k", "m", "delta", whole=True)
def binomial_tail_inversion_lower(k: Any, m: Any, delta: Any) -> Any:
    r"""Lower bound on the error rate after `k` errors on `m` fresh examples.

    With probability at least :math:`1 - \delta` over the examples, the true error is at least
    :math:`\inf \{p : P(\mathrm{Bin}(m, p) \ge k) \ge \delta\}`, under the assumptions of
    `binomial_tail_inversion`.

    Parameters
    ----------
    k, m : int, or arrays of them
        Errors and examples, ``0 <= k <= m`` and m at least 1. Arrays broadcast.
    delta : float in (0, 1), or array
        Probability that the bound fails.

    Returns
    -------
    bound : float or ndarray
        Never above the exact value; 0 if k = 0.

    References
    ----------
    C. J. Clopper, E. S. Pearson, *The use of confidence or fiducial limits illustrated in the case
    of the binomial*, Biometrika 26, 1934.

    Examples
    --------
    >>> from mlcore.bounds import binomial_tail_inversion_lower
    >>> round(binomial_tail_inversion_lower(30, 1000, 0.05), 5)
    0.02167
    """
    m = as_counts(m, "m", at_least=1)
    k = as_counts(k, "k", at_most=m)
    return as_plain(_lower(k, m, _log(delta)))


@overload
def clopper_pearson(k: Number, m: Number, delta: Number) -> tuple[float, float]: ...


@overload
def clopper_pearson(k: Any, m: Any, delta: Any) -> tuple[np.ndarray, np.ndarray]: ...


@calculator("k", "m", "delta", whole=True)
def clopper_pearson(k: Any, m: Any, delta: Any) -> tuple[Any, Any]:
    r"""Interval that holds the error rate with probability at least :math:`1 - \delta`.

    Both one-sided bounds, each at :math:`\delta / 2`: `binomial_tail_inversion_lower` and
    `binomial_tail_inversion`, under their assumptions.

    Parameters
    ----------
    k, m : int, or arrays of them
        Errors and examples, ``0 <= k <= m`` and m at least 1. Arrays broadcast.
    delta : float in (0, 1), or array
        Probability that either end fails.

    Returns
    -------
    lower, upper : float or ndarray
        Ends of the interval.

    References
    ----------
    C. J. Clopper, E. S. Pearson, *The use of confidence or fiducial limits illustrated in the case
    of the binomial*, Biometrika 26, 1934.

    Examples
    --------
    >>> from mlcore.bounds import clopper_pearson
    >>> lower, upper = clopper_pearson(5, 100, 0.05)
    >>> round(lower, 5), round(upper, 5)
    (0.01643, 0.11283)
    """
    m = as_counts(m, "m", at_least=1)
    k = as_counts(k, "k", at_most=m)
    log_delta = _log(delta) - math.log(2)
    return as_plain(_lower(k, m, log_delta)), as_plain(_upper(k, m, log_delta))


@overload
def test_set_sample_size(epsilon: Number, delta: Number, *, k: Number = ...) -> int: ...


@overload
def test_set_sample_size(epsilon: Any, delta: Any, *, k: Any = ...) -> np.ndarray: ...


@calculator("epsilon", "delta", "k")
def test_set_sample_size(epsilon: Any, delta: Any, *, k: Any = 0) -> Any:
    r"""Number of fresh examples on which `k` errors prove an error rate below `epsilon`.

    The least :math:`m > k` with :math:`P(\mathrm{Bin}(m, \epsilon) \le k) \le \delta`:
    the size from which `binomial_tail_inversion` is at most `epsilon`. Without errors it is about
    :math:`3 / \epsilon` at :math:`\delta = 0.05`, the rule of three.

    Parameters
    ----------
    epsilon : float in (0, 1), or array
        Error rate to be excluded.
    delta : float in (0, 1), or array
        Probability that the bound fails.
    k : int at least 0, or array, default=0
        Errors allowed on them.

    Returns
    -------
    m : int or ndarray
        An array where an argument is one; arrays broadcast.

    References
    ----------
    J. Langford, *Tutorial on practical prediction theory for classification*, JMLR 6, 2005.

    Examples
    --------
    >>> from mlcore.bounds import test_set_sample_size
    >>> test_set_sample_size(0.05, 0.05), test_set_sample_size(0.05, 0.05, k=2)
    (59, 124)
    """
    epsilon = as_real(epsilon, "epsilon", above=0, below=1)
    delta = as_delta(delta)
    k = as_count(k, "k")
    if k == 0:
        with working_digits():
            return max(1, ceiling(log(delta) / log1p(-Fraction(epsilon))))
    low = high = k + 1
    while high < 2**1023 and not tail_is_at_most(k, high, epsilon, delta):
        low, high = high, 2 * high
    if high >= 2**1023:
        refuse("epsilon", epsilon, "so large that fewer than 2**1023 examples are needed")
    while high - low > max(1, high // 10**13):
        middle = (low + high) // 2
        if tail_is_at_most(k, middle, epsilon, delta):
            high = middle
        else:
            low = middle
    return high


test_set_sample_size.__test__ = False  # pytest would collect it by its name


@calculator("mean_loss", "m", "delta")
def hoeffding_bentkus_bound(mean_loss: Any, m: Any, delta: Any) -> Any:
    r"""Upper bound on the expectation of a loss in [0, 1] from its mean over `m` fresh examples.

    With probability at least :math:`1 - \delta`, the expected loss is at most the smaller of
    ``kl_inverse_upper(mean_loss, ln(1 / delta) / m)``, Hoeffding's bound in its exponential form,
    and ``binomial_tail_inversion(ceil(m * mean_loss), m, delta / e)``, Bentkus's. Both bound the
    same tail probability, so that the smaller needs no union bound. Assumes independent examples
    that took no part in choosing what is measured.

    Parameters
    ----------
    mean_loss : float in [0, 1], or array
    m : int at least 1, or array
    delta : float in (0, 1), or array
        Probability that the bound fails.

    Returns
    -------
    bound : float or ndarray
        An array where an argument is one; arrays broadcast.

    References
    ----------
    S. Bates, A. Angelopoulos, L. Lei, J. Malik, M. I. Jordan, *Distribution-free, risk-controlling
    prediction sets*, Journal of the ACM 68, 2021.
    V. Bentkus, *On Hoeffding's inequalities*, Annals of Probability 32, 2004.

    Examples
    --------
    >>> from mlcore.bounds import hoeffding_bentkus_bound
    >>> round(hoeffding_bentkus_bound(0.1, 1000, 0.05), 5)
    0.12164
    """
    mean = as_rate(mean_loss, "mean_loss")
    m = as_counts(as_count(m, "m", at_least=1), "m")
    log_delta = np.log(as_delta(delta))
    p, _ = inverse_rates(np.asarray(mean), np.asarray(1 - mean), _nats(-log_delta, m))
    # A mean within the rounding of k / m counts as k errors.
    count = m * mean
    nearest = np.round(count)
    close = np.abs(count - nearest) <= 2 * _EPSILON * count
    k = np.minimum(np.where(close, nearest, np.ceil(count)), m)
    return min(float(p), float(_upper(k, m, np.asarray(log_delta - 1))))


@calculator("k", "m", "delta")
def bernoulli_confidence_sequence(k: Any, m: Any, delta: Any) -> tuple[Any, Any]:
    r"""Interval for an error rate that holds at all sample sizes at once.

    With probability at least :math:`1 - \delta` the true rate is, for every m simultaneously, in

    .. math:: \{p : B(k + 1, m - k + 1) / (p^k (1 - p)^{m - k}) < 1 / \delta\},

    where B is the beta function: one may look after every example, and stop at any time.
    Assumes independent examples. The ratio is a martingale that starts at 1, a
    mixture of likelihood ratios over uniform alternatives, which reaches :math:`1 / \delta` with
    probability at most :math:`\delta` (Ville's inequality).

    Parameters
    ----------
    k, m : int or array
        Errors and examples so far, ``0 <= k <= m`` and m at least 1.
    delta : float in (0, 1), or array
        Probability that the interval ever fails.

    Returns
    -------
    lower, upper : float or ndarray
        An array where an argument is one; arrays broadcast.

    References
    ----------
    H. Robbins, *Statistical methods related to the law of the iterated logarithm*, Annals of
    Mathematical Statistics 41, 1970.

    Examples
    --------
    >>> from mlcore.bounds import bernoulli_confidence_sequence
    >>> lower, upper = bernoulli_confidence_sequence(5, 100, 0.05)
    >>> round(lower, 5), round(upper, 5)
    (0.00658, 0.16026)
    """
    m = as_counts(as_count(m, "m", at_least=1), "m")
    k = as_counts(as_count(k, "k"), "k", at_most=m)
    log_delta = math.log(as_delta(delta))
    # The point probability at p is the one at k / m times exp(-m kl(k / m, p)).
    excess = log_factorial_excess
    peak = excess(m) - excess(k) - excess(m - k)
    c = _nats(np.log1p(m) - log_delta + peak, m)
    q, r = k / m, (m - k) / m
    return float(inverse_rates(r, q, c)[1]), float(inverse_rates(q, r, c)[0])


def _log(delta):
    return np.log(as_reals(delta, "delta", above=0, below=1))


def _upper(k, m, log_delta):
    k, m, log_delta = np.broadcast_arrays(k, m, log_delta)
    p = np.ones(m.shape)
    none, inside = k == 0, (k > 0) & (k < m)
    p[none] = -np.expm1(log_delta[none] / m[none] * (1 + 3 * _EPSILON)) * (1 + _EPSILON)
    odds = largest_odds(k[inside], m[inside], log_delta[inside])
    p[inside] = np.where(odds < 1, odds / (1 + odds), 1 - 1 / (1 + odds))  # fewer roundings near 1
    return np.minimum(np.nextafter(p, 2), 1)


def _lower(k, m, log_delta):
    k, m, log_delta = np.broadcast_arrays(k, m, log_delta)
    p = np.zeros(m.shape)
    every, inside = k == m, (k > 1) & (k < m)
    power = log_delta[every] / m[every]
    p[every] = np.exp(power * (1 + 2 * _EPSILON)) * (1 - _EPSILON)
    odds = largest_odds((m - k)[inside], m[inside], log_delta[inside])
    p[inside] = np.where(odds < 1, 1 - odds / (1 + odds), 1 / (1 + odds))
    p[inside] *= odds < LARGEST_ODDS
    # For one error 1 - (1 - p)^m = delta, even if the odds against p overflow.
    once = (k == 1) & (m > 1)
    nothing = np.log1p(-np.exp(log_delta[once] * (1 + 2 * _EPSILON))) / m[once]
    p[once] = -np.expm1(nothing) * (1 - 4 * _EPSILON)
    return np.maximum(np.nextafter(p, 0), 0)


def _nats(total, m):
    """Return `total` nats divided by m examples, rounded up."""
    return total / m * (1 + 8 * _EPSILON)


def tail_is_at_most(k, m, p, delta):
    log_tail, log_delta = log_binomial_tail(k, m, p), math.log(delta)
    rounding = 1e-13 * (1 - log_delta)
    if abs(log_tail - log_delta) > rounding or m > 2000:
        return log_tail <= log_delta
    p, total = Fraction(p), Fraction(0)
    for i in range(k + 1):
        total += math.comb(m, i) * p**i * (1 - p) ** (m - i)
    return total <= Fraction(delta)
