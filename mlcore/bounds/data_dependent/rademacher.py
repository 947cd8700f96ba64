"""Rademacher complexities, the error bounds that they give, and the uniform stability bound."""

import math
from typing import Any

import numpy as np

from mlcore._ext.bounds import rademacher as _ext
from mlcore.bounds.arguments import (
    as_bool,
    as_count,
    as_delta,
    as_positive,
    as_rate,
    as_real,
    refuse,
)
from mlcore.bounds.calculator import calculator
from mlcore.bounds.directed_rounding import at_most_one, exact, log, up, working_digits
from mlcore.checks import as_random_state, as_samples
from mlcore.runtime.threads import items_per_call

_EXACT_POINTS = 24  # up to here all 2^m sign vectors are tried
_DRAWS = 10_000
_OPERATIONS_OF_A_VALUE = 6  # per value and sign vector: an addition and two comparisons
_RESTART = 4096  # sign vectors after which sums are computed anew, against rounding


@calculator("n_vectors", "m", "radius", elementwise=True)
def massart_bound(n_vectors: Any, m: Any, radius: Any = None) -> Any:
    r"""Bound the Rademacher average of a finite set of vectors.

    For a set A of N vectors in R^m whose norms are at most r, and independent fair signs,

    .. math:: E \max_{a \in A} \frac{1}{m} \sum_i \sigma_i a_i \le \frac{r \sqrt{2 \ln N}}{m}.

    Parameters
    ----------
    n_vectors : int or array
        N, at least 1.
    m : int or array
    radius : float or array, optional
        r; by default the root of `m`, the norm of vectors of signs.

    Returns
    -------
    bound : float or ndarray
        An array where an argument is one; arrays broadcast.

    Raises
    ------
    ValueError
        For arguments out of range.

    References
    ----------
    P. Massart, *Some applications of concentration inequalities to statistics*, Annales de la
    Faculté des Sciences de Toulouse 9, 2000.

    Examples
    --------
    >>> from mlcore.bounds import massart_bound
    >>> round(massart_bound(1000, 500), 6)
    0.166226
    """
    n_vectors, m = as_count(n_vectors, "n_vectors", at_least=1), as_count(m, "m", at_least=1)
    radius = None if radius is None else as_positive(radius, "radius")
    with working_digits():
        radius = exact(m).sqrt() if radius is None else exact(radius)
        return up(radius * (2 * log(n_vectors)).sqrt() / exact(m))


@calculator("trace", "m", "norm", elementwise=True)
def kernel_rademacher_bound(trace: Any, m: Any, norm: Any) -> Any:
    r"""Bound the empirical Rademacher complexity of a ball in a kernel's feature space.

    For functions ``x -> <w, phi(x)>`` with ``||w|| <= Lambda`` on a sample of Gram matrix K, it is
    at most :math:`\Lambda \sqrt{\operatorname{tr} K} / m`; by Jensen's inequality, whatever the
    sample.

    Parameters
    ----------
    trace : float or array
        tr K, the sum of k(x, x) over the sample.
    m : int or array
    norm : float or array
        Lambda.

    Returns
    -------
    bound : float or ndarray
        An array where an argument is one; arrays broadcast.

    Raises
    ------
    ValueError
        For arguments out of range.

    References
    ----------
    P. L. Bartlett, S. Mendelson, *Rademacher and Gaussian complexities: risk bounds and structural
    results*, JMLR 3, 2002.

    Examples
    --------
    >>> from mlcore.bounds import kernel_rademacher_bound
    >>> kernel_rademacher_bound(400.0, 400, 2.0)
    0.1
    """
    trace, m = as_real(trace, "trace", at_least=0), as_count(m, "m", at_least=1)
    norm = as_positive(norm, "norm")
    with working_digits():
        return up(exact(norm) * exact(trace).sqrt() / exact(m))


