"""k-means of samples with missing values, against searches and sums by their definition."""

import warnings

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from threadpoolctl import threadpool_limits

from mlcore.cluster import KMeans, MiniBatchKMeans


def samples(seed, n, d, k, share=0.2, dtype=np.float64):
    """Rows about k points, of which a share of the values is missing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 5 * rng.normal(size=(k, d))[rng.integers(0, k, n)]
    X[rng.random(X.shape) < share] = np.nan
    X[:3] = rng.normal(size=(3, d))  # every feature is known of some row
    return X.astype(dtype), rng


def squares(X, centers):
    """Squared distances over what is known, by their definition."""
    differences = X.astype(np.float64)[:, None] - centers.astype(np.float64)
    return np.where(np.isnan(differences), 0, differences**2).sum(axis=2)


def lloyd(X, centers, weights, n_steps):
    """Steps of Lloyd's algorithm by its definition; None if a cluster loses all its samples."""
    centers = centers.astype(np.float64)
    for _ in range(n_steps):
        labels = squares(X, centers).argmin(axis=1)
        if len(np.unique(labels)) < len(centers):
            return None
        for j, f in np.ndindex(centers.shape):
            own = (labels == j) & ~np.isnan(X[:, f]) & (weights > 0)
            if own.any():
                centers[j, f] = np.average(X[own, f], weights=weights[own])
    return centers


@each(
    "n, d, k, dtype",
    [(40, 1, 2, np.float64), (300, 3, 4, np.float32), (900, 5, 3, np.float64)]
    + [(2000, 17, 20, np.float64), (1500, 9, 37, np.float32), (30, 70, 3, np.float64)],
)
def test_steps_are_those_of_the_definition(n, d, k, dtype):
    X, rng = samples([n, d], n, d, k, dtype=dtype)
    init = np.nan_to_num(X[rng.choice(n, k, replace=False)])
    for weights in (np.ones(n), rng.integers(1, 4, n).astype(np.float64)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            how = {"missing": "ignore", "tol": 0, "init": init}
            for steps in (1, 4):
                model = KMeans(k, max_iter=steps, **how).fit(X, sample_weight=weights)
                expected = lloyd(X, init, weights, steps)
                if expected is None:
                    assert steps > 1
                    continue
                rtol = 1e-4 if dtype == np.float32 else 1e-9
                assert_allclose(model.cluster_centers_, expected, rtol=rtol, atol=10 * rtol)


@each("dtype", [np.float32, np.float64])
def test_the_fit_is_a_minimum_in_labels_and_in_centres(dtype):
    for seed, (n, d, k) in enumerate([(200, 3, 4), (3000, 17, 20), (400, 40, 5), (60, 2, 1)]):
        X, rng = samples(seed, n, d, k, dtype=dtype)
        weights = rng.integers(0, 4, n).astype(np.float64)
        model = KMeans(k, missing="ignore", tol=0, random_state=0).fit(X, sample_weight=weights)
        D, own = squares(X, model.cluster_centers_), np.arange(n)
        assert model.converged_
        assert_allclose(D[own, model.labels_], D.min(axis=1), rtol=1e-5, atol=1e-9)
        assert_allclose(model.inertia_, weights @ D.min(axis=1), rtol=1e-6)
        again = lloyd(X, model.cluster_centers_, weights, 1)
        assert_allclose(model.cluster_centers_, again, atol=1e-5 if dtype == np.float32 else 1e-10)
        assert_array_equal(model.predict(X), model.labels_)
        assert_allclose(model.transform(X), np.sqrt(D), rtol=1e-5, atol=1e-6)
        assert_allclose(model.score(X, sample_weight=weights), -model.inertia_, rtol=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0, 0.8), st.booleans(), st.integers(-100, 100))
def test_no_step_raises_the_objective(seed, share, weighted, scale):
    X, rng = samples(seed, 60, 4, 3, share)
    weights = rng.integers(0, 3, 60) + 0.1 if weighted else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KMeans(5, missing="ignore", tol=0, random_state=0, init="random", n_init=1)
        model.fit(X * 10.0**scale, sample_weight=weights)
    trace = model.objective_trace_
    assert np.diff(trace).max(initial=0) <= 1e-12 * trace[0]
    assert trace[-1] == model.inertia_
    own = squares(X, model.cluster_centers_ / 10.0**scale)[np.arange(60), model.labels_]
    expected = own.sum() if weights is None else weights @ own
    assert_allclose(model.inertia_ / 10.0**scale / 10.0**scale, expected, rtol=1e-9)


def test_complete_rows_are_as_without_the_parameter():
    X, _ = samples(0, 300, 4, 3, share=0)
    for form in (np.asarray, sp.csr_array):
        a = KMeans(3, random_state=0).fit(form(X))
        b = KMeans(3, random_state=0, missing="ignore").fit(form(X))
        assert_array_equal(a.cluster_centers_, b.cluster_centers_)
        assert_array_equal(a.labels_, b.labels_)
        assert a.inertia_ == b.inertia_


