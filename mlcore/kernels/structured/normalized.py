"""Kernel values divided by the norms of their samples."""

import numpy as np

from mlcore.checks.encoded_samples import EncodedSamples

_BLOCK = 1 << 16  # values that stay in cache


def normalized(
    K: np.ndarray, X: EncodedSamples, Y: EncodedSamples, rows: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """Return k(x, y) / sqrt(k(x, x) k(y, y)) in the place of K, at most 1.

    A sample and itself have exactly 1. Samples without features, of k(x, x) = 0, have 1 with each
    other and 0 with the rest, as if they shared a feature of their own.

    Parameters
    ----------
    K : float64 (n, m)
        k(x, y).
    X, Y : the n and m samples
    rows, columns : float64 (n,), (m,)
        k(x, x) and k(y, y).
    """
    (rows, row_scales), (columns, scales) = map(_apart, (rows, columns))
    step = max(1, _BLOCK // max(1, len(columns)))
    for first in range(0, len(rows), step):
        part, block = slice(first, first + step), K[first : first + step]
        block *= row_scales[part, None]
        block *= scales
        block /= np.sqrt(np.multiply.outer(rows[part], columns))
        np.minimum(block, 1.0, out=block)
    K[np.ix_(row_scales == 0, scales == 0)] = 1.0
    if X.same(Y):
        places = np.argsort(Y.chosen, kind="stable")
        found = np.searchsorted(Y.chosen[places], X.chosen)
        found = places[np.minimum(found, len(places) - 1)]
        itself = Y.chosen[found] == X.chosen
        K[np.flatnonzero(itself), found[itself]] = 1.0
    return K


def _apart(squares):
    """Return squares in [1/2, 2), and the power of two by which each root is to be multiplied.

    The root of a product of two squares is then exact for equal ones, and neither too large nor too
    small. Of 0 it is 1, and the power 0.
    """
    mantissas, exponents = np.frexp(squares)  # in [1/2, 1)
    odd = exponents % 2
    halves = (exponents - odd) // 2
    return (
        np.where(squares > 0, np.ldexp(mantissas, odd), 1.0),
        np.where(squares > 0, np.ldexp(1.0, -halves), 0.0),
    )