@calculator("x_inf", "m", "norm1", "n_features", elementwise=True)
def linear_l1_rademacher_bound(x_inf: Any, m: Any, norm1: Any, n_features: Any) -> Any:
    r"""Bound the empirical Rademacher complexity of linear functions of bounded L1 norm.

    For ``x -> <w, x>`` with ``||w||_1 <= Lambda`` on samples whose features are at most R in
    magnitude, it is at most :math:`\Lambda R \sqrt{2 \ln (2 n) / m}`: the extreme points are 2n
    features with signs, and Massart's lemma bounds those.

    Parameters
    ----------
    x_inf : float or array
        R, the largest magnitude of a feature.
    m : int or array
    norm1 : float or array
        Lambda.
    n_features : int or array
        n.

    Returns
    -------
    bound : float or ndarray
        An array where an argument is one; arrays broadcast.

    Raises
    ------
    ValueError
        For arguments out of range.

    References
    ----------
    M. Mohri, A. Rostamizadeh, A. Talwalkar, *Foundations of Machine Learning*, 2nd ed., 2018,
    chapter 11.

    Examples
    --------
    >>> from mlcore.bounds import linear_l1_rademacher_bound
    >>> round(linear_l1_rademacher_bound(1.0, 10_000, 1.0, 50), 6)
    0.030349
    """
    x_inf, norm1 = as_positive(x_inf, "x_inf"), as_positive(norm1, "norm1")
    m, n = as_count(m, "m", at_least=1), as_count(n_features, "n_features", at_least=1)
    with working_digits():
        return up(exact(norm1) * exact(x_inf) * (2 * log(2 * n) / exact(m)).sqrt())


@calculator("risk", "rademacher", "m", "delta", elementwise=True)
def rademacher_error_bound(
    risk: Any, rademacher: Any, m: Any, delta: Any, *, empirical: bool = True
) -> Any:
    r"""Bound the error of every classifier of a class from its Rademacher complexity.

    For classifiers into {-1, 1}, i.i.d. samples and 0-1 loss, with probability at least
    :math:`1 - \delta` for all of them at once,

    .. math:: R(h) \le \hat R(h) + \hat{\mathfrak R}_S + 3 \sqrt{\ln (2 / \delta) / 2m}, \qquad
              R(h) \le \hat R(h) + \mathfrak R_m + \sqrt{\ln (1 / \delta) / 2m},

    with the complexity of the class on the sample, or its expectation over samples.

    Parameters
    ----------
    risk : float or array
        Share of training errors, in [0, 1].
    rademacher : float or array
        Complexity of the class itself (that of its losses is half of it), or an upper bound.
    m : int or array
    delta : float in (0, 1), or array
    empirical : bool, default=True
        True if `rademacher` is that of this sample (the first bound), False for the expectation.

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
    M. Mohri, A. Rostamizadeh, A. Talwalkar, *Foundations of Machine Learning*, 2nd ed., 2018,
    Theorem 3.5.

    Examples
    --------
    >>> from mlcore.bounds import rademacher_error_bound
    >>> round(rademacher_error_bound(0.1, 0.05, 1000, 0.05), 6)
    0.278841
    """
    risk, rademacher = as_rate(risk, "risk"), as_real(rademacher, "rademacher", at_least=0)
    m, delta = as_count(m, "m", at_least=1), as_delta(delta)
    empirical = as_bool(empirical, "empirical")
    with working_digits():
        if empirical:
            deviation = 3 * ((log(2) - log(delta)) / (2 * exact(m))).sqrt()
        else:
            deviation = (-log(delta) / (2 * exact(m))).sqrt()
        return at_most_one(up(exact(risk) + exact(rademacher) + deviation))


@calculator("risk", "beta", "m", "delta", "value_range")
def stability_bound(risk: Any, beta: Any, m: Any, delta: Any, *, value_range: Any = 1.0) -> Any:
    r"""Bound the risk of the hypothesis that a uniformly stable algorithm learns.

    If replacing one of the m i.i.d. samples never changes a loss by more than :math:`\beta`, and
    losses are in [0, M], then with probability at least :math:`1 - \delta`

    .. math:: R \le \hat R + \beta + (2 m \beta + M) \sqrt{\ln (1 / \delta) / 2m}.

    An algorithm that minimises the mean of a convex loss, of Lipschitz constant
    :math:`\sigma` in the prediction, plus :math:`\lambda ||w||^2` in the feature space of a kernel
    with k(x, x) at most :math:`r^2` has :math:`\beta = \sigma^2 r^2 / m \lambda`.

    Parameters
    ----------
    risk : float or array
        Mean loss on the training samples, in [0, `value_range`].
    beta : float or array
        Stability; at least 0.
    m : int or array
    delta : float in (0, 1), or array
    value_range : float or array, default=1.0
        M, the largest loss; none is negative.

    Returns
    -------
    bound : float or ndarray
        At most `value_range`.
        An array where an argument is one; arrays broadcast.

    Raises
    ------
    ValueError
        For arguments out of range.

    References
    ----------
    O. Bousquet, A. Elisseeff, *Stability and generalization*, JMLR 2, 2002, as in M. Mohri,
    A. Rostamizadeh, A. Talwalkar, *Foundations of Machine Learning*, 2nd ed., 2018, Theorem 14.2.

    Examples
    --------
    >>> from mlcore.bounds import stability_bound
    >>> round(stability_bound(0.1, 0.001, 1000, 0.05), 6)
    0.217107
    """
    value_range = as_positive(value_range, "value_range")
    risk = as_real(risk, "risk", at_least=0)
    if risk > value_range:
        refuse("risk", risk, f"a number <= {value_range}, which is value_range")
    beta, m = as_real(beta, "beta", at_least=0), as_count(m, "m", at_least=1)
    delta = as_delta(delta)
    with working_digits():
        twice = 2 * exact(m)
        change = twice * exact(beta) + exact(value_range)
        deviation = change * (-log(delta) / twice).sqrt()
        return min(value_range, up(exact(risk) + exact(beta) + deviation))


