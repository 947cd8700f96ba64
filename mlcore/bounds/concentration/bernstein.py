"""Bernstein's, Bennett's and Chernoff's inequalities: deviations bounded by variance and range.

All are related to Bennett's, whose exponent is (1 + u) ln(1 + u) - u.
"""

from decimal import Decimal
from typing import Any, Literal, get_args

from mlcore.bounds.arguments import (
    as_bool,
    as_choice,
    as_count,
    as_delta,
    as_positive,
    as_real,
)
from mlcore.bounds.calculator import calculator
from mlcore.bounds.directed_rounding import (
    at_least_one,
    at_most_one,
    ceiling,
    exact,
    log,
    log1p,
    up,
    working_digits,
)

_Tail = Literal["upper", "lower"]
_Form = Literal["exact", "simple"]


@calculator("t", "mu", elementwise=True)
def chernoff_delta(t: Any, mu: Any, *, tail: _Tail, form: _Form = "exact") -> Any:
    r"""Probability that a sum reaches 1 + t or 1 - t times its expectation, by Chernoff's bound.

    For a sum of independent variables in [0, 1] of expectation :math:`\mu`:
    :math:`P(\sum X \ge (1 + t) \mu) \le \exp(-\mu ((1 + t) \ln(1 + t) - t))` and, for
    :math:`t \le 1`, :math:`P(\sum X \le (1 - t) \mu) \le \exp(-\mu ((1 - t) \ln(1 - t) + t))`.
    The simple forms are :math:`\exp(-\mu t^2 / (2 + t))` and :math:`\exp(-\mu t^2 / 2)`.

    Parameters
    ----------
    t : float above 0, or array, at most 1 for the lower tail
    mu : float above 0, or array
        Expectation of the sum.
    tail : {"upper", "lower"}
    form : {"exact", "simple"}, default="exact"

    Returns
    -------
    delta : float or ndarray
        An array where an argument is one; arrays broadcast.

    References
    ----------
    H. Chernoff, *A measure of asymptotic efficiency for tests of a hypothesis based on the sum of
    observations*, Annals of Mathematical Statistics 23, 1952.
    D. Angluin, L. G. Valiant, *Fast probabilistic algorithms for Hamiltonian circuits and
    matchings*, Journal of Computer and System Sciences 18, 1979 (the multiplicative form).

    Examples
    --------
    >>> from mlcore.bounds import chernoff_delta
    >>> chernoff_delta(0.5, 100.0, tail="lower", form="simple") < 3.73e-6
    True
    """
    tail, form = as_choice(tail, "tail", get_args(_Tail)), as_choice(form, "form", get_args(_Form))
    t = as_real(t, "t", above=0, at_most=1 if tail == "lower" else None)
    mu = as_positive(mu, "mu")
    with working_digits():
        t, mu = exact(t), exact(mu)
        if form == "simple":
            rate = t * t / (2 + t if tail == "upper" else 2)
        else:
            rate = _bennett_rate(t if tail == "upper" else -t)
        return at_most_one(up((-mu * rate).exp()))


@calculator("mu", "delta")
def chernoff_deviation(mu: Any, delta: Any, *, tail: _Tail, form: _Form = "exact") -> Any:
    r"""Relative deviation t of a sum that is reached with probability at most `delta`.

    The t at which `chernoff_delta` is `delta`. For the lower tail it is at most 1, because a sum
    of non-negative variables is not negative.

    Parameters
    ----------
    mu : float above 0, or array
        Expectation of the sum.
    delta : float in (0, 1), or array
        Probability that the bound fails.
    tail : {"upper", "lower"}
    form : {"exact", "simple"}, default="exact"

    Returns
    -------
    t : float or ndarray
        An array where an argument is one; arrays broadcast.

    References
    ----------
    H. Chernoff, *A measure of asymptotic efficiency for tests of a hypothesis based on the sum of
    observations*, Annals of Mathematical Statistics 23, 1952.

    Examples
    --------
    >>> from mlcore.bounds import chernoff_deviation
    >>> round(chernoff_deviation(100.0, 0.05, tail="upper"), 9)
    0.254569002
    """
    mu, delta = as_positive(mu, "mu"), as_delta(delta)
    tail, form = as_choice(tail, "tail", get_args(_Tail)), as_choice(form, "form", get_args(_Form))
    with working_digits():
        c = -log(delta) / exact(mu)
        if tail == "upper":
            simple = (c + (c * c + 8 * c).sqrt()) / 2
        else:
            simple = min(Decimal(1), (2 * c).sqrt())
        if form == "simple":
            return up(simple)
        if tail == "lower" and c >= 1:
            return 1.0
        return up(_bennett_root(c, simple) if tail == "upper" else -_bennett_root(c, -simple))


