"""Forms in which covariances are held: matrices, variances by feature, or one variance.

`TYPES` are those of scikit-learn's four names, and of mclust's fourteen families, EII to VVV.
"""

from typing import Any, Literal, get_args

import numpy as np
from scipy.linalg import lapack

from mlcore.checks import as_choice
from mlcore.mixture.gaussian.families.covariance_type import AT_LIMIT, CovarianceType
from mlcore.mixture.gaussian.matrices import (
    EPS,
    FLOOR,
    SINGULAR,
    factor_of,
    from_precision,
    raised_to_limit,
    symmetric,
    units_of,
)
from mlcore.mixture.gaussian.parameters import (
    Clusters,
    DataScale,
    Parameters,
    Statistics,
    sums_by_label,
)

# float32 is used while the least eigenvalue of a covariance is wrong by at most the square of this
# number of its roundings: 2e-4.
_MOST_STRETCH = 64


class Matrices(CovarianceType):
    """Symmetric, positive definite matrices."""

    any_rotation = True
    _valid = "symmetric, positive-definite"

    def rows_of_a_component(self, d: int) -> int:
        return 2 * d

    def log_determinants(self, factors: np.ndarray, d: int) -> np.ndarray:
        return np.log(np.diagonal(factors, axis1=-2, axis2=-1)).sum(-1)

    def made_valid(self, values: np.ndarray) -> np.ndarray | None:
        return symmetric(values)

    def precisions(self, factors: np.ndarray) -> np.ndarray:
        return factors @ np.swapaxes(factors, -1, -2)

    def correlated(self, Z: np.ndarray, factor: np.ndarray) -> np.ndarray:
        return np.linalg.solve(factor.T, Z.T).T

    def n_flat(
        self, parameters: Parameters, varying: np.ndarray, unit: np.ndarray, reg_covar: float | None
    ) -> np.ndarray:
        d = parameters.means.shape[1]
        C = parameters.covariances.reshape(-1, d, d)
        roots = np.sqrt(unit)
        relative = C[:, varying[:, None], varying] / roots[:, None] / roots
        added = 0.0 if reg_covar is None else reg_covar
        least = np.diag(added / unit)
        most = np.trace(relative, axis1=1, axis2=2)
        bound = AT_LIMIT * FLOOR if reg_covar is None else SINGULAR
        counts = np.zeros(len(C), np.intp)
        for j, one in enumerate(relative):
            slack = bound + 8 * len(unit) * EPS * most[j]
            one = one - least
            # A Cholesky factor is cheaper than the eigenvalues, and nearly always exists.
            if lapack.dpotrf(one - slack * np.eye(len(unit)), lower=1)[1] != 0:
                counts[j] = (np.linalg.eigvalsh(one) <= slack).sum()
        return np.broadcast_to(counts, len(parameters.weights))


