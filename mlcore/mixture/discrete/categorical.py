"""Categorical components, independent items, and mixtures of them: latent class analysis."""

from collections.abc import Callable
from functools import cached_property
from operator import attrgetter
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np

from mlcore.checks import as_choice
from mlcore.checks.arrays import plain_array, real_array, require_exact
from mlcore.checks.missing import Missing
from mlcore.estimator import tables
from mlcore.estimator.model import warn
from mlcore.mixture import start_values
from mlcore.mixture.discrete.components import DiscreteComponents, Parameters, Rows, Statistics
from mlcore.mixture.discrete.discrete_mixture import DiscreteMixture
from mlcore.mixture.discrete.patterns import Patterns, found_categories
from mlcore.mixture.discrete.sparse_e_step import row_bytes
from mlcore.mixture.discrete.sparse_rows import SparseRows
from mlcore.mixture.discrete.zero_probabilities import logarithm, possible
from mlcore.mixture.standard_errors import StandardErrors
from mlcore.numerics.columns.categories import UNSEEN, CodedTable, coded_table, table_of_numbers

_KIND = attrgetter("dtype.kind")
_SHOWN = 20  # rows of a printed table
_FEW_ROWS = 128  # up to which prediction does not build patterns of several items
_UNSEEN = 1e-10  # probability of a category that the fit did not know, where there is a prior

Unknown = Literal["error", "missing"]


