"""Learners of online learning, one point and one label at a time, which keep to their bounds."""

from typing import Any

import numpy as np

from mlcore.bounds.arguments import as_count, as_real
from mlcore.bounds.concept_table import as_integers, as_table, distinct_concepts
from mlcore.bounds.mistake_games import LittlestoneTree, majority


class Halving:
    """Predict as most of the concepts that have never been wrong, and 1 on a tie.

    On labels that some concept gives, it makes no more mistakes than the base-2 logarithm of the
    number of concepts: each one rules out half of those that are left.

    Parameters
    ----------
    H : array-like of shape (n_concepts, n_points)
        Zeros and ones; bool, or -1 and 1, are taken too.

    Attributes
    ----------
    mistakes_ : int
        Labels that differed from the prediction.
    n_possible_ : int
        Different concepts that have never been wrong.

    Raises
    ------
    ValueError
        If `H` has other entries or is empty.

    References
    ----------
    N. Littlestone, *Learning quickly when irrelevant attributes abound: a new linear-threshold
    algorithm*, Machine Learning 2, 1988.

    Examples
    --------
    >>> from mlcore.bounds import Halving
    >>> learner = Halving([[0, 0], [0, 1], [1, 1]])
    >>> learner.predict_one(0), learner.predict_one(1)
    (0, 1)
    >>> learner.update(0, 1).predict_one(1), learner.mistakes_, learner.n_possible_
    (1, 1, 1)
    """

    def __init__(self, H: Any) -> None:
        table = distinct_concepts(as_table(H), None)
        self._columns = as_integers(table)
        self._space = (1 << len(table)) - 1
        self.mistakes_ = 0

    @property
    def n_possible_(self) -> int:
        return self._space.bit_count()

    def predict_one(self, x: int) -> int:
        """Return 0 or 1 for the point of column `x`."""
        return self._predict(self._space, self._space & self._column(x))

    def update(self, x: int, y: int) -> "Halving":
        """Learn that the point of column `x` has label `y`, 0 or 1; return the learner itself.

        ValueError if no concept has labelled everything so.
        """
        label = _as_label(y)
        ones = self._space & self._column(x)
        space = ones if label else self._space ^ ones
        if not space:
            raise ValueError(f"y={label} at x={x}: no concept of H has given all labels so far.")
        self.mistakes_ += label != self.predict_one(x)
        self._space = space
        return self

    def _predict(self, space, ones):
        return majority(space, ones)

    def _column(self, x):
        return self._columns[as_count(x, "x", at_least=0, at_most=len(self._columns) - 1)]


class StandardOptimalAlgorithm(Halving):
    """Predict the label whose possible concepts have the larger Littlestone dimension, 1 on a tie.

    Possible are those that have never been wrong. On labels that some concept gives, it makes no
    more mistakes than the Littlestone dimension of the class: each one lowers that of those left.

    Parameters
    ----------
    H : array-like of shape (n_concepts, n_points)
        Zeros and ones; bool, or -1 and 1, are taken too.

    Attributes
    ----------
    mistakes_ : int
        Labels that differed from the prediction.
    n_possible_ : int
        Different concepts that have never been wrong.

    Raises
    ------
    ValueError
        If `H` has other entries or is empty.

    References
    ----------
    N. Littlestone, *Learning quickly when irrelevant attributes abound: a new linear-threshold
    algorithm*, Machine Learning 2, 1988.

    Examples
    --------
    >>> from mlcore.bounds import StandardOptimalAlgorithm
    >>> learner = StandardOptimalAlgorithm([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> [learner.predict_one(x) for x in range(3)]
    [0, 0, 0]
    >>> learner.update(1, 1).mistakes_
    1
    """

    def __init__(self, H: Any) -> None:
        super().__init__(H)
        self._tree = LittlestoneTree(set(self._columns))

    def _predict(self, space, ones):
        return int(self._tree.dimension(ones) >= self._tree.dimension(space ^ ones))


class WeightedMajority:
    """Predict as the heavier half of the experts; an expert who errs loses a share of its weight.

    Whatever the labels are, it makes no more mistakes than `weighted_majority_mistake_bound`
    of the number of experts and the mistakes of the best.

    Parameters
    ----------
    n_experts : int
    beta : float in (0, 1), default=0.5
        What a mistake leaves of a weight.

    Attributes
    ----------
    mistakes_ : int
        Labels that differed from the prediction.
    weights_ : ndarray of shape (n_experts,)
        The largest is 1.

    Raises
    ------
    ValueError
        For parameters out of range.

    References
    ----------
    N. Littlestone, M. K. Warmuth, *The weighted majority algorithm*, Information and Computation
    108, 1994.

    Examples
    --------
    >>> from mlcore.bounds import WeightedMajority
    >>> learner = WeightedMajority(3)
    >>> learner.predict_one([1, 1, 0])
    1
    >>> learner.update([1, 1, 0], 0).weights_
    array([0.5, 0.5, 1. ])
    """

    def __init__(self, n_experts: int, *, beta: float = 0.5) -> None:
        self._beta = as_real(beta, "beta", above=0, below=1)
        self._errors = np.zeros(as_count(n_experts, "n_experts", at_least=1), dtype=np.int64)
        self.mistakes_ = 0

    @property
    def weights_(self) -> np.ndarray:
        return self._beta ** (self._errors - self._errors.min())

    def predict_one(self, advice: Any) -> int:
        """Return 0 or 1 from what the experts advise, 1 on a tie."""
        advice = self._advice(advice)
        weights = self.weights_
        return int(weights[advice == 1].sum() >= weights[advice == 0].sum())

    def update(self, advice: Any, y: int) -> "WeightedMajority":
        """Learn that the label was `y`, 0 or 1; return the learner itself."""
        label = _as_label(y)
        self.mistakes_ += label != self.predict_one(advice)
        self._errors += self._advice(advice) != label
        return self

    def _advice(self, advice):
        (row,) = as_table([advice], "advice")
        if len(row) != len(self._errors):
            raise ValueError(
                f"advice has {len(row)} values, but there are n_experts={len(self._errors)}."
            )
        return row


def _as_label(y):
    if isinstance(y, (bool, np.bool_)) or y in (0, 1):
        return int(y)
    raise ValueError(f"y={y!r} must be 0 or 1.")
