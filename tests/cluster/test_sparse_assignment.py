"""KMeans on sparse samples, against a full search and dense samples."""

import pickle

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

from mlcore.cluster import KMeans


def documents(n, d, seed=0):
    """Rows of about 12 values in a few topics, of length 1."""
    rng = np.random.default_rng([n, d, seed])
    rows = np.repeat(np.arange(n), 12)
    columns = (rng.integers(0, 5, n).repeat(12) * d // 5 + rng.geometric(20 / d, 12 * n)) % d
    X = sp.csr_array((rng.random(12 * n), (rows, columns)), shape=(n, d))
    return sp.csr_array(sp.diags_array(1 / np.sqrt(X.multiply(X).sum(axis=1))) @ X)


# All pairs of types, indices and steps, with each size.
@each(
    ("max_iter", "dtype", "index"),
    [
        (1, np.float32, np.int32),
        (1, np.float64, np.int64),
        (30, np.float32, np.int64),
        (30, np.float64, np.int32),
    ],
)
@each(("d", "k"), [(30, 1), (200, 8), (400, 21), (90, 70)])
def test_sparse_labels_are_those_of_a_full_search(d, k, max_iter, dtype, index):
    X = documents(900, d).astype(dtype)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    start = X[np.random.default_rng(0).choice(900, k, replace=False)].toarray()
    model = KMeans(k, init=start, tol=0, max_iter=max_iter).fit(X)
    squared = cdist(X.toarray(), model.cluster_centers_.astype(np.float64), "sqeuclidean")
    eps = 8 * (d + 4) * np.finfo(np.float64).eps
    assert (squared[np.arange(900), model.labels_] - squared.min(axis=1)).max() <= eps
    assert_array_equal(model.predict(X), model.labels_)
    assert_allclose(model.inertia_, squared.min(axis=1).sum(), rtol=1e-12)
    if model.converged_ and max_iter > 1:
        for j, center in enumerate(model.cluster_centers_):
            mean = X[model.labels_ == j].mean(axis=0, dtype=np.float64)
            assert_allclose(center, mean, atol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [2, 8, 20, 80])
def test_sparse_labels_tell_centres_that_single_precision_cannot(k, dtype):
    X, rng = documents(500, 200).astype(dtype), np.random.default_rng(k)
    centers = X[rng.choice(500, k // 2, replace=False)].toarray()
    step = 2 * np.finfo(dtype).eps if dtype == np.float32 else 1e-9
    centers = np.r_[centers, centers * (1 + step * rng.choice([-1, 1], size=centers.shape))]
    labels = KMeans(k, init=centers.astype(dtype)).begin(X).predict(X)
    exact = np.longdouble if dtype == np.float64 else np.float64
    wide, points = X.toarray().astype(exact), centers.astype(dtype).astype(exact)
    squared = np.array([((wide - point) ** 2).sum(axis=1) for point in points]).T
    eps = 8 * (200 + 4) * np.finfo(np.float64).eps
    least, second = np.partition(squared, 1, axis=1)[:, :2].T
    assert (second - least > eps).mean() > 0.8  # all but centres themselves can be told
    assert (squared[np.arange(500), labels] - least).max() <= eps


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_centres_without_samples_begin_anew_as_dense_ones_do(dtype):
    X = documents(300, 60).astype(dtype)
    start = np.r_[X[:20].toarray(), np.full((3, 60), 5)].astype(dtype)
    sparse = KMeans(23, init=start, tol=0).fit(X)
    dense = KMeans(23, init=start, tol=0).fit(X.toarray())
    assert_array_equal(sparse.labels_, dense.labels_)
    assert len(np.unique(sparse.labels_)) == 23
    rtol = 300 * np.finfo(dtype).eps
    assert_allclose(sparse.objective_trace_, dense.objective_trace_, rtol=rtol)


def test_sparse_data_give_the_same_bytes_on_any_number_of_threads():
    X = documents(4000, 3000)
    found = []
    for n_threads in (1, 2, 5):
        with threadpool_limits(n_threads):
            found.append(pickle.dumps(vars(KMeans(30, random_state=0).fit(X))))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_data_give_what_dense_data_do(dtype):
    rng = np.random.default_rng([800, 20, 0])
    X = (rng.normal(size=(800, 20)) + 3 * rng.integers(0, 3, size=(800, 1))).astype(dtype)
    X[np.abs(X) < 1.5] = 0
    weights = np.random.default_rng(0).uniform(0.5, 1, len(X))
    dense = KMeans(8, random_state=0).fit(X, sample_weight=weights)
    sparse = KMeans(8, random_state=0).fit(sp.csr_array(X), sample_weight=weights)
    assert_array_equal(sparse.labels_, dense.labels_)
    assert_allclose(sparse.cluster_centers_, dense.cluster_centers_, atol=100 * np.finfo(dtype).eps)
    assert_allclose(sparse.inertia_, dense.inertia_, rtol=100 * np.finfo(dtype).eps)
    assert sparse.cluster_centers_.dtype == dtype
    assert_array_equal(sparse.predict(X), dense.labels_)
    assert_array_equal(dense.predict(sp.csr_array(X)), dense.labels_)
