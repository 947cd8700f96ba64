"""Naive Bayes for categories: each feature has finitely many values."""

from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from mlcore.checks import as_choice, as_real
from mlcore.checks.missing import Missing
from mlcore.checks.stored import stored
from mlcore.naive_bayes.class_counts import all_classes, rows_of, spread
from mlcore.naive_bayes.naive_bayes import Likelihood, NaiveBayes
from mlcore.naive_bayes.smoothed import smoothed
from mlcore.numerics.columns.categories import (
    MISSING,
    UNSEEN,
    all_categories,
    as_table,
    coded_column,
    codes_in,
    require_categories,
)

Unseen = Literal["ignore", "reserve", "error"]


@stored(version=1)
class CategoryCounts(NamedTuple):
    """Weights of the categories of each feature in each class, of which `classes` (c,) are sorted.

    `categories` (sorted) and `tables` (c, n_categories) have an array for each feature.
    """

    classes: np.ndarray
    weights: np.ndarray
    categories: tuple[Any, ...]
    tables: tuple[Any, ...]
    _stored = {
        "classes": "labels c",
        "weights": "float64 c",
        "categories": ["f", "labels m[]"],
        "tables": ["f", "float64 c m[]"],
    }


@stored(version=1)
class CategoryTable(NamedTuple):
    """Probabilities of a feature's categories, with rows for codes UNSEEN and MISSING at the end.

    `finite` and `never`, (n_categories + 2, c), are those of `Smoothed`.
    """

    finite: np.ndarray
    never: np.ndarray | None
    _stored = {"finite": "float64 m[]+2 c", "never": "none | float64 m[]+2 c"}


def _older_tables(tables):
    return [CategoryTable(*pair) for pair in tables]


