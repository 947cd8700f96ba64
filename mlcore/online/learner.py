"""Base of online learners: rounds of prediction and update, one at a time or many at once.

A learner defines ``_start()``, which checks its parameters and returns the fitted attributes before
the first round; ``_point(state, x, name)`` and ``_target(state, y, name)``, a checked point and
its target; ``_prediction(state, point)``; ``_loss(state, point, target)``; and
``_learned(state, point, target)``, the attributes that the round changes. `state` is the dictionary
of fitted attributes; none of these methods changes it. ``_bound(state)`` and ``_best_loss(state,
points, targets)`` are the bound of the theory, and the least loss in hindsight of what it compares
the learner with.
"""

from collections.abc import Mapping, Set
from typing import Any, ClassVar, Self

import numpy as np

from mlcore.bounds.arguments import refuse
from mlcore.checks.arrays import plain_array
from mlcore.estimator.model import Model


class OnlineLearner(Model):
    """Base of models that learn from a sequence of points and their targets.

    They predict without a fit, from their parameters. Fitted attributes exist after the first
    round. Refused input, in any round, changes nothing.

    Attributes
    ----------
    n_rounds_ : int
        Rounds learned from, since `fit` or, without it, since the first.
    """

    n_rounds_: int
    _total: ClassVar[str] = "loss_"  # the attribute with the sum of all losses
    _stored = {"n_rounds_": "count"}

    _no_blocks = "it learns row by row, in their order: use partial_fit or update"

    def fit(self, X: Any, y: Any) -> Self:
        """Forget all earlier rounds, then learn from these in their order.

        Parameters
        ----------
        X : array-like of n_rounds points
        y : array-like of n_rounds labels, numbers or losses

        Returns
        -------
        self : OnlineLearner
            This learner.

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
        y : array-like of n_rounds labels, numbers or losses

        Returns
        -------
        self : OnlineLearner
            This learner.

        Raises
        ------
        ValueError
            For wrong points or labels; the learner stays as it was before the first of them.
        """
        return self._learn(self._state(), X, y)

    def update(self, x: Any, y: Any) -> Self:
        """Learn that point `x` has label `y`, or the number or the losses that it is.

        Parameters
        ----------
        x : point
        y : label, number or losses

        Returns
        -------
        self : OnlineLearner
            This learner.

        Raises
        ------
        ValueError
            For a wrong point or label; the learner stays as it was.
        """
        state = self._state()
        point = self._point(state, x, "x")
        self._update_state(self._next(state, point, self._target(state, y, "y"))[0])
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the predictions for points, none of which is learned from.

        Parameters
        ----------
        X : array-like of n points
            At least one.

        Returns
        -------
        y : (n,) array
            Of labels 0 and 1 in int64, or of numbers in float64.

        Raises
        ------
        ValueError
            For wrong points.
        """
        state = self._state()
        return np.array([self._prediction(state, point) for point in self._points(state, X)])

    def predict_one(self, x: Any) -> Any:
        """Return the label or number predicted for point `x`.

        Parameters
        ----------
        x : point

        Returns
        -------
        y : int or float
            The prediction before the label is known.

        Raises
        ------
        ValueError
            For a wrong point.
        """
        state = self._state()
        return self._prediction(state, self._point(state, x, "x"))

    def bound(self) -> float:
        """Return the bound of the theory on the rounds so far.

        Returns
        -------
        bound : int or float
            On `mistakes_` where there are labels, else on the regret: `loss_` less the least loss
            of what the learner is compared with.
        """
        return self._bound(self._state())

    def _state(self) -> Mapping[str, Any]:
        return vars(self) if "n_rounds_" in vars(self) else self._start()

    def _learn(self, state, X, y):
        for point, target in self._rounds(state, X, y):
            state, _ = self._next(state, point, target)
        self._update_state(state)
        return self

    def _rounds(self, state, X, y):
        """Return checked pairs of points and targets."""
        points = self._points(state, X)
        targets = [self._target(state, label, f"y[{i}]") for i, label in enumerate(as_list(y, "y"))]
        if len(points) != len(targets):
            raise ValueError(f"X has {len(points)} points, but y has {len(targets)} labels.")
        return list(zip(points, targets, strict=True))

    def _points(self, state, X):
        return [self._point(state, x, f"X[{i}]") for i, x in enumerate(as_list(X, "X"))]

    def _next(self, state, point, target):
        """Return the fitted attributes after one more round, and its loss."""
        loss = self._loss(state, point, target)
        counts = {
            self._total: state.get(self._total, 0) + loss,
            "n_rounds_": state.get("n_rounds_", 0) + 1,
        }
        return {**state, **self._learned(state, point, target), **counts}, loss

    def _begin(self, X, y):
        """Prepare for these rounds; return how many of them that takes."""
        return 0

    def _play(self, X, y):
        """Forget all rounds, play these; return losses, bound and the least loss in hindsight."""
        state, losses = self._start(), []
        rounds = self._rounds(state, X, y)
        for point, target in rounds:
            state, loss = self._next(state, point, target)
            losses.append(loss)
        best = self._best_loss(state, *zip(*rounds, strict=True))
        bound = self._bound(state)
        self._update_state(state)
        return np.array(losses, dtype=np.float64), bound, best


class LabelLearner(OnlineLearner):
    """Base of online learners of labels 0 and 1, whose loss is the number of mistakes.

    Attributes
    ----------
    mistakes_ : int
        Rounds whose label differed from the prediction made before it was seen.
    """

    mistakes_: int
    _total = "mistakes_"
    _stored = {"mistakes_": "count"}

    def _target(self, state, y, name):
        if getattr(y, "ndim", 0) == 0 and y in (0, 1):
            return int(y)
        return refuse(name, y, "0 or 1")

    def _loss(self, state, point, target):
        return int(self._prediction(state, point) != target)


def as_list(values: Any, name: str) -> list[Any]:
    """Return the rounds of a sequence, at least one: of a data frame its rows."""
    if hasattr(values, "__array__"):
        values = plain_array(values, name)
    try:
        entries = [] if isinstance(values, (str, bytes, Mapping, Set)) else list(values)
    except TypeError:
        entries = []
    return entries or refuse(name, values, "a sequence of one round or more")
