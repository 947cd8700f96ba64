"""SpectralClustering against LAPACK, scikit-learn, brute force and the laws of cuts."""

import functools
import tracemalloc
import warnings
from itertools import product

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from scipy.linalg import orthogonal_procrustes
from scipy.spatial.distance import cdist
from sklearn.cluster import SpectralClustering as ScikitLearns
from sklearn.cluster._spectral import cluster_qr
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.estimator_checks import _yield_clustering_checks
from threadpoolctl import threadpool_limits

from contract import case
from mlcore.checks.errors import ConvergenceWarning
from mlcore.cluster import SpectralClustering, adjusted_rand_index, affinity, ratio_cut_value
from mlcore.cluster.spectral.assign_labels import by_pivots, discretized
from mlcore.kernels import gram_matrix

NORMALIZATIONS = "normalized_cut", "ratio_cut", "doubly_stochastic", "frobenius"


def blobs(n, d=4, k=5, seed=0, apart=6.0):
    rng = np.random.default_rng([n, d, k, seed])
    y = rng.integers(0, k, n)
    return apart * rng.normal(size=(k, d))[y] + rng.normal(size=(n, d)), y


def hollow(D):
    """CSR with a stored diagonal of zeros."""
    stored = sp.csr_array(D)
    stored.setdiag(0.0)
    return stored


def affinities(n, seed=0, gamma=0.5):
    return gram_matrix(np.random.default_rng([n, seed]).normal(size=(n, 2)), gamma=gamma)


def fitted(X, k=3, **params):
    return SpectralClustering(k, random_state=0, **params).fit(X)


def same_partition(a, b):
    return adjusted_rand_score(a, b) == 1.0


# ---- oracles


@pytest.mark.parametrize("n", [40, 450])
def test_eigenvectors_of_the_normalized_cut_are_lapacks(n):
    K = affinities(n)
    d = 1 / np.sqrt(K.sum(axis=1))
    values, vectors = np.linalg.eigh(d[:, None] * K * d)
    for form in (np.asarray, sp.csr_array):
        model = fitted(form(K), 4, affinity="precomputed", tol=1e-11)
        with case(form):
            assert_allclose(model.eigenvalues_, values[::-1][:4], rtol=0, atol=1e-12)
            assert_allclose(model.eigengaps_, -np.diff(values[::-1][:5]), rtol=0, atol=1e-5)
            overlap = np.abs((model.eigenvectors_ * vectors[:, :-5:-1]).sum(axis=0))
            assert_allclose(overlap, 1, rtol=0, atol=1e-12)
            assert model.residuals_.max() <= 1e-11 and model.converged_


