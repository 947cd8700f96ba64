"""What passes as samples equals the plain array, what does not is named."""

import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from scipy import sparse as sp

from mlcore.checks import as_samples, as_targets

PLAIN = np.array([[1.5, -2.0, 0.0], [4.0, 1e-310, 6.25]])


def unaligned(array):
    raw = np.empty(array.nbytes + 1, np.uint8)
    view = raw[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


def memory_mapped(array, folder):
    path = folder / "X.npy"
    np.save(path, array)
    return np.load(path, mmap_mode="r")


LAYOUTS = {
    "C": lambda a, _: a,
    "Fortran": lambda a, _: np.asfortranarray(a),
    "strided": lambda a, _: np.repeat(a, 2, axis=1)[:, ::2],
    "reversed": lambda a, _: a[::-1, ::-1].copy()[::-1, ::-1],
    "big-endian": lambda a, _: a.astype(a.dtype.newbyteorder(">")),
    "unaligned": lambda a, _: unaligned(a),
    "memory-mapped": memory_mapped,
    "nested lists": lambda a, _: a.tolist(),
    "tuples": lambda a, _: tuple(map(tuple, a.tolist())),
    "pandas": lambda a, _: pd.DataFrame(a),
    "polars": lambda a, _: pl.DataFrame(a, schema=["a", "b", "c"], orient="row"),
    "objects": lambda a, _: a.astype(object),
    "matrix subclass": lambda a, _: a.view(np.recarray).view(np.ndarray),
    "masked, none masked": lambda a, _: np.ma.masked_array(a, mask=False),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_plain_array(layout, tmp_path):
    X = LAYOUTS[layout](PLAIN.copy(), tmp_path)
    checked = as_samples(X)
    assert type(checked) is np.ndarray
    assert checked.dtype == np.float64 and checked.dtype.isnative
    assert checked.flags.c_contiguous and checked.flags.aligned
    assert_array_equal(checked, PLAIN)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_in_order_is_not_copied(dtype):
    X = np.arange(6, dtype=dtype).reshape(2, 3)
    X.setflags(write=False)
    assert as_samples(X) is X
    assert as_samples(X, like=np.empty(0, dtype)) is X


@each(
    ("found", "expected"),
    [
        *((kind, np.float64) for kind in "?bBhHiIlLqQedg"),
        ("f", np.float32),
        (">f4", np.float32),
    ],
)
def test_float32_stays_and_the_rest_becomes_float64(found, expected):
    X = np.array([[0, 1], [1, 1]]).astype(found)
    checked = as_samples(X)
    assert checked.dtype == np.dtype(expected)
    assert_array_equal(checked, [[0, 1], [1, 1]])


def test_numeric_objects_are_converted():
    X = np.array([[Fraction(1, 4), Decimal("0.5")], [np.float32(2), True]], dtype=object)
    assert_array_equal(as_samples(X), [[0.25, 0.5], [2, 1]])


def test_like_converts_to_the_precision_of_the_fit():
    X = as_samples([[1.0, 1 / 3]], like=np.float32)
    assert X.dtype == np.float32 and X[0, 1] == np.float32(1 / 3)
    assert as_samples(sp.csr_array([[1.0, 0]]), accept_sparse=True, like=X).dtype == np.float32


def generator():
    yield [1.0]


RECORDS = np.zeros((3, 2), [("height", float)])
REFUSED = {
    "None": (None, TypeError, "X is of type NoneType"),
    "generator": (generator(), TypeError, "X is of type generator"),
    "iterator": (iter([[1.0]]), TypeError, "X is of type list_iterator"),
    "set": ({1.0, 2.0}, TypeError, "X is of type set"),
    "dict": ({"a": [1.0]}, TypeError, "X is of type dict"),
    "text": ("abc", TypeError, "X is of type str"),
    "function": (len, TypeError, "X is of type builtin_function_or_method"),
    "scalar": (3.0, ValueError, "got scalar array instead.*Reshape your data"),
    "1-D": ([1.0, 2.0], ValueError, r"got 1D array of shape \(2,\).*Reshape your data"),
    "1-D frame": (pd.Series([1.0]), ValueError, "Reshape your data"),
    "3-D": (np.ones((2, 2, 2)), ValueError, r"dim 3 and shape \(2, 2, 2\).*expected <= 2"),
    "no rows": (np.empty((0, 2)), ValueError, r"0 sample\(s\).*minimum of 1"),
    "no columns": (np.empty((2, 0)), ValueError, r"0 feature\(s\) \(shape=\(2, 0\)\)"),
    "ragged": ([[1.0, 2.0], [3.0]], ValueError, "X is ragged"),
    "ragged deeper": ([[1.0, 2.0], [3.0, [4.0]]], ValueError, "X is ragged"),
    "complex": (np.ones((2, 2)) * 1j, ValueError, "Complex data not supported.*complex128"),
    "complex objects": (np.array([[1j]], object), ValueError, "Complex data not supported"),
    "strings": ([["1.0", "2.0"]], TypeError, "X is of type <U3"),
    "bytes": ([[b"1"]], TypeError, r"X is of type \|S1"),
    "string objects": (np.array([[1.0, "2"]], object), TypeError, r"X\[0, 1\] is of type str"),
    "dates": (np.array([["2020"]], "M8[D]"), TypeError, r"datetime64\[D\]"),
    "time spans": (np.array([[3]], "m8[s]"), TypeError, r"timedelta64\[s\]"),
    "date objects": (
        np.array([[np.datetime64("2020")]], object),
        TypeError,
        r"X\[0, 0\] is of type datetime64",
    ),
    "records": (RECORDS, TypeError, r"X is of type \[\('height', '<f8'\)\]"),
    "frame with text": (pd.DataFrame({"a": [1.0], "b": ["x"]}), TypeError, r"X\[0, 1\].*str"),
    "frame of dates": (pd.DataFrame({"a": pd.to_datetime(["2020"])}), TypeError, "datetime64"),
    "frame with NA": (pd.DataFrame({"a": pd.array([1, None], "Int64")}), ValueError, "NaN"),
    "None inside": (np.array([[1.0, None]], object), ValueError, "NoneType.*NaN"),
    "dict inside": (np.array([[1.0, {}]], object), TypeError, r"X\[0, 1\] is of type dict"),
    "huge integer": ([[10**400]], ValueError, "too large"),
    "masked": (np.ma.masked_array([[1.0, 2.0]], [[False, True]]), ValueError, "1 masked values"),
    "virtual": (np.broadcast_to(1.0, (10**9, 10**4)), MemoryError, "1000000000 x 10000"),
    "sparse": (sp.csr_array(np.eye(2)), TypeError, "Sparse data.*toarray"),
    "float16 infinity": (np.array([[np.inf]], np.float16), ValueError, "infinity"),
    "float32 too large": (np.array([[1e20]], np.float32), ValueError, "float32.*too large"),
    "float64 too large": ([[0.0, 1.0], [-1e160, 2.0]], ValueError, "too large.*row 1, column 0"),
    # infinity where long double is double
    "long double": (np.array([["1e4000"]]).astype(np.longdouble), ValueError, "too large|infinity"),
}


@each("case", REFUSED)
def test_what_is_no_matrix_of_finite_numbers_is_refused_by_name(case):
    X, error, message = REFUSED[case]
    with pytest.raises(error, match=re.compile(message, re.DOTALL)):
        as_samples(X, owner="SVC")


def test_the_owner_and_the_argument_are_named():
    with pytest.raises(ValueError, match="minimum of 2 is required by SVC; n_samples=1"):
        as_samples([[1.0]], owner="SVC", min_samples=2)
    with pytest.raises(ValueError, match=r"Y: expected 2D array.*Y\.reshape"):
        as_samples([1.0], name="Y")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_bad_value_is_found_at_every_place_of_every_length(dtype):
    for size in range(1, 40):
        X = np.ones((size, 1), dtype)
        assert as_samples(X) is X
        for place in range(size):
            X[place] = np.nan
            with pytest.raises(ValueError, match=f"contains NaN .*row {place}, column 0"):
                as_samples(X)
            X[place] = 1


@each("dtype", [np.float32, np.float64])
@each("bad", [np.nan, np.inf, -np.inf])
@each("place", [(0, 0), (7, 2), (63, 4)])
def test_nan_and_infinity_are_found_wherever_they_hide(dtype, bad, place):
    X = np.ones((64, 5), dtype)
    X[place] = bad
    what = "NaN" if np.isnan(bad) else "infinity"
    where = f"row {place[0]}, column {place[1]}"
    for found in (X, np.asfortranarray(X), X.astype(object), X[::-1].copy()[::-1]):
        with pytest.raises(ValueError, match=f"Input X contains {what} .at {where}"):
            as_samples(found)
    with pytest.raises(ValueError, match=f"Input X contains {what} .at {where}"):
        as_samples(sp.csr_array(X), accept_sparse=True)


@given(
    hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=5),
        elements=st.floats(width=64),
    )
)
def test_accepted_means_every_squared_distance_is_finite(X):
    with np.errstate(all="ignore"):
        safe = np.isfinite(X).all() and ((X**2).sum(axis=1) < np.finfo(float).max / 4.001).all()
        unsafe = not np.isfinite(((X[:, None] - X[None]) ** 2).sum(axis=2)).all()
    try:
        assert as_samples(X) is X
        accepted = True
    except ValueError:
        accepted = False
    assert accepted or not safe
    assert not (accepted and unsafe)


def test_long_columns_near_the_limit_are_accepted():
    X = np.full((100, 1), 6e153)  # each square is finite, their sum is not
    assert as_samples(X) is X
    assert_array_equal(as_targets(X[:, 0], 100), X[:, 0])
