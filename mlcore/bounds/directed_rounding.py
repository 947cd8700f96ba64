"""Arithmetic to fifty digits, with one rounding at the end, to the safe side.

A formula computed in `working_digits` has errors far below the last digit of a float. `up` and
`down` return the next float on the safe side, so that comparing a threshold with the result decides
as the exact value would. A result within 1e-40, relative, of a float or an integer is taken for it.
"""

import functools
import math
from contextlib import AbstractContextManager
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np

from mlcore.bounds.intervals import Interval

Number = int | float | Fraction | Decimal  # or, for whole arrays, an Interval

_CONTEXT = Context(prec=50, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
_SAME = Decimal("1e-40")
_SMALL = Decimal("1e-12")  # below, five terms of a series are exact to fifty digits


def working_digits() -> AbstractContextManager[Any]:
    """Compute with fifty digits inside the block, independent of the caller's decimal context."""
    return localcontext(_CONTEXT)


def exact(x: Any) -> Any:
    """Return x to fifty digits; an interval is returned unchanged."""
    if isinstance(x, Interval):
        return x
    if isinstance(x, Fraction):
        return exact(x.numerator) / exact(x.denominator)
    if isinstance(x, int) and (excess := x.bit_length() - 200) > 0:
        return Decimal(x >> excess) * Decimal(2) ** excess  # more digits take too long
    return +Decimal(x)


def log(x: Any) -> Any:
    """Return ln x to fifty digits; minus infinity at 0."""
    return x.ln() if isinstance(x, Interval) else _log(x)


@functools.lru_cache(maxsize=256)  # for a curve over m, ln delta is half of the time
def _log(x):
    return exact(x).ln(_CONTEXT)


def log1p(x: Any) -> Any:
    """Return ln(1 + x), also for tiny x."""
    if isinstance(x, Interval):
        return x.log1p()
    x = exact(x)
    if abs(x) > _SMALL:
        return (1 + x).ln()
    return x * (1 - x * (Decimal(1) / 2 - x * (Decimal(1) / 3 - x * (Decimal(1) / 4 - x / 5))))


def expm1(x: Any) -> Any:
    """Return exp(x) - 1, also for tiny x."""
    if isinstance(x, Interval):
        return x.expm1()
    x = exact(x)
    if abs(x) > _SMALL:
        return x.exp() - 1
    return x * (1 + x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5))))


def up(x: Any) -> Any:
    """Return the least float that is not below x."""
    if isinstance(x, Interval):
        return x.up()
    nearest = float(x)
    above = _differs(x, nearest) and x > Decimal(nearest)
    return math.nextafter(nearest, math.inf) if above else nearest


def down(x: Decimal) -> float:
    """Return the greatest float that is not above x."""
    nearest = float(x)
    below = _differs(x, nearest) and x < Decimal(nearest)
    return math.nextafter(nearest, -math.inf) if below else nearest


def ceiling(x: Any) -> Any:
    """Return the least integer that is not below x."""
    if isinstance(x, Interval):
        return x.ceiling()
    if x.adjusted() >= 50:
        return int(x)
    nearest = x.to_integral_value()
    if _differs(x, nearest):
        return int(x.to_integral_value(ROUND_CEILING))
    return int(nearest)


def at_most_one(x: Any) -> Any:
    """Return the smaller of 1.0 and a float, or each of an array."""
    return np.minimum(x, 1.0) if isinstance(x, np.ndarray) else min(1.0, x)


def at_least_one(x: Any) -> Any:
    """Return the larger of 1 and an integer, or each of an array."""
    return np.maximum(x, 1) if isinstance(x, np.ndarray) else max(1, x)


def floor(x: Decimal) -> int:
    """Return the greatest integer that is not above x."""
    return -ceiling(-x)


def _differs(x, nearest):
    return abs(x - Decimal(nearest)) > _SAME * abs(x)
