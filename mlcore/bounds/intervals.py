"""Interval arithmetic on arrays of long doubles, for formulas of single numbers.

Most results are certain: the whole interval rounds up to one float. The others, a few in a hundred
where a long double has 64 bits, are computed to the fifty digits of `directed_rounding`.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Self

import numpy as np

_EPS, _TINY = np.finfo(np.longdouble).eps, np.finfo(np.longdouble).tiny
_MOST_WHOLE = 2.0**53  # integers up to here are floats


class Undecided(Exception):
    """Raised where intervals do not decide: the entries have to be computed one by one."""


class Interval:
    """Exact numbers enclosed between arrays `low` and `high` of long doubles."""

    low: np.ndarray
    high: np.ndarray

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, low: np.ndarray, high: np.ndarray) -> None:
        self.low, self.high = low, high

    @classmethod
    def of(cls, values: np.ndarray) -> Self:
        """Return the interval of an array of integers or floats, or raise Undecided."""
        if values.dtype.kind not in "iuf" or values.dtype.itemsize > 8:
            raise Undecided
        wide = values.astype(np.longdouble)
        if values.dtype.kind != "f" and (np.abs(wide) > _MOST_WHOLE).any():
            raise Undecided
        return cls(wide, wide)

    def inside(
        self,
        *,
        above: Any = None,
        at_least: Any = None,
        below: Any = None,
        at_most: Any = None,
        whole: bool = False,
    ) -> Self:
        """Return self, or raise Undecided if a number is not finite and in range."""
        x = self.low
        good = np.isfinite(x)
        for limit, is_inside in (
            (above, np.greater), (at_least, np.greater_equal),
            (below, np.less), (at_most, np.less_equal),
        ):  # fmt: skip
            if limit is not None:
                good &= is_inside(x, limit.low if isinstance(limit, Interval) else limit)
        if whole:
            good &= np.floor(x) == x
        if not good.all():
            raise Undecided
        return self

    def __add__(self, other: Any) -> "Interval":
        other = _interval(other)
        return _outward(self.low + other.low, self.high + other.high)

    def __neg__(self) -> "Interval":
        return Interval(-self.high, -self.low)

    def __sub__(self, other: Any) -> "Interval":
        return self + -_interval(other)

    def __rsub__(self, other: Any) -> "Interval":
        return _interval(other) + -self

    def __mul__(self, other: Any) -> "Interval":
        other = _interval(other)
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return _outward(np.minimum.reduce(ends), np.maximum.reduce(ends))

    def __truediv__(self, other: Any) -> "Interval":
        other = _interval(other)
        if not ((other.low > 0) | (other.high < 0)).all():
            raise Undecided
        return self * _outward(1 / other.high, 1 / other.low)

    def __rtruediv__(self, other: Any) -> "Interval":
        return _interval(other) / self

    __radd__, __rmul__ = __add__, __mul__

    def __pow__(self, exponent: int) -> "Interval":
        if exponent != 2:
            raise Undecided
        return self * self

    def sqrt(self) -> "Interval":
        """Return the square roots; numbers below 0 count as 0."""
        return self._increasing(lambda x: np.sqrt(np.maximum(x, 0)))

    def exp(self) -> "Interval":
        """Return e to these powers."""
        image = self._increasing(np.exp)
        # Of powers too small for a long double it is enough that they are positive, if the smallest
        # long doubles times any factor of a formula stay below all floats.
        positive = _TINY if _TINY < np.longdouble(1e-300) ** 10 else np.nan
        tiny = image.high < 4 * _TINY
        return Interval(np.where(tiny, positive, image.low), np.where(tiny, 4 * _TINY, image.high))

    def ln(self) -> "Interval":
        """Return the natural logarithms of positive numbers."""
        return self._increasing(np.log)

    def log1p(self) -> "Interval":
        """Return the logarithms of the numbers plus one."""
        return self._increasing(np.log1p)

    def expm1(self) -> "Interval":
        """Return e to these powers, less one."""
        return self._increasing(np.expm1)

    def up(self) -> np.ndarray:
        """Return the least floats not below; NaN where there are several."""
        low, high = (_least_float(ends) for ends in (self.low, self.high))
        return np.where((low == high) & np.isfinite(high), high, np.nan)

    def ceiling(self) -> np.ndarray:
        """Return the least integers not below, as floats; NaN where there are several."""
        low, high = np.ceil(self.low), np.ceil(self.high)
        single = (low == high) & (np.abs(high) < _MOST_WHOLE)
        return np.where(single, high, np.nan).astype(np.float64)

    def _increasing(self, function: Callable[[np.ndarray], np.ndarray]) -> "Interval":
        return _outward(function(self.low), function(self.high))

    def _undecided(self, *_: Any) -> Any:
        raise Undecided

    __bool__ = __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __abs__ = __float__ = _undecided


def _interval(x: Any) -> Interval:
    if isinstance(x, Interval):
        return x
    if isinstance(x, Decimal) or (isinstance(x, int) and abs(x) > _MOST_WHOLE):
        rounded = np.asarray(np.longdouble(str(x)))
        return _outward(rounded, rounded)
    same = np.asarray(x, dtype=np.longdouble)
    return Interval(same, same)


def _outward(low, high):
    """Return the interval widened by the rounding, two units in the last place."""
    return Interval(
        low - (2 * _EPS * np.abs(low) + _TINY), high + (2 * _EPS * np.abs(high) + _TINY)
    )


def _least_float(x):
    nearest = x.astype(np.float64)
    return np.where(nearest < x, np.nextafter(nearest, np.inf), nearest)
