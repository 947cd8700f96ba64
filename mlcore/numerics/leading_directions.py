"""Orthonormal directions along which rows vary most, from a few of them."""

import numpy as np
from scipy.linalg import eigh, qr

from mlcore.runtime.threads import single_threaded_blas


@single_threaded_blas()
def leading_directions(pilot: np.ndarray, most: int) -> np.ndarray:
    """Return orthonormal columns (d, m) that span the leading directions of centred rows.

    m is at most `most`, a quarter of the features, and the number of rows of `pilot` (p, d), which
    are few: O(p² d) time.
    """
    p, d = pilot.shape
    rank = min(most, d // 4, p)
    _, vectors = eigh(pilot @ pilot.T, subset_by_index=(p - rank, p - 1))
    return qr(pilot.T @ vectors, mode="economic")[0]
