"""Discrete components: products of multinomial distributions, fitted to sparse rows."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mlcore.checks.stored import stored
from mlcore.mixture.components import Components
from mlcore.mixture.discrete.logits import Logits
from mlcore.mixture.discrete.sparse_e_step import Loop, smoothed_frequencies
from mlcore.mixture.discrete.sparse_rows import SparseRows
from mlcore.mixture.discrete.zero_probabilities import least_impossible, logarithm
from mlcore.mixture.em import Run
from mlcore.mixture.seeds import distinct, drawn, far_rows_again

_COLLAPSED = 16 * np.finfo(np.float64).eps  # component weight at which it is reported collapsed
_EMPTY = 2.0**-900  # weight taken for 0: below, responsibilities are no normal numbers
_ROWS = 1 << 12  # impossible rows whose responsibilities are formed at a time
_SAMPLE = 512  # rows that starts are compared on
_STARTS, _START_STEPS = 6, 5  # that are compared; steps of EM from each, to tell the best
_UNIFORM = 0.01  # part of equal probabilities in a start: nothing is impossible
_CANDIDATES = 256  # rows that may seed a component
_VALUES = 1 << 21  # of all candidates together


@stored(version=1)
class Parameters(NamedTuple):
    """The weights of the components, and their probabilities of each column."""

    weights: np.ndarray  # (k,)
    table: np.ndarray  # (n_columns, k)
    totals: np.ndarray  # (n_items, k) of a mean row, as in Statistics: no part of the likelihood
    _stored = {"weights": "float64 k", "table": "float64 _ k", "totals": "float64 _ k"}


class Statistics(NamedTuple):
    """Sums over rows, by component: of responsibilities, and of these times the columns' counts."""

    log_likelihood: float
    mass: np.ndarray  # (k,)
    counts: np.ndarray  # (n_columns, k)
    totals: np.ndarray  # (n_items, k): the totals of the columns that share a distribution


class Rows(NamedTuple):
    """Rows as they were given, and as sparse rows."""

    X: Any
    weight: np.ndarray | None
    sparse: SparseRows
    modes: np.ndarray | None = None  # value of each feature that needs no entry
    patterns: Any = None  # `Patterns` of categories, where these are the columns of entries

    @property
    def total(self) -> float:
        return self.sparse.total_weight


