"""RowStore: rows of K are right whatever was forgotten, and memory stays within its bound."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mlcore.kernels.rows import KernelRows
from mlcore.svm.row_store import LINE, RowStore, padded


def samples(n, d=5, seed=0):
    return np.random.default_rng([n, d, seed]).normal(size=(n, d))


def rbf_rows(n, d=5, double=True):
    return KernelRows(samples(n, d), "rbf", gamma=0.2, double=double)


def rows_of(store, kernel_rows, wanted):
    slots = store.fetch(wanted)
    assert_array_equal(store.held(wanted), slots)
    return store.rows[slots, : kernel_rows.n]


@pytest.mark.parametrize(("count", "expected"), [(0, 0), (1, 16), (15, 16), (16, 16), (17, 32)])
def test_padded(count, expected):
    assert LINE == 16 and padded(count) == expected


def test_rows_are_right_whatever_was_evicted():
    kernel = rbf_rows(300)
    K = kernel.block(np.arange(300))
    store = RowStore(kernel, cache_size=1e-3)
    assert store.capacity == 64 and not store.whole
    rng = np.random.default_rng(1)
    for _ in range(100):
        wanted = rng.permutation(300)[: rng.integers(1, 65)]
        assert_array_equal(rows_of(store, kernel, wanted), K[wanted])


def test_rows_asked_for_again_are_not_computed_again():
    asked = []

    def inner(A, B):
        asked.append(len(A))
        return A @ B.T

    store = RowStore(KernelRows(samples(200), inner), cache_size=1e-3)
    assert store.capacity == 64
    del asked[:]
    store.fetch(np.arange(40))
    store.fetch(np.arange(20, 60))
    assert asked == [40, 20]
    store.fetch(np.arange(60, 80))  # evicts 16 of those not used last, 0 to 19
    store.fetch(np.arange(20, 60))
    assert asked == [40, 20, 20]
    assert (store.held(np.arange(20)) < 0).sum() == 16


@pytest.mark.parametrize("double", [False, True])
def test_memory_follows_the_cache_size(double):
    """Rows and the square fit the cache; but there are at least 64 rows, and a square of 512."""
    kernel = KernelRows(np.eye(2000), "precomputed", double=double)
    size = kernel.dtype.itemsize
    for cache_size in (10.0, 20.0):
        store = RowStore(kernel, cache_size)
        assert 64 < store.capacity < 2000 and store.square > 512
        used = size * (store.capacity * padded(2000) + store.square**2)
        assert 0.9 * cache_size <= used / 1e6 <= cache_size
    assert RowStore(kernel, 1e-6).capacity == 64 and RowStore(kernel, 1e-6).square == 512
    assert RowStore(kernel, 1e4).capacity == 2000


def test_the_packed_samples_count_as_cached():
    kernel = KernelRows(samples(1000, 200), "rbf", gamma=0.1)
    assert RowStore(kernel, 2.0).capacity < RowStore(kernel, 2.0 + kernel.nbytes / 1e6).capacity


def test_few_samples_are_all_held():
    for n in (1, 5, 63):
        store = RowStore(rbf_rows(n), cache_size=1e-6)
        assert store.capacity == n
        store.complete()
        assert store.whole


@pytest.mark.parametrize("double", [True, False])
def test_complete_holds_the_matrix_row_by_row(double):
    kernel = rbf_rows(130, double=double)
    store = RowStore(kernel, 200.0)
    store.fetch(np.array([7, 100]))
    store.complete()
    assert store.whole
    expected = np.empty((130, 130), kernel.dtype)
    kernel.fill_all(expected)
    assert_array_equal(store.rows[:130, :130], expected)
    wanted = np.array([3, 129, 0])
    assert_array_equal(store.fetch(wanted), wanted)
    assert_array_equal(store.held(wanted), wanted)


def test_the_whole_matrix_is_computed_where_it_fits_and_pays():
    few, many = samples(2100, 3), samples(2100, 40)
    cases = [
        (KernelRows(many, "rbf", gamma=0.1), 200.0, 1, False),
        (KernelRows(many, "rbf", gamma=0.1), 200.0, 3, True),  # three problems share it
        (KernelRows(many, "rbf", gamma=0.1), 1.0, 3, False),  # does not fit
        (KernelRows(few[:2000], "linear"), 200.0, 1, True),  # few samples
    ]
    for kernel, cache_size, sharing, whole in cases:
        store = RowStore(kernel, cache_size)
        store.complete(sharing)
        assert store.whole == whole


@pytest.mark.parametrize("cache_size", [1e-3, 200.0])
@pytest.mark.parametrize("double", [True, False])
@pytest.mark.parametrize("complete", [True, False])
def test_products_over_spans(complete, double, cache_size):
    kernel = rbf_rows(300, double=double)
    K = kernel.block(np.arange(300)).astype(np.float64)
    store = RowStore(kernel, cache_size)
    if complete:
        store.complete()
    rng = np.random.default_rng(0)
    wanted, weights = np.sort(rng.permutation(300)[:200]), rng.normal(size=200)
    out = rng.normal(size=300)
    expected = out.copy()
    for first, last in ((0, 17), (40, 300)):
        expected[first:last] += weights @ K[wanted, first:last]
    store.add_product(wanted, weights, out, [(0, 17), (40, 300)])
    # The symmetric matrix may differ from its rows computed one by one in the last place.
    assert_allclose(out, expected, rtol=0, atol=100 * np.finfo(kernel.dtype).eps)


def test_products_are_summed_in_double_precision():
    n = 4096
    K = np.full((n, n), 0.1, np.float32)
    store = RowStore(KernelRows(K, "precomputed"), 200.0)
    out = np.zeros(n)
    store.add_product(np.arange(n), np.full(n, 1e-3), out, [(0, n)])
    assert_allclose(out, n * 1e-3 * np.float64(np.float32(0.1)), rtol=1e-13)


def test_nothing_is_held_where_the_kernel_failed():
    fail = []

    def inner(A, B):
        if fail:
            raise KeyboardInterrupt
        return A @ B.T

    X = samples(100)
    store = RowStore(KernelRows(X, inner, double=True), cache_size=1e-6)
    store.fetch(np.arange(60))
    fail.append(True)
    with pytest.raises(KeyboardInterrupt):
        store.fetch(np.arange(40, 90))
    del fail[:]
    for wanted in (np.arange(64), np.arange(36, 100)):
        assert_allclose(store.rows[store.fetch(wanted), :100], X[wanted] @ X.T, rtol=1e-14)
