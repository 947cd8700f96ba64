"""Products of binomial distributions: independent numbers of successes, or binary features."""

from abc import abstractmethod
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp

from mlcore.checks.stored import stored
from mlcore.mixture import start_values
from mlcore.mixture.discrete.components import DiscreteComponents, Parameters, Rows, Statistics
from mlcore.mixture.discrete.sparse_rows import BIT_GROUP, rows_of_array, rows_of_bits, rows_of_csr
from mlcore.mixture.discrete.zero_probabilities import logarithm, possible

# 1 where a feature of a group differs from its mode, (BIT_GROUP, codes).
_BITS = (np.arange(1 << BIT_GROUP) >> np.arange(BIT_GROUP)[:, None] & 1).astype(np.float64)
_ROUNDING = 16 * np.finfo(np.float64).eps  # of sums of the same values in two orders
_LEAST = 2 * np.finfo(np.float64).eps  # smallest positive 1 - p
_FIRST_ROWS = 1024  # whose modes are used: a wrong guess only costs entries


@stored(version=1)
class Failures(NamedTuple):
    """Probabilities of failure beside `means_`: 1 - p, without losing what is small."""

    probabilities: np.ndarray  # (d, k)
    _stored = {"probabilities": "float64 f k"}


class BinomialProduct(DiscreteComponents):
    """Independent numbers of successes in `trials` (d,), 1 where features are binary.

    Tables hold probabilities of success (d, k) and, to full precision, of failure behind them. With
    a `threshold`, a value above it is 1, others are 0.
    """

    trials: np.ndarray
    n_features: int

    threshold: float | None = None

    def __init__(
        self, n_components: int, alpha: float, trials: np.ndarray, missing: bool, owner: str
    ) -> None:
        super().__init__(n_components, alpha, owner)
        self.trials, self._missing = trials, missing
        self.n_features = len(trials)

    @cached_property
    def n_outcomes(self) -> np.ndarray:
        return np.full((self.n_features, 1), 2.0)

    @abstractmethod
    def wrong(self, values: Any, most: np.ndarray) -> np.ndarray:
        """Return which values are no number of successes in `most` trials; NaN are none of them."""

    @abstractmethod
    def refused(self, row: int, column: int, value: float, most: float) -> ValueError:
        """Return the error that tells of the wrong value at this place of X."""

    def rows(self, X: Any, weight: Any, modes: np.ndarray | None = None) -> Rows:
        """Return the rows; `modes` (d,) bool, if known, are the values that need no entry."""
        if sp.issparse(X):
            return self._sparse_rows(X, weight)
        if (self.trials == 1).all():
            return self._rows_of_bits(X, weight, modes)
        return self._dense_rows(X, weight)

    def _successes(self, X):
        threshold = self.threshold
        if threshold is None:
            return X
        if sp.issparse(X):
            return sp.csr_array((self._successes(X.data), X.indices, X.indptr), shape=X.shape)
        return np.where(np.isnan(X), X, X > threshold).astype(X.dtype)

    def _sparse_rows(self, X, weight):
        n, d = X.shape
        sparse = rows_of_csr(self._successes(X), weight)
        values, columns = sparse.values, sparse.columns
        missing, most = np.isnan(values), self.trials[columns]
        wrong = self.wrong(values, most)
        if wrong.any():
            place = int(np.argmax(wrong))
            row = int(np.searchsorted(sparse.indptr, place, side="right")) - 1
            raise self.refused(row, int(columns[place]), values[place], most[place])
        columns = np.where(missing, columns + d, columns).astype(np.int32)
        sparse.columns, sparse.values = columns, np.where(missing, 1.0, values)
        sparse.n_columns = 2 * d if missing.any() else d
        return Rows(X, weight, sparse, np.zeros(d, bool))

    def _dense_rows(self, X, weight):
        d, most = X.shape[1], self.trials.astype(X.dtype)
        sparse, wrong = rows_of_array(X, most, weight)
        self._require_right(X, most, wrong)
        if self._missing and np.isnan(X).any():
            sparse.n_columns = 2 * d
        return Rows(X, weight, sparse, np.zeros(d, bool))

    def _rows_of_bits(self, X, weight, modes):
        threshold, strict = self.threshold, self.threshold is None
        threshold = 0.5 if strict else threshold
        if modes is None:
            modes = (X[:_FIRST_ROWS] > threshold).mean(axis=0) > 0.5
        sparse, wrong = rows_of_bits(X, modes, threshold, strict, weight)
        if not wrong.any():
            return Rows(X, weight, sparse, modes)
        most = self.trials.astype(X.dtype)
        if self.wrong(X[int(np.argmax(wrong))], most).any():
            self._require_right(X, most, wrong)
        return self._dense_rows(X, weight)  # fractions are no bits

    def _require_right(self, X, most, wrong):
        if wrong.any():
            row = int(np.argmax(wrong))
            column = int(np.argmax(self.wrong(X[row], most)))
            raise self.refused(row, column, X[row, column], most[column])

    def fill(self, loop: Any, parameters: Parameters, rows: Rows) -> np.ndarray:
        """An entry turns one feature, or several, from the mode; or takes a missing one out."""
        logs, never = possible(parameters.table)
        mode, other = _by_value(logs, rows)
        constant, table = self._entries_of(mode, other, rows)
        certain = never.any()
        if certain:
            sure, others = _by_value(never, rows)
            table[self._entries_of(0.0, others, rows)[1] > 0] = -np.inf
        loop.fill(table, logarithms=False)
        if certain and sure.any():
            loop.require(*self._entries_of(sure, 0.0, rows))
        return logarithm(parameters.weights) + constant

    def possible(self, parameters: Any, rows: Any) -> Any:
        pairs = (_by_value(values, rows) for values in possible(parameters.table))
        return tuple(self._entries_of(mode, other, rows) for mode, other in pairs)

    def cancelling(self, parameters: Any) -> Any:
        logs, _ = possible(parameters.table)
        sizes = np.maximum(-logs[: self.n_features], -logs[self.n_features :])
        return float((self.trials @ sizes).max())

    def _entries_of(self, mode, other, rows):
        """Return constants (k,) and the table of entries, from log-densities (d, k) of features at
        their mode and at their other value.
        """
        trials, (d, k) = self.trials, np.shape(other - mode)
        constant = trials[:, None] * mode * np.ones((d, k))
        odds = other - mode
        group = 1 if rows.sparse.values is not None else BIT_GROUP
        n_codes = _n_codes(d, group)
        table = np.zeros((rows.sparse.n_columns, k))
        if group == 1:
            table[:d] = odds
        else:
            codes = table[:n_codes].reshape(-1, 1 << group, k)
            for bit in range(group):
                part = odds[bit::group]
                where = codes[: len(part)]
                where[:, 1 << bit : 2 << bit] = where[:, : 1 << bit] + part[:, None]
        if rows.sparse.n_columns > n_codes:
            table[n_codes:] = -constant
        return constant.sum(axis=0), table

    def gathered(
        self, rows: Rows, sums: Any, mass: Any, log_likelihood: float, before: np.ndarray | None
    ) -> Statistics:
        d, k = rows.X.shape[1], len(mass)
        trials = self.trials[:, None]
        group = 1 if rows.sparse.values is not None else BIT_GROUP
        n_codes = _n_codes(d, group)
        known = np.broadcast_to(mass, (d, k))
        if rows.sparse.n_columns > n_codes:
            known = _left(known, sums[n_codes:], True)
        most = trials * known
        if group == 1:
            moved = sums[:d]
        else:
            moved = (_BITS @ sums[:n_codes].reshape(-1, 1 << group, k)).reshape(-1, k)[:d]
        never = False
        if before is not None:
            never = _by_value(before, rows)[0] == 0
        stayed = _left(most, moved, never)
        mode, other = stayed, np.where(stayed > 0, moved, most)
        if not rows.modes.any():
            counts = np.concatenate([other, mode])
        else:
            flipped = rows.modes[:, None]
            counts = np.concatenate(
                [np.where(flipped, mode, other), np.where(flipped, other, mode)]
            )
        return Statistics(log_likelihood, mass, counts, most)

    def outcome_counts(self, X: Any) -> np.ndarray:
        successes = self._successes(X).astype(np.float64)
        counts = np.hstack([successes, self.trials - successes])
        return np.where(np.isnan(counts), 0.0, counts)

    def by_column(self, values: np.ndarray) -> np.ndarray:
        return np.concatenate([values, values])

    def parameters(self, mixture: Any) -> Parameters:
        p = mixture.means_.T
        failures = 1 - p
        if mixture._solution_ is not None:  # the same, to more digits where small
            kept = mixture._solution_.probabilities
            failures = np.where(np.abs(kept - failures) <= _ROUNDING, kept, failures)
        return Parameters(mixture.weights_, np.concatenate([p, failures]), mixture.mean_totals_)

    def attributes(self, parameters: Parameters) -> dict[Any, Any]:
        p, failures = np.split(parameters.table, 2)
        return {
            "weights_": parameters.weights,
            "means_": np.ascontiguousarray(p.T),
            "mean_totals_": parameters.totals,
            "_solution_": Failures(failures.copy()),
        }

    def arrays(self, mixture: Any) -> tuple[Any, ...]:
        arrays = (mixture.weights_, mixture.means_)
        return arrays if mixture._solution_ is None else (*arrays, *mixture._solution_)

    @property
    def settings(self) -> Any:
        return self.trials.tobytes()

    def later_rows(self, X: Any, parameters: Parameters, tables: dict[Any, Any]) -> tuple[Any, ...]:
        """Modes are those of the mixture: tables are the same in all calls."""
        if "modes" not in tables:
            means = np.ascontiguousarray(parameters.table[: self.n_features].T)
            tables["modes"] = parameters.weights @ means > 0.5
        rows = self.rows(X, None, tables["modes"])
        return rows, (rows.sparse.n_columns, rows.sparse.values is None)

    def n_parameters(self) -> Any:
        k, d = self.n_components, self.n_features
        return k - 1 + k * d


