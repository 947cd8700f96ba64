"""Doubly stochastic scaling: against its optimality conditions, known limits, and its laws."""

import itertools
import sys
import threading
import warnings

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from threadpoolctl import threadpool_limits

from contract import case
from mlcore.checks.errors import ConvergenceWarning
from mlcore.cluster import doubly_stochastic
from mlcore.cluster.doubly_stochastic.symmetric_matrix import as_symmetric

ROUNDING = 1e-13  # of sums of some hundred values about 1 / n


def smooth(n, seed=0, d=4, gamma=0.05):
    X = np.random.default_rng([n, seed]).normal(size=(n, d)) * 3.0
    return np.exp(-gamma * ((X[:, None] - X) ** 2).sum(axis=2))


def peaked(n, seed=0):
    """Entries from 1 to below 1e-30, many of them."""
    return smooth(n, seed, gamma=2.0)


def hollow(n, seed=0):
    """The same with a diagonal of 0."""
    K = smooth(n, seed, gamma=0.2)
    np.fill_diagonal(K, 0.0)
    return K


def nearly_bipartite(n, seed=0):
    """Affinities across two halves, hardly any within: Newton's systems are nearly singular."""
    K = smooth(n, seed)
    half = n // 2
    K[:half, :half] *= 1e-6
    K[half:, half:] *= 1e-6
    return K


KINDS = {"smooth": smooth, "peaked": peaked, "hollow": hollow, "nearly_bipartite": nearly_bipartite}


def check(K, found, residual=1e-12):
    """The scaling is one, and so the result the projection in relative entropy."""
    dense = found.matrix.toarray() if sp.issparse(found.matrix) else found.matrix
    original = (K.toarray() if sp.issparse(K) else np.asarray(K)).astype(np.float64)
    assert found.converged and found.residual <= residual
    assert (found.scaling > 0).all()
    # One more rounding than the residual: that of the matrix itself.
    eps = np.finfo(dense.dtype).eps
    assert_allclose(dense.sum(axis=1, dtype=np.float64), 1, rtol=0, atol=residual + 2 * eps)
    assert_array_equal(dense, dense.T)
    u = np.log(found.scaling)
    present = original > 0
    assert_array_equal(dense[~present], 0)
    normal = dense > np.finfo(dense.dtype).tiny  # subnormal values have few digits
    ratio = np.log(dense[normal].astype(float)) - np.log(original[normal])
    sums = (u[:, None] + u)[normal]
    assert_allclose(ratio, sums, rtol=4e-16, atol=4 * eps + 1e-13)
    trace = found.residual_trace
    assert trace[-1] == found.residual and len(trace) == found.n_iter + 1


@pytest.mark.parametrize("kind", KINDS)
def test_rows_sum_to_one_and_the_optimality_conditions_hold(kind):
    first = list(KINDS).index(kind) % 2
    for n, dtype in [*itertools.product([2, 3, 7, 130], [np.float32, np.float64]),
                     (300, [np.float32, np.float64][first]),
                     (517, [np.float64, np.float32][first])]:  # fmt: skip
        with case(n, dtype):
            check_conditions(kind, n, dtype)


def check_conditions(kind, n, dtype):
    if kind == "hollow" and n == 2:
        K = np.array([[0.0, 0.3], [0.3, 0.0]], dtype)
    else:
        K = KINDS[kind](n).astype(dtype)
    if kind == "peaked" and n > 100:
        assert K.max() == 1 and K.min() < 1e-30
    before = K.copy()
    check(K, doubly_stochastic(K))
    assert_array_equal(K, before)


@pytest.mark.parametrize("kind", ["smooth", "peaked"])
def test_the_fixed_point_comes_to_the_same(kind):
    K = KINDS[kind](60)
    slow = doubly_stochastic(K, solver="fixed_point", max_iter=10_000)
    fast = doubly_stochastic(K)
    assert fast.n_iter < slow.n_iter
    assert_allclose(fast.matrix, slow.matrix, rtol=0, atol=1e-11)


def test_a_matrix_that_was_checked_is_not_checked_again():
    for kind in (np.array, sp.csr_array):
        matrix = as_symmetric(kind([[1.0, 0.5], [0.5, 1.0]]), "first")
        assert as_symmetric(matrix, "second") is matrix
    with pytest.raises(TypeError, match="Sparse data was passed as K to second"):
        as_symmetric(matrix, "second", sparse=False)


