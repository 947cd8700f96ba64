"""Naive Bayes for counts, such as the words of documents."""

from typing import Any

import numpy as np
from scipy import sparse as sp

from mlcore.estimator.derived import cached
from mlcore.naive_bayes.class_counts import ClassCounts, class_counts
from mlcore.naive_bayes.naive_bayes import Likelihood, NaiveBayes
from mlcore.naive_bayes.smoothed import Smoothed, pseudo_counts, smoothed
from mlcore.numerics.scores.sparse_scores import EntryScores
from mlcore.runtime.threads import single_threaded_blas


class MultinomialNB(NaiveBayes):
    r"""Classify rows of counts: each class draws its words independently.

    .. math:: P(w | c) = \frac{n_{cw} + \alpha}{\sum_v n_{cv} + \alpha V},

    where n sums the counts, which may be fractional, over the rows of class c, times their weights.
    A row goes to the class of the largest :math:`\ln \pi_c + \sum_w x_w \ln P(w | c)`; one without
    words to that of the largest prior.

    Parameters
    ----------
    alpha : float or (n_features,) array-like, default=1.0
        Pseudo-count of every word, or of each, in every class, at least 0. With 0, a word that a
        class has not seen is impossible there; probabilities of the classes are then the limit for
        small alpha: of the classes with the fewest impossible words.
    class_prior : (n_classes,) array-like or None, default=None
        Probabilities of the classes, in the order of `classes_`, of sum 1.
    fit_prior : bool, default=True
        Without `class_prior`, take shares of weight for it; otherwise all classes are equally
        probable.

    Attributes
    ----------
    classes_ : (n_classes,) sorted labels
    class_count_ : (n_classes,) float64
        Weight of the rows.
    class_log_prior_ : (n_classes,) float64
        -inf for a class without rows.
    feature_count_ : (n_classes, n_features) float64
        Sums of the counts: exact for integers.
    feature_log_prob_ : (n_classes, n_features) float64
        Logarithms of P(w | c).
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Notes
    -----
    The estimates maximise the likelihood times a Dirichlet density of parameters alpha + 1, in
    closed form. A fit takes one reading of X, of O(non-zeros) time, and is a `RowSums`: blocks of
    rows may be merged, also with classes that other blocks lack.

    References
    ----------
    C. Manning, P. Raghavan, H. Schütze, *Introduction to Information Retrieval*, 2008, chapter 13.

    Examples
    --------
    >>> from mlcore.naive_bayes import MultinomialNB
    >>> X = [[2, 1, 0, 0, 0, 0], [2, 0, 1, 0, 0, 0], [1, 0, 0, 1, 0, 0], [1, 0, 0, 0, 1, 1]]
    >>> model = MultinomialNB().fit(X, ["China", "China", "China", "other"])
    >>> model.predict_proba([[3, 0, 0, 0, 1, 1]]).round(4)
    array([[0.6898, 0.3102]])
    """

    _tags = {
        "input_tags.sparse": True,
        "input_tags.positive_only": True,
        "classifier_tags.poor_score": True,
    }

    _sums_check = True
    feature_count_: np.ndarray
    feature_log_prob_: np.ndarray
    _sums_: ClassCounts
    _solution_: Smoothed
    _stored = {
        "feature_count_": "float64 c f",
        "feature_log_prob_": "float64 c f",
        "_sums_": ClassCounts,
        "_solution_": Smoothed,
    }
    _older = {
        "_sums_": (ClassCounts._make, "statistics"),
        "_solution_": (Smoothed._make, "table"),
    }

    def __init__(
        self, *, alpha: Any = 1.0, class_prior: Any = None, fit_prior: bool = True
    ) -> None:
        self.alpha = alpha
        self.class_prior = class_prior
        self.fit_prior = fit_prior

    def _settings(self):
        settings = super()._settings()
        return settings._replace(alpha=pseudo_counts(self.alpha, type(self).__name__))

    def _check_X(self, X, **how):
        checked = super()._check_X(X, **how)
        pseudo_counts(self.alpha, type(self).__name__, checked.shape[1])
        if how.get("check_finite", True):
            least = (checked.data if sp.issparse(checked) else checked).min(initial=0.0)
            if least < 0:
                raise ValueError(
                    f"Negative values in data passed to {type(self).__name__} (least: {least:g}): "
                    "X holds counts, which must be zero or positive."
                )
        return checked

    def _sums(self, X, classes, codes, weights, checked):
        sums = class_counts(X, codes, weights, len(classes), "sum", checked=checked)
        if sums is None:
            return None
        count = np.bincount(codes, weights, len(classes)).astype(np.float64)
        return ClassCounts(classes, count, sums, np.empty((len(classes), 0)))

    def _solve(self, statistics, settings):
        sums = statistics.sums
        totals = sums.sum(axis=1, keepdims=True)
        d, alpha = sums.shape[1], settings.alpha
        mass = d * alpha if np.ndim(alpha) == 0 else alpha.sum()
        table = smoothed(sums, totals, d, alpha, mass)
        return {
            "feature_count_": sums,
            "feature_log_prob_": table.logs,
            "_solution_": table,
        }

    def _entry_scores(self):
        table, prior = self._solution_, self.class_log_prior_
        if table.never is not None:
            return None
        arrays = table.finite, prior
        return cached(self, arrays, None, lambda: EntryScores.of(*arrays, "count"))

    def _log_likelihood(self, X):
        table = self._solution_
        with single_threaded_blas():
            scores = X @ table.finite.T
            return Likelihood(scores, None if table.never is None else X @ table.never.T)
