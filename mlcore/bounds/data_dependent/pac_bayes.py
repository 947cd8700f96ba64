"""PAC-Bayes bounds on the risk of a classifier drawn from a posterior distribution."""

from decimal import Decimal
from typing import Any, Literal

from mlcore.bounds.arguments import (
    as_choice,
    as_count,
    as_delta,
    as_positive,
    as_rate,
    as_real,
    as_reals,
    refuse,
)
from mlcore.bounds.calculator import calculator
from mlcore.bounds.concentration.bernoulli_kl import kl_inverse_upper
from mlcore.bounds.directed_rounding import exact, expm1, log, up, working_digits

_SERIES_FROM = 1_000_000  # from here the terms left out of Ramanujan's series are a relative 1e-20
_NEGLIGIBLE = Decimal("1e-30")
_PI = Decimal("3.14159265358979323846264338327950288419716939937510")


@calculator("m")
def maurer_xi(m: Any) -> Any:
    r"""Return the constant of the PAC-Bayes bound on relative entropies.

    .. math:: \xi(m) = \sum_{j = 0}^m \binom m j \left( \frac j m \right)^j
                       \left( 1 - \frac j m \right)^{m - j},

    which is at most :math:`2 \sqrt m`, about :math:`\sqrt{\pi m / 2}`, and 1 more than Ramanujan's
    Q(m).

    Parameters
    ----------
    m : int or array

    Returns
    -------
    xi : float or ndarray
        An array where an argument is one; arrays broadcast.

    Raises
    ------
    ValueError
        If `m` is no integer of at least 1.

    References
    ----------
    A. Maurer, *A note on the PAC Bayesian theorem*, 2004. P. Flajolet, P. J. Grabner,
    P. Kirschenhofer, H. Prodinger, *On Ramanujan's Q-function*, Journal of Computational and
    Applied Mathematics 58, 1995.

    Examples
    --------
    >>> from mlcore.bounds import maurer_xi
    >>> round(maurer_xi(10), 8)
    4.66021568
    """
    m = as_count(m, "m", at_least=1)
    with working_digits():
        return up(_xi(m))


def _xi(m):
    if m >= _SERIES_FROM:  # the first term left out is negative
        n, half_turn = exact(m), exact(_PI) / 2
        odd = (half_turn * n).sqrt() * (1 + 1 / (12 * n) + 1 / (288 * n * n))
        return odd + exact(2) / 3 - 4 / (135 * n) + 8 / (2835 * n * n)
    # Q(m) = 1 + (1 - 1/m) + (1 - 1/m)(1 - 2/m) + ...
    total = term = exact(1)
    i = 0
    while term > _NEGLIGIBLE:
        total += term
        i += 1
        term = term * (m - i) / m
    return total


@calculator("risk", "kl", "m", "delta", "mc_draws", "mc_delta")
def pac_bayes_kl_bound(
    risk: Any,
    kl: Any,
    m: Any,
    delta: Any,
    *,
    xi: Literal["maurer", "exact"] = "maurer",
    mc_draws: Any = None,
    mc_delta: Any = None,
) -> Any:
    r"""Bound the risk of a randomly drawn classifier by the binary relative entropy.

    Let P be a distribution on classifiers fixed before the data, the m examples i.i.d., losses in
    [0, 1], and :math:`B = (\mathrm{KL}(Q, P) + \ln (2 \sqrt m / \delta)) / m`. With probability
    at least :math:`1 - \delta`, for all Q at once, the expected risk is at most

    .. math:: \mathrm{kl}^{-1}(\hat r, B), \qquad \hat r = E_{h \sim Q} \hat R(h),

    never more than `pac_bayes_mcallester_bound`, `pac_bayes_quadratic_bound` or
    `pac_bayes_lambda_bound` of the same numbers.

    Parameters
    ----------
    risk : float or array
        r, the mean of the empirical risk over Q, in [0, 1].
    kl : float or array
        KL(Q, P) in nats, at least 0; infinite gives 1.
    m : int or array
    delta : float in (0, 1), or array
    xi : {"maurer", "exact"}, default="maurer"
        2 sqrt(m) in B, or the smaller `maurer_xi`.
    mc_draws, mc_delta : int, and float in (0, 1), or arrays, optional
        If `risk` is a mean over `mc_draws` draws from Q, it is first replaced by its upper bound
        ``kl_inverse_upper(risk, ln(2 / mc_delta) / mc_draws)``; the result then holds with
        probability at least ``1 - delta - mc_delta``.

    Returns
    -------
    bound : float or ndarray in [0, 1]
        An array where an argument is one; arrays broadcast.

    Raises
    ------
    ValueError
        For arguments out of range.

    References
    ----------
    M. Seeger, *PAC-Bayesian generalisation error bounds for Gaussian process classification*,
    JMLR 3, 2002. A. Maurer, *A note on the PAC Bayesian theorem*, 2004. P. Germain, A. Lacasse,
    F. Laviolette, M. Marchand, J.-F. Roy, *Risk bounds for the majority vote*, JMLR 16, 2015
    ("exact"). J. Langford, R. Caruana, *(Not) bounding the true error*, NIPS 2001 (draws from Q).

    Examples
    --------
    >>> from mlcore.bounds import pac_bayes_kl_bound
    >>> round(pac_bayes_kl_bound(0.1, 10.0, 1000, 0.05), 6)
    0.164476
    """
    risk = _as_mean_risk(risk, mc_draws, mc_delta)
    kl, m, delta = _as_entropy(kl), as_count(m, "m", at_least=1), as_delta(delta)
    xi = as_choice(xi, "xi", ("maurer", "exact"))
    with working_digits():
        factor = _xi(m) if xi == "exact" else 2 * exact(m).sqrt()
        budget = up((exact(kl) + log(factor) - log(delta)) / exact(m))
    return kl_inverse_upper(risk, budget)


