"""Targets, labels and weights: what passes, and what is named."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from sklearn.utils.class_weight import compute_class_weight

from mlcore.checks import (
    as_class_weights,
    as_labels,
    as_targets,
    as_weights,
    scaled_weights,
)
from mlcore.checks.errors import DataConversionWarning


@each(
    ("y", "classes"),
    [
        ([3, 1, 3], [1, 3]),
        ([True, False, True], [False, True]),
        (["b", "a", "b"], ["a", "b"]),
        ([b"b", b"a", b"b"], [b"a", b"b"]),
        (np.array(["b", "a", "b"], object), ["a", "b"]),
        (np.array([3, 1, 3], object), [1, 3]),
        (np.array([3.0, 1.0, 3.0], np.float16), [1, 3]),
        (np.array([3, 1, 3], ">i2"), [1, 3]),
        (np.array(["b", "a", "b"], np.dtypes.StringDType()), ["a", "b"]),
        (pd.Series(["b", "a", "b"]), ["a", "b"]),
        (pd.Series(["b", "a", "b"], dtype="category"), ["a", "b"]),
        (pl.Series(["b", "a", "b"]), ["a", "b"]),
        (np.array(["2021", "2020", "2021"], "M8[Y]"), np.array(["2020", "2021"], "M8[Y]")),
        ([2, 2, 2], [2]),
    ],
)
def test_labels_of_any_sortable_type(y, classes):
    found, codes = as_labels(y, 3)
    assert found.tolist() == np.array(classes).tolist()
    assert codes.dtype == np.intp
    assert found[codes].tolist() == np.asarray(y).tolist()


LABELS_REFUSED = {
    "None": (None, ValueError, "SVC requires y to be passed, but the target y is None"),
    "mixed list": ([1, "a", 2], TypeError, r"mixed types \(int, str\)"),
    "mixed objects": (np.array([1, "a", 2], object), TypeError, r"mixed types \(int, str\)"),
    "bytes and text": ([b"a", "a", "b"], TypeError, r"mixed types \(bytes, str\)"),
    "bool and text": ([True, "a", "b"], TypeError, "mixed types"),
    "continuous": ([1.5, 2, 3], ValueError, "Unknown label type: continuous. y holds 1.5"),
    "continuous objects": (np.array([1.5, 2, 3], object), ValueError, "continuous"),
    "NaN": ([1, np.nan, 2], ValueError, "Input y contains NaN"),
    "infinity": ([1, np.inf, 2], ValueError, "Input y contains infinity"),
    "NaN object": (np.array(["a", np.nan, "b"], object), ValueError, "Input y contains NaN"),
    "None object": (["a", None, "b"], ValueError, "Input y contains NaN .as NoneType"),
    "NA": (pd.Series(["a", pd.NA, "b"], dtype=object), ValueError, "NaN .as NAType"),
    "NaT": (np.array(["2020", "NaT", "2021"], "M8[D]"), ValueError, "NaT"),
    "complex": ([1j, 2, 3], ValueError, "Complex data not supported"),
    "unsortable": ([object() for _ in range(3)], TypeError, "Unknown label type.*object"),
    "records": (np.zeros(3, [("a", int)]), TypeError, "sortable"),
    "wrong length": ([1, 2], ValueError, r"inconsistent numbers of samples: \[3, 2\]"),
    "several columns": ([[1, 2]] * 3, ValueError, r"1d array, got an array of shape \(3, 2\)"),
    "scalar": (5, ValueError, r"1d array, got an array of shape \(\)"),
    "generator": ((i for i in range(3)), TypeError, "y is of type generator"),
    "sparse": (sp.csr_array(np.eye(3)), TypeError, "y is sparse"),
    "ragged": ([[1], [2, 3], [1]], ValueError, "y is ragged"),
    "masked": (np.ma.masked_array([1, 2, 3], [0, 0, 1]), ValueError, "masked"),
}


@each("case", LABELS_REFUSED)
def test_labels_refused(case):
    y, error, message = LABELS_REFUSED[case]
    with pytest.raises(error, match=message):
        as_labels(y, 3, owner="SVC")


def test_too_few_classes_are_counted():
    with pytest.raises(ValueError, match=r"1 class \(7\), but SVC needs at least 2 classes"):
        as_labels([7, 7], 2, owner="SVC", min_classes=2)


TARGETS_REFUSED = {
    "None": (None, ValueError, "SVR requires y to be passed"),
    "text": (["1", "2", "3"], TypeError, "y is of type <U1"),
    "text objects": (np.array([1.0, "2", 3], object), TypeError, r"y\[1\] is of type str"),
    "dates": (np.array(["2020"] * 3, "M8[D]"), TypeError, "datetime64"),
    "complex": ([1j, 2, 3], ValueError, "Complex data not supported"),
    "NaN": ([1, np.nan, 2], ValueError, r"Input y contains NaN .at y\[1\]"),
    "infinity": ([1, 2, -np.inf], ValueError, r"Input y contains infinity .at y\[2\]"),
    "missing": ([1, None, 2], ValueError, "NoneType"),
    "too large": ([1, 1e160, 2], ValueError, "too large"),
    "wrong length": ([1, 2], ValueError, r"inconsistent numbers of samples: \[3, 2\]"),
    "several columns": ([[1, 2]] * 3, ValueError, r"shape \(3, 2\)"),
}


@each("case", TARGETS_REFUSED)
def test_targets_refused(case):
    y, error, message = TARGETS_REFUSED[case]
    with pytest.raises(error, match=message):
        as_targets(y, 3, owner="SVR")


@each("dtype", [int, bool, np.float16, np.float32, ">f8", object, np.longdouble])
def test_targets_become_float64(dtype):
    targets = as_targets(np.array([0, 1, 1]).astype(dtype), 3)
    assert targets.dtype == np.float64 and targets.dtype.isnative
    assert_array_equal(targets, [0, 1, 1])


@pytest.mark.parametrize("convert", [as_targets, as_labels])
def test_a_column_is_a_vector_with_one_warning_at_the_callers_line(convert):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result = convert([[3], [1], [3]], 3)
    assert [issubclass(w.category, DataConversionWarning) for w in seen] == [True]
    assert seen[0].filename == __file__
    values = result if convert is as_targets else result[0][result[1]]
    assert_array_equal(values, [3, 1, 3])


WEIGHTS_REFUSED = {
    "negative": ([1, -1, 2], ValueError, "Negative values.*sample_weight"),
    "negative scalar": (-2, ValueError, "Negative values.*sample_weight"),
    "NaN": ([1, np.nan, 2], ValueError, "sample_weight contains NaN"),
    "infinite": ([1, np.inf, 2], ValueError, "sample_weight contains infinity"),
    "wrong length": ([1, 2], ValueError, r"sample_weight.shape == \(2,\), expected \(3,\)"),
    "2-D": ([[1], [2], [3]], ValueError, "1D array or scalar"),
    "all zero": ([0, 0, 0], ValueError, "sample_weight are zero"),
    "overflow": ([1e308] * 3, ValueError, "too large"),
    "text": (["a", "b", "c"], TypeError, "sample_weight is of type <U1"),
    "complex": ([1j, 1, 1], ValueError, "Complex data"),
    "None inside": ([1, None, 2], ValueError, "NoneType"),
    "string": ("balanced", TypeError, "sample_weight is of type str"),
}


@each("case", WEIGHTS_REFUSED)
def test_weights_refused(case):
    weights, error, message = WEIGHTS_REFUSED[case]
    with pytest.raises(error, match=message):
        as_weights(weights, 3)


@pytest.mark.parametrize(
    ("found", "expected"),
    [(None, [1, 1, 1]), (2, [2, 2, 2]), ([0, 1, 5], [0, 1, 5]), ([True, False, True], [1, 0, 1])],
)
def test_weights_become_float64(found, expected):
    weights = as_weights(found, 3)
    assert weights.dtype == np.float64
    assert_array_equal(weights, expected)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.data())
def test_balanced_weights_are_those_of_repeated_samples(codes, data):
    n = len(codes)
    classes, codes = as_labels(codes, n)
    copies = np.array(data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)))
    found = as_class_weights("balanced", classes, codes, copies.astype(float))
    repeated = codes.repeat(copies)
    assert_allclose(found, compute_class_weight("balanced", classes=np.unique(codes), y=repeated))


def test_class_weights_of_a_dict():
    classes, codes = np.array(["a", "b", "c"]), np.array([0, 1, 2, 0])
    ones = np.ones(4)
    assert_array_equal(as_class_weights(None, classes, codes, ones), [1, 1, 1])
    assert_array_equal(as_class_weights({"b": 3}, classes, codes, ones), [1, 3, 1])
    every = {"a": 1, "b": 2, "c": 0, "elsewhere": 9}
    assert_array_equal(as_class_weights(every, classes, codes, ones), [1, 2, 0])


@each(
    ("class_weight", "error", "message"),
    [
        ("equal", ValueError, "class_weight='equal' must be None, 'balanced' or a dict"),
        (3, TypeError, "class_weight is of type int"),
        ({"d": 1}, ValueError, "key 'd', which is no class of y"),
        ({"a": -1}, ValueError, r"class_weight\['a'\]=-1 must be a finite number >= 0"),
        ({"a": np.nan}, ValueError, "finite number"),
        ({"a": "1"}, TypeError, "is of type str"),
    ],
)
def test_class_weights_refused(class_weight, error, message):
    with pytest.raises(error, match=message):
        as_class_weights(class_weight, np.array(["a", "b"]), np.array([0, 1]), np.ones(2))


@each("peak", [1e-300, 2.0**-99, 0.7, 2.0**98, 2.0**99, 1e300])
def test_extreme_weights_are_scaled_by_a_power_of_two(peak):
    weights = peak * np.array([0.25, 0.0, 1.0])
    scaled, power = scaled_weights(weights)
    assert_array_equal(np.ldexp(scaled, power), weights)
    assert (scaled is weights) == (power == 0) == (2.0**-100 <= peak < 2.0**99)
    largest = scaled_weights(weights, plain=0)[0].max()
    assert 0.5 <= largest < 1


def test_no_weights_stay_none():
    assert scaled_weights(None) == (None, 0)
    assert scaled_weights(np.empty(0))[1] == 0


@each("dtype", ["i1", "u1", ">i2", "i4", "u8", "i8"])
@each("least", [-128, -3, 0, 5, 2**62 - 1, 2**63 - 2, -(2**63)])
@each("step", [1, 7, 200])
def test_integers_are_coded_as_by_sorting(dtype, least, step):
    """By a table where their range is short, which steps of 200 do not let it be."""
    limits = np.iinfo(dtype)
    values = [least + step * k for k in (3, 0, 1, 3, 0, 3)]
    if min(values) < limits.min or max(values) > limits.max:
        values = [k % 100 for k in values]
    y = np.array(values, dtype)
    classes, codes = as_labels(y, 6)
    expected, places = np.unique(y, return_inverse=True)
    assert_array_equal(classes, expected)
    assert_array_equal(codes, places)
    assert classes.dtype == expected.dtype and codes.dtype == np.intp
