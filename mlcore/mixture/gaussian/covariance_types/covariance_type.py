"""The contract of a covariance type: the family that the covariances of all components are from.

A new family is a subclass in a file of its own, and a line of `families.TYPES`. By default the
likelihood is maximised over covariances that are at least a millionth of the data's own variances,
exactly: so it never decreases. A given number is added, as in scikit-learn.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from mlcore.mixture.gaussian.parameters import Clusters, DataScale, Parameters, Statistics
from mlcore.mixture.start_values import finite_array

FLOOR = 1e-6  # of the variances of the data
AT_LIMIT = 1.001  # of the limit: up to this a variance is held up by it
SINGULAR = 1e-13  # a pivot below this share of its variance is rounding error
EPS = float(np.finfo(np.float64).eps)
_ALIKE = 1e-12  # of squared distances: variances of rounding, with which rows are all alike


class CovarianceType(ABC):
    """A family of covariances: M-step, floor, and what the E-step reads of them.

    An object has no state. Shapes: k components, d features; `covariances`, `precisions` and
    `factors` (upper triangular P with P Pᵀ the precision, or its root) have the shape `shape`.

    Attributes
    ----------
    name : str
        The value of ``covariance_type``.
    layout : {"full", "tied", "diag", "spherical"}
        Form in which the compiled E-step reads factors and sums moments.
    shared : bool
        True for one array for all components.
    any_unit, any_rotation : bool
        True if fits do not depend on the units of features, or on a rotation of the data: then
        starts may choose these.
    takes_missing : bool
        True if features are independent within a component, so that missing values drop out.
    score_scales : {"each", "one"} or None
        Scale parameters of the scores by feature, for Fisher vectors; None: they have none.
    """

    name: ClassVar[str]
    layout: ClassVar[str]
    shared: ClassVar[bool] = False
    any_unit: ClassVar[bool] = True
    any_rotation: ClassVar[bool] = False
    takes_missing: ClassVar[bool] = False
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

    def packed(self, means: np.ndarray, factors: np.ndarray) -> tuple:
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
        self,
        statistics: Statistics,
        before: Parameters,
        scale: DataScale,
        reg_covar: float | None,
    ) -> tuple[Parameters, np.ndarray]:
        """Return the parameters of greatest likelihood: the M-step.

        Parameters
        ----------
        statistics : Statistics
            Under the parameters `before`, which components without any mass keep.
        before : Parameters
        scale : DataScale
        reg_covar : float or None

        Returns
        -------
        parameters : Parameters
        collapsed : (k,) bool
            Without mass, or with variances at the floor in all features.
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
            narrow = AT_LIMIT * FLOOR if reg_covar is None else SINGULAR
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
        """Return the likeliest covariances without a floor, and the variances of each component.

        Parameters
        ----------
        statistics : Statistics
        divisor : (k,)
            Mass of each component; 1 for those without any.
        shift : (k, d)
            New means minus those of the statistics.
        offsets : (k, d)
            Means of the statistics minus the origin.

        Returns
        -------
        S : array of the shape `shape`
        widths : (k, d)
            Variances of every feature; not read if one covariance is shared by all components.
        """

    @abstractmethod
    def floor(
        self,
        S: np.ndarray,
        means: np.ndarray,
        data_variances: np.ndarray,
        reg_covar: float | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return S raised to the limit of variances and what rounding leaves, and its factors."""

    @abstractmethod
    def expected(self, parameters: Parameters, origin: np.ndarray, reg_covar: float) -> Statistics:
        """Return the statistics of mass 1 whose M-step, which adds `reg_covar`, gives these."""

    @abstractmethod
    def lost(self, statistics: Statistics, parameters: Parameters, most: float) -> bool:
        """Return True if moments about the old means have lost digits about the new ones.

        `most` is how far a mean may move, in squared deviations.
        """

    def flat_directions(
        self, parameters: Parameters, data_variances: np.ndarray, reg_covar: float | None
    ) -> np.ndarray:
        """Return components and their numbers of directions whose variances are at the limit.

        Only features that vary count. Rows of a component with such directions, and their number:
        (n_components_with_some, 2) intp.
        """
        varying = np.flatnonzero(data_variances > 0)
        if not len(varying):
            return np.zeros((0, 2), np.intp)
        counts = self.n_flat(parameters, varying, data_variances[varying], reg_covar)
        component = np.flatnonzero(counts)
        return np.column_stack([component, counts[component]]).astype(np.intp)

    @abstractmethod
    def n_flat(
        self,
        parameters: Parameters,
        varying: np.ndarray,
        unit: np.ndarray,
        reg_covar: float | None,
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


def units_of(data_variances: np.ndarray) -> np.ndarray:
    """Return the variances; for features that do not vary the mean of those that do, or 1."""
    varying = data_variances > 0
    if varying.all():
        return data_variances
    mean = data_variances.sum() / max(1, varying.sum()) or 1.0
    return np.where(varying, data_variances, mean)