class Full(Matrices):
    """One matrix for each component."""

    layout = "full"

    def shape(self, k: int, d: int) -> tuple[Any, ...]:
        return k, d, d

    def operations(self, k: int, d: int) -> int:
        return k * d * d

    def in_single(self, parameters: Parameters) -> bool:
        present = parameters.weights > 0
        factors, covariances = parameters.factors[present], parameters.covariances[present]
        deviations = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
        return bool((deviations[:, None, :] @ np.abs(factors)).max() <= _MOST_STRETCH)

    def coordinate_roundings(self, parameters: Parameters, origin: np.ndarray) -> float:
        present = parameters.weights > 0
        offsets = np.abs(parameters.means[present] - origin)
        factors, covariances = parameters.factors[present], parameters.covariances[present]
        deviations = np.sqrt(np.diagonal(covariances, axis1=-2, axis2=-1))
        return ((deviations + offsets)[:, None, :] @ np.abs(factors)).max()

    def rounding_of_axes(self, parameters: Parameters) -> float:
        if self.family not in ("EVE", "VVE", "EEV", "VEV"):
            return 0.0
        # A variance is wrong by EPS of the largest: about the likeliest that counts squared.
        d = parameters.means.shape[1]
        largest = np.trace(parameters.covariances, axis1=1, axis2=2)
        with np.errstate(over="ignore"):
            of_precisions = (parameters.factors**2).sum(axis=(1, 2))
            return d * float(np.square(EPS * (largest * of_precisions).max()))

    def second_moments(self, sums: np.ndarray, k: int, d: int, rows: Any) -> np.ndarray:
        upper, place = sums.reshape(k, d, d), np.arange(d)
        return np.where(place[:, None] <= place, upper, upper.transpose(0, 2, 1))

    def moved(self, statistics: Statistics, shift: np.ndarray) -> Statistics:
        log_likelihood, mass, first, second = statistics
        step = mass[:, None] * shift
        cross = first[:, :, None] * shift[:, None, :]
        second = second + cross + cross.transpose(0, 2, 1) + step[:, :, None] * shift[:, None, :]
        return Statistics(log_likelihood, mass, first + step, second)

    def scatter(
        self, statistics: Statistics, divisor: np.ndarray, shift: np.ndarray, offsets: np.ndarray
    ) -> tuple[Any, ...]:
        S = statistics.second / divisor[:, None, None] - shift[:, :, None] * shift[:, None, :]
        return S, np.diagonal(S, axis1=1, axis2=2)

    def floor(
        self, S: np.ndarray, means: np.ndarray, data_variances: np.ndarray, reg_covar: float | None
    ) -> tuple[Any, ...]:
        return raised_to_limit(S, (EPS * means) ** 2, units_of(data_variances), reg_covar)

    def expected(self, parameters: Parameters, origin: Any, reg_covar: float | None) -> Statistics:
        weights, means, sigma, _ = parameters
        sigma = sigma - reg_covar * np.eye(means.shape[1])
        return Statistics(0.0, weights, np.zeros(means.shape), sigma * weights[:, None, None])

    def lost(self, statistics: Statistics, parameters: Parameters, most: float) -> bool:
        mass, first, wide = statistics.mass, statistics.first, parameters.covariances
        wide = np.diagonal(wide, axis1=1, axis2=2)
        filled = mass > 0
        if not filled.all():
            mass, first, wide = mass[filled], first[filled], wide[filled]
        return bool(((first / mass[:, None]) ** 2 > most * wide).any())

    def squares(self, second: np.ndarray) -> np.ndarray:
        return np.diagonal(second, axis1=1, axis2=2)

    def cluster_moments(self, clusters: Clusters, scale: DataScale) -> np.ndarray:
        second = (clusters.mass[:, None] * scale.variances)[:, :, None]
        second = second * np.eye(len(scale.variances))
        if clusters.filled.any():
            weighted = clusters.differences * clusters.weight[:, None]
            for j in np.flatnonzero(clusters.filled):
                own = clusters.labels == j
                second[j] = weighted[own].T @ clusters.differences[own]
            if clusters.missing.any():
                absent = clusters.weight[:, None] * clusters.missing
                absent = sums_by_label(clusters.labels, absent, len(second)) * scale.variances
                second[clusters.filled] += (absent[:, :, None] * np.eye(absent.shape[1]))[
                    clusters.filled
                ]
        return second

    def from_precisions(self, precisions: np.ndarray) -> tuple[Any, ...] | None:
        pairs = [from_precision(one) for one in precisions]
        if any(pair is None for pair in pairs):
            return None
        covariances, factors = (np.array(values) for values in zip(*pairs, strict=True))
        return covariances, factors

    def factors_of(self, covariances: np.ndarray) -> np.ndarray | None:
        factors = [factor_of(C) for C in covariances]
        return None if any(factor is None for factor in factors) else np.array(factors)

    def variances(self, covariances: np.ndarray, k: int, d: int) -> np.ndarray:
        return np.diagonal(covariances, axis1=1, axis2=2)


