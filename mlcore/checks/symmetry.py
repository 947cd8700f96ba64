"""The rounding by which a matrix that is taken for symmetric may differ from its transpose.

Both policies are relative, to the larger of two mirrored entries where these will be rescaled, so
that the smallest come to count, and to the largest entry of the matrix elsewhere.
"""

import numpy as np


def rounding_of_values(dtype: np.dtype | type) -> float:
    """Return the root of the precision: values of a kernel agree to half of their digits."""
    return float(np.sqrt(np.finfo(dtype).eps))


def rounding_of_distances(dtype: np.dtype | type) -> float:
    """Return 8 roots of the precision.

    A distance formed as the root of ``|x|² + |y|² - 2 x.y`` is off by the root of what these round
    to, some tens of units.
    """
    return 8 * rounding_of_values(dtype)
