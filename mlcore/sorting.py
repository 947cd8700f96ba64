"""Order of real numbers, in time that does not depend on their values."""

import numpy as np

from mlcore._ext import sorting as _ext
from mlcore.scratch import scratch_array


def stable_order(values: np.ndarray) -> np.ndarray:
    """Return the places of `values` from least to largest, equal ones as they come.

    By their bytes, with each of which one pass over the values deals.

    Parameters
    ----------
    values : (n,) float64 array
        None is NaN.

    Returns
    -------
    order : (n,) int64
    """
    order = np.empty(len(values), dtype=np.int64)
    _ext.stable_order(values, scratch_array((2, len(values), 2), np.uint64), order)
    return order
