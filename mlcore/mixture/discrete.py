"""What mixtures of discrete distributions share: probabilities by column, and sums of entries."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mlcore.checks import as_random_state, as_real
from mlcore.kept import kept
from mlcore.mixture import given, starts
from mlcore.mixture.em import Mixture
from mlcore.mixture.entries import Entries
from mlcore.mixture.expectation import Loop, shares
from mlcore.mixture.impossible import least_impossible, logarithm
from mlcore.mixture.run import Run

_COLLAPSED = 16 * np.finfo(np.float64).eps  # share of all weight that is reported as none
_EMPTY = 2.0**-900  # share that is none: of less, responsibilities are no normal numbers
_ROWS = 1 << 12  # impossible ones, looked at in one go
_SAMPLE = 512  # rows that starts are compared on
_STARTS, _START_STEPS = 6, 5  # that are compared; steps of EM from each, to tell the best
_UNIFORM = 0.01  # share of equal probabilities in a start: nothing is impossible
_CANDIDATES = 256  # rows that may seed a component
_VALUES = 1 << 21  # that rows are compared by, which one of them is to seed


class Parameters(NamedTuple):
    """Of a mixture: the weights of its components, and their probabilities of each column."""

    weights: np.ndarray  # (k,)
    table: np.ndarray  # (n_columns, k)
    trials: np.ndarray  # as in Statistics, but of a mean row: no parameter of the likelihood


class Statistics(NamedTuple):
    """Sums over rows, by component: of responsibilities, and of what each column counts."""

    log_likelihood: float
    mass: np.ndarray  # (k,)
    counts: np.ndarray  # (n_columns, k)
    trials: np.ndarray  # (n_items, k): the totals of the columns that share a distribution


class Rows(NamedTuple):
    """Rows as they were given, and as entries."""

    X: Any
    weight: np.ndarray | None
    entries: Entries
    usual: np.ndarray | None = None  # value of each column that is no entry
    patterns: Any = None  # that are the columns of entries, where these are categories

    @property
    def total(self) -> float:
        return self.entries.total_weight


class DiscreteMixture(Mixture):
    """Mixtures of products of multinomial distributions, one for each item.

    Beside what `Mixture` asks for, a subclass defines ``_log_densities(parameters, rows, loop)``,
    which tells the loop what entries add to the log densities, and returns the constants;
    ``_summed(rows, *sums, before)``, statistics under the table `before`, if any;
    ``_by_column(values, frame)``, from a value for each item to one for each column;
    ``_alternatives(frame)``, how many outcomes each item has;
    ``_log_prior(parameters, rows)``, of a pseudo-count of 1, once `_log_densities` has been called;
    ``_possible(parameters, rows)``, constants and table with 0 for what is impossible, and the same
    of the number of impossible values; ``_fitted_arrays()``, attributes that these follow from.
    """

    mean_trials_: np.ndarray

    def __init__(
        self,
        n_components: int = 1,
        *,
        alpha: float = 0.01,
        tol: float = 1e-4,
        max_iter: int = 200,
        n_init: int = 1,
        weights_init: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: bool | int = False,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.weights_init = weights_init
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.callback = callback

    def __sklearn_tags__(self):
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        # Its check of sparse input asks whatever has predict_proba for these, and two columns.
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    def _check_options(self):
        super()._check_options()
        as_real(self.alpha, "alpha", owner=type(self).__name__, at_least=0)

    def _like(self):
        return None

    def _framed(self, X, weight):
        frame = self._frame(X, weight)
        return frame, self._rows(X, weight, frame), 0  # weights as they are: `alpha` has their unit

    def _given_weights(self):
        if self.weights_init is None:
            return None
        owner = type(self).__name__
        return given.weights(self.weights_init, "weights_init", int(self.n_components), owner)

    def _start(self, frame, rows, rng, chosen, number=0):
        k = int(self.n_components)
        weights, table = chosen
        weights = np.full(k, 1 / k) if weights is None else weights
        trials = np.ones((np.size(self._alternatives(frame)), k))
        if table is not None:
            return Parameters(weights, table, trials)
        places, weight = starts.distinct(self._keys(rows, frame), rows.weight, _SAMPLE, rng)
        some = rows._replace(weight=weight, entries=rows.entries.taken(places, weight))
        tables = self._drawn_tables(some, frame, rng)
        runs = [Run(Parameters(weights, table, trials)) for table in tables]
        return self._best(runs, frame, some, _START_STEPS).parameters

    def _keys(self, rows, frame):
        """A number for each row, which equal rows have alike, and others hardly ever."""
        table = np.exp(np.sin(np.arange(1.0, np.sum(self._alternatives(frame)) + 1)))[:, None]
        loop = rows.entries.loop(1)
        start = self._log_densities(Parameters(np.ones(1), table, None), rows, loop)
        return loop.log_densities(start)[:, 0]

    def _drawn_tables(self, rows, frame, rng):
        """Tables of which each component is half the mean, and half a row far from the others'."""
        k, weight, matrix = int(self.n_components), rows.weight, rows.entries.matrix
        sums = (matrix.T @ weight)[:, None]
        whole = self._summed(rows, sums, weight.sum(keepdims=True), 0.0, None)
        equal = 1 / self._by_column(np.atleast_2d(self._alternatives(frame)), frame)
        whole = self._proportions(whole, frame, equal)
        usual = (1 - _UNIFORM) * whole + _UNIFORM * equal
        if k == 1:
            return [usual]
        some = np.arange(len(weight))
        most = min(_CANDIDATES, max(2 * k, _VALUES // rows.entries.n_columns))
        if len(some) > most:
            some = np.unique(starts.drawn(weight, rng.random(most)))
        single = matrix[some].toarray().T
        single = self._summed(rows, single, np.ones(len(some)), 0.0, None)
        single = self._proportions(single, frame, whole)
        frequencies = np.ascontiguousarray(single.T)
        seeds = starts.far_rows_again(frequencies, weight[some], k, _STARTS, rng)
        return [(usual + single[:, places]) / 2 for places in seeds]

    def _proportions(self, statistics, frame, otherwise):
        """The share of each column among those of its item; `otherwise` where nothing is known."""
        trials = self._by_column(statistics.trials, frame)
        known = trials > 0
        return np.where(known, statistics.counts / np.where(known, trials, 1.0), otherwise)

    def _climb_each(self, runs, frame, rows, n_steps, progress):
        """On few rows the components of all runs side by side, since most time goes by calls."""
        if rows.entries.n_rows > _SAMPLE or progress.active:
            return super()._climb_each(runs, frame, rows, n_steps, progress)
        shape = len(runs), int(self.n_components)
        many = Parameters(*map(np.hstack, zip(*(run.parameters for run in runs), strict=True)))
        many = many._replace(weights=many.weights / len(runs))
        loop = rows.entries.loop(shape[0] * shape[1])
        collapsed = np.zeros(shape[0] * shape[1], bool)
        for _ in range(n_steps):
            start = self._log_densities(many, rows, loop)
            *sums, levels = loop.sums_each(start, len(runs))
            levels += rows.total * np.log(len(runs))
            if self.alpha > 0:
                prior = logarithm(many.table).sum(axis=0).reshape(shape).sum(axis=1)
                levels += float(self.alpha) * prior
            sums = self._summed(rows, *sums, 0.0, many.table)
            many, collapsed = self._maximised(sums, many, frame)
            for run, level in zip(runs, levels / rows.total, strict=True):
                run.trace.append(level)
        many = many._replace(weights=many.weights * len(runs))
        for run, first in zip(runs, range(0, len(collapsed), shape[1]), strict=True):
            own = slice(first, first + shape[1])
            run.parameters = Parameters(*(part[..., own] for part in many))
            run.collapsed = np.flatnonzero(collapsed[own])

    def _statistics(self, rows, parameters):
        sums = self._sums(rows, parameters)
        return sums._replace(counts=sums.counts.copy())

    @property
    def _entire(self):
        """Whether sums leave out no responsibilities, however small."""
        return self.alpha == 0

    def _sums(self, rows, parameters):
        """Statistics, whose counts the next call may change."""
        loop = rows.entries.loop(len(parameters.weights), entire=self._entire)
        start = self._log_densities(parameters, rows, loop)
        return self._summed(rows, *loop.sums(start), parameters.table)

    def _step(self, rows, parameters, frame):
        statistics = self._sums(rows, parameters)
        level = self._level(statistics, rows, parameters)
        return level, *self._maximised(statistics, parameters, frame)

    def _level(self, statistics, rows, parameters):
        """The mean objective of a row."""
        level = statistics.log_likelihood
        if self.alpha > 0:
            level += float(self.alpha) * self._log_prior(parameters, rows)
        return level / rows.total

    def _maximised(self, statistics, parameters, frame, shares_of=None):
        """A component without mass keeps its probabilities, and a weight of 0. One of a small mass
        goes on as in exact arithmetic, since it may grow again.

        `shares_of` stands for `shares` of ``statistics.counts``.
        """
        total = statistics.mass.sum()
        empty = statistics.mass <= _EMPTY * total
        weights = np.where(empty, 0.0, statistics.mass) / total
        alpha = float(self.alpha)
        trials = self._by_column(statistics.trials + alpha * self._alternatives(frame), frame)
        # An item may have been missing in all rows of a component, which then keep what they had.
        keep = empty | ~(trials > 0)
        shares_of = shares_of or partial(shares, statistics.counts)
        table = shares_of(alpha, np.where(keep, 0.0, trials), parameters.table)
        mean_trials = statistics.trials / np.where(empty, total, statistics.mass)
        return Parameters(weights, table, mean_trials), weights <= _COLLAPSED

    def _expected(self, parameters):
        frame, weights = self._fitted_frame(), parameters.weights
        prior = float(self.alpha) / self.total_weight_ if self.total_weight_ > 0 else 0.0
        trials = parameters.trials * weights
        padded = self._by_column(trials + prior * self._alternatives(frame), frame)
        return Statistics(0.0, weights, parameters.table * padded - prior, trials)

    def _gone(self):
        return np.flatnonzero(self.weights_ == 0)

    def _arranged(self, parameters, order, frame):
        return Parameters(*(values[..., order] for values in parameters))

    def _fits(self, d):
        return self.weights_.shape == (self.n_components,) and d == self.n_features_in_

    def _densities(self, X, with_proba):
        frame, k = self._fitted_frame(), len(self.weights_)
        known = kept(self, self._fitted_arrays(), self._settings(frame), dict)
        rows = self._later_rows(X, frame, known)
        layout = self._layout(rows, known)
        if layout in known:
            start, filled = known[layout]
            loop = Loop(rows.entries, k, filled=filled)
        else:
            loop = rows.entries.loop(k)
            start = self._log_densities(self._parameters(), rows, loop)
            if layout is not None:
                known[layout] = start, loop.filled
        if with_proba:
            density, proba = loop.posterior(start)
            labels = proba.argmax(axis=1)
        else:
            (density, labels), proba = loop.labels(start), None
        lost = np.flatnonzero(density == -np.inf)
        if len(lost):
            parameters = self._parameters()
            (constant, table), (lacking, never) = self._possible(parameters, rows)
            logs = constant + logarithm(np.where(parameters.weights > 0, parameters.weights, 1))
            lacking = np.where(parameters.weights > 0, lacking, np.inf)
            for i in range(0, len(lost), _ROWS):
                part = lost[i : i + _ROWS]
                values = rows.entries.taken(part).matrix
                found = least_impossible(values, (logs, table), (lacking, never))
                labels[part] = found.argmax(axis=1)
                if proba is not None:
                    proba[part] = found
        return density, labels, proba

    def _settings(self, frame):
        """What tables depend on beside `_fitted_arrays`."""
        return None

    def _later_rows(self, X, frame, known):
        """Rows to predict, laid out alike in every call where that pays, by what is `known`."""
        return self._rows(X, None, frame)

    def _layout(self, rows, known):
        """What tells tables for these rows from those for others; None: no call shares them."""
        return rows.entries.n_columns, rows.entries.values is None

    def _drawn_components(self, n_samples):
        """Generator, and components of rows to sample, in order."""
        self._check_fitted()
        n = self._n_drawn(n_samples)
        rng = as_random_state(self.random_state)
        counts = rng.multinomial(n, self.weights_ / self.weights_.sum())
        return rng, np.repeat(np.arange(len(counts)), counts)
