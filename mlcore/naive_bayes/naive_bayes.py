"""The part that all naive Bayes classifiers share: priors, posteriors, fits by sums of rows."""

from functools import partial
from typing import Any, ClassVar, NamedTuple, Self, get_args

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_bool, as_choice, as_labels, as_weights, declared_classes
from mlcore.checks.missing import Missing, with_missing
from mlcore.checks.probabilities import as_priors
from mlcore.checks.sparse import is_plain_csr
from mlcore.estimator.model import Classifier, Model
from mlcore.naive_bayes.class_counts import (
    ClassCounts,
    all_classes,
    merged_class_counts,
    with_classes,
)
from mlcore.numerics.scores.log_softmax import log_softmax, softmax
from mlcore.numerics.scores.sparse_scores import EntryScores, sparse_scores
from mlcore.row_sums import OnePass, require_declared
from mlcore.row_sums import partial_fit as partial_fit_of_classes


class Likelihood(NamedTuple):
    """Log-likelihoods of samples in each class, (n, c).

    `impossible` counts probabilities of 0, of which `scores` has the limit for small alpha.
    """

    scores: np.ndarray
    impossible: np.ndarray | None


class Settings(NamedTuple):
    """Checked parameters; those that a model has not are None.

    `prior` (c,) are given by the user; `reserves_unseen`: a category for what the fit does not see.
    """

    prior: np.ndarray | None
    fit_prior: bool
    alpha: Any = None
    var_smoothing: float | None = None
    reserves_unseen: bool | None = None


