"""SpectralClustering against LAPACK, scikit-learn, brute force and the laws of cuts."""

import tracemalloc
import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from sklearn.cluster import SpectralClustering as ScikitLearns
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import _yield_clustering_checks
from threadpoolctl import threadpool_limits

from mlcore.cluster import SpectralClustering
from mlcore.exceptions import ConvergenceWarning
from mlcore.kernels import gram_matrix

NORMALIZATIONS = "normalized_cut", "ratio_cut", "doubly_stochastic", "frobenius"


def blobs(n, d=4, k=5, seed=0, apart=6.0):
    rng = np.random.default_rng([n, d, k, seed])
    y = rng.integers(0, k, n)
    return apart * rng.normal(size=(k, d))[y] + rng.normal(size=(n, d)), y


def affinities(n, seed=0, gamma=0.5):
    return gram_matrix(np.random.default_rng([n, seed]).normal(size=(n, 2)), gamma=gamma)


def fitted(X, k=3, **params):
    return SpectralClustering(k, random_state=0, **params).fit(X)


def same_partition(a, b):
    return adjusted_rand_score(a, b) == 1.0


# ---- oracles


@pytest.mark.parametrize("n", [40, 500, 900])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_eigenvectors_of_the_normalized_cut_are_lapacks(n, form):
    K = affinities(n)
    model = fitted(form(K), 4, affinity="precomputed", tol=1e-11)
    d = 1 / np.sqrt(K.sum(axis=1))
    values, vectors = np.linalg.eigh(d[:, None] * K * d)
    assert_allclose(model.eigenvalues_, values[::-1][:4], rtol=0, atol=1e-12)
    assert_allclose(model.eigengaps_, -np.diff(values[::-1][:5]), rtol=0, atol=1e-5)
    overlap = np.abs((model.eigenvectors_ * vectors[:, :-5:-1]).sum(axis=0))
    assert_allclose(overlap, 1, rtol=0, atol=1e-12)
    assert model.residuals_.max() <= 1e-11 and model.converged_


