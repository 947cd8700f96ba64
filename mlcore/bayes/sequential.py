"""Bayes' rule observation by observation: the posterior of one is the prior of the next."""

from typing import Any, Self

import numpy as np

from mlcore.bayes.posterior import posterior
from mlcore.checks import as_bool
from mlcore.checks.arrays import real_array
from mlcore.entropy.entropies import as_distributions
from mlcore.estimator.printed import fields_as_table


class SequentialBayes:
    """Probabilities of hypotheses, changed by each observation.

    Kept as logarithms, so that any number of observations neither underflows nor depends on its
    order.

    Parameters
    ----------
    prior : array-like of shape (k,)
        Non-negative; scaled to sum 1.

    Attributes
    ----------
    log_probabilities : (k,) array
        -inf for a hypothesis that is impossible.
    log_evidence : float
        Logarithm of the probability of all observations together under the prior.
    n_updates : int

    Raises
    ------
    ValueError
        For a prior, or an observation, that is impossible under every hypothesis, and for values
        that are no probabilities. A refused observation changes nothing.

    Examples
    --------
    A coin is fair with probability 3/4, else it shows heads six times in ten. It shows heads twice:

    >>> from mlcore.bayes import SequentialBayes
    >>> coin = SequentialBayes([0.75, 0.25])
    >>> coin.update([0.5, 0.6]).probabilities.round(4)
    array([0.7143, 0.2857])
    >>> coin.update([0.5, 0.6]).probabilities.round(4)
    array([0.6757, 0.3243])
    """

    log_probabilities: np.ndarray
    log_evidence: float

    __repr__ = fields_as_table

    def __init__(self, prior: Any) -> None:
        p = as_distributions(prior, "prior")
        if p.ndim != 1:
            raise ValueError(f"prior has shape {p.shape}, but must be (k,).")
        with np.errstate(divide="ignore"):
            self.log_probabilities = np.log(p)
        self.log_evidence = 0.0
        self.n_updates = 0

    @property
    def probabilities(self) -> np.ndarray:
        """Probabilities of the hypotheses now, (k,)."""
        return np.exp(self.log_probabilities)

    def update(self, likelihood: Any, *, log: bool = False) -> Self:
        """Learn from an observation.

        Parameters
        ----------
        likelihood : array-like of shape (k,)
            Probability, or density, of the observation under each hypothesis.
        log : bool, default=False
            `likelihood` holds natural logarithms.

        Returns
        -------
        self
            This model.
        """
        values = real_array(likelihood, "likelihood").astype(np.float64)
        if values.shape != self.log_probabilities.shape:
            raise ValueError(
                f"likelihood has shape {values.shape}, but there are "
                f"{len(self.log_probabilities)} hypotheses."
            )
        if not as_bool(log, "log"):
            posterior(np.ones(len(values)), values)  # checks it
            with np.errstate(divide="ignore"):
                values = np.log(values)
        after = posterior(self.log_probabilities, values, log=True)
        best = int(after.argmax())
        gain = self.log_probabilities[best] + values[best] - after[best]
        state = {
            "log_probabilities": after,
            "log_evidence": self.log_evidence + float(gain),
            "n_updates": self.n_updates + 1,
        }
        self.__dict__ |= state
        return self
