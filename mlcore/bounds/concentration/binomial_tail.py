"""Tail probabilities of the binomial distribution, accurate at any sample size; their inverse.

For p above the median of the tail, P(Bin(m, p) <= k) = P(Bin(m, p) = k) R with

    R = (m - k) * integral from 0 to 1 of (1 + s / w)^k (1 - s)^(m - k - 1) ds,   w = p / (1 - p),

a logarithmically concave, nearly monotone integrand that Gauss's rule on its effective support
integrates to machine precision for every m. Below the median the other tail is computed the same
way. All probabilities are logarithms, so that 1e-1000000 does not underflow.

The inverse works in the odds w. ln P(Bin <= k) is concave in ln w, as the logarithm of the survival
function of a log-concave density, so every step of Newton's method lands on or above the root,
which is the safe side of an upper bound.
"""

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri_exp, xlogy

from mlcore.bounds.arguments import as_count, as_float, as_rate
from mlcore.bounds.calculator import calculator
from mlcore.numerics.information import deviance, excess_over_log

# ln n! - (n ln n - n) for n < 16, where Stirling's series is not yet exact.
_SMALL_FACTORIALS = np.array(
    [
        0.0,
        1.0,
        1.3068528194400546,
        1.4959226032237258,
        1.6328763858683832,
        1.7403021806115442,
        1.828694396641771,
        1.9037903176782212,
        1.9690705693065629,
        2.0268062840554952,
        2.0785616431350586,
        2.12545984509181,
        2.168334698205882,
        2.207822206123445,
        2.244418568125061,
        2.2785183673077407,
    ]
)
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_ROOT_2_PI = math.sqrt(2 * math.pi)
LARGEST_ODDS = 1e300
_BLOCK, _COLUMNS = 4096, 512  # pairs at a time, so that they, and their nodes, stay in the cache


class Rule(NamedTuple):
    """Gauss's rule on [0, 1], one row for each node, for integrands down to exp(-depth) at 0."""

    nodes: np.ndarray
    weights: np.ndarray
    depth: float
    careful: bool


def _gauss(n, depth, careful=False):
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return Rule((nodes[:, None] + 1) / 2, weights[:, None] / 2, depth, careful)


_COARSE, _FINE, _CAREFUL = _gauss(14, 18.0), _gauss(32, 40.0), _gauss(32, 40.0, careful=True)


@calculator("k", "m", "p")
def log_binomial_tail(k: Any, m: Any, p: Any) -> Any:
    """Return ``ln P(Bin(m, p) <= k)``, which stays finite where the tail itself underflows.

    Parameters
    ----------
    k, m : int or array
        ``0 <= k <= m`` and m at least 1.
    p : float in [0, 1], or array

    Returns
    -------
    value : float or ndarray
        Minus infinity if p is 1 and k below m.
        An array where an argument is one; arrays broadcast.

    References
    ----------
    C. Loader, *Fast and accurate computation of binomial probabilities*, 2000 (the point
    probability by deviances).

    Examples
    --------
    >>> from mlcore.bounds import log_binomial_tail
    >>> round(log_binomial_tail(5, 100, 0.1), 12)
    -2.85463406808
    >>> round(log_binomial_tail(0, 10**12, 0.5) / 1e11, 9)
    -6.931471806
    """
    m = as_count(m, "m", at_least=1)
    k = as_count(k, "k", at_most=m)
    p = as_rate(p, "p")
    size = as_float(m, "m")
    if k == m or p == 0:
        return 0.0
    if p == 1:
        return -math.inf
    if k == 0:
        return size * math.log1p(-p)
    exact = Fraction(p)
    numbers = (k, m - k, p, 1 - exact, m * exact - k)
    with np.errstate(all="ignore"):
        counts_and_rates = [np.array([float(number)]) for number in numbers]
        edge = _edge(counts_and_rates[0], np.array([size]), counts_and_rates[1])
        return float(_tail(np.array([size]), *counts_and_rates, edge, _CAREFUL)[0][0])


