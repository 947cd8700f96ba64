"""Classifiers that `certify` takes: fitted models of any library, functions, predictions.

Models are read by scikit-learn's names of attributes; no library is imported for it.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any, NamedTuple, NoReturn

import numpy as np
from scipy import sparse

from mlcore.bounds.arguments import refuse
from mlcore.checks.arrays import MISSING, require_unmasked

_NAMED = {
    "clusterer": "a clusterer, whose numbers are no labels",
    "density_estimator": "a density estimator, whose components are no labels",
    "outlier_detector": "an outlier detector",
    "regressor": "a regressor",
    "transformer": "a transformer",
}
_SEVERAL = ("estimators_", "calibrated_classifiers_")  # attributes with several fitted models


class Classifier(NamedTuple):
    """Source of predictions, under its `name` in the report: a `model`, a function, or labels.

    `predict` is None for labels, which are `predictions`.
    """

    name: str
    model: Any
    predict: Callable[[Any], Any] | None
    predictions: Any


def as_classifier(source: Any, name: str, *, scored: bool = False) -> Classifier:
    """Return `source` as a classifier, or raise ValueError.

    With `scored`, a loss is measured, and a regressor is taken too.
    """
    allowed = "a fitted classifier, a function of X that returns labels, or an array of predictions"
    if isinstance(source, type):
        refuse(name, source, f"{allowed}, not a class")
    if callable(getattr(source, "predict", None)):
        kind = _kind(source)
        if kind not in (None, "classifier") and not (scored and kind == "regressor"):
            hint = " (with a loss, a regressor is taken)" if kind == "regressor" else ""
            description = _NAMED.get(kind, f"of kind {kind!r}")
            _refuse_kind(name, source, f"{allowed}; it is {description}{hint}")
        return Classifier(type(source).__name__, source, source.predict, None)
    if callable(source):
        return Classifier(getattr(source, "__name__", type(source).__name__), None, source, None)
    if getattr(source, "refit", True) is False:
        _refuse_kind(name, source, f"{allowed}; this search kept no classifier (refit=False)")
    if isinstance(source, (str, bytes)) or not (hasattr(source, "__len__") or np.ndim(source)):
        refuse(name, source, allowed)
    # Series have a transform of their own.
    if not hasattr(source, "__array__") and (
        hasattr(source, "fit") or hasattr(source, "transform")
    ):
        _refuse_kind(name, source, f"{allowed}; it has no predict")
    return Classifier("predictions", None, None, _array(source, name))


def labels_of(
    classifier: Classifier, X: Any, y: Any, *, suffix: str = "", scored: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return true and predicted labels, checked to be of one length and one type."""
    # Check the true labels.
    if y is None:
        refuse("y" + suffix, y, "the true labels, after X or, for predictions, as y=...")
    labels = _array(y, "y" + suffix)
    if X is None and classifier.predict is None:
        n = labels.shape[0] if labels.ndim else 0
    else:
        n = _n_rows(X, "X" + suffix)
    if labels.shape != (n,) or n < 1:
        rows = f"{n} labels, one for each row of X{suffix}"
        expected = "a list of at least one label"
        _refuse_shape("y" + suffix, labels, expected if X is None else rows)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        refuse("y" + suffix, y, "finite")
    if labels.dtype.kind == "O":
        if any(type(label).__name__ in MISSING or label != label for label in labels.tolist()):
            refuse("y" + suffix, y, "labels, none of them missing")
    # Predict, and check the predictions.
    predictions = classifier.predictions if classifier.predict is None else classifier.predict(X)
    predicted = _array(predictions, "predictions")
    if predicted.dtype.kind == "f" and np.isinf(predicted).any():
        refuse("predictions", predictions, "finite")
    if predicted.shape != labels.shape:
        raise ValueError(
            f"{classifier.name}: predictions of shape {predicted.shape} must be {n} labels, one "
            f"for each of {n} examples."
        )
    # Without a loss, both must be labels of one type.
    if not scored:
        whose = "" if classifier.predict is None else f"{classifier.name}: "
        for array, name in ((labels, "y" + suffix), (predicted, f"{whose}predictions")):
            if array.dtype.kind == "f" and not (array == np.trunc(array)).all():
                number = float(array[array != np.trunc(array)][0])
                refuse(name, number, "labels: those of the largest probabilities, or, for other "
                       "numbers, give a loss")  # fmt: skip
        _refuse_other_types(labels, predicted, y, "y" + suffix)
    return labels, predicted


