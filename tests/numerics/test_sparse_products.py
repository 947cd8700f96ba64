"""Products of sparse rows less a rank-one matrix against those of the dense matrix."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from threadpoolctl import threadpool_limits

from mlcore.numerics import sparse_products
from mlcore.numerics.scatter import column_moments
from mlcore.numerics.sparse_products import (
    OPERATIONS_PER_CALL,
    CentredProducts,
    chosen_columns,
    column_counts,
    column_products,
    largest_entries,
    target_sums,
)

EPS = np.finfo(float).eps


@pytest.mark.parametrize("shape", [(1, 1), (7, 130), (130, 7), (5000, 20)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("density", [0.0, 0.3])
def test_products_match_their_definition(shape, dtype, density):
    rng = np.random.default_rng([*shape, int(10 * density)])
    A = sp.csr_array(sp.random_array(shape, density=density, rng=rng, dtype=dtype))
    left, right = rng.normal(size=shape[0]), rng.normal(size=shape[1])
    Z = A.toarray().astype(float) - np.outer(left, right)
    products = CentredProducts(A, left, right)
    columns, place = products.columns_by_length()
    size = 8 * EPS * max(shape) * (1 + np.abs(Z).max()) ** 2
    v = rng.normal(size=shape[1])
    for _ in range(2):  # scratch of the first product is used again
        assert_allclose(products @ v, Z.T @ (Z @ v), atol=size * max(shape) * 10)
    for k in (1, 3, 4, 5, 8, 9, 20):
        V, U = rng.normal(size=(shape[1], k)), rng.normal(size=(shape[0], k))
        assert_allclose(products.times(V), Z @ V, atol=size * 10)
        assert_allclose(products @ V, Z.T @ (Z @ V), atol=size * max(shape) * 10)
        assert_allclose(columns.times(U)[place], Z.T @ U, atol=size * 10)
    assert_allclose(products.dense(), Z.T @ Z, atol=size * max(shape))
    with threadpool_limits(1):
        one, of_vector = products @ V, products @ v
    assert_array_equal(one, products @ V)
    assert_array_equal(of_vector, products @ v)


def test_products_with_one_vector_are_those_with_a_column(monkeypatch):
    rng = np.random.default_rng(5)
    A = sp.csr_array(sp.random_array((900, 40), density=0.3, rng=rng))
    left, right, v = rng.normal(size=900), rng.normal(size=40), rng.normal(size=40)
    Z = A.toarray() - np.outer(left, right)
    for operations in (OPERATIONS_PER_CALL, 10_000):  # in one call, and in several
        monkeypatch.setattr(sparse_products, "OPERATIONS_PER_CALL", operations)
        products = CentredProducts(A, left, right)
        assert (len(products._calls) > 1) == (operations == 10_000)
        assert_allclose(products @ v, Z.T @ (Z @ v), rtol=1e-11)
        assert_allclose(products @ v, (products @ v.reshape(-1, 1))[:, 0], rtol=1e-12)


@each("offset", [0.0, 1e8])
@each("weighted", [False, True])
@each("dtype", [np.float32, np.float64])
def test_moments_of_sparse_columns(offset, weighted, dtype):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((500, 6)) < 0.3, rng.normal(size=(500, 6)), 0.0)
    X[:, 0] = rng.normal(size=500) + offset  # no zeros
    X[:, 1] = 0
    X = X.astype(dtype)
    weight = rng.random(500) * (rng.random(500) < 0.8) if weighted else None
    origin = np.zeros(6) if offset == 0 else np.array([offset, 0, 0, 0, 0.5, 0])
    found = column_moments(sp.csr_array(X), weight, origin)
    w = (np.ones(500) if weight is None else weight)[:, None].astype(np.longdouble)
    wide = X.astype(np.longdouble) - origin
    mean = (w * wide).sum(axis=0) / w.sum()
    squares = (w * (wide - mean) ** 2).sum(axis=0)
    assert found.weight == pytest.approx(float(w.sum()), rel=1e-14)
    assert_allclose(found.mean, mean.astype(float), rtol=1e-12, atol=1e-13)
    assert_allclose(found.squares, squares.astype(float), rtol=1e-12)


@pytest.mark.parametrize("shape", [(1, 1), (700, 30), (30, 700)])
def test_rows_by_length_have_the_same_products(shape):
    rng = np.random.default_rng(shape)
    A = sp.csr_array(sp.random_array(shape, density=0.2, rng=rng))
    A.data[:] = np.arange(A.nnz)  # integers, of which any order has the same sums
    left, right = rng.integers(0, 9, shape[0]) + 0.0, rng.integers(0, 9, shape[1]) + 0.0
    products = CentredProducts(A, left, right)
    ordered = products.by_length()
    lengths = np.diff(ordered.A.indptr)
    assert (lengths[1:] >= lengths[:-1]).all()
    V = rng.integers(-3, 4, (shape[1], 5)) + 0.0
    assert_array_equal(ordered @ V, products @ V)
    assert_array_equal(products.A.toarray(), A.toarray())


@pytest.mark.parametrize("shape", [(1, 1), (700, 30), (30, 700)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_by_length_are_the_columns(shape, dtype):
    rng = np.random.default_rng(shape)
    A = sp.csr_array(sp.random_array(shape, density=0.2, rng=rng, dtype=dtype))
    left, right = rng.normal(size=shape[0]), rng.normal(size=shape[1])
    columns, place = CentredProducts(A, left, right).columns_by_length()
    lengths = np.diff(columns.A.indptr)
    assert (lengths[1:] >= lengths[:-1]).all()
    assert_array_equal(columns.A.toarray()[place], A.toarray().T)
    assert columns.A.has_canonical_format
    assert columns.A.dtype == dtype
    assert_array_equal(columns.left[place], right)
    assert_array_equal(columns.right, left)


@each("kind", [np.int32, np.int64])
@each("shape", [(1, 1, 1), (40, 7, 130), (3000, 60, 9)])
def test_products_of_columns_match_dense_ones(shape, kind):
    n, d, N = shape
    rng = np.random.default_rng(shape)
    A, B = (np.where(rng.random((n, m)) < 0.3, rng.normal(size=(n, m)), 0.0) for m in (d, N))
    rows = sp.csr_array(B.astype(np.float32)) if d == 7 else sp.csr_array(B)
    rows.indices, rows.indptr = rows.indices.astype(kind), rows.indptr.astype(kind)
    for left in (sp.csr_array(A), sp.csc_array(A)):
        found = []
        for threads in (1, 3):
            with threadpool_limits(threads):
                found.append(column_products(left, rows))
        assert_allclose(found[0], A.T @ rows.toarray(), rtol=0, atol=1e-11)
        assert_array_equal(*found)
    # Entries of one place, and in any order.
    twice = sp.csr_array((np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), np.array([0, 3])), (1, 3))
    assert_array_equal(column_products(twice, twice), np.outer([2, 0, 5], [2, 0, 5]))


@each("dtype", [np.float32, np.float64])
@each("index", [np.int32, np.int64])
@each("chosen", [[], [3], [0, 5, 19], list(range(20))])
def test_columns_are_chosen_counted_and_measured_as_those_of_dense_rows(dtype, index, chosen):
    rng = np.random.default_rng(len(chosen))
    dense = np.where(rng.random((30, 20)) < 0.3, rng.normal(size=(30, 20)), 0.0).astype(dtype)
    dense[7] = 0
    X = sp.csr_array(dense)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    counts = column_counts(X)
    assert_array_equal(counts, (dense != 0).sum(axis=0))
    found = chosen_columns(X, np.array(chosen, np.intp), int(counts[chosen].sum()))
    found.check_format()
    assert found.dtype == dtype and found.has_sorted_indices
    assert_array_equal(found.toarray(), dense[:, chosen])
    assert_array_equal(largest_entries(X, 12), np.abs(dense[:12]).max(axis=0))
    assert not largest_entries(X, 0).any()
    weight, target = rng.uniform(0.5, 2, size=30), rng.normal(size=30)
    exact = dense.astype(float)
    sums = counts, weight @ exact, weight @ exact**2, target @ exact
    assert_allclose(target_sums(X, weight, target), sums, rtol=0, atol=1e-12)
