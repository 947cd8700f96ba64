"""Samples of every layout and type are taken or refused by name."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse as sp

from contract import (
    INF,
    LAYOUTS,
    N_FEATURES,
    N_SAMPLES,
    NAN,
    answers,
    case,
    contents,
    digest,
    fitted,
    methods,
    one_of_each_class,
    plain_fit,
    refuses,
)


def test_every_layout_gives_the_same_and_is_left_untouched(entry, data):
    X, y = data
    plain = entry.make().fit(X, y)
    for layout, arrange in LAYOUTS.items():
        with case(layout):
            arranged = arrange(X)
            before = copy.deepcopy(arranged)
            model = entry.make().fit(arranged, None if y is None else y.tolist())
            for found, expected in zip(answers(model, arranged), answers(plain, X), strict=True):
                assert_array_equal(found, expected)
            assert_array_equal(np.asarray(arranged), np.asarray(before))
            state = fitted(model)
            state.pop("feature_names_in_", None)
            vars(state.get("estimator_", model)).pop("feature_names_in_", None)
            assert contents(state) == contents(fitted(plain))


def test_memory_mapped_input(entry, data, tmp_path):
    X, y = data
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = entry.make().fit(mapped, y)
    assert digest(model) == digest(entry.make().fit(X, y))
    again = pickle.loads(pickle.dumps(model))
    assert all(len(answer) == 1 for answer in answers(again, mapped[:1]))


# 0, 1 and 2 in every column: equal rows of two classes, which a small nu cannot tell apart.
@pytest.mark.filterwarnings("ignore:NuSVC.* at nu=0.[23] the margin is zero")
def test_every_real_type_is_taken(entry, data):
    steps, y = 1.0 * (data[0] > 0) + (data[0] > 1), data[1]
    known = {}  # answers by the values in the type that they become
    for dtype in ("f4", ">f4", "f2", "g", "i1", "u8", "?"):
        with case(dtype):
            X = steps.astype(dtype)
            exact = np.float32 if np.dtype(dtype).newbyteorder("=") == np.float32 else np.float64
            model = entry.make().fit(X, y)
            same = X.astype(exact)
            if contents(same) not in known:
                known[contents(same)] = answers(entry.make().fit(same, y), same)
            for found, right in zip(answers(model, X), known[contents(same)], strict=True):
                assert_array_equal(found, right)


def test_later_calls_take_any_float_type_and_one_row(entry, data):
    X, y = data
    X = X.astype(np.float32).astype(np.float64)  # the same numbers in both types
    for stored, asked in [(np.float32, np.float64), (np.float64, np.float32)]:
        model = entry.make().fit(X.astype(stored), y)
        for method in methods(model):
            assert_array_equal(method(X.astype(asked)), method(X.astype(stored)))
            assert len(method(X[:1].tolist())) == 1


WRONG_TYPES = {
    "complex": (lambda X: X + 1j, ValueError, "Complex data not supported.*complex128"),
    "strings": (lambda X: X.astype(str), TypeError, "X is of type <U"),
    "bytes": (lambda X: X.astype("S5"), TypeError, r"X is of type \|S5"),
    "dates": (lambda X: X.astype("M8[s]"), TypeError, "datetime64"),
    "records": (lambda X: np.zeros(len(X), [("a", float)]), TypeError, "X is of type .*'a'"),
    "text objects": (lambda X: X.astype(str).astype(object), TypeError, "X.0, 0. is of type str"),
    "None": (lambda X: None, TypeError, "X is of type NoneType"),
    "generator": (lambda X: (row for row in X), TypeError, "X is of type generator"),
    "function": (lambda X: len, TypeError, "X is of type builtin"),
    "1-D": (lambda X: X[:, 0], ValueError, "Reshape your data"),
    "3-D": (lambda X: X[:, :, None], ValueError, "dim 3"),
    "scalar": (lambda X: 3.0, ValueError, "Reshape your data"),
    "no rows": (lambda X: X[:0], ValueError, r"0 sample\(s\)"),
    "no columns": (lambda X: X[:, :0], ValueError, r"0 feature\(s\)"),
    "ragged": (lambda X: [[1.0, 2.0, 3.0, 4.0], [1.0]], ValueError, "X is ragged"),
    "masked": (lambda X: np.ma.masked_less(X, 1), ValueError, "masked values"),
}


TEXT = ("strings", "bytes", "text objects")


@one_of_each_class
def test_what_is_no_real_matrix_is_refused_by_every_method(entry, data):
    X, y = data
    model = plain_fit(entry)
    for what, (spoil, error, message) in WRONG_TYPES.items():
        with case(what):
            if entry.text and what in TEXT:
                text = entry.make().fit(spoil(X), y)
                assert_array_equal(text.predict(spoil(X)), model.predict(X))
            elif entry.text and what == "dates":
                dates = spoil(np.round(X))
                times = entry.make().fit(dates, y)
                numbers = entry.make().fit(np.round(X), y)
                assert_array_equal(times.predict(dates), numbers.predict(np.round(X)))
            else:
                for call in (lambda A: entry.make().fit(A, y), *methods(model)):
                    refuses(lambda call=call, spoil=spoil: call(spoil(X)), error, message)


PLACES = (0, 0), (N_SAMPLES - 1, N_FEATURES - 1), (31, 2), (0, N_FEATURES - 1)
BAD_VALUES = {NAN: "NaN", INF: "infinity", -INF: "infinity", 1e200: "too large"}


@one_of_each_class
def test_nan_infinity_and_huge_values_are_refused_by_every_method(entry, data):
    X, y = data
    model = plain_fit(entry)
    for (bad, word), place in zip(BAD_VALUES.items(), PLACES, strict=True):
        spoiled = X.copy()
        spoiled[place] = bad
        arrangements = [spoiled, np.asfortranarray(spoiled)]
        if entry.sparse:
            arrangements.append(sp.csc_array(spoiled))
        for call in (lambda A: entry.make().fit(A, y), *methods(model)):
            with case(bad, call):
                for A in arrangements:
                    refuses(lambda A=A, call=call: call(A), ValueError, f"X contains .*{word}")


@one_of_each_class
def test_what_cannot_fit_is_refused_before_it_is_allocated(entry):
    virtual = np.broadcast_to(1.0, (10**8, 10**5))  # 8 bytes that stand for 80 TB
    message = "of 100000000 x 100000 needs 80000000000000 bytes.*are free: pass fewer rows"
    refuses(lambda: entry.make().fit(virtual, None), MemoryError, message)
    for method in methods(plain_fit(entry)):
        refuses(lambda method=method: method(virtual), MemoryError, message)
