"""A class of scikit-learn whose fits are mlcore's wherever the result is the same."""

import functools
import inspect
import logging
import time
import warnings
from abc import ABCMeta
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from mlcore.acceleration.log import LOGGER, one_line, report, shortened, tell
from mlcore.acceleration.rules import Rule
from mlcore.checks.errors import ConvergenceWarning


class Fallback(Exception):
    """The reason why scikit-learn's own code must fit."""


class ReplacementKind(ABCMeta):
    """Class of the replacements: models of the original class count as theirs.

    So ``isinstance(model, sklearn.svm.SVC)`` is true for models that were made before
    `sklearn.svm.SVC` was replaced.
    """

    def __instancecheck__(cls, instance: Any) -> bool:
        return cls.__subclasscheck__(type(instance))

    def __subclasscheck__(cls, kind: type) -> bool:
        wanted = vars(cls).get("original", cls)
        return wanted in getattr(kind, "__mro__", ())


class Replacement(metaclass=ReplacementKind):
    """Part of all replacements; the other base is scikit-learn's class, `original`.

    A replacement names mlcore's class, has a rule for every parameter of scikit-learn's class, and
    fits mlcore's model in `_fitted`. All fitted attributes are set as scikit-learn sets them, so
    that its methods work. There is one more, `mlcore_model_`: the model of mlcore, with its
    evidence, or None after a fit by scikit-learn.
    """

    original: ClassVar[type]
    peer: ClassVar[str]  # mlcore's class
    rules: ClassVar[dict[str, Rule]]
    conditions: ClassVar[tuple[str, ...]] = ()  # on the data, for the documents
    note: ClassVar[str] = ""  # on the results, for the documents
    single_precision: ClassVar[bool] = False  # float32 data are mlcore's too
    sparse_rows: ClassVar[bool] = False

    mlcore_model_: Any

    def _fitted(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, dict[str, Any]]:
        """Return a fitted model of mlcore and the attributes that scikit-learn's fit would set."""
        raise NotImplementedError

    def _evidence(self) -> str:
        """Return what the model of mlcore shows of its fit, for the report."""
        raise NotImplementedError

    def _passed(self) -> dict[str, Any]:
        """Return the parameters that mlcore's class takes under the same names."""
        return {name: getattr(self, name) for name, rule in self.rules.items() if rule.passed}

    def _check_parameters_and_data(self, X: Any) -> None:
        """Raise Fallback where mlcore's class has no exact counterpart."""
        if "original" not in vars(type(self)):
            raise Fallback(f"it is a subclass of {type(self).original.__name__}")
        for name, value in self.get_params(deep=False).items():  # type: ignore[attr-defined]
            rule = self.rules.get(name)
            if rule is None:
                raise Fallback(f"{name} is a parameter that mlcore.accelerate does not know")
            if not rule.allows(value):
                raise Fallback(f"{name}={shortened(value)} has no exact counterpart in mlcore")
        if getattr(self, "_skl_callbacks", None):
            raise Fallback("scikit-learn's callbacks are set")
        if get_config()["array_api_dispatch"]:
            raise Fallback("scikit-learn dispatches to other array libraries")
        if sparse.issparse(X) and not self.sparse_rows:
            raise Fallback("the data are sparse")
        if sparse.issparse(X) or isinstance(X, np.ndarray):
            self._check_type(X.dtype)

    def _check_type(self, kind: np.dtype) -> None:
        if kind == np.float32 and self.single_precision:
            return
        if kind.kind not in "biu" and kind != np.float64:
            raise Fallback(f"the data are {kind}")

    def _validated(self, X: Any, **how: Any) -> Any:
        """Return X as scikit-learn's own check leaves it, which also sets the names of columns."""
        how = {"accept_sparse": "csr" if self.sparse_rows else False, "order": "C"} | how
        X = validate_data(self, X, dtype=[np.float64, np.float32], accept_large_sparse=False, **how)
        self._check_type(X.dtype)
        return X


def by_mlcore(
    original_fit: Callable[..., Any], result: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """Return a method that fits by mlcore, or by scikit-learn's method where it must.

    `result` makes what the method returns, the model itself by default, of model and samples.
    """
    signature = inspect.signature(original_fit)

    @functools.wraps(original_fit)
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = signature.bind(self, *args, **kwargs).arguments
        X, y, weight = given.get("X"), given.get("y"), given.get("sample_weight")
        seed = _numbers_of(getattr(self, "random_state", None))
        drawn = seed.get_state()
        start = time.perf_counter()
        try:
            self._check_parameters_and_data(X)
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                model, attributes = self._fitted(X, y, weight)
            doubts = [w.message for w in said if _is_doubt(w.category)]
            if doubts:
                raise Fallback(f"mlcore warns: {one_line(doubts[0])}")
        except (Fallback, TypeError, ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            reason = error if isinstance(error, Fallback) else f"mlcore refuses: {one_line(error)}"
            seed.set_state(drawn)
        else:
            for warning in said:
                warnings.warn(warning.message, warning.category, stacklevel=2)
            _set(self, attributes | {"mlcore_model_": model})
            if LOGGER.isEnabledFor(logging.INFO):
                report(self, X, start, f"by mlcore; {self._evidence()}")
            return self if result is None else result(self, X)
        start = time.perf_counter()
        answer = original_fit(self, *args, **kwargs)
        self.mlcore_model_ = None
        if LOGGER.isEnabledFor(logging.INFO):
            report(self, X, start, f"by scikit-learn; {reason}")
        else:
            tell(type(self).__name__, str(reason))
        return answer

    return fit


def forgets_model(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return scikit-learn's method that changes the fit, after which mlcore's model is no more."""

    @functools.wraps(original)
    def changed(self: Any, *args: Any, **kwargs: Any) -> Any:
        answer = original(self, *args, **kwargs)
        self.mlcore_model_ = None
        return answer

    return changed


def _is_doubt(category: type[Warning]) -> bool:
    """Return True for warnings by which mlcore says what its result is worth."""
    return category is UserWarning or issubclass(category, ConvergenceWarning)


def _numbers_of(seed: Any) -> np.random.RandomState:
    """Return the generator that scikit-learn draws from, or one that nobody else uses."""
    shared = seed is None or isinstance(seed, np.random.RandomState)
    return check_random_state(seed if shared else 0)


def _set(model: Any, attributes: dict[str, Any]) -> None:
    """Set the fitted state of a model; what an earlier fit has set and this one has not goes."""
    parameters = model.get_params(deep=False)
    kept = ("n_features_in_", "feature_names_in_", *attributes)
    for name in [name for name in vars(model) if name.endswith("_") and name not in kept]:
        if name not in parameters:
            delattr(model, name)
    for name, value in attributes.items():
        setattr(model, name, value)
