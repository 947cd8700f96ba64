"""Sauer's bound Phi_d(m) on the labellings of m points by a class of VC dimension d."""

import math
from decimal import Decimal
from typing import Any, Literal

import numpy as np

from mlcore.bounds.arguments import as_choice, as_count, refuse
from mlcore.bounds.calculator import calculator
from mlcore.bounds.concentration.binomial_tail import fair_tail_ratio, log_choose
from mlcore.bounds.directed_rounding import exact, log, log1p, up, working_digits

_ONE_BY_ONE = 2000  # terms that are added one by one, a microsecond each


@calculator("m", "vc_dimension")
def sauer_bound(m: Any, vc_dimension: Any) -> Any:
    r"""Return the largest number of labellings of `m` points by a class of VC dimension d.

    :math:`\Phi_d(m) = \sum_{i \le d} \binom{m}{i}`, exactly; :math:`2^m` if :math:`d \ge m`.

    Parameters
    ----------
    m, vc_dimension : int at least 0, or array
        The latter is d, also a name of it.

    Returns
    -------
    count : int or ndarray
        An array where an argument is one; arrays broadcast.

    References
    ----------
    N. Sauer, *On the density of families of sets*, Journal of Combinatorial Theory A 13, 1972.
    V. N. Vapnik, A. Ya. Chervonenkis, *On the uniform convergence of relative frequencies of events
    to their probabilities*, Theory of Probability and its Applications 16, 1971.

    Examples
    --------
    >>> from mlcore.bounds import sauer_bound
    >>> sauer_bound(20, 3)
    1351
    """
    m, d = as_count(m, "m"), as_count(vc_dimension, "vc_dimension")
    if d >= m:
        return 2**m
    total = term = 1
    for i in range(d):
        term = term * (m - i) // (i + 1)
        total += term
    return total


@calculator("m", "vc_dimension")
def log_sauer_bound(
    m: Any, vc_dimension: Any, *, method: Literal["sauer", "poly"] = "sauer"
) -> Any:
    r"""Return the natural logarithm of `sauer_bound`, or of a simpler bound above it.

    Parameters
    ----------
    m, vc_dimension : int at least 0, or array
        The latter is d, also a name of it.
    method : {"sauer", "poly"}, default="sauer"
        "poly" is :math:`d \ln(e m / d)`, for :math:`m \ge d \ge 1`: the growth is at most
        :math:`(e m / d)^d`.

    Returns
    -------
    value : float or ndarray
        Never below the exact value.
        An array where an argument is one; arrays broadcast.

    References
    ----------
    N. Sauer, *On the density of families of sets*, Journal of Combinatorial Theory A 13, 1972.
    A. Blumer, A. Ehrenfeucht, D. Haussler, M. K. Warmuth, *Learnability and the
    Vapnik-Chervonenkis dimension*, Journal of the ACM 36, 1989 (the polynomial form).

    Examples
    --------
    >>> from mlcore.bounds import log_sauer_bound
    >>> round(log_sauer_bound(10**6, 100), 9)
    1017.806830091
    """
    m, d = as_count(m, "m"), as_count(vc_dimension, "vc_dimension")
    with working_digits():
        if as_choice(method, "method", ("sauer", "poly")) == "sauer":
            return up(log_growth(m, d))
        if not m >= d >= 1:
            refuse("vc_dimension", d, f"an integer >= 1 and <= m={m}")
        return up(d * (1 + log(m) - log(d)))


def log_growth(m: int, d: int) -> Decimal:
    """Return ln Phi_d(m) inside `working_digits`; for large d above it, by a relative 1e-14."""
    if d >= m:
        return m * log(2)
    if d > _ONE_BY_ONE and m.bit_length() > 1023:
        return _log_growth_beyond_floats(m, d)
    if d <= _ONE_BY_ONE:
        total = term = Decimal(1)
        for i in range(d):
            term = term * (m - i) / (i + 1)
            total += term
        return total.ln()
    points, size = np.array([float(m)]), np.array([float(d)])
    # Phi_d(m) is 2^m times the tail of a fair coin: the largest term times the ratio of the tail.
    below = 2 * d < m
    top = size if below else points - size - 1
    with np.errstate(all="ignore"):
        logs = log_choose(points, top) + np.log(fair_tail_ratio(top, points))
    log_sum, slack = exact(float(logs[0])), exact(2.0**-46)
    if below:
        return log_sum * (1 + slack)
    return m * log(2) + log1p(-(log_sum * (1 - slack) - m * log(2)).exp())


def _log_growth_beyond_floats(m, d):
    """Return ln Phi_d(m) of m >= 2**1023 from above, by a relative 1e-14.

    Phi_d(m) <= C(m, d) (m - d + 1) / (m - 2 d + 1), with Robbins's form of Stirling's bounds.
    """
    if 2 * d >= m:
        return m * log(2)
    total, few, rest = exact(m), exact(d), exact(m - d)
    log_sum = few * (log(total) - log(few)) - rest * log1p(-few / total)
    log_sum += (log(total) - log(few) - log(rest) - log(math.tau)) / 2
    log_sum += 1 / (12 * total) - 1 / (12 * few + 1)
    log_sum += log(rest + 1) - log(exact(m - 2 * d + 1))
    return min(log_sum, total * log(2))


def largest_size(holds: Any, start: int = 1) -> int:
    """Return the largest integer at which a condition holds that is true from `start` up to it."""
    low, high = start, 2 * start
    while holds(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
