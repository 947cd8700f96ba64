"""Naive Bayes for features that are 0 or 1."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_real
from mlcore.checks.missing import Missing
from mlcore.checks.stored import stored
from mlcore.estimator.derived import cached
from mlcore.naive_bayes.class_counts import ClassCounts, class_counts
from mlcore.naive_bayes.naive_bayes import Likelihood, NaiveBayes
from mlcore.naive_bayes.smoothed import Smoothed, pseudo_counts, smoothed
from mlcore.numerics.scores.sparse_scores import EntryScores
from mlcore.runtime.threads import single_threaded_blas


@stored(version=1)
class ZeroOneProbabilities(NamedTuple):
    """Probabilities of 1 and of 0, of each feature in each class."""

    one: Smoothed
    zero: Smoothed
    _stored = {"one": Smoothed, "zero": Smoothed}


def _older_probabilities(*pairs):
    return ZeroOneProbabilities(*(Smoothed(*pair) for pair in pairs))


class BernoulliNB(NaiveBayes):
    r"""Classify rows of zeros and ones, independent given the class.

    .. math:: P(x_j = 1 | c) = \frac{n_{cj} + \alpha}{n_c + 2 \alpha},

    with the weight n of the rows of class c, and of those where feature j is 1. A feature that is 0
    speaks too, by the probability of that.

    Parameters
    ----------
    alpha : float or (n_features,) array-like, default=1.0
        Pseudo-count of either value, of all features or of each, at least 0. With 0, a value that
        a class has not seen is impossible there; probabilities of the classes are then the limit
        for small alpha: of the classes with the fewest impossible values.
    binarize : float or None, default=0.0
        Larger values count as 1, others as 0; for sparse X at least 0. None takes zeros and ones
        only.
    missing : {"error", "ignore"}, default="error"
        Whether NaN is refused, or a missing value, which is in no sum and no score.
    class_prior, fit_prior : as in `MultinomialNB`

    Attributes
    ----------
    classes_ : (n_classes,) sorted labels
    class_count_ : (n_classes,) float64
        Weight of the rows.
    class_log_prior_ : (n_classes,) float64
        -inf for a class without rows.
    feature_count_ : (n_classes, n_features) float64
        Weight of the rows where a feature is 1: exact for integer weights.
    feature_log_prob_ : (n_classes, n_features) float64
        Logarithms of the probability of 1.
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
    >>> from mlcore.naive_bayes import BernoulliNB
    >>> X = [[1, 1, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0], [1, 0, 0, 1, 0, 0], [1, 0, 0, 0, 1, 1]]
    >>> model = BernoulliNB().fit(X, ["China", "China", "China", "other"])
    >>> model.predict_proba([[1, 0, 0, 0, 1, 1]]).round(4)
    array([[0.1911, 0.8089]])
    """

    _tags = {"input_tags.sparse": True, "classifier_tags.poor_score": True}

    _sums_check = True
    feature_count_: np.ndarray
    feature_log_prob_: np.ndarray
    _sums_: ClassCounts
    _solution_: ZeroOneProbabilities
    _stored = {
        "feature_count_": "float64 c f",
        "feature_log_prob_": "float64 c f",
        "_sums_": ClassCounts,
        "_solution_": ZeroOneProbabilities,
    }
    _older = {
        "_sums_": (ClassCounts._make, "statistics"),
        "_solution_": (_older_probabilities, "one", "zero"),
    }

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        binarize: float | None = 0.0,
        missing: Missing = "error",
        class_prior: Any = None,
        fit_prior: bool = True,
    ) -> None:
        self.alpha = alpha
        self.binarize = binarize
        self.missing = missing
        self.class_prior = class_prior
        self.fit_prior = fit_prior

    def _settings(self):
        settings, owner = super()._settings(), type(self).__name__
        alpha = pseudo_counts(self.alpha, owner)
        if self.binarize is not None:
            as_real(self.binarize, "binarize", owner=owner)
        return settings._replace(alpha=alpha)

    def _check_X(self, X, **how):
        checked = super()._check_X(X, **how)
        owner, sparse = type(self).__name__, sp.issparse(checked)
        pseudo_counts(self.alpha, owner, checked.shape[1])
        if sparse and self.binarize is not None and self.binarize < 0:
            raise ValueError(
                f"{owner}: binarize={float(self.binarize):g} makes ones of the zeros that sparse X "
                "leaves out: it must be >= 0, or X dense."
            )
        if self.binarize is None and how.get("check_finite", True):
            values = checked.data if sparse else checked
            other = (values != 0) & (values != 1) & ~np.isnan(values)
            if other.any():
                raise ValueError(
                    f"{owner}: X holds {values[other][0]:g}, but with binarize=None all values are "
                    "0 or 1."
                )
        return checked

    def _sums(self, X, classes, codes, weights, checked):
        c = len(classes)
        count = np.bincount(codes, weights, c).astype(np.float64)
        if self.missing == "ignore":
            ones, absent = self._ones_and_missing(X)
            sums = class_counts(ones, codes, weights, c, "sum")
            known = count[:, None] - class_counts(absent, codes, weights, c, "sum")
            return ClassCounts(classes, count, sums, known)
        sums = class_counts(X, codes, weights, c, *self._counted(), checked=checked)
        if sums is None:
            return None
        return ClassCounts(classes, count, sums, np.broadcast_to(count[:, None], sums.shape))

    def _ones_and_missing(self, X):
        """Return two matrices of zeros and ones: values above the threshold, and missing ones."""
        _, threshold = self._counted()
        values = X.data if sp.issparse(X) else X
        marks = (values > threshold).astype(np.float64), np.isnan(values).astype(np.float64)
        if not sp.issparse(X):
            return marks
        return tuple(sp.csr_array((mark, X.indices, X.indptr), shape=X.shape) for mark in marks)

    def _solve(self, statistics, settings):
        sums, known, alpha = statistics.sums, statistics.known, settings.alpha
        if self.missing == "error":  # then all features are known equally often
            known = known[:, :1]
        one, zero = smoothed(sums, known, 2, alpha), smoothed(known - sums, known, 2, alpha)
        return {
            "feature_count_": sums,
            "feature_log_prob_": one.logs,
            "_solution_": ZeroOneProbabilities(one, zero),
        }

    def _counted(self):
        """Return what of an entry counts, and the threshold."""
        return ("binary", 0.5) if self.binarize is None else ("above", float(self.binarize))

    def _entry_scores(self):
        (_, one, never), (_, zero, always) = self._solution_
        if self.missing == "ignore" or never is not None or always is not None:
            return None
        kind, prior = self._counted(), self.class_log_prior_

        def make():
            return EntryScores.of(one - zero, zero.sum(axis=1) + prior, *kind)

        return cached(self, (one, zero, prior), kind, make)

    def _log_likelihood(self, X):
        one, zero = self._solution_
        ones, absent = self._ones_and_missing(X)
        absent = absent if self.missing == "ignore" else None
        never = None
        with single_threaded_blas():
            scores = _product(ones, absent, one.finite, zero.finite)
            if one.never is not None or zero.never is not None:
                empty = np.zeros_like(one.logs)
                counts = (empty if p.never is None else p.never for p in (one, zero))
                never = _product(ones, absent, *counts)
        return Likelihood(scores, never)


def _product(ones, absent, one, zero):
    """Return sums over the features of a row: `one` (c, d) where it is 1, `zero` where it is 0."""
    sums = ones @ (one - zero).T + zero.sum(axis=1)
    return sums if absent is None else sums - absent @ zero.T
