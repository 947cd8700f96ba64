"""Margin bounds for linear and kernel classifiers, and for votes."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import ndtr

from mlcore.bounds.arguments import (
    as_bool,
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
from mlcore.bounds.directed_rounding import at_most_one, exact, log, log1p, up, working_digits

_ALLOWANCE = Fraction(10**12 + 1, 10**12)  # so that 1 / 0.1², less than 100 in binary, is 100
_ROUNDING = 1e-9  # largest excess of a computed cosine over 1
_ERROR = 1e-14  # bound of the relative error of a mean of normal probabilities and of a sum
_GRID = 64  # values of mu; between neighbours the bound has one minimum


@calculator("radius", "margin", "n_features")
def margin_vc_dimension(radius: Any, margin: Any, n_features: Any = None) -> Any:
    r"""Bound the VC dimension of hyperplanes that keep a margin in a ball.

    Hyperplanes that separate points of a ball of radius R with a margin of at least
    :math:`\gamma` have VC dimension at most :math:`\min(\lfloor R^2 / \gamma^2 \rfloor, n) + 1`.

    Ball and margin are fixed in advance. A margin observed on the data must not be used in a bound
    for classes of that dimension, as the class would depend on the data: `rademacher_margin_bound`,
    `pac_bayes_margin_bound` and `fat_shattering_margin_bound` are for margins.

    Parameters
    ----------
    radius, margin : float or array
        R and gamma.
    n_features : int or array, optional
        n; None in a feature space of unlimited dimension.

    Returns
    -------
    dimension : int or ndarray
        The quotient is rounded down after a relative allowance of 1e-12 upwards.
        An array where an argument is one; arrays broadcast.

    Raises
    ------
    ValueError
        For arguments out of range.

    References
    ----------
    V. N. Vapnik, *Statistical Learning Theory*, 1998.

    Examples
    --------
    >>> from mlcore.bounds import margin_vc_dimension
    >>> margin_vc_dimension(1.0, 0.1), margin_vc_dimension(1.0, 0.1, n_features=20)
    (101, 21)
    """
    dimension = _floor_of_square(as_positive(radius, "radius"), as_positive(margin, "margin"), 1)
    if n_features is not None:
        dimension = min(dimension, as_count(n_features, "n_features", at_least=1))
    return dimension + 1


@calculator(
    "margin_error", "m", "delta", "rho", "radius", "w_norm", "rho_max", "trace", elementwise=True
)
def rademacher_margin_bound(
    margin_error: Any,
    m: Any,
    delta: Any,
    *,
    rho: Any,
    radius: Any = None,
    w_norm: Any = 1.0,
    uniform: bool = False,
    rho_max: Any = None,
    trace: Any = None,
) -> Any:
    r"""Bound the error of linear classifiers by their margin errors.

    For all ``x -> <w, x>`` with :math:`||w|| \le \Lambda` on i.i.d. points with
    :math:`||x|| \le R`, in the feature space of any kernel, with probability at least
    :math:`1 - \delta`

    .. math:: R(h) \le \hat R_\rho(h) + \frac{2 R \Lambda}{\rho \sqrt m}
              + \sqrt{\frac{\ln (1 / \delta)}{2 m}}

    for one :math:`\rho` fixed in advance, and for all :math:`\rho \in (0, \rho_\max]` at once

    .. math:: R(h) \le \hat R_\rho(h) + \frac{4 R \Lambda}{\rho \sqrt m}
              + \sqrt{\frac{\ln \log_2 (2 \rho_\max / \rho)}{m}}
              + \sqrt{\frac{\ln (2 / \delta)}{2 m}}.

    With the trace of the Gram matrix, :math:`R \Lambda / \sqrt m` in the first becomes
    :math:`\Lambda \sqrt{\operatorname{tr} K} / m`, and its last term
    :math:`3 \sqrt{\ln (2 / \delta) / 2 m}`.

    Parameters
    ----------
    margin_error : float or array
        Share of training points with :math:`y \langle w, x \rangle \le \rho`.
    m : int or array
    delta : float in (0, 1), or array
    rho : float or array
    radius : float or array
        R, fixed in advance; not needed with `trace`, which takes its place.
    w_norm : float or array, default=1.0
        Lambda, fixed in advance.
    uniform : bool, default=False
        True if `rho` was chosen after seeing the data.
    rho_max : float or array, optional
        Largest `rho`, fixed in advance; only with `uniform`.
    trace : float or array, optional
        Sum of k(x, x) over the training points; only for a fixed `rho`.

    Returns
    -------
    bound : float or ndarray in [0, 1]
        An array where an argument is one; arrays broadcast.

    Raises
    ------
    ValueError
        For arguments out of range, and combinations that are no theorem.

    References
    ----------
    M. Mohri, A. Rostamizadeh, A. Talwalkar, *Foundations of Machine Learning*, 2nd ed., 2018,
    Corollary 5.11, and Theorem 5.9 with 5.10.

    Examples
    --------
    >>> from mlcore.bounds import rademacher_margin_bound
    >>> round(rademacher_margin_bound(0.0, 10_000, 0.05, radius=1.0, rho=0.5), 6)
    0.052239
    """
    error, m = as_rate(margin_error, "margin_error"), as_count(m, "m", at_least=1)
    delta, rho = as_delta(delta), as_positive(rho, "rho")
    norm, uniform = as_positive(w_norm, "w_norm"), as_bool(uniform, "uniform")
    if radius is not None or trace is None:
        radius = as_positive(radius, "radius")
    if uniform != (rho_max is not None):
        refuse("rho_max", rho_max, "given if uniform is True, and only then")
    if trace is not None:
        trace = as_real(trace, "trace", at_least=0)
        if uniform:
            refuse("trace", trace, "None if uniform is True")
    if uniform:
        rho_max = as_positive(rho_max, "rho_max")
        if rho > rho_max:
            refuse("rho", rho, f"a number <= {rho_max}, which is rho_max")
    with working_digits():
        m, rho = exact(m), exact(rho)
        one, two = ((log(c) - log(delta)) / (2 * m) for c in (1, 2))
        if trace is not None:
            terms = 2 * exact(norm) * exact(trace).sqrt() / (rho * m), 3 * two.sqrt()
        elif not uniform:
            terms = 2 * exact(radius) * exact(norm) / (rho * m.sqrt()), one.sqrt()
        else:
            doublings = 1 + log1p((exact(rho_max) - rho) / rho) / log(2)
            choice = (log(doublings) / m).sqrt()
            terms = 4 * exact(radius) * exact(norm) / (rho * m.sqrt()), choice, two.sqrt()
        return at_most_one(up(exact(error) + sum(terms)))


@calculator("delta", "mu")
def pac_bayes_margin_bound(margins: Any, delta: Any, *, mu: Any = None, gibbs: bool = False) -> Any:
    r"""Bound the error of a linear classifier by the margins of its m training points.

    With :math:`\gamma_i = y_i \langle w, x_i \rangle / ||w|| ||x_i||`, the PAC-Bayes bound for
    Gaussian weights around :math:`\mu w / ||w||`, whose relative entropy from those around 0 is
    :math:`\mu^2 / 2`, says with probability at least :math:`1 - \delta`, for all :math:`\mu > 0` at
    once, that a classifier drawn from them errs with probability at most

    .. math:: \mathrm{kl}^{-1} \left( \frac 1 m \sum_i \bar \Phi(\mu \gamma_i),
              \frac{\mu^2 / 2 + \ln (2 \sqrt m / \delta)}{m} \right).

    It errs at most twice as often itself: where it is wrong, at least half of those drawn
    are. It must have no intercept; to have one, append a constant feature: the kernel is then k + 1
    and the squared norm of the weights :math:`||w||^2 + b^2`.

    Parameters
    ----------
    margins : array-like of shape (m,)
        In [-1, 1]; 0 for a point at the origin.
    delta : float in (0, 1), or array
    mu : float or array, optional
        By default the best, as the bound holds for all at once.
    gibbs : bool, default=False
        True for the bound on drawn classifiers, without the factor 2.

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
    J. Langford, J. Shawe-Taylor, *PAC-Bayes and margins*, NIPS 2002. J. Langford, *Tutorial on
    practical prediction theory for classification*, JMLR 6, 2005.

    Examples
    --------
    >>> from mlcore.bounds import pac_bayes_margin_bound
    >>> round(pac_bayes_margin_bound([0.5] * 1000, 0.05, mu=3.0, gibbs=True), 6)
    0.111641
    >>> round(pac_bayes_margin_bound([0.5] * 1000, 0.05), 6)
    0.060407
    """
    margins = as_reals(margins, "margins", at_least=-1 - _ROUNDING, at_most=1 + _ROUNDING)
    if margins.ndim != 1 or margins.size == 0:
        refuse("margins", margins.tolist(), "a list of at least one number")
    m, delta = len(margins), as_delta(delta)
    factor = 1 if as_bool(gibbs, "gibbs") else 2
    with working_digits():
        fixed = up((log(4 * m) / 2 - log(delta)) / m)

    def bound(mu):
        means = [float(ndtr(-width * margins).mean()) for width in np.ravel(mu)]
        drawn_errors = np.minimum(1.0, np.reshape(means, np.shape(mu)) * (1 + _ERROR))
        return kl_inverse_upper(drawn_errors, (mu * mu / (2 * m) + fixed) * (1 + _ERROR))

    if mu is not None:
        return min(1.0, factor * bound(as_positive(mu, "mu")))
    # Beyond sqrt(2 m) the cost is over 1 nat per example; below 1e-3 nearly half of draws err.
    grid = np.linspace(math.log(1e-3), 0.5 * math.log(2 * m) + 2, _GRID)
    best = int(np.argmin(bound(np.exp(grid))))  # of all at once: a twentieth of the time
    around = grid[max(best - 1, 0)], grid[min(best + 1, _GRID - 1)]
    optimum = minimize_scalar(
        lambda x: bound(math.exp(x)), bounds=around, method="bounded", options={"xatol": 1e-8}
    )
    return min(1.0, factor * min(float(optimum.fun), bound(math.exp(grid[best]))))


@calculator("m", "radius", "margin", "delta", "margin_error")
def fat_shattering_margin_bound(
    m: Any, radius: Any, margin: Any, delta: Any, *, margin_error: Any = 0.0
) -> Any:
    r"""Bound the error of linear classifiers by Bartlett's theorem on the fat-shattering dimension.

    For all ``x -> <w, x>`` with ``||w|| <= 1`` on i.i.d. points with :math:`||x|| \le R`, a margin
    :math:`\gamma` fixed in advance and :math:`\kappa = \lfloor 256 R^2 / \gamma^2 \rfloor`, with
    probability at least :math:`1 - \delta`

    .. math:: R(h) \le \hat R_\gamma(h) + \sqrt{\frac 2 m \left( \kappa \ln \frac{34 e m}{\kappa}
              \log_2 (578 m) + \ln \frac 4 \delta \right)}.

    Of historical interest: it is below 1 only for millions of examples.

    Parameters
    ----------
    m : int or array
    radius, margin : float or array
        R and gamma.
    delta : float in (0, 1/2), or array
    margin_error : float or array, default=0.0
        Share of training points with :math:`y \langle w, x \rangle < \gamma`.

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
    P. L. Bartlett, *The sample complexity of pattern classification with neural networks: the size
    of the weights is more important than the size of the network*, IEEE Transactions on Information
    Theory 44, 1998, Theorem 2.

    Examples
    --------
    >>> from mlcore.bounds import fat_shattering_margin_bound
    >>> round(fat_shattering_margin_bound(10**8, 1.0, 1.0, 0.05), 6)
    0.056439
    """
    m, error = as_count(m, "m", at_least=1), as_rate(margin_error, "margin_error")
    delta = as_real(delta, "delta", above=0, below=0.5)
    radius, margin = as_positive(radius, "radius"), as_positive(margin, "margin")
    fat = _floor_of_square(radius, margin, 256)
    if fat > 34 * m:
        return 1.0
    with working_digits():
        covering = exact(fat)
        if fat > 0:
            covering *= (log(34 * m) - log(fat) + 1) * log(578 * m) / log(2)
        root = (2 * (covering + log(4) - log(delta)) / exact(m)).sqrt()
        return at_most_one(up(exact(error) + root))


@calculator("margin_error", "m", "delta", "vc_dimension", "rho")
def boosting_margin_bound(
    margin_error: Any, m: Any, delta: Any, *, vc_dimension: Any, rho: Any
) -> Any:
    r"""Bound the error of weighted votes by their margin errors.

    For all convex combinations of classifiers from a class of VC dimension d, i.i.d. examples and
    one :math:`\rho` fixed in advance, with probability at least :math:`1 - \delta`

    .. math:: R(f) \le \hat R_\rho(f) + \frac 2 \rho \sqrt{\frac{2 d \ln (e m / d)}{m}}
              + \sqrt{\frac{\ln (1 / \delta)}{2 m}}.

    The votes of a boosted classifier have to be divided by the sum of their weights.

    Parameters
    ----------
    margin_error : float or array
        Share of training points with :math:`y f(x) \le \rho`.
    m : int or array
    delta : float in (0, 1), or array
    vc_dimension : int or array
        d, also a name of it; at least 1.
    rho : float or array

    Returns
    -------
    bound : float or ndarray in [0, 1]
        1 for m < d.
        An array where an argument is one; arrays broadcast.

    Raises
    ------
    ValueError
        For arguments out of range.

    References
    ----------
    M. Mohri, A. Rostamizadeh, A. Talwalkar, *Foundations of Machine Learning*, 2nd ed., 2018,
    Corollary 7.6. R. E. Schapire, Y. Freund, P. Bartlett, W. S. Lee, *Boosting the margin*, Annals
    of Statistics 26, 1998.

    Examples
    --------
    >>> from mlcore.bounds import boosting_margin_bound
    >>> round(boosting_margin_bound(0.05, 10**6, 0.05, vc_dimension=2, rho=0.5), 6)
    0.081288
    """
    error, m = as_rate(margin_error, "margin_error"), as_count(m, "m", at_least=1)
    d = as_count(vc_dimension, "vc_dimension", at_least=1)
    delta, rho = as_delta(delta), as_positive(rho, "rho")
    if m < d:
        return 1.0
    with working_digits():
        n = exact(m)
        complexity = (2 * d * (log(m) - log(d) + 1) / n).sqrt()
        deviation = (-log(delta) / (2 * n)).sqrt()
        return at_most_one(up(exact(error) + 2 * complexity / exact(rho) + deviation))


def _floor_of_square(radius, margin, factor):
    """Return the integer part of factor (radius / margin)², without overflow."""
    return math.floor(factor * (Fraction(radius) / Fraction(margin)) ** 2 * _ALLOWANCE)