@calculator("risk", "kl", "m", "delta", "mc_draws", "mc_delta")
def pac_bayes_mcallester_bound(
    risk: Any,
    kl: Any,
    m: Any,
    delta: Any,
    *,
    mc_draws: Any = None,
    mc_delta: Any = None,
) -> Any:
    r"""Bound the risk of a randomly drawn classifier by a square root.

    Under the conditions of `pac_bayes_kl_bound`, from which it follows by Pinsker's inequality,
    :math:`\hat r + \sqrt{B / 2}`.

    Parameters
    ----------
    risk, kl, m, delta, mc_draws, mc_delta : as in `pac_bayes_kl_bound`

    Returns
    -------
    bound : float or ndarray in [0, 1]
        An array where an argument is one; arrays broadcast.

    Raises
    ------
    ValueError
        For arguments out of range.

    References
    ----------
    D. A. McAllester, *PAC-Bayesian model averaging*, COLT 1999, with the constant of A. Maurer, *A
    note on the PAC Bayesian theorem*, 2004.

    Examples
    --------
    >>> from mlcore.bounds import pac_bayes_mcallester_bound
    >>> round(pac_bayes_mcallester_bound(0.1, 10.0, 1000, 0.05), 6)
    0.192582
    """
    with working_digits():
        risk, B = _risk_and_complexity(risk, kl, m, delta, mc_draws, mc_delta)
        return min(1.0, up(risk + (B / 2).sqrt()))


@calculator("risk", "kl", "m", "delta", "mc_draws", "mc_delta")
def pac_bayes_quadratic_bound(
    risk: Any,
    kl: Any,
    m: Any,
    delta: Any,
    *,
    mc_draws: Any = None,
    mc_delta: Any = None,
) -> Any:
    r"""Bound the risk of a randomly drawn classifier, more sharply for a small risk.

    Under the conditions of `pac_bayes_kl_bound`,
    :math:`\left( \sqrt{\hat r + B / 2} + \sqrt{B / 2} \right)^2`.

    Parameters
    ----------
    risk, kl, m, delta, mc_draws, mc_delta : as in `pac_bayes_kl_bound`

    Returns
    -------
    bound : float or ndarray in [0, 1]
        An array where an argument is one; arrays broadcast.

    Raises
    ------
    ValueError
        For arguments out of range.

    References
    ----------
    O. Rivasplata, V. M. Tankasali, C. Szepesvári, *PAC-Bayes with backprop*, 2019.
    M. Pérez-Ortiz, O. Rivasplata, J. Shawe-Taylor, C. Szepesvári, *Tighter risk certificates for
    neural networks*, JMLR 22, 2021.

    Examples
    --------
    >>> from mlcore.bounds import pac_bayes_quadratic_bound
    >>> round(pac_bayes_quadratic_bound(0.1, 10.0, 1000, 0.05), 6)
    0.178154
    """
    with working_digits():
        risk, B = _risk_and_complexity(risk, kl, m, delta, mc_draws, mc_delta)
        return min(1.0, up(((risk + B / 2).sqrt() + (B / 2).sqrt()) ** 2))


