"""Two classifiers on the same examples: only those that one of them gets wrong tell them apart."""

import math
from typing import Any

import numpy as np

from mlcore.bounds.arguments import as_count, as_delta
from mlcore.bounds.calculator import calculator
from mlcore.bounds.concentration.binomial_tail import binomial_tail
from mlcore.bounds.held_out.held_out import clopper_pearson

_OF_RATE = 0.2  # of delta, for the share of pairs that differ: near the shortest at 20 to 500 pairs


@calculator("b", "c")
def mcnemar_test(b: Any, c: Any) -> Any:
    r"""Exact p-value of McNemar's test that two classifiers err equally often.

    Of the examples that just one classifier gets wrong, the first is the one in b cases and the
    second in c. If both have the same true error, then given b + c each case is as likely as the
    other, so that b is binomial with probability 1/2: the p-value is
    :math:`\min(1, 2 P(\mathrm{Bin}(b + c, 1/2) \le \min(b, c)))`. It is at most alpha with
    probability at most alpha, at any sample size. Assumes independent examples that took no part in
    fitting or choosing either classifier.

    Parameters
    ----------
    b, c : int or array
        Examples that only the first gets wrong, and only the second; at least 0.

    Returns
    -------
    p_value : float or ndarray
        An array where an argument is one; arrays broadcast.

    References
    ----------
    Q. McNemar, *Note on the sampling error of the difference between correlated proportions or
    percentages*, Psychometrika 12, 1947.

    Examples
    --------
    >>> from mlcore.bounds import mcnemar_test
    >>> round(mcnemar_test(30, 15), 4)
    0.0357
    >>> mcnemar_test(0, 0)
    1.0
    """
    b, c = as_count(b, "b"), as_count(c, "c")
    return min(1.0, 2 * binomial_tail(min(b, c), b + c, 0.5)) if b + c else 1.0


@calculator("b", "c", "m", "delta")
def error_difference_interval(b: Any, c: Any, m: Any, delta: Any) -> tuple[Any, Any]:
    r"""Interval for the error of one classifier less that of another, from the same examples.

    With probability at least :math:`1 - \delta` it holds the difference of the true errors, which
    is :math:`q (2 \pi - 1)`, where q is the probability that just one of them is wrong, and
    :math:`\pi` that it is the first if so. Of m examples b + c differ, which is binomial with q,
    and given b + c, b is binomial with :math:`\pi`. The interval is the range of the product over
    the intervals of Clopper and Pearson for q, at :math:`\delta / 5`, and for :math:`\pi`, at
    :math:`4 \delta / 5`: both hold at once by a union bound. It leaves out 0 if and only if
    `mcnemar_test` is below :math:`4 \delta / 5`.

    Assumes independent examples that took no part in fitting or choosing either classifier.

    Parameters
    ----------
    b, c : int or array
        Examples that only the first gets wrong, and only the second; at least 0.
    m : int or array
        All examples, at least 1 and at least b + c.
    delta : float in (0, 1), or array
        Probability that either end fails.

    Returns
    -------
    lower, upper : float or ndarray
        An array where an argument is one; arrays broadcast.

    References
    ----------
    C. J. Clopper, E. S. Pearson, *The use of confidence or fiducial limits illustrated in the case
    of the binomial*, Biometrika 26, 1934.
    Q. McNemar, *Note on the sampling error of the difference between correlated proportions or
    percentages*, Psychometrika 12, 1947 (b is binomial given b + c).

    Examples
    --------
    >>> from mlcore.bounds import error_difference_interval
    >>> lower, upper = error_difference_interval(30, 15, 1000, 0.05)
    >>> round(lower, 5), round(upper, 5)
    (0.00021, 0.03947)
    """
    m, delta = as_count(m, "m", at_least=1), as_delta(delta)
    b = as_count(b, "b", at_most=m)
    c = as_count(c, "c", at_most=m - b)
    least, most = clopper_pearson(b + c, m, max(delta * _OF_RATE, 5e-324))
    first, last = clopper_pearson(b, b + c, delta * (1 - _OF_RATE)) if b + c else (0.0, 1.0)
    low, high = 2 * first - 1, 2 * last - 1
    lower = low * (least if low > 0 else most)
    upper = high * (most if high > 0 else least)
    # Two roundings, of the sum and of the product.
    return (
        max(-1.0, float(np.nextafter(lower - 2.0**-53 * (low < 0), -math.inf))),
        min(1.0, float(np.nextafter(upper + 2.0**-53 * (high > 0), math.inf))),
    )
