"""The components of a mixture: the distributions that the EM loop fits, and their contract.

A new kind of mixture is a subclass of `Components`, and an estimator that makes one of its
hyper-parameters and of the data. The loop (`mlcore.mixture.em`) and what all estimators share
(`mlcore.mixture.mixture`) ask for nothing else.

Shapes below: k components, n rows that count (of positive weight), d features.
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

if TYPE_CHECKING:
    from mlcore.mixture.em import EM, Run
    from mlcore.mixture.standard_errors import Coordinates

_ROUNDINGS = 1e-12  # of an objective: sums of many rows


class Parameters(Protocol):
    """The parameters of a mixture: a NamedTuple of float64 arrays."""

    @property
    def weights(self) -> np.ndarray:
        """Probabilities of the components, (k,); they sum to 1."""


class Statistics(Protocol):
    """Sums over rows under some parameters: a NamedTuple whose fields add up over blocks of rows.

    It is all that the M-step needs. Sizes do not depend on n.
    """

    @property
    def log_likelihood(self) -> float:
        """Sum of w_i log p(x_i)."""

    @property
    def mass(self) -> np.ndarray:
        """Sums of w_i r_ij by component, (k,); r_ij are the responsibilities."""


class Rows(Protocol):
    """Rows in the form that the E-step reads fastest."""

    @property
    def X(self) -> Any:
        """The rows as they were checked, (n, d)."""

    @property
    def weight(self) -> np.ndarray | None:
        """Sample weights, (n,) float64; None where all are 1."""

    @property
    def total(self) -> float:
        """Sum of the sample weights."""


class Components(ABC):
    """The k distributions of a mixture: their E-step, M-step, densities and fitted attributes.

    An object holds hyper-parameters and what is fixed by the data, but no parameters, so that runs
    share it. `collapsed_may_grow`: later rows may bring back a collapsed component of weight above
    0. `bounded` is False if a component that shrinks to a point raises the objective without bound;
    then fewer collapsed components are better. `exact` is False if the M-step may lower the
    objective a little. 2^weight_power is what a weight of 1 stands for.
    """

    n_components: int
    collapsed_may_grow: ClassVar[bool] = False
    bounded: bool = True
    exact: bool = True
    weight_power: int = 0

    # ---- data

    @abstractmethod
    def rows(self, X: Any, weight: np.ndarray | None) -> Any:
        """Return `Rows` for the E-step.

        `X` (n, d), dense or CSR, is checked; NaN is a missing value. `weight` (n,) is positive,
        None for ones; ValueError for a value that no component can have.
        """

    # ---- EM

    @abstractmethod
    def start(
        self,
        em: "EM",
        start_values: tuple[Any, ...],
        rng: np.random.Generator | None,
        number: int = 0,
    ) -> Any:
        """Return `Parameters` to start from.

        `em` is the loop over ``em.rows``; ``em.over(rows).best(runs, n_steps)`` compares
        candidates. `start_values` are the user's parts of the parameters, None for others; `rng` is
        None if none is missing. `number`, from 0, is that of this start among `n_init`.
        """

    @abstractmethod
    def statistics(self, rows: Any, parameters: Any) -> Any:
        """Return the `Statistics` of the rows: the E-step."""

    @abstractmethod
    def maximize(self, statistics: Any, parameters: Any) -> tuple[Any, np.ndarray]:
        """Return the next parameters, the M-step, and (k,) bool, the components that collapsed.

        The total mass is positive; components without mass keep `parameters`, with weight 0.
        """

    def step(self, rows: Any, parameters: Any) -> tuple[float, Any, np.ndarray]:
        """Return the objective of `parameters`, and what `maximize` returns: a step of EM.

        The objective is a mean over weighted rows; if `exact`, it falls by no more than rounding.
        """
        statistics = self.statistics(rows, parameters)
        return statistics.log_likelihood / rows.total, *self.maximize(statistics, parameters)

    def precise(self, rows: Any, parameters: Any, objective: float) -> float:
        """Return in float64 the objective of `parameters`, which `step` gave as `objective`."""
        return objective

    def rounding(self, parameters: Any, objective: float, n: float) -> float:
        """Return a bound on the rounding error of the `objective` that `step` gave on n rows."""
        return _ROUNDINGS * (1 + abs(objective))

    def resolves(self, parameters: Any, tol: float) -> bool:
        """Return False if rounding of the M-step hides changes of the objective by `tol`."""
        return True

    def ties(self, rows: Any, known: Any = None, share: float = 1.0) -> Any:
        """Return the `Ties` of the rows; None for components that no tied value can hold up.

        With `known`, ties of earlier rows, those of all rows, of which the new are a `share`.
        """
        return None

    def spikes(self, ties: Any, parameters: Any, shrunk: np.ndarray, mass: np.ndarray) -> Any:
        """Return, as `Spikes`, those of the `shrunk` components that describe tied rows.

        `mass` (k,) is that over the rows of `ties`, in the unit of the sample weights.
        """
        raise NotImplementedError

    def of_ties(self, parameters: Any, spikes: Any) -> dict[str, Any]:
        """Return the fitted attributes that tell of tied values, by name."""
        return {}

    def of_rows(self, rows: Any, parameters: Any) -> dict[str, Any]:
        """Return the fitted attributes that take another pass over the rows, by name."""
        return {}

    def of_sums(self, statistics: Any, before: Any, parameters: Any) -> dict[str, Any]:
        """Return the same of a step to `parameters`, from the statistics under those before."""
        return {}

    def why_it_fell(self) -> str:
        """Return why the objective may fall in a step by more than rounding."""
        return "the start lies outside what the steps are restricted to"

    def for_any_rows(self, parameters: Any) -> Any:
        """Return the parameters without those of single rows, for sums over other rows."""
        return parameters

    def log_prior(self, parameters: Any) -> float:
        """Return the log-density of the prior, which the objective adds to the log-likelihood."""
        return 0.0

    def step_together(self, runs: "list[Run]", rows: Any, n_steps: int) -> bool:
        """Take `n_steps` steps of new runs at once, if that is faster; return whether it was.

        Runs change in place, as ``EM.advance`` changes them one by one.
        """
        return False

    def restart(
        self, parameters: Any, collapsed: np.ndarray, rows: Any, rng: np.random.Generator
    ) -> Any:
        """Return parameters with others for collapsed components; None if these cannot restart.

        `collapsed` (n_collapsed,) are their numbers, ascending, at least one.
        """
        return None

    @abstractmethod
    def reorder(self, parameters: Any, order: np.ndarray) -> Any:
        """Return the parameters with component ``order[j]`` in place j; `order` (k,) intp."""

    def split(self, parameters: Any, j: int, pair: Any) -> Any:
        """Return parameters of one component more: j is left out, `pair` comes last in its place.

        `pair` has the parameters of two components, whose weights are shares of that of j.
        """
        raise NotImplementedError

    @abstractmethod
    def expected(self, parameters: Any, total_weight: float) -> Any:
        """Return `Statistics` of mass 1 whose M-step gives the parameters again.

        They stand for rows seen earlier, whose sample weights had the sum `total_weight`.
        """

    # ---- the fitted mixture

    @abstractmethod
    def attributes(self, parameters: Any) -> dict[str, Any]:
        """Return the fitted attributes, by name, `weights_` among them."""

    @abstractmethod
    def parameters(self, mixture: Any) -> Any:
        """Return the `Parameters` that the fitted attributes of an estimator hold."""

    def posterior(
        self, X: Any, parameters: Any, tables: dict[Any, Any], with_proba: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return log p(x_i), labels (intp) and P(component | x_i), or None, of rows, old or new.

        `tables`, empty at first, is a cache for later calls under the same parameters.
        """
        raise NotImplementedError

    def coordinates(self, parameters: Any) -> "Coordinates":
        """Return the free coordinates that standard errors are computed in."""
        raise NotImplementedError

    def n_parameters(self) -> int:
        """Return the number of free parameters, which AIC and BIC charge for."""
        raise NotImplementedError
