"""Radix sort of real numbers, in time that does not depend on their values."""

import numpy as np

from mlcore._ext.numerics import radix_sort as _ext
from mlcore.runtime.scratch import scratch_array


def stable_order(values: np.ndarray) -> np.ndarray:
    """Return the indices that sort `values`, equal ones in input order, in O(n) time.

    One pass over the values, float64 (n,) without NaN, for each of their eight bytes.
    """
    order, scratch = np.empty(len(values), np.int64), scratch_array((2, len(values), 2), np.uint64)
    _ext.stable_order(values, scratch, order)
    return order
