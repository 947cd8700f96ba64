"""Replacement of `sklearn.discriminant_analysis.LinearDiscriminantAnalysis`."""

from typing import Any

import numpy as np
import sklearn.discriminant_analysis
from scipy import linalg
from sklearn.utils import column_or_1d

import mlcore.discriminant
from mlcore.acceleration.replacement import Fallback, Replacement, by_mlcore
from mlcore.acceleration.rules import COUNT, NONE, POSITIVE, TRUTH, Rule, one_of


class LinearDiscriminantAnalysis(
    Replacement, sklearn.discriminant_analysis.LinearDiscriminantAnalysis
):
    """scikit-learn's class, fitted by `mlcore.discriminant.LinearDiscriminantAnalysis`."""

    original = sklearn.discriminant_analysis.LinearDiscriminantAnalysis
    peer = "mlcore.discriminant.LinearDiscriminantAnalysis"
    rules = {
        "solver": one_of("svd", passed=False),
        "shrinkage": NONE,
        "priors": NONE,
        "n_components": Rule(
            "None or an integer, at least 1", lambda value: value is None or COUNT.allows(value)
        ),
        "store_covariance": TRUTH._replace(passed=False),
        "tol": POSITIVE._replace(passed=False),
        "covariance_estimator": NONE,
    }
    conditions = ("features of full rank within the classes, by scikit-learn's tol",)
    note = "the same posteriors and projections; a projection may have the other sign"

    fit = by_mlcore(sklearn.discriminant_analysis.LinearDiscriminantAnalysis.fit)

    def _fitted(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, dict[str, Any]]:
        if y is None:
            raise Fallback("y is None")
        X, labels = self._validated(X, ensure_min_samples=2), column_or_1d(y, warn=True)
        n, d = X.shape
        model = mlcore.discriminant.LinearDiscriminantAnalysis(**self._passed()).fit(X, labels)
        n_classes = len(model.classes_)
        most = min(n_classes - 1, d)
        if (self.n_components or 0) > most or n <= n_classes + d:
            raise Fallback("there are too few classes or samples")
        covariance = model.covariance_
        if model.rank_ < d or len(model.dropped_features_) or model.n_separated_:
            raise Fallback("features depend on each other within the classes")
        # scikit-learn leaves out directions whose singular value is at most tol: none is near it.
        deviations = np.sqrt(np.diag(covariance))
        correlations = covariance / np.outer(deviations, deviations)
        least = linalg.eigvalsh(correlations, subset_by_index=[0, 0])[0] * n / (n - n_classes)
        if not least > (10 * max(self.tol, 1e-6)) ** 2 or model.scalings_.shape[1] < most:
            raise Fallback("features nearly depend on each other within the classes")
        kept = self.n_components or most
        attributes = {
            "classes_": model.classes_,
            "priors_": model.priors_,
            "means_": model.means_,
            "xbar_": model.xbar_,
            "scalings_": model.scalings_,
            "coef_": model.coef_,
            "intercept_": model.intercept_,
            "explained_variance_ratio_": model.explained_variance_ratio_,
        }
        attributes = {name: np.array(value) for name, value in attributes.items()}
        if self.store_covariance:
            attributes["covariance_"] = covariance.copy()
        return model, attributes | {"_max_components": kept, "_n_features_out": kept}

    def _evidence(self) -> str:
        return f"rank {self.mlcore_model_.rank_} of {self.n_features_in_} features"
