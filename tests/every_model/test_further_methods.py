"""Methods that only some models have: they take what the others take, and refuse the same."""

import copy
import inspect
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from contract import (
    INF,
    LAYOUTS,
    MODELS,
    NAN,
    case,
    digest,
    fitted,
    nothing,
    numbers,
    only,
    refuses,
    several_numbers,
)

NAMES = (
    "reconstruction_errors", "feature_residuals", "predict_log_proba", "inverse_transform", "score",
    "leave_one_out", "verify", "correlations", "partial_statistics", "partial_fit",
)  # fmt: skip
FAMILIES = (
    "PCA",
    "KernelPCA",
    "CCA",
    "KernelCCA",
    "LinearD",
    "QuadraticD",
    "KernelRidge",
    "NystroemRidge",
    "Perceptron",
    "KernelPerceptron",
    "LinearRegression",
)


def further(entry):
    """The methods of a model that take samples; some ridge models leave their own out."""
    kind = type(entry.make())
    for method in NAMES:
        if hasattr(kind, method) and not (
            kind.__name__.startswith("KernelRidge") and method == "leave_one_out"
        ):
            yield method


def takes_targets(entry, method):
    second = list(inspect.signature(getattr(type(entry.make()), method)).parameters)[2:3]
    return entry.targets is not nothing and second in (["y"], ["Y"])


IN_FAMILIES = [entry for name, entry in MODELS.items() if name.startswith(FAMILIES)]
of_these_families = only(lambda entry: entry in IN_FAMILIES)


def made(entry, method, X, y):
    params = {"fit_inverse_transform": True} if method == "inverse_transform" else {}
    model = entry.make()
    model.set_params(**{k: v for k, v in params.items() if k in model.get_params()})
    if method == "partial_fit":  # which begins anew after `fit`, but goes on from itself
        return called(entry, model, method, X, y)
    return model.fit(X, y)


def argument(model, method, X):
    """What the method takes first."""
    return model.transform(X) if method == "inverse_transform" else X


def called(entry, model, method, given, y):
    call = getattr(model, method)
    return call(given, y) if takes_targets(entry, method) else call(given)


def plain(answer):
    """The arrays of an answer; of a fitted model its attributes."""
    if hasattr(answer, "get_params"):
        answer = {k: v for k, v in fitted(answer).items() if not k.startswith("feature_names")}
        return [np.asarray(v) for v in answer.values() if isinstance(v, np.ndarray)]
    parts = answer if isinstance(answer, tuple) else (answer,)
    return [np.asarray(part) for part in parts]


@of_these_families
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.filterwarnings("ignore:X has feature names")
def test_every_layout_gives_the_same_and_is_left_untouched(entry, data):
    X, y = data
    for method in further(entry):
        model = made(entry, method, X, y)
        given = argument(model, method, X)
        expected = plain(called(entry, copy.deepcopy(model), method, given, y))
        for layout, arrange in LAYOUTS.items():
            with case(method, layout):
                arranged = arrange(given)
                before = copy.deepcopy(arranged)
                found = plain(called(entry, copy.deepcopy(model), method, arranged, y))
                for one, other in zip(found, expected, strict=True):
                    assert_array_equal(one, other)
                assert_array_equal(np.asarray(arranged), np.asarray(before))


BAD = {
    "NaN": (lambda A: np.where(np.arange(A.shape[1]) == 1, NAN, A), ValueError, "NaN"),
    "infinity": (lambda A: np.where(np.arange(A.shape[1]) == 1, -INF, A), ValueError, "infinity"),
    "complex": (lambda A: A + 1j, ValueError, "Complex data not supported"),
    "text": (lambda A: A.astype(str), TypeError, "of type <U"),
    "no rows": (lambda A: A[:0], ValueError, r"0 sample\(s\)"),
    "1-D": (lambda A: A[:, 0], ValueError, "Reshape your data"),
    "another width": (lambda A: np.c_[A, A], ValueError, "features|components"),
    "None": (lambda A: None, TypeError, "NoneType"),
}


@of_these_families
def test_what_is_no_real_matrix_of_the_fit_is_refused(entry, data):
    X, y = data
    for method in further(entry):
        model = made(entry, method, X, y)
        given, before = argument(model, method, X), digest(model)
        for what, (spoil, error, message) in BAD.items():
            with case(method, what):
                spoiled = spoil(given)
                call = partial(called, entry, model, method, spoiled, y)
                refuses(call, error, message)
                assert digest(model) == before


@of_these_families
def test_wrong_targets_are_refused(entry, data):
    X, y = data
    for method in further(entry):
        if takes_targets(entry, method):
            with case(method):
                refuses_wrong_targets(entry, method, X, y)


def refuses_wrong_targets(entry, method, X, y):
    model = made(entry, method, X, y)
    before, few = digest(model), "inconsistent numbers of samples"
    refuses(lambda: called(entry, model, method, X, y[:-1]), ValueError, few)
    refuses(
        lambda: called(entry, model, method, X, np.array([*y[1:], None], object)), ValueError, "y"
    )
    if entry.targets in (numbers, several_numbers):
        bad = y.copy()
        bad[3] = NAN
        refuses(lambda: called(entry, model, method, X, bad), ValueError, "Input [yY] contains NaN")
    assert digest(model) == before


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@only(lambda entry: hasattr(entry.make(), "set_output"))
def test_scores_come_as_frames_with_the_names_of_their_columns(entry, data, kind):
    type_of_frame = pytest.importorskip(kind).DataFrame
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcd"), index=np.arange(len(X)) + 7)
    model = entry.make().fit(frame, y)
    plain_scores = model.transform(frame)
    scores = model.set_output(transform=kind).transform(frame)
    assert type(scores) is type_of_frame
    assert list(scores.columns) == list(model.get_feature_names_out())
    assert_array_equal(scores.to_numpy(), plain_scores)
    if kind == "pandas":
        assert_array_equal(scores.index, frame.index)
