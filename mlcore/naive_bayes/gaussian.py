"""Naive Bayes for numbers: normal distributions of every feature in each class."""

from typing import Any, NamedTuple

import numpy as np

from mlcore.checks import as_real
from mlcore.checks.missing import Missing
from mlcore.checks.stored import stored
from mlcore.naive_bayes.class_moments import (
    ClassMoments,
    MomentUnits,
    class_moments,
    merged_class_moments,
    moments_of_classes,
    of_all_classes,
    scaled,
    unit_powers,
)
from mlcore.naive_bayes.naive_bayes import Likelihood, NaiveBayes

_VALUES = 1 << 16  # terms of a block of scores, which stay in the cache


@stored(version=1)
class NormalDensities(NamedTuple):
    """Normal distributions of the features in each class, in the units of the moments, (c, d).

    `varies` (d,) is False for features constant in all rows, which are left out.
    """

    means: np.ndarray
    variances: np.ndarray
    varies: np.ndarray
    _stored = {"means": "float64 c f", "variances": "float64 c f", "varies": "bool f"}


def _older_moments(sums, units):
    return ClassMoments(*sums[:5], units.power)


class GaussianNB(NaiveBayes):
    r"""Classify rows of numbers, normal and independent given the class.

    A row goes to the class of the largest

    .. math:: \ln \pi_c - \tfrac12 \sum_j \Bigl( \ln 2 \pi v_{cj}
        + \frac{(x_j - m_{cj})^2}{v_{cj}} \Bigr)

    with the mean m and the variance v of each feature in each class. Units of features do not
    matter.

    Parameters
    ----------
    var_smoothing : float, default=1e-9
        This share of the variance of a feature over all rows is added to its variance in each
        class. With 0, a feature that is constant in one class but not in all is refused.
    missing : {"error", "ignore"}, default="error"
        Whether NaN is refused, or a missing value, which is in no sum and no score. A class that
        knows no value of a feature takes mean and variance of all.
    class_prior, fit_prior : as in `MultinomialNB`

    Attributes
    ----------
    classes_ : (n_classes,) sorted labels
    class_count_ : (n_classes,) float64
        Weight of the rows.
    class_prior_ : (n_classes,) float64
        0 for a class without rows.
    class_log_prior_ : (n_classes,) float64
    theta_ : (n_classes, n_features) float64
        Means.
    var_ : (n_classes, n_features) float64
        Variances, `epsilon_` included. They divide by the weight, not by the weight less 1.
    epsilon_ : (n_features,) float64
        What is added to the variances; 0 for a feature that is constant over all rows, which is
        left out: it tells nothing of the classes.
    origin_ : (n_features,) float64
        Point near the first rows, from which sums are taken.
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Notes
    -----
    A fit takes one reading of X, of O(n_samples n_features) time, and is a `RowSums`: weights,
    means and scatters of blocks are merged, also with classes that other blocks lack.

    References
    ----------
    T. Chan, G. Golub, R. LeVeque, *Updating formulae and a pairwise algorithm for computing sample
    variances*, COMPSTAT, 1982.

    Examples
    --------
    >>> from mlcore.datasets import load_iris
    >>> from mlcore.naive_bayes import GaussianNB
    >>> X, y = load_iris()
    >>> model = GaussianNB().fit(X, y)
    >>> int((model.predict(X) != y).sum())
    6
    >>> model.theta_[0]
    array([5.006, 3.428, 1.462, 0.246])
    """

    _Statistics = ClassMoments

    class_prior_: np.ndarray
    theta_: np.ndarray
    var_: np.ndarray
    epsilon_: np.ndarray
    origin_: np.ndarray
    _sums_: ClassMoments
    _units_: MomentUnits
    _solution_: NormalDensities
    _stored = {
        "class_prior_": "float64 c",
        "theta_": "float64 c f",
        "var_": "float64 c f",
        "epsilon_": "float64 f",
        "origin_": "float f",
        "_sums_": ClassMoments,
        "_units_": MomentUnits,
        "_solution_": NormalDensities,
    }
    _older = {
        "_units_": (MomentUnits, "origin_", "power"),
        "_solution_": (NormalDensities, "means", "variances", "varies"),
        "_sums_": (_older_moments, "statistics", "_units_"),
    }

    _instead = {
        "priors": "use class_prior=",
    }

    def __init__(
        self,
        *,
        var_smoothing: float = 1e-9,
        missing: Missing = "error",
        class_prior: Any = None,
        fit_prior: bool = True,
    ) -> None:
        self.var_smoothing = var_smoothing
        self.missing = missing
        self.class_prior = class_prior
        self.fit_prior = fit_prior

    def merge(self, a: ClassMoments, b: ClassMoments) -> ClassMoments:
        """Return the moments of the rows of both; classes that only one of them has are kept.

        Parameters
        ----------
        a, b : ClassMoments
            Sums over different rows.

        Returns
        -------
        statistics : ClassMoments
            Their sums.
        """
        return merged_class_moments(a, b)

    def _settings(self):
        settings, owner = super()._settings(), type(self).__name__
        smoothing = as_real(self.var_smoothing, "var_smoothing", owner=owner, at_least=0)
        return settings._replace(var_smoothing=float(smoothing))

    def _check_X(self, X, **how):
        return super()._check_X(X, **how | {"check_finite": True})

    def _begun(self, X):
        """The origin is the mean of the first rows, the unit 1 unless squares may leave the range.

        Then it is a power of two near the range of the first rows, which later rows may raise.
        """
        if self.missing == "error":
            origin = X.mean(axis=0, dtype=np.float64)
        else:
            present = ~np.isnan(X)
            shares = np.where(present, X, 0.0) / np.maximum(present.sum(axis=0), 1)
            origin = shares.sum(axis=0, dtype=np.float64)
        return {"origin_": origin, "_units_": MomentUnits(origin, unit_powers(X, origin))}

    def _sums(self, X, classes, codes, weights, checked):
        if not hasattr(self, "origin_"):
            self._update_state(self._begun(X))
        return class_moments(X, classes, codes, weights, self._units_)

    def _solved(self, statistics, settings):
        solved = super()._solved(statistics, settings)
        return solved | {"class_prior_": np.exp(solved["class_log_prior_"])}

    def _solve(self, statistics, settings):
        known, means, scatters, power = statistics[2:]
        weight, mean, scatter = of_all_classes(statistics)
        overall = scatter / np.maximum(weight, np.finfo(float).tiny)
        present = known > 0
        variances = np.where(present, scatters / np.where(present, known, 1.0), overall)
        means = np.where(present, means, mean)
        epsilon = settings.var_smoothing * overall
        varies = overall > 0
        variances = variances + epsilon
        self._require_variances(variances[:, varies], varies)
        power = np.zeros(means.shape[1], np.int64) + power
        with np.errstate(over="ignore", under="ignore"):
            return {
                "theta_": self.origin_ + np.ldexp(means, power),
                "var_": np.ldexp(variances, 2 * power),
                "epsilon_": np.ldexp(epsilon, 2 * power),
                "_units_": MomentUnits(self.origin_, power),
                "_solution_": NormalDensities(means, np.where(varies, variances, 1.0), varies),
            }

    def _require_variances(self, variances, varies):
        """Refuse a class without variance, of which no density is left."""
        if variances.all():
            return
        k, j = np.argwhere(variances == 0)[0].tolist()  # one without rows has that of all
        raise ValueError(
            f"{type(self).__name__}: feature {np.flatnonzero(varies)[j]} is constant in class "
            f"number {k}, so that with var_smoothing={self.var_smoothing:g} its variance is 0: "
            "use a larger var_smoothing."
        )

    def _with_classes(self, statistics, classes):
        return moments_of_classes(statistics, classes)

    def _log_likelihood(self, X):
        origin, power = self._units_
        means, variances, varies = self._solution_
        if not varies.all():
            X, origin, power = X[:, varies], origin[varies], power[varies]
            means, variances = means[:, varies], variances[:, varies]
        constants = np.log(variances)
        constants += np.log(2 * np.pi) + 2 * np.log(2) * power
        scores = np.empty((len(X), len(means)))
        step = max(1, _VALUES // max(1, means.size))
        for first in range(0, len(X), step):
            rows = slice(first, first + step)
            terms = scaled(X[rows], origin, power)[:, None] - means
            np.square(terms, out=terms)
            terms /= variances
            if self.missing == "ignore":
                terms += constants
                terms[np.isnan(terms)] = 0
            terms.sum(axis=2, out=scores[rows])
        if self.missing == "error":
            scores += constants.sum(axis=1)
        scores *= -0.5
        return Likelihood(scores, None)
