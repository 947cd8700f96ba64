"""Boxes: the tightest one around the positive examples."""

from typing import Any

import numpy as np

from mlcore.bounds import Bound
from mlcore.bounds.arguments import as_delta
from mlcore.bounds.directed_rounding import at_most_one, exact, expm1, log, up, working_digits
from mlcore.pac.concept_classifier import ConceptClassifier
from mlcore.pac.guarantee import guarantee, vc_guarantee


class RectangleLearner(ConceptClassifier):
    r"""Learn an axis-parallel box as the tightest one around the positive examples.

    If some box gives all labels, the learnt one is inside it, and errs with probability at most
    :math:`2d (1 - (\delta / 2d)^{1/m})`, with confidence :math:`1 - \delta` over m examples in d
    dimensions: that is `guarantee`.

    Parameters
    ----------
    positive : label or None, default=None
        Label inside the box; None is the larger of the two labels.

    Attributes
    ----------
    classes_ : (2,) labels
        The one outside, then the one inside.
    lower_, upper_ : (n_features,) arrays in the type of the training data
        Ends of the box, both of which are inside. Without positive examples the box is empty: inf
        and -inf.
    training_errors_ : int
        Negative examples in the box; 0 if some box gives all labels.
    n_samples_ : int
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Notes
    -----
    O(n d) time. Examples have no weights, since the guarantee counts independent ones.

    References
    ----------
    M. J. Kearns, U. V. Vazirani, *An Introduction to Computational Learning Theory*, 1994, section
    1.1.

    Examples
    --------
    >>> from mlcore.pac import RectangleLearner
    >>> learner = RectangleLearner().fit([[0, 0], [1, 2], [2, 1], [3, 3]], [0, 1, 1, 0])
    >>> learner.lower_, learner.upper_
    (array([1., 1.]), array([2., 2.]))
    >>> learner.predict([[1.5, 1.5], [0.5, 1.5]])
    array([1, 0])
    """

    lower_: np.ndarray
    upper_: np.ndarray
    _stored = {"lower_": "float f", "upper_": "float f"}

    def __init__(self, *, positive: Any = None) -> None:
        self.positive = positive

    def guarantee(self, delta: float) -> Bound:
        """Return a bound on the probability of an error.

        Parameters
        ----------
        delta : float in (0, 1)
            Probability that the bound fails, over the examples.

        Returns
        -------
        bound : Bound
            With errors on the training examples, that of the VC dimension, 2d.
        """
        self._check_fitted()
        delta, m, faces = as_delta(delta), self.n_samples_, 2 * self.n_features_in_
        if self.training_errors_:
            return vc_guarantee(self.training_errors_, m, faces, delta)
        with working_digits():
            rate = (log(delta) - log(faces)) / exact(m)
            value = at_most_one(up(-faces * expm1(rate)))
        return guarantee(
            "tightest box",
            value,
            delta,
            {"k": 0, "m": m, "d": self.n_features_in_},
            "Some box gives all labels.",
            "Kearns, Vazirani, 1994, section 1.1.",
        )

    @property
    def _precision(self):
        return self.lower_

    def _learned(self, X, positive):
        inside = X[positive]
        return {
            "lower_": inside.min(axis=0, initial=np.inf),
            "upper_": inside.max(axis=0, initial=-np.inf),
        }

    def _inside(self, concept, X):
        return ((concept["lower_"] <= X) & (concept["upper_"] >= X)).all(axis=1)
