"""Validation of targets, labels and weights, one value for each sample."""

import math
import numbers
from typing import Any

import numpy as np

from mlcore.checks.arrays import MISSING, as_floats, plain_array, real_array, require_finite
from mlcore.checks.errors import warn
from mlcore.checks.parameters import as_real


def as_targets(
    y: Any, n_samples: int, *, owner: str = "", several: bool = False, name: str = "y"
) -> np.ndarray:
    """Return regression targets, called `name` in errors, as float64 of shape (n_samples,).

    A column becomes a vector, with a DataConversionWarning; `several` keeps (n_samples, n_targets).
    TypeError for objects that are no numbers, ValueError for bad values or shapes.
    """
    _require_given(y, owner, name)
    original = real_array(y, name)
    if several and original.ndim == 2 and original.shape[1] > 0:
        _require_length(original, n_samples, name)
    else:
        original = _vector(original, n_samples, name)
    targets = as_floats(original, np.float64)
    require_finite(targets, name, owner, None if targets is original else original)
    return targets


def label_type(labels: np.ndarray) -> str:
    """Return the name of the type of checked labels; numbers and bools are "number"."""
    if labels.dtype.kind in "mM":
        return "date" if labels.dtype.kind == "M" else "duration"
    first = labels[:1].tolist()[0]
    if isinstance(first, str):
        return "str"  # also for objects that are NumPy's own strings
    return "number" if isinstance(first, numbers.Number) else type(first).__name__