def test_weights_are_copies_and_threads_change_no_byte():
    X, rng = samples(1, 4000, 6, 5)
    weights = rng.integers(0, 3, len(X))
    model = KMeans(5, missing="ignore", random_state=0)
    one = model.fit(X, sample_weight=weights).inertia_
    copies = model.fit(np.repeat(X, weights, axis=0)).inertia_
    assert_allclose(one, copies, rtol=1e-9)
    found = []
    for threads in (1, 3):
        with threadpool_limits(threads, user_api="openmp"):
            fitted = KMeans(5, missing="ignore", random_state=0).fit(X)
        found.append((fitted.cluster_centers_.tobytes(), fitted.labels_.tobytes()))
    assert found[0] == found[1]


@each("shift", [1e4, 1e8])
def test_far_from_the_origin(shift):
    X, _ = samples(2, 500, 4, 3)
    X = np.round(X * 64) / 64  # exact when shifted
    near = KMeans(3, init=X[:3], missing="ignore").fit(X)
    far = KMeans(3, init=X[:3] + shift, missing="ignore").fit(X + shift)
    assert_allclose(far.inertia_, near.inertia_, rtol=1e-6)
    assert_array_equal(far.labels_, near.labels_)


def test_a_feature_that_no_sample_of_a_cluster_knows_stays():
    X = np.array([[0.0, np.nan], [1.0, np.nan], [9.0, 2.0], [10.0, 4.0]])
    model = KMeans(2, init=[[0.0, 7.0], [9.0, 2.0]], missing="ignore").fit(X)
    assert_array_equal(model.cluster_centers_, [[0.5, 7.0], [9.5, 3.0]])
    assert_array_equal(model.impute(X), [[0, 7], [1, 7], [9, 2], [10, 4]])
    assert model.inertia_ == 0.5 + 0.5 + 2.0


def test_rows_of_which_nothing_is_known_move_no_centre():
    X, _ = samples(3, 200, 3, 2)
    more = np.vstack([X, np.full((50, 3), np.nan)])
    a = KMeans(2, init=X[:2], missing="ignore").fit(X)
    b = KMeans(2, init=X[:2], missing="ignore").fit(more)
    assert_allclose(a.cluster_centers_, b.cluster_centers_, rtol=1e-12)
    assert_array_equal(b.labels_[200:], 0)
    assert_allclose(a.inertia_, b.inertia_, rtol=1e-12)


def test_an_empty_cluster_begins_at_the_farthest_sample():
    X, _ = samples(4, 100, 3, 2)
    far = np.full((1, 3), 1e3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = KMeans(2, init=np.vstack([np.zeros((1, 3)), far]), missing="ignore", tol=0).fit(X)
    assert len(np.unique(model.labels_)) == 2
    assert np.diff(model.objective_trace_).max() <= 0


def test_a_dropped_centre_leaves_no_label_behind():
    with pytest.warns(match="distinct clusters"):
        model = KMeans(2, init=[[5.0], [0.0]]).fit([[0.0], [0.0], [4.0]], sample_weight=[1, 1, 0])
    assert_array_equal(model.labels_, [0, 0, 0])


def test_imputed_rows_keep_what_is_known():
    X, _ = samples(5, 100, 4, 3, dtype=np.float32)
    model = KMeans(3, missing="ignore", random_state=0).fit(X)
    values = model.impute(X)
    known = ~np.isnan(X)
    assert values.dtype == np.float32
    assert_array_equal(values[known], X[known])
    assert_array_equal(values[~known], model.cluster_centers_[model.labels_][~known])


def test_what_is_refused():
    X, _ = samples(6, 20, 3, 2)
    model = KMeans(2, missing="ignore", random_state=0)
    with pytest.raises(ValueError, match='missing="ignore" takes NaN'):
        KMeans(2).fit(X)
    unknown = X.copy()
    unknown[:, 1] = np.nan
    with pytest.raises(ValueError, match="all values of column 1 of X are missing"):
        model.fit(unknown)
    with pytest.raises(ValueError, match="dense data only"):
        model.fit(sp.csr_array(X))
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.where(np.isnan(X), np.inf, X))
    with pytest.raises(ValueError, match="sums over rows"):
        model.begin(X)
    with pytest.raises(ValueError, match="sums over rows"):
        model.fit(X).partial_statistics(X)
    with pytest.raises(ValueError, match="missing='drop'"):
        KMeans(2, missing="drop").fit(X)
    with pytest.raises(TypeError, match="batches take complete rows only"):
        MiniBatchKMeans(2, missing="ignore")
