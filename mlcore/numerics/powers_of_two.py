"""Powers of two as units: scaling by them takes values to a safe range without rounding."""

from math import frexp

_PLAIN = 99  # powers of squares and sums up to this are far from the limits of float64


def even_exponent(size: float, plain: int = _PLAIN) -> int:
    """Return an even p with `size` of about 2^p, 0 where |p| would be at most `plain`."""
    power = frexp(size)[1]
    return 0 if abs(power) <= plain else power + power % 2
