"""Sample sizes and deviations for finite classes, by a union bound over their hypotheses.

The hypotheses are fixed before the data.

Three settings. "realizable": some hypothesis makes no error, and every hypothesis that makes none
on the sample has error at most epsilon. "uniform": true and empirical error of every hypothesis
differ by at most epsilon. "agnostic": the hypothesis of least empirical error is within epsilon of
the best, since err(ĥ) <= emp(ĥ) + epsilon/2 <= emp(h*) + epsilon/2 <= err(h*) + epsilon. The same
statement is also printed with gamma = epsilon/2 and a factor 4 less in the sample size.
"""

import math
from typing import Any, Literal, get_args

from mlcore.bounds.arguments import (
    as_bool,
    as_choice,
    as_count,
    as_delta,
    as_positive,
    as_real,
    refuse,
)
from mlcore.bounds.calculator import calculator
from mlcore.bounds.directed_rounding import (
    at_least_one,
    at_most_one,
    ceiling,
    exact,
    expm1,
    log,
    log1p,
    up,
    working_digits,
)
from mlcore.bounds.held_out import binomial_tail_inversion

_Setting = Literal["realizable", "uniform", "agnostic"]
_SETTINGS = get_args(_Setting)


@calculator("n_hypotheses", "epsilon", "delta", "log_n", elementwise=True)
def finite_class_sample_size(
    n_hypotheses: Any,
    epsilon: Any,
    delta: Any,
    *,
    setting: _Setting = "realizable",
    tight: bool = False,
    log_n: Any = None,
) -> Any:
    r"""Number of examples that suffice to learn a class of N hypotheses.

    With probability at least :math:`1 - \delta` over m independent examples: if "realizable", every
    consistent hypothesis has error at most :math:`\epsilon`, for
    :math:`m = \lceil \ln(N / \delta) / \epsilon \rceil`; if "uniform", all empirical errors are
    within :math:`\epsilon` of the true ones, for
    :math:`m = \lceil \ln(2N / \delta) / (2 \epsilon^2) \rceil`; if "agnostic", the error of the
    empirically best hypothesis is within :math:`\epsilon` of the least, for
    :math:`m = \lceil 2 \ln(2N / \delta) / \epsilon^2 \rceil`.

    Parameters
    ----------
    n_hypotheses : int at least 1, an array of them, or None
        Fixed before the data are seen.
    epsilon : float above 0, and below 1 if realizable, or array
    delta : float in (0, 1), or array
        Probability that the bound fails.
    setting : {"realizable", "uniform", "agnostic"}, default="realizable"
    tight : bool, default=False
        Use :math:`-\ln(1 - \epsilon)` in place of :math:`\epsilon`, and N + 1 one-sided events in
        place of 2N in the agnostic setting.
    log_n : float at least 0, or array, optional
        ln N, in place of `n_hypotheses` (then None), for a huge N.

    Returns
    -------
    m : int or ndarray
        An array where an argument is one; arrays broadcast.

    References
    ----------
    A. Blumer, A. Ehrenfeucht, D. Haussler, M. K. Warmuth, *Occam's razor*, Information Processing
    Letters 24, 1987.
    D. Haussler, *Decision theoretic generalizations of the PAC model for neural net and other
    learning applications*, Information and Computation 100, 1992.

    Examples
    --------
    >>> from mlcore.bounds import finite_class_sample_size
    >>> finite_class_sample_size(1000, 0.1, 0.05)
    100
    >>> finite_class_sample_size(1000, 0.1, 0.05, setting="agnostic")
    2120
    >>> finite_class_sample_size(None, 0.1, 0.05, log_n=1e6)
    10000030
    """
    setting, tight = as_choice(setting, "setting", _SETTINGS), as_bool(tight, "tight")
    epsilon, delta = _deviation(epsilon, setting), as_delta(delta)
    with working_digits():
        total = _log_events(n_hypotheses, log_n, setting, tight) - log(delta)
        return at_least_one(ceiling(total / _exponent(epsilon, setting, tight)))


