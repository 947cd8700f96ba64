"""The halving algorithm: most concepts that have never been wrong decide."""

from typing import Any

import numpy as np

from mlcore.bounds.arguments import as_count
from mlcore.bounds.concept_tables.concept_table import as_table, distinct_concepts
from mlcore.online.learner import OnlineLearner


class Halving(OnlineLearner):
    """Predict as most of the concepts that have never been wrong, and 1 on a tie.

    On labels that some concept gives, it makes no more mistakes than the base-2 logarithm of the
    number of concepts (`mlcore.bounds.halving_mistake_bound`): each one rules out half of those
    that are left. A label that none of them gives is refused. A round takes O(n_concepts) time.

    Parameters
    ----------
    H : array-like of shape (n_concepts, n_points)
        Zeros and ones; bool, or -1 and 1, are taken too. Read before the first round, and by `fit`.
        A point is the number of its column, so points `X` are integers of shape (n_rounds,).

    Attributes
    ----------
    concepts_ : (n_distinct, n_points) array of bool
        The different rows of `H`, in order of their first occurrence.
    possible_ : (n_distinct,) array of bool
        Which of them have never been wrong: the version space.
    n_possible_ : int
        How many these are.
    mistakes_ : int
        Rounds whose label differed from the prediction.
    n_rounds_ : int
        Rounds learned from.

    Raises
    ------
    ValueError
        At the first prediction or round, if `H` has other entries or is empty; at each, for a point
        that is no column of `H`, and for a label that no possible concept gives.

    References
    ----------
    N. Littlestone, *Learning quickly when irrelevant attributes abound: a new linear-threshold
    algorithm*, Machine Learning 2, 1988.

    Examples
    --------
    >>> from mlcore.online import Halving
    >>> learner = Halving([[0, 0], [0, 1], [1, 1]])
    >>> learner.predict([0, 1])
    array([0, 1])
    >>> learner.update(0, 1).predict_one(1), learner.mistakes_, learner.n_possible_
    (1, 1, 1)
    """

    concepts_: np.ndarray
    possible_: np.ndarray
    n_possible_: int

    def __init__(self, H: Any) -> None:
        self.H = H

    def _start(self):
        # Columns in one piece each: a round reads one of them.
        concepts = np.array(distinct_concepts(as_table(self.H), None), dtype=bool, order="F")
        n = len(concepts)
        return {"concepts_": concepts, "possible_": np.ones(n, dtype=bool), "n_possible_": n}

    def _point(self, state, x, name):
        return as_count(x, name, at_least=0, at_most=state["concepts_"].shape[1] - 1)

    def _label(self, state, x):
        ones = np.count_nonzero(state["concepts_"][:, x] & state["possible_"])
        return int(2 * ones >= state["n_possible_"])

    def _learned(self, state, x, y):
        ones, possible = state["concepts_"][:, x], state["possible_"]
        possible = possible & ones if y else possible > ones
        n_possible = int(np.count_nonzero(possible))
        if not n_possible:
            raise ValueError(f"y={y} at x={x}: no concept of H has given all labels so far.")
        return {"possible_": possible, "n_possible_": n_possible}