class Tied(Matrices):
    """One matrix for all components; its moments are about the origin of the data."""

    layout = "tied"
    shared = True

    def shape(self, k: int, d: int) -> tuple[Any, ...]:
        return d, d

    def operations(self, k: int, d: int) -> int:
        return k * d + d * d

    def packed(self, means: np.ndarray, factors: np.ndarray) -> tuple[Any, ...]:
        """The rows are rotated once, then variances are 1."""
        return means @ factors, np.ones(len(means)), factors

    def in_single(self, parameters: Parameters) -> bool:
        return False

    def coordinate_roundings(self, parameters: Parameters, origin: np.ndarray) -> float:
        offsets = np.abs(parameters.means[parameters.weights > 0] - origin)
        deviations = np.sqrt(np.diagonal(parameters.covariances))
        return ((deviations + offsets)[:, None, :] @ np.abs(parameters.factors)).max()

    def second_moments(self, sums: np.ndarray, k: int, d: int, rows: Any) -> np.ndarray:
        return rows.scatter_about_origin()

    def moved(self, statistics: Any, shift: Any) -> Any:
        return statistics._replace(first=statistics.first + statistics.mass[:, None] * shift)

    def scatter(
        self, statistics: Statistics, divisor: np.ndarray, shift: np.ndarray, offsets: np.ndarray
    ) -> tuple[Any, ...]:
        offsets = offsets + shift  # far from 0, the means themselves are rounded
        mass = statistics.mass
        S = (statistics.second - (offsets * mass[:, None]).T @ offsets) / mass.sum()
        return S, np.diagonal(S)

    def floor(
        self, S: np.ndarray, means: np.ndarray, data_variances: np.ndarray, reg_covar: float | None
    ) -> tuple[Any, ...]:
        grain = ((EPS * means) ** 2).max(axis=0)
        C, factors = raised_to_limit(S[None], grain[None], units_of(data_variances), reg_covar)
        return C[0], factors[0]

    def as_matrices(self, values: np.ndarray, k: int, d: int) -> np.ndarray:
        return np.repeat(values[None], k, axis=0)

    def of_matrices(self, matrices: np.ndarray) -> np.ndarray:
        return matrices[0]

    def expected(self, parameters: Parameters, origin: Any, reg_covar: float | None) -> Statistics:
        weights, means, sigma, _ = parameters
        offsets = means - origin
        sigma = sigma - reg_covar * np.eye(means.shape[1])
        second = sigma + (offsets * weights[:, None]).T @ offsets
        return Statistics(0.0, weights, np.zeros(means.shape), second)

    def lost(self, statistics: Statistics, parameters: Parameters, most: float) -> bool:
        return False  # moments about the origin do not move

    def total_squares(
        self, statistics: Statistics, offsets: np.ndarray, centre: np.ndarray
    ) -> tuple[Any, ...]:
        between = centre**2
        return self.squares(statistics.second) / statistics.mass.sum() - between, between

    def squares(self, second: np.ndarray) -> np.ndarray:
        return np.diagonal(second)

    def cluster_moments(self, clusters: Clusters, scale: DataScale) -> np.ndarray:
        weight, mass = clusters.weight, clusters.mass
        differences = clusters.X - scale.origin
        second = (differences * weight[:, None]).T @ differences
        second += np.diag(weight @ clusters.missing * scale.variances)
        return second * (mass.sum() / weight.sum())

    def from_precisions(self, precisions: np.ndarray) -> tuple[Any, ...] | None:
        pair = from_precision(precisions)
        return None if pair is None else tuple(map(np.ascontiguousarray, pair))

    def factors_of(self, covariances: np.ndarray) -> np.ndarray | None:
        return factor_of(covariances)

    def variances(self, covariances: np.ndarray, k: int, d: int) -> np.ndarray:
        return np.broadcast_to(np.diagonal(covariances), (k, d))


