"""The standard optimal algorithm: the side of larger Littlestone dimension decides."""

import numpy as np

from mlcore.bounds.concept_tables.concept_table import as_integers
from mlcore.bounds.concept_tables.littlestone import LittlestoneTree
from mlcore.model_cache import cached
from mlcore.online.halving import Halving


class StandardOptimalAlgorithm(Halving):
    """Predict the label whose possible concepts have the larger Littlestone dimension, 1 on a tie.

    Possible are those that have never been wrong. On labels that some concept gives, it makes no
    more mistakes than the Littlestone dimension of the class
    (`mlcore.bounds.littlestone_dimension`): each one lowers that of those left. The dimensions that
    predictions need take exponential time in the worst case; each is computed once.

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
    >>> from mlcore.online import StandardOptimalAlgorithm
    >>> learner = StandardOptimalAlgorithm([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> learner.predict([0, 1, 2])
    array([0, 0, 0])
    >>> learner.update(1, 1).mistakes_
    1
    """

    def _label(self, state, x):
        concepts = state["concepts_"]
        columns, tree = cached(self, (concepts,), None, lambda: _dimensions(concepts))
        (space,) = as_integers(state["possible_"][:, None])
        ones = space & columns[x]
        return int(tree.dimension(ones) >= tree.dimension(space ^ ones))


def _dimensions(concepts: np.ndarray) -> tuple[list[int], LittlestoneTree]:
    columns = as_integers(concepts)
    return columns, LittlestoneTree(set(columns))
