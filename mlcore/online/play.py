"""Games: an online learner against a sequence of rounds."""

from typing import Any, NamedTuple

import numpy as np

from mlcore.bounds.arguments import refuse
from mlcore.estimator.printed import fields_as_table


class Game(NamedTuple):
    """Outcome of a sequence of rounds.

    Parameters
    ----------
    mistakes : int or None
        Rounds whose label differed from the prediction; None where no labels are predicted.
    losses : (n_rounds,) array of float64
        Loss of each round: 1 for a mistake, or its probability where predictions are drawn.
    bound : float
        Bound of the theory: on the mistakes, or their expected number, where labels are predicted,
        else on the regret.
    comparator_loss : float
        Least loss, in hindsight, of what the learner is compared with: concepts, experts, or
        vectors (then at most that); NaN if no concept gives the labels, or a loss of your own does
        not tell. For perceptrons the mistakes of the last function.
    regret : float
        Sum of `losses` less `comparator_loss`.

    Examples
    --------
    >>> from mlcore.online import Game, Halving, play
    >>> game = play(Halving([[0, 0], [0, 1], [1, 1]]), [0, 1], [0, 0])
    >>> isinstance(game, Game), game.losses, game.bound
    (True, array([0., 1.]), 1)
    """

    mistakes: int | None
    losses: np.ndarray
    bound: float
    comparator_loss: float
    regret: float

    __repr__ = fields_as_table


def play(learner: Any, X: Any, y: Any) -> Game:
    """Let a learner play all rounds of a sequence from the start, and report its bound.

    Parameters
    ----------
    learner : OnlineLearner or perceptron
        It forgets earlier rounds, and has learned from these afterwards.
    X : array-like of n_rounds points
        None for `Hedge`, which has only losses.
    y : array-like of n_rounds labels, numbers or losses

    Returns
    -------
    game : Game
        Losses, with their bound and the best in hindsight.

    Raises
    ------
    ValueError
        If `learner` is no online learner, and for what it refuses; it then stays as it was.

    Examples
    --------
    >>> from mlcore.online import WeightedMajority, play
    >>> game = play(WeightedMajority(2), [[1, 0], [1, 0], [1, 1]], [0, 0, 1])
    >>> game.mistakes, game.comparator_loss, round(game.bound, 6)
    (1, 0.0, 2.409421)
    """
    playing = getattr(learner, "_play", None)
    if isinstance(learner, type) or not callable(playing):
        refuse("learner", learner, "an online learner or a perceptron")
    losses, bound, best = playing(X, y)
    return Game(
        int(learner.mistakes_) if hasattr(learner, "mistakes_") else None,
        losses,
        bound,
        best,
        float(losses.sum()) - best,
    )