@pytest.mark.parametrize("n", [40, 700])
def test_the_vector_of_the_ratio_cut_is_the_laplacians_second(n):
    K = affinities(n, gamma=0.05)
    model = fitted(K, 2, affinity="precomputed", normalization="ratio_cut", tol=1e-11)
    values, vectors = np.linalg.eigh(np.diag(K.sum(axis=1)) - K)
    assert_allclose(1 - model.eigenvalues_, values[:2], rtol=0, atol=1e-9 * values[-1])
    assert_allclose(np.abs(model.eigenvectors_[:, 1] @ vectors[:, 1]), 1, rtol=1e-10)
    assert same_partition(model.labels_, vectors[:, 1] > 0)
    assert_allclose(model.eigenvectors_[:, 0], 1 / np.sqrt(n), rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_scikit_learn_finds_the_same_clusters_where_they_are_apart(seed):
    X, y = blobs(300, k=4, seed=seed, apart=9.0)
    model = fitted(X, 4, gamma=0.1)
    peer = ScikitLearns(4, gamma=0.1, random_state=0).fit(X)
    assert same_partition(model.labels_, peer.labels_)
    assert same_partition(model.labels_, y)


@pytest.mark.filterwarnings("ignore:The graph of affinities has 2")
@pytest.mark.parametrize("normalization", NORMALIZATIONS)
@pytest.mark.parametrize(
    ("X", "y"), [make_moons(300, noise=0.05, random_state=0), make_circles(300, factor=0.4)]
)
def test_moons_and_circles(X, y, normalization):
    model = fitted(X, 2, gamma=30.0, normalization=normalization)
    assert same_partition(model.labels_, y)


@pytest.mark.filterwarnings("ignore:The graph of affinities has 2")
@pytest.mark.parametrize("normalization", NORMALIZATIONS[:3])
def test_neighbours_tell_moons(normalization):
    X, y = make_moons(600, noise=0.05, random_state=0)
    model = fitted(X, 2, affinity="nearest_neighbors", normalization=normalization)
    assert same_partition(model.labels_, y)


def objective(K, labels, normalization):
    """n_clusters less the cut, from its definition."""
    total = 0.0
    for j in np.unique(labels):
        own = labels == j
        cut = K[own][:, ~own].sum()
        total += 1 - cut / (K[own].sum() if normalization == "normalized_cut" else own.sum())
    return total


@pytest.mark.parametrize("normalization", ["normalized_cut", "ratio_cut"])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_on_tiny_graphs_of_clear_groups_no_partition_is_better(seed, k, normalization):
    X, _ = blobs(9, d=2, k=k, seed=seed, apart=4.0)
    K = gram_matrix(X, gamma=0.2)
    model = fitted(K, k, affinity="precomputed", normalization=normalization)
    best = max(
        objective(K, np.array(labels), normalization)
        for labels in product(range(k), repeat=9)
        if len(set(labels)) == k
    )
    assert_allclose(model.objective_, objective(K, model.labels_, normalization), rtol=1e-12)
    assert_allclose(model.objective_, best, rtol=1e-9)
    assert model.objective_ <= model.objective_bound_ * (1 + 1e-12)


@pytest.mark.filterwarnings("ignore:The graph of affinities has 2")
@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_no_partition_exceeds_the_bound(normalization):
    model = fitted(affinities(80), 4, affinity="precomputed", normalization=normalization)
    assert model.objective_ <= model.objective_bound_ * (1 + 1e-10)
    assert_allclose(model.objective_bound_, model.eigenvalues_.sum())
    assert_allclose(model.eigenvalues_[0], 1, rtol=1e-8)


# ---- laws


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_permuted_samples_have_permuted_clusters(seed):
    X, _ = blobs(60, seed=seed % 7)
    order = np.random.default_rng(seed).permutation(60)
    first, second = fitted(X, 5, gamma=0.1), fitted(X[order], 5, gamma=0.1)
    assert_allclose(first.eigenvalues_, second.eigenvalues_, atol=1e-12)
    assert same_partition(first.labels_[order], second.labels_)


@settings(max_examples=20)
@given(st.integers(-300, 300), st.sampled_from(["normalized_cut", "doubly_stochastic"]))
def test_the_unit_of_affinities_changes_nothing(power, normalization):
    K = affinities(50)
    params = {"affinity": "precomputed", "normalization": normalization}
    first, second = fitted(K, **params), fitted(np.ldexp(K, power), **params)
    assert_allclose(second.eigenvalues_, first.eigenvalues_, atol=1e-10)
    assert same_partition(first.labels_, second.labels_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("affinity", ["rbf", "nearest_neighbors"])
@pytest.mark.filterwarnings("ignore:The graph of affinities")
def test_threads_change_no_byte(dtype, affinity):
    X = blobs(900)[0].astype(dtype)
    with threadpool_limits(1):
        one = fitted(X, 6, affinity=affinity)
    two = fitted(X, 6, affinity=affinity)
    assert one.embedding_.dtype == dtype
    for name in ("labels_", "embedding_", "eigenvalues_", "objective_trace_"):
        assert_array_equal(getattr(one, name), getattr(two, name))


def test_rows_of_the_embedding_have_unit_length():
    model = fitted(blobs(200)[0], 5)
    assert_allclose(np.linalg.norm(model.embedding_, axis=1), 1, rtol=1e-12)
    turned = model.eigenvectors_ / np.linalg.norm(model.eigenvectors_, axis=1, keepdims=True)
    assert_allclose(model.embedding_, turned, rtol=1e-12)


def test_the_trace_never_falls_and_ends_at_the_bound():
    model = fitted(blobs(1200, apart=2.0)[0], 5)
    assert model.n_iter_ == len(model.objective_trace_) > 1
    assert np.diff(model.objective_trace_).min() > -1e-12
    assert_allclose(model.objective_trace_[-1], model.objective_bound_, rtol=1e-12)


# ---- components


def blocks(sizes, form=np.asarray):
    parts = [affinities(size, seed=i) for i, size in enumerate(sizes)]
    return form(sp.block_diag(parts).toarray()), np.repeat(np.arange(len(sizes)), sizes)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("normalization", NORMALIZATIONS[:3])
@pytest.mark.parametrize("sizes", [(20, 30), (5, 40, 7), (300, 150, 90)])
def test_as_many_components_as_clusters_are_the_clusters(sizes, normalization, form):
    K, y = blocks(sizes, form)
    k = len(sizes)
    with pytest.warns(UserWarning, match=f"has {k} connected components"):
        model = fitted(K, k, affinity="precomputed", normalization=normalization)
    assert same_partition(model.labels_, y)
    assert model.n_connected_components_ == k
    assert_allclose(model.eigenvalues_, 1, rtol=1e-10)
    assert_allclose(model.objective_, k, rtol=1e-10)
    assert model.eigengaps_[-1] > 1e-6


@pytest.mark.parametrize("n", [40, 500])
def test_more_components_than_clusters_stay_whole(n):
    K, y = blocks((n, n, n, 1, 1, 2))
    with pytest.warns(UserWarning, match="6 connected components: they are gathered, whole"):
        model = fitted(K, 3, affinity="precomputed")
    assert all(len(set(model.labels_[y == component])) == 1 for component in range(6))
    assert len(set(model.labels_[y < 3])) == 3, "the largest have clusters of their own"
    assert_allclose(model.objective_, 3, rtol=1e-10)
    assert_allclose(model.eigengaps_, 0, atol=1e-6)


@pytest.mark.parametrize("k", [3, 4])
def test_fewer_components_than_clusters_are_divided(k):
    X, y = blobs(400, k=k, d=2, apart=3.0)
    K = gram_matrix(X, gamma=0.5)
    away = y == 0
    K[np.ix_(away, ~away)] = K[np.ix_(~away, away)] = 0
    with pytest.warns(UserWarning, match="2 connected components"):
        model = fitted(K, k, affinity="precomputed")
    cut_across = {*model.labels_[away]} & {*model.labels_[~away]}
    assert not cut_across and len({*model.labels_}) == k


def test_two_groups_joined_by_next_to_nothing():
    K, y = blocks((30, 20))
    K[0, -1] = K[-1, 0] = 1e-200
    assert same_partition(fitted(K, 2, affinity="precomputed").labels_, y)


# ---- bad input, hard data


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda K: K[:, :-1], "square"),
        (lambda K: -K, "[Nn]egative"),
        (lambda K: K + np.triu(np.ones_like(K), 1), "not symmetric"),
        (lambda K: K * np.nan, "NaN"),
        (lambda K: K * (np.arange(len(K)) > 0) * (np.arange(len(K)) > 0)[:, None], "isolated"),
        (lambda K: K[:2, :2], "n_samples=2 should be >= n_clusters=3"),
    ],
)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_bad_affinities_are_refused(spoil, message, form):
    with pytest.raises(ValueError, match=message):
        fitted(form(spoil(affinities(20))), affinity="precomputed")


