"""Replacements of classes of `sklearn.naive_bayes`."""

from typing import Any

import numpy as np
import sklearn.naive_bayes
from scipy import sparse
from sklearn.utils import column_or_1d

import mlcore.naive_bayes
from mlcore.acceleration.replacement import Fallback, Replacement, by_mlcore, forgets_model
from mlcore.acceleration.rules import FINITE, NONE, NOT_NEGATIVE, TRUTH, Rule, one_of

_LEAST = 1e-10  # an alpha that scikit-learn takes as it is, whatever force_alpha
_ALPHA = Rule(
    "a number, at least 1e-10", lambda value: NOT_NEGATIVE.allows(value) and value >= _LEAST
)
_COUNTS = {
    "alpha": _ALPHA,
    "force_alpha": one_of(True, False, passed=False),
    "fit_prior": TRUTH,
    "class_prior": NONE,
}
_SHARE = 2.0**-20  # of a variance: adds no more than is taken off again


class _Counts(Replacement):
    """Part of the classes that count."""

    sparse_rows = True
    note = "the same counts and logarithms"

    def _fitted(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, dict[str, Any]]:
        X, labels = self._validated(X), _labels(y)
        kind = getattr(mlcore.naive_bayes, type(self).__name__)
        model = kind(**self._passed()).fit(X, labels, sample_weight=sample_weight)
        if not (model.class_count_ > 0).all():
            raise Fallback("a class has no samples of positive weight")
        names = ("class_count_", "feature_count_", "feature_log_prob_", "class_log_prior_")
        attributes = {name: np.array(getattr(model, name)) for name in names}
        return model, attributes | {"classes_": model.classes_}

    def _evidence(self) -> str:
        sums = np.exp(self.mlcore_model_.class_log_prior_).sum()
        return f"exact counts of {len(self.classes_)} classes, priors sum to 1{sums - 1:+.1e}"


class MultinomialNB(_Counts, sklearn.naive_bayes.MultinomialNB):
    """scikit-learn's MultinomialNB, fitted by `mlcore.naive_bayes.MultinomialNB`."""

    original = sklearn.naive_bayes.MultinomialNB
    peer = "mlcore.naive_bayes.MultinomialNB"
    rules = _COUNTS
    fit = by_mlcore(sklearn.naive_bayes.MultinomialNB.fit)
    partial_fit = forgets_model(sklearn.naive_bayes.MultinomialNB.partial_fit)


class BernoulliNB(_Counts, sklearn.naive_bayes.BernoulliNB):
    """scikit-learn's BernoulliNB, fitted by `mlcore.naive_bayes.BernoulliNB`."""

    original = sklearn.naive_bayes.BernoulliNB
    peer = "mlcore.naive_bayes.BernoulliNB"
    rules = {**_COUNTS, "binarize": FINITE}
    fit = by_mlcore(sklearn.naive_bayes.BernoulliNB.fit)
    partial_fit = forgets_model(sklearn.naive_bayes.BernoulliNB.partial_fit)


class GaussianNB(Replacement, sklearn.naive_bayes.GaussianNB):
    """scikit-learn's GaussianNB, its means and variances by `mlcore.naive_bayes.GaussianNB`."""

    original = sklearn.naive_bayes.GaussianNB
    peer = "mlcore.naive_bayes.GaussianNB"
    rules = {
        "priors": NONE,
        "var_smoothing": NOT_NEGATIVE._replace(passed=False),
    }
    note = "`var_smoothing` is scikit-learn's: a share of the largest variance"
    fit = by_mlcore(sklearn.naive_bayes.GaussianNB.fit)
    partial_fit = forgets_model(sklearn.naive_bayes.GaussianNB.partial_fit)

    def _fitted(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, dict[str, Any]]:
        X, labels = self._validated(X), _labels(y)
        model = mlcore.naive_bayes.GaussianNB(var_smoothing=_SHARE)
        model.fit(X, labels, sample_weight=sample_weight)
        if not (model.class_count_ > 0).all():
            raise Fallback("a class has no samples of positive weight")
        # mlcore adds a share of each feature's variance, scikit-learn one of the largest.
        added = np.asarray(model.epsilon_)
        largest = added.max() / _SHARE if sample_weight is None else X.var(axis=0).max()
        epsilon = self.var_smoothing * largest
        return model, {
            "classes_": model.classes_,
            "class_count_": model.class_count_.copy(),
            "class_prior_": np.array(model.class_prior_),
            "theta_": model.theta_.copy(),
            "var_": np.maximum(model.var_ - added, 0) + epsilon,
            "epsilon_": epsilon,
        }

    def _evidence(self) -> str:
        return f"exact sums of {len(self.classes_)} classes"


def _labels(y: Any) -> Any:
    if y is None or sparse.issparse(y):
        raise Fallback("y is None or sparse")
    return column_or_1d(y, warn=True)
