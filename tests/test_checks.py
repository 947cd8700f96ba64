"""The door for user input: what passes equals the plain array, what does not is named."""

import re
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from sklearn.utils.class_weight import compute_class_weight

from mlcore.checks import (
    as_bool,
    as_choice,
    as_class_weights,
    as_integer,
    as_labels,
    as_random_state,
    as_real,
    as_samples,
    as_targets,
    as_weights,
    check_column_names,
    column_names,
    free_bytes,
    require_memory,
)
from mlcore.exceptions import DataConversionWarning

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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("case", REFUSED)
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
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0), (7, 2), (63, 4)])
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


# ---- sparse


def compressed(data, indices, indptr, shape=(2, 3), kind=sp.csr_array):
    X = kind(shape)
    X.data, X.indices, X.indptr = map(np.asarray, (data, indices, indptr))
    return X


SPARSE = np.array([[0, 2.0, 0, 1], [0, 0, 0, 0], [3, 0, -4, 0]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, bool])
@pytest.mark.parametrize(
    "kind",
    [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix, sp.coo_array, sp.coo_matrix],
)
def test_sparse_formats_become_canonical_csr(kind, dtype):
    X = as_samples(kind(SPARSE.astype(dtype)), accept_sparse=True)
    assert isinstance(X, sp.csr_array)
    assert X.dtype == (np.float32 if dtype is np.float32 else np.float64)
    assert X.has_canonical_format
    assert_array_equal(X.toarray(), SPARSE.astype(dtype))


def test_unsorted_and_duplicate_entries_are_put_in_order_elsewhere():
    X = compressed([1.0, 2.0, 3.0, 4.0], [2, 0, 2, 1], [0, 3, 4])
    X.has_sorted_indices = X.has_canonical_format = True  # as a mistaken caller may claim
    checked = as_samples(X, accept_sparse=True)
    assert_array_equal(checked.indices, [0, 2, 1])
    assert_array_equal(checked.data, [2, 4, 4])
    assert_array_equal(X.data, [1, 2, 3, 4])
    assert_array_equal(X.indices, [2, 0, 2, 1])


@pytest.mark.parametrize("index", [np.int16, np.int32, np.int64, np.uint64, ">i4"])
def test_index_types_and_layouts(index):
    indices = np.array([1, 9, 3, 9, 0, 9, 2, 9]).astype(index)[::2]
    data = np.array([2.0, 9, 1, 9, 3, 9, -4, 9]).astype(">f8")[::2]
    X = compressed(data, indices, np.array([0, 2, 2, 4]).astype(index), shape=(3, 4))
    for array in (X.data, X.indices, X.indptr):
        array.setflags(write=False)
    checked = as_samples(X, accept_sparse=True)
    assert_array_equal(checked.toarray(), SPARSE)
    for array in (checked.data, checked.indices, checked.indptr):
        assert array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative
    assert checked.indices.dtype in (np.int32, np.int64)


def test_canonical_csr_is_shared():
    X = sp.csr_array(SPARSE)
    checked = as_samples(X, accept_sparse=True)
    for name in ("data", "indices", "indptr"):
        assert np.shares_memory(getattr(checked, name), getattr(X, name))


def out_of_range_coo():
    X = sp.coo_array(SPARSE)
    X.coords = (X.coords[0] + 1, X.coords[1])
    return X


CORRUPT = {
    "index too large": (compressed([1.0, 2.0], [0, 3], [0, 1, 2]), "indices is out of range.*2"),
    "index negative": (compressed([1.0, 2.0], [0, -1], [0, 1, 2]), "indices is out of range"),
    "index huge": (compressed([1.0, 2.0], [0, 2**40], [0, 1, 2]), "indices is out of range"),
    "column index": (
        compressed([1.0, 2.0], [0, 3], [0, 1, 2], (3, 2), sp.csc_array),
        "indices is out of range",
    ),
    "float index": (compressed([1.0, 2.0], [0.0, 1.0], [0, 1, 2]), "indices is corrupt.*float64"),
    "decreasing": (compressed([1.0, 2.0], [0, 1], [0, 2, 1]), "never decrease"),
    "late start": (compressed([1.0, 2.0], [0, 1], [1, 1, 2]), "start at 0"),
    "negative end": (compressed([1.0, 2.0], [0, 1], [0, 1, -2]), "never decrease"),
    "past the end": (compressed([1.0, 2.0], [0, 1], [0, 1, 9]), "ends at 9.*lengths 2 and 2"),
    "short data": (compressed([1.0], [0, 1], [0, 1, 2]), "ends at 2.*lengths 2 and 1"),
    "short indptr": (compressed([1.0, 2.0], [0, 1], [0, 1]), "has length 2, but must have 3"),
    "long indptr": (compressed([1.0, 2.0], [0, 1], [0, 1, 2, 2]), "has length 4"),
    "2-D data": (compressed(np.ones((2, 2)), [0, 1], [0, 1, 2]), "data has shape"),
    "2-D indices": (compressed([1.0], [[0]], [0, 1, 1]), "indices is corrupt"),
    "NaN": (compressed([1.0, np.nan], [0, 1], [0, 1, 2]), "contains NaN .at row 1, column 1"),
    "infinity": (compressed([1.0, -np.inf], [0, 1], [0, 1, 2]), "contains infinity"),
    "too large": (compressed([1.0, 1e160], [0, 1], [0, 1, 2]), "too large"),
    "sum too large": (compressed([9e153] * 2, [1, 1], [0, 2, 2]), "too large"),
    "complex": (compressed([1.0, 1j], [0, 1], [0, 1, 2]), "Complex data not supported"),
    "coordinates": (out_of_range_coo(), "X.row is out of range"),
    "one axis": (sp.coo_array(np.ones(3)), "Reshape your data"),
    "no rows": (sp.csr_array((0, 3)), r"0 sample\(s\)"),
    "no columns": (sp.csr_array((3, 0)), r"0 feature\(s\)"),
}


