"""Confidence sequence for the running mean of the rates of bounded losses, whatever they do."""

import math

import numpy as np

_EPSILON = 2.0**-52
_HALVINGS = 60
_TILTS = 2.0 ** (4 - 0.5 * np.arange(33))  # of cumulant generating functions, 16 to 2.4e-4
_BETS = 0.95 * 2.0 ** (-0.5 * np.arange(27))  # below 1, of sums with their variance, to 1.2e-4


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
    limit = math.log(2) - math.log(delta)
    growth, cost = np.expm1(_TILTS), np.log1p(-_BETS) + _BETS
    # Both halves of the mixture have weight 1/2; rounding is taken from each exponent.
    weights = -np.log(2.0 * np.repeat([len(_TILTS), len(_BETS)], [len(_TILTS), len(_BETS)]))
    slack = (
        8 * _EPSILON * sums * np.concatenate([_TILTS, _BETS])
        + 1e-13
        - m * _EPSILON * np.append(0 * _TILTS, cost * squares)
    )
    low, high = np.zeros((2, 1)), np.minimum(sums / m * (1 + 4 * _EPSILON), 1.0)
    for _ in range(_HALVINGS):
        p = 0.5 * (low + high)
        tilted = _TILTS * sums - m * np.log1p(p * growth)
        bets = _BETS * (sums - m * p) + cost * squares
        evidence = np.logaddexp.reduce(np.hstack([tilted, bets]) + weights - slack, axis=1)
        excluded = (evidence >= limit)[:, None]
        low, high = np.where(excluded, p, low), np.where(excluded, high, p)
    return float(low[0, 0]), min(1.0, math.nextafter(1 - float(low[1, 0]), 2))