@pytest.mark.parametrize("n", [40, 450])
def test_the_vector_of_the_ratio_cut_is_the_laplacians_second(n):
    K = affinities(n, gamma=0.05)
    model = fitted(K, 2, affinity="precomputed", normalization="ratio_cut", tol=1e-11)
    values, vectors = np.linalg.eigh(np.diag(K.sum(axis=1)) - K)
    assert_allclose(1 - model.eigenvalues_, values[:2], rtol=0, atol=1e-9 * values[-1])
    assert_allclose(np.abs(model.eigenvectors_[:, 1] @ vectors[:, 1]), 1, rtol=1e-10)
    assert same_partition(model.labels_, vectors[:, 1] > 0)
    assert_allclose(model.eigenvectors_[:, 0], 1 / np.sqrt(n), rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_scikit_learn_finds_the_same_clusters_where_they_are_apart(seed):
    X, y = blobs(300, k=4, seed=seed, apart=9.0)
    model = fitted(X, 4, gamma=0.1)
    peer = ScikitLearns(4, gamma=0.1, random_state=0).fit(X)
    assert same_partition(model.labels_, peer.labels_)
    assert same_partition(model.labels_, y)


@pytest.mark.filterwarnings("ignore:The graph of affinities has 2")
@each("normalization", NORMALIZATIONS)
@each(("X", "y"), [make_moons(300, noise=0.05, random_state=0), make_circles(300, factor=0.4)])
def test_moons_and_circles(X, y, normalization):
    model = fitted(X, 2, gamma=30.0, normalization=normalization)
    assert same_partition(model.labels_, y)


@pytest.mark.filterwarnings("ignore:The graph of affinities has 2")
@pytest.mark.parametrize("normalization", NORMALIZATIONS[:3])
def test_neighbours_tell_moons(normalization):
    X, y = make_moons(600, noise=0.05, random_state=0)
    model = fitted(X, 2, affinity="nearest_neighbors", normalization=normalization)
    assert same_partition(model.labels_, y)


def objectives(K, labels, normalization):
    """n_clusters less the cut, from its definition, of each row of labels."""
    total = 0.0
    for j in range(labels.max() + 1):
        own = (labels == j).astype(float)
        sums = own @ K
        cut = (sums * (1 - own)).sum(axis=1)
        total += 1 - cut / (sums if normalization == "normalized_cut" else own).sum(axis=1)
    return total


def objective(K, labels, normalization):
    return objectives(K.toarray() if sp.issparse(K) else K, labels[None], normalization)[0]


@functools.cache
def partitions(n, k):
    found = product(range(k), repeat=n)
    return np.array([labels for labels in found if list(dict.fromkeys(labels)) == list(range(k))])


@pytest.mark.parametrize("normalization", ["normalized_cut", "ratio_cut"])
@pytest.mark.parametrize("k", [2, 3])
def test_on_tiny_graphs_of_clear_groups_no_partition_is_better(k, normalization):
    for seed in range(4):
        X, _ = blobs(8, d=2, k=k, seed=seed, apart=4.0)
        K = gram_matrix(X, gamma=0.2)
        model = fitted(K, k, affinity="precomputed", normalization=normalization)
        best = objectives(K, partitions(8, k), normalization).max()
        found = objective(K, model.labels_, normalization)
        with case("seed", seed):
            assert_allclose(model.objective_, found, rtol=1e-12)
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


@each("form", [np.asarray, sp.csr_array])
@each("normalization", NORMALIZATIONS[:3])
@each("sizes", [(20, 30), (5, 40, 7), (300, 150, 90)])
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


# ---- what scikit-learn's users pass


def noisy_indicators(n, k, seed):
    """Rows of a rotated matrix of 0 and 1 with noise, at unit length, and their groups."""
    rng = np.random.default_rng([n, k, seed])
    y = rng.permutation(np.arange(n) % k)
    turn, _ = np.linalg.qr(rng.normal(size=(k, k)))
    rows = (np.eye(k)[y] + 0.1 * rng.normal(size=(n, k))) @ turn
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), y


@each(("n", "k"), [(30, 2), (100, 5), (300, 9)])
@each("seed", range(3))
def test_pivots_are_scikit_learns_and_find_rotated_indicators(n, k, seed):
    rows, y = noisy_indicators(n, k, seed)
    labels = by_pivots(rows)
    assert_array_equal(labels, cluster_qr(rows))
    assert same_partition(labels, y)


@each(("n", "k"), [(30, 2), (100, 5), (300, 9)])
@each("seed", range(3))
def test_discretized_rows_are_indicators_and_a_stationary_point(n, k, seed):
    rows, y = noisy_indicators(n, k, seed)
    labels = discretized(rows, np.random.default_rng(seed))
    assert same_partition(labels, y)
    # The best rotation for these labels gives these labels again.
    rotation, _ = orthogonal_procrustes(rows, np.eye(k)[labels])
    assert_array_equal((rows @ rotation).argmax(axis=1), labels)


@pytest.mark.filterwarnings("ignore:The graph of affinities")
@pytest.mark.parametrize("how", ["kmeans", "discretize", "cluster_qr"])
@pytest.mark.parametrize(("seed", "form"), [(0, np.asarray), (1, sp.csr_array)])
def test_labels_are_assigned_as_scikit_learn_does(seed, form, how):
    X, y = blobs(200, k=4, seed=seed, apart=9.0)
    K = form(gram_matrix(X, gamma=0.02))
    model = fitted(K, 4, affinity="precomputed", assign_labels=how)
    peer = ScikitLearns(4, affinity="precomputed", assign_labels=how, random_state=0).fit(K)
    assert same_partition(model.labels_, peer.labels_)
    assert same_partition(model.labels_, y)
    assert_allclose(model.objective_, objective(K, model.labels_, "normalized_cut"), rtol=1e-10)
    assert model.objective_ <= model.objective_bound_ * (1 + 1e-12)


