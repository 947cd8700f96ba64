"""Fitted attributes of principal components, in the units of the data."""

from typing import Any, NamedTuple

import numpy as np

from mlcore.checks.stored import stored
from mlcore.decomposition.evidence import angle_bounds, gaps, orthogonality, signs
from mlcore.decomposition.scatter_eigenpairs import Spectrum
from mlcore.numerics.scatter import ROWS

_ROUNDING = 8  # errors of a sum of n products are about eps n^1/2, and at most so many times that


@stored(version=1)
class ColumnUnits(NamedTuple):
    """Units ``2^power scale`` of features, in which squares are in range."""

    power: np.ndarray  # int (d,): sums over rows x are those of ``2^-power x``
    # float64 (d,): the standard deviations of these if features are scaled, else ones
    scale: np.ndarray
    _stored = {"power": "int f", "scale": "float64 f"}


@stored(version=1)
class Variances(NamedTuple):
    """Variances of a normal distribution in the units of `ColumnUnits`."""

    along: np.ndarray  # float64 (k,): in the directions of the components
    noise: float  # in each other direction
    _stored = {"along": "float64 k?", "noise": "float"}

    def singular(self, d: int) -> bool:
        """Return True if the distribution is within less than d dimensions."""
        return self.noise == 0 and int(np.count_nonzero(self.along > 0)) < d


def summary(
    spectrum: Spectrum,
    values: np.ndarray,
    divisor: float,
    n: int,
    origin: np.ndarray,
    mean: np.ndarray,
    units: ColumnUnits,
    scaled: bool,
) -> dict[str, Any]:
    """Return the attributes of components, variances and their evidence.

    `values` (k,) or more are the eigenvalues of the scatter of n rows in `units`, 0 in place of
    rounding errors; `divisor` is scatter over covariance; `mean` is that of ``2^-power (x -
    origin)``.
    """
    (d, k), dtype = spectrum.vectors.shape, origin.dtype
    exponent = 0 if scaled else int(units.power[0])
    trace, leading = spectrum.trace, values[:k]
    U = spectrum.vectors * signs(spectrum.vectors)
    # The variance that is discarded, and the mean of it.
    single = spectrum.solver == "scatter" and dtype == np.float32
    eps = float(np.finfo(dtype if single else np.float64).eps)
    if len(values) > k + 1 or len(values) == d:
        discarded = float(values[k:].sum())
    else:
        discarded = max(0.0, trace - float(leading.sum()))
        discarded = discarded if discarded > max(n, d) * eps * trace else 0.0
    noise = discarded / (d - k) / divisor if d > k else 0.0
    # What rounding leaves uncertain of shares and angles.
    rounding = _ROUNDING * eps * np.sqrt(max(d, min(n, ROWS) if single else n))
    bounds = np.zeros(2)
    if trace > 0:
        bounds += leading.sum() / trace
        bounds += np.array([-rounding, rounding + 1 - spectrum.basis_trace / trace])
    last, following = float(leading[-1]), spectrum.next_value
    gap = gaps(leading, following)
    angles = angle_bounds(spectrum.residuals, gap, rounding, spectrum.next_residual)
    with np.errstate(over="ignore"):
        return {
            "components_": np.ascontiguousarray(U.T, dtype),
            "explained_variance_": np.ldexp(leading / divisor, 2 * exponent),
            "explained_variance_ratio_": leading / (trace or 1.0),
            "singular_values_": np.ldexp(np.sqrt(leading), exponent),
            "mean_": origin + np.ldexp(mean, units.power),
            "scale_": np.ldexp(units.scale, units.power) if scaled else units.scale,
            "noise_variance_": float(np.ldexp(noise, 2 * exponent)),
            "total_variance_": float(np.ldexp(trace / divisor, 2 * exponent)),
            "n_components_": k,
            "rank_": int(np.count_nonzero(leading)),
            "residuals_": spectrum.residuals,
            "orthogonality_": orthogonality(U),
            "gaps_": gap,
            "angle_bounds_": angles,
            "next_value_": float(np.ldexp(following / divisor, 2 * exponent)),
            "explained_fraction_bounds_": np.clip(bounds, 0.0, 1.0),
            "condition_": float(leading[0]) / last if last > 0 else np.inf,
            # Proved of the matrix, which itself is known to its rounding.
            "complete_": bool(spectrum.complete and last - following > 2 * rounding * leading[0]),
            "solver_": spectrum.solver,
            "converged_": spectrum.converged,
            "origin_": origin,
            "_units_": units,
            "_solution_": Variances(leading / divisor, noise),
        }


def divisor_of(total: float, ddof: int, n: Any, owner: str) -> float:
    """Return the weight of all rows less `ddof`; ValueError where it is not positive."""
    if total > ddof:
        return total - ddof
    raise ValueError(
        f"{owner}: n_samples={n} rows, of total weight {total:g}, have no variance with "
        f"ddof={ddof}: use more rows, or ddof=0."
    )
