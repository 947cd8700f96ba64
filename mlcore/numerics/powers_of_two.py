"""Powers of two as units: scaling by them takes values to a safe range without rounding."""

import numpy as np

_PLAIN = 99  # powers of squares and sums up to this are far from the limits of float64


def exponent(size: float) -> int:
    """Return the p with ``2^(p - 1) <= size < 2^p``, 0 for 0."""
    return int(np.frexp(size)[1])


def even_exponent(size: float, plain: int = _PLAIN) -> int:
    """Return an even p with `size` of about 2^p, 0 where |p| would be at most `plain`."""
    power = exponent(size)
    return 0 if abs(power) <= plain else power + power % 2