class ProbabilityTable(NamedTuple):
    """Probabilities of the categories of all items in all components, a row for each.

    Parameters
    ----------
    item : (n_rows,)
        Name of the item, or its column.
    category : (n_rows,) object
    component : (n_rows,) intp
    probability : (n_rows,) float64
    error : (n_rows,) float64
        Standard error of the probability; NaN if it was not asked for.

    Examples
    --------
    >>> from mlcore.mixture import CategoricalMixture
    >>> X = [["a"]] * 64 + [["b"]] * 36
    >>> CategoricalMixture(1, alpha=0.0).fit(X).probabilities_table().probability
    array([0.64, 0.36])
    """

    item: np.ndarray
    category: np.ndarray
    component: np.ndarray
    probability: np.ndarray
    error: np.ndarray

    def __str__(self) -> str:
        columns = {name: column.tolist() for name, column in self._asdict().items()}
        return tables.text(columns, most=_SHOWN)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return tables.table(self._asdict())

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame with the index `item`.

        Returns
        -------
        frame : pandas.DataFrame
            One row for each probability.
        """
        return tables.frame(self._asdict(), index="item")


class CategoricalMixture(DiscreteMixture):
    r"""Latent class analysis: given its class, the items of a row are independent.

    .. math:: P(x) = \sum_j \lambda_j \prod_i P_{ji}(x_i).

    An item's value is one of finitely many categories: numbers, strings, times, bool, or those of
    pandas' and polars' categorical types, column by column. A missing answer (NaN, None, NA, null)
    takes no part, which is exact EM where answers are missing at random. Time
    O(n_samples n_items n_components) a step.

    Parameters
    ----------
    n_components : int, default=2
    alpha : float, default=0.01
        Pseudo-count of every category in every component (a Dirichlet prior), which keeps a
        category that a component has not seen from being impossible there for ever; 0 is plain
        maximum likelihood. At least 0.
    missing : {"error", "ignore"}, default="error"
        Whether NaN is refused, or a missing answer.
    unknown : {"error", "missing"}, default=None
        A category that the fit did not know is an error that names it, or counts as missing. None
        is "error" but for items of numbers, whose unknown values have the probability in the Notes.
    tol, max_iter, n_init : as in `BernoulliMixture`
    weights_init : (n_components,), default=None
    probabilities_init : list of (n_components, n_categories) arrays, default=None
        Given starts, one array for each item, with rows of sum 1. Their columns are the item's
        categories in ascending order; where not all of them occur in the data, the categories are
        0, 1, ... by column.
    random_state : as in `BernoulliMixture`
    warm_start : bool, default=False
        Start `fit` where the previous one ended, if that had the same categories.
    verbose, callback : as in `BernoulliMixture`

    Attributes
    ----------
    probabilities_ : list of (n_components, n_categories) float64
        One array for each item; rows sum to 1.
    categories_ : list of (n_categories,) arrays
        The values of each item, sorted; numbers are float64. Those that a categorical type
        declares are in its order, numbers apart, and include categories that do not occur.
    log_likelihood_trace_, objective_trace_ : (n_iter_ + 1,) float64
        Mean log-likelihood of a sample at the start and after each step, and with `alpha` the log
        of the prior, ``alpha * sum(log P)``, divided by the number of samples: what EM
        never decreases, but by rounding.
    mean_totals_ : (n_items, n_components) float64
        Share of the rows that answer each item.
    n_features_in_ : int
    feature_names_in_ : (n_items,) object
    others
        As in `BernoulliMixture`.

    Notes
    -----
    Probabilities of 0, which take ``alpha=0``, are exact. A row that is impossible under every
    component has a log-density of -inf; `predict` and `predict_proba` give it, as if these
    probabilities went to 0 together, to the components of its fewest impossible answers, and EM to
    all in equal shares. A number that the fit did not know is impossible too; with a prior it has
    a probability of 1e-10 under every component. A warning names the first. The first call of
    `partial_fit` takes numbers alone: `fit` or `begin` come before strings.

    References
    ----------
    P. Lazarsfeld, N. Henry, *Latent Structure Analysis*, 1968. L. Goodman, *Exploratory latent
    structure analysis using both identifiable and unidentifiable models*, Biometrika 61, 1974.

    Examples
    --------
    >>> from mlcore.mixture import CategoricalMixture
    >>> X = [[0, 0, 2], [0, 0, 2], [0, 0, 1], [1, 1, 0], [1, 1, 0]]
    >>> classes = CategoricalMixture(n_components=2, random_state=0).fit(X)
    >>> classes.weights_.round(2)
    array([0.6, 0.4])
    >>> classes.predict([[0, 0, 1], [1, 1, 0]])
    array([0, 1])
    >>> X = [["red", "round"], ["red", "round"], ["blue", "flat"], ["blue", "flat"]]
    >>> classes = CategoricalMixture(n_components=2, random_state=0).fit(X)
    >>> classes.categories_[0]
    array(['blue', 'red'], dtype='<U4')
    """

    _tags = {"input_tags.categorical": True, "input_tags.string": True}

    probabilities_: list[np.ndarray]
    categories_: list[np.ndarray]
    _stored = {"probabilities_": ["f", "float64 k m[]"], "categories_": ["f", "labels m[]"]}

    def __init__(
        self,
        n_components: int = 2,
        *,
        alpha: float = 0.01,
        missing: Missing = "error",
        unknown: Unknown | None = None,
        tol: float = 1e-4,
        max_iter: int = 200,
        n_init: int = 1,
        weights_init: Any = None,
        probabilities_init: Any = None,
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
        self.unknown = unknown
        self.probabilities_init = probabilities_init

    @classmethod
    def from_parameters(cls, weights: Any, probabilities: Any, categories: Any = None) -> Self:
        """Return a mixture of known parameters, ready to predict, sample or go on fitting.

        Parameters
        ----------
        weights : (n_components,)
        probabilities : list of (n_components, n_categories)
            Rows sum to 1.
        categories : list of (n_categories,), optional
            Numbers ascend; others differ. By default 0, 1, ...
        """
        probabilities = _tables(probabilities, "probabilities", None, cls.__name__)
        k = len(probabilities[0])
        weights = start_values.weights(weights, "weights", k, cls.__name__)
        sizes = [p.shape[1] for p in probabilities]
        if categories is None:
            categories = [np.arange(size, dtype=float) for size in sizes]
        categories = [_as_categories(values) for values in categories]
        if [values.shape for values in categories] != [(size,) for size in sizes] or not all(
            map(_are_categories, categories)
        ):
            raise ValueError(
                f"{cls.__name__}: categories must be ascending numbers or different labels, "
                f"{sizes} for the items."
            )
        model = cls(n_components=k)
        parameters = Parameters(
            weights, np.vstack([p.T for p in probabilities]), np.ones((len(sizes), k))
        )
        components, like = model._of_categories(k, categories), np.zeros((1, len(sizes)))
        model._set_unfitted(like, components, parameters, total_weight=1.0)
        return model

    def sample(self, n_samples: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Return rows drawn from the mixture by `random_state`, and their components, in order.

        Parameters
        ----------
        n_samples : int, default=1

        Returns
        -------
        X : (n_samples, n_items)
            Ordered by component; float64 if all categories are numbers, else objects.
        labels : (n_samples,) intp
            Component of each row.
        """
        rng, labels = self._drawn_components(n_samples)
        numbers = _all_numbers(self.categories_)
        X = np.empty((len(labels), len(self.categories_)), float if numbers else object)
        for i, (p, values) in enumerate(zip(self.probabilities_, self.categories_, strict=True)):
            below = np.cumsum(p, axis=1)[:, :-1] / p.sum(axis=1, keepdims=True)
            X[:, i] = values[(rng.random(len(X))[:, None] >= below[labels]).sum(axis=1)]
        return X, labels

    def partial_statistics(self, X: Any, y: Any = None, sample_weight: Any = None) -> Statistics:
        """Return the sums over the rows of `X`, of the values that `begin` saw.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_items)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        statistics : Statistics
            Sums over these rows.
        """
        try:
            return super().partial_statistics(X, y, sample_weight)
        except UnknownCategoryError as error:
            raise UnknownCategoryError(
                f"{error} Sums over rows are of these alone: begin with rows that hold every value "
                "of each item, or give probabilities_init for categories 0, 1, ..."
            ) from None

    @staticmethod
    def representatives(X: Any) -> np.ndarray:
        """Return rows of `X` that hold every value of each item, by their indices.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        rows : (n_representatives,) intp
            What `begin` must see.
        """
        table = coded_table(X, True)
        if table is None:
            columns = real_array(X, "X", missing=True).astype(np.float64).T
        else:
            columns = [column.codes for column in table.columns]
        return np.unique(np.concatenate([np.unique(x, return_index=True)[1] for x in columns]))

    def probabilities_table(self, errors: StandardErrors | None = None) -> ProbabilityTable:
        """Return the probabilities of all categories as one table.

        Parameters
        ----------
        errors : StandardErrors, optional
            What `standard_errors` returned.

        Returns
        -------
        table : ProbabilityTable
            Columns item, category, component, probability and error.
        """
        self._check_fitted()
        given = getattr(errors, "probabilities", None)
        if errors is not None and (
            given is None or list(map(np.shape, given)) != list(map(np.shape, self.probabilities_))
        ):
            raise ValueError(
                f"{type(self).__name__}: errors must be what standard_errors of this mixture "
                f"returned, not {type(errors).__name__} of other shapes."
            )
        given = [np.full(p.shape, np.nan) for p in self.probabilities_] if given is None else given
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        k, columns = len(self.weights_), []
        items = zip(names, self.categories_, self.probabilities_, given, strict=True)
        for name, values, p, error in items:
            size = len(values)
            columns.append(
                (
                    np.full(k * size, name, dtype=np.asarray(names).dtype),
                    np.repeat(values.astype(object), k),
                    np.tile(np.arange(k), size),
                    p.T.ravel(),
                    error.T.ravel(),
                )
            )
        return ProbabilityTable(*map(np.concatenate, zip(*columns, strict=True)))

    # ---- what Mixture asks for

    def _settings(self):
        settings = super()._settings()
        if self.unknown is not None:
            as_choice(self.unknown, "unknown", get_args(Unknown), owner=type(self).__name__)
        return settings

    def _check_X(self, X, **options):
        checked = super()._check_X(X, **options)
        if isinstance(checked, np.ndarray):
            require_exact(checked, X, range(checked.shape[1]))
        return checked

    def _as_samples(self, X, **options):
        if isinstance(X, (list, tuple)):
            array = plain_array(X, "X")
            X = array if array.dtype.kind in "biuf" else X  # lists are converted once
        if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
            return super()._as_samples(X, **options)
        table = coded_table(X, self.missing == "ignore")
        return super()._as_samples(X, **options) if table is None else table

    def _as_first(self, X, like):
        X = super()._as_first(X, like)
        if isinstance(X, CodedTable):
            raise TypeError(
                f"{type(self).__name__}: the first blocks X of partial_fit must be numbers: call "
                "fit or begin before blocks of strings or other categories."
            )
        return X

    def _check_loaded(self):
        super()._check_loaded()
        if not all(map(_are_categories, getattr(self, "categories_", ()))):
            raise ValueError("categories_ must be increasing numbers or different labels.")

    def _components(self, X, weight):
        return self._of_categories(int(self.n_components), self._categories(X))

    def _fitted_components(self):
        return self._of_categories(len(self.weights_), self.categories_)

    def _of_categories(self, n_components, categories):
        owner = type(self).__name__
        return CategoricalComponents(
            n_components, float(self.alpha), categories, owner, self.unknown
        )

    def _categories(self, X):
        """The categories of each item."""
        categories = X.categories() if isinstance(X, CodedTable) else found_categories(X)
        if self.probabilities_init is None:
            for i, values in enumerate(categories):
                if not len(values):
                    raise ValueError(
                        f"{type(self).__name__}: all values of column {i} of X are missing, so "
                        "that its categories are not known: at least one must be given."
                    )
            return categories
        owner, k = type(self).__name__, int(self.n_components)
        tables = _tables(self.probabilities_init, "probabilities_init", k, owner)
        if len(tables) != len(categories):
            raise ValueError(
                f"{owner}: probabilities_init has {len(tables)} arrays, but X has "
                f"{len(categories)} columns: give one for each."
            )
        for i, (table, values) in enumerate(zip(tables, categories, strict=True)):
            size = table.shape[1]
            if len(values) == size:
                continue
            if values.dtype.kind != "f":
                raise ValueError(
                    f"{owner}: probabilities_init[{i}] has {size} categories, but column {i} of X "
                    f"has {len(values)}: {values[:10].tolist()}."
                )
            categories[i] = np.arange(size, dtype=float)
            unknown = np.setdiff1d(values, categories[i])
            if len(unknown):
                raise ValueError(
                    f"{owner}: probabilities_init[{i}] has {size} categories, but column {i} of X "
                    f"holds {unknown[0]:g}, which is none of 0 to {size - 1}."
                )
        return categories

    def _start_values(self, shape):
        if self.probabilities_init is None:
            return self._weights_init(), None
        owner, k = type(self).__name__, int(self.n_components)
        tables = _tables(self.probabilities_init, "probabilities_init", k, owner)
        return self._weights_init(), np.vstack([table.T for table in tables])

    def _may_continue(self, components):
        known, categories = self.categories_, components.labels
        same = len(known) == len(categories) and all(map(np.array_equal, known, categories))
        return same and len(self.weights_) == self.n_components