@calculator("m", "delta", "variance", "value_range", elementwise=True)
def bernstein_epsilon(
    m: Any, delta: Any, variance: Any, value_range: Any = 1.0, *, two_sided: bool = False
) -> Any:
    r"""Deviation of an average from its expectation, by Bernstein's inequality.

    With probability at least :math:`1 - \delta`, the average of m independent variables of variance
    at most :math:`\sigma^2` that exceed their expectation by at most b exceeds its own by at most
    :math:`a + \sqrt{a^2 + 2 \sigma^2 L / m}`, where :math:`a = b L / (3m)` and
    :math:`L = \ln(1 / \delta)`, or :math:`\ln(2 / \delta)` for both directions. This is the exact
    root of `bernstein_delta`.

    Parameters
    ----------
    m : int at least 1, or array
    delta : float in (0, 1), or array
        Probability that the bound fails.
    variance : float at least 0, or array
        True variance, or an upper bound known beforehand.
    value_range : float above 0, or array, default=1.0
        b, a bound on X - E X, and on its absolute value if two-sided.
    two_sided : bool, default=False
        True for deviations in both directions.

    Returns
    -------
    epsilon : float or ndarray
        An array where an argument is one; arrays broadcast.

    References
    ----------
    S. Bernstein, *The Theory of Probabilities*, Moscow, 1946.

    Examples
    --------
    >>> from mlcore.bounds import bernstein_epsilon
    >>> round(bernstein_epsilon(1000, 0.05, 0.01), 12)
    0.008803178782
    """
    m, delta = as_count(m, "m", at_least=1), as_delta(delta)
    variance, b = _variance(variance), as_positive(value_range, "value_range")
    sides = 2 if as_bool(two_sided, "two_sided") else 1
    with working_digits():
        total = log(sides) - log(delta)
        a = exact(b) * total / (3 * m)
        return up(a + (a * a + 2 * exact(variance) * total / m).sqrt())


@calculator("epsilon", "m", "variance", "value_range", elementwise=True)
def bernstein_delta(epsilon: Any, m: Any, variance: Any, value_range: Any = 1.0) -> Any:
    r"""Probability that an average exceeds its expectation by `epsilon`, by Bernstein's inequality.

    At most :math:`\exp(-m \epsilon^2 / (2 (\sigma^2 + b \epsilon / 3)))` for m independent
    variables of variance at most :math:`\sigma^2` that exceed their expectation by at most b.

    Parameters
    ----------
    epsilon : float above 0, or array
    m : int at least 1, or array
    variance : float at least 0, or array
        True variance, or an upper bound known beforehand.
    value_range : float above 0, or array, default=1.0
        b, a bound on X - E X.

    Returns
    -------
    delta : float or ndarray
        An array where an argument is one; arrays broadcast.

    References
    ----------
    S. Bernstein, *The Theory of Probabilities*, Moscow, 1946.

    Examples
    --------
    >>> from mlcore.bounds import bernstein_delta
    >>> round(bernstein_delta(0.02, 1000, 0.01), 9)
    6.144e-06
    """
    epsilon, m = as_positive(epsilon, "epsilon"), as_count(m, "m", at_least=1)
    variance, b = _variance(variance), as_positive(value_range, "value_range")
    with working_digits():
        return at_most_one(up((-m / _bernstein_scale(epsilon, variance, b)).exp()))


@calculator("epsilon", "delta", "variance", "value_range", elementwise=True)
def bernstein_sample_size(epsilon: Any, delta: Any, variance: Any, value_range: Any = 1.0) -> Any:
    r"""Number of variables whose average is within `epsilon`, by Bernstein's inequality.

    The least m at which `bernstein_delta` is at most `delta`:
    :math:`\lceil 2 (\sigma^2 + b \epsilon / 3) \ln(1 / \delta) / \epsilon^2 \rceil`.

    Parameters
    ----------
    epsilon : float above 0, or array
    delta : float in (0, 1), or array
        Probability that the bound fails.
    variance : float at least 0, or array
        True variance, or an upper bound known beforehand.
    value_range : float above 0, or array, default=1.0
        b, a bound on X - E X.

    Returns
    -------
    m : int or ndarray
        An array where an argument is one; arrays broadcast.

    References
    ----------
    S. Bernstein, *The Theory of Probabilities*, Moscow, 1946.

    Examples
    --------
    >>> from mlcore.bounds import bernstein_sample_size
    >>> bernstein_sample_size(0.02, 0.05, 0.01)
    250
    """
    epsilon, delta = as_positive(epsilon, "epsilon"), as_delta(delta)
    variance, b = _variance(variance), as_positive(value_range, "value_range")
    with working_digits():
        return at_least_one(ceiling(-log(delta) * _bernstein_scale(epsilon, variance, b)))