def table_of_successes(
    value: Any, name: str, shape: tuple[Any, ...] | None, owner: str
) -> np.ndarray:
    """Return given probabilities of success (k, d) as a table (2 d, k), those of failure behind."""
    means = _probabilities(value, name, shape, owner)
    return np.concatenate([means.T, 1 - means.T])


def _by_value(table, rows):
    """Return halves of a table (2 d, k): at the modes of features, and at their other values."""
    of_one, of_zero = table[: len(table) // 2], table[len(table) // 2 :]
    if not rows.modes.any():
        return of_zero, of_one
    flipped = rows.modes[:, None]
    return np.where(flipped, of_one, of_zero), np.where(flipped, of_zero, of_one)


def _left(whole, part, none):
    """Return whole - part (d, k), with 0 for rounding error where `none` says that it is 0.

    Elsewhere it is at least tiny if other components have the feature: EM may then give it more.
    """
    left, hidden = whole - part, _ROUNDING * whole
    somewhere = left.sum(axis=1, keepdims=True) > hidden.sum(axis=1, keepdims=True)
    least = np.where(somewhere & ~np.asarray(none), _LEAST * whole, 0.0)
    return np.where(left > hidden, left, least)


def _n_codes(d, group):
    return d if group == 1 else -(-d // group) << group


def _probabilities(value, name, shape, owner):
    table = start_values.means(value, name, shape, owner)
    if (table < 0).any() or (table > 1).any():
        raise ValueError(
            f"{owner}: {name} must hold probabilities, in [0, 1], but spans {table.min():g} to "
            f"{table.max():g}."
        )
    return table
