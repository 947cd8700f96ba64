"""Bounds on the mean and the variance of independent values in a known range, from their moments.

All are symmetric in the values: their order does not matter, so that sorted ones do no harm.
"""

from typing import NamedTuple

import numpy as np

from mlcore.bounds.concentration.bernstein import bernstein_epsilon
from mlcore.bounds.held_out import hoeffding_bentkus_bound

_EPSILON = 2.0**-52
_OF_VARIANCE = 0.25  # part of delta for the variance; a fifth to a third is as good
LARGEST_VARIANCE = 0.25  # of values in [0, 1]


class Moments(NamedTuple):
    """Moments of `m` values in a range that was mapped to [0, 1].

    `rest` is 1 - `mean`, rounded once; `variance` is unbiased, 0 for one value.
    """

    m: int
    mean: float
    rest: float
    variance: float

    @property
    def mirrored(self) -> "Moments":
        """Moments of 1 less the values."""
        return Moments(self.m, self.rest, self.mean, self.variance)


def moments_of(values: np.ndarray, low: float, high: float) -> Moments:
    """Return the moments of values (m,) in [low, high], both finite, as is their difference."""
    m = len(values)
    scaled = (values - low) / (high - low)
    # The complement is rounded once, so that m - k whole losses stay m - k.
    total = min(max(scaled.sum(dtype=np.longdouble), np.longdouble(0)), np.longdouble(m))
    variance = float(np.var(scaled, ddof=1)) if m > 1 else 0.0
    return Moments(m, float(total / m), float((m - total) / m), variance)


def hoeffding_bentkus(moments: Moments, delta: float) -> float:
    """Return `hoeffding_bentkus_bound` of the mean, with its rounding."""
    bound = hoeffding_bentkus_bound(moments.mean, moments.m, delta) * (1 + 4 * _EPSILON)
    return min(bound, 1.0)


def empirical_bernstein(moments: Moments, delta: float) -> float:
    r"""Return an upper bound on the expectation from the variance of the sample.

    Bernstein's inequality at 3/4 of `delta` with `variance_bound` at 1/4. The latter is smaller
    than the bound on the deviation in Maurer and Pontil's inequality: for constant values the
    distance from the mean is about 1.75 :math:`\ln(1 / \delta) / m` in place of 2.33.
    """
    return _above(moments.mean, _deviation(moments, delta))


def mean_interval(moments: Moments, delta: float) -> tuple[float, float]:
    """Return an interval for the expectation in [0, 1], each end of which may fail with delta / 2.

    An end is the tighter of both bounds, each at half of that; of one value only the first holds.
    """
    half = delta / 2 if moments.m < 2 else delta / 4
    epsilon = _deviation(moments, half)  # of both ends
    upper, rest = (
        min(hoeffding_bentkus(side, half), _above(side.mean, epsilon))
        for side in (moments, moments.mirrored)
    )
    return max(1 - rest - _EPSILON, 0.0), upper


def variance_bound(moments: Moments, delta: float) -> float:
    r"""Return an upper bound on the variance of at least two values in [0, 1].

    Twice the sample variance is a U-statistic of :math:`(x - x')^2`, an average over permutations
    of averages of :math:`\lfloor m / 2 \rfloor` independent terms: by Jensen's inequality the
    bounds of these hold for it (Hoeffding, 1963, section 5a).
    """
    twice = min(2 * moments.variance * (1 + 64 * _EPSILON), 1.0)
    bound = hoeffding_bentkus_bound(twice, moments.m // 2, delta) * (0.5 + 4 * _EPSILON)
    return min(bound, LARGEST_VARIANCE)


def variance_lower_bound(moments: Moments, delta: float) -> float:
    """Return a lower bound on the variance of at least two values in [0, 1], by the same bounds."""
    rest = min(1 - 2 * moments.variance * (1 - 64 * _EPSILON), 1.0)
    twice = 1 - hoeffding_bentkus_bound(max(rest, 0.0), moments.m // 2, delta)
    return min(max(twice / 2 - 4 * _EPSILON, 0.0), LARGEST_VARIANCE)


def on_range(interval: tuple[float, float], low: float, high: float) -> tuple[float, float]:
    """Return an interval in [0, 1] mapped to [low, high], rounded outwards."""
    lower, upper = interval
    if low == 0:
        return lower * high * (1 - _EPSILON), min(upper * high * (1 + _EPSILON), high)
    length = high - low
    slack = 4 * _EPSILON * abs(low) + 4 * _EPSILON * length
    return max(low + length * lower - slack, low), min(low + length * upper + slack, high)


def _deviation(moments, delta):
    if moments.m < 2:
        return 1.0
    variance = variance_bound(moments, delta * _OF_VARIANCE)
    return bernstein_epsilon(moments.m, delta * (1 - _OF_VARIANCE), variance)


def _above(mean, epsilon):
    return min((mean + epsilon) * (1 + 4 * _EPSILON), 1.0)