@calculator("epsilon", "m", "variance", "value_range")
def bennett_delta(epsilon: Any, m: Any, variance: Any, value_range: Any = 1.0) -> Any:
    r"""Probability that an average exceeds its expectation by `epsilon`, by Bennett's inequality.

    At most :math:`\exp(-(m \sigma^2 / b^2) ((1 + u) \ln(1 + u) - u))` with
    :math:`u = b \epsilon / \sigma^2`, for m independent variables of variance at most
    :math:`\sigma^2` that exceed their expectation by at most b. Never above `bernstein_delta`.

    Parameters
    ----------
    epsilon : float above 0, or array
    m : int at least 1, or array
    variance : float at least 0, or array
        True variance, or an upper bound known beforehand.
    value_range : float above 0, or array, default=1.0
        b, a bound on X - E X.

    Returns
    -------
    delta : float or ndarray
        An array where an argument is one; arrays broadcast.

    References
    ----------
    G. Bennett, *Probability inequalities for the sum of independent random variables*, Journal of
    the American Statistical Association 57, 1962.

    Examples
    --------
    >>> from mlcore.bounds import bennett_delta, bernstein_delta
    >>> bennett_delta(0.02, 1000, 0.01) < bernstein_delta(0.02, 1000, 0.01)
    True
    """
    epsilon, m = as_positive(epsilon, "epsilon"), as_count(m, "m", at_least=1)
    variance, b = _variance(variance), as_positive(value_range, "value_range")
    if variance == 0:
        return 0.0
    with working_digits():
        variance, b = exact(variance), exact(b)
        rate = _bennett_rate(b * exact(epsilon) / variance)
        return at_most_one(up((-m * variance / (b * b) * rate).exp()))


@calculator("m", "delta", "sample_variance", "value_range", elementwise=True)
def empirical_bernstein_epsilon(
    m: Any, delta: Any, sample_variance: Any, *, value_range: Any = 1.0
) -> Any:
    r"""Deviation of an average from its expectation, by the variance of the sample.

    With probability at least :math:`1 - \delta`, the expectation of independent variables in an
    interval of length R exceeds their average by at most
    :math:`\sqrt{2 V \ln(2 / \delta) / m} + 7 R \ln(2 / \delta) / (3 (m - 1))`, where V is the
    unbiased variance of the sample (divisor m - 1). One-sided.

    Parameters
    ----------
    m : int at least 2, or array
    delta : float in (0, 1), or array
        Probability that the bound fails.
    sample_variance : float at least 0, or array
        Unbiased variance, with divisor m - 1.
    value_range : float above 0, or array, default=1.0
        Length of the interval of every variable.

    Returns
    -------
    epsilon : float or ndarray
        An array where an argument is one; arrays broadcast.

    References
    ----------
    A. Maurer, M. Pontil, *Empirical Bernstein bounds and sample variance penalization*, COLT 2009,
    Theorem 4.

    Examples
    --------
    >>> from mlcore.bounds import empirical_bernstein_epsilon
    >>> round(empirical_bernstein_epsilon(1000, 0.05, 0.01), 12)
    0.017205389561
    """
    m, delta = as_count(m, "m", at_least=2), as_delta(delta)
    variance = _variance(sample_variance, "sample_variance")
    length = as_positive(value_range, "value_range")
    with working_digits():
        total = log(2) - log(delta)
        slack = 7 * exact(length) * total / (3 * (m - 1))
        return up((2 * exact(variance) * total / m).sqrt() + slack)


def _variance(value, name="variance"):
    return as_real(value, name, at_least=0)


def _bernstein_scale(epsilon, variance, b):
    epsilon = exact(epsilon)
    return 2 * (exact(variance) + exact(b) * epsilon / 3) / (epsilon * epsilon)


def _bennett_rate(u):
    """Return (1 + u) ln(1 + u) - u for u >= -1, accurate for tiny u."""
    if abs(u) < Decimal("1e-6"):  # the sum of (-u)^j / (j (j - 1)), to forty digits
        return sum((-u) ** j / (j * (j - 1)) for j in range(2, 10))
    if u == -1:
        return Decimal(1)
    return (1 + u) * (1 + u).ln() - u


def _bennett_root(c, u):
    """Return the root of rate = c by Newton's method from u, of its sign and with rate(u) >= c."""
    if u == -1:  # where the slope is infinite: start between there and the root
        u = (1 - c) ** 2 / 4 - 1
    while True:
        step = (_bennett_rate(u) - c) / log1p(u)
        u -= step
        # Where u is small, cancellation leaves steps of 1e-38; the error is the square of a step.
        if abs(step) <= abs(u) * Decimal("1e-30"):
            return u
