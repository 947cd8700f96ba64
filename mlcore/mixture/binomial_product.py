"""What mixtures of independent binary features, and of numbers of successes, share."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse as sp

from mlcore._ext import entries as _ext
from mlcore.mixture import given
from mlcore.mixture.discrete import DiscreteMixture, Parameters, Rows, Statistics
from mlcore.mixture.entries import Entries, csr_entries, dense_entries
from mlcore.mixture.impossible import logarithm, possible
from mlcore.mixture.missing import WithMissing
from mlcore.threads import effective_threads

# Binary features that are one entry: a table of their 16 outcomes fits into the cache.
_GROUP = _ext.GROUP
_POWERS = 1 << np.arange(_GROUP, dtype=np.uint8)
_BITS = (np.arange(1 << _GROUP) >> np.arange(_GROUP)[:, None] & 1).astype(np.float64)
_ROUNDING = 16 * np.finfo(np.float64).eps  # of sums of the same values in two orders
_LEAST = 2 * np.finfo(np.float64).eps  # that 1 - p may be where it is more than 0
_FIRST_ROWS = 1024  # that tell what is usual: any answer is right, a good one saves entries


class ProductOfBinomials(WithMissing, DiscreteMixture):
    """Features are numbers of successes in known numbers of trials; 1, where they are binary.

    A subclass defines ``_trials(n_features)``; ``_wrong(values, most)``, which of them it does not
    take, and ``_refused(row, column, value, most)``, the error that says so; and where it makes
    binary values of others ``_threshold()``.
    """

    _tags = {"input_tags.sparse": True}

    means_: np.ndarray
    _failures_: np.ndarray

    def _threshold(self):
        """Above this a value is 1, else 0; None: values are numbers of successes."""
        return None

    def _successes(self, X):
        threshold = self._threshold()
        if threshold is None:
            return X
        if sp.issparse(X):
            return sp.csr_array((self._successes(X.data), X.indices, X.indptr), shape=X.shape)
        return np.where(np.isnan(X), X, X > threshold).astype(X.dtype)

    def __init__(
        self,
        n_components: int = 1,
        *,
        alpha: float = 0.01,
        missing: str = "error",
        tol: float = 1e-4,
        max_iter: int = 200,
        n_init: int = 1,
        weights_init: Any = None,
        means_init: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: bool | int = False,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(
            n_components,
            alpha=alpha,
            tol=tol,
            max_iter=max_iter,
            n_init=n_init,
            weights_init=weights_init,
            random_state=random_state,
            warm_start=warm_start,
            verbose=verbose,
            callback=callback,
        )
        self.missing = missing
        self.means_init = means_init

    def _as_first(self, X, like):
        X = super()._as_first(X, like)
        self._rows(X, None, self._trials(X.shape[1]))  # refuses values out of range
        return X

    # ---- what Mixture and DiscreteMixture ask for; a frame is the numbers of trials, a table holds
    # probabilities of success, and of failure behind them: 1 - p, without losing what is small

    def _given(self, d):
        k, table = int(self.n_components), None
        if self.means_init is not None:
            table = _both(
                _probabilities(self.means_init, "means_init", (k, d), type(self).__name__)
            )
        return self._given_weights(), table

    def _rows(self, X, weight, frame, usual=None):
        if sp.issparse(X):
            return self._sparse_rows(X, weight, frame)
        if (frame == 1).all():
            return self._rows_of_bits(X, weight, frame, usual)
        return self._dense_rows(X, weight, frame)

    def _sparse_rows(self, X, weight, frame):
        n, d = X.shape
        entries = csr_entries(self._successes(X), weight)
        values, columns = entries.values, entries.columns
        missing, most = np.isnan(values), frame[columns]
        wrong = self._wrong(values, most)
        if wrong.any():
            place = int(np.argmax(wrong))
            row = int(np.searchsorted(entries.indptr, place, side="right")) - 1
            raise self._refused(row, int(columns[place]), values[place], most[place])
        columns = np.where(missing, columns + d, columns).astype(np.int32)
        entries.columns, entries.values = columns, np.where(missing, 1.0, values)
        entries.n_columns = 2 * d if missing.any() else d
        return Rows(X, weight, entries, np.zeros(d, bool))

    def _dense_rows(self, X, weight, frame):
        d, most = X.shape[1], frame.astype(X.dtype)
        entries, wrong = dense_entries(X, most, weight)
        self._require_right(X, most, wrong)
        if self.missing == "ignore" and np.isnan(X).any():
            entries.n_columns = 2 * d
        return Rows(X, weight, entries, np.zeros(d, bool))

    def _rows_of_bits(self, X, weight, frame, usual):
        n, d = X.shape
        threshold = self._threshold()
        strict, threshold = threshold is None, 0.5 if threshold is None else threshold
        if usual is None:
            usual = (X[:_FIRST_ROWS] > threshold).mean(axis=0) > 0.5
        codes = np.empty((n, -(-d // _GROUP)), np.uint8)
        indptr, missing = np.zeros(n + 1, np.int64), np.empty(n, np.int64)
        wrong, n_threads = np.empty(n, np.uint8), effective_threads(X.size)
        _ext.deviating_bits(
            X, _bits(usual), threshold, strict, codes, indptr, missing, wrong, n_threads
        )
        if wrong.any():
            most = frame.astype(X.dtype)
            if self._wrong(X[int(np.argmax(wrong))], most).any():
                self._require_right(X, most, wrong)
            return self._dense_rows(X, weight, frame)  # fractions are no bits
        np.cumsum(indptr, out=indptr)
        columns = np.empty(max(1, indptr[-1]), np.int32)
        _ext.fill_bits(X, codes, missing, indptr, columns, n_threads)
        n_columns = _n_codes(d, _GROUP) + (d if missing.any() else 0)
        entries = Entries(n, n_columns, columns[: indptr[-1]], indptr, None, weight)
        return Rows(X, weight, entries, usual)

    def _require_right(self, X, most, wrong):
        if wrong.any():
            row = int(np.argmax(wrong))
            column = int(np.argmax(self._wrong(X[row], most)))
            raise self._refused(row, column, X[row, column], most[column])

    def _log_densities(self, parameters, rows, loop):
        """An entry moves a feature, or several, away from `usual`; or takes a missing one out."""
        logs, never = possible(parameters.table)
        usual, other = _by_value(logs, rows)
        constant, table = self._entries_of(usual, other, rows)
        certain = never.any()
        if certain:
            sure, others = _by_value(never, rows)
            table[self._entries_of(0.0, others, rows)[1] > 0] = -np.inf
        loop.fill(table, logarithms=False)
        if certain and sure.any():
            loop.require(*self._entries_of(sure, 0.0, rows))
        return logarithm(parameters.weights) + constant

    def _possible(self, parameters, rows):
        pairs = (_by_value(values, rows) for values in possible(parameters.table))
        return tuple(self._entries_of(usual, other, rows) for usual, other in pairs)

    def _entries_of(self, usual, other, rows):
        """Constants (k,) and table of entries, of what values (d, k) add where they are usual, or
        else.
        """
        trials, (d, k) = self._trials(rows.X.shape[1]), np.shape(other - usual)
        constant = trials[:, None] * usual * np.ones((d, k))
        odds = other - usual
        group = 1 if rows.entries.values is not None else _GROUP
        n_codes = _n_codes(d, group)
        table = np.zeros((rows.entries.n_columns, k))
        if group == 1:
            table[:d] = odds
        else:
            codes = table[:n_codes].reshape(-1, 1 << group, k)
            for bit in range(group):
                part = odds[bit::group]
                where = codes[: len(part)]
                where[:, 1 << bit : 2 << bit] = where[:, : 1 << bit] + part[:, None]
        if rows.entries.n_columns > n_codes:
            table[n_codes:] = -constant
        return constant.sum(axis=0), table

    def _summed(self, rows, by_column, mass, log_likelihood, before):
        d, k = rows.X.shape[1], len(mass)
        trials = self._trials(d)[:, None]
        group = 1 if rows.entries.values is not None else _GROUP
        n_codes = _n_codes(d, group)
        known = np.broadcast_to(mass, (d, k))
        if rows.entries.n_columns > n_codes:
            known = _left(known, by_column[n_codes:], True)
        most = trials * known
        if group == 1:
            moved = by_column[:d]
        else:
            moved = (_BITS @ by_column[:n_codes].reshape(-1, 1 << group, k)).reshape(-1, k)[:d]
        never = False
        if before is not None:
            never = _by_value(before, rows)[0] == 0
        stayed = _left(most, moved, never)
        usual, other = stayed, np.where(stayed > 0, moved, most)
        if not rows.usual.any():
            counts = np.concatenate([other, usual])
        else:
            flipped = rows.usual[:, None]
            counts = np.concatenate(
                [np.where(flipped, usual, other), np.where(flipped, other, usual)]
            )
        return Statistics(log_likelihood, mass, counts, most)

    def _by_column(self, values, frame):
        return np.concatenate([values, values])

    def _alternatives(self, frame):
        return np.full((len(frame), 1), 2.0)

    def _log_prior(self, parameters, rows):
        return float(logarithm(parameters.table).sum())

    def _parameters(self):
        p, failures = self.means_.T, 1 - self.means_.T
        known = getattr(self, "_failures_", failures)  # the same, where it is little to more digits
        failures = np.where(np.abs(known - failures) <= _ROUNDING, known, failures)
        return Parameters(self.weights_, np.concatenate([p, failures]), self.mean_trials_)

    def _attributes(self, parameters, frame):
        p, failures = np.split(parameters.table, 2)
        return {
            "weights_": parameters.weights,
            "means_": np.ascontiguousarray(p.T),
            "mean_trials_": parameters.trials,
            "_failures_": failures.copy(),
        }

    def _fitted_arrays(self):
        failures = getattr(self, "_failures_", None)
        return (self.weights_, self.means_) + (() if failures is None else (failures,))

    def _settings(self, frame):
        return frame.tobytes()

    def _later_rows(self, X, frame, known):
        """The usual value of a feature is that of the mixture: tables are the same in all calls."""
        if "usual" not in known:
            known["usual"] = self.weights_ @ self.means_ > 0.5
        return self._rows(X, None, frame, known["usual"])

    def _n_parameters(self):
        k, d = self.means_.shape
        return k - 1 + k * d

    def _frame(self, X, weight):
        return self._trials(X.shape[1])

    def _fitted_frame(self):
        return self._trials(self.n_features_in_)

    @classmethod
    def _of(cls, model, weights, means):
        """`model` with the parameters given."""
        means = _probabilities(means, "means", None, cls.__name__)
        k = len(means)
        weights = given.weights(weights, "weights", k, cls.__name__)
        model.n_components = k
        parameters = Parameters(weights, _both(means), np.ones(means.T.shape))
        model._set_fitted(means, **model._attributes(parameters, None), **model._unfitted(1.0))
        return model


def _both(means):
    """Probabilities of success of each feature, and of failure behind them: (2 d, k)."""
    return np.concatenate([means.T, 1 - means.T])


def _by_value(table, rows):
    """Halves of a table (2 d, k): of the usual value of each feature, and of the other one."""
    of_one, of_zero = table[: len(table) // 2], table[len(table) // 2 :]
    if not rows.usual.any():
        return of_zero, of_one
    flipped = rows.usual[:, None]
    return np.where(flipped, of_one, of_zero), np.where(flipped, of_zero, of_one)


def _left(whole, part, none):
    """whole - part (d, k), which is 0 where it is but rounding and there is `none` for certain.

    Elsewhere a component has a little of what others have more of, and EM may give it more: it
    keeps the least that can be told from 0.
    """
    left, hidden = whole - part, _ROUNDING * whole
    somewhere = left.sum(axis=1, keepdims=True) > hidden.sum(axis=1, keepdims=True)
    least = np.where(somewhere & ~np.asarray(none), _LEAST * whole, 0.0)
    return np.where(left > hidden, left, least)


def _bits(values):
    """Groups of booleans as numbers, the first of a group the lowest bit."""
    whole = np.zeros((-(-len(values) // _GROUP), _GROUP), np.uint8)
    whole.reshape(-1)[: len(values)] = values
    return whole @ _POWERS


def _n_codes(d, group):
    return d if group == 1 else -(-d // group) << group


def _probabilities(value, name, shape, owner):
    found = given.means(value, name, shape, owner)
    if (found < 0).any() or (found > 1).any():
        raise ValueError(
            f"{owner}: {name} must hold probabilities, in [0, 1], but spans {found.min():g} to "
            f"{found.max():g}."
        )
    return found
