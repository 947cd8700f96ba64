"""Linear classifiers by probabilities: predictions, and the evidence of a fit."""

from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy import sparse as sp
from scipy.special import expit, log_expit

from mlcore.checks import as_class_weights
from mlcore.checks.stored import stored
from mlcore.checks.targets import as_targets
from mlcore.estimator import progress
from mlcore.estimator.model import Classifier, Model, warn
from mlcore.linear_model.logistic.evidence import LogisticVerification, evidence
from mlcore.linear_model.logistic.logistic_pass import LogisticRows, n_scores_of
from mlcore.linear_model.logistic.solution import scaled_objective
from mlcore.numerics.scores.linear_scores import as_dense, linear_scores
from mlcore.numerics.scores.log_softmax import log_softmax, softmax

_WORDS = {
    "liblinear": "Liblinear failed to converge, increase the number of iterations",
    "newton-cholesky": "Newton solver did not converge after {} iterations",
}


@stored(version=1)
class TrainingRows(NamedTuple):
    """The rows of a fit, as far as later calls need them.

    `weight` is the sum of weights, by which later calls know the rows; None in files of 0.2.
    """

    weight: float | None
    has_offset: bool
    _stored = {"weight": "none | float", "has_offset": "bool"}


class LogisticClassifier(Classifier, Model):
    """Linear classifier of two or more classes by their probabilities; its heirs fit it."""

    set_callbacks = progress.set_callbacks
    coef_: np.ndarray
    intercept_: np.ndarray
    n_iter_: np.ndarray
    n_passes_: float
    converged_: bool
    objective_: float
    objective_trace_: np.ndarray
    gradient_norm_: float
    newton_decrement_: float
    duality_gap_: float
    _solution_: TrainingRows

    fit_intercept: bool
    class_weight: dict[Any, Any] | Literal["balanced"] | None
    _tags = {"input_tags.sparse": True}
    _stored = {
        "coef_": "float c' f | csr c' f",
        "intercept_": "float c'",
        "n_iter_": "int 1",
        "n_passes_": "float",
        "converged_": "bool",
        "objective_": "float",
        "objective_trace_": "float64 t?",
        "gradient_norm_": "float",
        "newton_decrement_": "float",
        "duality_gap_": "float",
        "_solution_": TrainingRows,
    }

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Return the accuracy: the (weighted) share of samples whose label `predict` gives.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        offset : array-like of shape (n_samples,) or (n_samples, n_classes), optional
            Added to the scores, as in `fit`.

        Returns
        -------
        accuracy : float
            From 0 to 1.

        Raises
        ------
        TypeError
            If the labels are of another type than those of the fit, as "1" is than 1.
        """
        return self._accuracy(self.predict(X, offset=offset), y, sample_weight)

    def decision_function(self, X: Any, *, offset: Any = None) -> np.ndarray:
        """Return the scores: (n_samples,) for two classes, (n_samples, n_classes) for more.

        For two classes they are log odds of the second.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        offset : array-like of shape (n_samples,) or (n_samples, n_classes), optional
            Added to the scores, as in `fit`.

        Returns
        -------
        scores : (n_samples,) or (n_samples, n_classes)
            One column for two classes.
        """
        scores = self._scores(X, offset)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any, *, offset: Any = None) -> np.ndarray:
        """Return the most probable class of each sample.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        offset : array-like of shape (n_samples,) or (n_samples, n_classes), optional
            Added to the scores, as in `fit`.

        Returns
        -------
        labels : (n_samples,)
            One of `classes_` for each sample.
        """
        scores = self._scores(X, offset)
        several = scores.shape[1] > 1
        return self.classes_[scores.argmax(axis=1) if several else (scores[:, 0] > 0).astype(int)]

    def predict_proba(self, X: Any, *, offset: Any = None) -> np.ndarray:
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        offset : array-like of shape (n_samples,) or (n_samples, n_classes), optional
            Added to the scores, as in `fit`.

        Returns
        -------
        probabilities : (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        scores = self._scores(X, offset)
        if scores.shape[1] == 1:
            return expit(np.hstack([-scores, scores]))
        return softmax(scores)

    def predict_log_proba(self, X: Any, *, offset: Any = None) -> np.ndarray:
        """Return the logarithms of these probabilities.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        offset : array-like of shape (n_samples,) or (n_samples, n_classes), optional
            Added to the scores, as in `fit`.

        Returns
        -------
        log_probabilities : (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        scores = self._scores(X, offset)
        if scores.shape[1] == 1:
            return log_expit(np.hstack([-scores, scores]))
        return log_softmax(scores)

    def _scores(self, X, offset):
        X = self._check_X(X, reset=False, like=getattr(self, "coef_", None))
        scores = linear_scores(X, self.coef_, self.intercept_)
        if offset is None:
            self._warn_of_missing_offset()
        else:
            scores = scores + self._checked_offset(offset, *scores.shape)
        return scores

    def _warn_of_missing_offset(self):
        if self._solution_.has_offset:
            warn(
                "UserWarning",
                f"{type(self).__name__} was fitted with an offset, but these samples have none: "
                "scores are as if it were 0. Give offset=, of zeros if that is meant.",
            )

    def sparsify(self) -> Self:
        """Store ``coef_`` as a CSR array, which takes less memory if most values are 0.

        Predictions are the same. Fits set a dense array again.

        Returns
        -------
        self
            This model.
        """
        self._check_fitted()
        self._update_state({"coef_": sp.csr_array(self.coef_)})
        return self

    def densify(self) -> Self:
        """Store ``coef_`` as an array, as fits do.

        Returns
        -------
        self
            This model.
        """
        self._check_fitted()
        self._update_state({"coef_": as_dense(self.coef_)})
        return self

    def _check_loaded(self):
        super()._check_loaded()
        if len(getattr(self, "classes_", (0, 1))) < 2:
            raise ValueError(f"{type(self).__name__} has classes_ of fewer than 2 classes.")

    # ---- evidence, from the rows of the fit

    def verify(
        self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None
    ) -> LogisticVerification:
        """Return how far the fitted parameters are from the optimum on these data, in float64.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of the classes of the fit.
        sample_weight : array-like of shape (n_samples,), optional
        offset : array-like of shape (n_samples,) or (n_samples, n_classes), optional

        Returns
        -------
        verification : LogisticVerification
            Objective, gap, gradient and decrement.

        Raises
        ------
        ValueError
            For data of another total weight than those of the fit.

        Examples
        --------
        >>> from mlcore.datasets import load_iris
        >>> from mlcore.linear_model import LogisticRegression
        >>> X, y = load_iris()
        >>> model = LogisticRegression().fit(X, y)
        >>> model.verify(X, y).excess_bound < 1e-6
        True
        """
        settings = self._settings()
        data = self._rows_of_fit(X, y, sample_weight, offset, settings, "verify")
        if offset is None:
            self._warn_of_missing_offset()
        data, unit = self._penalised(data)
        objective, factor = scaled_objective(data, settings)
        return evidence(objective, self._theta(data, unit), factor)

    def _penalised(self, data):
        """Return the rows whose coefficients are penalised, those of the model times a unit."""
        return data, 1.0

    def _theta(self, data, unit=1.0):
        coef = as_dense(self.coef_).astype(np.float64) * unit
        intercept = self.intercept_ + coef @ data.shift
        return np.ascontiguousarray(np.c_[coef / data.scale, intercept])

    def _warn_of_end(self, solution, settings, factor, solver):
        """Warn of a fit that ended before its tolerance."""
        why = (
            f"No step lowers the objective, but it may be {solution.duality_gap:.2g} above its "
            f"minimum, and is {factor * solution.value:.2g}: scale or centre the "
            "features, or use a smaller C."
        )
        if solution.n_iter >= settings.max_iter:  # in words that users' filters of warnings know
            words = _WORDS.get(solver, f"{solver} failed to converge")
            why = (
                f"{words.format(solution.n_iter)}. The max_iter was reached which means the coef_ "
                "did not converge. Increase the number of iterations."
            )
        warn(
            "ConvergenceWarning",
            f"{type(self).__name__} ended after n_iter={solution.n_iter} iterations "
            f"(max_iter={settings.max_iter}), with a gradient of {solution.gradient_norm:.2g} and "
            f"a Newton decrement of {solution.decrement:.2g} per unit of weight, both to be at "
            f"most tol={settings.tol:g}. {why}",
        )

    def _training_rows(self, X, y, sample_weight, offset, settings):
        """Return the rows of positive weight, their classes, and True if they have offsets."""
        checked = self._check_X(X, reset=True)
        n = checked.shape[0]
        classes, codes, weight, rows = self._weighted_labels(y, sample_weight, n)
        offset = None if offset is None else self._checked_offset(offset, n, n_scores_of(classes))
        with_offset = offset is not None and bool(offset.any())
        if len(rows) < n:
            checked, weight = checked[rows], weight[rows]
            offset = None if offset is None else offset[rows]
        weight = weight * as_class_weights(self.class_weight, classes, codes, weight)[codes]
        codes, classes, weight, checked, offset = self._present(
            codes, classes, weight, checked, offset
        )
        data = LogisticRows(
            checked, codes, weight, offset, n_scores_of(classes), settings.fit_intercept
        )
        return data, classes, with_offset

    def _present(self, codes, classes, weight, X, offset):
        """Leave out samples that class weights make absent."""
        rows = np.flatnonzero(weight)
        if len(rows) == len(weight):
            return codes, classes, weight, X, offset
        kept, codes = np.unique(codes[rows], return_inverse=True)
        if len(kept) < 2:
            raise ValueError(
                f"class_weight leaves fewer than 2 classes to {type(self).__name__}: at least 2 "
                "need positive weights."
            )
        if offset is not None and offset.shape[1] > 1:
            offset = offset[:, kept] if len(kept) > 2 else offset[:, kept[1:]] - offset[:, kept[:1]]
            offset = np.ascontiguousarray(offset)
        return codes, classes[kept], weight[rows], X[rows], None if offset is None else offset[rows]

    def _checked_offset(self, offset, n, n_scores):
        if offset is None:
            return None
        owner = type(self).__name__
        offset = as_targets(offset, n, owner=owner, several=True, name="offset")
        offset = offset.reshape(n, -1)
        if offset.shape[1] != n_scores:
            wanted = "(n_samples,)" if n_scores == 1 else f"(n_samples, {n_scores})"
            raise ValueError(f"offset has {offset.shape[1]} columns, but must have shape {wanted}.")
        return np.ascontiguousarray(offset)

    def _rows_of_fit(self, X, y, sample_weight, offset, settings, method):
        """Return the checked rows of a later call, of the same weight as those of the fit."""
        X = self._check_X(X, reset=False)
        n, n_scores = X.shape[0], self.coef_.shape[0]
        codes = self._known_codes(y, n)
        offset = self._checked_offset(offset, n, n_scores)
        _, _, weight, rows = self._weighted_labels(y, sample_weight, n)
        weight = weight * as_class_weights(self.class_weight, self.classes_, codes, weight)[codes]
        rows = np.flatnonzero(weight)
        if len(rows) < n:
            X, weight, codes = X[rows], weight[rows], codes[rows]
            offset = None if offset is None else offset[rows]
        data = LogisticRows(X, codes, weight, offset, n_scores, settings.fit_intercept)
        total = self._solution_.weight
        if total is not None and not np.isclose(data.total, total, rtol=1e-9, atol=0):
            raise ValueError(
                f"{type(self).__name__}: {method} needs the samples of the fit, with the same "
                f"sample_weight: their weight is {total:g}, not {data.total:g}."
            )
        return data