def parts_of(model: Any, X: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the model and the fitted models inside it, each with the rows of X as they reach it."""
    yield model, X
    if (best := _own(model, "best_estimator_")) is not None:
        yield from parts_of(best, X)
    steps = _own(model, "steps")
    if isinstance(steps, list) and steps:
        for _, step in steps[:-1]:
            if hasattr(step, "transform"):
                X = step.transform(X)
        yield from parts_of(steps[-1][1], X)
    if (single := _own(model, "estimator_")) is not None:
        yield from parts_of(single, X)
    columns = _own(model, "estimators_features_")
    for name in _SEVERAL:
        several = _own(model, name)
        several = several.ravel() if isinstance(several, np.ndarray) else several or ()
        for i, part in enumerate(several):
            seen = X if columns is None else as_table(X)[:, columns[i]]
            yield from parts_of(getattr(part, "estimator", part), seen)


def searched(model: Any) -> tuple[Any, int]:
    """Return the model inside nested searches, and the number of models that they compared."""
    count = 1
    while True:
        results = _own(model, "cv_results_")
        if isinstance(results, dict) and _own(model, "best_index_") is not None:
            count *= _n_compared(model, results)
        elif isinstance(errors := _own(model, "mse_path_"), np.ndarray):  # (..., n_folds)
            count *= math.prod(errors.shape[:-1])
        best, steps = _own(model, "best_estimator_"), _own(model, "steps")
        if best is None:
            inside = searched(steps[-1][1])[1] if isinstance(steps, list) and steps else 1
            return model, count * inside
        model = best


def _n_compared(model, results):
    rounds = _own(model, "n_candidates_")  # successive halving: the first round has them all
    if isinstance(rounds, (list, tuple)) and rounds:
        return int(rounds[0])
    return len(results["params"] if "params" in results else results["mean_test_score"])


def _kind(model):
    """Return scikit-learn's estimator type, "classifier", "clusterer", ... or None."""
    kind = getattr(model, "_kind", None) or getattr(model, "_estimator_type", None)
    kind = kind if kind in ("classifier", *_NAMED) else None
    if kind is None and type(model).__module__.partition(".")[0] != "mlcore":
        tags = getattr(model, "__sklearn_tags__", None)
        kind = getattr(tags(), "estimator_type", None) if callable(tags) else None
    if kind is None and hasattr(model, "transform") and _own(model, "classes_") is None:
        return "transformer"
    return kind


def _own(model, name):
    """Return a fitted attribute, None if there is none; scikit-learn's may raise ValueError."""
    try:
        return getattr(model, name, None)
    except ValueError:
        return None


def as_table(X: Any, name: str = "X") -> Any:
    """Return examples, one or more, as a sparse matrix or an array of any type."""
    if sparse.issparse(X):
        return X
    _n_rows(X, name)
    try:
        return np.asarray(X)
    except ValueError:  # ragged
        refuse(name, X, "an array-like of examples of one size")


def _n_rows(X, name):
    shape = getattr(X, "shape", None)
    n = (shape[0] if shape else 0) if shape is not None else len(X) if hasattr(X, "__len__") else 0
    if n < 1 or isinstance(X, (str, bytes, Mapping, Set)):
        refuse(name, X, "an array-like of at least one example")
    return n


def _refuse_other_types(labels, predicted, y, name):
    """Refuse labels of another type than the predictions, which would all count as errors."""
    types = [label_types(array) for array in (labels, predicted)]
    if not types[0] & types[1]:
        of_labels, of_predictions = (" and ".join(sorted(t)) for t in types)
        refuse(
            name,
            y,
            f"labels of the type that is predicted, which is {of_predictions}, not {of_labels}",
        )


def label_types(array: np.ndarray) -> set[str]:
    """Return the names of the types of labels; all numbers are of one type."""
    if array.dtype.kind == "O":
        return {"number" if _is_number(v) else type(v).__name__ for v in array.tolist()}
    return {"str" if array.dtype.kind == "U" else "bytes" if array.dtype.kind == "S" else "number"}


def _is_number(value):
    return isinstance(value, (bool, int, float, np.number, np.bool_)) and not (
        isinstance(value, float) and math.isnan(value)
    )


def _array(y, name):
    require_unmasked(y, name)
    try:
        return np.asarray(y)
    except ValueError:  # ragged
        refuse(name, y, "a list of labels")


def _refuse_kind(name, source, allowed) -> NoReturn:
    raise ValueError(f"{name}={type(source).__name__}(...) must be {allowed}.")


def _refuse_shape(name, array, allowed) -> NoReturn:
    raise ValueError(f"{name} of shape {array.shape} must be {allowed}.")
