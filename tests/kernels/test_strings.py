"""Strings as samples: what is taken, what is refused and how it is named."""

import copy
import pickle
import sys

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from mlcore.kernels.structured.strings import Strings, as_strings


def decoded(strings):
    """The strings again, as lists of symbols."""
    ends = strings.offsets[strings.chosen + 1]
    parts = [strings.codes[a:b] for a, b in zip(strings.offsets[strings.chosen], ends, strict=True)]
    if strings.kind == "tokens":
        return [[strings.symbols[code] for code in part] for part in parts]
    if strings.kind == "bytes":
        return [bytes(part.astype(np.uint8)) for part in parts]
    return ["".join(map(chr, part)) for part in parts]


CHARACTERS = st.sampled_from("ab\x00\ud800\U0010ffff") | st.integers(0, sys.maxunicode).map(chr)


@settings(max_examples=30)
@given(
    st.one_of(
        st.lists(st.text(CHARACTERS, max_size=9), min_size=1, max_size=9),
        st.lists(st.binary(max_size=9), min_size=1, max_size=9),
        st.lists(st.lists(st.integers(), max_size=9), min_size=1, max_size=9),
        st.lists(
            st.lists(st.tuples(st.text("ab", max_size=3), st.integers()), max_size=5),
            min_size=1,
            max_size=9,
        ),
    )
)
def test_nothing_is_lost(X):
    strings = as_strings(X, "kernel")
    assert decoded(strings) == X
    assert strings.shape == (len(X), 1)
    assert_array_equal(strings.lengths(), [len(x) for x in X])
    some = np.arange(len(X))[::2]
    part = strings[some]
    assert decoded(part) == X[::2]
    assert decoded(part.packed()) == X[::2]
    assert decoded(pickle.loads(pickle.dumps(part))) == X[::2]
    assert decoded(copy.deepcopy(part)) == X[::2]


@each(
    "X",
    [
        ["ab", "c"],
        ("ab", "c"),
        np.array(["ab", "c"]),
        np.array(["ab", "c"], object),
        np.array([["ab"], ["c"]]),
        [np.str_("ab"), "c"],
    ],
)
def test_containers_of_strings(X):
    assert decoded(as_strings(X, "kernel")) == ["ab", "c"]


def test_series_and_columns_of_data_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": ["ab", "c"]}, index=[7, 3])
    for X in (frame["text"], frame, frame["text"].astype("string")):
        assert decoded(as_strings(X, "kernel")) == ["ab", "c"]
    polars = pytest.importorskip("polars")
    assert decoded(as_strings(polars.Series(["ab", "c"]), "kernel")) == ["ab", "c"]


def test_tokens_of_lists_tuples_and_arrays_are_the_same():
    for X in ([[3, 1], [2]], [(3, 1), (2,)], [np.array([3, 1]), np.array([2])]):
        assert decoded(as_strings(X, "kernel")) == [[3, 1], [2]]


def test_strings_that_are_encoded_are_taken_as_they_are():
    strings = as_strings(["ab"], "kernel")
    assert as_strings(strings, "kernel") is strings


REFUSED = {
    "one string": ("abc", TypeError, r"X is one str, but must be a list.*\[X\]"),
    "one of bytes": (b"abc", TypeError, "X is one bytes"),
    "None inside": (["a", None], TypeError, r"X\[1\] is of type NoneType"),
    "NaN inside": (["a", float("nan")], TypeError, r"X\[1\] is of type float"),
    "numbers": ([1, 2], TypeError, r"X\[0\] is of type int"),
    "str and bytes": (["a", "b", b"c"], TypeError, r"X\[0\] is str and X\[2\] bytes"),
    "str and tokens": (["a", ["b"]], TypeError, r"X\[0\] is str and X\[1\] a sequence"),
    "no samples": ([], ValueError, "X has no samples"),
    "several columns": (np.array([["a", "b"]]), ValueError, r"X has shape \(1, 2\)"),
    "a set": ({"a"}, TypeError, "X is of type set"),
    "a dict": ({"a": 1}, TypeError, "X is of type dict"),
    "a generator": ((x for x in "ab"), TypeError, "X is of type generator"),
    "a number": (5, TypeError, "X is of type int"),
    "None": (None, TypeError, "X is of type NoneType"),
    "unhashable": ([["a"], ["b", ["c"]]], TypeError, r"X\[1\] has the token \['c'\], of type list"),
    "unsortable": ([["a", 1]], TypeError, "tokens of X cannot be sorted.*one type"),
    "missing token": ([["a"], ["b", None]], TypeError, r"X\[1\] has a missing token"),
}


@each("name", REFUSED)
def test_what_is_no_list_of_strings_is_refused_by_place(name):
    X, error, pattern = REFUSED[name]
    with pytest.raises(error, match="^kernel: .*" + pattern):
        as_strings(X, "kernel")


@each(
    "damage",
    [
        {"kind": "letters"},
        {"codes": np.array([0, 1, 5], np.int32)},
        {"codes": np.array([0, 1, -1], np.int32)},
        {"codes": np.array([0.0, 1, 1])},
        {"offsets": np.array([0, 2, 4])},
        {"offsets": np.array([0, 4, 3])},
        {"offsets": np.array([1, 2, 3])},
        {"offsets": np.zeros(0, np.int64)},
    ],
)
def test_damaged_codes_are_refused(damage):
    state = as_strings([["b", "a"], ["a"]], "kernel").__getstate__()
    with pytest.raises(ValueError, match="damaged"):
        Strings.__new__(Strings).__setstate__(state | damage)
