"""Base of learners of a concept, a set of samples, from examples inside and outside."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from mlcore.bounds import Bound
from mlcore.checks import as_labels
from mlcore.estimator.model import Classifier, Model


class ConceptClassifier(Classifier, Model):
    """A classifier of two labels, the positive one for samples inside its concept.

    A learner defines ``_learned(X, positive)``, the attributes of the concept; ``_inside(concept,
    X)`` of these attributes; ``_precision``, the type of the samples; and ``guarantee(delta)``.
    """

    training_errors_: int
    n_samples_: int

    _tags = {"classifier_tags.multi_class": False}

    positive: Any
    _stored = {"classes_": "labels 2", "training_errors_": "count", "n_samples_": "count"}

    _no_blocks = "it learns from labelled examples one after the other: use partial_fit or fit"

    def _learned(self, X: np.ndarray, positive: np.ndarray) -> dict[str, Any]:
        """Return the attributes of the concept from samples and which of them are positive."""
        raise NotImplementedError

    def _inside(self, concept: Mapping[str, Any], X: np.ndarray) -> np.ndarray:
        """Return which rows are in the concept of these attributes, bool (n,)."""
        raise NotImplementedError

    def guarantee(self, delta: float) -> Bound:
        """Return a bound on the probability of an error."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the concept.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            At most two labels.

        Returns
        -------
        self
            This model.

        Raises
        ------
        ValueError
            For more labels, and for one that may be positive where `positive` does not say so.
        """
        checked = self._check_X(X, reset=True)
        classes, codes = self._two_labels(y, len(checked))
        concept = self._learned(checked, codes == 1)
        inside = self._inside(concept, checked)
        self._set_fitted(
            X,
            classes_=classes,
            **concept,
            training_errors_=int(np.count_nonzero(inside != (codes == 1))),
            n_samples_=len(checked),
        )
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the positive label for rows in the concept, the other one for all else.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : (n_samples,)
            One for each row.
        """
        self._check_fitted()
        checked = self._check_X(X, reset=False, like=self._precision)
        return self.classes_[self._inside(vars(self), checked).astype(np.intp)]

    @property
    def _precision(self):
        """The type of the samples of the fit."""
        raise NotImplementedError

    def _two_labels(self, y, n):
        """Return the negative and the positive label, and 1 for each positive sample, else 0."""
        owner = type(self).__name__
        labels, codes = as_labels(y, n, owner=owner)
        if len(labels) > 2:
            raise ValueError(
                f"Only binary classification is supported. {owner} learns one concept from two "
                f"classes, but y has {len(labels)}."
            )
        positive = self.positive
        # One label: it is the negative one if it is 0, -1 or not the given positive label.
        if len(labels) == 1:
            (label,) = labels.tolist()
            if positive is None and label not in (0, -1):
                raise ValueError(
                    f"{owner}: y has one class, {label!r}: give positive=, the label inside the "
                    "concept."
                )
            positive = (
                (not label if isinstance(label, bool) else 1) if positive is None else positive
            )
            if label != positive:
                return np.array([label, positive]), np.zeros(n, dtype=np.intp)
            if label != 1:
                raise ValueError(f"{owner}: y has one class, {label!r}, and no label for outside.")
            return np.array([0, 1]).astype(labels.dtype), np.ones(n, dtype=np.intp)
        # Two labels: the larger is the positive one, or the given one.
        if positive is not None and positive not in labels.tolist():
            raise ValueError(
                f"{owner}: positive={positive!r} must be None or one of the labels of y, "
                f"{labels.tolist()}."
            )
        if positive is not None and positive == labels.tolist()[0]:
            return labels[::-1], 1 - codes
        return labels, codes
