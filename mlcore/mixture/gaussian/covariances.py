"""Covariance types: families that the covariances of all components are from.

A new family is a subclass of `CovarianceType`, and a line of `TYPES`. By default the likelihood is
maximised over covariances that are at least a millionth of the data's own variances, exactly: so it
never decreases. A given number is added, as in scikit-learn.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.linalg import lapack

from mlcore.checks import as_choice
from mlcore.mixture.gaussian.matrices import (
    EPS,
    FLOOR,
    SINGULAR,
    factor_of,
    from_precision,
    raised_to_limit,
    units_of,
)
from mlcore.mixture.gaussian.parameters import (
    Clusters,
    DataScale,
    Parameters,
    Statistics,
    sums_by_label,
)
from mlcore.mixture.start_values import TOLERANCE, finite_array

_AT_LIMIT = 1.001  # of the limit: up to this a variance is held up by it
_ALIKE = 1e-12  # of squared distances: variances of rounding, with which rows are all alike
# float32 is used while the least eigenvalue of a covariance is wrong by at most the square of this
# number of its roundings: 2e-4.
_MOST_STRETCH = 64


class CovarianceType(ABC):
    """A family of covariances: M-step, floor and factors for the E-step; it has no state.

    `covariances`, `precisions` and `factors` (upper triangular P, P Pᵀ the precision, or its root)
    have the shape `shape`. `layout` is the form in which the compiled E-step reads factors;
    `shared`: all components have one array; `any_unit`, `any_rotation`: fits do not depend on units
    of features, or a rotation; `independent`: features are independent within a component;
    `score_scales` ("each", "one", None): scale parameters by feature of the scores of Fisher
    vectors.
    """

    name: ClassVar[str]
    layout: ClassVar[str]
    shared: ClassVar[bool] = False
    any_unit: ClassVar[bool] = True
    any_rotation: ClassVar[bool] = False
    independent: ClassVar[bool] = False
    score_scales: ClassVar[str | None] = None
    _valid: ClassVar[str] = "positive"  # of given covariances and precisions

    # ---- sizes

    @abstractmethod
    def shape(self, k: int, d: int) -> tuple[int, ...]:
        """Return the shape of covariances, precisions and factors."""

    @abstractmethod
    def n_parameters(self, k: int, d: int) -> int:
        """Return the number of free parameters in the covariances."""

    @abstractmethod
    def operations(self, k: int, d: int) -> int:
        """Return the number of operations of the E-step for a row."""

    def rows_of_a_component(self, d: int) -> int:
        """Return the number of rows below which a component's covariance is not determined."""
        return 0

    # ---- E-step

    def packed(self, means: np.ndarray, factors: np.ndarray) -> tuple[Any, ...]:
        """Return means, factors and rotation as the compiled E-step of `layout` reads them."""
        return means, factors, np.zeros((1, 1))

    @abstractmethod
    def log_determinants(self, factors: np.ndarray, d: int) -> np.ndarray:
        """Return log det of each factor: half the log determinant of each precision."""

    def in_single(self, parameters: Parameters) -> bool:
        """Return True if float32 holds the factors well enough."""
        return True

    @abstractmethod
    def coordinate_roundings(self, parameters: Parameters, origin: np.ndarray) -> float:
        """Return how many of its roundings a whitened coordinate may be wrong by, at most."""

    @abstractmethod
    def second_moments(self, sums: np.ndarray, k: int, d: int, rows: Any) -> np.ndarray:
        """Return `Statistics.second` from the flat sums of the compiled E-step over `rows`."""

    @abstractmethod
    def moved(self, statistics: Statistics, shift: np.ndarray) -> Statistics:
        """Return the statistics about points that are `shift` (k, d) before those of the sums."""

    # ---- M-step

    def maximize(
        self, statistics: Statistics, before: Parameters, scale: DataScale, reg_covar: float | None
    ) -> tuple[Parameters, np.ndarray]:
        """Return the likeliest parameters, the M-step, and (k,) bool: components that collapsed.

        These have no mass, and keep the parameters `before`, or variances at the floor everywhere.
        """
        origin, variances = scale
        mass, first = statistics.mass, statistics.first
        empty = ~(mass > 0)
        some_empty = bool(empty.any())
        divisor = np.where(empty, 1.0, mass) if some_empty else mass
        shift = first / divisor[:, None]
        if some_empty:
            shift[empty] = 0
        means = before.means + shift
        S, widths = self.scatter(statistics, divisor, shift, before.means - origin)
        covariances, factors = self.floor(S, means, variances, reg_covar)
        collapsed = np.zeros(len(mass), bool)
        if not self.shared:
            narrow = _AT_LIMIT * FLOOR if reg_covar is None else SINGULAR
            if (varying := variances > 0).any():
                collapsed = ((widths <= narrow * variances) | ~varying).all(axis=1)
            if some_empty:
                covariances[empty] = before.covariances[empty]
                factors[empty] = before.factors[empty]
        return Parameters(mass / mass.sum(), means, covariances, factors), collapsed | empty

    @abstractmethod
    def scatter(
        self, statistics: Statistics, divisor: np.ndarray, shift: np.ndarray, offsets: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the likeliest covariances without a floor, and variances (k, d), unused if shared.

        `divisor` (k,) is the mass, 1 in place of 0; `shift` (k, d) the new means minus those of the
        statistics, `offsets` (k, d) these minus the origin.
        """

    @abstractmethod
    def floor(
        self, S: np.ndarray, means: np.ndarray, data_variances: np.ndarray, reg_covar: float | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return S raised to the limit of variances and what rounding leaves, and its factors."""

    @abstractmethod
    def expected(self, parameters: Parameters, origin: Any, reg_covar: float | None) -> Statistics:
        """Return the statistics of mass 1 whose M-step, which adds `reg_covar`, gives these."""

    @abstractmethod
    def lost(self, statistics: Statistics, parameters: Parameters, most: float) -> bool:
        """Return True if moments about the old means have lost digits about the new ones.

        `most` is how far a mean may move, in squared deviations.
        """

    def flat_directions(
        self, parameters: Parameters, data_variances: np.ndarray, reg_covar: float | None
    ) -> np.ndarray:
        """Return rows (component, number of directions whose variances are at the limit), intp.

        Only features that vary count, and only components with such directions have a row.
        """
        varying = np.flatnonzero(data_variances > 0)
        if not len(varying):
            return np.zeros((0, 2), np.intp)
        counts = self.n_flat(parameters, varying, data_variances[varying], reg_covar)
        component = np.flatnonzero(counts)
        return np.column_stack([component, counts[component]]).astype(np.intp)

    @abstractmethod
    def n_flat(
        self, parameters: Parameters, varying: np.ndarray, unit: np.ndarray, reg_covar: float | None
    ) -> np.ndarray:
        """Return the number of directions of each component with variances at the limit, (k,).

        `varying` are the features that count, `unit` the variances of the data there.
        """

    def total_variances(
        self, statistics: Statistics, means: np.ndarray, origin: np.ndarray
    ) -> np.ndarray:
        """Return the variances of all rows, (d,), from the sums about `means`."""
        total = statistics.mass.sum()
        offsets = means - origin
        # From the origin: no digit is lost.
        centre = (statistics.mass @ offsets + statistics.first.sum(axis=0)) / total
        within, between = self.total_squares(statistics, offsets, centre)
        mean = origin + centre
        # What rounding leaves of a feature that does not vary is 0.
        return np.where(within > _ALIKE * between + (8 * EPS * mean) ** 2, within, 0.0)

    def total_squares(
        self, statistics: Statistics, offsets: np.ndarray, centre: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the variances of all rows, and those between the components, (d,) each."""
        _, mass, first, second = statistics
        offsets = offsets - centre
        between = mass @ offsets**2 / mass.sum()
        squares = (self.squares(second) + 2 * first * offsets).sum(axis=0)
        return squares / mass.sum() + between, between

    @abstractmethod
    def squares(self, second: np.ndarray) -> np.ndarray:
        """Return the sums of squares by component and feature, (k, d), of `Statistics.second`."""

    # ---- starts

    @abstractmethod
    def cluster_moments(self, clusters: Clusters, scale: DataScale) -> np.ndarray:
        """Return `Statistics.second` of clusters, about their seeds.

        A cluster without rows counts as one row with the variances of the data.
        """

    def reorder(self, values: np.ndarray, order: np.ndarray) -> np.ndarray:
        """Return covariances or factors with those of component ``order[j]`` in place j."""
        return values if self.shared else values[order]

    # ---- given and fitted covariances

    def checked(self, value: Any, name: str, k: int, d: int, owner: str = "") -> np.ndarray:
        """Return given covariances or precisions; ValueError if these are not valid."""
        prefix = owner and f"{owner}: "
        values = finite_array(value, name, self.shape(k, d), prefix, self._term(name))
        values = self.made_valid(values)
        if values is None:
            raise self.not_positive(name, owner)
        return values

    @abstractmethod
    def made_valid(self, values: np.ndarray) -> np.ndarray | None:
        """Return values symmetric to the last bit; None if they are no covariances by sight."""

    def not_positive(self, name: str, owner: str = "") -> ValueError:
        """Return the error for a matrix that is not symmetric and positive definite."""
        prefix = owner and f"{owner}: "
        return ValueError(f"{prefix}{name}: '{self._term(name)}' should be {self._valid}.")

    def _term(self, name):
        return f"{self.name} {name.removesuffix('_init').removesuffix('s')}"

    @abstractmethod
    def from_precisions(self, precisions: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return covariances and factors of given precisions; None if not positive definite."""

    @abstractmethod
    def factors_of(self, covariances: np.ndarray) -> np.ndarray | None:
        """Return the factors of given covariances; None if these are not positive definite."""

    @abstractmethod
    def precisions(self, factors: np.ndarray) -> np.ndarray:
        """Return the precisions of the factors."""

    @abstractmethod
    def variances(self, covariances: np.ndarray, k: int, d: int) -> np.ndarray:
        """Return the variances of every feature in every component, (k, d)."""

    @abstractmethod
    def correlated(self, Z: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Return rows of independent unit variances with the covariance of a factor instead."""

    def factor(self, factors: np.ndarray, j: int) -> np.ndarray:
        """Return the factor of component j."""
        return factors if self.shared else factors[j]


class Matrices(CovarianceType):
    """Symmetric, positive definite matrices."""

    any_rotation = True
    _valid = "symmetric, positive-definite"

    def rows_of_a_component(self, d: int) -> int:
        return 2 * d

    def log_determinants(self, factors: np.ndarray, d: int) -> np.ndarray:
        return np.log(np.diagonal(factors, axis1=-2, axis2=-1)).sum(-1)

    def made_valid(self, values: np.ndarray) -> np.ndarray | None:
        turned, largest = np.swapaxes(values, -1, -2), np.abs(values).max(axis=(-1, -2))
        if (np.abs(values - turned) > TOLERANCE * largest[..., None, None]).any():
            return None
        return (values + turned) / 2

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
        bound = _AT_LIMIT * FLOOR if reg_covar is None else SINGULAR
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

    name = layout = "full"

    def shape(self, k: int, d: int) -> tuple[Any, ...]:
        return k, d, d

    def n_parameters(self, k: int, d: int) -> int:
        return k * (d * (d + 1) // 2)

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

    name = layout = "tied"
    shared = True

    def shape(self, k: int, d: int) -> tuple[Any, ...]:
        return d, d

    def n_parameters(self, k: int, d: int) -> int:
        return d * (d + 1) // 2

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

    name = layout = "diag"
    score_scales = "each"

    def shape(self, k: int, d: int) -> tuple[Any, ...]:
        return k, d

    def n_parameters(self, k: int, d: int) -> int:
        return k * d

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
        limit = _AT_LIMIT * FLOOR
        if reg_covar is not None:
            limit = reg_covar * (1 / unit) * (1 + 4 * EPS) + SINGULAR
        return (parameters.covariances[:, varying] / unit <= limit).sum(axis=1)

    def variances(self, covariances: np.ndarray, k: int, d: int) -> np.ndarray:
        return covariances


class Spherical(Variances):
    """One variance for all features of a component."""

    name = layout = "spherical"
    any_unit = False
    score_scales = "one"

    def shape(self, k: int, d: int) -> tuple[Any, ...]:
        return (k,)

    def n_parameters(self, k: int, d: int) -> int:
        return k

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

    def variances(self, covariances: np.ndarray, k: int, d: int) -> np.ndarray:
        return np.broadcast_to(covariances[:, None], (k, d))


def _filled(statistics, parameters):
    """Return mass, first moments and covariances of the components with mass."""
    mass, first, wide = statistics.mass, statistics.first, parameters.covariances
    filled = mass > 0
    return (mass, first, wide) if filled.all() else (mass[filled], first[filled], wide[filled])


CovarianceName = Literal["full", "tied", "diag", "spherical"]
TYPES: dict[str, CovarianceType] = {
    family.name: family for family in (Full(), Tied(), Diagonal(), Spherical())
}
FULL = TYPES["full"]


def as_covariance_type(name: Any, owner: str | None = None) -> CovarianceType:
    """Return the covariance type of a name; ValueError or TypeError for any other value."""
    return TYPES[as_choice(name, "covariance_type", tuple(TYPES), owner=owner)]
