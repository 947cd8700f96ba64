"""Weighted majority algorithm: experts vote, and lose weight when they err."""

import numpy as np

from mlcore.bounds import weighted_majority_mistake_bound
from mlcore.bounds.arguments import as_bool, as_count, as_real
from mlcore.bounds.concept_tables.concept_table import as_table
from mlcore.estimator.derived import cached
from mlcore.online.learner import LabelLearner


class WeightedMajority(LabelLearner):
    """Predict the label of more weight among the experts; one that errs loses part of its weight.

    For any labels the number of mistakes is at most
    `mlcore.bounds.weighted_majority_mistake_bound` of the number of experts and the mistakes of the
    best. With `randomized` the bound is about half, and on the expected number, `loss_`. A round
    takes O(n_experts) time.

    Parameters
    ----------
    n_experts : int
        Read before the first round, and by `fit`. A point is the advice of all experts, zeros and
        ones (or bool, or -1 and 1), so points `X` have shape (n_rounds, n_experts).
    beta : float in (0, 1), default=0.5
        Factor of an expert's weight at each of its mistakes.
    randomized : bool, default=False
        Predict as an expert does that is drawn with probability proportional to its weight.
    random_state : int or None, default=None
        Seed of the draws: each round has one, the same however often it is asked for. None is a
        seed that is drawn once for each learner.

    Attributes
    ----------
    expert_mistakes_ : (n_experts,) array of int64
    weights_ : (n_experts,) array of float64
        `beta` to the power of `expert_mistakes_`, scaled so that the largest is 1.
    mistakes_ : int
        Rounds whose label differed from the prediction.
    loss_ : float
        Sum of the probabilities of these mistakes; only with `randomized`.
    n_rounds_ : int
        Rounds learned from.

    Raises
    ------
    ValueError
        At a prediction or round, for parameters out of range and for advice of a wrong length.

    References
    ----------
    N. Littlestone, M. K. Warmuth, *The weighted majority algorithm*, Information and Computation
    108, 1994.

    Examples
    --------
    >>> from mlcore.online import WeightedMajority
    >>> learner = WeightedMajority(3)
    >>> learner.predict_one([1, 1, 0])
    1
    >>> learner.update([1, 1, 0], 0).weights_
    array([0.5, 0.5, 1. ])
    """

    expert_mistakes_: np.ndarray
    weights_: np.ndarray
    loss_: float
    _start_: int  # seed of the draws
    _stored = {
        "expert_mistakes_": "int e",
        "weights_": "float64 e",
        "loss_": "float",
        "_start_": "count",
    }

    def __init__(
        self,
        n_experts: int,
        *,
        beta: float = 0.5,
        randomized: bool = False,
        random_state: int | None = None,
    ) -> None:
        self.n_experts = n_experts
        self.beta = beta
        self.randomized = randomized
        self.random_state = random_state

    def _start(self):
        n = as_count(self.n_experts, "n_experts", at_least=1)
        as_bool(self.randomized, "randomized")
        if self.random_state is not None:
            seed = as_count(self.random_state, "random_state")
        else:  # kept outside of the fitted state, as predictions come before the first round
            seed = cached(self, (), None, _fresh_seed) if self.randomized else 0
        return self._weighted(np.zeros(n, dtype=np.int64)) | {"_start_": seed}

    def _from_older_state(self, state):
        if "weights_" in state:  # 0.2 had a seed of 0 by default, and only as a parameter
            state.setdefault("_start_", state.get("random_state", 0))
        return super()._from_older_state(state)

    def _points(self, state, X):
        return self._advice(state, as_table(X, "X"), "X")

    def _point(self, state, x, name):
        (row,) = self._advice(state, as_table([x], name), name)
        return row

    def _advice(self, state, advice, name):
        n = len(state["weights_"])
        if advice.shape[1] != n:
            raise ValueError(
                f"{name} has the advice of {advice.shape[1]} experts, but n_experts={n}."
            )
        return advice

    def _prediction(self, state, advice):
        weights = state["weights_"]
        if self.randomized:
            shares = np.cumsum(weights)
            random = np.random.default_rng([state["_start_"], state.get("n_rounds_", 0)])
            drawn = np.searchsorted(shares, random.random() * shares[-1], side="right")
            return int(advice[min(drawn, len(advice) - 1)])
        return int(weights[advice == 1].sum() >= weights[advice == 0].sum())

    def _learned(self, state, advice, y):
        return self._weighted(state["expert_mistakes_"] + (advice != y))

    def _next(self, state, advice, y):
        after, loss = super()._next(state, advice, y)
        if self.randomized:
            weights = state["weights_"]
            loss = float(weights[advice != y].sum() / weights.sum())
            after["loss_"] = state.get("loss_", 0.0) + loss
        return after, loss

    def _bound(self, state):
        mistakes = state["expert_mistakes_"]
        best, drawn = int(mistakes.min()), bool(self.randomized)
        return weighted_majority_mistake_bound(len(mistakes), best, self.beta, randomized=drawn)

    def _best_loss(self, state, points, targets):
        return float(state["expert_mistakes_"].min())

    def _weighted(self, mistakes):
        beta = as_real(self.beta, "beta", above=0, below=1)
        return {"expert_mistakes_": mistakes, "weights_": beta ** (mistakes - mistakes.min())}


def _fresh_seed():
    return np.random.SeedSequence().entropy