@calculator("n_hypotheses", "m", "delta", "log_n", elementwise=True)
def finite_class_epsilon(
    n_hypotheses: Any,
    m: Any,
    delta: Any,
    *,
    setting: _Setting = "realizable",
    tight: bool = False,
    log_n: Any = None,
) -> Any:
    r"""Accuracy that `m` examples guarantee in a class of N hypotheses.

    With probability at least :math:`1 - \delta` the statement of `finite_class_sample_size` holds
    with :math:`\ln(N / \delta) / m` if "realizable", :math:`\sqrt{\ln(2N / \delta) / (2m)}` if
    "uniform", and twice that if "agnostic".

    Parameters
    ----------
    n_hypotheses : int at least 1, an array of them, or None
        Fixed before the data are seen.
    m : int at least 1, or array
    delta : float in (0, 1), or array
        Probability that the bound fails.
    setting : {"realizable", "uniform", "agnostic"}, default="realizable"
    tight : bool, default=False
        Use :math:`1 - (\delta / N)^{1/m}`, and N + 1 in place of 2N in the agnostic setting.
    log_n : float at least 0, or array, optional
        ln N, in place of `n_hypotheses` (then None), for a huge N.

    Returns
    -------
    epsilon : float or ndarray
        At most 1 if realizable.
        An array where an argument is one; arrays broadcast.

    References
    ----------
    A. Blumer, A. Ehrenfeucht, D. Haussler, M. K. Warmuth, *Occam's razor*, Information Processing
    Letters 24, 1987.

    Examples
    --------
    >>> from mlcore.bounds import finite_class_epsilon
    >>> round(finite_class_epsilon(1000, 500, 0.05, setting="agnostic"), 12)
    0.205879913863
    """
    setting, tight = as_choice(setting, "setting", _SETTINGS), as_bool(tight, "tight")
    m, delta = as_count(m, "m", at_least=1), as_delta(delta)
    with working_digits():
        rate = (_log_events(n_hypotheses, log_n, setting, tight) - log(delta)) / m
        if setting == "realizable":
            return at_most_one(up(-expm1(-rate) if tight else rate))
        return up((rate / 2).sqrt() * (2 if setting == "agnostic" else 1))


@calculator("n_hypotheses", "epsilon", "m", "log_n", elementwise=True)
def finite_class_delta(
    n_hypotheses: Any,
    epsilon: Any,
    m: Any,
    *,
    setting: _Setting = "realizable",
    tight: bool = False,
    log_n: Any = None,
) -> Any:
    r"""Probability that the guarantee of `m` examples for a class of N hypotheses fails.

    The statement of `finite_class_sample_size` fails with probability at most
    :math:`N e^{-\epsilon m}` if "realizable", :math:`2N e^{-2 \epsilon^2 m}` if "uniform", and
    :math:`2N e^{-\epsilon^2 m / 2}` if "agnostic".

    Parameters
    ----------
    n_hypotheses : int at least 1, an array of them, or None
        Fixed before the data are seen.
    epsilon : float above 0, and below 1 if realizable, or array
    m : int at least 1, or array
    setting : {"realizable", "uniform", "agnostic"}, default="realizable"
    tight : bool, default=False
        Use :math:`N (1 - \epsilon)^m`, and N + 1 in place of 2N in the agnostic setting.
    log_n : float at least 0, or array, optional
        ln N, in place of `n_hypotheses` (then None), for a huge N.

    Returns
    -------
    delta : float or ndarray
        At most 1.
        An array where an argument is one; arrays broadcast.

    References
    ----------
    A. Blumer, A. Ehrenfeucht, D. Haussler, M. K. Warmuth, *Occam's razor*, Information Processing
    Letters 24, 1987.

    Examples
    --------
    >>> from mlcore.bounds import finite_class_delta
    >>> round(finite_class_delta(1000, 0.1, 100), 9)
    0.04539993
    """
    setting, tight = as_choice(setting, "setting", _SETTINGS), as_bool(tight, "tight")
    epsilon, m = _deviation(epsilon, setting), as_count(m, "m", at_least=1)
    with working_digits():
        total = _log_events(n_hypotheses, log_n, setting, tight)
        return at_most_one(up((total - m * _exponent(epsilon, setting, tight)).exp()))


@calculator("k", "m", "delta", "log_prior")
def occam_bound(k: Any, m: Any, delta: Any, *, log_prior: Any) -> Any:
    r"""Upper bound on the error rate of a hypothesis of given prior weight.

    With probability at least :math:`1 - \delta`, for all hypotheses h at once, the true error is at
    most `binomial_tail_inversion` of the k errors on the m training examples at
    :math:`\delta P(h)`. The weights P are fixed before the data and sum to at most 1; a description
    of b bits in a prefix-free code has :math:`\ln P = -b \ln 2`.

    Parameters
    ----------
    k, m : int or array
        Training errors and examples, ``0 <= k <= m`` and m at least 1.
    delta : float in (0, 1), or array
        Probability that the bound fails for some hypothesis.
    log_prior : float at most 0, or array
        ln P(h).

    Returns
    -------
    bound : float or ndarray
        An array where an argument is one; arrays broadcast.

    References
    ----------
    J. Langford, *Tutorial on practical prediction theory for classification*, JMLR 6, 2005,
    Theorem 4.1.

    Examples
    --------
    >>> from mlcore.bounds import occam_bound
    >>> round(occam_bound(5, 1000, 0.05, log_prior=-20.0), 12)
    0.035749126236
    """
    m = as_count(m, "m", at_least=1)
    k = as_count(k, "k", at_most=m)
    log_delta = math.log(as_delta(delta)) + as_real(log_prior, "log_prior", at_most=0)
    return binomial_tail_inversion(k, m, None, log_delta=log_delta)


