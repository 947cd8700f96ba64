"""Affinities against their definitions, and the four normalisations."""

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from scipy.spatial.distance import cdist
from sklearn.neighbors import kneighbors_graph
from threadpoolctl import threadpool_limits

from contract import case
from mlcore.cluster import (
    affinity,
    doubly_stochastic,
    frobenius_projection,
    normalize_affinity,
)
from mlcore.kernels import gram_matrix

NEIGHBORS = ("nearest_neighbors", "mutual_nearest_neighbors")


def samples(n, d=3, seed=0):
    return np.random.default_rng([n, d, seed]).normal(size=(n, d))


def tuned(X, k):
    """Zelnik-Manor and Perona's affinity by its definition."""
    distances = cdist(X, X)
    sigma = np.sort(distances, axis=1)[:, min(k, len(X) - 1)]
    return np.exp(-(distances**2) / (sigma[:, None] * sigma))


# ---- affinities


@pytest.mark.parametrize("kind", ["rbf", "laplacian", "cosine"])
def test_kernels_are_those_of_gram_matrix(kind):
    X = samples(50)
    assert_array_equal(affinity(X, kind=kind, gamma=None), gram_matrix(X, kernel=kind))
    assert_array_equal(affinity(X, gamma=0.3), gram_matrix(X, gamma=0.3))
    K = affinity(X, kind=lambda A, B: np.minimum(A @ B.T, 1.0))
    assert_array_equal(K, np.minimum(X @ X.T, 1.0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", NEIGHBORS)
def test_neighbours_as_scikit_learn_finds_them(dtype, kind):
    for n, d in [(1, 1), (2, 2), (40, 3), (130, 11), (200, 30), (90, 200)]:
        with case(n, d):
            check_neighbours(n, d, dtype, kind)


def check_neighbours(n, d, dtype, kind):
    X = samples(n, d).astype(dtype)
    K = affinity(X, kind=kind, n_neighbors=5)
    assert isinstance(K, sp.csr_array) and K.dtype == dtype and K.has_sorted_indices
    if n == 1:
        expected = np.ones((1, 1))
    else:
        graph = kneighbors_graph(X.astype(float), min(5, n - 1), include_self=False).toarray()
        both = np.maximum if kind == NEIGHBORS[0] else np.minimum
        expected = both(graph, graph.T) + np.eye(n)
    assert_array_equal(K.toarray(), expected)
    assert_array_equal(affinity(sp.csr_array(X), kind=kind, n_neighbors=5).toarray(), expected)


@pytest.mark.parametrize("d", [3, 40])
@pytest.mark.parametrize("kind", NEIGHBORS)
def test_values_of_neighbours(d, kind):
    X = samples(80, d)
    present = affinity(X, kind=kind, n_neighbors=6).toarray()
    K = affinity(X, kind=kind, n_neighbors=6, gamma=0.2)
    assert_allclose(K.toarray(), present * gram_matrix(X, gamma=0.2), rtol=1e-12)
    assert_array_equal(K.toarray(), K.toarray().T)
    K = affinity(X, kind=kind, n_neighbors=6, self_tuning=True)
    assert_allclose(K.toarray(), present * tuned(X, 6), rtol=1e-11)
    assert_array_equal(K.toarray(), K.toarray().T)


@pytest.mark.parametrize(
    ("n", "d", "dtype"),
    [(n, d, dtype) for n, d in [(1, 2), (2, 1), (60, 3), (150, 40)] for dtype in ("f4", "f8")]
    + [(1100, 20, "f4"), (1100, 3, "f8")],
)
def test_self_tuning_by_its_definition(n, d, dtype):
    X = samples(n, d).astype(dtype)
    K = affinity(X, self_tuning=True, n_neighbors=7)
    assert K.dtype == dtype
    assert_array_equal(K, K.T)
    assert_array_equal(K.diagonal(), 1)
    expected = tuned(X.astype(float), 7) if n > 1 else np.ones((1, 1))
    assert_allclose(K, expected, rtol=0, atol=1e-6 if dtype == "f4" else 1e-12)


def test_self_tuning_of_sparse_samples():
    X = sp.random_array((60, 30), density=0.2, random_state=np.random.default_rng(0), format="csr")
    K = affinity(X, self_tuning=True, n_neighbors=4)
    assert_allclose(K, tuned(X.toarray(), 4), atol=1e-12)


@settings(max_examples=12, deadline=None)
@given(st.integers(12, 40), st.integers(1, 20), st.integers(0, 10**6), st.floats(1e-3, 1e3))
def test_self_tuning_knows_no_scale_shift_or_order(n, d, seed, scale):
    X = samples(n, d, seed)
    order = np.random.default_rng(seed).permutation(n)
    K = affinity(X, self_tuning=True, n_neighbors=3)
    moved = affinity(scale * X + 7 * scale, self_tuning=True, n_neighbors=3)
    assert_allclose(moved, K, atol=1e-9)
    assert_allclose(
        affinity(X[order], self_tuning=True, n_neighbors=3), K[np.ix_(order, order)], atol=1e-12
    )
    for kind in NEIGHBORS:
        graph = affinity(X, kind=kind, n_neighbors=3).toarray()
        turned = affinity(scale * X[order], kind=kind, n_neighbors=3).toarray()
        assert_array_equal(turned, graph[np.ix_(order, order)])


def test_copies_have_scale_zero():
    X = np.array([[0.0], [0.0], [0.0], [5.0], [6.0]])
    expected = np.eye(5)
    expected[:3, :3] = 1
    expected[3, 4] = expected[4, 3] = np.exp(-1 / (5 * 6))
    assert_allclose(affinity(X, self_tuning=True, n_neighbors=2), expected)
    assert_array_equal(affinity(np.ones((6, 2)), self_tuning=True), np.ones((6, 6)))


@pytest.mark.parametrize("d", [2, 20])
def test_neighbours_among_many_copies(d):
    X = np.zeros((30, d))
    X[20:] = samples(10, d)
    K = affinity(X, kind="nearest_neighbors", n_neighbors=4)
    assert_array_equal(K.diagonal(), 1)
    assert_array_equal(K.toarray(), K.toarray().T)
    assert K.toarray().sum(axis=1).min() >= 5  # itself and four others
    assert (K.toarray()[:20, 20:].sum(axis=0) <= K.toarray()[:, 20:].sum(axis=0)).all()


def test_more_neighbours_than_samples():
    X = samples(5)
    for kind in NEIGHBORS:
        assert_array_equal(affinity(X, kind=kind, n_neighbors=10**9).toarray(), np.ones((5, 5)))


# Neighbours by a tree and by blocks, and either way to distances.
@pytest.mark.parametrize(
    ("d", "options"),
    [
        (3, {"self_tuning": True}),
        (3, {"kind": NEIGHBORS[0], "gamma": 1.0}),
        (40, {"self_tuning": True}),
        (40, {"kind": NEIGHBORS[0], "gamma": 1.0}),
        (40, {}),
    ],
    ids=str,
)
def test_threads_do_not_change_a_byte(d, options):
    X = samples(1100, d)
    with threadpool_limits(1):
        one = affinity(X, **options)
    two = affinity(X, **options)
    assert abs(one - two).max() == 0


@each(
    ("options", "error", "message"),
    [
        ({"kind": "rbg"}, ValueError, "rbg"),
        ({"kind": None}, TypeError, "kernel|kind"),
        (
            {"kind": "cosine", "self_tuning": True},
            ValueError,
            "kind.*self_tuning|self_tuning.*kind",
        ),
        ({"gamma": -1.0}, ValueError, "gamma"),
        ({"gamma": "auto", "kind": NEIGHBORS[0], "self_tuning": True}, ValueError, "gamma must be"),
        ({"gamma": 1.0, "self_tuning": True}, ValueError, "gamma must be None"),
        ({"n_neighbors": 0}, ValueError, "n_neighbors"),
        ({"n_neighbors": 2.0}, TypeError, "n_neighbors"),
        ({"self_tuning": "yes"}, TypeError, "self_tuning"),
    ],
)
def test_what_affinity_refuses(options, error, message):
    with pytest.raises(error, match=message):
        affinity(samples(9), **options)


@each("bad", [None, "X", [1.0, 2.0], [[np.nan]], [[1j]], np.empty((0, 2))])
@each("kind", ["rbf", *NEIGHBORS])
def test_samples_that_affinity_refuses(bad, kind):
    with pytest.raises((TypeError, ValueError)):
        affinity(bad, kind=kind)


def test_an_affinity_that_cannot_fit_is_refused(monkeypatch):
    monkeypatch.setattr("mlcore.runtime.memory.free_bytes", lambda: 2**20)
    with pytest.raises(MemoryError, match="2500 x 2500.*nearest_neighbors"):
        affinity(samples(2500), self_tuning=True)


# ---- normalisations


def smooth(n, seed=0):
    return gram_matrix(samples(n, 3, seed), gamma=0.2)


@each("kind", [np.array, sp.csr_array])
@each("n", [1, 2, 65, 260])
@each(("dtype", "rtol"), [(np.float32, 1e-6), (np.float64, 1e-13)])
def test_each_method_by_its_formula(kind, n, dtype, rtol):
    dense = smooth(n).astype(dtype)
    K = kind(dense)
    D = np.diag(dense.sum(axis=1, dtype=float))
    atol = 100 * np.finfo(dtype).eps * D.max()
    cut = normalize_affinity(K, method="ratio_cut")
    assert cut.dtype == dtype
    cut = cut.toarray() if sp.issparse(cut) else cut
    assert_allclose(cut, dense - D + np.eye(n), rtol=0, atol=atol)
    assert_array_equal(cut, cut.T)
    normalized = normalize_affinity(K, method="normalized_cut")
    normalized = normalized.toarray() if sp.issparse(normalized) else normalized
    root = np.diag(1 / np.sqrt(np.diag(D)))
    assert_allclose(normalized, root @ dense @ root, rtol=rtol)
    assert_array_equal(normalized, normalized.T)
    F = normalize_affinity(K)
    assert sp.issparse(F) == sp.issparse(K) and F.dtype == dtype
    evidence = doubly_stochastic(K).matrix
    assert abs(F - evidence).max() == 0


def test_the_normalized_cut_is_the_first_damped_step():
    K = smooth(80)
    with pytest.warns(UserWarning, match="more than tol"):
        first = doubly_stochastic(K, solver="fixed_point", max_iter=1, tol=1e-12)
    x = 1 / np.sqrt(K.sum(axis=1))
    start = normalize_affinity(K, method="normalized_cut")
    assert_allclose(start, x[:, None] * K * x, rtol=1e-14)
    again = 1 / np.sqrt(start.sum(axis=1))
    assert_allclose(first.matrix, again[:, None] * start * again, rtol=1e-13)


def test_frobenius_is_the_projection():
    K = smooth(60)
    F = normalize_affinity(K, method="frobenius")
    assert_array_equal(F, frobenius_projection(K).matrix)
    with pytest.raises(TypeError, match="[Ss]parse"):
        normalize_affinity(sp.csr_array(K), method="frobenius")


def test_in_place():
    for method in ("ratio_cut", "normalized_cut", "doubly_stochastic", "frobenius"):
        K = smooth(300)
        expected = normalize_affinity(K, method=method)
        assert not np.shares_memory(expected, K)
        assert normalize_affinity(K, method=method, overwrite=True) is K
        assert_allclose(K, expected, rtol=1e-10, atol=1e-12)


def test_ratio_cut_of_sparse_keeps_zeros_and_takes_isolated_samples():
    K = sp.csr_array(np.diag([0.0, 2.0, 3.0]))
    assert_array_equal(normalize_affinity(K, method="ratio_cut").toarray(), np.eye(3))
    assert_array_equal(normalize_affinity(np.zeros((2, 2)), method="ratio_cut"), np.eye(2))
    with pytest.raises(ValueError, match="Row 0 of K is zero"):
        normalize_affinity(K, method="normalized_cut")


def test_ratio_cut_is_nearest_in_l1_among_unit_row_sums():
    """Each row's sum is off by |d_i - 1|, and no change of less can mend it."""
    K = smooth(30)
    F = normalize_affinity(K, method="ratio_cut")
    assert_allclose(F.sum(axis=1), 1, rtol=0, atol=1e-13)
    assert_allclose(np.abs(F - K).sum(), np.abs(K.sum(axis=1) - 1).sum(), rtol=1e-12)


@each("method", ["ratio_cut", "normalized_cut", "doubly_stochastic"])
@each("kind", [np.array, sp.csr_array])
def test_negative_affinities_are_refused(method, kind):
    with pytest.raises(ValueError, match=r"Negative values.*K\[.*-0.5"):
        normalize_affinity(kind([[1.0, -0.5], [-0.5, 1.0]]), method=method)


@each(
    ("options", "error"),
    [
        ({"method": "ncut"}, ValueError),
        ({"method": None}, TypeError),
        ({"tol": 0}, ValueError),
        ({"tol": "1"}, TypeError),
        ({"max_iter": 0}, ValueError),
        ({"overwrite": 1}, TypeError),
    ],
)
def test_parameters_that_normalize_affinity_refuses(options, error):
    with pytest.raises(error, match=next(iter(options))):
        normalize_affinity(np.eye(2), **options)


@pytest.mark.parametrize("n", [1100, 1231])
@pytest.mark.parametrize("method", ["ratio_cut", "normalized_cut"])
def test_large_matrices_on_any_number_of_threads(n, method):
    K = smooth(n)
    with threadpool_limits(1):
        one = normalize_affinity(K, method=method)
    assert_array_equal(normalize_affinity(K, method=method), one)