def test_two_samples_in_closed_form():
    a, b, c = 2.0, 0.7, 0.4  # F = [[p, 1 - p], [1 - p, p]] with p² / (1 - p)² = a c / b²
    p = np.sqrt(a * c) / (np.sqrt(a * c) + b)
    F = doubly_stochastic([[a, b], [b, c]]).matrix
    assert_allclose(F, [[p, 1 - p], [1 - p, p]], rtol=1e-12)


def test_three_samples_without_diagonal_however_far_one_is():
    K = np.array([[0, 1, 1e-30], [1, 0, 1e-25], [1e-30, 1e-25, 0]])
    found = doubly_stochastic(K)
    check(K, found)
    assert_allclose(found.matrix, 0.5 * (1 - np.eye(3)), atol=1e-12)


@pytest.mark.parametrize("form", [np.array, sp.csr_array, sp.coo_matrix, sp.csc_array])
def test_sparse_patterns_with_total_support(form):
    """Sums of symmetric permutations, with values over many orders, and no full diagonal."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(4, 60))
        K = np.zeros((n, n))
        for _ in range(int(rng.integers(2, 6))):
            p = rng.permutation(n)
            K[np.arange(n), p] += 10.0 ** rng.uniform(-12, 2)
        matrix = form(K + K.T)
        with case("seed", seed):
            check(matrix, doubly_stochastic(matrix))


def test_sparse_and_dense_agree_and_the_support_is_kept():
    K = smooth(300, gamma=1.0)
    K[K < 1e-3] = 0
    matrix = sp.csr_array(K)
    found = doubly_stochastic(matrix)
    assert isinstance(found.matrix, sp.csr_array)
    assert_array_equal(found.matrix.indices, matrix.indices)
    assert_array_equal(found.matrix.indptr, matrix.indptr)
    assert not np.shares_memory(found.matrix.indices, matrix.indices)
    assert_allclose(found.matrix.toarray(), doubly_stochastic(K).matrix, rtol=1e-11)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 40), st.integers(0, 10**6), st.sampled_from(sorted(KINDS)))
def test_laws(n, seed, kind):
    rng = np.random.default_rng(seed)
    K = KINDS[kind](n, seed) if n > 3 else smooth(n, seed)
    F = doubly_stochastic(K).matrix
    order = rng.permutation(n)
    assert_allclose(
        doubly_stochastic(K[np.ix_(order, order)]).matrix, F[np.ix_(order, order)], atol=1e-6
    )
    for factor in (1e-100, 3.0, 1e100):
        assert_allclose(doubly_stochastic(factor * K).matrix, F, atol=1e-6)
    d = np.exp(rng.normal(size=n) * 5)  # F is the same for every matrix that scales to it
    assert_allclose(doubly_stochastic(d[:, None] * K * d).matrix, F, atol=1e-6)
    assert_allclose(doubly_stochastic(F, tol=1e-11).matrix, F, atol=1e-6)
    copies = doubly_stochastic(np.tile(K, (2, 2))).matrix  # every sample twice: half for each
    assert_allclose(copies, np.tile(F, (2, 2)) / 2, atol=1e-6)


@pytest.mark.parametrize("kind", ["smooth", "hollow"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_do_not_change_a_byte(kind, dtype):
    K = KINDS[kind](1100).astype(dtype)
    with threadpool_limits(1, user_api="openmp"):
        one = doubly_stochastic(K)
    for n_threads in (3,):
        with threadpool_limits(n_threads, user_api="openmp"):
            more = doubly_stochastic(K)
        assert_array_equal(more.matrix, one.matrix)
        assert_array_equal(more.scaling, one.scaling)
        assert_array_equal(more.residual_trace, one.residual_trace)


@pytest.mark.parametrize("n", [5, 700])
def test_in_place(n):
    K = smooth(n)
    expected = doubly_stochastic(K).matrix
    found = doubly_stochastic(K, overwrite=True)
    assert found.matrix is K
    assert_allclose(K, expected, rtol=1e-10)
    fixed = smooth(n)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="K is read-only"):
        doubly_stochastic(fixed, overwrite=True)
    assert_allclose(doubly_stochastic(fixed).matrix, expected, rtol=0)


@each(
    "layout",
    [
        np.asfortranarray,
        lambda K: np.repeat(K, 2, axis=1)[:, ::2],
        lambda K: K.astype(K.dtype.newbyteorder()),
        lambda K: K.tolist(),
        lambda K: np.frombuffer(b"\0" + K.tobytes(), np.uint8)[1:].view(K.dtype).reshape(K.shape),
    ],
)
def test_any_layout_gives_the_same(layout):
    K = smooth(70)
    assert_array_equal(doubly_stochastic(layout(K)).matrix, doubly_stochastic(K).matrix)


def test_one_sample_integers_and_booleans():
    assert_allclose(doubly_stochastic([[7]]).matrix, [[1.0]], rtol=1e-15)
    assert_allclose(doubly_stochastic(np.ones((4, 4), bool)).matrix, 0.25, rtol=1e-15)


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e140])
def test_any_magnitude(scale):
    K = smooth(40)
    assert_allclose(doubly_stochastic(scale * K).matrix, doubly_stochastic(K).matrix, rtol=1e-10)


def test_asymmetry_by_rounding_is_taken_and_the_result_exactly_symmetric():
    K = smooth(300)
    noisy = K * (1 + 1e-13 * np.random.default_rng(0).normal(size=K.shape))
    F = doubly_stochastic(noisy).matrix
    assert_array_equal(F, F.T)
    assert_allclose(F, doubly_stochastic(K).matrix, rtol=1e-10)
    F = doubly_stochastic(sp.csr_array(noisy)).matrix
    assert abs(F - F.T).max() == 0


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_small_entries_are_compared_with_each_other(form):
    K = np.array([[1, 0, 0], [0, 0, 1e-20], [0, 3e-20, 0]])  # scaling makes both 1
    with pytest.raises(ValueError, match="K is not symmetric"):
        doubly_stochastic(form(K))


# ---- what cannot be scaled


def star(n):
    K = np.zeros((n, n))
    K[0, 1:] = K[1:, 0] = 1.0
    return K


def without_total_support():
    K = np.ones((6, 6))  # one entry on the diagonal, and a row that has its column to itself
    K[5, :5] = K[:5, 5] = 0.0
    K[:5, :5] = 0.0
    for i in range(4):  # a path of five: its ends must be matched inwards
        K[i, i + 1] = K[i + 1, i] = 1.0
    K[4, 5] = K[5, 4] = 1.0
    K[5, 5] = 1.0
    return K


@pytest.mark.parametrize("kind", [np.array, sp.csr_array])
def test_no_support_is_said_so(kind):
    with pytest.raises(ValueError, match="no support.*total support"):
        doubly_stochastic(kind(star(5)))


@pytest.mark.parametrize("kind", [np.array, sp.csr_array])
@pytest.mark.parametrize("K", [[[1.0, 1.0], [1.0, 0.0]], without_total_support()])
def test_no_total_support_is_said_so(kind, K):
    with pytest.raises(ValueError, match="no total support: K"):
        doubly_stochastic(kind(np.asarray(K)))


def has_permutation(A):
    if len(A) == 0:
        return True
    return any(A[0, j] > 0 and has_permutation(np.delete(A[1:], j, axis=1)) for j in range(len(A)))


def test_total_support_as_brute_force_finds_it():
    """An entry lies on a positive permutation if the rest of its row and column leave one."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 7))
        pattern = rng.random((n, n)) < rng.uniform(0.2, 0.7)
        K = (pattern | pattern.T).astype(float)
        K *= 0.5 + rng.random((n, n))
        K = np.tril(K) + np.tril(K, -1).T
        rests = [np.delete(np.delete(K, i, axis=0), j, axis=1) for i, j in np.argwhere(K)]
        with case("seed", seed):
            if K.any(axis=1).all() and all(map(has_permutation, rests)):
                check(K, doubly_stochastic(K))
            else:
                with pytest.raises(ValueError, match="support|Row . of K is zero"):
                    doubly_stochastic(K)


