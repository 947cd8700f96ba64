"""KMedians against brute force, linear programming's optimum in one cluster, and its laws."""

import itertools
import warnings

import numpy as np
import pytest
from each import each
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.utils.estimator_checks import _yield_clustering_checks

from mlcore.checks.errors import ConvergenceWarning
from mlcore.cluster import KMedians
from mlcore.cluster.k_means import k_medians

ROUNDING = 1e-11


def blobs(n, d, seed=0, dtype=np.float64):
    rng = np.random.default_rng([n, d, seed])
    return (rng.normal(size=(n, d)) + 4 * rng.integers(0, 3, size=(n, 1))).astype(dtype)


def objective(X, centers, weights=None):
    near = cdist(X, centers, "cityblock").min(axis=1)
    return near.sum() if weights is None else weights @ near


@each("n", [1, 2, 7, 100])
@each("dtype", [np.float32, np.float64])
def test_one_centre_is_the_median(n, dtype):
    X = blobs(n, 5, dtype=dtype)
    model = KMedians(1).fit(X)
    assert_allclose(model.cluster_centers_[0], np.median(X, axis=0), rtol=4e-7)
    assert model.cluster_centers_.dtype == dtype


@each("dtype", [np.float32, np.float64])
@each("seed", range(10))
def test_medians_of_given_clusters_are_those_of_numpy(seed, dtype):
    """Whole weights are copies, of which a median of an even number is the middle of two."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(5, 80)), int(rng.integers(1, 5))
    X = rng.integers(-9, 9, size=(n, 3)).astype(dtype)
    weights = rng.integers(0, 4, size=n).astype(np.float64)
    weights[:k] = 1
    init = X[:k] + np.arange(k)[:, None] * 1e-3  # no two alike
    for w, copies in ((None, np.ones(n, dtype=int)), (weights, weights.astype(int))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = KMedians(k, init=init, max_iter=1, n_init=1).fit(X, sample_weight=w)
        rows = np.repeat(X, copies, axis=0)
        distances = cdist(rows, init.astype(dtype), "cityblock")
        labels = distances.argmin(axis=1)
        if len(np.unique(labels)) < k or len(model.cluster_centers_) < k:
            continue  # begun anew at another sample
        expected = [np.median(rows[labels == j], axis=0) for j in range(k)]
        assert_array_equal(model.cluster_centers_, np.array(expected, dtype=dtype))


@pytest.mark.parametrize("seed", range(8))
def test_seeds_drawn_in_one_call_are_those_drawn_one_by_one(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, size=(40, 2)).astype(np.float64)
    weights = rng.integers(0, 4, size=40).astype(np.float64) if seed % 2 else np.empty(0)
    sampler, found = k_medians.RowSampler(X, weights), []
    for few in 2**14, 0:
        monkeypatch.setattr(k_medians, "_FEW", few)
        drawn = k_medians._plus_plus(X, weights, 6, np.random.default_rng(seed), sampler)
        found.append(X[drawn])
    assert_array_equal(*found)


def test_one_weighted_centre_is_optimal():
    """A weighted median is optimal if neither half outweighs the other."""
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(41, 3)), rng.random(41)
    center = KMedians(1).fit(X, sample_weight=weights).cluster_centers_[0]
    for f in range(3):
        assert weights[X[:, f] < center[f]].sum() <= 0.5 * weights.sum() + 1e-12
        assert weights[X[:, f] > center[f]].sum() <= 0.5 * weights.sum() + 1e-12


@pytest.mark.parametrize("init", ["k-means++", "random"])
@pytest.mark.parametrize("tol", [0.0, 1e-4])
def test_a_fixed_point_of_both_steps(init, tol):
    X = blobs(300, 4)
    model = KMedians(5, init=init, tol=tol, random_state=0).fit(X)
    assert model.converged_
    assert_array_equal(model.labels_, cdist(X, model.cluster_centers_, "cityblock").argmin(axis=1))
    assert_allclose(model.inertia_, objective(X, model.cluster_centers_), rtol=ROUNDING)
    assert model.objective_trace_[-1] == model.inertia_
    assert (np.diff(model.objective_trace_) <= 0).all()
    if tol == 0:
        for j, center in enumerate(model.cluster_centers_):
            assert_allclose(center, np.median(X[model.labels_ == j], axis=0), rtol=1e-12)


def test_the_best_of_all_partitions_is_found_from_some_start():
    X = blobs(8, 2)
    best = np.inf
    for labels in itertools.product(range(2), repeat=7):
        labels = np.array([0, *labels])
        parts = [X[labels == j] for j in range(2) if (labels == j).any()]
        best = min(best, sum(np.abs(part - np.median(part, axis=0)).sum() for part in parts))
    model = KMedians(2, init="random", n_init=30, tol=0, random_state=0).fit(X)
    assert_allclose(model.inertia_, best, rtol=ROUNDING)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**31), st.integers(2, 40), st.integers(1, 5))
@example(1004, 9, 4)  # two candidates for the third seed leave the same objective
def test_laws(seed, n, k):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    k, counts = min(k, n), rng.integers(1, 4, n)
    model = KMedians(k, random_state=0)
    repeated = model.fit(X.repeat(counts, axis=0))
    centers, inertia = repeated.cluster_centers_, repeated.inertia_
    weighted = model.fit(X, sample_weight=counts)
    assert_allclose(weighted.cluster_centers_, centers, rtol=1e-14)
    assert_allclose(weighted.inertia_, inertia, rtol=1e-12)
    order = rng.permutation(n)
    shuffled = model.fit(X[order], sample_weight=counts[order])
    assert_allclose(shuffled.cluster_centers_, centers, rtol=1e-14)
    scaled = model.fit(X * 4, sample_weight=counts)
    assert_allclose(scaled.cluster_centers_, centers * 4, rtol=1e-14)


def test_empty_clusters_begin_anew():
    X = blobs(100, 2)
    start = np.r_[X[:2], [[1e6, 1e6], [2e6, 2e6]]]
    model = KMedians(4, init=start, tol=0).fit(X)
    assert set(model.labels_.tolist()) == {0, 1, 2, 3}
    assert (np.diff(model.objective_trace_) <= 0).all()


def test_outliers_hardly_move_it():
    X = blobs(100, 2)
    far = np.r_[X, np.full((5, 2), 1e6)]
    before, after = (KMedians(1).fit(A).cluster_centers_ for A in (X, far))
    assert np.abs(after - before).max() < 1


def test_degenerate_data():
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(1\)"):
        model = KMedians(3, random_state=0).fit(np.ones((10, 2)))
    assert model.inertia_ == 0 and not model.labels_.any()
    X = blobs(12, 2)
    assert KMedians(12, random_state=0).fit(X).inertia_ == 0
    with pytest.raises(ValueError, match="n_clusters=13"):
        KMedians(13).fit(X)
    with pytest.raises(TypeError, match="parse"):
        from scipy.sparse import csr_array

        KMedians(2).fit(csr_array(X))


@pytest.mark.parametrize("scale", [1e-310, 1e-100, 1e100, 1e150])
def test_units_do_not_matter(scale):
    X = blobs(60, 2)
    start = X[:3]
    expected = KMedians(3, init=start).fit(X).labels_
    if scale > 1e-300:  # below, samples keep few digits
        assert_array_equal(KMedians(3, init=start * scale).fit(X * scale).labels_, expected)
    assert np.isfinite(KMedians(3, init=start * scale).fit(X * scale).inertia_)


def test_later_calls():
    X = blobs(50, 3, dtype=np.float32)
    model = KMedians(3, random_state=0).fit(X)
    assert_array_equal(model.predict(X), model.labels_)
    assert model.transform(X).dtype == np.float32
    assert_allclose(
        model.transform(X), cdist(X, model.cluster_centers_, "cityblock"), rtol=1e-6, atol=1e-6
    )


def test_steps_that_run_out_are_said():
    X = blobs(500, 6)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        model = KMedians(7, init="random", n_init=1, max_iter=1, tol=0, random_state=0).fit(X)
    assert not model.converged_ and model.n_iter_ == 1


def test_scikit_learns_checks_of_clusterers():
    model = KMedians()
    for check in _yield_clustering_checks(model):
        check("KMedians", model)
