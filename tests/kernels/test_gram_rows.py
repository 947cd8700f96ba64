"""GramRows: rows of K are right whatever was forgotten, and memory stays within its bound."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal

from mlcore.kernels import gram_matrix
from mlcore.kernels.gram_rows import LINE, GramRows, padded
from mlcore.kernels.vector_kernels import as_kernel
from mlcore.svm.smo.kernel_cache import KernelCache


def samples(n, d=5, seed=0):
    return np.random.default_rng([n, d, seed]).normal(size=(n, d))


def rbf_rows(n, d=5, double=True):
    return as_kernel("rbf", gamma=0.2).rows(samples(n, d), double=double)


def rows_of(store, kernel_rows, wanted):
    slots = store.fetch(wanted)
    assert_array_equal(store.cached(wanted), slots)
    return store.rows[slots, : kernel_rows.n]


@each(("count", "expected"), [(0, 0), (1, 16), (15, 16), (16, 16), (17, 32)])
def test_padded(count, expected):
    assert LINE == 16 and padded(count) == expected


def test_rows_are_right_whatever_was_evicted():
    kernel = rbf_rows(300)
    K = kernel.block(np.arange(300))
    store = KernelCache(kernel, cache_size=1e-3)
    assert store.capacity == 64 and not store.whole
    rng = np.random.default_rng(1)
    for _ in range(100):
        wanted = rng.permutation(300)[: rng.integers(1, 65)]
        assert_array_equal(rows_of(store, kernel, wanted), K[wanted])


@pytest.mark.parametrize("d", [5, 40])  # recomputed anyway, or kept
def test_rows_that_pass_leave_those_kept_right(d):
    kernel = rbf_rows(300, d)
    K, rng = kernel.block(np.arange(300)), np.random.default_rng(2)
    store = KernelCache(kernel, cache_size=1e-3)
    for keep in (True, False) * 10:
        wanted = np.sort(rng.permutation(300)[: rng.integers(1, 200)])
        weights, out = rng.normal(size=len(wanted)), np.zeros(300)
        store.add_product(wanted, weights, out, [(0, 300)], keep=keep)
        assert_allclose(out, weights @ K[wanted], rtol=0, atol=1e-13 * np.abs(weights).sum())
        slots = store.cached(np.arange(300))
        here = np.flatnonzero(slots >= 0)
        assert_array_equal(store.rows[slots[here], :300], K[here])


def test_rows_asked_for_again_are_not_computed_again():
    asked = []

    def inner(A, B):
        asked.append(len(A))
        return A @ B.T

    store = KernelCache(as_kernel(inner).rows(samples(200), double=False), cache_size=1e-3)
    assert store.capacity == 64
    del asked[:]
    store.fetch(np.arange(40))
    store.fetch(np.arange(20, 60))
    assert asked == [40, 20]
    store.fetch(np.arange(60, 80))  # evicts 16 of those not used last, 0 to 19
    store.fetch(np.arange(20, 60))
    assert asked == [40, 20, 20]
    assert (store.cached(np.arange(20)) < 0).sum() == 16


@pytest.mark.parametrize("double", [False, True])
def test_memory_follows_the_cache_size(double):
    """Rows and the square fit the cache; but there are at least 64 rows, and a square of 512."""
    kernel = as_kernel("precomputed").rows(np.eye(2000), double=double)
    size = kernel.dtype.itemsize
    for cache_size in (10.0, 20.0):
        store = KernelCache(kernel, cache_size)
        assert 64 < store.capacity < 2000 and store.largest_submatrix > 512
        used = size * (store.capacity * padded(2000) + store.largest_submatrix**2)
        assert 0.9 * cache_size <= used / 1e6 <= cache_size
    assert (
        KernelCache(kernel, 1e-6).capacity == 64
        and KernelCache(kernel, 1e-6).largest_submatrix == 512
    )
    assert KernelCache(kernel, 1e4).capacity == 2000


def test_the_packed_samples_count_as_cached():
    kernel = as_kernel("rbf", gamma=0.1).rows(samples(1000, 200), double=False)
    assert (
        KernelCache(kernel, 2.0).capacity < KernelCache(kernel, 2.0 + kernel.nbytes / 1e6).capacity
    )


def test_few_samples_are_all_held():
    for n in (1, 5, 63):
        store = KernelCache(rbf_rows(n), cache_size=1e-6)
        assert store.capacity == n
        store.complete()
        assert store.whole


@pytest.mark.parametrize("double", [True, False])
def test_complete_holds_the_matrix_row_by_row(double):
    kernel = rbf_rows(130, double=double)
    store = KernelCache(kernel, 200.0)
    store.fetch(np.array([7, 100]))
    store.complete()
    assert store.whole
    expected = np.empty((130, 130), kernel.dtype)
    kernel.fill_all(expected)
    assert_array_equal(store.rows[:130, :130], expected)
    wanted = np.array([3, 129, 0])
    assert_array_equal(store.fetch(wanted), wanted)
    assert_array_equal(store.cached(wanted), wanted)


def test_the_whole_matrix_is_computed_where_it_fits_and_pays():
    few, many = samples(2100, 3), samples(2100, 40)
    cases = [
        (as_kernel("rbf", gamma=0.1).rows(many, double=False), 200.0, 1, False),
        (
            as_kernel("rbf", gamma=0.1).rows(many, double=False),
            200.0,
            3,
            True,
        ),  # three problems share it
        (as_kernel("rbf", gamma=0.1).rows(many, double=False), 1.0, 3, False),  # does not fit
        (as_kernel("linear").rows(few[:2000], double=False), 200.0, 1, True),  # few samples
    ]
    for kernel, cache_size, sharing, whole in cases:
        store = KernelCache(kernel, cache_size)
        store.complete(sharing)
        assert store.whole == whole


@each("cache_size", [1e-3, 200.0])
@each("double", [True, False])
@each("complete", [True, False])
def test_products_over_spans(complete, double, cache_size):
    kernel = rbf_rows(300, double=double)
    K = kernel.block(np.arange(300)).astype(np.float64)
    store = KernelCache(kernel, cache_size)
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
    store = KernelCache(as_kernel("precomputed").rows(K, double=False), 200.0)
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
    store = KernelCache(as_kernel(inner).rows(X, double=True), cache_size=1e-6)
    store.fetch(np.arange(60))
    fail.append(True)
    with pytest.raises(KeyboardInterrupt):
        store.fetch(np.arange(40, 90))
    del fail[:]
    for wanted in (np.arange(64), np.arange(36, 100)):
        assert_allclose(store.rows[store.fetch(wanted), :100], X[wanted] @ X.T, rtol=1e-14)


@pytest.mark.parametrize("n_kept", [0, 1, 40, 75, 80])
def test_pieces_hold_every_row_once(n_kept, monkeypatch):
    monkeypatch.setattr(GramRows, "PASSING", 7 * 80 * 8)
    kernel = rbf_rows(80)
    gram = GramRows(kernel, n_kept)
    gram.compute_first()
    assert gram.whole == (n_kept == 80)
    wanted = np.random.default_rng(0).integers(0, 80, 200)
    found = np.zeros(200, dtype=int)
    for _, part, _ in gram.pieces(wanted):
        assert (np.diff(part) > 0).all()
        found[part] += 1
    assert (found == 1).all()
    K = gram_matrix(samples(80), gamma=0.2)
    assert_allclose(gram.block(wanted), K[wanted], rtol=1e-14)
    assert (gram.cached(np.arange(80)) >= 0).sum() == n_kept


@pytest.mark.parametrize(("d", "kept"), [(5, 0), (40, 30)])
def test_rows_for_passes_fit_the_cache(d, kept, monkeypatch):
    """All where they fit; else those of a costly kernel, beside what passes by."""
    monkeypatch.setattr(GramRows, "PASSING", 10 * 304 * 8)
    kernel = rbf_rows(300, d)
    assert GramRows.within(kernel, 300.01 * 304 * 8e-6).whole
    assert GramRows.within(kernel, 40.01 * 304 * 8e-6).capacity == kept
    K = kernel.block(np.arange(300))
    given = GramRows.within(kernel, 1e-6, K)
    assert given.whole and given.rows is K
    assert_array_equal(given.block(np.array([7, 7])), K[[7, 7]])
