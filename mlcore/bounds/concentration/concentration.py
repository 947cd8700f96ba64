"""Hoeffding's inequality and others that need only the ranges of independent variables.

`*_epsilon` is the deviation that is exceeded with probability at most `delta`, `*_delta` the
probability of exceeding `epsilon`, `*_sample_size` the least number of variables that suffices. All
three come from one formula computed to fifty digits and rounded once, so they agree exactly.
"""

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from mlcore.bounds.arguments import (
    as_bool,
    as_count,
    as_delta,
    as_positive,
    as_reals,
    is_single,
    refuse,
)
from mlcore.bounds.calculator import calculator, warn_of_confidence
from mlcore.bounds.directed_rounding import (
    at_least_one,
    at_most_one,
    ceiling,
    exact,
    log,
    up,
    working_digits,
)


@calculator("m", "delta", elementwise=True)
def hoeffding_epsilon(m: Any, delta: Any, *, value_range: Any = 1.0, two_sided: bool = True) -> Any:
    r"""Deviation of an average from its expectation, by Hoeffding's inequality.

    With probability at least :math:`1 - \delta`, the average of m independent variables, each in an
    interval of length R, is within :math:`R \sqrt{\ln(c / \delta) / (2m)}` of its expectation; c is
    2, or 1 if only one direction is asked for. For unequal lengths :math:`m R^2` becomes
    :math:`\sum R_i^2`.

    Parameters
    ----------
    m : int at least 1, or array
    delta : float in (0, 1), or array
        Probability that the bound fails.
    value_range : float above 0, or m of them, default=1.0
        Lengths of the intervals, known beforehand.
    two_sided : bool, default=True
        True for deviations in both directions.

    Returns
    -------
    epsilon : float or ndarray
        An array where an argument is one; arrays broadcast.

    References
    ----------
    W. Hoeffding, *Probability inequalities for sums of bounded random variables*, Journal of the
    American Statistical Association 58, 1963, Theorem 2.

    Examples
    --------
    >>> from mlcore.bounds import hoeffding_epsilon
    >>> round(hoeffding_epsilon(1000, 0.05), 12)
    0.042946940835
    """
    sides = 2 if as_bool(two_sided, "two_sided") else 1
    m, delta = as_count(m, "m", at_least=1), as_delta(delta)
    with working_digits():
        return up(((log(sides) - log(delta)) * _mean_square(value_range, m) / (2 * m)).sqrt())


@calculator("epsilon", "m", elementwise=True)
def hoeffding_delta(epsilon: Any, m: Any, *, value_range: Any = 1.0, two_sided: bool = True) -> Any:
    r"""Probability that an average deviates by `epsilon` or more, by Hoeffding's inequality.

    At most :math:`c \exp(-2 m \epsilon^2 / R^2)` for m independent variables in intervals of length
    R, where c is 2, or 1 for one direction; for unequal lengths
    :math:`c \exp(-2 m^2 \epsilon^2 / \sum R_i^2)`, with :math:`m^2`.

    Parameters
    ----------
    epsilon : float above 0, or array
    m : int at least 1, or array
    value_range : float above 0, or m of them, default=1.0
        Lengths of the intervals, known beforehand.
    two_sided : bool, default=True
        True for deviations in both directions.

    Returns
    -------
    delta : float or ndarray
        At most 1.
        An array where an argument is one; arrays broadcast.

    References
    ----------
    W. Hoeffding, *Probability inequalities for sums of bounded random variables*, Journal of the
    American Statistical Association 58, 1963, Theorem 2.

    Examples
    --------
    >>> from mlcore.bounds import hoeffding_delta
    >>> round(hoeffding_delta(0.05, 1000), 9)
    0.013475894
    """
    epsilon, m = as_positive(epsilon, "epsilon"), as_count(m, "m", at_least=1)
    sides = 2 if as_bool(two_sided, "two_sided") else 1
    with working_digits():
        exponent = 2 * m * exact(epsilon) ** 2 / _mean_square(value_range, m)
        return at_most_one(up(sides * (-exponent).exp()))


@calculator("epsilon", "delta", "value_range", elementwise=True)
def hoeffding_sample_size(
    epsilon: Any, delta: Any, *, value_range: Any = 1.0, two_sided: bool = True
) -> Any:
    r"""Number of variables whose average is within `epsilon`, by Hoeffding's inequality.

    The least m with :math:`c \exp(-2 m \epsilon^2 / R^2) \le \delta`, that is
    :math:`\lceil R^2 \ln(c / \delta) / (2 \epsilon^2) \rceil`.

    Parameters
    ----------
    epsilon : float above 0, or array
    delta : float in (0, 1), or array
        Probability that the bound fails.
    value_range : float above 0, or array, default=1.0
        Length of the interval of every variable.
    two_sided : bool, default=True
        True for deviations in both directions.

    Returns
    -------
    m : int or ndarray
        An array where an argument is one; arrays broadcast.

    References
    ----------
    W. Hoeffding, *Probability inequalities for sums of bounded random variables*, Journal of the
    American Statistical Association 58, 1963, Theorem 2.

    Examples
    --------
    >>> from mlcore.bounds import hoeffding_sample_size
    >>> hoeffding_sample_size(0.05, 0.05)
    738
    """
    epsilon, delta = as_positive(epsilon, "epsilon"), as_delta(delta)
    length = as_positive(value_range, "value_range")
    sides = 2 if as_bool(two_sided, "two_sided") else 1
    with working_digits():
        rate = (exact(length) / exact(epsilon)) ** 2
        return at_least_one(ceiling(rate * (log(sides) - log(delta)) / 2))