class CategoricalNB(NaiveBayes):
    r"""Classify rows of categories, independent given the class.

    .. math:: P(x_j = v | c) = \frac{n_{cjv} + \alpha}{n_{cj} + \alpha K_j},

    with the weight n of the rows of class c where feature j has the value v, and of those where it
    is known; :math:`K_j` is the number of its categories.

    Parameters
    ----------
    alpha : float, default=1.0
        Pseudo-count of every category, at least 0. With 0, a category that a class has not seen is
        impossible there; probabilities of the classes are then the limit for small alpha: of the
        classes with the fewest impossible values.
    unseen : {"ignore", "reserve", "error"}, default="ignore"
        A category that the fit did not see says nothing; or each feature keeps one more category
        for all of them; or it is an error that names it.
    missing : {"error", "ignore"}, default="error"
        Whether NaN, and None among strings, are refused, or a missing value, which is in no sum
        and no score.
    class_prior, fit_prior : as in `MultinomialNB`

    Attributes
    ----------
    classes_ : (n_classes,) sorted labels
    class_count_ : (n_classes,) float64
        Weight of the rows.
    class_log_prior_ : (n_classes,) float64
        -inf for a class without rows.
    categories_ : list of n_features arrays
        Values that the fit has seen, sorted: numbers, strings, times, or others of one type.
        Integers that float64 rounds are refused.
    n_categories_ : (n_features,) intp
    category_count_ : list of n_features arrays (n_classes, n_categories) float64
        Exact for integer weights.
    feature_log_prob_ : list of n_features arrays (n_classes, n_categories) float64
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Notes
    -----
    The estimates maximise the likelihood times a Dirichlet density of parameters alpha + 1, in
    closed form. A fit takes O(n_samples log(n_samples) n_features) time, and is a `RowSums`: blocks
    of rows may be merged, with classes and categories that other blocks lack.

    References
    ----------
    T. Mitchell, *Machine Learning*, 1997, section 6.9.

    Examples
    --------
    >>> from mlcore.naive_bayes import CategoricalNB
    >>> X = [["sunny", "hot"], ["rain", "mild"], ["rain", "cool"], ["sunny", "mild"]]
    >>> model = CategoricalNB().fit(X, ["no", "yes", "yes", "no"])
    >>> model.predict([["rain", "hot"], ["snow", "cool"]])
    array(['yes', 'yes'], dtype='<U3')
    """

    _tags = {"input_tags.categorical": True, "input_tags.string": True}
    _Statistics = CategoryCounts

    categories_: list[Any]
    n_categories_: np.ndarray
    category_count_: list[Any]
    feature_log_prob_: list[Any]
    _sums_: CategoryCounts
    _solution_: list[CategoryTable]  # one for each feature
    _stored = {
        "categories_": ["f", "labels m[]"],
        "n_categories_": "int f",
        "category_count_": ["f", "float64 c m[]"],
        "feature_log_prob_": ["f", "float64 c m[]"],
        "_sums_": CategoryCounts,
        "_solution_": ["f", CategoryTable],
    }
    _older = {
        "_sums_": (CategoryCounts._make, "statistics"),
        "_solution_": (_older_tables, "tables"),
    }

    _instead = {
        "min_categories": 'use unseen="reserve"',
    }

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        unseen: Unseen = "ignore",
        missing: Missing = "error",
        class_prior: Any = None,
        fit_prior: bool = True,
    ) -> None:
        self.alpha = alpha
        self.unseen = unseen
        self.missing = missing
        self.class_prior = class_prior
        self.fit_prior = fit_prior

    def merge(self, a: CategoryCounts, b: CategoryCounts) -> CategoryCounts:
        """Return the counts of the rows of both, with the classes and categories of both.

        Parameters
        ----------
        a, b : CategoryCounts
            Sums over different rows.

        Returns
        -------
        statistics : CategoryCounts
            Their sums.
        """
        if len(a.tables) != len(b.tables):
            raise ValueError(
                f"counts of {len(a.tables)} and {len(b.tables)} features cannot be merged: they "
                "come from different models."
            )
        classes = all_classes(a.classes, b.classes)
        pairs = enumerate(zip(a.categories, b.categories, strict=True))
        categories = tuple(all_categories(x, y, f"X[:, {j}]") for j, (x, y) in pairs)
        one, other = (_widened(counts, classes, categories) for counts in (a, b))
        tables = tuple(x + y for x, y in zip(one.tables, other.tables, strict=True))
        return CategoryCounts(classes, one.weights + other.weights, categories, tables)

    def _check_loaded(self):
        if "n_categories_" not in vars(self):
            return
        if list(map(len, self.categories_)) != self.n_categories_.tolist():
            raise ValueError("n_categories_ are not the lengths of categories_.")

    def _settings(self):
        settings, owner = super()._settings(), type(self).__name__
        alpha = as_real(self.alpha, "alpha", owner=owner, at_least=0)
        unseen = as_choice(self.unseen, "unseen", get_args(Unseen), owner=owner)
        return settings._replace(alpha=float(alpha), reserves_unseen=unseen == "reserve")

    def _check_X(self, X, **how):
        numbers = [c.dtype for c in getattr(self, "categories_", ()) if c.dtype.kind == "f"]
        if numbers:  # 0.1 in one precision is not 0.1 in the other
            how["like"] = max(numbers)
        checked = super()._check_X(X, **how | {"check_finite": True})
        require_categories(checked, X, range(checked.shape[1]), self.missing == "ignore")
        return checked

    def _as_samples(self, X, **how):
        table = as_table(X)
        if table is None:
            return super()._as_samples(X, **how)
        return table

    def _with_classes(self, statistics, classes):
        return _widened(statistics, classes, statistics.categories)

    def _sums(self, X, classes, codes, weights, checked):
        c, missing = len(classes), self.missing == "ignore"
        categories, tables = [], []
        for j, column in enumerate(X.T):
            own, places = coded_column(column, f"X[:, {j}]", missing)
            present = places != MISSING
            cells = codes[present] * len(own) + places[present]
            w = None if weights is None else weights[present]
            table = np.bincount(cells, w, c * len(own)).astype(np.float64)
            categories.append(own)
            tables.append(table.reshape(c, len(own)))
        count = np.bincount(codes, weights, c).astype(np.float64)
        return CategoryCounts(classes, count, tuple(categories), tuple(tables))

    def _solve(self, statistics, settings):
        reserved, alpha = int(settings.reserves_unseen), settings.alpha
        logs, tables = [], []
        for counts in statistics.tables:
            totals = counts.sum(axis=1, keepdims=True)
            padded = np.pad(counts, ((0, 0), (0, reserved)))
            table = smoothed(padded, totals, max(padded.shape[1], 1), alpha)
            logs.append(table.logs[:, : counts.shape[1]])
            # The last two rows are of codes UNSEEN and MISSING, which are negative.
            silent = ((0, 2 - reserved), (0, 0))
            never = None if table.never is None else np.pad(table.never.T, silent)
            tables.append(CategoryTable(np.pad(table.finite.T, silent), never))
        return {
            "categories_": list(statistics.categories),
            "n_categories_": np.array([len(c) for c in statistics.categories], np.intp),
            "category_count_": list(statistics.tables),
            "feature_log_prob_": logs,
            "_solution_": tables,
        }

    def _log_likelihood(self, X, labels=None):
        scores = np.zeros((len(X), len(self.classes_)))
        impossible = np.zeros_like(scores)
        for j, (column, (finite, never)) in enumerate(zip(X.T, self._solution_, strict=True)):
            codes = codes_in(column, self.categories_[j], self.missing == "ignore")
            if self.unseen == "error" and (codes == UNSEEN).any():
                value = column[codes == UNSEEN].tolist()[0]
                names = getattr(self, "feature_names_in_", None)
                own = f"X[:, {j}]{'' if names is None else f' (column {names[j]!r})'}"
                raise ValueError(
                    f"{type(self).__name__}: {own if labels is None else labels[j]} has the "
                    f"category {value!r}, which the fit did not see: "
                    'unseen="ignore" and "reserve" allow it.'
                )
            scores += finite[codes]
            if never is not None:
                impossible += never[codes]
        return Likelihood(scores, impossible if impossible.any() else None)


def _widened(counts, classes, categories):
    """Return counts with zeros for the classes and categories that they lack."""
    rows, tables = rows_of(counts.classes, classes), []
    for own, table, whole in zip(counts.categories, counts.tables, categories, strict=True):
        places = rows_of(own, whole) if len(own) else np.empty(0, np.intp)
        tables.append(spread(spread(table, rows, len(classes)).T, places, len(whole)).T)
    weights = spread(counts.weights, rows, len(classes))
    return CategoryCounts(classes, weights, categories, tuple(tables))
