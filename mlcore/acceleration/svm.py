"""Replacements of the machines of `sklearn.svm`."""

from typing import Any

import numpy as np
import sklearn
import sklearn.svm
from scipy import sparse
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.class_weight import compute_class_weight

import mlcore.svm
from mlcore.acceleration.replacement import Fallback, Replacement, by_mlcore
from mlcore.acceleration.rules import (
    COUNT,
    FINITE,
    FREE,
    NOT_NEGATIVE,
    POSITIVE,
    SILENT,
    TRUTH,
    Rule,
    any_seed,
    one_of,
)

_NAMED = one_of("scale", "auto")
_KERNEL = {
    "kernel": one_of("linear", "poly", "rbf", "precomputed"),
    "degree": COUNT,
    "gamma": Rule(
        "'scale', 'auto' or a number, at least 0",
        lambda value: NOT_NEGATIVE.allows(value) or _NAMED.allows(value),
        passed=False,
    ),
    "coef0": FINITE,
    "tol": POSITIVE,
    "cache_size": POSITIVE,
    "shrinking": FREE,
    "verbose": SILENT,
    "max_iter": one_of(-1),
}
_CLASSES = {
    "class_weight": Rule(
        "None, 'balanced' or a dict",
        lambda value: value is None or value == "balanced" or isinstance(value, dict),
        passed=False,
    ),
    "probability": one_of("deprecated", False, passed=False),
    "decision_function_shape": one_of("ovr", "ovo"),
    "break_ties": TRUTH,
    "random_state": any_seed(),
}
_C = Rule("a number above 0, finite", POSITIVE.allows)
_SHARE = Rule("a number above 0, at most 1", lambda value: POSITIVE.allows(value) and value <= 1)
# Parameters that scikit-learn's predictions read.
_READ_LATER = {"kernel", "degree", "coef0", "decision_function_shape", "break_ties"}
_NOTE = (
    "the same optimum within tol; on the border, where a decision value is 0 but for rounding, a "
    "prediction may fall to either side"
)


class _Machine(Replacement):
    """Part of all machines: the way from mlcore's attributes to scikit-learn's."""

    sparse_rows = single_precision = True
    conditions = ("a kernel that is positive semi-definite, so that there is one optimum",)
    note = _NOTE

    def _samples(self, X: Any) -> Any:
        if sparse.issparse(X) and self.kernel == "precomputed":
            raise Fallback("a precomputed kernel is sparse")
        X = self._validated(X).astype(np.float64, copy=False)
        check_random_state(self.random_state).randint(np.iinfo("i").max)  # as scikit-learn does
        return X

    def _gamma_of(self, X: Any) -> float:
        """Return gamma as scikit-learn has it, which counts rows, not weights."""
        if self.kernel == "precomputed":
            return 0.0
        if self.gamma == "auto":
            return 1.0 / X.shape[1]
        if self.gamma != "scale":
            return float(self.gamma)
        variance = X.multiply(X).mean() - X.mean() ** 2 if sparse.issparse(X) else X.var()
        return 1.0 / (X.shape[1] * float(variance)) if variance != 0 else 1.0

    def _attributes(self, model: Any, X: Any, gamma: float) -> dict[str, Any]:
        if not model.converged_:
            raise Fallback("mlcore's solver has not converged")
        dual, intercept = model.dual_coef_.copy(), model.intercept_.copy()
        support_vectors = model.support_vectors_
        if sparse.issparse(X):
            if not len(model.support_):
                raise Fallback("there are no support vectors")
            dual, support_vectors = _all_stored(dual), _rows(support_vectors)
        n_support = model.n_support_.astype(np.int32)
        is_binary = hasattr(model, "classes_") and len(model.classes_) == 2
        return {
            "support_": model.support_.astype(np.int32),
            "support_vectors_": support_vectors,
            "dual_coef_": dual,
            "intercept_": intercept,
            "n_iter_": model.n_iter_,
            "fit_status_": 0,
            "shape_fit_": X.shape,
            # What its methods read. LIBSVM's first class is the positive one.
            "_dual_coef_": -dual if is_binary else dual,  # also sparse ones keep their zeros
            "_intercept_": -intercept if is_binary else intercept.copy(),
            "_n_support": n_support if hasattr(model, "classes_") else np.r_[n_support, n_support],
            "_num_iter": np.atleast_1d(model.n_iter_).astype(np.int32),
            "_probA": np.empty(0),
            "_probB": np.empty(0),
            "_sparse": sparse.issparse(X),
            "_gamma": gamma,
            "_effective_probability": False,
            "_read_later": {name: getattr(self, name) for name in _READ_LATER & self.rules.keys()},
        }

    def _serving(self) -> Any:
        """Return mlcore's model, or None where scikit-learn's own method must answer.

        Some parameters are read by predictions, and may have changed since the fit.
        """
        model, fitted = vars(self).get("mlcore_model_"), vars(self).get("_read_later")
        if model is None:
            return None
        now = {name: getattr(self, name) for name in fitted}
        alike = (type(now[name]) is type(old) and now[name] == old for name, old in fitted.items())
        return model if all(alike) else None

    def _evidence(self) -> str:
        gap = np.max(self.mlcore_model_.duality_gap_)
        violation = np.max(self.mlcore_model_.kkt_violation_)
        return f"duality gap {gap:.1e}, largest KKT violation {violation:.1e}"