def empirical_rademacher(
    H: Any, *, n_draws: int | None = None, random_state: Any = None
) -> float | tuple[float, float]:
    r"""Compute the empirical Rademacher complexity of a finite class on a sample.

    It is :math:`\frac{1}{m} E_\sigma \max_h \sum_i \sigma_i h(x_i)` over independent fair signs.
    Up to 24 points it is exact, by all sign vectors in the order of a Gray code: neighbours differ
    in one sign, and opposite ones are taken together. On more points, or with `n_draws`, it is a
    mean over random sign vectors.

    Parameters
    ----------
    H : array-like of shape (n_functions, m)
        Value of every function at every point.
    n_draws : int, optional
        Number of sign vectors to draw; by default 10,000 for more than 24 points.
    random_state : None, int, Generator or RandomState
        For the signs drawn.

    Returns
    -------
    complexity : float
        Exact, or a mean over draws.
    half_width : float
        Only for a mean over draws: its error is larger with probability at most 0.05, by
        McDiarmid's inequality.

    Raises
    ------
    TypeError, ValueError
        For values that are not finite numbers; for other arguments out of range.

    References
    ----------
    V. Koltchinskii, *Rademacher penalties and structural risk minimization*, IEEE Transactions on
    Information Theory 47, 2001. P. L. Bartlett, S. Mendelson, *Rademacher and Gaussian
    complexities: risk bounds and structural results*, JMLR 3, 2002.

    Examples
    --------
    >>> from mlcore.bounds import empirical_rademacher
    >>> empirical_rademacher([[-1, -1], [-1, 1], [1, 1]])
    0.75
    """
    rows = np.unique(as_samples(H, name="H", owner="empirical_rademacher", like=np.float64), axis=0)
    m = rows.shape[1]
    if n_draws is None and m <= _EXACT_POINTS:
        return _over_all_signs(np.ascontiguousarray(rows.T))
    n_draws = _DRAWS if n_draws is None else as_count(n_draws, "n_draws", at_least=1)
    rng = as_random_state(random_state, owner="empirical_rademacher")
    at_once = items_per_call(_OPERATIONS_OF_A_VALUE * rows.size)
    sums = [
        (_signs(rng, min(at_once, n_draws - done), m) @ rows.T).max(axis=1).sum()
        for done in range(0, n_draws, at_once)
    ]
    # A sign changes the mean by at most 2 max_h |h(x)| / (m n_draws).
    widths = 2 * np.abs(rows).max(axis=0) / m
    half_width = math.sqrt(math.log(2 / 0.05) * math.fsum(widths**2) / (2 * n_draws))
    return math.fsum(sums) / n_draws / m, half_width


def _over_all_signs(columns):
    m, n = columns.shape
    half = 2 ** (m - 1)
    at_once = min(_RESTART, items_per_call(_OPERATIONS_OF_A_VALUE * n))
    sums = np.empty(n)
    ranges = [
        _ext.sum_of_ranges(columns, sums, first, min(first + at_once, half))
        for first in range(0, half, at_once)
    ]
    return math.fsum(ranges) / 2**m / m


def _signs(rng, n, m):
    return 2.0 * rng.integers(0, 2, (n, m)) - 1
