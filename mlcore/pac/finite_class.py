"""Finite classes: the hypothesis with the fewest errors, and Occam's bound."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from mlcore.bounds import Bound, occam_bound
from mlcore.bounds.arguments import as_delta
from mlcore.bounds.certificates.classifiers import label_types
from mlcore.checks import as_labels
from mlcore.checks.arrays import as_floats, plain_array, real_array
from mlcore.estimator.model import Classifier, Model
from mlcore.pac.guarantee import guarantee

_ROUNDING = 1e-12


class FiniteClassLearner(Classifier, Model):
    r"""Choose, of hypotheses fixed before the examples, one with the fewest errors.

    With confidence :math:`1 - \delta`, whatever the labels, its probability of an error is at most
    `mlcore.bounds.occam_bound` of its errors, with the prior probability of the hypothesis: that is
    `guarantee`.

    Parameters
    ----------
    hypotheses : sequence of callables
        Functions of X that return a label for each sample. X is passed as it is given.
    log_prior : array-like of shape (n_hypotheses,) or None, default=None
        Logarithms of prior probabilities, which sum to at most 1; None is equal ones.

    Attributes
    ----------
    classes_ : (n_classes,) sorted labels of the examples
    errors_ : (n_hypotheses,) int64
        Errors of each hypothesis on the training examples.
    best_ : int
        Number of the chosen one: of those with the fewest errors that of the largest prior
        probability, the first of equal ones.
    log_prior_ : float
        Logarithm of its prior probability.
    training_errors_ : int
        Its errors.
    n_samples_ : int

    Raises
    ------
    ValueError, TypeError
        At `fit`, for hypotheses that are no functions or return something else than a label for
        each sample, and for a prior of a wrong length or sum.

    References
    ----------
    A. Blumer, A. Ehrenfeucht, D. Haussler, M. K. Warmuth, *Occam's razor*, Information Processing
    Letters 24, 1987.
    J. Langford, *Tutorial on practical prediction theory for classification*, JMLR 6, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from mlcore.pac import FiniteClassLearner
    >>> thresholds = [lambda X, t=t: np.asarray(X)[:, 0] > t for t in range(5)]
    >>> learner = FiniteClassLearner(thresholds).fit([[0.5], [1.5], [2.5], [3.5]], [0, 0, 1, 1])
    >>> learner.best_, learner.errors_
    (2, array([2, 1, 0, 1, 2]))
    >>> learner.predict([[0.7], [2.2]])
    array([False,  True])
    """

    errors_: np.ndarray
    best_: int
    log_prior_: float
    training_errors_: int
    n_samples_: int
    _stored = {
        "errors_": "int h",
        "best_": "int < h",
        "log_prior_": "float",
        "training_errors_": "count",
        "n_samples_": "count",
    }

    _no_blocks = "it learns from labelled examples one after the other: use partial_fit or fit"

    def __init__(self, hypotheses: Sequence[Callable[[Any], Any]], log_prior: Any = None) -> None:
        self.hypotheses = hypotheses
        self.log_prior = log_prior

    def fit(self, X: Any, y: Any) -> Self:
        """Count the errors of all hypotheses, and choose one.

        Parameters
        ----------
        X : container of n_samples samples, as the hypotheses take it
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
            This model.
        """
        hypotheses = self._checked_hypotheses()
        prior = self._checked_prior(len(hypotheses))
        labels = plain_array(y, "y")
        n = labels.shape[0] if labels.ndim else 0
        classes, codes = as_labels(y, n, owner=type(self).__name__)
        labels_of_rows = classes[codes]
        errors = np.array(
            [self._errors(i, X, labels_of_rows) for i in range(len(hypotheses))], dtype=np.int64
        )
        # The first of the largest prior among those with the fewest errors.
        best = int(np.lexsort((np.arange(len(errors)), -prior, errors))[0])
        self._update_state(
            {
                "classes_": classes,
                "errors_": errors,
                "best_": best,
                "log_prior_": float(prior[best]),
                "training_errors_": int(errors[best]),
                "n_samples_": n,
            }
        )
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels that the chosen hypothesis gives.

        Parameters
        ----------
        X : container of samples, as the hypotheses take it

        Returns
        -------
        labels : (n_samples,)
            One for each sample.
        """
        self._check_fitted()
        return self._labels(self.best_, X, None)

    def guarantee(self, delta: float) -> Bound:
        """Return a bound on the probability of an error.

        Parameters
        ----------
        delta : float in (0, 1)
            Probability that the bound fails, over the examples.

        Returns
        -------
        bound : Bound
            With its assumptions and source.
        """
        self._check_fitted()
        delta, k, m = as_delta(delta), self.training_errors_, self.n_samples_
        return guarantee(
            "Occam's bound",
            occam_bound(k, m, delta, log_prior=min(0.0, self.log_prior_)),
            delta,
            {"k": k, "m": m, "log_prior": self.log_prior_},
            "Hypotheses and prior were fixed before the examples.",
            "Blumer, Ehrenfeucht, Haussler, Warmuth, 1987; Langford, 2005, Theorem 4.1.",
        )

    def _checked_hypotheses(self):
        try:
            hypotheses = list(self.hypotheses)
        except TypeError:
            hypotheses = []
        wrong = [h for h in hypotheses if not callable(h)]
        if not hypotheses or wrong:
            shown = repr(wrong[0]) if wrong else repr(self.hypotheses)
            raise TypeError(
                f"hypotheses={shown[:60]} must be a sequence of one function of X or more."
            )
        return hypotheses

    def _checked_prior(self, n):
        if self.log_prior is None:
            return np.full(n, -math.log(n))
        prior = as_floats(real_array(self.log_prior, "log_prior"), np.float64)
        if prior.shape != (n,):
            raise ValueError(f"log_prior has shape {prior.shape}, but must have shape ({n},).")
        with np.errstate(over="ignore"):
            total = float(np.exp(prior).sum())
        if not total <= 1 + _ROUNDING:
            raise ValueError(
                f"log_prior has probabilities that sum to {total:.6g}, but they must sum to at "
                "most 1."
            )
        return prior

    def _errors(self, i, X, y):
        """Return the number of errors of a hypothesis; its labels must be of the type of y."""
        labels = self._labels(i, X, len(y))
        returned, expected = label_types(labels), label_types(y)
        if not returned & expected:
            returned, expected = (" and ".join(sorted(types)) for types in (returned, expected))
            raise ValueError(
                f"hypotheses[{i}] returned labels of type {returned}, but must return labels of "
                f"the type of y, which is {expected}."
            )
        return np.count_nonzero(labels != y)

    def _labels(self, i, X, n):
        labels = plain_array(self.hypotheses[i](X), f"what hypotheses[{i}] returned")
        if labels.dtype.kind == "f" and np.isnan(labels).any():
            raise ValueError(f"hypotheses[{i}] returned NaN, but must return labels.")
        if labels.ndim != 1 or (n is not None and len(labels) != n):
            raise ValueError(
                f"hypotheses[{i}] returned shape {labels.shape}, but must return one label for "
                "each sample."
            )
        return labels
