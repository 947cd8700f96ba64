"""Passes over many centres in 8-bit codes against a full search in double precision."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist

from mlcore._ext.cluster.k_means import quantized_search as _ext
from mlcore.cluster import KMeans
from mlcore.cluster.k_means import quantized_search
from mlcore.cluster.k_means.assignment import Assignment, nearest_labels
from mlcore.cluster.k_means.origin_and_unit import OriginAndUnit
from mlcore.cluster.k_means.quantized_search import QuantizedSearch, codes_suit

pytestmark = pytest.mark.skipif(not _ext.available(), reason="no products of 8-bit integers")
NO_WEIGHTS = np.empty(0)


def blobs(n, d, k, dtype, seed=0):
    rng = np.random.default_rng([n, d, k, seed])
    X = 3 * rng.normal(size=(k, d))[rng.integers(0, k, n)] + 2 * rng.normal(size=(n, d))
    return X.astype(dtype), X[rng.choice(n, k, replace=False)].astype(dtype)


def squared_distances(X, centers):
    return cdist(X.astype(np.float64), centers.astype(np.float64), "sqeuclidean")


@each(
    "n, d, k, dtype, kind",
    [
        (1, 1, 1, np.float64, "blobs"),
        (65, 3, 47, np.float32, "blobs"),
        (300, 4, 48, np.float64, "near ties"),
        (700, 9, 49, np.float32, "near ties"),
        (500, 2, 200, np.float64, "integers"),
        (400, 33, 130, np.float32, "integers"),
        (300, 17, 97, np.float64, "outliers"),
        (200, 70, 60, np.float32, "outliers"),
        (300, 8, 100, np.float64, "constant"),
        (300, 5, 100, np.float64, "tiny"),
    ],
)
def test_labels_and_bounds_of_every_pass_are_those_of_a_full_search(n, d, k, dtype, kind):
    rng = np.random.default_rng(n)
    X, centers = blobs(n, d, min(n, k), np.float64)
    if kind == "near ties":
        pairs = rng.integers(0, k, size=(n // 2, 2))
        X[: n // 2] = (centers[pairs[:, 0]] + centers[pairs[:, 1]]) / 2 * (1 + 1e-7)
    if kind == "outliers":
        X[rng.random(X.shape) < 0.01] *= 1000
    X = {"integers": np.rint(X / 2), "constant": np.ones_like(X), "tiny": X * 1e-30}.get(kind, X)
    X, centers = X.astype(dtype), X[rng.integers(0, n, min(n, k))].astype(dtype)
    search, labels = QuantizedSearch(n, 3), np.full(n, -1, dtype=np.int32)
    sums, counts = np.zeros((3, len(centers), d)), np.zeros((3, len(centers)))
    weights = rng.integers(1, 4, n).astype(np.float64)
    for step in range(7):
        search.move(centers, 1)
        search.search(slice(None), X, weights, labels, sums, counts, 1)
        squared = squared_distances(X, centers)
        own = squared[np.arange(n), labels]
        if kind in ("integers", "constant"):  # exact: ties too
            assert_array_equal(labels, squared.argmin(axis=1))
        assert (own <= squared.min(axis=1) * (1 + 1e-12)).all()
        squared[np.arange(n), labels] = np.inf
        assert (search._upper >= np.sqrt(own)).all()
        assert (search._lower <= np.sqrt(squared.min(axis=1))).all()
        expected = np.zeros((len(centers), d))
        np.add.at(expected, labels, weights[:, None] * X)
        largest = np.abs(X.astype(np.float64)).max()
        np.testing.assert_allclose(sums.sum(axis=0), expected, rtol=0, atol=1e-9 * n * largest)
        assert_array_equal(counts.sum(axis=0), np.bincount(labels, weights, len(centers)))
        mass = np.maximum(counts.sum(axis=0), 1)[:, None]
        means = sums.sum(axis=0) / mass
        moved = rng.random(len(centers)) < (1, 1, 0.5, 0.1, 0, 0.02, 1)[step]
        centers = np.where(moved[:, None], means, centers).astype(dtype)
        if kind == "integers":
            centers = np.rint(centers)


@pytest.fixture
def few_are_many(monkeypatch):
    for name in ("_LEAST_CENTERS", "_LEAST_VALUES", "_LEAST_SAMPLES", "_LEAST_OF_ONE_PASS"):
        monkeypatch.setattr(quantized_search, name, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fit_with_many_centers_is_lloyds(few_are_many, dtype, monkeypatch):
    X, centers = blobs(3000, 12, 150, dtype)
    X[2000:] = X[:1000]  # duplicates
    settings = {"n_clusters": 150, "init": centers, "n_init": 1, "tol": 0}
    assert codes_suit(X, OriginAndUnit(), centers, several_passes=True)
    model = KMeans(**settings).fit(X)
    assert model.converged_
    assert (np.diff(model.objective_trace_) <= 1e-5 * model.objective_trace_[0]).all()
    squared = squared_distances(X, model.cluster_centers_)
    assert_array_equal(model.labels_, squared.argmin(axis=1))
    np.testing.assert_allclose(model.inertia_, squared.min(axis=1).sum(), rtol=1e-6)
    assert_array_equal(model.predict(X[::2]), model.labels_[::2])
    for j, center in enumerate(model.cluster_centers_):
        mean = X[model.labels_ == j].astype(np.float64).mean(axis=0)
        np.testing.assert_allclose(center, mean, atol=1e-6 * np.abs(X).max())
    monkeypatch.setattr(quantized_search, "_LEAST_CENTERS", 10**9)
    plain = KMeans(**settings).fit(X)
    np.testing.assert_allclose(model.inertia_, plain.inertia_, rtol=1e-3)


def test_threads_change_no_bit(few_are_many):
    X, centers = blobs(5000, 10, 200, np.float32)
    results = []
    for n_threads in (1, 4):
        search, labels = QuantizedSearch(len(X), 7), np.full(len(X), -1, dtype=np.int32)
        sums, counts = np.zeros((7, 200, 10)), np.zeros((7, 200))
        for _ in range(3):
            search.move(centers, n_threads)
            search.search(slice(None), X, NO_WEIGHTS, labels, sums, counts, n_threads)
            centers = centers + np.float32(0.01) * np.sign(centers)
        results.append([labels, sums, search._upper, search._lower])
        centers = blobs(5000, 10, 200, np.float32)[1]
    for one, other in zip(*results, strict=True):
        assert_array_equal(one, other)


def test_codes_that_leave_many_candidates_are_not_used(few_are_many):
    X, centers = blobs(2000, 6, 300, np.float64)
    X[:, 0] *= 1e6
    centers[:, 0] *= 1e6
    wide = centers.copy()
    wide[0, 0] *= 1e6  # all other centres have the same codes
    assert not codes_suit(X, OriginAndUnit(), wide, several_passes=True)
    squared = squared_distances(X, wide)
    assert_array_equal(nearest_labels(X, OriginAndUnit(), wide), squared.argmin(axis=1))


def test_a_search_that_ceases_to_pay_is_given_up(few_are_many):
    X, centers = blobs(2000, 6, 300, np.float64)
    assignment = Assignment(X, NO_WEIGHTS, OriginAndUnit(), 300, 10)
    assignment.assign(centers)
    assert isinstance(assignment._search, QuantizedSearch)
    centers[0] *= 1e6
    for _ in range(2):
        centers += 0.5
        assignment.assign(centers)
        assert_array_equal(assignment.labels, squared_distances(X, centers).argmin(axis=1))
    assert not isinstance(assignment._search, QuantizedSearch)
    sums, _ = assignment.totals()
    expected = np.zeros_like(sums)
    np.add.at(expected, assignment.labels, X)
    np.testing.assert_allclose(sums, expected, atol=1e-8)