@calculator("k", "m", "p")
def binomial_tail(k: Any, m: Any, p: Any) -> Any:
    """Return ``P(Bin(m, p) <= k)``, the probability of at most `k` successes in `m` trials.

    Parameters
    ----------
    k, m : int or array
        ``0 <= k <= m`` and m at least 1.
    p : float in [0, 1], or array

    Returns
    -------
    value : float or ndarray
        An array where an argument is one; arrays broadcast.

    Examples
    --------
    >>> from mlcore.bounds import binomial_tail
    >>> round(binomial_tail(5, 100, 0.1), 12)
    0.057576886487
    """
    return math.exp(log_binomial_tail(k, m, p))


def log_factorial_excess(n: np.ndarray) -> np.ndarray:
    """Return ln n! - (n ln n - n) for integers n >= 0 without computing the large terms."""
    n = np.asarray(n, dtype=np.float64)
    large = np.maximum(n, 16.0)
    inverse = 1 / large / large
    series = np.zeros_like(large)
    for coefficient in reversed(_STIRLING):
        series = series * inverse + coefficient
    stirling = np.log(_ROOT_2_PI * np.sqrt(large)) + series / large
    return np.where(n < 16, _SMALL_FACTORIALS[np.minimum(n, 15).astype(np.intp)], stirling)