def _rows(matrix: Any) -> Any:
    """Return sparse rows of the type that scikit-learn is set to."""
    wanted = sklearn.get_config().get("sparse_interface", "spmatrix")
    return sparse.csr_array(matrix) if wanted == "sparray" else sparse.csr_matrix(matrix)


def _all_stored(dense: Any) -> Any:
    """Return sparse rows that store each value, zeros too, as LIBSVM reads them."""
    m, n = dense.shape
    indices, starts = np.tile(np.arange(n, dtype=np.int32), m), np.arange(0, m * n + 1, n)
    return _rows(sparse.csr_matrix((dense.ravel(), indices, starts.astype(np.int32)), (m, n)))


class _Classifier(_Machine):
    def _fitted(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, dict[str, Any]]:
        if y is None:
            raise Fallback("y is None")
        X, labels = self._samples(X), column_or_1d(y, warn=True)
        gamma, classes = self._gamma_of(X), np.unique(labels)
        weights = compute_class_weight(self.class_weight, classes=classes, y=labels)
        of_class = dict(zip(classes.tolist(), weights.tolist(), strict=True))
        model = getattr(mlcore.svm, type(self).__name__)(
            **self._passed(),
            gamma=gamma,
            class_weight=None if self.class_weight is None else of_class,
        ).fit(X, labels, sample_weight=sample_weight)
        attributes = self._attributes(model, X, gamma)
        return model, attributes | {"classes_": model.classes_, "class_weight_": weights}

    def decision_function(self, X: Any) -> Any:
        """Return the decision function, as scikit-learn does."""
        model = self._serving()
        if model is None:
            return super().decision_function(X)  # type: ignore[misc]
        return model.decision_function(self._validate_for_predict(X))

    def predict(self, X: Any) -> Any:
        """Return the predicted classes, as scikit-learn does."""
        model = self._serving()
        if model is None:
            return super().predict(X)  # type: ignore[misc]
        return model.predict(self._validate_for_predict(X))


class _Regressor(_Machine):
    def _fitted(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, dict[str, Any]]:
        if y is None:
            raise Fallback("y is None")
        X, targets = self._samples(X), column_or_1d(y, warn=True).astype(np.float64, copy=False)
        gamma = self._gamma_of(X)
        model = getattr(mlcore.svm, type(self).__name__)(**self._passed(), gamma=gamma)
        model.fit(X, targets, sample_weight=sample_weight)
        return model, self._attributes(model, X, gamma)

    def predict(self, X: Any) -> Any:
        """Return the predictions, as scikit-learn does."""
        model = self._serving()
        if model is None:
            return super().predict(X)  # type: ignore[misc]
        return model.predict(self._validate_for_predict(X))


class SVC(_Classifier, sklearn.svm.SVC):
    """scikit-learn's SVC, fitted by `mlcore.svm.SVC`."""

    original = sklearn.svm.SVC
    peer = "mlcore.svm.SVC"
    rules = {"C": _C, **_KERNEL, **_CLASSES}
    fit = by_mlcore(sklearn.svm.SVC.fit)


class NuSVC(_Classifier, sklearn.svm.NuSVC):
    """scikit-learn's NuSVC, fitted by `mlcore.svm.NuSVC`."""

    original = sklearn.svm.NuSVC
    peer = "mlcore.svm.NuSVC"
    rules = {"nu": _SHARE, **_KERNEL, **_CLASSES}
    fit = by_mlcore(sklearn.svm.NuSVC.fit)


class SVR(_Regressor, sklearn.svm.SVR):
    """scikit-learn's SVR, fitted by `mlcore.svm.SVR`."""

    original = sklearn.svm.SVR
    peer = "mlcore.svm.SVR"
    rules = {"C": _C, "epsilon": NOT_NEGATIVE, **_KERNEL}
    fit = by_mlcore(sklearn.svm.SVR.fit)


class NuSVR(_Regressor, sklearn.svm.NuSVR):
    """scikit-learn's NuSVR, fitted by `mlcore.svm.NuSVR`."""

    original = sklearn.svm.NuSVR
    peer = "mlcore.svm.NuSVR"
    rules = {"C": _C, "nu": _SHARE, **_KERNEL}
    fit = by_mlcore(sklearn.svm.NuSVR.fit)


class OneClassSVM(_Machine, sklearn.svm.OneClassSVM):
    """scikit-learn's OneClassSVM, fitted by `mlcore.svm.OneClassSVM`."""

    original = sklearn.svm.OneClassSVM
    peer = "mlcore.svm.OneClassSVM"
    rules = {"nu": _SHARE, **_KERNEL}
    conditions = (
        *_Machine.conditions,
        "no sample weights: here they are copies, there they are not",
    )
    fit = by_mlcore(sklearn.svm.OneClassSVM.fit)

    def _fitted(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, dict[str, Any]]:
        if sample_weight is not None:
            raise Fallback("sample weights are given")
        X = self._samples(X)
        gamma = self._gamma_of(X)
        model = mlcore.svm.OneClassSVM(**self._passed(), gamma=gamma).fit(X)
        attributes = self._attributes(model, X, gamma)
        return model, attributes | {"offset_": -attributes["_intercept_"]}

    def decision_function(self, X: Any) -> Any:
        """Return the signed distance to the border, as scikit-learn does."""
        model = self._serving()
        if model is None:
            return super().decision_function(X)
        return model.decision_function(self._validate_for_predict(X))

    def predict(self, X: Any) -> Any:
        """Return 1 for inliers and -1 for outliers, as scikit-learn does."""
        model = self._serving()
        if model is None:
            return super().predict(X)
        return model.predict(self._validate_for_predict(X))
