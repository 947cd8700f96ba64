"""Doubling trick: a learner that needs to know the number of rounds, when nobody knows it."""

import copy
from collections.abc import Callable
from typing import Any

from mlcore.bounds import doubling_trick_regret
from mlcore.bounds.arguments import as_positive, refuse
from mlcore.online.hedge import begins_anew
from mlcore.online.learner import OnlineLearner


class DoublingTrick(OnlineLearner):
    r"""Begin anew in rounds 1, 2, 4, 8, ..., each time with a learner for twice as many rounds.

    If the regret of the learners is at most :math:`\alpha \sqrt T` in the T rounds that each is
    made for, that of all rounds is at most 3.42 times :math:`\alpha \sqrt T` at any T
    (`mlcore.bounds.doubling_trick_regret`).

    Parameters
    ----------
    make : callable
        Called with a number of rounds; returns an unfitted online learner for so many.
    alpha : float
        Factor in the regret of the learners, for `bound`.

    Attributes
    ----------
    learner_ : OnlineLearner
        Learner of the next round.
    loss_ : float
        Sum of the losses, or number of mistakes, of all rounds.
    n_rounds_ : int
        Rounds learned from.

    Raises
    ------
    ValueError
        If `make` is no function, or `alpha` is not positive; and what its learners refuse.

    References
    ----------
    N. Cesa-Bianchi, G. Lugosi, *Prediction, Learning, and Games*, 2006, section 2.3.

    Examples
    --------
    >>> import math
    >>> from mlcore.online import DoublingTrick, Hedge
    >>> learner = DoublingTrick(lambda T: Hedge(2, horizon=T), alpha=math.sqrt(math.log(2) / 2))
    >>> for losses in [[1, 0], [0, 1]] * 50:
    ...     _ = learner.update(None, losses)
    >>> learner.loss_ - 50 <= learner.bound()
    True
    """

    learner_: Any
    loss_: float
    _stored = {"learner_": "model OnlineLearner", "loss_": "float"}

    def __init__(self, make: Callable[[int], Any], alpha: float) -> None:
        self.make = make
        self.alpha = alpha

    def _start(self):
        as_positive(self.alpha, "alpha")
        allowed = "a function of the number of rounds that returns an online learner"
        if not callable(self.make):
            refuse("make", self.make, allowed)
        learner = self.make(1)
        if not isinstance(learner, OnlineLearner):
            refuse("make", self.make, f"{allowed}, not {type(learner).__name__}")
        return {"learner_": learner}

    def _rounds(self, state, X, y):
        return state["learner_"]._rounds(state["learner_"]._state(), X, y)

    def _point(self, state, x, name):
        learner = state["learner_"]
        return learner._point(learner._state(), x, name)

    def _target(self, state, y, name):
        learner = state["learner_"]
        return learner._target(learner._state(), y, name)

    def _prediction(self, state, point):
        learner = state["learner_"]
        return learner._prediction(learner._state(), point)

    def _next(self, state, point, target):
        learner, after = copy.copy(state["learner_"]), state.get("n_rounds_", 0) + 1
        inner, loss = learner._next(learner._state(), point, target)
        learner._update_state(inner)
        if begins_anew(after):
            learner = self.make(after + 1)
        total = state.get("loss_", 0.0) + loss
        return {**state, "learner_": learner, "loss_": total, "n_rounds_": after}, loss

    def _bound(self, state):
        rounds = state.get("n_rounds_", 0)
        return doubling_trick_regret(self.alpha, rounds) if rounds else 0.0

    def _best_loss(self, state, points, targets):
        """Return that of one learner for all rounds, which compares with the same."""
        learner = self.make(len(points))
        inner = learner._start()
        for point, target in zip(points, targets, strict=True):
            inner, _ = learner._next(inner, point, target)
        return learner._best_loss(inner, points, targets)
