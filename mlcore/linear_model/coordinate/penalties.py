"""Penalties of an elastic net and what a fit with them gives, by all columns or some."""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from mlcore.linear_model.regression.rows import DataUnits

_LARGEST = 1e300  # penalty, so that its product with 0 is 0
_INDEPENDENT = 1e-10  # square of a pivot, in columns of unit length


class Penalties(NamedTuple):
    """Factors of ``|w_j|``, (d, k), and of ``w_j²/2``, (d,), in `DataUnits`, for alpha = 1.

    They are those of sums over rows, not of means.
    """

    lasso: np.ndarray
    ridge: np.ndarray

    @classmethod
    def of(
        cls,
        data_units: DataUnits,
        total: float,
        l1_ratio: float,
        deviation: np.ndarray | None = None,
    ) -> "Penalties":
        """Return the penalties of targets whose rows have this total weight.

        With a `deviation` (d,), in `DataUnits`, they are those of features divided by it, where it
        is not 0.
        """
        power, target_power = data_units.power[:, None], data_units.target_power
        with np.errstate(over="ignore", under="ignore"):
            if deviation is None:
                lasso = np.ldexp(total * l1_ratio, -power - target_power)
                ridge = np.ldexp(total * (1 - l1_ratio), -2 * data_units.power)
            else:
                unit = np.where(deviation > 0, deviation, np.ldexp(1.0, -data_units.power))
                lasso = np.ldexp(total * l1_ratio * unit[:, None], -target_power)
                ridge = total * (1 - l1_ratio) * unit**2
        return cls(np.minimum(lasso, _LARGEST), np.minimum(ridge, _LARGEST))

    def times(self, alpha: float) -> "Penalties":
        """Return the penalties of this alpha."""
        with np.errstate(over="ignore", under="ignore"):
            return Penalties(*(np.minimum(alpha * part, _LARGEST) for part in self))


class Solution(NamedTuple):
    """Coefficients (d, k) in the `DataUnits`, with the value at `center`, and their evidence.

    `objective` and `gap` (k,) are those of sums over rows; `n_iter` (k,) counts rounds.
    """

    coef: np.ndarray
    center: np.ndarray
    offset: np.ndarray
    objective: np.ndarray
    gap: np.ndarray
    n_iter: np.ndarray


def trace_of_fit(G: np.ndarray, ridge: np.ndarray) -> float:
    """Return the trace of the map from targets to fitted values, of columns with products G (m, m).

    That is the rank of the columns, less the shares of the ridge (m,).
    """
    varying = np.flatnonzero(G.diagonal() > 0)
    if not len(varying):
        return 0.0
    scale = 1 / np.sqrt(G.diagonal()[varying])
    M = G[np.ix_(varying, varying)] * scale * scale[:, None]
    more = ridge[varying] * scale**2
    factor, info = linalg.lapack.dpotrf(M + np.diag(more), lower=1)
    if info == 0 and np.square(factor.diagonal()).min() > _INDEPENDENT:
        if not more.any():
            return float(len(varying))
        inverse = linalg.lapack.dpotri(factor, lower=1)[0]
        return float(len(varying) - more @ inverse.diagonal())
    values, vectors = linalg.eigh(M)
    kept = values > _INDEPENDENT * values[-1]
    if not more.any():
        return float(np.count_nonzero(kept))
    values, V = values[kept], vectors[:, kept]
    shares = linalg.solve((V.T * more) @ V + np.diag(values), np.diag(values), assume_a="pos")
    return float(shares.trace())
