"""Uniform deviation of true and empirical errors over a class of VC dimension d.

All bounds need i.i.d. examples and a class that is fixed before the data; Phi is `sauer_bound`.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Literal, get_args

from mlcore.bounds.arguments import as_choice, as_count, as_delta, as_real, refuse
from mlcore.bounds.calculator import calculator
from mlcore.bounds.directed_rounding import exact, log, up, working_digits
from mlcore.bounds.vc.sauer import log_growth as log_sauer

_Deviation = Literal["vc", "vapnik", "parrondo", "devroye", "rademacher"]
_DEVIATIONS = get_args(_Deviation)


@calculator("m", "vc_dimension", "delta")
def vc_deviation(
    m: Any,
    vc_dimension: Any,
    delta: Any,
    *,
    method: _Deviation,
    log_growth: Callable[[int], float] | None = None,
) -> Any:
    r"""Largest difference of true and empirical errors in a class of VC dimension d.

    With probability at least :math:`1 - \delta` over `m` examples, no hypothesis deviates by more
    than

    - "vc": :math:`\sqrt{8 (\ln \Phi_d(2m) + \ln(4 / \delta)) / m}`;
    - "vapnik": :math:`1/m + \sqrt{(\ln \Phi_d(2m) + \ln(4 / \delta)) / m}`, where the term 1/m,
      often left out, belongs to what is proved;
    - "parrondo": :math:`1/m + \sqrt{1/m^2 + (\ln \Phi_d(2m) + \ln(6 / \delta)) / m}`;
    - "devroye": :math:`(2 + \sqrt{4 + (2m - 4) L}) / (2m - 4)` with
      :math:`L = \ln \Phi_d(m^2) + \ln(4 / \delta)`, for :math:`m \ge 3`, the root of
      :math:`4 e^{4 \epsilon + 4 \epsilon^2} \Phi_d(m^2) e^{-2 m \epsilon^2} = \delta`;
    - "rademacher": :math:`\sqrt{2 \ln \Phi_d(m) / m} + \sqrt{\ln(1 / \delta) / (2m)}`, for the
      excess of the true error only.

    Parameters
    ----------
    m : int at least 1, or array
    vc_dimension : int at least 1, an array of them, or None
        d, also a name of it.
    delta : float in (0, 1), or array
        Probability that the bound fails.
    method : {"vc", "vapnik", "parrondo", "devroye", "rademacher"}
    log_growth : callable, optional
        A function of n that is at least the logarithm of the number of labellings of any n points,
        in place of `vc_dimension` (which is then None).

    Returns
    -------
    epsilon : float or ndarray
        An array where an argument is one; arrays broadcast.

    References
    ----------
    V. N. Vapnik, A. Ya. Chervonenkis, *On the uniform convergence of relative frequencies of events
    to their probabilities*, Theory of Probability and its Applications 16, 1971.
    V. N. Vapnik, *Statistical Learning Theory*, 1998, chapter 4.
    J. M. R. Parrondo, C. Van den Broeck, *Vapnik-Chervonenkis bounds for generalization*, Journal
    of Physics A 26, 1993.
    L. Devroye, *Bounds for the uniform deviation of empirical measures*, Journal of Multivariate
    Analysis 12, 1982.
    M. Mohri, A. Rostamizadeh, A. Talwalkar, *Foundations of Machine Learning*, 2nd ed., 2018,
    Corollary 3.9 ("rademacher").

    Examples
    --------
    >>> from mlcore.bounds import vc_deviation
    >>> round(vc_deviation(10_000, 3, 0.05, method="devroye"), 12)
    0.053888532836
    """
    method = as_choice(method, "method", _DEVIATIONS)
    m, delta = as_count(m, "m", at_least=3 if method == "devroye" else 1), as_delta(delta)
    with working_digits():
        return up(_deviation(m, _growth_of(vc_dimension, log_growth), log(delta), method))


@calculator("k", "m", "vc_dimension", "delta")
def vc_error_bound(
    k: Any,
    m: Any,
    vc_dimension: Any,
    delta: Any,
    *,
    method: Literal["relative", "double_sampling"] | _Deviation = "relative",
) -> Any:
    r"""Upper bound on the true error of a hypothesis with `k` errors on its `m` training examples.

    With probability at least :math:`1 - \delta`, for all hypotheses of a class of VC dimension d
    at once. "relative": :math:`\hat r + 2A + 2 \sqrt{A^2 + A \hat r}` with :math:`\hat r = k/m` and
    :math:`A = (\ln \Phi_d(2m) + \ln(4 / \delta)) / m`, which is of order 1/m for few errors.
    "double_sampling", for k = 0: :math:`(2/m)(\log_2 \Phi_d(2m) + \log_2(2 / \delta))`. A method of
    `vc_deviation`: :math:`\hat r` plus that.

    Parameters
    ----------
    k, m : int or array
        Training errors and examples, ``0 <= k <= m`` and m at least 1.
    vc_dimension : int at least 1, or array
        d, also a name of it.
    delta : float in (0, 1), or array
        Probability that the bound fails.
    method : {"relative", "double_sampling", "vc", "vapnik", "parrondo", "devroye", "rademacher"}

    Returns
    -------
    bound : float or ndarray
        At most 1.
        An array where an argument is one; arrays broadcast.

    References
    ----------
    V. N. Vapnik, *Statistical Learning Theory*, 1998, equation (4.41).
    M. Anthony, J. Shawe-Taylor, *A result of Vapnik with applications*, Discrete Applied
    Mathematics 47, 1993.
    A. Blumer, A. Ehrenfeucht, D. Haussler, M. K. Warmuth, *Learnability and the
    Vapnik-Chervonenkis dimension*, Journal of the ACM 36, 1989 (double sampling).

    Examples
    --------
    >>> from mlcore.bounds import vc_error_bound
    >>> round(vc_error_bound(100, 10_000, 3, 0.05), 12)
    0.029534410966
    """
    method = as_choice(method, "method", ("relative", "double_sampling", *_DEVIATIONS))
    m = as_count(m, "m", at_least=3 if method == "devroye" else 1)
    k = as_count(k, "k", at_most=0 if method == "double_sampling" else m)
    d, delta = as_count(vc_dimension, "vc_dimension", at_least=1), as_delta(delta)
    with working_digits():
        if method == "double_sampling":
            total = log_sauer(2 * m, d) + log(2) - log(delta)
            return min(1.0, up(2 * total / (m * log(2))))
        rate = Decimal(k) / m
        if method != "relative":
            return min(1.0, up(rate + _deviation(m, _growth_of(d, None), log(delta), method)))
        a = (log_sauer(2 * m, d) + log(4) - log(delta)) / m
        return min(1.0, up(rate + 2 * a + 2 * (a * a + a * rate).sqrt()))


def _growth_of(d, bound):
    """Return the logarithm of the growth function, from a VC dimension or from the caller."""
    if (d is None) == (bound is None):
        refuse("log_growth", bound, "given if vc_dimension is None, and only then")
    if bound is None:
        d = as_count(d, "vc_dimension", at_least=1)
        return lambda n: log_sauer(n, d)
    if not callable(bound):
        refuse("log_growth", bound, "a function of the number of points")
    return lambda n: exact(as_real(bound(n), f"log_growth({n})", at_least=0))


def _deviation(m, growth, log_delta, method):
    if method == "vc":
        return (8 * (growth(2 * m) + log(4) - log_delta) / m).sqrt()
    if method == "vapnik":
        return Decimal(1) / m + ((growth(2 * m) + log(4) - log_delta) / m).sqrt()
    if method == "parrondo":
        step = Decimal(1) / m
        return step + (step * step + (growth(2 * m) + log(6) - log_delta) / m).sqrt()
    if method == "devroye":
        n = 2 * m - 4
        return (2 + (4 + n * (growth(m * m) + log(4) - log_delta)).sqrt()) / n
    return (2 * growth(m) / m).sqrt() + (-log_delta / (2 * m)).sqrt()