def as_labels(
    y: Any, n_samples: int, *, owner: str = "", min_classes: int = 1, name: str = "y"
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted classes of `y`, (n_classes,), and the index of each sample's class, intp.

    Labels are of one type that sorts: whole numbers, bools, strings, others. TypeError for mixed or
    unsortable ones; ValueError for missing or fractional values, other lengths, fewer than
    `min_classes` classes.
    """
    _require_given(y, owner, name)
    # A vector of labels, with strings only where the user gave strings.
    labels = plain_array(y, name)
    if labels.dtype.kind in "US" and not hasattr(y, "dtype"):
        labels = _unmixed(y, labels, name)  # NumPy has turned the number in [1, "a"] into a string
    labels = _vector(labels, n_samples, name)
    # Refuse types that are no labels, mixtures of types, and missing values.
    kind = labels.dtype.kind
    if kind == "c":
        raise ValueError(f"Complex data not supported\n{name} is of type {labels.dtype}.")
    if kind == "V":
        raise TypeError(f"{name} is of type {labels.dtype}, but labels must be sortable values.")
    if kind == "T":  # variable-width strings, whose missing value has a type of its own
        labels = labels.astype(object)
    if kind in "OT":
        _require_one_type(labels.tolist(), name)
    elif kind == "f":
        require_discrete(labels, name)
    elif kind in "mM" and np.isnat(labels).any():
        raise ValueError(f"Input {name} contains NaN (as NaT): every label must be given.")
    # Sort the classes, and count them.
    try:
        classes, codes = _coded_integers(labels) or np.unique(labels, return_inverse=True)
    except TypeError:
        raise TypeError(
            f"Unknown label type: values of type {type(labels[0]).__name__} in {name} do not sort."
        ) from None
    if len(classes) < min_classes:
        raise ValueError(
            f"{name} has {len(classes)} class ({classes[0]!s}), but {owner or 'the model'} needs "
            f"at least {min_classes} classes."
        )
    return classes, codes.astype(np.intp, copy=False)


def as_weights(sample_weight: Any, n_samples: int) -> np.ndarray:
    """Return the weights of the samples as float64 of shape (n_samples,); None is all ones.

    2 is two copies of a sample, 0 its absence. TypeError for objects that are no numbers;
    ValueError for negative, NaN or infinite weights, and a sum that is 0 or overflows.
    """
    if sample_weight is None:
        return np.ones(n_samples)
    # One weight per sample; a scalar stands for all.
    weights = real_array(sample_weight, "sample_weight")
    if weights.ndim == 0:
        weights = np.full(n_samples, weights)
    if weights.ndim != 1:
        raise ValueError(
            "Sample weights must be 1D array or scalar: sample_weight has shape "
            f"{weights.shape}, expected ({n_samples},)."
        )
    if len(weights) != n_samples:
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected ({n_samples},)!")
    # The sum is finite only if every weight is.
    weights = as_floats(weights, np.float64)
    with np.errstate(all="ignore"):
        total = weights.sum()
    if not np.isfinite(total):
        if np.isfinite(weights).all():
            raise ValueError("sample_weight is too large: its sum overflows float64.")
        what = "NaN" if np.isnan(weights).any() else "infinity"
        raise ValueError(f"Input sample_weight contains {what}, but weights must be finite.")
    # Fits divide by the sum, so that some weight must be positive.
    if n_samples and weights.min() < 0:
        raise ValueError(
            f"Negative values in data passed to `sample_weight` (least: {weights.min():g}); "
            "weights must be zero or positive."
        )
    if not total > 0:
        raise ValueError(
            "All values of sample_weight are zero: at least one weight must be positive."
        )
    return weights


def require_enough(
    n_samples: int, least: int, name: str, weights: np.ndarray | None = None
) -> None:
    """Refuse fewer samples, of positive weight where weights are given, than parameter `name`."""
    of_weight = ""
    if weights is not None and len(weights):
        n_samples, of_weight = int(np.count_nonzero(weights)), " (of positive weight)"
    if n_samples < least:
        raise ValueError(f"n_samples={n_samples}{of_weight} should be >= {name}={least}.")


def scaled_weights(weights: Any, *, plain: int = 99) -> tuple[Any, int]:
    """Return non-negative `weights` divided by 2**power, with the largest in [1/2, 1), and power.

    If power is from -plain to plain, or weights are None, return them unchanged and 0.
    """
    if weights is None:
        return None, 0
    power = int(np.frexp(weights.max(initial=0))[1])
    if abs(power) <= plain:
        return weights, 0
    return np.ldexp(weights, -power), power


def as_class_weights(
    class_weight: Any, classes: np.ndarray, codes: np.ndarray, sample_weight: np.ndarray
) -> np.ndarray:
    """Return the weight of each class as float64 of shape (n_classes,).

    None is 1 for all; "balanced" gives every class the same total weight, and keeps the grand
    total; classes that a dict leaves out get 1. TypeError and ValueError for others.
    """
    weights = np.ones(len(classes))
    if class_weight is None:
        return weights
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(
                f"class_weight={class_weight!r} must be None, 'balanced' or a dict from class "
                "to weight."
            )
        totals = np.bincount(codes, weights=sample_weight, minlength=len(classes))
        present = totals > 0  # the weight of an absent class does not matter
        weights[present] = totals.sum() / (present.sum() * totals[present])
        return weights
    if not isinstance(class_weight, dict):
        raise TypeError(
            f"class_weight is of type {type(class_weight).__name__}, but must be None, "
            "'balanced' or a dict from class to weight."
        )
    known = {label: code for code, label in enumerate(classes.tolist())}
    foreign = [key for key in class_weight if key not in known]
    # A fold may lack a class, so a dict with all of `classes` may have other keys too.
    if foreign and len(class_weight) - len(foreign) < len(classes):
        raise ValueError(
            f"class_weight has the key {foreign[0]!r}, which is no class of y: the classes are "
            f"{classes.tolist()}."
        )
    for key, value in class_weight.items():
        weight = as_real(value, f"class_weight[{key!r}]", at_least=0)
        if key in known:
            weights[known[key]] = weight
    return weights


def declared_classes(
    classes: Any, known: np.ndarray | None = None, *, owner: str = ""
) -> np.ndarray:
    """Return the labels that `y` may have, sorted; ValueError for one that is given twice.

    `known` are those of earlier calls of `partial_fit`, for the message.
    """
    labels, codes = as_labels(classes, len(classes), owner=owner, name="classes")
    if len(labels) < len(codes):
        twice = labels[np.bincount(codes).argmax()]
        message = f"{owner}: classes={labels[codes].tolist()} "
        if known is not None:
            message += f"is not the same as on last call to partial_fit, {known.tolist()}, and "
        raise ValueError(f"{message}holds the label {twice!s} more than once.")
    return labels


def require_discrete(labels: np.ndarray, name: str = "y") -> None:
    """Refuse float labels that are NaN, infinite or not whole numbers."""
    if np.isnan(labels).any():
        raise ValueError(f"Input {name} contains NaN: every label must be given.")
    if np.isinf(labels).any():
        raise ValueError(f"Input {name} contains infinity, which is no label.")
    fraction = labels != np.floor(labels)
    if fraction.any():
        raise ValueError(
            f"Unknown label type: continuous. {name} holds {labels[np.argmax(fraction)]!s}, but a "
            "classifier takes discrete labels: whole numbers or strings."
        )


def _coded_integers(labels):
    """Return classes and codes of integers of a short range by a table of it, else None.

    Sorting them, as `numpy.unique` does, took more than the sums of naive Bayes.
    """
    if labels.dtype.kind not in "iu" or not len(labels):
        return None
    least, range_ = int(labels.min()), int(labels.max()) - int(labels.min())
    if range_ >= 4 * len(labels) or not -(2**62) < least < 2**62:
        return None
    places = np.subtract(labels, least, dtype=np.intp)
    present = np.zeros(range_ + 1, bool)
    present[places] = True
    values = np.flatnonzero(present)
    classes = (values + least).astype(labels.dtype)
    if len(values) == len(present):
        return classes, places
    codes = np.cumsum(present, dtype=np.intp)
    codes -= 1
    return classes, codes[places]


def _require_given(y, owner, name="y"):
    if y is None:
        raise ValueError(
            f"{owner or 'This model'} requires {name} to be passed, but the target {name} is None."
        )


def _vector(y, n_samples, name="y"):
    if y.ndim == 2 and y.shape[1] == 1:
        warn(
            "DataConversionWarning",
            f"A column-vector {name} was passed when a 1d array was expected. Please change the "
            f"shape of {name} to (n_samples, ), for example using ravel().",
        )
        y = y.ravel()
    if y.ndim != 1:
        raise ValueError(f"{name} should be a 1d array, got an array of shape {y.shape} instead.")
    _require_length(y, n_samples, name)
    return y


def _require_length(y, n_samples, name):
    if len(y) != n_samples:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{n_samples}, {len(y)}]: "
            f"X and {name} must have the same."
        )


def _unmixed(y, labels, name):
    objects = np.array(y, dtype=object)
    _require_one_type(objects.ravel().tolist(), name)
    return labels


def _require_one_type(values, name):
    """Refuse objects that are missing, or of types that do not sort together."""
    kinds = set(map(type, values))
    names = sorted(kind.__name__ for kind in kinds)
    missing = [name for name in names if name in MISSING]
    if missing:
        raise ValueError(f"Input {name} contains NaN (as {missing[0]}): every label must be given.")
    if all(issubclass(kind, numbers.Real) for kind in kinds):
        for value in values:
            if value != value or abs(value) == math.inf or value != math.floor(value):
                require_discrete(np.array([value], dtype=np.float64), name)
        return
    families = {next((f for f in (str, bytes) if issubclass(k, f)), k) for k in kinds}
    if len(families) > 1:
        if float in kinds and any(value != value for value in values):
            raise ValueError(f"Input {name} contains NaN: every label must be given.")
        raise TypeError(
            f"{name} has labels of mixed types ({', '.join(names)}): they must all be numbers or "
            "all strings."
        )