@pytest.mark.parametrize("case", CORRUPT)
def test_corrupt_sparse_input_is_a_value_error(case):
    X, message = CORRUPT[case]
    with pytest.raises(ValueError, match=message):
        as_samples(X, accept_sparse=True)


@pytest.mark.parametrize("form", ["lil", "dok", "dia", "bsr"])
def test_other_sparse_formats_are_refused_with_the_way_out(form):
    with pytest.raises(TypeError, match=rf"sparse in {form.upper()} format.*tocsr"):
        as_samples(sp.csr_array(SPARSE).asformat(form), accept_sparse=True)


@given(
    indices=hnp.arrays(np.int64, 4, elements=st.integers(-2, 5)),
    indptr=hnp.arrays(np.int64, st.integers(0, 5), elements=st.integers(-2, 6)),
)
def test_any_index_arrays_give_scipys_matrix_or_a_value_error(indices, indptr):
    data = np.arange(1.0, 5.0)
    X = compressed(data, indices, indptr, shape=(3, 4))
    try:
        checked = as_samples(X, accept_sparse=True)
    except ValueError:
        return
    expected = np.zeros((3, 4))
    for row in range(3):
        for place in range(indptr[row], indptr[row + 1]):
            expected[row, indices[place]] += data[place]
    assert len(indptr) == 4
    assert_array_equal(checked.toarray(), expected)


# ---- targets, labels, weights


@pytest.mark.parametrize(
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
    "generator": (generator(), TypeError, "y is of type generator"),
    "sparse": (sp.csr_array(np.eye(3)), TypeError, "y is sparse"),
    "ragged": ([[1], [2, 3], [1]], ValueError, "y is ragged"),
    "masked": (np.ma.masked_array([1, 2, 3], [0, 0, 1]), ValueError, "masked"),
}


@pytest.mark.parametrize("case", LABELS_REFUSED)
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


@pytest.mark.parametrize("case", TARGETS_REFUSED)
def test_targets_refused(case):
    y, error, message = TARGETS_REFUSED[case]
    with pytest.raises(error, match=message):
        as_targets(y, 3, owner="SVR")


@pytest.mark.parametrize("dtype", [int, bool, np.float16, np.float32, ">f8", object, np.longdouble])
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


@pytest.mark.parametrize("case", WEIGHTS_REFUSED)
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


@pytest.mark.parametrize(
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


# ---- parameters


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.int8(2), Fraction(2)])
def test_real_numbers_of_every_type(value):
    assert as_real(value, "C", above=0) == 2 and type(as_real(value, "C")) is float


@pytest.mark.parametrize("value", ["2", None, True, np.True_, 2j, [2.0], np.array(2.0), Decimal(2)])
def test_what_is_no_real_number_is_a_type_error(value):
    with pytest.raises(TypeError, match="SVC: C=.* must be a finite number > 0"):
        as_real(value, "C", owner="SVC", above=0)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 0, -1, 1.5, 10**400])
def test_numbers_out_of_range_are_a_value_error(value):
    with pytest.raises(ValueError, match="nu=.* must be a finite number > 0 and <= 1"):
        as_real(value, "nu", above=0, at_most=1)


