"""The one contract of calibrators: scores and labels in, probabilities out."""

from typing import Any, Protocol, Self

import numpy as np

from mlcore.bounds.arguments import as_reals, refuse
from mlcore.checks import as_labels, as_weights


class Link(Protocol):
    """A fitted function from scores to probabilities of one class."""

    def __call__(self, scores: np.ndarray) -> np.ndarray: ...


class Calibrator:
    """Turns scores of a model into probabilities of classes, learnt from fresh examples.

    Scores are decision values, logits or probabilities of any library's model: one number for each
    example of two classes, the larger for the later class, or a column for each of three classes or
    more, in the order of the sorted labels. Each class is calibrated against the rest, and the
    probabilities of an example are divided by their sum; `TemperatureCalibrator` calibrates all at
    once.

    The examples should be no part of those the model was fitted to: its scores are too sure there.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    links_ : tuple
        Functions from scores to probabilities: one for two classes, else one for each class.

    Examples
    --------
    >>> from mlcore.calibration import Calibrator, IsotonicCalibrator
    >>> issubclass(IsotonicCalibrator, Calibrator)
    True
    """

    classes_: np.ndarray
    links_: tuple[Any, ...]

    def fit(self, scores: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the scores of examples and their labels.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            Finite scores; (n, n_classes) for three classes or more.
        y : array-like of shape (n,)
            Labels of at least two classes.
        sample_weight : array-like of shape (n,), optional
            Weights of the examples: 2 is two copies of an example.

        Returns
        -------
        self : Calibrator
            The fitted calibrator.

        Raises
        ------
        ValueError
            For one class, scores that are not finite, and other numbers of them.
        """
        columns, self.classes_, codes = self._checked(scores, y)
        weight = as_weights(sample_weight, len(codes))
        present = np.bincount(codes, weights=weight, minlength=len(self.classes_)) > 0
        if not present.all():
            missing = self.classes_[np.argmin(present)]
            refuse("sample_weight", f"0 for all examples of {missing!s}", "positive for each class")
        used = weight > 0
        if not used.all():
            columns, codes, weight = columns[used], codes[used], weight[used]
        self._learn(columns, codes, weight)
        return self

    def predict_proba(self, scores: Any) -> np.ndarray:
        """Return the probabilities of the classes.

        Parameters
        ----------
        scores : array-like of shape (m,) or (m, n_classes)
            Scores of new examples, of as many columns as in `fit`.

        Returns
        -------
        probabilities : float64 (m, n_classes)
            Columns in the order of `classes_`; rows sum to 1.

        Raises
        ------
        ValueError
            For scores that are not finite, other numbers of columns, and before `fit`.
        """
        return self._probabilities(self._columns_of(scores))

    def _checked(self, scores, y):
        """Return the scores (n, 1 or n_classes), the classes, and the codes of the labels."""
        scores = _as_scores(scores)
        if not len(scores):
            refuse("scores", "none", "those of at least one example of each class")
        classes, codes = as_labels(y, len(scores), owner=type(self).__name__, min_classes=2)
        self._require_columns(scores, len(classes))
        return np.atleast_2d(scores.T).T, classes, codes

    def _require_columns(self, scores, n_classes):
        if n_classes == 2:
            good, allowed = scores.ndim == 1, "(n,) for two classes, such as those of the later one"
        else:
            good = scores.ndim == 2 and scores.shape[1] == n_classes
            allowed = f"(n, {n_classes}), a column for each class"
        if not good:
            refuse("scores", f"an array of shape {scores.shape}", f"of shape {allowed}")

    def _columns_of(self, scores):
        if not hasattr(self, "classes_"):
            raise ValueError(
                f"This {type(self).__name__} is not fitted: call fit(scores, y) first."
            )
        scores = _as_scores(scores)
        self._require_columns(scores, len(self.classes_))
        return np.atleast_2d(scores.T).T

    def _link(self, scores, positive, weight) -> Link:
        """Return the fit to scores (n,) of one class, `positive`, against the rest."""
        raise NotImplementedError

    def _learn(self, columns, codes, weight):
        number = columns.shape[1]
        self.links_ = tuple(
            self._link(columns[:, k], codes == (k if number > 1 else 1), weight)
            for k in range(number)
        )

    def _probabilities(self, columns):
        P = np.column_stack([link(columns[:, k]) for k, link in enumerate(self.links_)])
        return np.column_stack([1 - P[:, 0], P[:, 0]]) if P.shape[1] == 1 else _shares(P)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def sums_by_score(scores: np.ndarray, *values: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the distinct scores, increasing, and the sums of each of `values` (n,) for them."""
    order = np.argsort(scores)
    knots = scores[order]
    first = np.flatnonzero(np.append(True, knots[1:] != knots[:-1]))
    return knots[first], *(np.add.reduceat(value[order], first) for value in values)


def _as_scores(scores):
    array = as_reals(scores, "scores")
    if array.ndim not in (1, 2):
        refuse("scores", f"an array of shape {array.shape}", "of shape (n,) or (n, n_classes)")
    return array


def _shares(P):
    """Return rows of P over their sums, the same for all classes where all are 0."""
    total = P.sum(axis=1, keepdims=True)
    P[total[:, 0] == 0] = 1
    return P / P.sum(axis=1, keepdims=True)