def test_kmeans_groups_what_the_random_walk_has_as_eigenvectors():
    K = affinities(60)
    model = fitted(K, 3, affinity="precomputed", assign_labels="kmeans", tol=1e-12)
    walk = K / K.sum(axis=1, keepdims=True)
    assert_allclose(walk @ model.embedding_, model.embedding_ * model.eigenvalues_, atol=1e-12)


@pytest.mark.parametrize("m", [2, 4, 6])
def test_components_are_those_asked_for(m):
    K = affinities(70)
    model = fitted(K, 4, affinity="precomputed", n_components=m)
    values = np.linalg.eigvalsh(K / np.sqrt(np.outer(K.sum(axis=0), K.sum(axis=0))))[::-1]
    assert model.embedding_.shape == model.eigenvectors_.shape == (70, m)
    assert_allclose(model.eigenvalues_, values[:m], atol=1e-12)
    assert model.objective_ <= values[:4].sum() <= model.objective_bound_ * (1 + 1e-12)


@pytest.mark.parametrize("normalization", NORMALIZATIONS[:2])
def test_scipys_solvers_find_the_same_eigenvectors(normalization):
    params = {"affinity": "precomputed", "normalization": normalization, "tol": 1e-9}
    K = affinities(410, gamma=0.3)
    ours = fitted(K, 4, **params)
    for form, solver in product((np.asarray, sp.csr_array), ("arpack", "lobpcg")):
        theirs = fitted(form(K), 4, **params, eigen_solver=solver)
        with case(form, solver):
            assert_allclose(theirs.eigenvalues_, ours.eigenvalues_, rtol=0, atol=1e-8)
            assert theirs.converged_ and theirs.n_iter_ == 1
            assert same_partition(theirs.labels_, ours.labels_)