def spoilt(i, j, value, n=300):
    K = smooth(n)
    K[i, j] = value
    return K


@each("kind", [np.array, sp.csr_array])
@each(
    ("K", "message"),
    [
        (np.ones((2, 3)), r"K has shape \(2, 3\).*square"),
        (spoilt(299, 3, 0.5), r"not symmetric: K\[3, 299\] is|not symmetric: K\[299, 3\] is 0.5"),
        (spoilt(3, 299, 0.5), r"not symmetric: K\[3, 299\] is 0.5|not symmetric: K\[299, 3\]"),
        (spoilt(3, 299, -0.5), r"Negative values .*K\[3, 299\] is -0.5"),
        (-np.eye(3), r"Negative values .*K\[., .\] is -1.0"),
        (spoilt(7, 7, np.nan), "K.*NaN"),
        (spoilt(290, 2, np.nan), "K.*NaN"),
        (spoilt(2, 290, np.nan), "K.*NaN"),
        (spoilt(2, 290, np.inf), "K.*infinity"),
        (spoilt(290, 2, np.inf), "K.*infinity"),
        (np.diag([1.0, 0.0, 1.0]), "Row 1 of K is zero: sample 1"),
        (np.full((3, 3), 1e308), "too large"),
    ],
)
def test_what_is_refused(kind, K, message):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=message):
            doubly_stochastic(kind(K))


