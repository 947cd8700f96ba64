"""Sparse samples become canonical CSR, and corrupt ones are refused."""

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from scipy import sparse as sp

from mlcore._ext.checks.sparse import order_of
from mlcore.checks import as_samples


def compressed(data, indices, indptr, shape=(2, 3), kind=sp.csr_array):
    X = kind(shape)
    X.data, X.indices, X.indptr = map(np.asarray, (data, indices, indptr))
    return X


FORMATS = ("csr", "csc", "coo", "bsr", "dia", "dok", "lil")
SPARSE = np.array([[0, 2.0, 0, 1], [0, 0, 0, 0], [3, 0, -4, 0]])


@each("dtype", [np.float32, np.float64, np.int8, bool])
@each("kind", [getattr(sp, f"{form}_{kind}") for form in FORMATS for kind in ("array", "matrix")])
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


@each("index", [np.int16, np.int32, np.int64, np.uint64, ">i4"])
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


@each("index", [np.int32, np.int64])
@each("indptr_type", [np.int32, np.int64])
def test_order_of_rows_is_the_definition(index, indptr_type):
    """Rows of any lengths, some out of order in one place, at the edges of blocks too."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        n, d = rng.integers(0, 7), rng.integers(1, 200)
        lengths = rng.integers(0, d + 1, n) * (rng.random(n) < 0.7)
        rows = [np.sort(rng.choice(d, k, replace=False)) for k in lengths]
        indices = np.concatenate([*rows, []]).astype(index)
        if len(indices) > 1 and rng.random() < 0.5:
            at = rng.integers(1, len(indices))
            indices[at] = indices[at - 1] - rng.integers(0, 2)
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(indptr_type)
        expected = all((np.diff(row) > 0).all() for row in np.split(indices, indptr[1:-1]))
        in_order, least, greatest = order_of(indices, indptr)
        assert in_order == expected
        if in_order and len(indices):
            assert (least, greatest) == (indices.min(), indices.max())


def out_of_range_coo():
    X = sp.coo_array(SPARSE)
    X.coords = (X.coords[0] + 1, X.coords[1])
    return X


CORRUPT = {
    "index too large": (compressed([1.0, 2.0], [0, 3], [0, 1, 2]), "indices is out of range.*2"),
    "index negative": (compressed([1.0, 2.0], [0, -1], [0, 1, 2]), "indices is out of range"),
    "index huge": (compressed([1.0, 2.0], [0, 2**40], [0, 1, 2]), "indices is out of range"),
    "index out of order": (compressed([1.0] * 3, [0, 3, 1], [0, 3, 3]), "spans 0 to 3.*0 to 2"),
    "index negative, in order": (compressed([1.0] * 2, [-1, 2], [0, 2, 2]), "spans -1 to 2"),
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


@each("case", CORRUPT)
def test_corrupt_sparse_input_is_a_value_error(case):
    X, message = CORRUPT[case]
    with pytest.raises(ValueError, match=message):
        as_samples(X, accept_sparse=True)


def changed(form, **parts):
    X = sp.csr_array(SPARSE[:2]).asformat(form)
    for name, value in parts.items():
        setattr(X, name, value)
    return X


def lists(*values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


CORRUPT_OTHERS = {
    "bsr index": changed("bsr", indices=np.array([0, 9, 1, 0], dtype=np.int32)),
    "bsr index that wraps": changed("bsr", indices=np.array([0, 2**30, 1, 0], dtype=np.int64)),
    "bsr indptr": changed("bsr", indptr=np.array([0, 900], dtype=np.int32)),
    "bsr blocks": changed("bsr", data=np.ones((2, 5, 3))),
    "bsr data": changed("bsr", data=np.ones(4)),
    "dia offsets": changed("dia", offsets=np.array([0])),
    "dia offsets that are no integers": changed("dia", offsets=np.array([0.5, 1.5])),
    "lil columns": changed("lil", rows=lists([1, 9], [])),
    "lil negative": changed("lil", rows=lists([1, -1], [])),
    "lil lengths": changed("lil", rows=lists([1, 2, 3], [])),
    "lil rows": changed("lil", rows=lists([1, 2]), data=lists([1.0, 2.0])),
    "lil text": changed("lil", rows=lists([1, "a"], [])),
    "dok NaN": sp.dok_array(SPARSE * np.nan),
}


@each("case", CORRUPT_OTHERS)
def test_corrupt_data_in_other_formats_is_a_value_error(case):
    with pytest.raises(ValueError, match="^(Input )?X.* (is corrupt|is out of range|contains NaN)"):
        as_samples(CORRUPT_OTHERS[case], accept_sparse=True)


@given(
    offsets=hnp.arrays(np.int64, st.integers(0, 4), elements=st.integers(-6, 6), unique=True),
    width=st.integers(0, 6),
)
def test_any_diagonals_are_scipys(offsets, width):
    data = np.arange(1.0, 1 + len(offsets) * width).reshape(len(offsets), width)
    X = sp.dia_array((data, offsets), shape=(3, 4))
    assert_array_equal(as_samples(X, accept_sparse=True).toarray(), X.toarray())


def test_blocks_past_the_end_are_left_out():
    X = sp.bsr_array(np.kron(np.eye(2), np.ones((2, 3))), blocksize=(2, 3))
    expected = X.toarray()
    X.indices, X.data = np.append(X.indices, 77), np.append(X.data, X.data[:1], axis=0)
    assert_array_equal(as_samples(X, accept_sparse=True).toarray(), expected)


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


@settings(deadline=None, max_examples=80)
@given(st.data())
def test_rows_put_in_order_are_those_of_scipy(data):
    # Up to several words of 64 columns, and of 64 of these words; integers, so that sums are exact.
    d = data.draw(st.sampled_from([1, 5, 64, 65, 5000, 20_000]))
    row = st.lists(st.tuples(st.integers(0, d - 1), st.integers(-3, 3)), max_size=30)
    rows = data.draw(st.lists(row, min_size=1, max_size=6))
    dtype = data.draw(st.sampled_from([np.float32, np.float64]))
    index = data.draw(st.sampled_from([np.int32, np.int64]))
    values = np.array([value for row in rows for _, value in row], dtype)
    columns = np.array([column for row in rows for column, _ in row], index)
    starts = np.cumsum([0, *map(len, rows)]).astype(index)
    X = compressed(values, columns, starts, shape=(len(rows), d))
    for part in (X.data, X.indices, X.indptr):
        part.setflags(write=False)
    expected = sp.csr_array((values.copy(), columns.copy(), starts.copy()), shape=X.shape)
    expected.sum_duplicates()
    found = as_samples(X, accept_sparse=True)
    for name in ("data", "indices", "indptr"):
        assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.dtype == dtype
    parts = found.data, found.indices, found.indptr
    assert sp.csr_array(parts, shape=X.shape).has_canonical_format


def test_more_columns_than_memory_are_put_in_order():
    X = compressed([1.0, 2.0, 3.0], [2**40, 5, 2**40], [0, 3], shape=(1, 2**41))
    found = as_samples(X, accept_sparse=True)
    assert_array_equal(found.indices, [5, 2**40])
    assert_array_equal(found.data, [2, 4])
