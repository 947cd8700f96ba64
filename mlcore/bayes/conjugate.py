"""Parameters with conjugate priors: posteriors of the same family, in closed form."""

import math
from typing import Any, Self

import numpy as np
from scipy.special import betaincinv, betaln, gammaln, ndtri

from mlcore.checks import as_real
from mlcore.checks.arrays import real_array
from mlcore.entropy.entropies import non_negative
from mlcore.estimator.printed import fields_as_table

_MANY = 1e300  # cases, whose factorials have no finite logarithm
_LARGE = 1e150  # values, whose squares overflow


class BetaBernoulli:
    """Probability of success with a beta prior.

    Parameters
    ----------
    a, b : float, default=1.0
        Positive parameters of the beta distribution, which `update` changes: one more than the
        successes and failures that the prior is worth. 1 and 1 is uniform.

    Attributes
    ----------
    a, b : float
    log_evidence : float
        Logarithm of the probability of all outcomes so far, in their order, under the prior.

    Examples
    --------
    >>> from mlcore.bayes import BetaBernoulli
    >>> rate = BetaBernoulli().update(successes=7, failures=1)
    >>> rate.mean, round(rate.mode, 6)
    (0.8, 0.875)
    >>> [round(end, 4) for end in rate.interval(0.9)]
    [0.5709, 0.959]
    """

    a: float
    b: float
    log_evidence: float

    __repr__ = fields_as_table

    def __init__(self, a: float = 1.0, b: float = 1.0) -> None:
        self.a = as_real(a, "a", above=0)
        self.b = as_real(b, "b", above=0)
        self.log_evidence = 0.0

    def update(self, successes: float = 0, failures: float = 0) -> Self:
        """Learn from outcomes, given by their numbers; weighted ones may be fractional.

        Parameters
        ----------
        successes : float, default=0
            How many.
        failures : float, default=0
            How many.

        Returns
        -------
        self
            This model.
        """
        s = as_real(successes, "successes", at_least=0)
        f = as_real(failures, "failures", at_least=0)
        gain = self._log_probability(s, f)
        self.__dict__ |= {
            "a": self.a + s,
            "b": self.b + f,
            "log_evidence": self.log_evidence + gain,
        }
        return self

    @property
    def mean(self) -> float:
        """Mean of the probability of success."""
        return self.a / (self.a + self.b)

    @property
    def mode(self) -> float:
        """Most probable value, NaN if there is more than one."""
        if self.a <= 1 and self.b <= 1:
            return math.nan
        return min(1.0, max(0.0, (self.a - 1) / (self.a + self.b - 2)))

    def predictive(self, successes: float = 1, failures: float = 0) -> float:
        """Return the probability of further outcomes in a given order.

        Parameters
        ----------
        successes : float, default=1
            How many.
        failures : float, default=0
            How many.

        Returns
        -------
        probability : float
            Of these outcomes, in an order.
        """
        s = as_real(successes, "successes", at_least=0)
        f = as_real(failures, "failures", at_least=0)
        return math.exp(self._log_probability(s, f))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the ends of the interval of this probability, with equal tails.

        Parameters
        ----------
        level : float in (0, 1), default=0.95
            Probability that the interval holds.

        Returns
        -------
        lower, upper : float
            Ends of the interval.
        """
        tail = _tail(level)
        low, high = betaincinv(self.a, self.b, [tail, 1 - tail])
        return float(low), float(high)

    def _log_probability(self, s, f):
        return float(betaln(self.a + s, self.b + f) - betaln(self.a, self.b))


class DirichletCategorical:
    """Probabilities of k categories with a Dirichlet prior.

    Parameters
    ----------
    concentration : array-like of shape (k,)
        Positive parameters, which `update` changes: one more than the number of cases of each
        category that the prior is worth. Ones are uniform.

    Attributes
    ----------
    concentration : (k,) array
    log_evidence : float
        Logarithm of the probability of all cases so far, in their order, under the prior.

    Examples
    --------
    >>> from mlcore.bayes import DirichletCategorical
    >>> colours = DirichletCategorical([1, 1, 1]).update([3, 0, 4])
    >>> colours.mean
    array([0.4, 0.1, 0.5])
    """

    log_evidence: float

    __repr__ = fields_as_table

    def __init__(self, concentration: Any) -> None:
        c = non_negative(concentration, "concentration")
        if c.ndim != 1 or c.min() <= 0:
            raise ValueError(f"concentration={concentration!r} must be (k,) positive numbers.")
        self.concentration = c
        self.log_evidence = 0.0

    def update(self, counts: Any) -> Self:
        """Learn from the numbers of cases of each category, (k,).

        Parameters
        ----------
        counts : array-like of shape (k,)

        Returns
        -------
        self
            This model.
        """
        counts = self._counts(counts)
        gain = self._log_probability(counts)
        self.__dict__ |= {
            "concentration": self.concentration + counts,
            "log_evidence": self.log_evidence + gain,
        }
        return self

    @property
    def mean(self) -> np.ndarray:
        """Mean probabilities, (k,)."""
        return self.concentration / self.concentration.sum()

    @property
    def mode(self) -> np.ndarray:
        """Most probable probabilities, (k,): NaN if there are more than one."""
        above = np.maximum(self.concentration - 1, 0)
        if not above.any() or (self.concentration < 1).any():
            return np.full(len(above), np.nan)
        return above / above.sum()

    def predictive(self, counts: Any) -> float:
        """Return the probability of further cases, given by their numbers (k,), in an order.

        Parameters
        ----------
        counts : array-like of shape (k,)

        Returns
        -------
        probability : float
            Of these cases, in an order.
        """
        return math.exp(self._log_probability(self._counts(counts)))

    def interval(self, level: float = 0.95) -> np.ndarray:
        """Return the ends (k, 2) of the interval of each probability alone, with equal tails.

        Parameters
        ----------
        level : float in (0, 1), default=0.95
            Probability that the interval holds.

        Returns
        -------
        ends : (k, 2) float64
            Lower and upper end for each category.
        """
        tail = _tail(level)
        rest = self.concentration.sum() - self.concentration
        if len(rest) == 1:
            return np.ones((1, 2))
        return np.stack([betaincinv(self.concentration, rest, t) for t in (tail, 1 - tail)], axis=1)

    def _counts(self, counts):
        counts = non_negative(counts, "counts")
        if counts.shape != self.concentration.shape:
            raise ValueError(
                f"counts has shape {counts.shape}, but there are {len(self.concentration)} "
                "categories."
            )
        with np.errstate(over="ignore"):
            total = (self.concentration + counts).sum()
        if not total < _MANY:
            raise ValueError(f"counts must sum to less than {_MANY:g}, but sum to {total:g}.")
        return counts

    def _log_probability(self, counts):
        before, after = self.concentration, self.concentration + counts
        total = gammaln(before.sum()) - gammaln(after.sum())
        return float(total + (gammaln(after) - gammaln(before)).sum())


class NormalMean:
    """Mean of normal values of known variance, with a normal prior.

    Parameters
    ----------
    mean : float, default=0.0
    variance : float, default=1.0
        Of the prior, positive.
    noise_variance : float, default=1.0
        Of a value around the mean, positive.

    Attributes
    ----------
    mean, variance : float
        Of the mean, after the values so far.
    noise_variance : float
    log_evidence : float
        Logarithm of the density of all values so far under the prior.

    Examples
    --------
    >>> from mlcore.bayes import NormalMean
    >>> level = NormalMean(0.0, 4.0, noise_variance=1.0).update([2.0, 2.5])
    >>> level.mean, round(level.variance, 4)
    (2.0, 0.4444)
    """

    mean: float
    variance: float
    noise_variance: float
    log_evidence: float

    __repr__ = fields_as_table

    def __init__(
        self, mean: float = 0.0, variance: float = 1.0, noise_variance: float = 1.0
    ) -> None:
        self.mean = as_real(mean, "mean")
        self.variance = as_real(variance, "variance", above=0)
        self.noise_variance = as_real(noise_variance, "noise_variance", above=0)
        self.log_evidence = 0.0

    def update(self, values: Any) -> Self:
        """Learn from one value or several.

        Parameters
        ----------
        values : float or array-like of shape (n,)

        Returns
        -------
        self
            This model.
        """
        number = isinstance(values, (int, float))
        y = np.atleast_1d(real_array([values] if number else values, "values").astype(np.float64))
        if y.ndim != 1 or not (abs(y) < _LARGE).all():
            raise ValueError(
                f"values must be finite numbers below {_LARGE:g}, one or several, but have shape "
                f"{y.shape} and a largest magnitude of {abs(y).max(initial=0):g}."
            )
        if not len(y):
            return self
        n, noise = len(y), self.noise_variance
        center, mean_variance = float(y.mean()), noise / n
        distance, share = center - self.mean, 1 / (1 + mean_variance / self.variance)
        squares = float(((y - center) ** 2).sum()) / noise
        squares += distance * distance / (mean_variance + self.variance)
        logs = n * (math.log(2 * math.pi) + math.log(noise))
        logs += float(np.logaddexp(0.0, math.log(self.variance) - math.log(mean_variance)))
        self.__dict__ |= {
            "mean": self.mean + share * distance,
            "variance": share * mean_variance,
            "log_evidence": self.log_evidence - (squares + logs) / 2,
        }
        return self

    @property
    def mode(self) -> float:
        """Most probable mean, which is `mean`."""
        return self.mean

    def predictive(self) -> tuple[float, float]:
        """Return mean and variance of the next value, which is normal.

        Returns
        -------
        mean, variance : float
            Of the next value.
        """
        return self.mean, self.variance + self.noise_variance

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the ends of the interval of this probability around the mean.

        Parameters
        ----------
        level : float in (0, 1), default=0.95
            Probability that the interval holds.

        Returns
        -------
        lower, upper : float
            Ends of the interval.
        """
        half = -float(ndtri(_tail(level))) * math.sqrt(self.variance)
        return self.mean - half, self.mean + half


def _tail(level):
    return (1 - as_real(level, "level", above=0, below=1)) / 2