def test_given_affinities_are_left_untouched():
    for normalization in NORMALIZATIONS:
        K = affinities(100)
        before = K.copy()
        fitted(K, affinity="precomputed", normalization=normalization)
        assert_array_equal(K, before)
        K.setflags(write=False)
        fitted(K, affinity="precomputed", normalization=normalization)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n", [1, 2, 3, 30])
@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_few_samples_and_as_many_clusters(n, normalization):
    X = np.random.default_rng(n).normal(size=(n, 2))
    for k in {1, min(n, 2), n}:
        model = fitted(X, k, normalization=normalization)
        assert model.embedding_.shape == (n, k) and np.isfinite(model.embedding_).all()
        assert model.labels_.min() >= 0 and model.labels_.max() < k
        assert len(model.eigengaps_) == min(k, n - 1)
    assert len(set(model.labels_)) == n


def test_a_stopped_search_is_said():
    X = blobs(1000, apart=1.0)[0]
    with pytest.warns(ConvergenceWarning, match="stopped after 2 passes with residuals"):
        model = fitted(X, 6, max_iter=2)
    assert not model.converged_ and model.n_iter_ == 2


def test_memory_is_that_of_one_matrix():
    X = blobs(2000, d=3)[0].astype(np.float64)
    fitted(X[:500])
    tracemalloc.start()
    fitted(X, 5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The matrix of affinities is mapped apart and not traced.
    assert peak < 0.1 * 8 * 2000**2 + 2 * X.nbytes


def test_clusterer_checks():
    model = SpectralClustering()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for check in _yield_clustering_checks(model):
            check("SpectralClustering", model)