class Variances(CovarianceType):
    """Positive numbers: features are independent within a component."""

    independent = True

    def operations(self, k: int, d: int) -> int:
        return k * d

    def second_moments(self, sums: np.ndarray, k: int, d: int, rows: Any) -> np.ndarray:
        return sums.reshape(k, d)

    def moved(self, statistics: Statistics, shift: np.ndarray) -> Statistics:
        log_likelihood, mass, first, second = statistics
        step = mass[:, None] * shift
        second = second + 2 * first * shift + step * shift
        return Statistics(log_likelihood, mass, first + step, second)

    def expected(self, parameters: Parameters, origin: Any, reg_covar: float | None) -> Statistics:
        weights, means, sigma, _ = parameters
        sigma = np.maximum(self.variances(sigma, *means.shape) - reg_covar, 0.0)
        return Statistics(0.0, weights, np.zeros(means.shape), sigma * weights[:, None])

    def squares(self, second: np.ndarray) -> np.ndarray:
        return second

    def as_matrices(self, values: np.ndarray, k: int, d: int) -> np.ndarray:
        return values.reshape(k, -1, 1) * np.eye(d)

    def cluster_moments(self, clusters: Clusters, scale: DataScale) -> np.ndarray:
        _, weight, labels, differences, missing, mass, filled = clusters
        second = mass[:, None] * scale.variances
        if filled.any():
            squares = differences * weight[:, None] * differences
            second[filled] = sums_by_label(labels, squares, len(mass))[filled]
            if missing.any():
                absent = sums_by_label(labels, weight[:, None] * missing, len(mass))
                second[filled] += absent[filled] * scale.variances
        return second

    def made_valid(self, values: np.ndarray) -> np.ndarray | None:
        return values if (values > 0).all() else None

    def from_precisions(self, precisions: np.ndarray) -> tuple[Any, ...] | None:
        return 1 / precisions, np.sqrt(precisions)

    def factors_of(self, covariances: np.ndarray) -> np.ndarray | None:
        return 1 / np.sqrt(covariances)

    def precisions(self, factors: np.ndarray) -> np.ndarray:
        return factors**2

    def correlated(self, Z: np.ndarray, factor: Any) -> np.ndarray:
        return Z / factor