class DiscreteComponents(Components):
    """Products of multinomial distributions, one for each item: a feature, or a group of columns.

    The log-density of a row is a constant plus a sum over its entries (`SparseRows`). Tables
    (n_columns, k) hold probabilities: of words, of the categories of all items in turn, or of
    success in each feature and then of failure. `alpha` is the pseudo-count of a column in a
    component; `n_features` are the columns of X; `n_outcomes` (n_items, 1), int if there is one
    item.
    """

    alpha: float
    owner: str

    n_features: int
    n_outcomes: Any
    n_components: int
    collapsed_may_grow = True

    def __init__(self, n_components: int, alpha: float, owner: str) -> None:
        self.n_components, self.alpha, self.owner = n_components, alpha, owner

    @property
    def entire(self) -> bool:
        """True if sums leave out no responsibilities, however small."""
        return self.alpha == 0

    def unit_totals(self, n_columns: int) -> np.ndarray:
        """Return totals of 1 for each item and component, where no rows have been seen."""
        return np.ones((np.size(self.n_outcomes), n_columns))

    # ---- what differs between distributions

    @abstractmethod
    def by_column(self, values: np.ndarray) -> np.ndarray:
        """Return (n_columns, k) or (n_columns, 1) values from one for each item."""

    @abstractmethod
    def fill(self, loop: Loop, parameters: Parameters, rows: "Rows") -> np.ndarray:
        """Give `loop` the table of the log-densities of entries; return their constants, (k,)."""

    @abstractmethod
    def gathered(
        self,
        rows: "Rows",
        sums: np.ndarray,
        mass: np.ndarray,
        log_likelihood: float,
        before: np.ndarray | None,
    ) -> "Statistics":
        """Return the statistics from the responsibilities' sums over entries and `mass` (k,).

        `sums` are (n_entry_columns, k); `before` is the table that the responsibilities came from.
        """

    @abstractmethod
    def possible(self, parameters: Parameters, rows: "Rows") -> tuple[Any, ...]:
        """Return constants (k,) and table (n_entry_columns, k) of the log-densities, with 0 for
        what is impossible; and the same of the number of impossible values.
        """

    @abstractmethod
    def arrays(self, mixture: Any) -> Sequence[np.ndarray]:
        """Return the fitted attributes that ``parameters(mixture)`` follows from."""

    @property
    def settings(self) -> Any:
        """Parameters of the estimator that log-densities depend on beside `arrays`."""
        return None

    def later_rows(
        self, X: Any, parameters: Parameters, tables: dict[Any, Any]
    ) -> tuple["Rows", Any]:
        """Return rows to predict, and the key of their tables of log-densities; None: not kept."""
        rows = self.rows(X, None)
        return rows, (rows.sparse.n_columns, rows.sparse.values is None)

    # ---- standard errors

    def coordinates(self, parameters: Parameters) -> Logits:
        return Logits(self, parameters)

    @abstractmethod
    def outcome_counts(self, X: Any) -> np.ndarray:
        """Return the counts of the columns of tables in some dense rows, (n, n_columns) float64."""

    def parameter_names(self) -> Callable[[int, int], str]:
        """Return a function from a component and a column to the name of the probability."""
        return lambda j, column: f"means_[{j}, {column % self.n_features}]"

    def by_attribute(self, values: np.ndarray) -> dict[str, Any]:
        """Return values (n_columns, k) as the attributes of the mixture have them, by name."""
        return {"means": np.ascontiguousarray(values[: self.n_features].T)}

    # ---- EM

    def start(
        self,
        em: Any,
        start_values: tuple[Any, ...],
        rng: np.random.Generator | None,
        number: int = 0,
    ) -> Parameters:
        k, rows = self.n_components, em.rows
        weights, table = start_values
        weights = np.full(k, 1 / k) if weights is None else weights
        totals = self.unit_totals(k)
        if table is not None:
            return Parameters(weights, table, totals)
        places, weight = distinct(self._keys(rows), rows.weight, _SAMPLE, rng)
        sample = rows._replace(weight=weight, sparse=rows.sparse.taken(places, weight))
        tables = self._drawn_tables(sample, rng)
        runs = [Run(Parameters(weights, table, totals)) for table in tables]
        return em.over(sample).best(runs, _START_STEPS - 1).following

    def _keys(self, rows):
        """A number for each row: the same for equal rows, hardly ever for others."""
        table = np.exp(np.sin(np.arange(1.0, np.sum(self.n_outcomes) + 1)))[:, None]
        loop = rows.sparse.loop(1)
        start = self.fill(loop, Parameters(np.ones(1), table, None), rows)
        return loop.log_densities(start)[:, 0]

    def _drawn_tables(self, rows, rng):
        """Start tables: each component is half the mean, and half a row far from the others'."""
        k, weight, matrix = self.n_components, rows.weight, rows.sparse.matrix
        sums = (matrix.T @ weight)[:, None]
        whole = self.gathered(rows, sums, weight.sum(keepdims=True), 0.0, None)
        equal = 1 / self.by_column(np.atleast_2d(self.n_outcomes))
        whole = self._proportions(whole, equal)
        mean = (1 - _UNIFORM) * whole + _UNIFORM * equal
        if k == 1:
            return [mean]
        chosen = np.arange(len(weight))
        most = min(_CANDIDATES, max(2 * k, _VALUES // rows.sparse.n_columns))
        if len(chosen) > most:
            chosen = np.unique(drawn(weight, rng.random(most)))
        single = matrix[chosen].toarray().T
        single = self.gathered(rows, single, np.ones(len(chosen)), 0.0, None)
        single = self._proportions(single, whole)
        frequencies = np.ascontiguousarray(single.T)
        seeds = far_rows_again(frequencies, weight[chosen], k, _STARTS, rng)
        return [(mean + single[:, places]) / 2 for places in seeds]

    def _proportions(self, statistics, otherwise):
        """Counts of columns divided by the totals of their items; `otherwise` where these are 0."""
        totals = self.by_column(statistics.totals)
        known = totals > 0
        return np.where(known, statistics.counts / np.where(known, totals, 1.0), otherwise)

    def step_together(self, runs: list[Any], rows: Rows, n_steps: int) -> bool:
        """Take the steps of all runs in one loop: on few rows, calls cost most."""
        if rows.sparse.n_rows > _SAMPLE:
            return False
        shape = len(runs), self.n_components
        many = Parameters(*map(np.hstack, zip(*(run.parameters for run in runs), strict=True)))
        many = many._replace(weights=many.weights / len(runs))
        loop = rows.sparse.loop(shape[0] * shape[1])
        for _ in range(n_steps + 1):
            start = self.fill(loop, many, rows)
            *sums, objectives = loop.sums_each(start, len(runs))
            objectives += rows.total * np.log(len(runs))
            if self.alpha > 0:
                prior = logarithm(many.table).sum(axis=0).reshape(shape).sum(axis=1)
                objectives += self.alpha * prior
            sums = self.gathered(rows, *sums, 0.0, many.table)
            many, shrunk = self.maximize(sums, many)
            parts = many._replace(weights=many.weights * len(runs))
            for i, run in enumerate(runs):
                own = slice(i * shape[1], (i + 1) * shape[1])
                following = Parameters(*(part[..., own] for part in parts))
                run.arrive(objectives[i] / rows.total, following, shrunk[own])
        for run in runs:
            run.collapsed = np.flatnonzero(run.shrunk)
        return True

    def statistics(self, rows: Any, parameters: Any) -> Any:
        sums = self._sums(rows, parameters)
        return sums._replace(counts=sums.counts.copy())

    def _sums(self, rows, parameters):
        """Statistics; their counts may change in the next call."""
        loop = rows.sparse.loop(len(parameters.weights), entire=self.entire)
        start = self.fill(loop, parameters, rows)
        return self.gathered(rows, *loop.sums(start), parameters.table)

    def step(self, rows: Rows, parameters: Parameters) -> tuple[Any, ...]:
        statistics = self._sums(rows, parameters)
        objective = self.objective(statistics, rows, parameters)
        return objective, *self.maximize(statistics, parameters)

    def objective(self, statistics: "Statistics", rows: "Rows", parameters: Parameters) -> float:
        """Return the mean over rows of the log-likelihood and the log-density of the prior."""
        total = statistics.log_likelihood
        if self.alpha > 0:
            total += self.alpha * self.filled_log_prior(parameters, rows)
        return total / rows.total

    def filled_log_prior(self, parameters: Parameters, rows: "Rows") -> float:
        """Return the log-density of the prior for alpha = 1; called right after `fill`."""
        return float(logarithm(parameters.table).sum())

    def rounding(self, parameters: Parameters, objective: float, n: float) -> float:
        size = abs(objective) + self.cancelling(parameters)
        return (64 + n**0.5) * np.finfo(np.float64).eps * size

    def cancelling(self, parameters: Parameters) -> float:
        """Return the size of terms of a row's log-density that may cancel."""
        return 0.0

    def log_prior(self, parameters: Any) -> Any:
        return self.alpha * float(logarithm(parameters.table).sum()) if self.alpha > 0 else 0.0

    def maximize(self, statistics: Statistics, parameters: Parameters) -> tuple[Any, ...]:
        return self.smoothed(
            statistics, parameters, partial(smoothed_frequencies, statistics.counts)
        )

    def smoothed(
        self,
        statistics: "Statistics",
        parameters: Parameters,
        frequencies: Callable[..., np.ndarray],
    ) -> tuple[Parameters, np.ndarray]:
        """Return what `maximize` does; ``frequencies`` smooths ``statistics.counts``.

        Components without mass keep their probabilities, with weight 0; a small mass may grow.
        """
        total = statistics.mass.sum()
        empty = statistics.mass <= _EMPTY * total
        weights = np.where(empty, 0.0, statistics.mass) / total
        alpha = self.alpha
        totals = self.by_column(statistics.totals + alpha * self.n_outcomes)
        # An item may have been missing in all rows of a component, which then keep what they had.
        keep = empty | ~(totals > 0)
        table = frequencies(alpha, np.where(keep, 0.0, totals), parameters.table)
        mean_totals = statistics.totals / np.where(empty, total, statistics.mass)
        return Parameters(weights, table, mean_totals), weights <= _COLLAPSED

    def expected(self, parameters: Any, total_weight: Any) -> Any:
        weights = parameters.weights
        prior = self.alpha / total_weight if total_weight > 0 else 0.0
        totals = parameters.totals * weights
        padded = self.by_column(totals + prior * self.n_outcomes)
        return Statistics(0.0, weights, parameters.table * padded - prior, totals)

    def reorder(self, parameters: Parameters, order: np.ndarray) -> Parameters:
        return Parameters(*(values[..., order] for values in parameters))

    def split(self, parameters: Parameters, j: int, pair: Parameters) -> Parameters:
        pair = pair._replace(weights=parameters.weights[j] * pair.weights)
        both = zip(parameters, pair, strict=True)
        return Parameters(
            *(np.concatenate([np.delete(a, j, axis=-1), b], axis=-1) for a, b in both)
        )

    # ---- the fitted mixture

    def posterior(
        self, X: Any, parameters: Parameters, tables: dict[Any, Any], with_proba: bool
    ) -> tuple[Any, ...]:
        rows, key = self.later_rows(X, parameters, tables)
        if key in tables:
            start, filled = tables[key]
            loop = Loop(rows.sparse, self.n_components, filled=filled)
        else:
            loop = rows.sparse.loop(self.n_components)
            start = self.fill(loop, parameters, rows)
            if key is not None:
                tables[key] = start, loop.filled
        if with_proba:
            density, proba = loop.posterior(start)
            labels = proba.argmax(axis=1)
        else:
            (density, labels), proba = loop.labels(start), None
        impossible = np.flatnonzero(density == -np.inf)
        if len(impossible):
            (constant, table), (start_never, never) = self.possible(parameters, rows)
            logs = constant + logarithm(np.where(parameters.weights > 0, parameters.weights, 1))
            start_never = np.where(parameters.weights > 0, start_never, np.inf)
            for i in range(0, len(impossible), _ROWS):
                part = impossible[i : i + _ROWS]
                values = rows.sparse.taken(part).matrix
                responsibilities = least_impossible(values, (logs, table), (start_never, never))
                labels[part] = responsibilities.argmax(axis=1)
                if proba is not None:
                    proba[part] = responsibilities
        return density, labels, proba
