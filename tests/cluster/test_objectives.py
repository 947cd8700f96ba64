"""Costs of partitions: definitions, brute force over partitions, identities, laws, bad input."""

import functools
import itertools

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse as sp
from scipy.spatial.distance import cdist

from mlcore.cluster import (
    KMeans,
    clustering_cost,
    cut_value,
    normalized_association,
    normalized_cut_value,
    ratio_cut_value,
)
from mlcore.kernels import gram_matrix

OF_SAMPLES = "kmeans", "kmedoids", "kmedian", "sum_of_distances"
OF_KERNEL = "kernel_kmeans", "trace"
CUTS = {
    "cut": cut_value,
    "ratio_cut": ratio_cut_value,
    "normalized_cut": normalized_cut_value,
    "normalized_association": normalized_association,
}


@functools.cache
def partitions(n):
    """All partitions of n samples, as labels that grow as they appear."""
    return [
        np.array(labels)
        for labels in itertools.product(*map(range, range(1, n + 1)))
        if all(labels[i] <= max(labels[:i], default=-1) + 1 for i in range(n))
    ]


def definition(X, labels, objective):
    """The cost by its definition, cluster by cluster."""
    cost = 0.0
    for cluster in set(labels):
        members = X[labels == cluster]
        D = cdist(members, members)
        if objective == "kmeans":
            cost += ((members - members.mean(axis=0)) ** 2).sum()
        elif objective == "kmedoids":
            cost += (D**2).sum(axis=0).min()
        elif objective == "kmedian":
            cost += D.sum(axis=0).min()
        else:
            cost += D.sum()
    return cost


@pytest.mark.parametrize("objective", OF_SAMPLES)
def test_every_partition_of_five_samples(objective):
    X = np.random.default_rng(0).normal(size=(5, 2)) + 5
    n_partitions = 0
    for labels in partitions(5):
        found = clustering_cost(X, labels, objective)
        assert_allclose(found, definition(X, labels, objective), rtol=1e-12, atol=1e-13)
        n_partitions += 1
    assert n_partitions == 52  # Bell's number


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_kernel_k_means_for_every_partition_of_five_samples(kernel):
    X = np.random.default_rng(1).normal(size=(5, 2))
    K = gram_matrix(X, kernel=kernel)
    for labels in partitions(5):
        G = np.eye(labels.max() + 1)[labels]
        G /= np.sqrt(G.sum(axis=0))
        trace = np.trace(G.T @ K @ G)
        assert_allclose(clustering_cost(K, labels, "trace"), trace, rtol=1e-12)
        cost = clustering_cost(K, labels, "kernel_kmeans")
        assert_allclose(cost, np.trace(K) - trace, atol=1e-12)
        if kernel == "linear":
            assert_allclose(cost, clustering_cost(X, labels), atol=1e-12)


@each("n", [2, 40, 700])
@each("dtype", [np.float32, np.float64])
def test_definitions_at_some_size(n, dtype):
    rng = np.random.default_rng(n)
    X, labels = rng.normal(size=(n, 7)).astype(dtype) + 100, rng.integers(0, 5, n)
    for objective in OF_SAMPLES:
        expected = definition(X.astype(np.float64), labels, objective)
        assert_allclose(clustering_cost(X, labels, objective), expected, rtol=1e-11, atol=1e-12)


def test_sparse_samples_for_k_means():
    rng = np.random.default_rng(0)
    X = rng.random((60, 30)) * (rng.random((60, 30)) < 0.2)
    X[:, 5], labels = 0, rng.integers(0, 4, 60)
    for kind in (sp.csr_array, sp.csc_array, sp.coo_array):
        found = clustering_cost(kind(X), labels)
        assert_allclose(found, clustering_cost(X, labels), rtol=1e-13)
    with pytest.raises(TypeError, match="[Ss]parse"):
        clustering_cost(sp.csr_array(X), labels, "kmedoids")


def test_metrics():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(50, 3)), rng.integers(0, 4, 50)
    for metric in ("euclidean", "sqeuclidean", "cityblock", "chebyshev"):
        D = cdist(X, X, metric)
        for objective in ("kmedoids", "kmedian", "sum_of_distances"):
            given_distances = clustering_cost(D, labels, objective, metric="precomputed")
            found = clustering_cost(X, labels, objective, metric=metric)
            assert_allclose(found, given_distances, rtol=1e-12)


def test_the_cost_of_a_fit_is_its_own():
    X = np.random.default_rng(0).normal(size=(300, 4))
    model = KMeans(5, random_state=0).fit(X)
    assert_allclose(clustering_cost(X, model.labels_), model.inertia_, rtol=1e-12)
    weights = np.random.default_rng(1).random(300)
    model.fit(X, sample_weight=weights)
    found = clustering_cost(X, model.labels_, sample_weight=weights)
    assert_allclose(found, model.inertia_, rtol=1e-12)