def test_ends_of_ranges():
    assert as_real(1, "nu", at_most=1) == 1 and as_real(0, "nu", at_least=0) == 0
    assert as_real(np.inf, "C", allow_inf=True) == np.inf
    for bounds in ({"below": 1}, {"above": 1}):
        with pytest.raises(ValueError):
            as_real(1, "nu", **bounds)
    with pytest.raises(ValueError):
        as_real(np.nan, "C", allow_inf=True)


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3)])
def test_integers(value):
    assert type(as_integer(value, "degree")) is int and as_integer(value, "degree") == 3


@pytest.mark.parametrize("value", [3.0, "3", None, True, np.nan, [3]])
def test_what_is_no_integer_is_a_type_error(value):
    with pytest.raises(TypeError, match="degree=.* must be an integer >= 1 and <= 9"):
        as_integer(value, "degree", at_least=1, at_most=9)


@pytest.mark.parametrize("value", [0, 10, -(10**30)])
def test_integers_out_of_range(value):
    with pytest.raises(ValueError, match="degree=.* must be an integer >= 1 and <= 9"):
        as_integer(value, "degree", at_least=1, at_most=9)


def test_absurd_integers_and_values_do_not_flood_the_message():
    with pytest.raises(ValueError, match=r"max_iter=1000.*\.\.\. is too large") as caught:
        as_integer(10**300, "max_iter")
    assert len(str(caught.value)) < 200


def test_choices():
    assert as_choice("rbf", "kernel", ["rbf", "linear"]) == "rbf"
    assert type(as_choice(np.str_("rbf"), "kernel", ["rbf"])) is str
    assert as_choice(None, "kernel", ["rbf", None]) is None
    with pytest.raises(ValueError, match="SVC: kernel='rbg' must be one of 'rbf', 'linear'"):
        as_choice("rbg", "kernel", ["rbf", "linear"], owner="SVC")
    with pytest.raises(TypeError, match="kernel=3 must be one of 'rbf', 'linear'"):
        as_choice(3, "kernel", ["rbf", "linear"])
    with pytest.raises((TypeError, ValueError)):
        as_choice(True, "p", [1, 2])


def test_bools():
    assert as_bool(np.True_, "shrinking") is True
    with pytest.raises(TypeError, match="shrinking=1 must be True or False"):
        as_bool(1, "shrinking")


def test_random_states():
    draw = as_random_state(5).random(4)
    assert_array_equal(as_random_state(5).random(4), draw)
    assert_array_equal(as_random_state(np.int64(5)).random(4), draw)
    generator = np.random.default_rng(1)
    assert as_random_state(generator) is generator
    legacy = as_random_state(np.random.RandomState(3)).random(4)
    assert_array_equal(as_random_state(np.random.RandomState(3)).random(4), legacy)
    assert not np.array_equal(as_random_state(None).random(4), as_random_state(None).random(4))
    with pytest.raises(ValueError, match="random_state=-1"):
        as_random_state(-1)
    for bad in ("seed", 1.5, True, [1]):
        with pytest.raises(TypeError, match="random_state="):
            as_random_state(bad)


# ---- names and memory


def test_column_names():
    frame = pd.DataFrame(PLAIN, columns=["a", "b", "c"])
    assert column_names(frame).tolist() == ["a", "b", "c"]
    assert column_names(pl.DataFrame(frame.to_dict("list"))).tolist() == ["a", "b", "c"]
    assert column_names(PLAIN) is None and column_names(pd.DataFrame(PLAIN)) is None
    with pytest.raises(TypeError, match="only supported if all input features have string names"):
        column_names(pd.DataFrame(PLAIN, columns=["a", 1, 2]))


def test_column_names_are_compared():
    seen = np.array(["a", "b"], object)
    check_column_names(seen.copy(), seen, "SVC")
    check_column_names(None, None, "SVC")
    with pytest.warns(UserWarning, match="does not have valid feature names, but SVC"):
        check_column_names(None, seen, "SVC")
    with pytest.warns(UserWarning, match="SVC was fitted without feature names"):
        check_column_names(seen, None, "SVC")
    with pytest.raises(ValueError, match="same order"):
        check_column_names(seen[::-1], seen, "SVC")
    with pytest.raises(ValueError, match="unseen at fit time:\n- c\nFeature names seen.*:\n- b"):
        check_column_names(np.array(["a", "c"], object), seen, "SVC")


def test_memory_is_asked_for_before_it_is_taken():
    require_memory(1000, 1000, 8, what="K", instead="nothing")
    with pytest.raises(MemoryError) as caught:
        require_memory(10**7, 10**7, 8, what="the Gram matrix", instead="use fewer rows")
    message = str(caught.value)
    assert message.startswith("the Gram matrix of 10000000 x 10000000 needs 800000000000000 bytes")
    assert message.endswith("are free: use fewer rows.")
    assert 0 < free_bytes() < 2**63
