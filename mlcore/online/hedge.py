"""Hedge: exponential weights of experts whose losses are seen in every round."""

import math
from typing import Any

import numpy as np

from mlcore.bounds import doubling_trick_regret, hedge_regret_bound
from mlcore.bounds.arguments import as_count, as_positive, refuse
from mlcore.checks.arrays import as_floats, real_array
from mlcore.online.learner import OnlineLearner, as_list


class Hedge(OnlineLearner):
    r"""Distribute weight over experts; those with more loss so far get exponentially less.

    A round asks for the weights, then tells the losses of all experts; its loss is their mean under
    the weights :math:`e^{-\eta L_i}`, :math:`\eta = \sqrt{8 \ln N / T} / c` for losses in [0, c].
    On any sequence the sum exceeds the loss of the best of N experts by at most
    :math:`c \sqrt{T \ln N / 2}` (`mlcore.bounds.hedge_regret_bound`). A round takes O(N) time.

    Parameters
    ----------
    n_experts : int
        Read before the first round, and by `fit`.
    horizon : int or None, default=None
        Number T of rounds, after which more are refused. None if it is not known: the weights begin
        anew in rounds 1, 2, 4, 8, ..., and the bound is 3.42 times as large.
    value_range : float, default=1.0
        Largest possible loss c.

    Attributes
    ----------
    weights_ : (n_experts,) array of float64
        Weights of the next round; they sum to 1.
    expert_losses_ : (n_experts,) array of float64
        Sums of the losses of each expert.
    loss_ : float
        Sum of the losses of all rounds.
    n_rounds_ : int
        Rounds learned from.

    Raises
    ------
    ValueError
        For parameters out of range; for losses of a wrong number, or outside [0, value_range]; and
        for rounds after `horizon`.

    References
    ----------
    Y. Freund, R. Schapire, *A decision-theoretic generalization of on-line learning and an
    application to boosting*, Journal of Computer and System Sciences 55, 1997.
    N. Cesa-Bianchi, G. Lugosi, *Prediction, Learning, and Games*, 2006, Theorem 2.2.

    Examples
    --------
    >>> from mlcore.online import Hedge, play
    >>> game = play(Hedge(2, horizon=100), None, [[1, 0], [0, 1]] * 50)
    >>> round(game.regret, 6), round(game.bound, 6)
    (2.929998, 5.88705)
    """

    weights_: np.ndarray
    expert_losses_: np.ndarray
    loss_: float
    _sums_: np.ndarray  # of losses since the weights last began anew
    _stored = {
        "weights_": "float64 e",
        "expert_losses_": "float64 e",
        "_sums_": "float64 e",
        "loss_": "float",
    }
    _older = {"_sums_": "losses_since"}

    def __init__(
        self, n_experts: int, *, horizon: int | None = None, value_range: float = 1.0
    ) -> None:
        self.n_experts = n_experts
        self.horizon = horizon
        self.value_range = value_range

    def predict_one(self, x: Any = None) -> np.ndarray:
        """Return the weights of the experts in the next round.

        Parameters
        ----------
        x : None
            There are no points.

        Returns
        -------
        weights : (n_experts,) array of float64
            They sum to 1.
        """
        return super().predict_one(x)

    def _start(self):
        n = as_count(self.n_experts, "n_experts", at_least=1)
        as_positive(self.value_range, "value_range")
        if self.horizon is not None:
            as_count(self.horizon, "horizon", at_least=1)
        zeros = np.zeros(n)
        return {"weights_": zeros + 1 / n, "expert_losses_": zeros, "_sums_": zeros}

    def _from_older_state(self, state):
        if "loss_range" in state:  # the name in 0.2
            state["value_range"] = state.pop("loss_range")
        return super()._from_older_state(state)

    def _rounds(self, state, X, y):
        n = len(as_list(y, "y"))
        return super()._rounds(state, [None] * n if X is None else X, y)

    def _point(self, state, x, name):
        return x if x is None else refuse(name, x, "None: there are only losses, as y")

    def _target(self, state, y, name):
        n, most = len(state["weights_"]), float(self.value_range)
        allowed = f"the losses of {n} experts, in [0, {most:g}]"
        try:
            losses = as_floats(real_array(y, name), np.float64)
        except TypeError:
            refuse(name, y, allowed)
        if losses.shape != (n,) or not ((losses >= 0) & (losses <= most)).all():
            refuse(name, y, allowed)
        return losses

    def _prediction(self, state, point):
        return state["weights_"].copy()

    def _loss(self, state, point, losses):
        return float(state["weights_"] @ losses)

    def _learned(self, state, point, losses):
        after = state.get("n_rounds_", 0) + 1
        if self.horizon is not None and after > self.horizon:
            raise ValueError(f"horizon={self.horizon} rounds are over: no more are taken.")
        since, rounds = state["_sums_"] + losses, self.horizon
        if rounds is None:
            rounds = 1 << (after.bit_length() - 1)  # this one is among 2^m, ..., 2^(m + 1) - 1
            if begins_anew(after):
                since, rounds = np.zeros_like(since), after + 1
        eta = math.sqrt(8 * math.log(len(since)) / rounds) / float(self.value_range)
        weights = np.exp(-eta * (since - since.min()))
        return {
            "weights_": weights / weights.sum(),
            "expert_losses_": state["expert_losses_"] + losses,
            "_sums_": since,
        }

    def _bound(self, state):
        n, rounds = len(state["weights_"]), state.get("n_rounds_", 0)
        if n == 1 or (rounds == 0 and self.horizon is None):
            return 0.0
        if self.horizon is not None:
            regret = hedge_regret_bound(n, self.horizon)
        else:
            regret = doubling_trick_regret(hedge_regret_bound(n, 1), rounds)
        scaled = float(self.value_range) * regret
        return regret if self.value_range == 1 else math.nextafter(scaled, math.inf)

    def _best_loss(self, state, points, targets):
        return float(state["expert_losses_"].min())


def begins_anew(n_rounds: int) -> bool:
    """Return True if, after so many rounds, a learner with doubled horizons begins anew."""
    return (n_rounds + 1) & n_rounds == 0
