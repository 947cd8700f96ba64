"""The loop over sparse rows that all discrete mixtures share, against dense arithmetic."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from scipy.special import logsumexp

from mlcore._ext.mixture import sparse_rows as bits
from mlcore.mixture import (
    BernoulliMixture,
    BinomialMixture,
    CategoricalMixture,
    MultinomialMixture,
)
from mlcore.mixture.discrete import sparse_e_step
from mlcore.mixture.discrete.sparse_e_step import smoothed_frequencies
from mlcore.mixture.discrete.sparse_rows import largest_integer, rows_of_csr

N, D = 60, 90
N_NEVER = 1 << 40  # entries of a column: there is one chunk
FAR = 2.0**-100  # responsibilities below may be left out


@pytest.fixture(autouse=True)
def small_cache(monkeypatch):
    """Tables as large as here count as too large for it, so rows are held."""
    monkeypatch.setattr(sparse_e_step, "_CACHED_BYTES", 0)


def rows(rng, kind):
    """Long rows, one without entries, and their weights."""
    X = rng.poisson(1.5, (N, D)).astype(np.float64)
    X[7] = 0
    weights = {"weighted": rng.integers(1, 5, N) * 1.0, "fractions": rng.random(N) + 0.1}.get(kind)
    return (X * 0.3 if kind == "fractions" else X), weights


def dense(X, weights, start, table):
    weights = np.ones(len(X)) if weights is None else weights
    density = X @ table + start
    level = logsumexp(density, axis=1)
    r = np.exp(density - level[:, None]) * weights[:, None]
    return X.T @ r, r.sum(axis=0), X.sum(axis=1) @ r, weights @ level


def probabilities(rng, k):
    """Of columns; now and then so alike that rows are shared, else so different that none is."""
    sharpness = rng.choice([0.02, 0.3, 8.0])
    p = rng.random((D, k)) ** sharpness + 1e-6
    return p / p.sum(axis=0)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("kind", ["plain", "weighted", "fractions"])
@pytest.mark.parametrize("k", [2, 8, 20, 70])
def test_sums_are_those_of_dense_arithmetic_while_rows_come_and_go(k, kind, n_threads, monkeypatch):
    monkeypatch.setattr(sparse_e_step, "effective_threads", lambda work: n_threads)
    rng = np.random.default_rng(k)
    X, weights = rows(rng, kind)
    loop = rows_of_csr(sp.csr_array(X), weights).loop(k)
    for step in range(12):
        p = probabilities(rng, k)
        start = np.log(rng.dirichlet(np.ones(k)))
        counts, mass, trials, level = dense(X, weights, start, np.log(p))
        loop.fill(p, logarithms=True)
        largest = counts.max()
        if step % 2:
            found = loop.sums(start)
            assert_allclose(found[0], counts, rtol=1e-11, atol=1e-13 * largest)
        else:
            found = loop.totals(start, X.sum(axis=1))
            assert_allclose(found[1], trials, rtol=1e-11, atol=FAR * X.sum() * 4)
            made = loop.smoothed_frequencies(0.5, trials[None] + 0.5 * D, p)
            assert_allclose(made, (counts + 0.5) / (trials + 0.5 * D), rtol=1e-11)
            assert loop.sum_of_table() == pytest.approx(np.log(made).sum(), rel=1e-12)
            loop.fill(made, logarithms=True)
            again = loop.totals(start, None)
            assert_allclose(again[-1], dense(X, weights, start, np.log(made))[-1], rtol=1e-11)
        assert_allclose(found[step % 2], mass, rtol=1e-11, atol=FAR * N * 4)
        assert_allclose(found[-1], level, rtol=1e-12)
    assert (loop._hard is None) == (kind == "fractions")


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("kind", ["plain", "weighted", "fractions"])
@pytest.mark.parametrize("k", [1, 3, 10])
def test_sums_under_several_mixtures_are_those_under_each(k, kind, n_threads, monkeypatch):
    monkeypatch.setattr(sparse_e_step, "effective_threads", lambda work: n_threads)
    rng, times = np.random.default_rng(k), 4
    X, weights = rows(rng, kind)
    loop = rows_of_csr(sp.csr_array(X), weights).loop(times * k)
    for _ in range(2):  # nothing is left of the pass before
        p, shares_of = probabilities(rng, times * k), rng.dirichlet(np.ones(times * k))
        loop.fill(p, logarithms=True)
        counts, mass, levels = loop.sums_each(np.log(shares_of), times)
        for i in range(times):
            own = slice(i * k, (i + 1) * k)
            expected = dense(X, weights, np.log(shares_of[own]), np.log(p[:, own]))
            atol = 1e-13 * expected[0].max()
            assert_allclose(counts[:, own], expected[0], rtol=1e-11, atol=atol)
            assert_allclose(mass[own], expected[1], rtol=1e-11, atol=FAR * N * 4)
            assert levels[i] == pytest.approx(expected[-1], rel=1e-12)


def test_rows_that_lack_what_a_mixture_is_sure_of_are_impossible_under_that_one():
    X = np.array([[1.0, 0], [0, 2], [3, 1], [0, 0]])
    p = np.array([[0.2, 0.5, 0.3, 0.6], [0.8, 0.5, 0.7, 0.4]])
    sure, start = np.array([0.0, 0, 1, 0]), np.log([0.4, 0.6, 0.5, 0.5])
    loop = rows_of_csr(sp.csr_array(X), None).loop(4)
    loop.fill(p, logarithms=True)
    loop.require(sure, np.array([[0.0, 0, -1, 0], [0, 0, 0, 0]]))  # component 2 needs column 0
    counts, mass, _ = loop.sums_each(start, 2)
    density = X @ np.log(p) + start
    density[X[:, 0] == 0, 2] = -np.inf
    r = np.hstack([np.exp(d - logsumexp(d, axis=1, keepdims=True)) for d in np.hsplit(density, 2)])
    assert_allclose(counts, X.T @ r, rtol=1e-12)
    assert_allclose(mass, r.sum(axis=0), rtol=1e-12)


@pytest.mark.parametrize("n", [5, 1000, 3000])  # beyond a turn of the threads
@pytest.mark.parametrize("valued", [True, False])
def test_sums_are_the_same_bytes_for_any_number_of_threads(n, valued, monkeypatch):
    rng = np.random.default_rng(n)
    X = sp.random_array((n, 400), density=0.05, random_state=rng, dtype=np.float64).tocsr()
    X.data[:] = rng.integers(1, 5, X.nnz) if valued else 1.0
    p = rng.random((400, 20)) + 0.1
    p[:, 7] **= 9
    monkeypatch.setattr(sparse_e_step, "_ENTRIES_OF_A_COLUMN", N_NEVER)
    found = []
    for n_threads in (1, 2, 7):
        monkeypatch.setattr(sparse_e_step, "effective_threads", lambda work, n=n_threads: n)
        rows = rows_of_csr(X, None)
        rows.values = rows.values if valued else None
        loop = rows.loop(20)
        for power in (0.3, 1, 9):
            loop.fill(p**power / (p**power).sum(axis=0), logarithms=True)
            found.append([np.copy(x) for x in loop.sums(np.log(np.full(20, 0.05)))])
    for again in (found[3:6], found[6:]):
        for one, other in zip(found[:3], again, strict=True):
            for x, y in zip(one, other, strict=True):
                assert_array_equal(x, y)
    assert_allclose(found[0][0].sum(axis=1), X.sum(axis=0), rtol=1e-11)


def test_edges_of_columns_share_out_the_entries():
    X = sp.csr_array(np.repeat([[1.0, 0, 1], [1, 1, 1], [0, 0, 1]], 4, axis=1))
    rows = rows_of_csr(X, None)
    assert_array_equal(rows.column_edges(1), [0, 0])
    for n_parts in (2, 3, 30):
        edges = rows.column_edges(n_parts)
        assert edges[0] == 0 and edges[-1] == X.shape[1] and (np.diff(edges) >= 0).all()
        part = np.searchsorted(edges, rows.columns, side="right")
        assert np.bincount(part).max() <= X.nnz / n_parts + 3  # a column has at most 3


@pytest.mark.parametrize(
    "model",
    [
        BernoulliMixture(2, missing="ignore"),
        BinomialMixture(2, n_trials=2, missing="ignore"),
        CategoricalMixture(2, missing="ignore"),
        MultinomialMixture(2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_entries_of_a_row_are_in_order_of_their_columns(model, monkeypatch):
    # Threads that share the columns find theirs by bisection.
    seen, make = [], sparse_e_step.Loop.__init__

    def record(loop, rows, k, entire=False):
        seen.append(rows)
        make(loop, rows, k, entire)

    monkeypatch.setattr(sparse_e_step.Loop, "__init__", record)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (50, 30)) * 1.0
    if not isinstance(model, MultinomialMixture):
        X[rng.random(X.shape) < 0.2] = np.nan
    model.fit(X)
    assert seen
    for rows in seen:
        pointers = np.arange(rows.n_rows + 1) * rows.length if rows.indptr is None else rows.indptr
        for begin, end in zip(pointers[:-1], pointers[1:], strict=True):
            assert (np.diff(rows.columns[begin:end]) > 0).all()


def test_rows_of_one_component_leave_no_residue_when_they_change_it():
    # Integers are added and taken away exactly: what a component has lost is 0, not 1e-16.
    rng = np.random.default_rng(0)
    X, _ = rows(rng, "plain")
    loop = rows_of_csr(sp.csr_array(X), None).loop(2)
    table = np.full((D, 2), 1 / D)
    table[:, 1] *= np.exp(-3)  # X rows have some 130 words: nothing is left of the second
    first, last = [0.0, -500.0], [-2000.0, 0.0]
    for start in (first, first, first, last, last, last, first):
        loop.fill(table, logarithms=True)
        counts, mass, _ = loop.sums(np.array(start))
        only = 0 if start is first else 1
        assert_array_equal(counts[:, only], X.sum(axis=0))
        assert_allclose(counts[:, 1 - only], 0, atol=FAR * X.sum())
        assert_allclose(mass[[only, 1 - only]], [N, 0], atol=FAR * N)


@pytest.mark.parametrize("trials", [0.0, 1e-310, 1e305])
def test_frequencies_of_trials_without_a_rate(trials):
    X = sp.csr_array(np.ones((4, 5)))
    loop = rows_of_csr(X, None).loop(2)
    before = np.full((5, 2), 0.2)
    loop.fill(before, logarithms=True)
    counts, *_ = loop.sums(np.log([0.5, 0.5]))
    expected = smoothed_frequencies(counts, 0.0, np.array([[trials, 10.0]]), before)
    loop.totals(np.log([0.5, 0.5]), None)
    assert_array_equal(loop.smoothed_frequencies(0.0, np.array([[trials, 10.0]]), before), expected)
    assert np.isfinite(expected).all()


def test_largest_integer():
    assert largest_integer(None) == 1
    assert largest_integer(np.array([3.0, -7.0, 0.0])) == 7
    assert largest_integer(np.array([3.0, 0.5])) == np.inf
    assert largest_integer(np.append(np.ones(50_000), 0.5)) == np.inf


@each("dtype", [np.float32, np.float64])
@each("d", [1, 3, 8, 16, 21, 100])
@each("threshold", [0.5, -1.0])
def test_bits_that_are_not_the_usual_ones(dtype, d, threshold):
    rng = np.random.default_rng(d)
    X = rng.integers(0, 2, (40, d)).astype(dtype)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[5:8] = [[0], [1], [np.nan]]
    X[9, d // 2] = 0.25
    usual = rng.random(d) < 0.5
    differs = ((X > threshold) != usual) & ~np.isnan(X)
    padded = np.pad(differs, ((0, 0), (0, -d % 4))).reshape(40, -1, 4)
    expected = (padded * [1, 2, 4, 8]).sum(axis=2)
    codes, missing = np.empty(expected.shape, np.uint8), np.empty(40, np.int64)
    indptr, wrong = np.zeros(41, np.int64), np.empty(40, np.uint8)
    packed = np.packbits(np.pad(usual, (0, -d % 4)).reshape(-1, 4), axis=1, bitorder="little")
    how = codes, indptr, missing, wrong, 1
    bits.deviating_bits(X, packed.ravel(), threshold, True, *how)
    assert_array_equal(codes, expected)
    assert_array_equal(missing, np.isnan(X).sum(axis=1))
    assert_array_equal(np.flatnonzero(wrong), [9])
    bits.deviating_bits(X, packed.ravel(), threshold, False, *how)
    assert not wrong.any()
    np.cumsum(indptr, out=indptr)
    columns = np.empty(indptr[-1], np.int32)
    bits.fill_bits(X, codes, missing, indptr, columns, 1)
    for i, x in enumerate(X):
        groups = np.flatnonzero(expected[i])
        behind = 16 * expected.shape[1] + np.flatnonzero(np.isnan(x))
        own = np.append(16 * groups + expected[i, groups], behind)
        assert_array_equal(columns[indptr[i] : indptr[i + 1]], own)