def test_scipys_solvers_leave_out_what_is_known_of_components():
    K, y = blocks((210, 200))
    second = [
        np.linalg.eigvalsh(B / np.sqrt(np.outer(B.sum(axis=0), B.sum(axis=0))))[-2]
        for B in (K[:210, :210], K[210:, 210:])
    ]
    for solver in ("arpack", "lobpcg"):
        with pytest.warns(UserWarning, match="not fully connected"):
            model = fitted(K, 3, affinity="precomputed", eigen_solver=solver)
        with case(solver):
            assert_allclose(model.eigenvalues_[:2], 1, rtol=1e-12)
            assert_allclose(model.eigenvalues_[2], max(second), rtol=0, atol=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n_neighbors", [2, 10, 40])
def test_the_graph_of_neighbours_is_scikit_learns(n_neighbors):
    X, _ = blobs(150, d=3)
    peer = ScikitLearns(3, affinity="nearest_neighbors", n_neighbors=n_neighbors).fit(X)
    model = SpectralClustering(3, affinity="nearest_neighbors", n_neighbors=n_neighbors)
    assert_array_equal(model._affinity(X).toarray(), peer.affinity_matrix_.toarray())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("more", [0, 15])
@pytest.mark.parametrize("dense", [False, True])
def test_the_graph_of_given_distances_is_scikit_learns(dense, more):
    X, _ = blobs(120, d=3)
    D = NearestNeighbors(n_neighbors=8 + more).fit(X).kneighbors_graph(X, mode="distance")
    D = cdist(X, X) if dense else D
    kind = {"affinity": "precomputed_nearest_neighbors", "n_neighbors": 8}
    peer = ScikitLearns(3, **kind).fit(D)
    model = fitted(D, 3, **kind)
    assert_array_equal(
        model._affinity(sp.csr_array(D) if not dense else D).toarray(),
        peer.affinity_matrix_.toarray(),
    )
    by_points = fitted(X, 3, affinity="nearest_neighbors", n_neighbors=8)
    assert_array_equal(model.labels_, by_points.labels_)


@each("name", ["laplacian", "chi2", "linear", "polynomial", "poly", "cosine"])
def test_a_kernels_name_is_its_matrix(name):
    X = np.abs(blobs(80)[0])
    model = fitted(X, 3, affinity=name, gamma=0.05, degree=2, coef0=0.5)
    K = pairwise_kernels(X, metric=name, filter_params=True, gamma=0.05, degree=2, coef0=0.5)
    given = fitted(K, 3, affinity="precomputed")
    assert_allclose(model.eigenvalues_, given.eigenvalues_, atol=1e-12)
    assert same_partition(model.labels_, given.labels_)  # numbers depend on rounding


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_function_is_asked_of_pairs(form):
    X = np.abs(blobs(40)[0])
    asked = []

    def overlap(x, y, power=1):
        asked.append((x, y))
        return (x.minimum(y) if sp.issparse(x) else np.minimum(x, y)).sum() ** power

    model = fitted(form(X), 3, affinity=overlap, kernel_params={"power": 2})
    K = np.minimum(X[:, None], X).sum(axis=2) ** 2
    given = fitted(K, 3, affinity="precomputed")
    assert_allclose(model.eigenvalues_, given.eigenvalues_, atol=1e-12)
    assert same_partition(model.labels_, given.labels_)  # numbers depend on rounding
    assert len(asked) == 40 * 41 // 2


@each(
    ("params", "error", "message"),
    [
        ({"affinity": "near"}, ValueError, "affinity='near' must be one of 'rbf', .* 'chi2'"),
        ({"affinity": "linear"}, ValueError, "Negative values in data passed as K"),
        ({"affinity": lambda x, y: -1.0}, ValueError, r"affinity\(X\[0\], X\[0\]\)=-1.0 must be"),
        ({"affinity": lambda x, y: "near"}, TypeError, r"affinity\(X\[0\], X\[0\]\)='near'"),
        ({"affinity": "precomputed_nearest_neighbors"}, ValueError, "should be square"),
        ({"assign_labels": "refine"}, ValueError, "assign_labels='refine' must be one of"),
        ({"eigen_solver": "amg"}, ValueError, "eigen_solver='amg' must be one of None, 'arpack'"),
        ({"n_components": 0}, ValueError, "n_components=0 must be an integer >= 1"),
        ({"n_components": 31}, ValueError, "n_samples=30 should be >= n_components=31"),
        (
            {"n_components": 2, "assign_labels": "discretize"},
            ValueError,
            "n_components=2 must be n_clusters=3, or None, with assign_labels='discretize'",
        ),
        ({"degree": -1, "affinity": "poly"}, ValueError, "degree=-1"),
        ({"kernel_params": [1]}, TypeError, "kernel_params is of type list, but must be a dict"),
    ],
)
def test_bad_parameters_are_refused(params, error, message):
    with pytest.raises(error, match=message):
        fitted(blobs(30)[0], 3, **params)


@pytest.mark.parametrize(
    ("D", "message"),
    [
        (-np.ones((5, 5)), r"Negative values in data .* X\[0, 0\] is -1"),
        (
            hollow(np.triu(np.ones((5, 5)))),
            "each .* itself .*row 4 of X stores 1",
        ),
    ],
)
def test_bad_distances_are_refused(D, message):
    with pytest.raises(ValueError, match=message):
        fitted(D, 2, affinity="precomputed_nearest_neighbors", n_neighbors=4)


# ---- bad input, hard data


@each(
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
@each("form", [np.asarray, sp.csr_array])
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
@each("n", [1, 2, 3, 30])
@each("normalization", NORMALIZATIONS)
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


# ---- the unit of the weights


def four_groups(n):
    r = np.random.default_rng(0)
    return np.concatenate([r.normal(c, 1, (n, 2)) for c in ((0, 0), (5, 5), (0, 7), (7, 0))])


@pytest.mark.parametrize("kind", ["nearest_neighbors", "rbf"])
@pytest.mark.parametrize("n", [15, 105])  # LAPACK, Lanczos
@pytest.mark.parametrize("normalization", ["ratio_cut", "normalized_cut", "doubly_stochastic"])
@pytest.mark.filterwarnings("ignore:The graph of affinities")
def test_labels_do_not_depend_on_the_unit_of_the_weights(kind, n, normalization):
    K = affinity(four_groups(n), kind=kind)
    how = {"affinity": "precomputed", "normalization": normalization, "random_state": 0}
    one = SpectralClustering(4, **how).fit(K)
    assert adjusted_rand_index(np.repeat(range(4), n), one.labels_) > 0.9
    for scale in (1e-150, 1e-4, 3e7, 1e150) if n == 15 else (1e-150, 3e7):
        model = SpectralClustering(4, **how).fit(K * scale)
        assert model.converged_
        assert adjusted_rand_index(one.labels_, model.labels_) == 1
        if normalization == "ratio_cut":
            assert_allclose(model.eigengaps_, scale * one.eigengaps_, rtol=1e-4, atol=1e-6 * scale)
            cut = scale * ratio_cut_value(K, one.labels_)
            assert_allclose(4 - model.objective_, cut, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("n", [30, 400])
def test_residuals_of_a_ratio_cut_are_of_the_spread(n):
    K = affinity(four_groups(n // 4), kind="rbf", gamma=0.02)
    laplacian = np.diag(K.sum(axis=1)) - K
    values, spread = np.linalg.eigvalsh(laplacian)[:5], 2 * (K.sum(axis=1) - K.diagonal()).max()
    for form in (np.asarray, sp.csr_array):
        model = SpectralClustering(
            4, affinity="precomputed", normalization="ratio_cut", random_state=0
        ).fit(form(K * 1e-9))
        V = model.eigenvectors_
        rest = np.linalg.norm(laplacian @ V - V * np.diag(V.T @ laplacian @ V), axis=0) / spread
        gaps = 1e-9 * np.diff(values)
        with case(form):
            assert_allclose(rest, model.residuals_, rtol=0.5, atol=1e-13)
            assert_allclose(model.eigengaps_, gaps, rtol=1e-6, atol=1e-15 * spread)


def test_a_sample_without_edges_is_a_cluster_of_a_ratio_cut():
    K = np.zeros((5, 5))
    K[0, 1] = K[1, 0] = K[2, 3] = K[3, 2] = K[1, 2] = K[2, 1] = 1.0
    for form in (np.asarray, sp.csr_array):
        model = SpectralClustering(2, affinity="precomputed", normalization="ratio_cut")
        with pytest.warns(UserWarning, match="2 connected components"):
            labels = model.fit(form(K)).labels_
        assert (labels[:4] == labels[0]).all() and labels[4] != labels[0]
        assert_allclose(model.objective_, 2.0, rtol=1e-14)
    with pytest.raises(ValueError, match="isolated"):
        SpectralClustering(2, affinity="precomputed").fit(K)


@pytest.mark.parametrize("how", ["refined", "kmeans"])
def test_eigenvectors_that_are_constant_are_not_grouped(how):
    K = np.kron(np.eye(2), np.ones((3, 3)))
    K[2, 3] = K[3, 2] = 0.01
    model = SpectralClustering(2, affinity="precomputed", n_components=1, assign_labels=how)
    with pytest.warns(UserWarning, match="n_components=1 .* are constant.*: 2 are taken"):
        assert adjusted_rand_index(model.fit(K).labels_, [0, 0, 0, 1, 1, 1]) == 1
    assert model.embedding_.shape == (6, 2)
    K[2, 3] = K[3, 2] = 0.0  # two components are told apart by any
    with pytest.warns(UserWarning, match="2 connected components"):
        assert_array_equal(model.fit(K).labels_, [0, 0, 0, 1, 1, 1])
    model = SpectralClustering(3, affinity="precomputed", n_components=2, assign_labels=how)
    with (
        pytest.warns(UserWarning, match="of which there are 2, .*: 3 are taken"),
        pytest.warns(UserWarning, match="2 connected components"),
    ):
        assert len(set(model.fit(K).labels_)) == 3
    K = np.kron(np.eye(2), np.ones((200, 200))) + 1e-3  # by Lanczos
    model = SpectralClustering(2, affinity="precomputed", n_components=1, assign_labels=how)
    with pytest.warns(UserWarning, match="2 are taken"):
        assert adjusted_rand_index(model.fit(K).labels_, np.repeat([0, 1], 200)) == 1
