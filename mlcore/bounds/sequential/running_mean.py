"""Confidence sequence for the running mean of the rates of bounded losses, whatever they do."""

import math

import numpy as np

_EPSILON = 2.0**-52
_HALVINGS = 60
# Grids of lambda, 16 to 1e-6, and eta below 1: half as large each time. Their weights fall with the
# distance from 1, slowly, so that intervals of few losses and of a billion are near the best.
_LAMBDAS = 2.0 ** (4 - np.arange(25))
_ETAS = 0.95 * 2.0 ** -np.arange(21)
_WEIGHTS = [1 / (1 + np.abs(np.log2(grid))) ** 1.5 for grid in (_LAMBDAS, _ETAS / 0.95)]
_LOG_WEIGHTS = np.log(
    np.concatenate([part * w / w.sum() for part, w in zip((0.875, 0.125), _WEIGHTS, strict=True)])
)  # most for the first: an error rate needs no variance


def running_mean_interval(
    total: float, rest: float, squares: float, m: int, delta: float
) -> tuple[float, float]:
    r"""Return an interval for the mean of the conditional expectations of m losses in [0, 1].

    For fixed :math:`\lambda > 0` and :math:`0 < \eta < 1` both of

    .. math::
        \exp(\lambda S - m \ln(1 + \bar\mu (e^\lambda - 1))), \quad
        \exp(\eta (S - m \bar\mu) + (\ln(1 - \eta) + \eta) V)

    are at most supermartingales that start at 1: S is the sum of the losses, V that of the squared
    errors of predictable forecasts, and the bar the mean of all conditional expectations so far.
    The first is concavity of the logarithm over the Bernoulli variable that is worst for each loss,
    the second Fan's inequality. Their mixture over grids of both is one, too, and decreases with
    the mean: where it reaches :math:`2 / \delta` the mean is excluded, from either side, with
    probability at most :math:`\delta` over all m (Ville's inequality).

    `total` and `rest` are the sums of the losses and of what they lack to 1.

    References
    ----------
    S. Howard, A. Ramdas, J. McAuliffe, J. Sekhon, *Time-uniform, nonparametric, nonasymptotic
    confidence sequences*, Annals of Statistics 49, 2021, Theorem 4 (V) and section 3.5 (grids).
    """
    sums = np.array([[total], [rest]])
    growth, cost = np.expm1(_LAMBDAS), np.log1p(-_ETAS) + _ETAS
    # To the safe side of what rounding can add to an exponent that is positive, and take from V.
    slack = 8 * _EPSILON * sums * np.concatenate([_LAMBDAS, _ETAS]) + 1e-13
    offset = _LOG_WEIGHTS - slack + (math.log(delta) - math.log(2))
    squares *= 1 + 2 * m * _EPSILON
    low, high = np.zeros((2, 1)), np.minimum(sums / m * (1 + 4 * _EPSILON), 1.0)
    for _ in range(_HALVINGS):
        p = 0.5 * (low + high)
        tilted = _LAMBDAS * sums - m * np.log1p(p * growth)
        bets = _ETAS * (sums - m * p) + cost * squares
        # In units of 2 / delta; a term of e already decides.
        evidence = np.exp(np.minimum(np.hstack([tilted, bets]) + offset, 1)).sum(axis=1)
        excluded = (evidence >= 1)[:, None]
        low, high = np.where(excluded, p, low), np.where(excluded, high, p)
    return float(low[0, 0]), min(1.0, math.nextafter(1 - float(low[1, 0]), 2))
