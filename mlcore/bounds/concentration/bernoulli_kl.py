"""Relative entropy of two Bernoulli distributions, the exponent of bounds on rates; its inverses.

The plain formula loses all digits where p is near q, as it is for large samples. With h = p - q,

    kl(q, p) = q phi(h / q) + (1 - q) phi(-h / (1 - q)),    phi(x) = x - ln(1 + x) >= 0,

because the terms of first order cancel; both terms left are non-negative. The inverses
solve kl = c by Newton's method for v = ln((1 - q) / (1 - p)), in which kl is convex with slope
h / p: every step lands on the safe side of the root, and a tiny h and a tiny 1 - p keep all digits.
"""

from typing import Any

import numpy as np

from mlcore.bounds.arguments import as_plain, as_real, as_reals
from mlcore.bounds.calculator import calculator
from mlcore.numerics.information import deviance, excess_over_log

_EPSILON = 2.0**-52
_BLOCK = 4096  # numbers at a time, so that they stay in the cache


@calculator("x")
def phi(x: Any) -> Any:
    """Return ``x - ln(1 + x)`` without cancellation.

    Parameters
    ----------
    x : float above -1, or array

    Returns
    -------
    value : float or ndarray
        Never negative, with a relative error of a few units in the last place.
        An array where an argument is one; arrays broadcast.

    Examples
    --------
    >>> from mlcore.bounds import phi
    >>> phi(1.0)
    0.3068528194400547
    >>> phi(1e-9)
    4.999999996666666e-19
    """
    return float(excess_over_log(np.float64(as_real(x, "x", above=-1))))


@calculator("q", "p", whole=True)
def kl_bernoulli(q: Any, p: Any) -> Any:
    """Return the relative entropy of a Bernoulli distribution with `q` from one with `p`.

    ``q ln(q / p) + (1 - q) ln((1 - q) / (1 - p))`` in nats, where ``0 ln 0 = 0``.

    Parameters
    ----------
    q, p : float in [0, 1], or arrays of them
        Arrays broadcast.

    Returns
    -------
    value : float or ndarray
        Infinite if p is 0 or 1 and q is another number.

    References
    ----------
    S. Kullback, R. A. Leibler, *On information and sufficiency*, Annals of Mathematical Statistics
    22, 1951.

    Examples
    --------
    >>> from mlcore.bounds import kl_bernoulli
    >>> round(kl_bernoulli(0.1, 0.2), 12)
    0.036690014035
    >>> kl_bernoulli(0.0, 1.0)
    inf
    """
    q = as_reals(q, "q", at_least=0, at_most=1)
    p = as_reals(p, "p", at_least=0, at_most=1)
    h = p - q
    with np.errstate(all="ignore"):
        return as_plain(deviance(q, p, h) + deviance(1 - q, 1 - p, -h))


@calculator("q", "c", whole=True)
def kl_inverse_upper(q: Any, c: Any) -> Any:
    """Return the largest p that is within `c` nats of `q`: ``sup {p >= q : kl(q, p) <= c}``.

    Chernoff's bound: if k of m independent trials succeeded, then with probability at least
    ``1 - delta`` the probability of success is at most p, for q = k / m and c = ln(1 / delta) / m.

    Parameters
    ----------
    q : float in [0, 1], or array
    c : float at least 0, infinity included, or array
        Arrays broadcast.

    Returns
    -------
    p : float or ndarray
        Never below the exact value.

    References
    ----------
    H. Chernoff, *A measure of asymptotic efficiency for tests of a hypothesis based on the sum of
    observations*, Annals of Mathematical Statistics 23, 1952.
    J. Langford, *Tutorial on practical prediction theory for classification*, JMLR 6, 2005.

    Examples
    --------
    >>> from mlcore.bounds import kl_inverse_upper
    >>> round(kl_inverse_upper(0.1, 0.01), 12)
    0.147675539298
    """
    q, c = _rate_and_budget(q, c)
    return as_plain(inverse_rates(q, 1 - q, c)[0])


@calculator("q", "c", whole=True)
def kl_inverse_lower(q: Any, c: Any) -> Any:
    """Return the smallest p that is within `c` nats of `q`: ``inf {p <= q : kl(q, p) <= c}``.

    The mirror image of `kl_inverse_upper`: a lower bound on the probability of success with the
    same confidence.

    Parameters
    ----------
    q : float in [0, 1], or array
    c : float at least 0, infinity included, or array
        Arrays broadcast.

    Returns
    -------
    p : float or ndarray
        Never above the exact value; accurate even if tiny.

    References
    ----------
    H. Chernoff, *A measure of asymptotic efficiency for tests of a hypothesis based on the sum of
    observations*, Annals of Mathematical Statistics 23, 1952.

    Examples
    --------
    >>> from mlcore.bounds import kl_inverse_lower
    >>> round(kl_inverse_lower(0.1, 0.01), 12)
    0.062910629847
    """
    q, c = _rate_and_budget(q, c)
    return as_plain(inverse_rates(1 - q, q, c)[1])


def inverse_rates(q: np.ndarray, r: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the p >= q with kl(q, p) = c, rounded up, and 1 - p, rounded down; r is 1 - q.

    Of each pair the smaller number may be tiny and still have all its digits.
    """
    q, r, c = np.broadcast_arrays(q, r, c)
    flat = q.ravel(), r.ravel(), c.ravel()
    p, s = np.empty(q.size), np.empty(q.size)
    for start in range(0, q.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        with np.errstate(all="ignore"):
            p[block], s[block] = _inverse_rates(*(array[block] for array in flat))
    return p.reshape(q.shape), s.reshape(q.shape)


def _inverse_rates(q, r, c):
    # kl >= r v + q ln q, so v is at most `top`; the other start is a second-order expansion.
    top = (c - np.where(q > 0, q * np.log(q), 0.0)) / r
    h = np.sqrt(2 * q * r) * np.sqrt(c) + np.maximum(r - q, 0) * c * (2 / 3)
    v = np.fmin(np.where(h < r, -np.log1p(-h / r), np.inf), top)
    moving = (q > 0) & (r > 0) & (c > 0) & (c < np.inf)
    for iteration in range(60):
        gap = np.expm1(-v)  # (p - q) / -r
        h = -r * gap
        kl = deviance(q, q + h, h) + r * np.where(v < 0.25, excess_over_log(gap), v + gap)
        step = (kl - c) * (q + h) / h
        moving &= (np.abs(step) > 8 * _EPSILON * v) & (step < v)
        if iteration:  # only the first step may go up; later ones that do are rounding
            moving &= step > 0
        v = np.where(moving, v - step, v)
        if not moving.any():
            break
    v = np.where(q == 0, c, v) * (1 + 16 * _EPSILON)
    p = np.minimum(np.nextafter(q - r * np.expm1(-v), 2), 1.0)
    s = np.nextafter(r * np.exp(-v) * (1 - 2 * _EPSILON), 0)
    p = np.where(s < 0.25, np.nextafter(1 - s, 1), p)  # one rounding, and s is rounded down
    certain, empty = (r == 0) | (c == np.inf), c == 0
    p = np.where(certain, 1.0, np.where(empty, q, p))
    return p, np.where(certain, 0.0, np.where(empty, r, s))


def _rate_and_budget(q, c):
    return as_reals(q, "q", at_least=0, at_most=1), as_reals(c, "c", at_least=0, allow_inf=True)
