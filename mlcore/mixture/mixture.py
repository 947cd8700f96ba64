"""The estimator that all mixtures of distributions of rows share."""

import math
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_choice, as_integer, as_weights
from mlcore.checks.missing import Missing, with_missing
from mlcore.mixture.em_model import EMModel, Evaluated
from mlcore.mixture.standard_errors import Method, StandardErrors, standard_errors
from mlcore.runtime.threads import single_threaded_blas

InitParams = Literal["k-means++", "kmeans", "random", "random_from_data"]


class Mixture(EMModel):
    """Mixtures of distributions of rows: predictions and criteria beside the fit by EM."""

    _kind = "density_estimator"

    total_weight_: float
    _stored = {"total_weight_": "float"}

    def _settings(self):
        settings, owner = super()._settings(), type(self).__name__
        if hasattr(self, "init_params"):
            as_choice(self.init_params, "init_params", get_args(InitParams), owner=owner)
        if hasattr(self, "missing"):
            as_choice(self.missing, "missing", get_args(Missing), owner=owner)
        return settings

    def _as_samples(self, X, **options):
        """Return samples checked; of models with `missing` NaN may be a missing value."""
        check = partial(super()._as_samples, **options)
        return with_missing(X, check, self.missing) if hasattr(self, "missing") else check(X)

    def sample(self, n_samples: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Return rows drawn from the mixture by `random_state`, and their components, in order.

        Parameters
        ----------
        n_samples : int, default=1

        Returns
        -------
        X : (n_samples, n_features)
            Ordered by component.
        labels : (n_samples,) intp
            Component of each row.
        """
        raise NotImplementedError

    def _require_scores(self) -> None:
        """Raise ValueError if the components have no scores, which Fisher vectors ask for."""

    def _posterior(self, X, with_proba=False):
        """Return log-densities, labels and, if asked for, probabilities of the rows of `X`."""
        X = self._check_X(X, reset=False, like=self._like() if hasattr(self, "weights_") else None)
        components = self._fitted_components()
        with single_threaded_blas():
            return components.posterior(X, *self._parameters_and_tables(components), with_proba)

    def _parameters_and_tables(self, components):
        """Return the fitted parameters, and the cache of ``Components.posterior``."""
        return components.parameters(self), {}

    def _n_parameters(self):
        return self._fitted_components().n_parameters()

    def predict(self, X: Any) -> np.ndarray:
        """Return the likeliest component of each row of `X`.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        labels : (n_samples,)
            Index of the component.
        """
        return self._posterior(X)[1]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of all components.

        Mixtures of Gaussians give those below 2^-64 as 0.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        probabilities : (n_samples, n_components)
            Rows that sum to 1.
        """
        return self._posterior(X, True)[2]

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the log-density of each row of `X`.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)

        Returns
        -------
        log_densities : (n_samples,)
            Natural logarithms.
        """
        return self._posterior(X)[0]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the (weighted) mean log-density of the rows of `X`; `y` is ignored.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        score : float
            Mean natural logarithm.
        """
        log_likelihood, n = self._likelihood(X, sample_weight)
        return log_likelihood / n

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Fit to `X` and return the likeliest component of each of its rows.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        labels : (n_samples,)
            As of `predict`.
        """
        return self.fit(X, y, sample_weight).predict(X)

    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """Return Akaike's criterion, less is better: -2 log-likelihood + 2 free parameters.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        criterion : float
            Less is better.
        """
        log_likelihood, _ = self._likelihood(X, sample_weight)
        return -2 * log_likelihood + 2 * self._n_parameters()

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """Return Schwarz's criterion: -2 log-likelihood + log(n) free parameters.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        criterion : float
            Less is better.
        """
        log_likelihood, n = self._likelihood(X, sample_weight)
        return -2 * log_likelihood + math.log(n) * self._n_parameters()

    def icl(self, X: Any, sample_weight: Any = None) -> float:
        """Return the integrated complete likelihood: `bic` plus twice the entropy of the labels.

        It prefers components that overlap little (Biernacki, Celeux, Govaert, 2000). The entropy is
        that of the probabilities; mclust's icl() takes the likeliest labels, another number.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        criterion : float
            Less is better.
        """
        fit = self._evaluated(X, sample_weight)
        bic = -2 * fit.log_likelihood + math.log(fit.n) * fit.n_parameters
        return bic + 2 * fit.entropy

    def standard_errors(
        self, X: Any, sample_weight: Any = None, method: Method = "observed"
    ) -> StandardErrors:
        """Return standard errors of the parameters, from the likelihood of the rows of `X`.

        For discrete mixtures and Gaussians with full or diagonal covariances. The prior of `alpha`
        is left out; the parameters should be a maximum of the likelihood, so that a small `tol` and
        ``alpha=0`` (or rows enough for the prior not to count) go before. Time
        O(n_samples p²) for p free parameters.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            The rows of the fit.
        sample_weight : array-like of shape (n_samples,), optional
            2 is a copy, 0 is absence.
        method : {"observed", "score", "sandwich"}, default="observed"
            Inverts minus the second derivatives of the log-likelihood; or the sum of the rows'
            squared scores; or puts the latter between two inverses of the first, which holds for
            models that are wrong too.

        Returns
        -------
        errors : StandardErrors
            Of weights, and of means or probabilities, by the delta method; with what lies on the
            boundary, and what is not identified.

        Raises
        ------
        ValueError
            For a covariance type without errors, missing values of Gaussians, and impossible rows.

        References
        ----------
        T. Louis, *Finding the observed information matrix when using the EM algorithm*, JRSS B 44,
        1982, equation 3.2. H. White, *Maximum likelihood estimation of misspecified models*,
        Econometrica 50, 1982.
        """
        as_choice(method, "method", get_args(Method), owner=type(self).__name__)
        self._check_fitted()
        X, weight = self._checked(X, sample_weight, reset=False)
        components = self._fitted_components()
        parameters = components.parameters(self)
        with single_threaded_blas():
            return standard_errors(
                components.coordinates(parameters),
                parameters.weights,
                X,
                weight,
                method,
                type(self).__name__,
            )

    @property
    def lower_bounds_(self) -> np.ndarray:
        """`log_likelihood_trace_`, as scikit-learn calls it."""
        return self.log_likelihood_trace_

    def _n_drawn(self, n_samples):
        try:
            return as_integer(n_samples, "n_samples", owner=type(self).__name__, at_least=1)
        except ValueError as error:
            raise ValueError(f"Invalid value for 'n_samples'. {error}") from None

    def _sample_like(self, X, order):
        """Return rows drawn from the mixture, as many as X has, row ``order[i]`` in place i."""
        return self.sample(len(order))[0][order]

    def _holes(self, X):
        """Return which values of X are missing, (n, d) bool; None if none may be."""
        if getattr(self, "missing", "error") != "ignore":
            return None
        X = self._check_X(X, reset=False)
        if hasattr(X, "missing"):  # of columns that are no numbers
            return X.missing()
        return np.isnan(X.toarray() if sp.issparse(X) else X)

    @staticmethod
    def _weight_of(X, sample_weight):
        """Return the sample weights of a score, checked; None if all are 1."""
        if sample_weight is None:
            return None
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        return as_weights(sample_weight, n).astype(np.float64)

    def _likelihood(self, X, sample_weight):
        return self._sum(self.score_samples(X), X, sample_weight)

    def _evaluated(self, X, sample_weight):
        density, _, proba = self._posterior(X, True)
        log_likelihood, n = self._sum(density, X, sample_weight)
        proba = proba.astype(np.float64)
        uncertain = -(proba * np.log(np.where(proba > 0, proba, 1.0))).sum(axis=1)
        entropy, _ = self._sum(uncertain, X, sample_weight)
        return Evaluated(log_likelihood, n, self._n_parameters(), entropy)

    def _sum(self, density, X, sample_weight):
        """Return the weighted sum of values of rows, and the sum of the weights."""
        density = density.astype(np.float64)
        weight = self._weight_of(X, sample_weight)
        if weight is None:
            return float(density.sum()), len(density)
        present = weight > 0  # a row of weight 0 may be impossible
        return float(weight[present] @ density[present]), float(weight.sum())