def log_choose(m: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return ln C(m, k) for 0 <= k < m, accurate for huge m."""
    return _entropy(k, m) + _edge(k, m, m - k)


def fair_tail_ratio(k: np.ndarray, m: np.ndarray) -> np.ndarray:
    """Return the sum of C(m, i) over i <= k, divided by C(m, k), for k < m / 2."""
    return _tail_ratio(k, m - k - 1, np.ones_like(m), m - 1 - 2 * k, _CAREFUL)


def largest_odds(k: np.ndarray, m: np.ndarray, log_delta: np.ndarray) -> np.ndarray:
    """Return the odds w at which ln P(Bin(m, w / (1 + w)) <= k) = log_delta, rounded up; 0 < k < m.

    One-dimensional arrays of one length; odds above 1e300 are returned as 1e300.
    """
    odds = np.empty_like(m)
    for start in range(0, len(m), _BLOCK):
        block = slice(start, start + _BLOCK)
        with np.errstate(all="ignore"):
            odds[block] = _solve(k[block], m[block], log_delta[block])
    return odds


def _solve(k, m, log_delta):
    target = log_delta * (1 + 2.0**-48)  # lower by the rounding of a tail
    edge = _edge(k, m, m - k)
    # (1 - p)^m <= tail <= C(m, k) (1 - p)^(m - k)
    least = np.fmin(np.expm1(-target / m), LARGEST_ODDS)
    most = np.fmin(np.expm1((_entropy(k, m) + edge - target) / (m - k)), LARGEST_ODDS)
    odds = np.fmax(np.fmin(_near_odds(k, m, target), most), least)
    result, left = np.empty_like(odds), np.arange(len(m))
    for rule in (_COARSE, *[_FINE] * 60):
        rest = 1 / (1 + odds)
        p = odds * rest
        lead = np.where(odds < 1, m * p - k, (m - k) - m * rest)
        log_tail, slope = _tail(m, k, m - k, p, rest, lead, edge, rule)
        step = (log_tail - target) / slope
        change = step * (slope + (k + 1) - (m + 1) * p)  # of the slope, relative to it
        if rule is _COARSE:  # Halley's step
            step /= np.maximum(1 + 0.5 * change, 0.5)
        after = np.fmax(np.fmin(odds * np.exp(np.fmin(step, 700.0)), most), least)
        if rule is _COARSE:
            odds = after
            continue
        done = (np.abs(step * change) < 1e-13) | ((after == most) & (odds == most))
        result[left] = odds = after
        if done.all():
            break
        keep = ~done
        left, odds, target = left[keep], odds[keep], target[keep]
        k, m, edge, least, most = k[keep], m[keep], edge[keep], least[keep], most[keep]
    return np.minimum(result * (1 + 2.0**-47), LARGEST_ODDS)


def _near_odds(k, m, log_delta):
    """Return about the odds wanted, by Abramowitz and Stegun 26.5.22 for a beta quantile."""
    a, b = k + 1, m - k
    y = ndtri_exp(log_delta)
    h = 2 / (1 / (2 * a - 1) + 1 / (2 * b - 1))
    skew = (y * y - 3) / 6
    w = y * np.sqrt(h + skew) / h
    w -= (1 / (2 * b - 1) - 1 / (2 * a - 1)) * (skew + 5 / 6 - 2 / (3 * h))
    return a / b * np.exp(-2 * w)


def _entropy(k, m):
    few = np.minimum(k, m - k)
    return xlogy(few, m / np.maximum(few, 1)) - (m - few) * np.log1p(-few / m)


def _edge(k, m, left):
    """Return ln C(m, k) minus m times the entropy of k / m; left = m - k."""
    return log_factorial_excess(m) - log_factorial_excess(k) - log_factorial_excess(left)


def _tail(m, k, left, p, rest, lead, edge, rule):
    """Return ln P(Bin <= k) and minus its slope in the log-odds.

    left = m - k, rest = 1 - p, lead = m p - k.
    """
    point = edge - deviance(k, m * p, lead) - deviance(left, m * rest, -lead)
    # Below the median, the other tail: at most m - k - 1 successes of probability 1 - p.
    other = 3 * lead < 2 - p
    odds = np.where(other, rest / p, p / rest)
    tilt = np.where(other, (p - lead) / rest, (lead - p) / p)
    successes, failures = np.where(other, (left - 1, k), (k, left - 1))
    ratio = _tail_ratio(successes, failures, odds, tilt, rule)
    # The probability of k + 1 is that of k times (m - k) p / ((k + 1) (1 - p)).
    below = ratio * (left * p / ((k + 1) * rest))
    log_tail = point + np.log(np.where(other, below, ratio))
    log_tail = np.where(other, np.log1p(-np.exp(log_tail)), log_tail)
    return log_tail, left * p * np.where(other, np.exp(point - log_tail), 1 / ratio)


def _tail_ratio(k, b, odds, tilt, rule):
    """Return R of the module docstring; b = m - k - 1, which a rounded m - k does not give.

    tilt = ((m - 1) p - k) / p is minus the slope at s = 0.
    """
    # The support ends where tilt s + b s²/2 + k phi(s / w) reaches rule.depth, or at 1, with
    # phi(x) >= x²/2 / (1 + 2x/3). In units of min(w, 1) no term overflows.
    unit = np.minimum(odds, 1.0)
    share, half = unit / odds, 0.5 * tilt * unit
    flat, curve = b * unit * unit, k * share * share
    width = np.zeros_like(odds)
    for _ in range(3):
        bend = flat + curve / (1 + width * share * (2 / 3))
        root = np.hypot(half, math.sqrt(rule.depth / 2) * np.sqrt(bend))
        width = np.minimum(rule.depth / (half + root), 1 / unit)
    share *= width
    width *= unit
    total = np.empty_like(odds)
    for start in range(0, len(k), _COLUMNS):
        c = slice(start, start + _COLUMNS)
        s, x = rule.nodes * -width[c], rule.nodes * share[c]
        if rule.careful:  # without the cancellation of large logarithms of opposite sign
            exponent = tilt[c] * s - k[c] * excess_over_log(x) - b[c] * excess_over_log(s)
        else:
            exponent = np.log1p(x, out=x)
            exponent *= k[c]
            exponent += np.multiply(np.log1p(s, out=s), b[c], out=s)
        values = np.exp(exponent, out=exponent)
        values *= rule.weights
        # The same order of summation for any number of columns: np.sum has another for one.
        total[c] = np.add.reduce(values) if values.shape[1] > 1 else np.cumsum(values)[-1]
    return (b + 1) * width * total
