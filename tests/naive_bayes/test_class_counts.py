"""Sums of rows by class are those of a plain loop, and what the loop refuses is refused."""

from itertools import product

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from threadpoolctl import threadpool_limits

from contract import case
from mlcore.naive_bayes.class_counts import class_counts

KINDS = ("sum", "above", "binary")


def rows_of(kind, shape, seed=0, density=0.3):
    rng = np.random.default_rng(seed)
    present = rng.random(shape) < density
    if kind == "binary":
        return present.astype(float)
    values = rng.normal(size=shape)
    return np.where(present, np.abs(values) if kind == "sum" else values, 0.0)


def summed(X, codes, weights, n_classes, kind, threshold):
    """One row after another, in the order of a matrix product by hand."""
    added = X if kind != "above" else (X > threshold).astype(float)
    indicator = np.zeros((n_classes, len(X)))
    indicator[codes, np.arange(len(X))] = 1.0 if weights is None else weights
    return indicator @ added


@each("kind", KINDS)
@each("dtype", [np.float32, np.float64])
@each("container", ["dense", np.int32, np.int64])
def test_sums_of_rows(kind, dtype, container):
    shapes = [(1, 1), (7, 3), (60, 37), (4000, 13), (9, 2000)]
    for shape, weighted in product(shapes, [False, True]):
        with case(shape, weighted):
            sums_are_those_of_rows(kind, dtype, container, shape, weighted)


def sums_are_those_of_rows(kind, dtype, container, shape, weighted):
    rng = np.random.default_rng(1)
    X = rows_of(kind, shape).astype(dtype)
    codes = rng.integers(0, 3, shape[0])
    weights = rng.random(shape[0]) + 0.5 if weighted else None
    given = X
    if container != "dense":
        given = sp.csr_array(X)
        given.indices, given.indptr = (a.astype(container) for a in (given.indices, given.indptr))
    found = class_counts(given, codes, weights, 3, kind, 0.25, checked=False)
    expected = summed(X.astype(float), codes, weights, 3, kind, 0.25)
    assert_allclose(found, expected, rtol=shape[0] * np.finfo(float).eps)
    if not weighted and kind != "sum":
        assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_threads_change_no_bit(kind, container):
    X = container(rows_of(kind, (60_000, 40), density=0.9))
    rng = np.random.default_rng(2)
    codes, weights = rng.integers(0, 4, 60_000), rng.random(60_000)
    found = []
    for n_threads in (1, 2, 5):
        with threadpool_limits(n_threads):
            found.append(class_counts(X, codes, weights, 4, kind, 0.25, checked=False).tobytes())
    assert len(set(found)) == 1


@each("kind", KINDS)
@each("container", [np.asarray, sp.csr_array])
def test_values_that_are_refused(kind, container):
    codes = np.zeros(2000, np.intp)
    for place, value in product([0, 700, 1999], [np.nan, np.inf, -np.inf, 1e300]):
        X = rows_of(kind, (2000, 11), density=0.8)
        X[place, 7] = value
        found = class_counts(container(X), codes, None, 1, kind, checked=False)
        assert found is None, (place, value)


@each("kind", KINDS)
@each("place", [0, 500, 1999])
def test_structure_that_is_refused(kind, place):
    X = sp.csr_array(rows_of(kind, (2000, 11), density=1.0 if kind != "binary" else 2.0))
    codes = np.zeros(2000, np.intp)

    def refused(change):
        other = X.copy()
        change(other)
        return class_counts(other, codes, None, 1, kind, checked=False) is None

    start = int(X.indptr[place])

    def swap(other):
        other.indices[[start, start + 1]] = other.indices[[start + 1, start]]

    def repeat(other):
        other.indices[start + 1] = other.indices[start]

    def put(array, index, value):
        def change(other):
            getattr(other, array)[index] = value

        return change

    assert not refused(lambda other: None)
    # Columns may have any order; duplicates are added, here to a 2 that is no 0 or 1.
    assert not refused(swap)
    assert refused(repeat) == (kind == "binary")
    assert refused(put("indices", start + 3, 11))
    assert refused(put("indices", start + 3, -1))
    assert refused(put("indptr", place + 1, len(X.data) + 1))
    assert refused(put("indptr", place + 1, -1))


def test_the_first_column_of_a_row_may_be_below_the_last_of_the_row_before():
    X = sp.csr_array(np.array([[0, 0, 1], [1, 1, 0], [0, 0, 0], [0, 1, 0], [1, 0, 1]], float))
    assert_array_equal(class_counts(X, np.zeros(5, np.intp), None, 1, "binary"), [[2, 2, 2]])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_columns_in_any_order_and_duplicates(kind, dtype, index):
    # Rows of more entries than are checked at once too, and more rows than one byte can number.
    rng = np.random.default_rng(7)
    X = (rng.random((600, 900)) < 0.7) * rng.integers(1, 3 if kind != "binary" else 2, (600, 900))
    X[5:560] *= rng.random((555, 900)) < 0.01
    canonical = sp.csr_array(X.astype(dtype))
    given = shuffled(canonical, rng, index)
    assert not given.has_sorted_indices
    before = [part.copy() for part in (given.data, given.indices, given.indptr)]
    codes = rng.integers(0, 3, 600)
    found = class_counts(given, codes, None, 3, kind, 1.0, checked=False)
    assert_array_equal(found, class_counts(canonical, codes, None, 3, kind, 1.0))
    for part, same in zip((given.data, given.indices, given.indptr), before, strict=True):
        assert_array_equal(part, same)


def shuffled(X, rng, index):
    """Read-only rows whose entries are in random order, half of them in two parts: 2 = 1 + 1 and
    1 = 1 + 0.
    """
    rows, columns, values = (np.asarray(part) for part in sp.find(X))
    again = rng.random(len(rows)) < 0.5
    rows, columns = np.append(rows, rows[again]), np.append(columns, columns[again])
    parts = np.where(values[again] > 1, 1, 0).astype(values.dtype)
    values = np.append(values, parts)
    values[: len(again)][again] -= parts
    order = np.lexsort((rng.random(len(rows)), rows))
    indptr = np.searchsorted(rows[order], np.arange(X.shape[0] + 1))
    out = sp.csr_array(X.shape, dtype=values.dtype)
    out.data, out.indices, out.indptr = (
        values[order], columns[order].astype(index), indptr.astype(index),
    )  # fmt: skip
    for part in (out.data, out.indices, out.indptr):
        part.flags.writeable = False
    return out


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_a_sum_of_duplicates_is_compared_with_the_threshold(dtype):
    X = sp.csr_array(np.zeros((1, 2), dtype))
    X.data, X.indices = np.array([2, 5, 2], dtype), np.array([1, 0, 1], np.int32)
    X.indptr = np.array([0, 3], np.int32)
    assert_array_equal(class_counts(X, np.zeros(1, np.intp), None, 1, "above", 3.0), [[1, 1]])
    assert_array_equal(class_counts(X, np.zeros(1, np.intp), None, 1, "above", 4.0), [[1, 0]])
    assert class_counts(X, np.zeros(1, np.intp), None, 1, "binary") is None


@each("kind", KINDS)
@each("value", [-1, 2, np.iinfo(np.int64).min])
def test_integers_that_are_refused(kind, value):
    X = sp.csr_array(np.ones((700, 3), np.int64))
    X.data[1800] = value
    found = class_counts(X, np.zeros(700, np.intp), None, 1, kind, 0.5, checked=False)
    refused = kind == "binary" or (kind == "sum" and value < 0)
    assert (found is None) == refused
