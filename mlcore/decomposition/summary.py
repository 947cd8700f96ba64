"""Fitted attributes of principal components, in the units of the data."""

from typing import Any

import numpy as np

from mlcore.decomposition.evidence import angle_bounds, gaps, orthogonality, signs
from mlcore.decomposition.scatter_eigenpairs import Spectrum
from mlcore.numerics.scatter import ROWS

_ROUNDING = 8  # errors of a sum of n products are about eps n^1/2, and at most so many times that


def summary(
    spectrum: Spectrum, values: np.ndarray, divisor: float, n: int, dtype: Any, exponent: int
) -> dict[str, Any]:
    """Return the attributes of components, variances and their evidence.

    Parameters
    ----------
    spectrum : Spectrum
        Of the scatter of 2^-exponent x.
    values : (k,) or more
        Its eigenvalues, those of rounding errors set to 0.
    divisor : float
        Scatter over covariance.
    n : int
        Rows.
    dtype : dtype
        Of the data.
    exponent : int
    """
    d, k = spectrum.vectors.shape
    trace, leading = spectrum.trace, values[:k]
    U = spectrum.vectors * signs(spectrum.vectors)
    single = spectrum.solver == "scatter" and np.dtype(dtype) == np.float32
    eps = float(np.finfo(dtype if single else np.float64).eps)
    if len(values) > k + 1 or len(values) == d:
        discarded = float(values[k:].sum())
    else:
        discarded = max(0.0, trace - float(leading.sum()))
        discarded = discarded if discarded > max(n, d) * eps * trace else 0.0
    noise = discarded / (d - k) / divisor if d > k else 0.0
    rounding = _ROUNDING * eps * np.sqrt(max(d, min(n, ROWS) if single else n))
    bounds = np.zeros(2)
    if trace > 0:
        bounds += leading.sum() / trace
        bounds += np.array([-rounding, rounding + 1 - spectrum.basis_trace / trace])
    last, following = float(leading[-1]), spectrum.next_value
    gap = gaps(leading, following)
    with np.errstate(over="ignore"):
        return {
            "components_": np.ascontiguousarray(U.T, dtype),
            "explained_variance_": np.ldexp(leading / divisor, 2 * exponent),
            "explained_variance_ratio_": leading / (trace or 1.0),
            "singular_values_": np.ldexp(np.sqrt(leading), exponent),
            "noise_variance_": float(np.ldexp(noise, 2 * exponent)),
            "total_variance_": float(np.ldexp(trace / divisor, 2 * exponent)),
            "n_components_": k,
            "rank_": int(np.count_nonzero(leading)),
            "residuals_": spectrum.residuals,
            "orthogonality_": orthogonality(U),
            "gaps_": gap,
            "angle_bounds_": angle_bounds(
                spectrum.residuals, gap, rounding, spectrum.next_residual
            ),
            "next_value_": float(np.ldexp(following / divisor, 2 * exponent)),
            "explained_fraction_bounds_": np.clip(bounds, 0.0, 1.0),
            "condition_": float(leading[0]) / last if last > 0 else np.inf,
            # Proved of the matrix, which itself is known to its rounding.
            "complete_": bool(spectrum.complete and last - following > 2 * rounding * leading[0]),
            "solver_": spectrum.solver,
            "_values_": leading / divisor,
            "_noise_": noise,
        }


def divisor_of(total: float, ddof: int, n: Any, owner: str) -> float:
    """Return the weight of all rows less `ddof`; ValueError where it is not positive."""
    if total > ddof:
        return total - ddof
    raise ValueError(
        f"{owner}: n_samples={n} rows, of total weight {total:g}, have no variance with "
        f"ddof={ddof}: use more rows, or ddof=0."
    )
