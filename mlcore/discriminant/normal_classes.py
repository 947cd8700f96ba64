"""Classifiers by normal distributions, which follow from sums over the rows of each class."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from scipy import linalg
from scipy.special import expit

from mlcore.checks import as_labels, as_weights
from mlcore.checks.probabilities import as_priors
from mlcore.discriminant.class_scatters import (
    ClassRows,
    ClassScatters,
    class_scatters,
    merged_classes,
)
from mlcore.discriminant.known_parameters import as_parameters
from mlcore.estimator.model import Classifier, Model, warn
from mlcore.numerics.scatter import (
    Scatter,
    larger_powers,
    origin_of,
    powers_of_two,
    require_in_units,
)
from mlcore.numerics.scores.log_softmax import log_softmax, softmax
from mlcore.row_sums import OnePass
from mlcore.row_sums import partial_fit as partial_fit_of_classes
from mlcore.runtime.threads import single_threaded_blas

_EXPONENT = {4: 28, 8: 230}  # by bytes of a number: larger powers of two are taken out of the data
_BEGUN = ("n_features_in_", "feature_names_in_", "origin_", "_units_")  # what `begin` sets


class NormalClasses(OnePass, Classifier, Model):
    """Base of models with scores: log posterior probabilities up to a term of each sample.

    They follow from the `ClassScatters` of all rows.
    """

    priors: Any
    shrinkage: Any
    priors_: np.ndarray
    means_: np.ndarray
    origin_: np.ndarray
    _units_: np.ndarray  # int (d,): the sums are those of 2^-units x
    _sums_: ClassScatters | None
    _result = "means_"
    partial_fit = partial_fit_of_classes  # a method, not one more class above
    _Statistics = ClassScatters
    _stored = {
        "priors_": "float64 c",
        "origin_": "float f",
        "_units_": "int f",
        "_sums_": ClassScatters,
    }

    @abstractmethod
    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores, (n_samples, n_classes), or (n_samples,) for two classes."""

    @abstractmethod
    def _settings(self) -> Any:
        """Return the parameters, checked."""

    @abstractmethod
    def _estimated(
        self, sums: ClassScatters, settings: Any, origin: np.ndarray, power: np.ndarray
    ) -> dict[str, Any]:
        """Return the attributes that follow from the sums of ``2^-power (x - origin)``."""

    @classmethod
    def _of_parameters(cls, means, covariances, priors, classes, name):
        model, means, covariances, classes = as_parameters(
            cls, means, covariances, priors, classes, name
        )
        model._set_fitted(means, **model._state_of(means, covariances, classes))
        return model

    # ---- predictions

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of the largest posterior probability.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        labels : (n_samples,)
            One of `classes_` for each sample.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return self.classes_[(scores > 0).astype(np.intp)]
        return self.classes_[scores.argmax(axis=1)]

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return logarithms of the posterior probabilities.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        log_probabilities : (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return -np.logaddexp(0, np.column_stack([scores, -scores]))
        return log_softmax(scores)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return posterior probabilities of the classes.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        probabilities : (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return expit(np.column_stack([-scores, scores]))
        return softmax(scores)

    # ---- priors

    def _checked_priors(self, shares):
        """Return the priors, checked; for None these shares of weight."""
        if self.priors is None:
            return shares
        owner = type(self).__name__
        priors = as_priors(self.priors, "priors", owner)
        if priors.shape != shares.shape:
            raise ValueError(
                f"{owner}: priors has shape {priors.shape}, but must hold one probability for "
                f"each of the {len(shares)} classes."
            )
        largest = float(priors.max())
        total = largest * float((priors / largest).sum())
        if abs(total - 1) > 1e-5:
            warn("UserWarning", f"{owner}: priors sum to {total:g}, and are divided by it.")
        return self._priors_from(shares)

    def _priors_from(self, shares):
        """Return the priors, which have been checked."""
        if self.priors is None:
            return shares
        priors = np.asarray(self.priors, np.float64)
        priors = priors / priors.max()
        return priors / priors.sum()

    # ---- fits by sums over blocks of rows

    def _powers(self, X, origin, settings):
        """Return powers of two of the largest deviations, 0 where squares are in range."""
        power = powers_of_two(X, origin).astype(np.int64)
        power[np.abs(power) <= _EXPONENT[X.dtype.itemsize]] = 0
        return power

    def begin(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Set the origin and the powers of two, to which the sums refer, from first rows.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
            This model.
        """
        settings = self._settings()
        checked = self._check_X(X, reset=True)
        origin = origin_of(checked)
        power = self._powers(checked, origin, settings)
        self._set_fitted(X, origin_=origin.astype(checked.dtype), _units_=power)
        return self

    def partial_statistics(self, X: Any, y: Any = None, sample_weight: Any = None) -> ClassScatters:
        """Return weight, mean and scatter of each class in these rows.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Not all classes need be there.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        statistics : ClassScatters
            Sums over the rows of each class.
        """
        checked = self._check_X(X, reset=False, like=getattr(self, "origin_", None))
        n, owner = checked.shape[0], type(self).__name__
        classes, codes = as_labels(y, n, owner=owner)
        weight = as_weights(sample_weight, n)
        rows = np.flatnonzero(weight)
        if len(rows) < n:
            present, codes = np.unique(codes[rows], return_inverse=True)
            classes, checked, weight = classes[present], checked[rows], weight[rows]
        origin, power = self.origin_.astype(np.float64), self._units_
        sums = class_scatters(checked, classes, codes, weight, origin, power, owner)
        for part in zip(sums.weights, sums.means, sums.scatters, strict=True):
            require_in_units(Scatter(*part), owner)
        if self.shrinkage == "auto":
            rows = ClassRows(checked, codes, weight, origin, power)
            with single_threaded_blas():
                sums = sums._replace(higher=rows.higher_moments(sums.means))
        return sums

    def merge(self, a: ClassScatters, b: ClassScatters) -> ClassScatters:
        """Return the statistics of the rows of both.

        Parameters
        ----------
        a, b : ClassScatters
            Sums over different rows.

        Returns
        -------
        statistics : ClassScatters
            Their sums.
        """
        return merged_classes(a, b)

    def update(self, statistics: ClassScatters) -> Self:
        """Estimate the classes from the statistics of all rows: the whole fit.

        Parameters
        ----------
        statistics : ClassScatters
            Sums over all rows.

        Returns
        -------
        self
            This model.

        Raises
        ------
        ValueError
            If there are fewer than two classes.
        LinAlgError
            A ValueError: if the covariance of a class has no inverse; it names the class.
        """
        settings = self._settings()
        self._check_fitted()
        if len(statistics.classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least 2 classes, but all samples are of class "
                f"{statistics.classes[0]}."
            )
        if self.shrinkage == "auto" and statistics.higher is None:
            raise ValueError(
                f"{type(self).__name__}: shrinkage='auto' needs moments of fourth order, but the "
                "statistics come from a model of other shrinkage."
            )
        self._checked_priors(statistics.weights)
        state = self._estimated(statistics, settings, self.origin_, self._units_)
        self._update_state(state | {"_sums_": statistics})
        return self

    def _sums_so_far(self):
        if self._sums_ is None and self._result in vars(self):
            raise ValueError(
                f"{type(self).__name__}: the fit has formed no sums of each class, to which "
                "partial_fit could add (with class_weight or shrinkage='auto' it needs more of "
                "them than fit): begin with partial_fit on a new model."
            )
        return super()._sums_so_far()

    def _update_so_far(self, statistics):
        if len(statistics.classes) > 1:
            try:
                self.update(statistics)
                return
            except linalg.LinAlgError:
                pass  # a class has too few rows yet
        old = [name for name in vars(self) if name.endswith("_") and not name.startswith("__")]
        self._update_state({"_sums_": statistics}, forget=set(old).difference(_BEGUN))

    def _in_larger_units(self, sums, X, y, sample_weight):
        checked = self._check_X(X, reset=False, like=self.origin_)
        power = larger_powers(self._units_, checked, self.origin_.astype(np.float64))
        step, self._units_ = power - self._units_, power
        return None if sums is None else sums.in_larger_units(step)
