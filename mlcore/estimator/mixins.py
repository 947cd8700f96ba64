"""Mixins for classifiers, regressors, outlier detectors, clusterers and transformers.

A model lists them before `Model`. And `only_with`, for methods that it has only with some values of
its parameters.
"""

import sys
from collections.abc import Callable
from functools import partial
from types import MethodType
from typing import Any, Literal, Self, get_args

import numpy as np
from scipy import sparse

from mlcore.checks import as_choice, as_labels, as_targets, as_weights, label_type
from mlcore.checks.errors import warn
from mlcore.checks.missing import Missing, has_missing, with_missing


class TakesMissing:
    """Mixin of models that take NaN of dense rows, None and NA for missing values.

    They do with ``missing="ignore"``; else the refusal of NaN names the parameter.
    """

    missing: Missing

    def _as_samples(self, X, **options):
        owner = type(self).__name__
        as_choice(self.missing, "missing", get_args(Missing), owner=owner)
        if self.missing == "ignore":
            options.pop("check_finite", None)
        check = partial(super()._as_samples, **options)
        checked = with_missing(X, check, self.missing)
        if sparse.issparse(checked) and self.missing == "ignore" and has_missing(checked.data):
            raise ValueError(
                f"{owner}: sparse X contains NaN, but values may be missing in dense data only: "
                "use X.toarray()."
            )
        return checked

    def _incomplete(self, X):
        """Return True if values of checked rows are missing."""
        return self.missing == "ignore" and not sparse.issparse(X) and has_missing(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "ignore"
        return tags


class Classifier:
    """Mixin of models that predict labels."""

    _kind = "classifier"

    classes_: np.ndarray
    _stored = {"classes_": "labels c"}

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the (weighted) share of samples whose label `predict` gives.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        accuracy : float
            From 0 to 1.

        Raises
        ------
        TypeError
            If the labels are of another type than those of the fit, as "1" is than 1.

        Warns
        -----
        UserWarning
            If none of the labels is a class of the fit.
        """
        return self._accuracy(self.predict(X), y, sample_weight)

    def _accuracy(self, predicted: np.ndarray, y: Any, sample_weight: Any) -> float:
        """Return the accuracy of predictions."""
        classes, codes = as_labels(y, len(predicted), owner=type(self).__name__)
        y_type, fit_type = label_type(classes), label_type(predicted)
        if y_type != fit_type:
            raise TypeError(
                f"{type(self).__name__}: y has labels of type {y_type}, such as "
                f"{classes.tolist()[0]!r}, but those of the fit are of type {fit_type}, such as "
                f"{predicted.tolist()[0]!r}: none could be equal."
            )
        weights = as_weights(sample_weight, len(predicted))
        own = getattr(self, "classes_", classes)
        if not np.isin(classes, own).any():
            warn(
                "UserWarning",
                f"{type(self).__name__}: none of the labels of y, such as {classes.tolist()[0]!r}, "
                f"is a class of the fit, such as {own.tolist()[0]!r}, so that the accuracy is 0.",
            )
        return float(np.average(predicted == classes[codes], weights=weights))

    def _weighted_labels(
        self, y: Any, sample_weight: Any, n_samples: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return classes, codes (n_present,), weights (n_samples,), indices of those above 0.

        The labels are checked: samples of positive weight need at least two classes.
        """
        owner = type(self).__name__
        classes, codes = as_labels(y, n_samples, owner=owner, min_classes=2)
        weight = as_weights(sample_weight, n_samples)
        rows = np.flatnonzero(weight)
        if len(rows) < len(weight):
            present, codes = np.unique(codes[rows], return_inverse=True)
            classes = classes[present]
        if len(classes) < 2:
            raise ValueError(
                f"sample_weight leaves only one class, {classes.tolist()[0]!r}, but {owner} needs "
                "at least 2 classes with positive weights."
            )
        return classes, codes, weight, rows

    def _known_codes(self, y: Any, n_samples: int) -> np.ndarray:
        """Return the index in `classes_` of each label, (n_samples,) intp; refuse others."""
        labels, codes = as_labels(y, n_samples, owner=type(self).__name__)
        known = {label: code for code, label in enumerate(self.classes_.tolist())}
        foreign = [label for label in labels.tolist() if label not in known]
        if foreign:
            raise ValueError(
                f"y has the label {foreign[0]!r}, but the classes of the fit are "
                f"{self.classes_.tolist()}."
            )
        return np.array([known[label] for label in labels.tolist()], dtype=np.intp)[codes]


class Regressor:
    """Mixin of models that predict numbers."""

    _kind = "regressor"

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination R², 1 for exact predictions.

        ``1 - sum_i w_i (y_i - f(x_i))² / sum_i w_i (y_i - mean(y))²``; for constant `y`,
        1 if the predictions are exact and 0 otherwise. For several targets, their mean.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        r_squared : float
            At most 1.
        """
        predicted = self.predict(X)
        several = predicted.ndim == 2
        y = as_targets(y, len(predicted), owner=type(self).__name__, several=several)
        if several and y.shape != predicted.shape:
            raise ValueError(
                f"y has shape {y.shape}, but {type(self).__name__} was fitted to "
                f"{predicted.shape[1]} targets."
            )
        weights = as_weights(sample_weight, len(predicted))
        present = weights > 0
        y, predicted, weights = y[present], predicted[present], weights[present]
        weights = weights / weights.max()
        if several:
            pairs = zip(y.T, predicted.T, strict=True)
            return float(np.mean([_r_squared(one, other, weights) for one, other in pairs]))
        return _r_squared(y, predicted, weights)

    def _weighted_targets(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Any, np.ndarray, np.ndarray | None, bool]:
        """Return samples, targets (n, k) and weights of positive weight; True if y has columns."""
        n = X.shape[0]
        y = as_targets(y, n, owner=type(self).__name__, several=True)
        several = y.ndim == 2
        Y = y if several else y[:, None]
        if sample_weight is None:
            return X, Y, None, several
        weight = as_weights(sample_weight, n)
        present = np.flatnonzero(weight)
        if len(present) < n:
            X, Y, weight = X[present], Y[present], weight[present]
        return X, Y, weight, several


class Clusterer:
    """Mixin of clusterers."""

    _kind = "clusterer"
    labels_: np.ndarray
    _stored = {"labels_": "int n"}

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Fit to `X` and return the labels of its rows.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        labels : (n_samples,)
            `labels_` of the fit.
        """
        return self.fit(X, y, sample_weight).labels_


class Transformer:
    """Mixin of models that map samples to new features, of which `_n_out()` gives the number."""

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit to `X`, then return it transformed.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : array-like, optional
            Passed on to `fit`.
        **fit_params : dict
            Passed on to `fit`.

        Returns
        -------
        X_new : ndarray, csr_array or frame
            As `transform` returns it.
        """
        return self.fit(X, y, **fit_params).transform(X)

    def set_output(
        self, *, transform: Literal["default", "pandas", "polars"] | None = None
    ) -> Self:
        """Choose what `transform` returns: "default" (arrays), "pandas" or "polars" frames.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            None changes nothing.

        Returns
        -------
        self
            This model.
        """
        if transform not in (None, "default", "pandas", "polars"):
            raise ValueError(
                f"transform={transform!r} must be None, 'default', 'pandas' or 'polars'."
            )
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the new features: the class's name in lower case, and a number.

        Parameters
        ----------
        input_features : array-like of str, optional
            Checked against the names of the fit.

        Returns
        -------
        names : (n_new_features,) object
            One for each column.
        """
        self._check_fitted()
        if input_features is not None:
            known = getattr(self, "feature_names_in_", None)
            if known is not None and not np.array_equal(known, input_features):
                raise ValueError("input_features is not equal to feature_names_in_")
            if len(input_features) != self.n_features_in_:
                raise ValueError(
                    "input_features should have length equal to number of features "
                    f"({self.n_features_in_}), got {len(input_features)}"
                )
        stem = type(self).__name__.lower()
        return np.asarray([f"{stem}{i}" for i in range(self._n_out())], dtype=object)

    def _wrap(self, out: np.ndarray, X: Any) -> Any:
        """Return `out` as the container that `set_output` or scikit-learn's configuration names."""
        form = getattr(self, "_sklearn_output_config", {}).get("transform")
        if form is None and "sklearn" in sys.modules:
            form = sys.modules["sklearn"].get_config()["transform_output"]
        if form in (None, "default"):
            return out
        if sparse.issparse(out):
            raise ValueError(
                f"{type(self).__name__} gives sparse rows for sparse X, which are no {form} frame: "
                "call set_output(transform='default')."
            )
        columns = self.get_feature_names_out()
        if form == "pandas":
            import pandas as pd

            return pd.DataFrame(out, columns=columns, index=getattr(X, "index", None), copy=False)
        import polars as pl

        return pl.DataFrame(out, schema=list(columns), orient="row")


class FeaturewiseTransformer(Transformer):
    """Mixin of transformers whose new features are those of X, by the same names."""

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the features, which are those of X, or x0, x1, ...

        Parameters
        ----------
        input_features : array-like of str, optional
            Checked against the names of the fit.

        Returns
        -------
        names : (n_features,) object
            One for each column.
        """
        super().get_feature_names_out(input_features)
        known = getattr(self, "feature_names_in_", input_features)
        if known is None:
            known = [f"x{j}" for j in range(self.n_features_in_)]
        return np.asarray(known, dtype=object)

    def _n_out(self):
        return self.n_features_in_


def only_with(parameter: str, value: Any) -> Callable[[Callable[..., Any]], "OptionalMethod"]:
    """Return a decorator of methods that exist only if a parameter of the model has this value."""
    return lambda function: OptionalMethod(function, parameter, value)


class OptionalMethod:
    """Descriptor of a method that exists only with one value of a parameter."""

    parameter: str
    value: Any

    def __init__(self, function: Callable[..., Any], parameter: str, value: Any) -> None:
        self.function, self.parameter, self.value = function, parameter, value
        self.__doc__ = function.__doc__

    def __get__(self, model: Any, owner: type) -> Any:
        if model is None:
            return self.function
        if getattr(model, self.parameter) != self.value:
            raise AttributeError(
                f"{owner.__name__} has {self.function.__name__} only with "
                f"{self.parameter}={self.value!r}."
            )
        return MethodType(self.function, model)


def _r_squared(y, predicted, weights):
    residual, residual_power = _sum_of_squares(y - predicted, weights)
    total, total_power = _sum_of_squares(y - np.average(y, weights=weights), weights)
    if total == 0:
        return float(residual == 0)
    with np.errstate(over="ignore"):  # R² is minus infinity
        return float(1 - np.ldexp(residual / total, residual_power - total_power))


def _sum_of_squares(values, weights):
    """Return s and p with ``weights @ values² = s 2^p``, without overflow or underflow."""
    power = np.frexp(np.abs(values).max())[1]
    return weights @ np.ldexp(values, -power) ** 2, 2 * power
