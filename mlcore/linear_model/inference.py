"""Standard errors, tests and intervals of the coefficients of a regression."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from mlcore.checks import as_real


class LikelihoodRatio(NamedTuple):
    """Test that no feature matters: the model against the one of the intercept alone.

    Parameters
    ----------
    statistic : float or (k,)
        Twice the difference of the log likelihoods; chi-squared with `degrees_of_freedom` if no
        feature matters and samples are many.
    degrees_of_freedom : int
    p_value : float or (k,)

    Examples
    --------
    >>> from mlcore.linear_model import LinearRegression
    >>> found = LinearRegression().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 3.0]).inference()
    >>> round(found.likelihood_ratio.statistic, 4)
    9.9966
    """

    statistic: Any
    degrees_of_freedom: int
    p_value: Any

    @classmethod
    def of(cls, statistic: Any, degrees_of_freedom: int) -> "LikelihoodRatio":
        """Return the test of a statistic.

        Parameters
        ----------
        statistic : array-like
        degrees_of_freedom : int
        """
        p_value = 1.0 if not degrees_of_freedom else special.chdtrc(degrees_of_freedom, statistic)
        return cls(statistic, degrees_of_freedom, plain(p_value + 0 * statistic))


@dataclass(frozen=True, eq=False, repr=False)
class Inference:
    """Estimates of a regression with their standard errors and tests.

    Printed, it is a table. With p parameters, the coefficients in the order of the features and the
    intercept last:

    Parameters
    ----------
    names : tuple of str
        Of the p parameters.
    estimates : (p,) or (k, p)
        One row for each of k targets, or for each class but the first.
    standard_errors : (p,) or (k, p)
        Infinite for a parameter that the data do not determine.
    z : (p,) or (k, p)
        Estimates over standard errors.
    p_values : (p,) or (k, p)
        Probabilities of a z at least so far from 0 if the parameter is 0.
    covariance : (p, p), (k, p, p) or (k p, k p)
        Of the estimates.
    log_likelihood : float or (k,)
    deviance, null_deviance : float or (k,)
        Of the model, and of the one without features; for a linear model sums of squared residuals.
    aic, bic : float or (k,)
        ``-2 log_likelihood`` plus 2, or ln W, for each parameter that the data determine.
    likelihood_ratio : LikelihoodRatio
    degrees_of_freedom : float
        Of the t distribution of z; infinite for the normal distribution.
    groups : tuple of str
        Names of the k targets or classes; empty if there is one.
    n_samples : float
        Sum of the weights of the samples, W.
    classes : tuple of str
        Of a logistic regression: parameters are those of each class less those of the first.

    Examples
    --------
    >>> from mlcore.linear_model import LinearRegression
    >>> found = LinearRegression().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 3.0]).inference()
    >>> found.standard_errors.round(4)
    array([0.2887, 0.3727])
    """

    names: tuple[str, ...]
    estimates: np.ndarray
    standard_errors: np.ndarray
    z: np.ndarray
    p_values: np.ndarray
    covariance: np.ndarray
    log_likelihood: Any
    deviance: Any
    null_deviance: Any
    aic: Any
    bic: Any
    likelihood_ratio: LikelihoodRatio
    degrees_of_freedom: float
    groups: tuple[str, ...] = ()
    n_samples: float = 0.0
    classes: tuple[str, ...] = ()

    def confidence_interval(self, level: float = 0.95) -> np.ndarray:
        """Return lower and upper ends, (p, 2) or (k, p, 2), that hold a parameter each.

        Each interval misses its parameter with probability ``1 - level``; not all at once.

        Parameters
        ----------
        level : float in (0, 1), default=0.95

        Returns
        -------
        ends : (p, 2) or (k, p, 2) float64
            Infinite where the data do not determine a parameter.
        """
        level = as_real(level, "level", above=0, below=1)
        tail = (1 - level) / 2
        if np.isinf(self.degrees_of_freedom):
            reach = -special.ndtri(tail)
        else:
            reach = -special.stdtrit(self.degrees_of_freedom, tail)
        half = reach * self.standard_errors
        return np.stack((self.estimates - half, self.estimates + half), axis=-1)

    def __str__(self) -> str:
        letter = "z" if np.isinf(self.degrees_of_freedom) else "t"
        width = max(12, *map(len, self.names))
        head = f"{'':{width}}{'estimate':>13}{'s.e.':>13}{letter:>10}{'p':>11}{'95% from':>13}"
        lines = [f"{head}{'to':>13}"]
        ends = self.confidence_interval()
        for index in np.ndindex(self.estimates.shape[:-1]):
            if index:
                lines.append(self.groups[index[0]])
            for j, name in enumerate(self.names):
                at = (*index, j)
                low, high = ends[at]
                lines.append(
                    f"{name:{width}}{self.estimates[at]:13.6g}{self.standard_errors[at]:13.6g}"
                    f"{self.z[at]:10.4g}{self.p_values[at]:11.3g}{low:13.6g}{high:13.6g}"
                )
        return "\n".join([*lines, *self._summary()])

    def _summary(self) -> list[str]:
        """Return the lines below the table: samples, fit and what parameters are about."""
        test = self.likelihood_ratio
        return [
            f"n = {self.n_samples:g}, log-likelihood {self.log_likelihood:.6g}, likelihood ratio "
            f"{test.statistic:.4g} ({test.degrees_of_freedom} d.f.), p {test.p_value:.3g}",
            f"log odds of {', '.join(self.classes[1:])} against {self.classes[0]}",
        ]

    __repr__ = __str__


def two_sided(
    estimates: np.ndarray, standard_errors: np.ndarray, degrees_of_freedom: float = np.inf
) -> tuple[np.ndarray, np.ndarray]:
    """Return estimates over standard errors, and their two-sided p values; 0 and 1 where both are
    0 or an error is infinite.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(estimates == 0, 0.0, estimates / standard_errors) + 0.0
    size = -np.abs(z)
    if np.isinf(degrees_of_freedom):
        return z, 2 * special.ndtr(size)
    p_values = 2 * special.stdtr(degrees_of_freedom, size)
    return z, np.where(np.isinf(z), 0.0, p_values)


def plain(value: Any) -> Any:
    """Return a float for an array without axes."""
    return float(value) if np.ndim(value) == 0 else value


def parameter_names(model: Any, fit_intercept: bool) -> tuple[str, ...]:
    """Return the names of a model's features, x0, x1 ... if unknown, and of its intercept."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = [f"x{j}" for j in range(model.n_features_in_)]
    return (*map(str, names), *(["intercept"] if fit_intercept else []))
