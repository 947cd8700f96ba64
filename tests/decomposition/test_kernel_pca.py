"""KernelPCA against PCA by an SVD, dense eigenvectors, its definition and copies of samples."""

import tracemalloc

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg
from scipy import sparse as sp

from mlcore.datasets import load_iris
from mlcore.decomposition import KernelPCA, NystroemPCA
from mlcore.decomposition.kernel_pca import kernel_pca
from mlcore.kernels import center_gram, gram_matrix


def data(n=60, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * np.arange(1, d + 1)


def principal_scores(X, weight=None):
    """Scores of rows by the SVD of the centred rows, and the squared singular values."""
    w = np.ones(len(X)) if weight is None else weight
    centred = X - np.average(X, axis=0, weights=w)
    _, s, Vt = linalg.svd(np.sqrt(w)[:, None] * centred, full_matrices=False)
    return centred @ Vt.T, s**2


def same_up_to_signs(Y, Z, atol):
    assert_allclose(Y * np.sign((Y * Z).sum(axis=0)), Z, rtol=0, atol=atol)


@settings(max_examples=25, deadline=None)
@given(n=st.integers(6, 40), d=st.integers(1, 5), seed=st.integers(0, 10**6))
def test_linear_is_pca(n, d, seed):
    rng = np.random.default_rng(seed)
    X, w = data(n, d, seed), rng.integers(1, 4, size=n).astype(float)
    model = KernelPCA().fit(X, sample_weight=w)
    scores, squares = principal_scores(X, w)
    # The Gram matrix knows its eigenvalues to rounding of the largest one.
    rounding = n * np.finfo(float).eps * squares[0]
    assert_allclose(model.eigenvalues_, squares, rtol=1e-9, atol=rounding)
    assert_allclose(model.explained_variance_ratio_.sum(), 1.0, rtol=1e-12)
    if d == 1 or (np.diff(squares) < -1e-3 * squares[0]).all():
        same_up_to_signs(model.transform(X), scores, 1e-8 * np.sqrt(squares[0]))


def test_polynomial_is_pca_of_the_products():
    X = data(30, 2)
    a, b = X.T
    r2 = np.sqrt(2.0)
    features = np.c_[a * a, r2 * a * b, b * b, r2 * a, r2 * b]
    model = KernelPCA(kernel="poly", degree=2, gamma=1.0, coef0=1.0).fit(X)
    scores, squares = principal_scores(features)
    assert_allclose(model.eigenvalues_, squares, rtol=1e-10)
    same_up_to_signs(model.transform(X), scores, 1e-9 * np.abs(scores).max())


def test_iris_variances():
    X = load_iris()[0]
    model = KernelPCA(2).fit(X)
    assert_array_equal(np.round(model.eigenvalues_ / 149, 10), [4.2282417060, 0.2426707479])


@pytest.mark.parametrize(("n", "solver"), [(120, "lapack"), (700, "lanczos")])
def test_rbf_is_the_eigenproblem_of_the_centred_matrix(n, solver):
    X = data(n)
    model = KernelPCA(4, kernel="rbf", gamma=0.1, random_state=0).fit(X)
    values, vectors = linalg.eigh(center_gram(gram_matrix(X, kernel="rbf", gamma=0.1)))
    values, vectors = values[::-1], vectors[:, ::-1]
    assert model.solver_ == solver and model.converged_
    assert_allclose(model.eigenvalues_, values[:4], rtol=1e-10)
    assert_allclose(model.next_value_, values[4], rtol=1e-4)
    assert_allclose(model.explained_variance_ratio_, values[:4] / values.sum(), rtol=1e-9)
    same_up_to_signs(model.eigenvectors_, vectors[:, :4], 1e-4)
    assert model.residuals_.max() <= 1e-6 and model.orthogonality_ < 1e-12
    scores = model.eigenvectors_ * np.sqrt(model.eigenvalues_)
    assert_allclose(model.transform(X), scores, rtol=0, atol=1e-4)
    assert_allclose(model.feature_residuals(X).sum(), values[4:].sum(), rtol=1e-8)  # discarded


def test_feature_residuals_are_novelty():
    X = data()
    model = KernelPCA(8, kernel="rbf", gamma=0.05).fit(X)
    assert model.feature_residuals([[50.0] * 4])[0] > model.feature_residuals(X).max()
    with pytest.raises(ValueError, match=r"k\(x, x\)"):
        KernelPCA(2, kernel="precomputed").fit(X @ X.T).feature_residuals(X @ X.T)


def test_weights_are_copies():
    X, w = data(), np.random.default_rng(3).integers(0, 4, size=60)
    weighted = KernelPCA(5, kernel="rbf", gamma="scale").fit(X, sample_weight=w)
    copies = KernelPCA(5, kernel="rbf", gamma="scale").fit(np.repeat(X, w, axis=0))
    assert_allclose(weighted.eigenvalues_, copies.eigenvalues_, rtol=1e-11)
    assert_allclose(weighted.transform(X), copies.transform(X), atol=1e-10)
    assert_allclose(weighted.feature_residuals(X), copies.feature_residuals(X), atol=1e-11)


def test_precomputed_callable_and_sparse_are_the_same():
    X = data()
    X[np.abs(X) < 1] = 0
    K = gram_matrix(X, kernel="rbf", gamma=0.2)
    model = KernelPCA(3, kernel="rbf", gamma=0.2).fit(X)
    expected = model.transform(X)
    given_ = KernelPCA(3, kernel="precomputed").fit(K).transform(K)
    called = KernelPCA(3, kernel=lambda A, B: gram_matrix(A, B, kernel="rbf", gamma=0.2)).fit(X)
    csr = KernelPCA(3, kernel="rbf", gamma=0.2).fit(sp.csr_array(X))
    for scores in (given_, called.transform(X), csr.transform(sp.csr_array(X))):
        assert_allclose(scores, expected, atol=1e-12)


def test_an_indefinite_kernel_keeps_positive_pairs_and_says_so():
    A = np.random.default_rng(0).normal(size=(30, 30))
    K = A + A.T
    values = linalg.eigvalsh(center_gram(K))
    with pytest.warns(UserWarning, match=f"has the eigenvalue {values[0]:.6g}"):
        model = KernelPCA(kernel="precomputed").fit(K)
    assert_allclose(model.eigenvalues_, values[values > 1e-9][::-1], rtol=1e-10)


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_any_scale(size):
    X = data()
    model, scaled = KernelPCA(3).fit(X), KernelPCA(3).fit(X * size)
    assert_allclose(scaled.transform(X * size) / size, model.transform(X), atol=1e-9)
    assert_allclose(scaled.eigenvalues_ / size / size, model.eigenvalues_, rtol=1e-11)


def test_equal_rows_have_no_variance():
    for kernel in ("linear", "rbf"):
        model = KernelPCA(3, kernel=kernel).fit(np.full((20, 2), 1.7))
        assert_array_equal(model.eigenvalues_, 0)
        assert_array_equal(model.explained_variance_ratio_, 0)
        assert_array_equal(model.transform([[1.0, 2.0]]), 0)
        assert model.orthogonality_ < 1e-12


def test_float32_scores():
    X = data().astype(np.float32)
    scores = KernelPCA(3, kernel="rbf", gamma=0.1).fit(X).transform(X)
    expected = KernelPCA(3, kernel="rbf", gamma=0.1).fit(X.astype(float)).transform(X)
    assert scores.dtype == np.float32
    assert_allclose(scores, expected, atol=1e-6)


@pytest.mark.parametrize("offset", [1e8, -3e9])
def test_an_offset_loses_no_digits_of_the_linear_kernel(offset):
    X = np.round(data(), 6) + offset  # what is left of the digits is the data
    scores, squares = principal_scores(X - offset)
    for model in (KernelPCA(4), KernelPCA(4, kernel="poly", degree=1, gamma=1.0)):
        model.fit(X)
        assert_allclose(model.eigenvalues_, squares, rtol=1e-12)
        same_up_to_signs(model.transform(X), scores, 1e-11 * np.sqrt(squares[0]))
        assert_allclose(model.feature_residuals(X), 0, atol=1e-11 * squares[0])
    assert_allclose(KernelPCA(4).fit(X).origin_, X.mean(axis=0), rtol=1e-15)


def test_every_solver_finds_the_same():
    X, how = data(410), {"kernel": "rbf", "gamma": 0.1, "tol": 1e-9, "random_state": 0}
    dense = KernelPCA(4, eigen_solver="dense", **how).fit(X)
    assert dense.solver_ == "lapack" and dense.complete_
    for solver in ("auto", "arpack", "randomized"):
        model = KernelPCA(4, eigen_solver=solver, **how).fit(X)
        assert model.solver_ == "lanczos" and not model.complete_
        assert_allclose(model.eigenvalues_, dense.eigenvalues_, rtol=1e-12)
        assert_allclose(model.eigenvectors_, dense.eigenvectors_, atol=1e-6)
    with pytest.raises(ValueError, match="eigen_solver='svd'.*'arpack'"):
        KernelPCA(eigen_solver="svd").fit(X)


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 9), tol=st.sampled_from([1e-2, 1e-4, 1e-6]))
def test_no_eigenvector_is_farther_than_its_bound(seed, k, tol):
    X = data(405, 3, seed)
    model = KernelPCA(k, kernel="rbf", gamma=0.05, tol=tol, random_state=seed).fit(X)
    values, Q = linalg.eigh(center_gram(gram_matrix(X, kernel="rbf", gamma=0.05)))
    exact = Q[:, ::-1][:, :k]
    along = exact * (exact * model.eigenvectors_).sum(axis=0)
    sines = np.linalg.norm(model.eigenvectors_ - along, axis=0)
    assert model.solver_ == "lanczos"
    assert np.all(sines <= model.angle_bounds_ + 1e-13 / model.gaps_)
    assert np.all(np.abs(model.eigenvalues_ - values[::-1][:k]) <= 2 * tol * values[-1])
    assert_allclose(model.condition_, values[-1] / values[-k], rtol=2 * tol * model.condition_)


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_evidence_against_fifty_digits(seed):
    X = data(9, 3, seed)
    model = KernelPCA(3, kernel="rbf", gamma=0.1).fit(X)
    with mpmath.workdps(50):
        exact_X = [[mpmath.mpf(x) for x in row] for row in X.tolist()]
        K = mpmath.matrix(9)
        for i, x in enumerate(exact_X):
            for j, y in enumerate(exact_X):
                squares = sum((a - b) ** 2 for a, b in zip(x, y, strict=True))
                K[i, j] = mpmath.exp(-mpmath.mpf(0.1) * squares)
        H = mpmath.eye(9) - mpmath.ones(9) / 9
        values, vectors = mpmath.eigsy(H * K * H)
    values = np.array(values, dtype=float).ravel()[::-1]
    exact = np.array(vectors.tolist(), dtype=float)[:, ::-1][:, :3]
    sines = np.linalg.norm(
        model.eigenvectors_ - exact * (exact * model.eigenvectors_).sum(axis=0), axis=0
    )
    assert model.complete_
    assert np.all(sines <= model.angle_bounds_)
    assert_allclose(model.eigenvalues_, values[:3], rtol=1e-13, atol=1e-15)
    exact_gaps = np.minimum(np.append(np.inf, -np.diff(values[:3])), -np.diff(values[:4]))
    assert_allclose(model.gaps_, exact_gaps / values[0], atol=1e-14)