@calculator("risk", "kl", "m", "delta", "lam", "mc_draws", "mc_delta")
def pac_bayes_lambda_bound(
    risk: Any,
    kl: Any,
    m: Any,
    delta: Any,
    lam: Any,
    *,
    mc_draws: Any = None,
    mc_delta: Any = None,
) -> Any:
    r"""Bound the risk of a randomly drawn classifier by a sum that is easy to minimise over Q.

    Under the conditions of `pac_bayes_kl_bound`, for all :math:`\lambda` in (0, 2) at once,

    .. math:: \frac{\hat r}{1 - \lambda / 2} + \frac{B}{\lambda (1 - \lambda / 2)}.

    Parameters
    ----------
    risk, kl, m, delta : as in `pac_bayes_kl_bound`
    lam : float in (0, 2), or array
        Lambda; it may depend on the data.
    mc_draws, mc_delta : as in `pac_bayes_kl_bound`

    Returns
    -------
    bound : float or ndarray in [0, 1]
        An array where an argument is one; arrays broadcast.

    Raises
    ------
    ValueError
        For arguments out of range.

    References
    ----------
    N. Thiemann, C. Igel, O. Wintenberger, Y. Seldin, *A strongly quasiconvex PAC-Bayesian bound*,
    ALT 2017.

    Examples
    --------
    >>> from mlcore.bounds import pac_bayes_lambda_bound
    >>> round(pac_bayes_lambda_bound(0.1, 10.0, 1000, 0.05, lam=0.5), 6)
    0.179047
    """
    with working_digits():
        risk, B = _risk_and_complexity(risk, kl, m, delta, mc_draws, mc_delta)
        lam = exact(as_real(lam, "lam", above=0, below=2))
        return min(1.0, up((risk + B / lam) / (1 - lam / 2)))


@calculator("risk", "kl", "m", "delta", "C", "mc_draws", "mc_delta")
def pac_bayes_catoni_bound(
    risk: Any,
    kl: Any,
    m: Any,
    delta: Any,
    C: Any = None,
    *,
    C_grid: Any = None,
    mc_draws: Any = None,
    mc_delta: Any = None,
) -> Any:
    r"""Bound the risk of a randomly drawn classifier with a parameter fixed before the data.

    Under the conditions of `pac_bayes_kl_bound`, for one C > 0 fixed in advance,

    .. math:: \frac{1 - \exp(-C \hat r - (\mathrm{KL}(Q, P) + \ln (1 / \delta)) / m)}{1 - e^{-C}},

    or the least value over a grid fixed in advance, at :math:`\delta` divided by its length. Forms
    without the exponential, which are sometimes printed, are not theorems.

    Parameters
    ----------
    risk, kl, m, delta : as in `pac_bayes_kl_bound`
    C : float or array
        Positive.
    C_grid : sequence of float
        Instead of `C`.
    mc_draws, mc_delta : as in `pac_bayes_kl_bound`

    Returns
    -------
    bound : float or ndarray in [0, 1]
        An array where an argument is one; arrays broadcast.

    Raises
    ------
    ValueError
        For arguments out of range; for both of `C` and `C_grid`, or neither.

    References
    ----------
    O. Catoni, *PAC-Bayesian supervised classification: the thermodynamics of statistical learning*,
    2007.

    Examples
    --------
    >>> from mlcore.bounds import pac_bayes_catoni_bound
    >>> round(pac_bayes_catoni_bound(0.1, 10.0, 1000, 0.05, C=1.0), 6)
    0.169027
    >>> round(pac_bayes_catoni_bound(0.1, 10.0, 1000, 0.05, C_grid=[0.5, 1.0, 2.0]), 6)
    0.157785
    """
    risk = _as_mean_risk(risk, mc_draws, mc_delta)
    kl, m, delta = _as_entropy(kl), as_count(m, "m", at_least=1), as_delta(delta)
    if (C is None) == (C_grid is None):
        refuse("C", C, "given if C_grid is not, and only then")
    if C_grid is None:
        grid = [as_positive(C, "C")]
    else:
        grid = as_reals(C_grid, "C_grid", above=0).ravel().tolist()
        if not grid:
            refuse("C_grid", C_grid, "a sequence of at least one number > 0")
    with working_digits():
        cost = (exact(kl) + log(len(grid)) - log(delta)) / exact(m)
        values = (expm1(-c * exact(risk) - cost) / expm1(-c) for c in map(exact, grid))
        return min(1.0, *(up(value) for value in values))


def _risk_and_complexity(risk, kl, m, delta, mc_draws, mc_delta):
    """Return the empirical risk and B of `pac_bayes_kl_bound`."""
    risk = exact(_as_mean_risk(risk, mc_draws, mc_delta))
    kl, m, delta = _as_entropy(kl), as_count(m, "m", at_least=1), as_delta(delta)
    return risk, (exact(kl) + log(2) + log(m) / 2 - log(delta)) / exact(m)


def _as_entropy(kl):
    return as_real(kl, "kl", at_least=0, allow_inf=True)


def _as_mean_risk(risk, mc_draws, mc_delta):
    risk = as_rate(risk, "risk")
    if (mc_draws is None) != (mc_delta is None):
        refuse("mc_delta", mc_delta, "given if mc_draws is, and only then")
    if mc_draws is None:
        return risk
    draws = as_count(mc_draws, "mc_draws", at_least=1)
    mc_delta = as_delta(mc_delta, "mc_delta")
    with working_digits():
        return kl_inverse_upper(risk, up((log(2) - log(mc_delta)) / exact(draws)))