class CategoricalComponents(DiscreteComponents):
    """Independent items of finitely many values; NaN is a missing answer.

    `labels` has the categories of each item as users know them, `categories` the ascending numbers
    (n_categories,) float64 that stand for them: numbers stand for themselves, others have codes.
    """

    categories: list[Any]
    labels: list[Any]
    n_features: int

    def __init__(
        self,
        n_components: int,
        alpha: float,
        labels: list[np.ndarray],
        owner: str,
        unknown: Unknown | None,
    ) -> None:
        super().__init__(n_components, alpha, owner)
        self.labels, self.n_features, self.unknown = labels, len(labels), unknown
        self.categories, self._words = labels, not _all_numbers(labels)
        if self._words:
            self.categories = [
                values if values.dtype.kind == "f" else np.arange(len(values), dtype=float)
                for values in labels
            ]
        self._sizes = list(map(len, labels))

    def _numbers(self, X):
        """Return the numbers that stand for the answers, (n, n_items), NaN for what is missing."""
        if self._words and isinstance(X, np.ndarray):
            X = table_of_numbers(X)
        if isinstance(X, CodedTable):
            X = self._coded(X)
        if self.unknown == "missing":
            unknown = _unknown(X, self.categories)
            X = np.where(unknown, np.nan, X) if unknown.any() else X
        return X

    def _coded(self, table):
        X = np.empty(table.shape)
        for j, values in enumerate(self.labels):
            codes, own, _ = table.columns[j]
            if values.dtype.kind == "f" and own.dtype.kind == "f":
                X[:, j] = np.append(own, np.nan)[codes]  # the code of what is missing is -1
                continue
            places = table.places(j, values)
            unseen = np.flatnonzero(places == UNSEEN)
            if len(unseen) and self.unknown != "missing":
                raise ValueError(
                    f"{self.owner}: {table.labels[j]} holds {own[codes[unseen[0]]].tolist()!r}, "
                    f"which is none of its categories, {_first(values)}: "
                    'unknown="missing" takes new categories as missing.'
                )
            X[:, j] = np.where(places >= 0, places, np.nan)
        return X

    @cached_property
    def n_outcomes(self) -> np.ndarray:
        return np.array(self._sizes, dtype=float)[:, None]

    def rows(self, X: Any, weight: Any) -> Rows:
        return self._rows(self._numbers(X), weight)

    def _rows(self, X, weight):
        width = row_bytes(self.n_components)
        patterns = Patterns(self._sizes, np.isnan(X).any(axis=0), len(X), width)
        return self._encoded(X, weight, patterns)

    def _encoded(self, X, weight, patterns):
        columns = patterns.encoded(X, self.categories)
        if columns is None:
            raise self._unknown_category(X, _unknown(X, self.categories))
        sparse = SparseRows(len(X), patterns.n_patterns, columns, None, None, weight)
        return Rows(X, weight, sparse, patterns=patterns)

    def _unknown_category(self, X, unknown):
        column, row = np.argwhere(unknown.T)[0]
        return UnknownCategoryError(
            f"{self.owner}: column {column} of X holds {X[row, column]:g}, which is "
            f"none of its categories, {_first(self.categories[column])}."
        )

    def posterior(
        self, X: np.ndarray, parameters: Parameters, tables: dict[Any, Any], with_proba: bool
    ) -> tuple[Any, ...]:
        X = self._numbers(X)
        try:
            return super().posterior(X, parameters, tables, with_proba)
        except UnknownCategoryError as error:
            if self.unknown == "error":
                raise
            likelihood = "impossible" if self.alpha == 0 else f"as unlikely as {_UNSEEN:g}"
            warn("UserWarning", f"{error} Such values are {likelihood} under every class.")
        unknown = _unknown(X, self.categories)
        known = np.where(unknown, np.nan, X)
        density, *rest = super().posterior(known, parameters, tables, with_proba)
        penalty = -np.inf if self.alpha == 0 else np.log(_UNSEEN)
        return np.where(unknown, penalty, 0.0).sum(axis=1) + density, *rest

    def fill(self, loop: Any, parameters: Parameters, rows: Rows) -> np.ndarray:
        logs, never = possible(parameters.table)
        table = rows.patterns.table(logs)
        if never.any():
            table[rows.patterns.table(never) > 0] = -np.inf
        loop.fill(table, logarithms=False)
        return logarithm(parameters.weights)

    def possible(self, parameters: Any, rows: Any) -> Any:
        logs, never = map(rows.patterns.table, possible(parameters.table))
        nothing = np.zeros(len(parameters.weights))
        return (nothing, logs), (nothing, never)

    def gathered(
        self,
        rows: Rows,
        sums: np.ndarray,
        mass: np.ndarray,
        log_likelihood: float,
        before: np.ndarray | None,
    ) -> Statistics:
        counts = rows.patterns.counts(sums)
        items = np.add.reduceat(counts, rows.patterns.edges[:-1])
        return Statistics(log_likelihood, mass, counts, items)

    def outcome_counts(self, X: Any) -> np.ndarray:
        X = self._numbers(X)
        unknown = _unknown(X, self.categories)
        if unknown.any():
            raise self._unknown_category(X, unknown)
        pairs = zip(X.T, self.categories, strict=True)
        return np.hstack([x[:, None] == values for x, values in pairs]).astype(np.float64)

    def parameter_names(self) -> Callable[[int, int], str]:
        items = np.repeat(np.arange(self.n_features), self._sizes)
        place = np.concatenate([np.arange(size) for size in self._sizes])
        return lambda j, column: f"probabilities_[{items[column]}][{j}, {place[column]}]"

    def by_attribute(self, values: np.ndarray) -> dict[str, Any]:
        parts = np.split(values, np.cumsum(self._sizes)[:-1])
        return {"probabilities": [np.ascontiguousarray(part.T) for part in parts]}

    def by_column(self, values: np.ndarray) -> np.ndarray:
        return np.repeat(values, self._sizes, axis=0)

    def parameters(self, mixture: CategoricalMixture) -> Parameters:
        table = np.vstack([p.T for p in mixture.probabilities_])
        return Parameters(mixture.weights_, table, mixture.mean_totals_)

    def attributes(self, parameters: Parameters) -> dict[Any, Any]:
        return {
            "weights_": parameters.weights,
            "probabilities_": self.by_attribute(parameters.table)["probabilities"],
            "categories_": self.labels,
            "mean_totals_": parameters.totals,
        }

    def arrays(self, mixture: CategoricalMixture) -> list[Any]:
        return [mixture.weights_, *mixture.probabilities_, *mixture.categories_]

    def later_rows(
        self, X: np.ndarray, parameters: Parameters, tables: dict[Any, Any]
    ) -> tuple[Any, ...]:
        if len(X) >= _FEW_ROWS:
            return self._rows(X, None), None
        if "patterns" not in tables:  # of single items, each of which may be unanswered
            n_items = len(self._sizes)
            tables["patterns"] = Patterns(self._sizes, [True] * n_items, 1, 0)
        return self._encoded(X, None, tables["patterns"]), "few rows"

    def n_parameters(self) -> Any:
        k = self.n_components
        return k - 1 + k * sum(size - 1 for size in self._sizes)


