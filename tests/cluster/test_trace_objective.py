"""One objective, trace(G'K'G), under every normalisation: brute force over all partitions."""

import functools
import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp

from contract import case
from mlcore.cluster import (
    KernelKMeans,
    KMeans,
    KMedians,
    KMedoids,
    ProbabilisticClustering,
    SpectralClustering,
    adjusted_rand_index,
    clustering_cost,
    normalize_affinity,
)
from mlcore.kernels import gram_matrix

METHODS = "ratio_cut", "normalized_cut", "doubly_stochastic", "frobenius"
N = 6


def samples(seed, n=N):
    """Three loose blobs, so that the best partitions are not obvious."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) + 2.5 * np.arange(n)[:, None] % 3


@functools.cache
def partitions(n, k):
    """All partitions of n samples into k clusters, labels growing as they appear."""
    return [
        np.array(labels)
        for labels in itertools.product(range(k), repeat=n)
        if all(labels[i] <= max(labels[:i], default=-1) + 1 for i in range(n))
        and max(labels) == k - 1
    ]


def affinities(seed, n=N):
    return gram_matrix(samples(seed, n), kernel="rbf", gamma=0.3)


# ---- what the normalised matrices say of every partition


@pytest.mark.parametrize("k", [2, 3])
def test_traces_of_normalised_matrices_are_the_cuts(k):
    K = affinities(0)
    degrees = K.sum(axis=1)
    ratio, normalized = (normalize_affinity(K, method) for method in METHODS[:2])
    stochastic = [normalize_affinity(K, method) for method in METHODS[2:]]
    for labels in partitions(N, k):
        kept = clustering_cost(ratio, labels, "trace")
        assert_allclose(clustering_cost(K, labels, "ratio_cut"), k - kept, rtol=1e-10)
        G = np.sqrt(degrees)[:, None] * np.eye(k)[labels]
        G /= np.linalg.norm(G, axis=0)
        kept = np.trace(G.T @ normalized @ G)
        assert_allclose(clustering_cost(K, labels, "normalized_association"), kept, rtol=1e-12)
        assert_allclose(clustering_cost(K, labels, "normalized_cut"), k - kept, rtol=1e-10)
        for F in stochastic:
            kept = clustering_cost(F, labels, "trace")
            for objective in ("ratio_cut", "normalized_cut"):
                assert_allclose(clustering_cost(F, labels, objective), k - kept, atol=1e-9)


@pytest.mark.filterwarnings("ignore:The graph of affinities has:UserWarning")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("k", [2, 3])
def test_eigenvalues_bound_every_partition(method, k):
    for seed in range(3):
        with case("seed", seed):
            check_bound(method, k, seed)


def check_bound(method, k, seed):
    K = affinities(seed)
    model = SpectralClustering(k, affinity="precomputed", normalization=method, random_state=0).fit(
        K
    )
    objective = "normalized_association" if method == "normalized_cut" else "trace"
    matrix = K if method == "normalized_cut" else normalize_affinity(K, method)
    best = max(clustering_cost(matrix, labels, objective) for labels in partitions(N, k))
    assert model.objective_bound_ >= best - 1e-8
    found = clustering_cost(matrix, model.labels_, objective)
    assert_allclose(model.objective_, found, rtol=1e-6)
    assert found <= best + 1e-8


@pytest.mark.filterwarnings("ignore:The graph of affinities has:UserWarning")
@pytest.mark.parametrize("method", METHODS)
def test_components_of_a_graph_are_its_clusters(method):
    truth = np.repeat([0, 1, 2], 10)
    K = np.exp(-0.1 * np.abs(np.arange(30)[:, None] - np.arange(30)))
    K *= truth[:, None] == truth
    K[K == 0] = 1e-9  # all but disconnected
    model = SpectralClustering(3, affinity="precomputed", normalization=method, random_state=0)
    labels = model.fit(K).labels_
    assert adjusted_rand_index(truth, labels) == 1
    for objective in ("cut", "ratio_cut", "normalized_cut"):
        assert clustering_cost(K, labels, objective) < 1e-5


# ---- models against the best of all partitions


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_no_fit_is_better_than_the_best_partition_which_is_a_fixed_point(k, seed):
    X = samples(seed)
    K = gram_matrix(X, kernel="rbf", gamma=0.3)

    def means(labels):
        return np.stack([X[labels == j].mean(axis=0) for j in range(k)])

    for data, objective, from_seeds, from_labels in [
        (
            X,
            "kmeans",
            KMeans(k, n_init=20, random_state=0),
            lambda labels: KMeans(k, init=means(labels), n_init=1),
        ),
        (
            K,
            "kernel_kmeans",
            KernelKMeans(k, kernel="precomputed", n_init=20, random_state=0),
            lambda labels: KernelKMeans(k, kernel="precomputed", init=labels),
        ),
    ]:
        best = min(partitions(N, k), key=lambda labels: clustering_cost(data, labels, objective))
        least = clustering_cost(data, best, objective)
        model = from_seeds.fit(data)
        found = clustering_cost(data, model.labels_, objective)
        assert_allclose(model.inertia_, found, rtol=1e-9)
        assert least * (1 - 1e-9) <= found <= 1.1 * least
        assert_allclose(from_labels(best).fit(data).inertia_, least, rtol=1e-9)


@pytest.mark.parametrize(("power", "objective"), [(1, "kmedian"), (2, "kmedoids")])
@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
@pytest.mark.parametrize("seed", range(3))
def test_medoids_against_the_best_partition(power, objective, metric, seed):
    X, k = samples(seed), 3
    best = min(clustering_cost(X, labels, objective, metric=metric) for labels in partitions(N, k))
    models = [
        KMedoids(k, metric=metric, power=power, random_state=start).fit(X) for start in range(6)
    ]
    model = min(models, key=lambda model: model.inertia_)
    assert_allclose(model.inertia_, best, rtol=1e-12)
    found = clustering_cost(X, model.labels_, objective, metric=metric)
    assert_allclose(found, best, rtol=1e-12)


def test_medians_are_no_farther_than_medoids():
    X = samples(0, 60)
    model = KMedians(3, random_state=0).fit(X)
    assert model.inertia_ <= clustering_cost(X, model.labels_, "kmedian", metric="cityblock")


def test_k_means_is_kernel_k_means_of_the_linear_kernel_is_a_trace():
    X = samples(1, 90)
    K = gram_matrix(X, kernel="linear")
    start = np.random.default_rng(0).integers(0, 3, 90)
    labels = KernelKMeans(3, kernel="linear", init=start).fit(X).labels_
    expected = np.trace(K) - clustering_cost(K, labels, "trace")
    for data, objective in ((X, "kmeans"), (K, "kernel_kmeans")):
        assert_allclose(clustering_cost(data, labels, objective), expected, rtol=1e-11)
    centers = np.stack([X[labels == j].mean(axis=0) for j in range(3)])
    k_means = KMeans(3, init=centers, n_init=1).fit(X)
    assert_array_equal(k_means.labels_, labels)  # a fixed point of one is one of the other
    assert_allclose(k_means.inertia_, expected, rtol=1e-11)


def test_probabilities_of_separate_blocks_are_certain():
    truth = np.repeat([0, 1, 2], [5, 9, 4])
    K = 0.9 * (truth[:, None] == truth) + 1e-6
    model = ProbabilisticClustering(3, affinity="precomputed", random_state=0).fit(K)
    assert adjusted_rand_index(truth, model.labels_) == 1
    assert model.probabilities_.max(axis=1).min() > 0.99


@pytest.mark.parametrize("method", METHODS[:3])
def test_sparse_and_dense_affinities_have_the_same_costs(method):
    K = affinities(2, 40)
    K[K < 0.05] = 0
    labels = np.arange(40) % 3
    dense, sparse = (normalize_affinity(form, method) for form in (K, sp.csr_array(K)))
    expected = clustering_cost(dense, labels, "trace")
    assert_allclose(clustering_cost(sparse, labels, "trace"), expected, rtol=1e-8)
