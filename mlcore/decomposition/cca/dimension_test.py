"""Tests of the number of canonical correlations that are not 0."""

from typing import NamedTuple

import numpy as np
from scipy import special

from mlcore.estimator.printed import fields_as_table


class DimensionTest(NamedTuple):
    """Tests that all canonical correlations from the j-th on are 0, for normal data.

    Entry j is the test of the hypothesis that only j of them are not 0; all arrays are float64 (m,)
    for m correlations.

    Parameters
    ----------
    wilks : (m,)
        Wilks' lambda, ``prod_{i >= j} (1 - rho_i²)``.
    f, f_numerator_df, f_denominator_df, f_p_value : (m,)
        Rao's F of it, its degrees of freedom, and the probability of a larger value. With too few
        rows for it, NaN.
    bartlett, bartlett_df, bartlett_p_value : (m,)
        Bartlett's chi-squared of it, its degrees of freedom, and the probability of a larger value.

    References
    ----------
    C. R. Rao, *Linear Statistical Inference and Its Applications*, 2nd ed., 1973, section 8c.5.
    M. S. Bartlett, *The general canonical correlation distribution*, Annals of Mathematical
    Statistics 18, 1947.

    Examples
    --------
    >>> from mlcore.decomposition import CCA
    >>> x = [[0.0], [1.0], [2.0], [3.0]]
    >>> CCA(1).fit(x, [0.0, 1.0, 1.0, 0.0]).dimension_test().wilks.round(6)
    array([1.])
    """

    wilks: np.ndarray
    f: np.ndarray
    f_numerator_df: np.ndarray
    f_denominator_df: np.ndarray
    f_p_value: np.ndarray
    bartlett: np.ndarray
    bartlett_df: np.ndarray
    bartlett_p_value: np.ndarray

    __repr__ = fields_as_table


def dimension_test(rho: np.ndarray, weight: float, p: int, q: int) -> DimensionTest:
    """Return the tests of all canonical correlations `rho` (m,), descending, m = min(p, q).

    `weight` is the number of rows, weights counted as copies; p and q are the ranks of the blocks.
    """
    left = np.arange(len(rho))
    p_left, q_left = p - left, q - left
    with np.errstate(all="ignore"):
        log_wilks = np.cumsum(np.log1p(-(rho[::-1] ** 2)))[::-1]
        factor = weight - 1 - (p + q + 1) / 2
        squares = p_left**2.0 + q_left**2.0 - 5
        numerator = (p_left * q_left).astype(np.float64)
        root = np.where(squares > 0, np.sqrt((numerator**2 - 4) / squares), 1.0)
        denominator = factor * root - numerator / 2 + 1
        # (1 - lambda^(1/root)) / lambda^(1/root), without cancellation.
        f = np.expm1(-log_wilks / root) * denominator / numerator
        known = denominator > 0
        f = np.where(known, f, np.nan)
        f_p_value = np.where(known, special.fdtrc(numerator, denominator, f), np.nan)
        bartlett = np.where(factor > 0, -factor * log_wilks, np.nan)
    return DimensionTest(
        np.exp(log_wilks),
        f,
        numerator,
        denominator,
        f_p_value,
        bartlett,
        numerator.copy(),
        special.chdtrc(numerator, bartlett),
    )