def test_cuts_are_the_functions():
    rng = np.random.default_rng(0)
    K = rng.random((30, 30))
    K, labels = K + K.T, rng.integers(0, 3, 30)
    for form in (K, sp.csr_array(K)):
        for objective, value in CUTS.items():
            assert clustering_cost(form, labels, objective) == value(form, labels)
        assert_allclose(
            clustering_cost(form, labels, "trace"), clustering_cost(K, labels, "trace"), rtol=1e-13
        )


def test_with_a_doubly_stochastic_matrix_all_cuts_are_one():
    shifts = [np.roll(np.eye(8), shift, axis=1) for shift in (0, 1, 3)]
    K = sum(P + P.T for P in shifts) / 6
    labels = np.arange(8) % 3
    kept = 3 - clustering_cost(K, labels, "trace")
    for objective in ("ratio_cut", "normalized_cut"):
        assert_allclose(clustering_cost(K, labels, objective), kept, rtol=1e-14)


@settings(max_examples=15)
@given(st.integers(1, 25), st.integers(0, 2**32 - 1), st.integers(-300, 300))
def test_laws(n, seed, power):
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(n, 3)), rng.integers(0, 4, n)
    K = gram_matrix(X, kernel="linear")
    order, copies = rng.permutation(n), rng.integers(0, 4, n)
    copies[0] = 2
    repeated = np.repeat(np.arange(n), copies)
    for objective in (*OF_SAMPLES, *OF_KERNEL):
        degree = 2 if objective in ("kmeans", "kmedoids") else 1
        data = K if objective in OF_KERNEL else X

        def among(rows, data=data):
            return data[np.ix_(rows, rows)] if data is K else data[rows]

        cost = clustering_cost(data, labels, objective)
        tolerance = dict(rtol=1e-11, atol=1e-12 * n)
        found = clustering_cost(among(order), labels[order], objective)
        assert_allclose(found, cost, **tolerance)
        if objective in OF_KERNEL or abs(power) < 200:
            found = clustering_cost(np.ldexp(data, power), labels, objective)
            assert found == np.ldexp(cost, degree * power)
        weighted = clustering_cost(data, labels, objective, sample_weight=copies)
        copied = clustering_cost(among(repeated), labels[repeated], objective)
        assert_allclose(weighted, copied, rtol=1e-11, atol=1e-11 * n)


def test_one_cluster_and_as_many_as_samples():
    X = np.random.default_rng(0).normal(size=(9, 2))
    for objective in OF_SAMPLES:
        assert clustering_cost(X, np.arange(9), objective) == 0
        assert clustering_cost(X, np.zeros(9), objective) > 0
        assert clustering_cost(np.ones((9, 2)), np.zeros(9), objective) == 0
        assert clustering_cost([[3.0]], ["a"], objective) == 0


@pytest.mark.parametrize("offset", [1e8, -1e15])
def test_far_from_the_origin(offset):
    X = np.random.default_rng(0).normal(size=(50, 3)) + offset
    labels = np.arange(50) % 3
    for objective in OF_SAMPLES:
        expected = definition(X - X[0], labels, objective)
        assert_allclose(clustering_cost(X, labels, objective), expected, rtol=1e-12)


@each(
    ("arguments", "error", "message"),
    [
        ({"objective": "k-means"}, ValueError, "objective='k-means'.*one of 'kmeans'"),
        ({"objective": None}, TypeError, "objective=None"),
        ({"objective": "kmedian", "metric": "L1"}, ValueError, "metric='L1'"),
        ({"labels": [0, 1]}, ValueError, "inconsistent numbers of samples"),
        ({"labels": [0, 1, np.nan]}, ValueError, "labels contains NaN"),
        ({"X": [[0.0], [np.inf], [1.0]]}, ValueError, "infinity"),
        ({"sample_weight": [1, 1]}, ValueError, "sample_weight"),
        ({"sample_weight": [0, 0, 0]}, ValueError, "zero"),
        ({"objective": "trace"}, ValueError, r"K has shape \(3, 1\).*square"),
        ({"objective": "trace", "X": np.tri(3)}, ValueError, "K is not symmetric"),
        ({"objective": "cut", "X": -np.eye(3)}, ValueError, "Negative values"),
        ({"objective": "cut", "X": np.eye(3), "labels": [1, 1, 1]}, ValueError, "labels has 1"),
        ({"objective": "kmedoids", "X": [[0.0], [1e153], [1.0]], "sample_weight": [1e10, 1e10, 1],
          "labels": [0, 0, 0]}, ValueError, "overflows"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(arguments, error, message):
    arguments = {"X": [[0.0], [1.0], [5.0]], "labels": [0, 0, 1]} | arguments
    with pytest.raises(error, match=message):
        clustering_cost(**arguments)