def _all_numbers(categories):
    return set(map(_KIND, categories)) == {"f"}


def _as_categories(values):
    """Return the categories that the user gave of an item: float64 for numbers."""
    array = np.array(values)
    return array.astype(np.float64) if array.dtype.kind in "iuf" else array


def _are_categories(values):
    """Return True for ascending numbers and for different labels."""
    if values.dtype.kind == "f":
        return bool((np.diff(values) > 0).all())
    return len(set(values.tolist())) == len(values)


def _first(values):
    return f"{values[:10].tolist()}{'...' if len(values) > 10 else ''}"


class UnknownCategoryError(ValueError):
    """Raised for a value that is none of the categories of its item."""


def _unknown(X, categories):
    return np.column_stack(
        [~np.isnan(x) & ~np.isin(x, values) for x, values in zip(X.T, categories, strict=True)]
    )


def _tables(value, name, k, owner):
    """A list of (k, categories) arrays whose rows sum to 1."""
    if not isinstance(value, (list, tuple)) or not value:
        raise TypeError(
            f"{owner}: {name} is of type {type(value).__name__}, but must be a list of arrays, one "
            "for each item."
        )
    tables = [
        start_values.distributions(table, f"{name}[{i}]", None, owner)
        for i, table in enumerate(value)
    ]
    k = len(tables[0]) if k is None else k
    for i, table in enumerate(tables):
        if len(table) != k:
            raise ValueError(
                f"{owner}: {name}[{i}] has shape {table.shape}, but must have {k} rows, one for "
                "each component."
            )
    return tables
