"""Halving algorithm: majority vote of the concepts that have never been wrong."""

from typing import Any

import numpy as np

from mlcore.bounds import halving_mistake_bound
from mlcore.bounds.arguments import as_count
from mlcore.bounds.concept_tables.concept_table import as_integers, as_table, distinct_concepts
from mlcore.estimator.derived import cached
from mlcore.online.learner import LabelLearner


class Halving(LabelLearner):
    """Predict the label given by most of the concepts that have never been wrong, 1 on a tie.

    If some concept gives all labels, the number of mistakes is at most the base-2 logarithm of the
    number of concepts (`mlcore.bounds.halving_mistake_bound`): each one rules out at least half of
    those that are left. A label that none of these gives is refused. A round takes O(n_concepts)
    time.

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
        True for those that have never been wrong: the version space.
    n_possible_ : int
        Number of concepts in the version space.
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
    _version_space: int  # as a bitset: bit h for row h of `concepts_`
    _stored = {"concepts_": "bool h p", "_version_space": "count"}

    def __init__(self, H: Any) -> None:
        self.H = H

    @property
    def possible_(self) -> np.ndarray:
        """Concepts that have never been wrong, as (n_concepts,) bool."""
        n = len(self.concepts_)
        bits = self._version_space.to_bytes(-(-n // 8), "little")
        return np.unpackbits(np.frombuffer(bits, np.uint8), count=n, bitorder="little").astype(bool)

    @property
    def n_possible_(self) -> int:
        """Number of concepts that have never been wrong."""
        return self._version_space.bit_count()

    def _start(self):
        concepts = distinct_concepts(as_table(self.H), None).astype(bool)
        return {"concepts_": concepts, "_version_space": (1 << len(concepts)) - 1}

    def _point(self, state, x, name):
        return as_count(x, name, at_most=state["concepts_"].shape[1] - 1)

    def _prediction(self, state, x):
        size, zeros, ones = self._sides(state, x)
        return int(size(ones) >= size(zeros))

    def _learned(self, state, x, y):
        _, *sides = self._sides(state, x)
        if not sides[y]:
            raise ValueError(f"y={y} at x={x}: no concept of H has given all labels so far.")
        return {"_version_space": sides[y]}

    def _bound(self, state):
        return halving_mistake_bound(len(state["concepts_"]))

    def _best_loss(self, state, points, targets):
        return 0.0  # some concept has given all labels, or they were refused

    def _sides(self, state, x):
        """Return the size function, and the version spaces after labels 0 and 1 of point x."""
        concepts, space = state["concepts_"], state["_version_space"]
        size, columns = cached(self, (concepts,), None, lambda: self._bitsets(concepts))
        ones = space & columns[x]
        return size, space ^ ones, ones

    def _bitsets(self, concepts):
        """Return the size function that predictions compare version spaces by, and H's columns."""
        return int.bit_count, as_integers(concepts)
