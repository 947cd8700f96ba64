"""Replacement of `sklearn.kernel_ridge.KernelRidge`."""

from numbers import Real
from typing import Any

import numpy as np
import sklearn.kernel_ridge
from scipy import sparse
from sklearn.utils import check_array

import mlcore.kernel_ridge
from mlcore.acceleration.replacement import Fallback, Replacement, by_mlcore
from mlcore.acceleration.rules import COUNT, FINITE, NONE, POSITIVE, Rule, one_of


class KernelRidge(Replacement, sklearn.kernel_ridge.KernelRidge):
    """scikit-learn's KernelRidge, fitted by `mlcore.kernel_ridge.KernelRidge`."""

    original = sklearn.kernel_ridge.KernelRidge
    peer = "mlcore.kernel_ridge.KernelRidge"
    rules = {
        "alpha": POSITIVE,
        "kernel": one_of(
            "linear", "rbf", "poly", "polynomial", "sigmoid", "laplacian", "cosine", "precomputed"
        ),
        "gamma": Rule(
            "None or a number above 0", lambda value: value is None or POSITIVE.allows(value)
        ),
        "degree": COUNT,
        "coef0": FINITE,
        "kernel_params": NONE,
    }
    conditions = ("dense data", "a Gram matrix without negative eigenvalues")
    note = "the same function to the digits of the linear system"

    fit = by_mlcore(sklearn.kernel_ridge.KernelRidge.fit)

    def _fitted(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, dict[str, Any]]:
        if sparse.issparse(y) or y is None:
            raise Fallback("y is sparse or None")
        X = self._validated(X)
        y = check_array(y, ensure_2d=False, dtype=np.float64)
        if isinstance(sample_weight, Real):
            raise Fallback("all samples have one weight")
        model = mlcore.kernel_ridge.KernelRidge(**self._passed())
        model.fit(X, y, sample_weight=sample_weight)
        if not model.converged_:
            raise Fallback("mlcore's solver has not converged")
        return model, {"dual_coef_": model.dual_coef_.copy(), "X_fit_": X}

    def _evidence(self) -> str:
        model = self.mlcore_model_
        share = np.max(np.asarray(model.duality_gap_) / np.maximum(model.objective_, 1e-300))
        return f"duality gap {share:.1e} of the objective"