@calculator("delta", elementwise=True)
def mcdiarmid_epsilon(c: Iterable[float], delta: Any) -> Any:
    r"""Deviation of a function of independent variables from its expectation, one-sided.

    If changing the i-th variable alone changes the function by at most :math:`c_i`, then with
    probability at least :math:`1 - \delta` it exceeds its expectation by at most
    :math:`\sqrt{\sum c_i^2 \ln(1 / \delta) / 2}`.

    Parameters
    ----------
    c : sequence of float at least 0
        One for every variable.
    delta : float in (0, 1), or array
        Probability that the bound fails.

    Returns
    -------
    epsilon : float or ndarray
        An array where an argument is one; arrays broadcast.

    References
    ----------
    C. McDiarmid, *On the method of bounded differences*, Surveys in Combinatorics, 1989.

    Examples
    --------
    >>> from mlcore.bounds import mcdiarmid_epsilon
    >>> round(mcdiarmid_epsilon([0.001] * 1000, 0.05), 9)
    0.038702276
    """
    squares = _sum_of_squares(as_reals(c, "c", at_least=0), "c")
    delta = as_delta(delta)
    with working_digits():
        return up((squares * -log(delta) / 2).sqrt())


@calculator("m", "delta", elementwise=True)
def dkw_epsilon(m: Any, delta: Any) -> Any:
    r"""Largest distance between a distribution function and the empirical one.

    With probability at least :math:`1 - \delta`, the empirical distribution function of m
    independent draws is within :math:`\sqrt{\ln(2 / \delta) / (2m)}` of the true one at all points
    at once.

    Parameters
    ----------
    m : int at least 1, or array
    delta : float in (0, 1), or array
        Probability that the bound fails.

    Returns
    -------
    epsilon : float or ndarray
        An array where an argument is one; arrays broadcast.

    References
    ----------
    A. Dvoretzky, J. Kiefer, J. Wolfowitz, *Asymptotic minimax character of the sample distribution
    function and of the classical multinomial estimator*, Annals of Mathematical Statistics 27,
    1956.
    P. Massart, *The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality*, Annals of
    Probability 18, 1990.

    Examples
    --------
    >>> from mlcore.bounds import dkw_epsilon
    >>> round(dkw_epsilon(1000, 0.05), 12)
    0.042946940835
    """
    m, delta = as_count(m, "m", at_least=1), as_delta(delta)
    with working_digits():
        return up(((log(2) - log(delta)) / (2 * m)).sqrt())


def union_bound(deltas: Iterable[float]) -> float:
    r"""Probability that at least one of several statements fails: at most the sum, and at most 1.

    Parameters
    ----------
    deltas : iterable of float in (0, 1)
        Probability that each fails; they need not be independent.

    Returns
    -------
    delta : float
        A probability.

    Examples
    --------
    >>> from mlcore.bounds import union_bound
    >>> union_bound([0.25, 0.5])
    0.75
    """
    if not isinstance(deltas, Iterable) or isinstance(deltas, (str, bytes)):
        refuse("deltas", deltas, "a sequence of numbers > 0 and < 1")
    checked = [as_delta(delta, f"deltas[{i}]") for i, delta in enumerate(deltas)]
    total = sum(map(Fraction, checked), Fraction(0))
    nearest = float(total)
    warn_of_confidence(max(checked, default=0.0), "deltas")
    return min(1.0, nearest if nearest >= total else math.nextafter(nearest, 1))


def _mean_square(value_range, m):
    """Return R², or the mean of R_i², as a Decimal."""
    if is_single(value_range):
        return exact(as_positive(value_range, "value_range")) ** 2
    ranges = as_reals(value_range, "value_range", above=0)
    if ranges.shape != (m,):
        refuse("value_range", value_range, f"one number > 0, or m={m} of them")
    return _sum_of_squares(ranges, "value_range") / m


def _sum_of_squares(values, name):
    if values.ndim > 1 or values.size == 0:
        refuse(name, values.tolist(), "a sequence of at least one number")
    largest = float(values.max())
    if largest == 0:
        return Decimal(0)
    scaled = values.ravel() / largest
    # A quotient, its square and the sum are each rounded once; the last factor covers all three.
    return exact(largest) ** 2 * exact(math.fsum(scaled * scaled)) * (1 + exact(2.0**-50))