def test_a_tie_has_no_bound_and_is_not_complete():
    model = KernelPCA(3, kernel="precomputed").fit(np.eye(8))  # seven eigenvalues of 1
    assert_allclose(model.eigenvalues_, 1.0, rtol=1e-14)
    assert_array_equal(model.angle_bounds_, np.inf)
    assert not model.complete_
    assert KernelPCA(7, kernel="precomputed").fit(np.eye(8)).complete_


@pytest.mark.parametrize(("k", "solver"), [(3, "dense"), (None, "dense"), (3, "auto")])
def test_memory_is_what_was_announced(k, solver, monkeypatch):
    asked = []
    monkeypatch.setattr(kernel_pca, "require_memory", lambda n, m, each, **how: asked.append(each))
    X = data(600, 3)
    tracemalloc.start()
    KernelPCA(k, kernel="rbf", eigen_solver=solver).fit(X)
    peak = tracemalloc.get_traced_memory()[1] / 600**2
    tracemalloc.stop()
    assert asked[0] - 20 <= peak <= asked[0] + 1  # 1 for what takes O(n)


@pytest.mark.parametrize("cls", [KernelPCA, NystroemPCA])
def test_components_of_eigenvalue_zero_are_left_out_on_request(cls):
    X = data(30, 2) @ np.ones((2, 5))  # of rank 1
    model = cls(3, random_state=0)
    kept = model.fit(X).transform(X)
    assert_array_equal(kept[:, 1:], 0)
    model.set_params(remove_zero_eig=True, fit_inverse_transform=True)
    scores = model.fit(X).transform(X)
    assert_allclose(scores, kept[:, :1], rtol=1e-12)
    assert_allclose(model.inverse_transform(scores), X, atol=1e-12)
    for params in ({"n_components": None}, {"n_components": 2}):
        none = model.set_params(**params).fit(np.full((20, 5), 1.7))
        assert none.transform(X).shape == (30, 0)
        assert none.complete_ == (cls is KernelPCA)
        distances = ((X - 1.7) ** 2).sum(axis=1)
        assert_allclose(none.feature_residuals(X), distances, rtol=1e-12)
