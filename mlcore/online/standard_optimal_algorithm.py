"""Standard optimal algorithm: predict the label of larger Littlestone dimension."""

from mlcore.bounds import littlestone_dimension
from mlcore.bounds.concept_tables.littlestone import LittlestoneTree
from mlcore.online.halving import Halving


class StandardOptimalAlgorithm(Halving):
    """Predict the label whose version space has the larger Littlestone dimension, 1 on a tie.

    The version space of a label has the concepts that give it and have never been wrong. If some
    concept gives all labels, the number of mistakes is at most the Littlestone dimension of the
    class (`mlcore.bounds.littlestone_dimension`): each one lowers the dimension of the version
    space. The dimensions take exponential time in the worst case; each is computed once.

    Parameters
    ----------
    H : array-like of shape (n_concepts, n_points)
        As in `Halving`.

    Attributes
    ----------
    concepts_, possible_, n_possible_, mistakes_, n_rounds_
        As in `Halving`.

    Raises
    ------
    ValueError
        As in `Halving`.

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

    def _bound(self, state):
        return littlestone_dimension(state["concepts_"], max_size=None)

    def _bitsets(self, concepts):
        _, columns = super()._bitsets(concepts)
        return LittlestoneTree(set(columns)).dimension, columns