@calculator("epsilon", "delta", "dim", elementwise=True)
def rectangle_sample_size(epsilon: Any, delta: Any, *, dim: Any = 2, tight: bool = False) -> Any:
    r"""Number of examples whose tightest box around the positive ones errs at most `epsilon`.

    The target is an unknown axis-parallel box in d dimensions. The 2d strips along its faces, each
    of mass :math:`\epsilon / (2d)`, are all hit with probability at least :math:`1 - \delta` by
    :math:`\lceil (2d / \epsilon) \ln(2d / \delta) \rceil` independent examples.

    Parameters
    ----------
    epsilon : float in (0, 1), or array
    delta : float in (0, 1), or array
        Probability that the bound fails.
    dim : int at least 1, or array, default=2
    tight : bool, default=False
        Use :math:`-\ln(1 - \epsilon / (2d))` in place of :math:`\epsilon / (2d)`.

    Returns
    -------
    m : int or ndarray
        An array where an argument is one; arrays broadcast.

    References
    ----------
    M. J. Kearns, U. V. Vazirani, *An Introduction to Computational Learning Theory*, 1994,
    section 1.1.

    Examples
    --------
    >>> from mlcore.bounds import rectangle_sample_size
    >>> rectangle_sample_size(0.1, 0.05)
    176
    """
    epsilon = as_real(epsilon, "epsilon", above=0, below=1)
    delta, dim = as_delta(delta), as_count(dim, "dim", at_least=1)
    tight = as_bool(tight, "tight")
    with working_digits():
        strip = exact(epsilon) / (2 * dim)
        rate = -log1p(-strip) if tight else strip
        return at_least_one(ceiling((log(2 * dim) - log(delta)) / rate))


@calculator("n_variables", "epsilon", "delta", elementwise=True)
def conjunction_sample_size(n_variables: Any, epsilon: Any, delta: Any) -> Any:
    r"""Number of examples with which consistent conjunctions have error at most `epsilon`.

    :math:`\lceil (n \ln 3 + \ln(1 / \delta)) / \epsilon \rceil`, since in a conjunction each of n
    Boolean variables is plain, negated or absent: a realizable class of :math:`3^n` hypotheses.

    Parameters
    ----------
    n_variables : int at least 1, or array
    epsilon : float in (0, 1), or array
    delta : float in (0, 1), or array
        Probability that the bound fails.

    Returns
    -------
    m : int or ndarray
        An array where an argument is one; arrays broadcast.

    References
    ----------
    L. G. Valiant, *A theory of the learnable*, Communications of the ACM 27, 1984.

    Examples
    --------
    >>> from mlcore.bounds import conjunction_sample_size
    >>> conjunction_sample_size(20, 0.1, 0.05)
    250
    """
    n = as_count(n_variables, "n_variables", at_least=1)
    epsilon, delta = as_real(epsilon, "epsilon", above=0, below=1), as_delta(delta)
    with working_digits():
        return at_least_one(ceiling((n * log(3) - log(delta)) / exact(epsilon)))


def _deviation(epsilon, setting):
    if setting == "realizable":
        return as_real(epsilon, "epsilon", above=0, below=1)
    return as_positive(epsilon, "epsilon")


def _log_events(n_hypotheses, log_n, setting, tight):
    """Return the logarithm of the number of events in the union bound: N, 2N or N + 1."""
    if (n_hypotheses is None) == (log_n is None):
        refuse("log_n", log_n, "given if n_hypotheses is None, and only then")
    if log_n is None:
        count = as_count(n_hypotheses, "n_hypotheses", at_least=1)
        total, one_more = log(count), log(count + 1)
    else:
        total = exact(as_real(log_n, "log_n", at_least=0))
        one_more = total + log1p((-total).exp())
    if setting == "realizable":
        return total
    return one_more if tight and setting == "agnostic" else total + log(2)


def _exponent(epsilon, setting, tight):
    """Return the exponent of the probability of one event, per example."""
    epsilon = exact(epsilon)
    if setting == "realizable":
        return -log1p(-epsilon) if tight else epsilon
    return 2 * epsilon**2 if setting == "uniform" else epsilon**2 / 2