class Diagonal(Variances):
    """A variance for each feature of each component."""

    layout = "diag"
    score_scales = "each"

    def shape(self, k: int, d: int) -> tuple[Any, ...]:
        return k, d

    def log_determinants(self, factors: np.ndarray, d: int) -> np.ndarray:
        return np.log(factors).sum(-1)

    def coordinate_roundings(self, parameters: Parameters, origin: np.ndarray) -> float:
        present = parameters.weights > 0
        offsets = np.abs(parameters.means[present] - origin)
        return (1 + offsets * parameters.factors[present]).max()

    def scatter(
        self, statistics: Statistics, divisor: np.ndarray, shift: np.ndarray, offsets: np.ndarray
    ) -> tuple[Any, ...]:
        S = statistics.second / divisor[:, None] - shift**2
        return S, S

    def floor(
        self, S: np.ndarray, means: np.ndarray, data_variances: np.ndarray, reg_covar: float | None
    ) -> tuple[Any, ...]:
        relative, added = (FLOOR, 0.0) if reg_covar is None else (EPS**2, reg_covar)
        least = np.maximum(relative * units_of(data_variances), (EPS * means) ** 2)
        covariances = np.maximum(S + added, least)
        return covariances, 1 / np.sqrt(covariances)

    def lost(self, statistics: Statistics, parameters: Parameters, most: float) -> bool:
        mass, first, wide = _filled(statistics, parameters)
        return bool(((first / mass[:, None]) ** 2 > most * wide).any())

    def n_flat(
        self, parameters: Parameters, varying: np.ndarray, unit: np.ndarray, reg_covar: float | None
    ) -> np.ndarray:
        limit = AT_LIMIT * FLOOR
        if reg_covar is not None:
            limit = reg_covar * (1 / unit) * (1 + 4 * EPS) + SINGULAR
        return (parameters.covariances[:, varying] / unit <= limit).sum(axis=1)

    def of_matrices(self, matrices: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(np.diagonal(matrices, axis1=1, axis2=2))

    def variances(self, covariances: np.ndarray, k: int, d: int) -> np.ndarray:
        return covariances


class Spherical(Variances):
    """One variance for all features of a component."""

    layout = "spherical"
    score_scales = "one"

    def shape(self, k: int, d: int) -> tuple[Any, ...]:
        return (k,)

    def log_determinants(self, factors: np.ndarray, d: int) -> np.ndarray:
        return d * np.log(factors)

    def coordinate_roundings(self, parameters: Parameters, origin: np.ndarray) -> float:
        present = parameters.weights > 0
        offsets = np.abs(parameters.means[present] - origin)
        return (1 + offsets * parameters.factors[present][:, None]).max()

    def scatter(
        self, statistics: Statistics, divisor: np.ndarray, shift: np.ndarray, offsets: np.ndarray
    ) -> tuple[Any, ...]:
        S = statistics.second / divisor[:, None] - shift**2
        return S.sum(axis=1) / S.shape[1], S

    def floor(
        self, S: np.ndarray, means: np.ndarray, data_variances: np.ndarray, reg_covar: float | None
    ) -> tuple[Any, ...]:
        d, (relative, added) = means.shape[1], (FLOOR, 0.0)
        if reg_covar is not None:
            relative, added = EPS**2, reg_covar
        grain = ((EPS * means) ** 2).sum(axis=1) / d
        least = np.maximum(relative * (units_of(data_variances).sum() / d), grain)
        covariances = np.maximum(S + added, least)
        return covariances, 1 / np.sqrt(covariances)

    def lost(self, statistics: Statistics, parameters: Parameters, most: float) -> bool:
        mass, first, wide = _filled(statistics, parameters)
        shift = (first / mass[:, None]) ** 2
        return bool((shift.sum(axis=1) / shift.shape[1] > most * wide).any())

    def n_flat(
        self, parameters: Parameters, varying: np.ndarray, unit: np.ndarray, reg_covar: float | None
    ) -> np.ndarray:
        return np.zeros(len(parameters.weights), np.intp)  # a single variance has no directions

    def of_matrices(self, matrices: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(matrices[:, 0, 0])

    def variances(self, covariances: np.ndarray, k: int, d: int) -> np.ndarray:
        return np.broadcast_to(covariances[:, None], (k, d))


def _filled(statistics, parameters):
    """Return mass, first moments and covariances of the components with mass."""
    mass, first, wide = statistics.mass, statistics.first, parameters.covariances
    filled = mass > 0
    return (mass, first, wide) if filled.all() else (mass[filled], first[filled], wide[filled])


FamilyName = Literal[
    "EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV", "VVV"
]
CovarianceName = Literal["full", "tied", "diag", "spherical", FamilyName]
FAMILIES: tuple[FamilyName, ...] = get_args(FamilyName)
FULL = Full("VVV", "full")


def _of_family(name):
    if name[2] != "I":
        return Tied(name) if name == "EEE" else Full(name)
    return Spherical(name) if name[1] == "I" else Diagonal(name)


TYPES: dict[str, CovarianceType] = {
    kind.name: kind
    for kind in (
        FULL,
        Tied("EEE", "tied"),
        Diagonal("VVI", "diag"),
        Spherical("VII", "spherical"),
        *map(_of_family, FAMILIES),
    )
}


def as_covariance_type(name: Any, owner: str | None = None) -> CovarianceType:
    """Return the covariance type of a name; ValueError or TypeError for any other value."""
    return TYPES[as_choice(name, "covariance_type", tuple(TYPES), owner=owner)]
