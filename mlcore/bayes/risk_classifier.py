"""Classifier that takes the action of least expected loss by another's probabilities."""

import copy
import sys
from typing import Any, Self

import numpy as np

from mlcore.bayes.decisions import Decisions, as_loss, minimum_risk
from mlcore.checks import as_weights
from mlcore.estimator.mixins import Classifier
from mlcore.estimator.model import Model


class RiskClassifier(Classifier, Model):
    """Decide by the probabilities of a classifier and the costs of being wrong.

    Any classifier with `predict_proba` is fitted as it is. A prediction is the action of least
    expected loss under its probabilities. It is as good as these are: a calibrated classifier
    makes the least cost that its probabilities allow.

    Parameters
    ----------
    estimator : classifier
        With `fit` and `predict_proba`, of mlcore, scikit-learn or anyone else; it is not changed.
    loss : array-like of shape (n_classes, n_actions), optional
        ``loss[i, j]`` is the cost of action j when the class is ``classes_[i]``, in sorted order.
        By default an error costs 1: the most probable class is predicted.
    actions : array-like of shape (n_actions,), optional
        What `predict` returns for each column, such as the classes and "ask". By default the
        classes, which needs as many actions as classes.

    Attributes
    ----------
    estimator_ : classifier
        The fitted copy.
    classes_ : (n_classes,) array
    actions_ : (n_actions,) array
    loss_ : (n_classes, n_actions) array of float64

    Raises
    ------
    TypeError
        By `fit`, if the estimator has no `predict_proba`.
    ValueError
        By `fit`, if `loss` or `actions` do not fit the classes.

    References
    ----------
    C. K. Chow, *On optimum recognition error and reject tradeoff*, IEEE Transactions on Information
    Theory 16, 1970.

    Examples
    --------
    An error costs 1, and to ask an expert 0.1:

    >>> from mlcore.bayes import RiskClassifier
    >>> from mlcore.datasets import load_iris
    >>> from mlcore.discriminant import LinearDiscriminantAnalysis
    >>> X, y = load_iris()
    >>> loss = [[0, 1, 1, 0.1], [1, 0, 1, 0.1], [1, 1, 0, 0.1]]
    >>> model = RiskClassifier(LinearDiscriminantAnalysis(), loss, [0, 1, 2, -1]).fit(X, y)
    >>> int((model.predict(X) == -1).sum())
    9
    """

    estimator_: object  # of any package
    classes_: np.ndarray
    actions_: np.ndarray
    loss_: np.ndarray
    _stored = {"estimator_": "model", "actions_": "labels a", "loss_": "float64 c a"}

    _no_blocks = "its tables are in memory"

    def __init__(self, estimator: Any, loss: Any = None, actions: Any = None) -> None:
        self.estimator = estimator
        self.loss = loss
        self.actions = actions

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit a copy of the estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As the estimator takes it.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Passed on if it is given.

        Returns
        -------
        self
            This model.
        """
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "predict_proba"):
            raise TypeError(
                f"estimator={self.estimator!r} must be an object with fit and predict_proba."
            )
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        estimator = _unfitted(self.estimator).fit(X, y, **weights)
        classes = np.asarray(estimator.classes_)
        loss = 1.0 - np.eye(len(classes)) if self.loss is None else self.loss
        loss = as_loss(loss, len(classes))
        actions = classes if self.actions is None else np.asarray(self.actions)
        if actions.shape != (loss.shape[1],):
            raise ValueError(
                f"actions has shape {actions.shape}, but loss has {loss.shape[1]} columns"
                f"{'' if self.actions is not None else ': name what each of them is'}."
            )
        self._set_fitted(X, estimator_=estimator, classes_=classes, actions_=actions, loss_=loss)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the action of least expected loss for each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As the estimator takes it.

        Returns
        -------
        actions : (n_samples,)
            One of `actions_` for each sample.
        """
        decisions = self.decide(X)
        return self.actions_[decisions.actions]

    def decide(self, X: Any) -> Decisions:
        """Return the actions as columns of the loss, with their expected losses.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        decisions : Decisions
            Actions and risks.
        """
        probabilities = self.predict_proba(X)
        return minimum_risk(probabilities, self.loss_)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the estimator's probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As the estimator takes it.

        Returns
        -------
        probabilities : (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        self._check_fitted()
        estimator: Any = self.estimator_
        return estimator.predict_proba(X)

    def mean_loss(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the (weighted) mean loss of the actions for samples of known class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of the fit.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        loss : float
            In the units of the loss.
        """
        actions = self.decide(X).actions
        losses = self.loss_[self._known_codes(y, len(actions)), actions]
        return float(np.average(losses, weights=as_weights(sample_weight, len(actions))))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            inner = self.estimator.__sklearn_tags__()
            tags.input_tags = inner.input_tags
            tags.classifier_tags = inner.classifier_tags
        return tags


def _unfitted(estimator):
    """Return a copy with the same parameters and without a fit."""
    if "sklearn" in sys.modules:
        from sklearn.base import clone

        return clone(estimator)
    parameters = estimator.get_params(deep=False).items()
    return type(estimator)(
        **{
            name: _unfitted(value)
            if hasattr(value, "get_params") and not isinstance(value, type)
            else copy.deepcopy(value)
            for name, value in parameters
        }
    )
