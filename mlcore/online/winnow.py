"""Winnow: a linear threshold with weights that are doubled and halved."""

import numpy as np

from mlcore.bounds import winnow_mistake_bound
from mlcore.bounds.arguments import as_count
from mlcore.bounds.concept_tables.concept_table import as_table
from mlcore.online.learner import LabelLearner


class Winnow(LabelLearner):
    """Predict 1 if the weights of the variables that are 1 sum to the number of variables or more.

    A mistake on label 1 doubles these weights, one on label 0 halves them. If a disjunction of k of
    the n variables gives all labels, the number of mistakes is at most 2 + 3 k (1 + log2 n)
    (`mlcore.bounds.winnow_mistake_bound`), even if n is huge. A round takes O(n) time.

    Parameters
    ----------
    n_features : int
        Read before the first round, and by `fit`. A point has as many variables: zeros and ones (or
        bool, or -1 and 1), so points `X` have shape (n_rounds, n_features).

    Attributes
    ----------
    weights_ : (n_features,) array of float64
        Powers of 2, all 1 before the first round.
    possible_ : (n_features,) array of bool
        Variables that were 0 in all rounds of label 0: only these may be in the disjunction.
    mistakes_ : int
        Rounds whose label differed from the prediction.
    n_rounds_ : int
        Rounds learned from.

    Raises
    ------
    ValueError
        At a prediction or round, for `n_features` out of range and points of a wrong length.

    References
    ----------
    N. Littlestone, *Learning quickly when irrelevant attributes abound: a new linear-threshold
    algorithm*, Machine Learning 2, 1988.

    Examples
    --------
    >>> from mlcore.online import Winnow
    >>> learner = Winnow(4)
    >>> learner.update([1, 0, 1, 0], 1).weights_
    array([2., 1., 2., 1.])
    >>> learner.update([0, 0, 1, 1], 0).predict_one([1, 1, 1, 0]), learner.mistakes_
    (1, 1)
    """

    weights_: np.ndarray
    possible_: np.ndarray
    _stored = {"weights_": "float64 d", "possible_": "bool d"}

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features

    def bound(self, k: int | None = None) -> float:
        """Return the bound on `mistakes_` if a disjunction gives all labels.

        Parameters
        ----------
        k : int, optional
            Number of its variables; by default that of all `possible_` ones, whose disjunction
            gives all labels so far if any does.

        Returns
        -------
        bound : float
            A number of mistakes.

        Raises
        ------
        ValueError
            If `k` is no integer from 1 to n_features.
        """
        state = self._state()
        if k is None:
            return self._bound(state)
        n = len(state["weights_"])
        return winnow_mistake_bound(as_count(k, "k", at_least=1, at_most=n), n)

    def _start(self):
        n = as_count(self.n_features, "n_features", at_least=1)
        return {"weights_": np.ones(n), "possible_": np.ones(n, dtype=bool)}

    def _points(self, state, X):
        return self._variables(state, as_table(X, "X"), "X")

    def _point(self, state, x, name):
        (row,) = self._variables(state, as_table([x], name), name)
        return row

    def _variables(self, state, table, name):
        n = len(state["weights_"])
        if table.shape[1] != n:
            raise ValueError(f"{name} has {table.shape[1]} variables, but n_features={n}.")
        return table == 1

    def _prediction(self, state, point):
        return int(state["weights_"][point].sum() >= len(point))

    def _learned(self, state, point, y):
        changed = {} if y else {"possible_": state["possible_"] & ~point}
        if self._prediction(state, point) != y:
            # Labels of no disjunction could halve a weight until it is 0, and so for ever.
            scaled = np.maximum(state["weights_"] * (2.0 if y else 0.5), np.finfo(np.float64).tiny)
            changed["weights_"] = np.where(point, scaled, state["weights_"])
        return changed

    def _bound(self, state):
        possible = state["possible_"]
        return winnow_mistake_bound(max(1, int(possible.sum())), len(possible))

    def _best_loss(self, state, points, targets):
        """Return 0 if some disjunction gives all labels: then that of all possible variables."""
        labels = [bool((point & state["possible_"]).any()) for point in points]
        return 0.0 if labels == [bool(y) for y in targets] else float("nan")
