"""Base of online learners: rounds of prediction and update, one at a time or many at once.

A learner defines ``_start()``, which checks its parameters and returns the fitted attributes before
the first round; ``_point(state, x, name)``, a checked point; ``_label(state, point)``, its
prediction; and ``_learned(state, point, label)``, the attributes that the label changes. `state` is
the dictionary of fitted attributes; none of these methods changes it.
"""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from mlcore.bounds.arguments import refuse
from mlcore.model import Model


class OnlineLearner(Model):
    """Base of models that learn from a sequence of points with labels 0 and 1.

    They predict without a fit, from their parameters. Fitted attributes exist after the first
    round. Refused input, in any round, changes nothing.

    Attributes
    ----------
    mistakes_ : int
        Rounds whose label differed from the prediction made before it was seen.
    n_rounds_ : int
        Rounds learned from, since `fit` or, without it, since the first.
    """

    mistakes_: int
    n_rounds_: int

    def fit(self, X: Any, y: Any) -> Self:
        """Forget all earlier rounds, then learn from these in their order.

        Parameters
        ----------
        X : array-like of n_rounds points
        y : array-like of shape (n_rounds,)

        Returns
        -------
        self : OnlineLearner

        Raises
        ------
        ValueError
            For wrong parameters, points or labels; the learner stays as it was.
        """
        return self._learn(self._start(), X, y)

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn from rounds in their order, as `update` does from one.

        Parameters
        ----------
        X : array-like of n_rounds points
            At least one.
        y : array-like of shape (n_rounds,)
            The right labels, 0 or 1.

        Returns
        -------
        self : OnlineLearner

        Raises
        ------
        ValueError
            For wrong points or labels; the learner stays as it was before the first of them.
        """
        return self._learn(self._state(), X, y)

    def update(self, x: Any, y: int) -> Self:
        """Learn that point `x` has label `y`.

        Parameters
        ----------
        x : point
        y : {0, 1}

        Returns
        -------
        self : OnlineLearner

        Raises
        ------
        ValueError
            For a wrong point or label; the learner stays as it was.
        """
        state = self._state()
        self._update_state(self._next(state, self._point(state, x, "x"), _as_label(y, "y")))
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels predicted for points, none of which is learned from.

        Parameters
        ----------
        X : array-like of n points
            At least one.

        Returns
        -------
        y : (n,) array of int64
            Zeros and ones.

        Raises
        ------
        ValueError
            For wrong points.
        """
        state = self._state()
        return np.array([self._label(state, point) for point in self._points(state, X)])

    def predict_one(self, x: Any) -> int:
        """Return the label, 0 or 1, predicted for point `x`.

        Parameters
        ----------
        x : point

        Returns
        -------
        y : int

        Raises
        ------
        ValueError
            For a wrong point.
        """
        state = self._state()
        return self._label(state, self._point(state, x, "x"))

    def _state(self) -> Mapping[str, Any]:
        return vars(self) if "n_rounds_" in vars(self) else self._start()

    def _learn(self, state, X, y):
        points = self._points(state, X)
        labels = [_as_label(label, f"y[{i}]") for i, label in enumerate(_as_list(y, "y"))]
        if len(points) != len(labels):
            raise ValueError(f"X has {len(points)} points, but y has {len(labels)} labels.")
        for point, label in zip(points, labels, strict=True):
            state = self._next(state, point, label)
        self._update_state(state)
        return self

    def _points(self, state, X):
        return [self._point(state, x, f"X[{i}]") for i, x in enumerate(_as_list(X, "X"))]

    def _next(self, state, point, label):
        """Return the fitted attributes after one more round."""
        mistakes = state.get("mistakes_", 0) + (self._label(state, point) != label)
        counts = {"mistakes_": mistakes, "n_rounds_": state.get("n_rounds_", 0) + 1}
        return {**state, **self._learned(state, point, label), **counts}


def _as_list(values: Any, name: str) -> list:
    try:
        entries = [] if isinstance(values, (str, bytes)) else list(values)
    except TypeError:
        entries = []
    return entries or refuse(name, values, "a sequence of one round or more")


def _as_label(y: Any, name: str) -> int:
    if getattr(y, "ndim", 0) == 0 and y in (0, 1):
        return int(y)
    return refuse(name, y, "0 or 1")
