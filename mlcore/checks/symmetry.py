"""Tolerances for matrices that are symmetric but for rounding.

Both are relative: to the larger of two mirrored entries if the matrix will be rescaled, so that
small entries matter, and otherwise to its largest entry.
"""

import numpy as np


def rounding_of_values(dtype: np.dtype | type) -> float:
    """Return the square root of the precision: kernel values agree to half of their digits."""
    return float(np.sqrt(np.finfo(dtype).eps))


def rounding_of_distances(dtype: np.dtype | type) -> float:
    """Return 8 square roots of the precision.

    The root of ``|x|² + |y|² - 2 x.y`` has an error of the root of some tens of units.
    """
    return 8 * rounding_of_values(dtype)
