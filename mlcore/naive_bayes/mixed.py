"""Naive Bayes for columns of several kinds, with one prior."""

from typing import Any, NamedTuple, Self

import numpy as np

from mlcore.checks import column_names
from mlcore.checks.arrays import as_floats, column_label, real_array, require_finite
from mlcore.checks.missing import Missing
from mlcore.naive_bayes.bernoulli import BernoulliNB
from mlcore.naive_bayes.categorical import CategoricalNB, Unseen
from mlcore.naive_bayes.gaussian import GaussianNB
from mlcore.naive_bayes.multinomial import MultinomialNB
from mlcore.naive_bayes.naive_bayes import Likelihood, NaiveBayes
from mlcore.numerics.columns.categories import as_table, require_categories
from mlcore.numerics.columns.column_kinds import column_kinds, require_kinds
from mlcore.row_sums import twin

_KINDS = {
    "gaussian": GaussianNB,
    "bernoulli": BernoulliNB,
    "categorical": CategoricalNB,
    "multinomial": MultinomialNB,
}
_OF_PARTS = ("classes_", "class_count_", "class_log_prior_")


class MixedSums(NamedTuple):
    """Statistics of the parts of a `MixedNB`, in the order of `columns_`."""

    parts: tuple[Any, ...]


class MixedNB(NaiveBayes):
    """Classify rows whose columns are of several kinds, independent given the class.

    The log-likelihoods of the columns of each kind are added to the logarithm of one prior.

    Parameters
    ----------
    columns : dict or None, default=None
        Lists of columns, by number or name, for some of the kinds "gaussian", "bernoulli",
        "categorical" and "multinomial", of the models of these names; each column of X stands in
        one list. None is "gaussian" for all.
    alpha, binarize, unseen, var_smoothing, missing : as in the columns' model
        See `BernoulliNB`, `CategoricalNB`, `GaussianNB`. With missing="ignore", columns of counts
        still refuse NaN.
    class_prior, fit_prior : as in `MultinomialNB`

    Attributes
    ----------
    classes_ : (n_classes,) sorted labels
    class_count_ : (n_classes,) float64
        Weight of the rows.
    class_log_prior_ : (n_classes,) float64
        -inf for a class without rows.
    columns_ : dict of str to (n_columns,) intp
    parts_ : dict of str to model
        The fitted model of the columns of each kind.
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Examples
    --------
    >>> from mlcore.naive_bayes import MixedNB
    >>> X = [[1.7, "red"], [1.9, "red"], [1.8, "blue"], [4.2, "blue"], [4.4, "blue"]]
    >>> model = MixedNB(columns={"gaussian": [0], "categorical": [1]}).fit(X, [0, 0, 0, 1, 1])
    >>> model.predict([[2.0, "blue"], [4.0, "green"]])
    array([0, 1])
    """

    columns_: dict[str, np.ndarray]
    parts_: dict[str, Any]
    _stored = {"columns_": {"...": "int _ < f"}, "parts_": {"...": "model NaiveBayes"}}

    def __init__(
        self,
        *,
        columns: dict[str, Any] | None = None,
        alpha: float = 1.0,
        binarize: float | None = 0.0,
        unseen: Unseen = "ignore",
        var_smoothing: float = 1e-9,
        missing: Missing = "error",
        class_prior: Any = None,
        fit_prior: bool = True,
    ) -> None:
        self.columns = columns
        self.alpha = alpha
        self.binarize = binarize
        self.unseen = unseen
        self.var_smoothing = var_smoothing
        self.missing = missing
        self.class_prior = class_prior
        self.fit_prior = fit_prior

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Estimate the probabilities of all classes, as each part does.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
            This model.
        """
        columns, parts, samples = self._begun_parts(X)
        for kind, part in parts.items():
            part.fit(samples[:, columns[kind]], y, sample_weight)
        self._set_fitted(X, **_attributes(columns, parts))
        return self

    def begin(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Set the number of features, and what sums refer to, from first rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
            This model.
        """
        columns, parts, samples = self._begun_parts(X)
        for kind, part in parts.items():
            part.begin(samples[:, columns[kind]])
        self._set_fitted(X, columns_=columns, parts_=parts)
        return self

    def partial_statistics(self, X: Any, y: Any = None, sample_weight: Any = None) -> MixedSums:
        """Return the sums over these rows, which need not have all classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        statistics : MixedSums
            One entry for each part.
        """
        columns, parts, samples = self._later_parts(X)
        return MixedSums(
            tuple(
                part.partial_statistics(samples[:, columns[kind]], y, sample_weight)
                for kind, part in parts.items()
            )
        )

    def merge(self, a: MixedSums, b: MixedSums) -> MixedSums:
        """Return the sums over the rows of both; classes that only one of them has are kept.

        Parameters
        ----------
        a, b : MixedSums
            Sums over different rows.

        Returns
        -------
        statistics : MixedSums
            Their sums.
        """
        self._check_fitted()
        triples = zip(self.parts_.values(), a.parts, b.parts, strict=True)
        return MixedSums(tuple(part.merge(x, y) for part, x, y in triples))

    def update(self, statistics: MixedSums) -> Self:
        """Estimate the probabilities from the sums over all rows: the whole fit.

        Parameters
        ----------
        statistics : MixedSums
            Sums over all rows.

        Returns
        -------
        self
            This model.
        """
        self._settings()
        self._check_fitted()
        parts = _copies(self.parts_)
        for part, sums in zip(parts.values(), statistics.parts, strict=True):
            part.update(sums)
        self._update_state(_attributes(self.columns_, parts))
        return self

    def _first_statistics(self, X, y, sample_weight):
        columns, parts, samples = self._begun_parts(X)
        sums = tuple(
            part._first_statistics(samples[:, columns[kind]], y, sample_weight)
            for kind, part in parts.items()
        )
        self._set_fitted(X, columns_=columns, parts_=parts)
        return MixedSums(sums)

    def _declared(self, statistics, classes):
        pairs = zip(self.parts_.values(), statistics.parts, strict=True)
        return MixedSums(tuple(part._declared(sums, classes) for part, sums in pairs))

    def _sums_so_far(self):
        if "classes_" not in vars(self):
            return None
        return MixedSums(tuple(part._sums_so_far() for part in self.parts_.values()))

    def _check_loaded(self):
        """Refuse parts of other columns, or of other classes."""
        if "parts_" not in vars(self):
            return
        widths = {kind: len(columns) for kind, columns in self.columns_.items()}
        if {kind: part.n_features_in_ for kind, part in self.parts_.items()} != widths:
            raise ValueError("parts_ have other numbers of columns than columns_.")
        if "classes_" not in vars(self):  # before the first update
            return
        classes = [part.classes_.tolist() for part in self.parts_.values()]
        if any(own != self.classes_.tolist() for own in classes):
            raise ValueError("parts_ have other classes than classes_.")

    def _settings(self):
        settings = super()._settings()
        for kind in _KINDS:
            self._part(kind)._settings()
        require_kinds(self.columns, _KINDS, type(self).__name__)
        return settings

    def _part(self, kind):
        own, make = self.get_params(deep=False), _KINDS[kind]
        return make(**{name: own[name] for name in make().get_params(deep=False)})

    def _begun_parts(self, X):
        self._settings()
        samples = self._check_X(X, reset=True)
        columns = column_kinds(self.columns, samples.shape[1], column_names(X), type(self).__name__)
        self._require_columns(samples, X, columns)
        return columns, {kind: self._part(kind) for kind in columns}, samples

    def _later_parts(self, X):
        self._settings()
        samples = self._check_X(X, reset=False)
        return self.columns_, _copies(self.parts_), samples

    def _check_X(self, X, *, reset, **how):
        samples = super()._check_X(X, reset=reset, **how)
        if not reset:
            self._require_columns(samples, X, self.columns_)
        return samples

    def _require_columns(self, samples, X, columns):
        """Refuse columns that their part would, by their names and places in X."""
        missing = self.missing == "ignore"
        require_categories(samples, X, columns.get("categorical", ()), missing)
        if samples.dtype.kind == "f":
            return
        for kind, places in columns.items():
            for j in () if kind == "categorical" else places.tolist():
                label, owner = column_label(j, X), type(self).__name__
                allowed = missing and kind != "multinomial"
                values = as_floats(real_array(samples[:, j], label, missing=allowed), np.float64)
                filled = np.where(np.isnan(values), 0, values) if allowed else values
                require_finite(filled, label, owner)

    def _as_samples(self, X, **how):
        strings = self.columns is not None and "categorical" in self.columns
        table = as_table(X) if strings else None
        return super()._as_samples(X, **how) if table is None else table

    def _log_likelihood(self, X):
        scores, impossible = 0.0, None
        for kind, part in self.parts_.items():
            own = X[:, self.columns_[kind]]
            # The check of X was that of these two kinds.
            if kind == "categorical":
                names = getattr(self, "feature_names_in_", None)
                labels = [_label(j, names) for j in self.columns_[kind]]
                likelihood = part._log_likelihood(own, labels)
            elif X.dtype.kind == "f" and kind == "gaussian":
                likelihood = part._log_likelihood(own)
            else:
                likelihood = part._likelihood_of(own)
            scores = scores + likelihood.scores
            if likelihood.impossible is not None:
                impossible = likelihood.impossible + (0 if impossible is None else impossible)
        return Likelihood(scores, impossible)


def _label(j, names):
    return f"X[:, {j}]{'' if names is None else f' (column {names[j]!r})'}"


def _copies(parts):
    return {kind: twin(part) for kind, part in parts.items()}


def _attributes(columns, parts):
    first = next(iter(parts.values()))
    own = {name: getattr(first, name) for name in _OF_PARTS}
    return own | {"columns_": columns, "parts_": parts}