@each(
    ("options", "error"),
    [
        ({"tol": 0.0}, ValueError),
        ({"tol": np.nan}, ValueError),
        ({"tol": "1"}, TypeError),
        ({"solver": "sinkhorn"}, ValueError),
        ({"max_iter": 0}, ValueError),
        ({"overwrite": 1}, TypeError),
        ({"verbose": -1}, ValueError),
        ({"callback": 3}, TypeError),
    ],
)
def test_parameters_that_are_refused(options, error):
    with pytest.raises(error, match=next(iter(options))):
        doubly_stochastic(np.eye(2), **options)


@each("bad", [None, "K", np.array(["a"]), np.array([[1j]]), 3.0, [1.0, 2.0]])
def test_what_is_no_matrix(bad):
    with pytest.raises((TypeError, ValueError)):
        doubly_stochastic(bad)


def test_a_result_that_cannot_fit_is_refused_before_it_is_made(monkeypatch):
    K = np.ones((1600, 1600))
    monkeypatch.setattr("mlcore.runtime.memory.free_bytes", lambda: 2**20)
    with pytest.raises(MemoryError, match="1600 x 1600 needs 20480000 bytes.*overwrite=True"):
        doubly_stochastic(K)
    assert doubly_stochastic(K, overwrite=True).matrix is K


# ---- its course


def test_stopping_early_warns_and_tells_where_it_stands():
    with pytest.warns(ConvergenceWarning, match="2 steps.*more than tol"):
        found = doubly_stochastic(nearly_bipartite(50), max_iter=2)
    assert found.n_iter == 2 and not found.converged and found.residual > 1e-12
    assert_allclose(np.abs(found.matrix.sum(axis=1) - 1).max(), found.residual, rtol=1e-6)


def test_a_tolerance_below_rounding_ends():
    with pytest.warns(ConvergenceWarning):
        found = doubly_stochastic(smooth(400), tol=1e-300)
    assert found.residual < ROUNDING and found.n_iter < 60


def test_callback_and_verbose(capsys):
    seen = []
    found = doubly_stochastic(smooth(20), verbose=2, callback=lambda **s: seen.append(s))
    assert [s["objective"] for s in seen] == found.residual_trace.tolist()
    assert capsys.readouterr().out.count("doubly_stochastic  step") == found.n_iter + 1

    def stop(**_):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        doubly_stochastic(smooth(20), callback=stop)


@pytest.mark.skipif(not hasattr(sys, "setswitchinterval"), reason="CPython only")
def test_several_threads_scale_different_matrices_at_once():
    matrices = [smooth(300, seed) for seed in range(6)]
    expected = [doubly_stochastic(K).matrix for K in matrices]
    results = [None] * 6

    def work(k):
        results[k] = doubly_stochastic(matrices[k]).matrix

    workers = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for result, right in zip(results, expected, strict=True):
        assert_array_equal(result, right)


@pytest.mark.parametrize("kind", KINDS)
def test_hard_cases_take_no_thousands_of_steps(kind):
    assert doubly_stochastic(KINDS[kind](400)).n_iter <= 60


def test_the_limits_of_sparse_entries_are_those_of_dense_ones():
    K = smooth(6)
    K[0, 1] = K[1, 0] = 1e170
    sparse, dense = doubly_stochastic(sp.csr_array(K)), doubly_stochastic(K)
    assert sparse.converged and sparse.residual <= 1e-12
    assert_allclose(sparse.matrix.toarray(), dense.matrix, rtol=1e-9, atol=1e-300)
    K[0, 1] = K[1, 0] = np.nan
    for form in (np.array, sp.csr_array):
        with pytest.raises(ValueError, match="K contains NaN"):
            doubly_stochastic(form(K))
    K[0, 1] = K[1, 0] = 1.7e308
    K[0, 2] = K[2, 0] = 1.7e308
    for form in (np.array, sp.csr_array):
        with pytest.raises(ValueError, match="the sum of a row overflows"):
            doubly_stochastic(form(K))
