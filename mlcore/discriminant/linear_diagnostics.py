"""Errors and tests of linear discriminant analysis, without refits."""

from typing import Any

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_weights
from mlcore.decomposition.cca.dimension_test import DimensionTest, dimension_test
from mlcore.discriminant.bayes_error import bhattacharyya_bound, error_of_two_normals
from mlcore.discriminant.class_covariances import Regularisation
from mlcore.discriminant.leave_one_out import features_of_refits, leave_one_out_log_posteriors
from mlcore.runtime.threads import single_threaded_blas


class LinearDiagnostics:
    """Mixin of `LinearDiscriminantAnalysis`: what its fit shows of itself."""

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """Return log posterior probabilities of each sample from the fit to all others.

        They are those of n refits, by formulas: in O(n d²) time, with shrinkage O(n d³).

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            The samples of the fit, as `y` and `sample_weight`.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        log_posteriors : (n_samples, n_classes) float64
            Columns in the order of `classes_`.

        Raises
        ------
        ValueError
            With shrinkage "auto" or "oas" or class weights, which change with the samples, and if
            a covariance has no inverse.
        """
        if self.class_weight is not None:
            raise ValueError("leave_one_out needs class_weight=None.")
        shrinkage, _, unbiased = self._checked_parameters()
        X = self._check_X_as_fitted(X)
        codes = self._known_codes(y, X.shape[0])
        weight = as_weights(sample_weight, X.shape[0])
        if not np.isclose(weight.sum(), self.total_weight_, rtol=1e-9, atol=0):
            raise ValueError(
                f"leave_one_out needs the samples of the fit, of the total weight "
                f"{self.total_weight_:g}, not {weight.sum():g}."
            )
        means = self._offsets_ + self._shift_
        self._require_means(X, codes, weight, np.ldexp(means, -self._powers_))
        kept = np.setdiff1d(np.arange(X.shape[1]), self.dropped_features_)
        if shrinkage:
            how, ridge = Regularisation(0.0, 1.0, shrinkage, unbiased), np.zeros(X.shape[1])
            return self._regularised_leave_one_out(X, codes, weight, how, kept, ridge)
        rows = X[:, kept].toarray() if sp.issparse(X) else X[:, kept]
        filled = self._filled_by_one(X, weight, kept)
        offsets = rows - self.origin_[kept].astype(np.float64) - self._shift_[kept]
        divisor = weight.sum() - (len(self.classes_) if self.unbiased else 0)
        priors = None if self.priors is None else self.priors_
        eps = float(np.finfo(self.origin_.dtype).eps)
        out = np.empty((len(codes), len(self.classes_)))
        with single_threaded_blas():
            for places, features in features_of_refits(filled, len(codes), len(kept)):
                chosen = kept[features]
                if len(places):
                    out[places] = leave_one_out_log_posteriors(
                        offsets[:, features], codes, weight, self._offsets_[:, chosen],
                        self.covariance_[np.ix_(chosen, chosen)], divisor, priors, eps, places,
                    )  # fmt: skip
        return out

    def bayes_error(self) -> float:
        """Return the probability of error of these classes, if the parameters are the true ones.

        For two classes it is exact; else the return value is Bhattacharyya's bound, the sum of that
        of all pairs, which the error does not exceed.

        Returns
        -------
        error : float
            From 0 to 1.
        """
        self._check_ready()
        means = self._offsets_ @ self.scalings_
        if len(means) == 2:
            return error_of_two_normals(float(np.linalg.norm(means[1] - means[0])), self.priors_)
        return bhattacharyya_bound(means, np.eye(means.shape[1])[None], self.priors_)

    def dimension_test(self) -> DimensionTest:
        """Return tests of how many directions separate the classes, for normal data.

        Returns
        -------
        DimensionTest
            Entry j tests that the means of the classes lie in j dimensions, which canonical
            correlations of 0 from the j-th on tell; weights count as copies.

        Raises
        ------
        ValueError
            With shrinkage or class weights, which change the distribution, and of a model that was
            not fitted to samples.
        """
        self._check_ready()
        if self.shrinkage is not None or self.class_weight is not None or not self.total_weight_:
            raise ValueError(
                "dimension_test needs a fit to samples, with shrinkage=None and class_weight=None."
            )
        groups = len(self.classes_) - 1
        rho = self.canonical_correlations_
        return dimension_test(rho, self.total_weight_, self.rank_, groups)
