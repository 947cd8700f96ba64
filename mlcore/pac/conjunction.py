"""Conjunctions of literals: those that no positive example contradicts."""

from typing import Any

import numpy as np

from mlcore.bounds import Bound
from mlcore.bounds.arguments import as_delta
from mlcore.bounds.directed_rounding import at_most_one, exact, expm1, log, up, working_digits
from mlcore.checks import as_real
from mlcore.pac.concept_classifier import ConceptClassifier
from mlcore.pac.guarantee import guarantee, vc_guarantee


class ConjunctionLearner(ConceptClassifier):
    r"""Learn a conjunction as that of all literals that no positive example contradicts.

    A literal is a variable or its negation. If some conjunction of n variables gives all labels,
    the learnt one is consistent, and errs with probability at most
    :math:`1 - e^{-(n \ln 3 + \ln(1 / \delta)) / m}`, with confidence :math:`1 - \delta` over m
    examples: that is `guarantee`.

    Parameters
    ----------
    positive : label or None, default=None
        Label of samples that satisfy the conjunction; None is the larger of the two labels.
    threshold : float, default=0.0
        Features above it are true: as it is, of 0 and 1 or of -1 and 1 the ones.

    Attributes
    ----------
    classes_ : (2,) labels
        The one of samples that do not satisfy the conjunction, then that of those that do.
    plain_, negated_ : (n_features,) arrays of bool
        Variables in the conjunction, and those whose negation is. Without positive examples they
        are all, and no sample satisfies it.
    dtype_ : {"float32", "float64"}
        Type of the training data.
    training_errors_ : int
        Negative examples that satisfy it; 0 if some conjunction gives all labels.
    n_samples_ : int
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Notes
    -----
    O(n d) time. Examples have no weights, since the guarantee counts independent ones.

    References
    ----------
    L. G. Valiant, *A theory of the learnable*, Communications of the ACM 27, 1984.

    Examples
    --------
    >>> from mlcore.pac import ConjunctionLearner
    >>> X = [[1, 0, 1], [1, 0, 0], [0, 0, 1], [1, 1, 1]]
    >>> learner = ConjunctionLearner().fit(X, [1, 1, 0, 0])
    >>> learner.plain_, learner.negated_
    (array([ True, False, False]), array([False,  True, False]))
    """

    _tags = {"classifier_tags.multi_class": False, "classifier_tags.poor_score": True}

    plain_: np.ndarray
    negated_: np.ndarray
    dtype_: str
    _stored = {"plain_": "bool f", "negated_": "bool f", "dtype_": "text"}
    _older = {"dtype_": "dtype"}

    def __init__(self, *, positive: Any = None, threshold: float = 0.0) -> None:
        self.positive = positive
        self.threshold = threshold

    def guarantee(self, delta: float) -> Bound:
        """Return a bound on the probability of an error.

        Parameters
        ----------
        delta : float in (0, 1)
            Probability that the bound fails, over the examples.

        Returns
        -------
        bound : Bound
            With errors on the training examples, that of the VC dimension, n, or 2 for one
            variable.
        """
        self._check_fitted()
        delta, m, n = as_delta(delta), self.n_samples_, self.n_features_in_
        if self.training_errors_:
            return vc_guarantee(self.training_errors_, m, max(n, 2), delta)
        with working_digits():
            rate = (n * log(3) - log(delta)) / exact(m)
            value = at_most_one(up(-expm1(-rate)))
        return guarantee(
            "consistent conjunction",
            value,
            delta,
            {"k": 0, "m": m, "n_variables": n},
            "Some conjunction gives all labels.",
            "Valiant, 1984; Blumer, Ehrenfeucht, Haussler, Warmuth, 1987.",
        )

    @property
    def _precision(self):
        return np.dtype(self.dtype_)

    def _learned(self, X, positive):
        threshold = as_real(self.threshold, "threshold", owner=type(self).__name__)
        true = X[positive] > threshold
        return {
            "plain_": true.all(axis=0),
            "negated_": ~true.any(axis=0),
            "dtype_": X.dtype.name,
        }

    def _inside(self, concept, X):
        true = X > self.threshold
        return ~(concept["plain_"] & ~true | concept["negated_"] & true).any(axis=1)
