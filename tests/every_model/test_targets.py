"""Targets and weights of every form, and wrong ones."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from sklearn.base import clone

from contract import (
    INF,
    NAN,
    answers,
    case,
    digest,
    labels,
    nothing,
    numbers,
    only,
    refuses,
    several_numbers,
    two_labels,
    well_solved,
)
from mlcore.linear_model import LogisticRegressionCV
from mlcore.online import WidrowHoff
from mlcore.svm import SVCCV


@pytest.mark.parametrize(
    "names", [["b", "a"], [b"b", b"a"], [7, -3], [2.0, 1.0], [True, False], ["a b", "c\u00e9"]]
)
@only(lambda entry: entry.targets in (labels, two_labels))
def test_any_sortable_labels(names, entry, data):
    X, _ = data
    codes = two_labels(X)
    swapped = entry.make().fit(X, codes if sorted(names) == names else 1 - codes).predict(X)
    for form in (list, np.array, pd.Series, lambda v: np.array(v, object)):
        with case(form):
            model = entry.make().fit(X, form([names[code] for code in codes]))
            assert model.classes_.tolist() == sorted(names)
            assert_array_equal(model.predict(X), model.classes_[swapped])


WRONG_TARGETS = {
    "missing": (lambda n: None, ValueError, "requires y to be passed, but the target y is None"),
    "wrong length": (lambda n: [0, 1] * n, ValueError, "inconsistent numbers of samples"),
    "NaN": (lambda n: [NAN] + [0, 1] * (n // 2 - 1) + [1], ValueError, "Input y contains NaN"),
    "infinity": (lambda n: [INF] + [0, 1] * (n // 2 - 1) + [1], ValueError, "contains infinity"),
    "None inside": (lambda n: [None] + [0] * (n - 1), ValueError, "Input y contains"),
    "several columns": (lambda n: np.ones((n, 2)), ValueError, r"shape \(60, 2\)"),
    "complex": (lambda n: [1j] * n, ValueError, "Complex data not supported"),
    "records": (lambda n: np.zeros(n, [("a", int)]), TypeError, "y is of type"),
    "ragged": (lambda n: [[1]] * (n - 1) + [[1, 2]], ValueError, "y is ragged"),
    "generator": (lambda n: (i % 2 for i in range(n)), TypeError, "y is of type generator"),
    "sparse": (lambda n: sp.eye_array(n).tocsr(), TypeError, "y is sparse"),
}
WRONG_LABELS = {
    "mixed types": (lambda n: ["a", 1] * (n // 2), TypeError, r"mixed types \(int, str\)"),
    "continuous": (lambda n: np.linspace(0, 1, n), ValueError, "Unknown label type: continuous"),
    "one class|Negative values": (lambda n: ["a"] * n, ValueError, "class"),
    "unsortable": (lambda n: [object() for _ in range(n)], TypeError, "Unknown label type"),
}
WRONG_NUMBERS = {
    "text": (lambda n: ["a", "b"] * (n // 2), TypeError, "y is of type <U1"),
    "dates": (lambda n: np.arange(n).astype("M8[D]"), TypeError, "datetime64"),
    "too large": (lambda n: np.full(n, 1e200), ValueError, "too large"),
}


NUMBERS = (numbers, several_numbers)


def own_targets(entry):
    """The wrong targets of this model."""
    wrong = WRONG_TARGETS | (WRONG_NUMBERS if entry.targets in NUMBERS else WRONG_LABELS)
    if entry.several_targets:
        del wrong["several columns"]
    if entry.sparse_targets:
        del wrong["sparse"]
    if entry.one_class:
        del wrong["one class|Negative values"]
    return wrong


@only(lambda entry: entry.targets is not nothing)
def test_wrong_targets_are_refused(entry, data):
    X, _ = data
    for what, (make_y, error, message) in own_targets(entry).items():
        with case(what):
            refuses(lambda make_y=make_y: entry.make().fit(X, make_y(len(X))), error, message)


WRONG_WEIGHTS = (
    ([-1.0] + [1.0] * 59, ValueError, "Negative values.*sample_weight"),
    ([NAN] + [1.0] * 59, ValueError, "sample_weight contains NaN"),
    ([INF] + [1.0] * 59, ValueError, "sample_weight contains infinity"),
    ([1.0] * 59, ValueError, r"sample_weight.shape == \(59,\), expected \(60,\)"),
    (np.ones((60, 1)), ValueError, "1D array or scalar"),
    (np.zeros(60), ValueError, "sample_weight are zero"),
    (["1"] * 60, TypeError, "sample_weight is of type <U1"),
    (np.ones(60) * 1j, ValueError, "Complex data not supported"),
)


@only(lambda entry: entry.weights)
def test_wrong_weights_are_refused(entry, data):
    X, y = data
    for weights, error, message in WRONG_WEIGHTS:
        with case(message):
            refuses(lambda w=weights: entry.make().fit(X, y, sample_weight=w), error, message)


@only(lambda entry: entry.weights and entry.targets in (labels, two_labels))
def test_one_class_left_by_the_weights(entry, data):
    X, y = data
    weights = (y == y[0]).astype(float)
    if entry.one_class:
        model = entry.make().fit(X, y, sample_weight=weights)
        assert (model.predict(X) == y[0]).all() and model.classes_.tolist() == [y[0]]
        return
    refuses(lambda: entry.make().fit(X, y, sample_weight=weights), ValueError, "class")


def folds_are_drawn(model):
    """Whether the folds of a cross-validation depend on how often a row is there."""
    searched = isinstance(model, (SVCCV, LogisticRegressionCV))
    return searched or bool(model.get_params().get("probability"))


def weights_are_copies(entry):
    """Whether a weight of 2 counts as two copies; in a round it doubles a step."""
    return entry.weights and entry.make is not WidrowHoff and not folds_are_drawn(entry.make())


@only(weights_are_copies)
def test_weight_two_is_a_copy_and_zero_is_absence(entry, data):
    X, y = data
    counts = np.arange(len(X)) % 3
    y_repeated = None if y is None else y.repeat(counts, axis=0)
    model = well_solved(entry, 0.3 if entry.make().get_params().get("kernel") == "rbf" else None)
    weighted = clone(model).fit(X, y, sample_weight=counts)
    repeated = clone(model).fit(X.repeat(counts, axis=0), y_repeated)
    for found, expected in zip(answers(weighted, X), answers(repeated, X), strict=True):
        if found.dtype.kind == "f":
            assert_allclose(found, expected, atol=1e-5)


@only(lambda entry: entry.weights)
def test_weights_of_any_form(entry, data):
    X, y = data
    weights = np.arange(1, len(X) + 1) / 8
    expected = digest(entry.make().fit(X, y, sample_weight=weights))
    for form in (list, pd.Series, lambda w: w.astype(np.float32)):
        with case(form):
            given = form(weights)
            assert digest(entry.make().fit(X, y, sample_weight=given)) == expected
            assert_array_equal(np.asarray(given), weights)
