"""Classifiers by normal distributions: priors, posteriors and predictions from scores."""

from typing import Any

import numpy as np

from mlcore.checks.probabilities import as_priors
from mlcore.estimator.model import Classifier, Model, warn
from mlcore.numerics.log_softmax import log_softmax


class NormalClasses(Classifier, Model):
    """Base of models with scores: log posterior probabilities up to a term of each sample."""

    priors: Any
    priors_: np.ndarray
    _stored = {"priors_": "float64 c"}

    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores, (n_samples, n_classes), or (n_samples,) for two classes."""
        raise NotImplementedError

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
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return self.classes_[(scores > 0).astype(np.intp)]
        return self.classes_[scores.argmax(axis=1)]

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return logarithms of the posterior probabilities.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        log_probabilities : (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return -np.logaddexp(0, np.column_stack([scores, -scores]))
        return log_softmax(scores)

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
        return np.exp(self.predict_log_proba(X))

    def _checked_priors(self, shares):
        """Return the priors, checked; for None these shares of weight."""
        if self.priors is None:
            return shares
        owner = type(self).__name__
        priors = as_priors(self.priors, "priors", owner)
        if priors.shape != shares.shape:
            raise ValueError(
                f"{owner}: priors has shape {priors.shape}, but must hold one probability for "
                f"each of the {len(shares)} classes."
            )
        largest = float(priors.max())
        total = largest * float((priors / largest).sum())
        if abs(total - 1) > 1e-5:
            warn("UserWarning", f"{owner}: priors sum to {total:g}, and are divided by it.")
        return self._priors_from(shares)

    def _priors_from(self, shares):
        """Return the priors, which have been checked."""
        if self.priors is None:
            return shares
        priors = np.asarray(self.priors, np.float64)
        priors = priors / priors.max()
        return priors / priors.sum()