class NaiveBayes(OnePass, Classifier, Model):
    """Base of classifiers whose features are independent given the class: they are `RowSums`."""

    class_prior: Any
    fit_prior: bool

    class_count_: np.ndarray
    class_log_prior_: np.ndarray

    _Statistics = ClassCounts
    _result = "classes_"
    partial_fit = partial_fit_of_classes  # a method, not one more class above
    _sums_check: ClassVar[bool] = False  # the loop that adds CSR rows checks them too
    _stored = {"class_count_": "float64 c", "class_log_prior_": "float64 c"}

    _instead = {
        "force_alpha": "drop it: alpha is taken as it is, 0 too",
    }

    # ---- what a model asks for

    def _settings(self) -> Settings:
        """Return the checked parameters."""
        owner = type(self).__name__
        fit_prior = as_bool(self.fit_prior, "fit_prior", owner=owner)
        if hasattr(self, "missing"):
            as_choice(self.missing, "missing", get_args(Missing), owner=owner)
        if self.class_prior is None:
            return Settings(None, fit_prior)
        prior = as_priors(self.class_prior, "class_prior", owner)
        if not abs(prior.sum() - 1) <= 1e-8:
            raise ValueError(f"{owner}: the sum of class_prior should be 1, not {prior.sum():g}.")
        return Settings(prior, fit_prior)

    def _begun(self, X) -> dict[str, Any]:
        """Return the attributes that the sums of rows refer to, from first rows."""
        return {}

    def _sums(self, X, classes, codes, weights, checked) -> Any:
        """Return statistics of rows, of which `weights` are None or positive.

        Rows that are not `checked` need it if the result is None.
        """
        raise NotImplementedError

    def _solve(self, statistics, settings) -> dict[str, Any]:
        """Return the attributes that follow from the statistics."""
        raise NotImplementedError

    def _log_likelihood(self, X) -> Likelihood:
        """Return the log-likelihood of checked rows in each class."""
        raise NotImplementedError

    def _entry_scores(self) -> EntryScores | None:
        """Return log joint probabilities as sums over entries of rows, None if they are not."""
        return None

    def _with_classes(self, statistics, classes):
        """Return statistics with rows of zeros for the classes that they lack."""
        return with_classes(statistics, classes)

    # ---- fit

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Estimate the probabilities of all classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 stands for two copies of a sample, 0 for its absence. One class that has
            weight is enough.

        Returns
        -------
        self
            This model.

        Raises
        ------
        TypeError, ValueError
            For parameters or data out of range; the model stays as it was.
        """
        settings, model = self._settings(), self._anew()
        statistics = model._statistics_of(X, y, sample_weight, begin=True)
        state = model._begun_attributes() | model._solved(statistics, settings)
        self._set_fitted(X, **state)
        return self

    def begin(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Set the number of features, and what sums refer to, from first rows.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
            This model.
        """
        self._settings()
        model = self._anew()
        begun = model._begun(model._check_X(X, reset=True))
        self._set_fitted(X, **begun)
        return self

    def partial_statistics(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Return the sums over these rows, which need not have all classes.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        statistics : NamedTuple
            Sums over these rows.
        """
        self._settings()
        self._check_fitted()
        return self._statistics_of(X, y, sample_weight, begin=False)

    def merge(self, a: Any, b: Any) -> Any:
        """Return the sums over the rows of both; classes that only one of them has are kept.

        Parameters
        ----------
        a, b : NamedTuple
            Sums over different rows.

        Returns
        -------
        statistics : NamedTuple
            Their sums.
        """
        return merged_class_counts(a, b)

    def update(self, statistics: Any) -> Self:
        """Estimate the probabilities from the sums over all rows: the whole fit.

        Parameters
        ----------
        statistics : NamedTuple
            Sums over all rows.

        Returns
        -------
        self
            This model.
        """
        settings = self._settings()
        self._check_fitted()
        self._update_state(self._solved(statistics, settings))
        return self

    def _first_statistics(self, X, y, sample_weight):
        self._settings()
        sums = self._statistics_of(X, y, sample_weight, begin=True)
        self._set_fitted(X, **self._begun_attributes())
        return sums

    def _declared(self, statistics, classes):
        """Return the sums with a class of no rows for each declared label without any."""
        owner = type(self).__name__
        declared = declared_classes(classes, vars(self).get("classes_"), owner=owner)
        every = all_classes(declared, statistics.classes)
        require_declared(every, declared, owner)
        return self._with_classes(statistics, every)

    def _anew(self):
        return type(self)(**self.get_params(deep=False))

    def _begun_attributes(self):
        begun = {name: value for name, value in vars(self).items() if name.endswith("_")}
        for name in ("n_features_in_", "feature_names_in_"):
            begun.pop(name, None)
        return begun

    def _solved(self, statistics, settings):
        counts = statistics.weights
        return {
            "classes_": statistics.classes,
            "class_count_": counts,
            "class_log_prior_": self._log_prior(counts, settings),
            "_sums_": statistics,
        } | self._solve(statistics, settings)

    def _statistics_of(self, X, y, sample_weight, begin):
        samples = self._check_X(X, reset=begin, check_finite=False)
        n, owner = samples.shape[0], type(self).__name__
        classes, codes = as_labels(y, n, owner=owner)
        weights = None if sample_weight is None else as_weights(sample_weight, n)
        if weights is None or weights.all():
            statistics = self._sums(samples, classes, codes, weights, checked=False)
            if statistics is not None:
                return statistics
        samples = self._check_X(X, reset=begin)
        if weights is not None and not weights.all():
            rows = np.flatnonzero(weights)
            present, codes = np.unique(codes[rows], return_inverse=True)
            classes, samples, weights = classes[present], samples[rows], weights[rows]
        if begin:
            self._update_state(self._begun(samples))
        return self._sums(samples, classes, codes, weights, checked=True)

    # ---- priors

    def _log_prior(self, counts, settings):
        n_classes, present = len(counts), counts > 0
        if settings.prior is not None:
            prior = settings.prior
            if len(prior) != n_classes:
                raise ValueError(
                    f"{type(self).__name__}: Number of priors must match number of classes: "
                    f"class_prior has {len(prior)}, the data have {n_classes}."
                )
        elif settings.fit_prior:
            prior = counts / counts.max()
            prior = prior / prior.sum()
        else:
            prior = np.full(n_classes, 1 / n_classes)
        with np.errstate(divide="ignore"):
            return np.where(present, np.log(prior), -np.inf)

    # ---- later calls

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of the largest posterior probability.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        labels : (n_samples,)
            One of `classes_` for each sample.
        """
        best = self._posterior_scores(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return posterior probabilities of the classes.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        probabilities : (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        probabilities = self._sparse_scores(X, softmax=True)
        return softmax(self._posterior_scores(X)) if probabilities is None else probabilities

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return logarithms of the posterior probabilities.

        Where every class is impossible they are the limit for small `alpha`: of the classes with
        the fewest impossible features.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        log_probabilities : (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        return log_softmax(self._posterior_scores(X))

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """Return log joint probabilities of sample and class.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        log_probabilities : (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        direct = self._sparse_scores(X)
        if direct is not None:
            return direct
        scores, impossible = self._likelihood_of(X)
        if impossible is not None:
            scores[impossible > 0] = -np.inf
        scores += self.class_log_prior_
        return scores

    def _posterior_scores(self, X):
        """Return log posteriors up to a term of each row, (n, c)."""
        direct = self._sparse_scores(X)
        if direct is not None:
            return direct
        scores, impossible = self._likelihood_of(X)
        absent = np.isneginf(self.class_log_prior_)
        if impossible is not None:
            impossible = np.where(absent, np.inf, impossible)
            # The sums of fractional counts differ by rounding.
            fewest = impossible.min(axis=1, keepdims=True) * (1 + 1e-9)
            scores[impossible > fewest] = -np.inf
        return scores + self.class_log_prior_

    def _sparse_scores(self, X, softmax=False):
        """Return log joint probabilities of sparse rows and classes, or their softmax.

        None for dense rows, and for models of whose entries they are no sums.
        """
        if not sp.issparse(X):
            return None
        self._check_ready()
        scores = self._entry_scores()
        if scores is None:
            return None
        if is_plain_csr(X, integers=True):
            samples = self._check_X(X, reset=False, check_finite=False)
            found = sparse_scores(samples, scores, softmax=softmax, checked=False)
            if found is not None:
                return found
        return sparse_scores(self._check_X(X, reset=False), scores, softmax=softmax)

    def _likelihood_of(self, X):
        self._check_ready()
        return self._log_likelihood(self._check_X(X, reset=False))

    def _as_samples(self, X, **how):
        missing = getattr(self, "missing", None)
        unchecked = missing != "ignore" and not how.get("check_finite", True)
        if self._sums_check and unchecked and is_plain_csr(X, integers=True):
            return X
        check = partial(super()._as_samples, **how)
        return check(X) if missing is None else with_missing(X, check, missing)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = getattr(self, "missing", "error") == "ignore"
        return tags
