"""Covariance types: what the covariances of all components are restricted to.

A type is a form in which covariances are held, with the family of its M-step. By default the
likelihood is maximised over covariances that are at least a millionth of the data's own variances,
exactly but for families that say so: then it never decreases. A given number is added, as in
scikit-learn.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from mlcore.mixture.gaussian.families import m_steps
from mlcore.mixture.gaussian.families.common_axes import orientation_residual
from mlcore.mixture.gaussian.matrices import EPS, FLOOR, SINGULAR, factor_of, symmetric
from mlcore.mixture.gaussian.parameters import Clusters, DataScale, Parameters, Statistics
from mlcore.mixture.start_values import finite_array

AT_LIMIT = 1.001  # of the limit: up to this a variance is held up by it
_ALIKE = 1e-12  # of squared distances: variances of rounding, with which rows are all alike
_LIMITED_LAST = "EII", "VII", "EEI", "VVI", "EEE", "VVV"  # the likeliest itself is limited
_UNITS_DO_NOT_MATTER = "EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVV", "VVV"
# Families of some features, and of these given others: what is not named stays what it is.
_OF_SOME_FEATURES = {"EVI": "VVI"} | dict.fromkeys(("EVE", "VVE", "EEV", "VEV", "EVV"), "VVV")
_VALID_OF_FAMILY = "symmetric, positive-definite, and of this family"
_MEMBER = 1e-8  # of deviations: given covariances are of a family up to this
_NOTHING = 1e-30  # share of the mass that keeps the covariance of a component without rows


class CovarianceType(ABC):
    """A family of covariances: M-step, floor and factors for the E-step; it has no state.

    `family` is the restriction of volumes, shapes and orientations (see `m_steps`), `name` what
    users call it. With `given_as_matrices` users see matrices (k, d, d), whatever the shape here.
    `covariances`, `precisions` and `factors` (upper triangular P, P Pᵀ the precision, or its root)
    have the shape `shape`. `layout` is the form in which the compiled E-step reads factors;
    `shared`: all components have one array; `separate`: no parameter is common to components;
    `free_volumes`: components may shrink one by one; `exact_limit`: the M-step is exact within the
    limit of `reg_covar`; `any_unit`, `any_rotation`: fits do not depend on units of features, or a
    rotation; `independent`: features are independent within a component; `score_scales` ("each",
    "one", None): scale parameters by feature of the scores of Fisher vectors.
    """

    layout: ClassVar[str]
    shared: ClassVar[bool] = False
    any_rotation: ClassVar[bool] = False
    independent: ClassVar[bool] = False
    score_scales: ClassVar[str | None] = None
    _valid: ClassVar[str] = "positive"  # of given covariances and precisions

    def __init__(self, family: str, name: str | None = None) -> None:
        self.name, self.family, self.given_as_matrices = name or family, family, name is None
        self.free_volumes = family[0] == "V"
        self.separate = family in ("VII", "VVI", "VVV")
        self.exact_limit = family in _LIMITED_LAST
        self.any_unit = family in _UNITS_DO_NOT_MATTER

    @property
    def of_some_features(self) -> str:
        """Name of the type that some features have, or these given others."""
        return _OF_SOME_FEATURES.get(self.family, self.name)

    # ---- sizes

    @abstractmethod
    def shape(self, k: int, d: int) -> tuple[int, ...]:
        """Return the shape of covariances, precisions and factors."""

    def n_parameters(self, k: int, d: int) -> int:
        """Return the number of free parameters in the covariances."""
        return m_steps.n_parameters(self.family, k, d)

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

    def rounding_of_axes(self, parameters: Parameters) -> float:
        """Return by how much rounding of axes and variances may move a row's log-density."""
        return 0.0

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
        about = before._replace(weights=mass, means=means)
        covariances, factors = self.constrained(S, about, variances, reg_covar)
        collapsed = np.zeros(len(mass), bool)
        narrow = AT_LIMIT * FLOOR if reg_covar is None else SINGULAR
        if not self.free_volumes:
            # Components of one volume shrink together. Mostly the first variance tells that they
            # have not, which saves 5 % of a step of 400 rows.
            if not variances.item(0) or widths.item(0) <= narrow * variances.item(0):
                wide = (widths > narrow * variances) & (variances > 0)
                collapsed[:] = variances.any() and not wide.any()
        elif (varying := variances > 0).any():
            collapsed = ((widths <= narrow * variances) | ~varying).all(axis=1)
        if some_empty and self.separate:
            covariances[empty] = before.covariances[empty]
            factors[empty] = before.factors[empty]
        return Parameters(mass / mass.sum(), means, covariances, factors), collapsed | empty

    @abstractmethod
    def scatter(
        self, statistics: Statistics, divisor: np.ndarray, shift: np.ndarray, offsets: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the likeliest covariances without a floor, and variances (k, d), if shared (d,).

        `divisor` (k,) is the mass, 1 in place of 0; `shift` (k, d) the new means minus those of the
        statistics, `offsets` (k, d) these minus the origin.
        """

    def constrained(
        self, S: np.ndarray, about: Parameters, variances: np.ndarray, reg_covar: float | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the likeliest covariances of the family within the limit, and their factors.

        S is what `scatter` returns; `about` has masses as weights, new means, old covariances.
        """
        if self.separate or self.shared:
            return self.floor(S, about.means, variances, reg_covar)
        mass, means, before, _ = about
        means = np.broadcast_to(np.abs(means).max(axis=0), means.shape)  # one grain for all
        if before is not None and not (mass > 0).all():
            S = np.where((mass > 0).reshape(-1, *(S.ndim - 1) * [1]), S, before)
        mass = np.maximum(mass, _NOTHING * mass.sum())
        if self.exact_limit:
            S = self._maximized(mass, S, before)
            return self.floor(S, means, variances, reg_covar)
        try:
            S, _ = self.floor(S, means, variances, reg_covar)
            S = self._maximized(mass, S, before)
            return self.floor(S, means, variances, 0.0)  # what rounding leaves singular is raised
        except np.linalg.LinAlgError:
            raise ValueError(
                f"GaussianMixture: covariances of type {self.name!r} are lost to rounding, since "
                "variances of features, or along axes, differ by too much: scale the features."
            ) from None

    def _maximized(self, mass, S, before):
        W = S * mass.reshape(-1, *(S.ndim - 1) * [1])
        if S.ndim == 1:
            return m_steps.maximized(self.family, mass, W[:, None])[:, 0]
        return m_steps.maximized(self.family, mass, W, before)

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

    def of_sums(
        self,
        statistics: Statistics,
        before: Parameters,
        covariances: np.ndarray,
        scale: DataScale,
        reg_covar: float | None,
    ) -> dict[str, Any]:
        """Return the fitted attributes that tell how exact the M-step is, by name.

        The statistics are under the parameters `before`, the covariances those that are fitted.
        """
        if self.exact_limit:
            return {}
        mass, means = statistics.mass, before.means
        divisor = np.where(mass > 0, mass, 1.0)
        shift = statistics.first / divisor[:, None]
        S, _ = self.scatter(statistics, divisor, shift, means - scale.origin)
        raised, _ = self.floor(S, means, scale.variances, reg_covar)
        added = reg_covar or 0.0
        added = added * np.eye(means.shape[1]) if S.ndim == 3 else added
        axes = tuple(range(1, S.ndim))
        found: dict[str, Any] = {
            "limited_": np.flatnonzero((raised != S + added).any(axis=axes) & (mass > 0))
        }
        if self.family in ("EVE", "VVE"):
            W = raised * mass[:, None, None]
            residual = orientation_residual(W, covariances)
            found["orientation_residual_"] = residual
        return found

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

    def given_shape(self, k: int, d: int) -> tuple[int, ...]:
        """Return the shape of covariances, precisions and factors as users see them."""
        return (k, d, d) if self.given_as_matrices else self.shape(k, d)

    def published(self, values: np.ndarray, k: int, d: int) -> np.ndarray:
        """Return covariances, precisions or factors as users see them."""
        return self.as_matrices(values, k, d) if self.given_as_matrices else values

    def internal(self, values: np.ndarray) -> np.ndarray:
        """Return covariances, precisions or factors of those that users see."""
        return self.of_matrices(values) if self.given_as_matrices else values

    def as_matrices(self, values: np.ndarray, k: int, d: int) -> np.ndarray:
        """Return covariances, precisions or factors as matrices (k, d, d)."""
        return values

    def of_matrices(self, matrices: np.ndarray) -> np.ndarray:
        """Return covariances, precisions or factors of such matrices, (k, d, d)."""
        return matrices

    def checked(self, value: Any, name: str, k: int, d: int, owner: str = "") -> np.ndarray:
        """Return given covariances or precisions; ValueError if these are not valid."""
        prefix = owner and f"{owner}: "
        values = finite_array(value, name, self.given_shape(k, d), prefix, self._term(name))
        values = self._member(values) if self.given_as_matrices else self.made_valid(values)
        if values is None:
            raise self.not_positive(name, owner)
        return values

    def _member(self, values):
        """Return covariances or precisions of matrices of the family; None if they are not."""
        matrices = symmetric(values)
        if matrices is None or any(factor_of(one) is None for one in matrices):
            return None
        own = self.of_matrices(matrices)
        if not (self.separate or self.shared):
            own = self._maximized(np.ones(len(own)), own, None)
        roots = np.sqrt(np.diagonal(matrices, axis1=1, axis2=2))
        differences = np.abs(self.published(own, *values.shape[:2]) - matrices)
        least = _MEMBER * roots[:, :, None] * roots[:, None, :]
        return None if (differences > least).any() else own

    @abstractmethod
    def made_valid(self, values: np.ndarray) -> np.ndarray | None:
        """Return values symmetric to the last bit; None if they are no covariances by sight."""

    def not_positive(self, name: str, owner: str = "") -> ValueError:
        """Return the error for a matrix that is not symmetric and positive definite."""
        prefix = owner and f"{owner}: "
        valid = _VALID_OF_FAMILY if self.given_as_matrices else self._valid
        return ValueError(f"{prefix}{name}: '{self._term(name)}' should be {valid}.")

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
