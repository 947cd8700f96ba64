"""Weighted majority algorithm: experts vote, and lose weight when they err."""

import numpy as np

from mlcore.bounds.arguments import as_count, as_real
from mlcore.bounds.concept_tables.concept_table import as_table
from mlcore.online.learner import OnlineLearner


class WeightedMajority(OnlineLearner):
    """Predict the label of more weight among the experts; one that errs loses part of its weight.

    For any labels the number of mistakes is at most
    `mlcore.bounds.weighted_majority_mistake_bound` of the number of experts and the mistakes of the
    best. A round takes O(n_experts) time.

    Parameters
    ----------
    n_experts : int
        Read before the first round, and by `fit`. A point is the advice of all experts, zeros and
        ones (or bool, or -1 and 1), so points `X` have shape (n_rounds, n_experts).
    beta : float in (0, 1), default=0.5
        Factor of an expert's weight at each of its mistakes.

    Attributes
    ----------
    expert_mistakes_ : (n_experts,) array of int64
    weights_ : (n_experts,) array of float64
        `beta` to the power of `expert_mistakes_`, scaled so that the largest is 1.
    mistakes_ : int
        Rounds whose label differed from the prediction.
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

    def __init__(self, n_experts: int, *, beta: float = 0.5) -> None:
        self.n_experts = n_experts
        self.beta = beta

    def _start(self):
        n = as_count(self.n_experts, "n_experts", at_least=1)
        return self._weighted(np.zeros(n, dtype=np.int64))

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

    def _label(self, state, advice):
        weights = state["weights_"]
        return int(weights[advice == 1].sum() >= weights[advice == 0].sum())

    def _learned(self, state, advice, y):
        return self._weighted(state["expert_mistakes_"] + (advice != y))

    def _weighted(self, mistakes):
        beta = as_real(self.beta, "beta", above=0, below=1)
        return {"expert_mistakes_": mistakes, "weights_": beta ** (mistakes - mistakes.min())}
