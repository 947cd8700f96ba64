"""KernelPCA from few centres against exact eigenpairs, its definition and PCA by an SVD."""

import copy
import inspect
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg
from scipy import sparse as sp
from sklearn.base import clone

from mlcore.decomposition import KernelPCA, NystroemPCA
from mlcore.kernels import gram_matrix

EPS = np.finfo(float).eps


def data(n=60, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * np.arange(1, d + 1)


def span_pca(k=3, n_centers=20, **how):
    how = {"kernel": "rbf", "gamma": 0.05, "random_state": 0} | how
    return NystroemPCA(k, n_centers=n_centers, **how)


def centred(K, w):
    """The matrix whose eigenpairs are the components, descending."""
    H = np.eye(len(w)) - w / w.sum()
    values, Q = linalg.eigh(np.sqrt(w)[:, None] * (H @ K @ H.T) * np.sqrt(w))
    return values[::-1], Q[:, ::-1]


problems = {
    "n": st.integers(8, 45),
    "m": st.integers(1, 45),
    "seed": st.integers(0, 10**6),
    "kernel": st.sampled_from(
        [
            {"kernel": "rbf", "gamma": 0.02},
            {"kernel": "rbf", "gamma": 1.0},
            {"kernel": "poly", "gamma": 0.1},
            {"kernel": "laplacian", "gamma": 0.1},
            {"kernel": "linear"},
        ]
    ),
}


@settings(max_examples=25, deadline=None)
@given(**problems)
def test_exact_eigenvalues_are_within_their_bounds(n, m, seed, kernel):
    X, w = data(n, 3, seed), np.random.default_rng(seed).uniform(0.1, 3, n)
    k = min(n, m, 6)
    model = span_pca(k, m, random_state=seed, **kernel).fit(X, sample_weight=w)
    values, Q = centred(gram_matrix(X, **kernel), w)
    lower, upper = model.eigenvalue_bounds_
    lapack = n * EPS * np.abs(gram_matrix(X, **kernel)).max() * w.sum()  # error of the oracle
    assert np.all(lower <= values[:k] + lapack) and np.all(values[:k] <= upper + lapack)
    ratios = values[:k] / values.sum()
    assert np.all(model.explained_variance_ratio_ <= ratios + lapack / values.sum())
    found = np.sqrt(w)[:, None] * model.transform(X)
    found /= np.maximum(np.linalg.norm(found, axis=0), 1e-300)
    for j in np.flatnonzero(model.angle_bounds_ < 1):
        sine = np.linalg.norm(found[:, j] - Q[:, j] * (Q[:, j] @ found[:, j]))
        assert sine <= model.angle_bounds_[j] + 2 * lapack / (model.gaps_[j] * values[0])
    if model.complete_:  # the space of the k first is near that of the exact ones
        assert values[k - 1] - (values[k] if k < n else 0) > -lapack


@settings(max_examples=8, deadline=None)
@given(n=st.integers(12, 40), m=st.integers(3, 12), seed=st.integers(0, 10**6))
def test_definition(n, m, seed):
    X, w = data(n, 3, seed), np.random.default_rng(seed).uniform(0.1, 3, n)
    model = span_pca(3, m, random_state=seed).fit(X, sample_weight=w)
    K = gram_matrix(X, kernel="rbf", gamma=0.05)
    C = model.center_indices_
    near = K[:, C] @ np.linalg.solve(K[np.ix_(C, C)], K[C])
    values, Q = centred(near, w)
    distances = w @ (K - near).diagonal()
    unit = n * values[0]
    assert_array_equal(model.X_fit_, X[C])
    assert_allclose(model.eigenvalues_, values[:3], atol=1e-12 * unit)
    assert_allclose(np.diff(model.eigenvalue_bounds_, axis=0)[0], distances, atol=1e-9 * unit)
    scores = np.sqrt(w)[:, None] * model.transform(X)
    assert_allclose(scores.T @ scores, np.diag(values[:3]), atol=1e-9 * unit)
    residuals = w @ model.feature_residuals(X)
    assert_allclose(residuals, values[3:].sum() + distances, atol=1e-9 * unit)
    squares = (near - 2 * (near @ w / w.sum())[:, None] + w @ near @ w / w.sum() ** 2).diagonal()
    squares = squares + (K - near).diagonal() - (model.transform(X) ** 2).sum(axis=1)
    assert_allclose(model.feature_residuals(X), squares, atol=1e-9 * unit)


@pytest.mark.parametrize("weighted", [False, True])
def test_all_samples_as_centres_is_exact(weighted):
    X = data(50)
    w = np.random.default_rng(1).integers(0, 3, 50) if weighted else None
    how = {"kernel": "rbf", "gamma": 0.5, "fit_inverse_transform": True}
    exact = KernelPCA(4, **how).fit(X, sample_weight=w)
    for n_centers in (50, None):
        model = span_pca(4, n_centers, **how).fit(X, sample_weight=w)
        assert_allclose(model.eigenvalues_, exact.eigenvalues_, rtol=1e-11)
        assert_allclose(model.transform(X), exact.transform(X), atol=1e-9)
        assert_allclose(model.feature_residuals(X), exact.feature_residuals(X), atol=1e-9)
        assert_allclose(model.next_value_, exact.next_value_, rtol=1e-9)
        assert_allclose(model.mean_squared_norm_, exact.mean_squared_norm_, rtol=1e-9)
        Y = exact.transform(X)
        assert_allclose(model.inverse_transform(Y), exact.inverse_transform(Y), atol=1e-5)
        assert model.complete_ and model.angle_bounds_.max() < 1e-4
    if weighted:
        copies = span_pca(4, None, **how).fit(np.repeat(X, w, axis=0))
        assert_allclose(model.eigenvalues_, copies.eigenvalues_, rtol=1e-11)
        assert_allclose(model.transform(X), copies.transform(X), atol=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_linear_is_pca_where_the_centres_span_all(offset):
    X = data(80) + offset - offset  # what is left of the digits is the data
    _, s, Vt = linalg.svd(X - X.mean(axis=0), full_matrices=False)
    how = {"kernel": "linear", "fit_inverse_transform": True}
    model = span_pca(None, 9, **how).fit(X + offset)
    assert_allclose(model.eigenvalues_, s**2, rtol=1e-11)
    scores = model.transform(X + offset)
    assert_allclose(np.abs(scores), np.abs((X - X.mean(axis=0)) @ Vt.T), atol=1e-10)
    assert_allclose(model.inverse_transform(scores) - offset, X, atol=1e-10 + 4 * EPS * offset)
    few = span_pca(2, 2, **how).fit(X + offset)
    Y = few.transform(X + offset)
    assert_allclose(few.preimage_errors(few.inverse_transform(Y), Y), 0, atol=1e-6 * s[0])


def test_preimages_of_rbf_come_nearer_than_ridge():
    X = data(70)
    model = span_pca(4, 30, gamma=0.02, fit_inverse_transform=True, alpha=0.1).fit(X)
    Y = model.transform(X)
    ridge = Y @ model.inverse_coef_ + model.inverse_intercept_
    penalty = np.diag(model.eigenvalues_) + 0.1 * np.eye(4)
    expected = np.linalg.solve(Y.T @ Y + 0.1 * np.eye(4), Y.T @ (X - X.mean(axis=0)))
    assert_allclose(model.inverse_coef_, expected, atol=1e-9)
    assert_allclose(Y.T @ Y + 0.1 * np.eye(4), penalty, atol=1e-9)
    nearer = model.preimage_errors(model.inverse_transform(Y), Y)
    assert np.all(nearer <= model.preimage_errors(ridge, Y) + 1e-12)


def test_precomputed_callable_objects_and_sparse_are_the_same():
    X = data()
    X[np.abs(X) < 1] = 0
    new = data(seed=1)
    K, later = (gram_matrix(A, X, kernel="rbf", gamma=0.05) for A in (X, new))
    w = np.random.default_rng(3).integers(0, 3, 60)
    expected = span_pca().fit(X, sample_weight=w).transform(new)
    given_ = span_pca(kernel="precomputed").fit(K, sample_weight=w)
    m = len(given_.center_indices_)
    assert given_.X_fit_.shape == (m, m) and w[given_.center_indices_].all()
    assert_allclose(given_.transform(later), expected, atol=1e-10)

    def rbf(A, B):
        return gram_matrix(np.vstack(A), np.vstack(B), kernel="rbf", gamma=0.05)

    for samples, others in ((X, new), (list(map(tuple, X)), list(map(tuple, new)))):
        called = span_pca(kernel=rbf).fit(samples, sample_weight=w)
        assert_allclose(called.transform(others), expected, atol=1e-10)
    csr = span_pca().fit(sp.csr_array(X), sample_weight=w)
    assert_allclose(csr.transform(sp.csr_array(new)), expected, atol=1e-10)


def test_a_kernel_that_is_not_positive_semidefinite_is_refused():
    A = np.random.default_rng(0).normal(size=(30, 30))
    K = A + A.T + 4 * np.eye(30)
    with pytest.warns(UserWarning, match="no feature space"):
        with pytest.raises(ValueError, match="not positive semi-definite"):
            span_pca(kernel="precomputed", n_centers=30).fit(K)
    K = np.eye(30)
    K[0, 1] = K[1, 0] = 3.0
    with pytest.warns(UserWarning, match="no feature space"):
        with pytest.raises(ValueError, match=r"distance -.*KernelPCA keeps"):
            span_pca(1, kernel="precomputed", n_centers=1, random_state=3).fit(K[:2, :2])


def test_parameters_are_checked_before_any_work():
    X = data()
    with pytest.raises(ValueError, match="n_components=5.*n_centers=4"):
        span_pca(5, 4).fit(X)
    with pytest.raises(ValueError, match="n_centers"):
        span_pca(1, 0).fit(X)
    with pytest.raises(TypeError, match="method.*NystroemPCA"):
        KernelPCA(method="fast")


def test_the_old_spelling_makes_the_model_that_it_means():
    X = data()
    how = {"kernel": "rbf", "gamma": 0.05, "n_centers": 20, "random_state": 0}
    old = KernelPCA(3, method="nystroem", eigen_solver="dense", **how)
    assert type(old) is NystroemPCA and old.get_params() == span_pca().get_params()
    assert_array_equal(old.fit(X).dual_coef_, span_pca().fit(X).dual_coef_)
    for again in (clone(old), copy.deepcopy(old), pickle.loads(pickle.dumps(old))):
        assert type(again) is NystroemPCA and again.get_params() == old.get_params()
    with pytest.raises(ValueError, match="method.*NystroemPCA"):
        KernelPCA().set_params(method="nystroem")
    with pytest.raises(TypeError, match="n_centers.*NystroemPCA"):
        KernelPCA(n_centers=3)
    assert set(inspect.signature(KernelPCA).parameters) == set(KernelPCA().get_params())


def test_equal_rows_and_few_distinct_ones():
    model = span_pca().fit(np.full((20, 2), 1.7))
    assert_array_equal(model.eigenvalues_, 0)
    assert_array_equal(model.explained_variance_ratio_, 0)
    assert_array_equal(model.transform([[1.0, 2.0]]), 0)
    X = np.repeat([[0.0], [3.0]], 10, axis=0)
    model, exact = span_pca().fit(X), KernelPCA(3, kernel="rbf", gamma=0.05).fit(X)
    assert len(model.center_indices_) == 2
    assert_allclose(model.eigenvalues_, exact.eigenvalues_, atol=1e-14)
    assert_allclose(model.transform(X), exact.transform(X), atol=1e-14)
    assert span_pca(None).fit(X).eigenvalues_.shape == (1,)


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_any_scale(size):
    X, how = data(), {"kernel": "linear", "n_centers": 6}
    model, scaled = span_pca(**how).fit(X), span_pca(**how).fit(X * size)
    assert_allclose(scaled.transform(X * size) / size, model.transform(X), atol=1e-9)
    assert_allclose(scaled.eigenvalues_ / size / size, model.eigenvalues_, rtol=1e-11)
    assert np.isfinite(scaled.eigenvalue_bounds_ / size / size).all()


def test_float32_scores():
    X = data().astype(np.float32)
    scores = span_pca().fit(X).transform(X)
    assert scores.dtype == np.float32
    assert_allclose(scores, span_pca().fit(X.astype(float)).transform(X), atol=1e-6)


def test_memory_is_the_features_and_not_the_matrix():
    X = data(4000, 3)
    tracemalloc.start()
    model = span_pca(3, 40, gamma=0.5).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30e6 < 8 * 4000**2  # blocks of kernel values are of 8 MB
    assert len(model.center_indices_) == len(model.dual_coef_) == 40
