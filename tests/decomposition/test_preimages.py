"""Pre-images against PCA by an SVD, ridge by its normal equations, and distances by all values."""

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize
from scipy import sparse as sp

from mlcore.checks.errors import NotFittedError
from mlcore.datasets import load_digits
from mlcore.decomposition import KernelPCA
from mlcore.decomposition.kernel_pca.preimages import nearest
from mlcore.kernels import Kernel, gram_matrix


def data(n=50, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * np.arange(1, d + 1)


@settings(max_examples=15, deadline=None)
@given(k=st.integers(1, 4), seed=st.integers(0, 10**6), offset=st.sampled_from([0.0, 1e3, 1e8]))
def test_linear_is_the_projection_of_pca(k, seed, offset):
    rng = np.random.default_rng(seed)
    X, w = data(seed=seed), rng.integers(0, 4, size=50).astype(float)
    model = KernelPCA(k, fit_inverse_transform=True).fit(X + offset, sample_weight=w)
    mean = np.average(X, axis=0, weights=w)
    _, _, Vt = np.linalg.svd(np.sqrt(w)[:, None] * (X - mean), full_matrices=False)
    expected = (X - mean) @ Vt[:k].T @ Vt[:k] + mean + offset
    back = model.inverse_transform(model.transform(X + offset))
    assert_allclose(back, expected, atol=1e-9 + 4e-16 * offset)
    errors = model.preimage_errors(X + offset, model.transform(X + offset))
    assert_allclose(errors, model.feature_residuals(X + offset), atol=1e-6 if offset else 1e-9)


@each("form", [np.asarray, sp.csr_array])
@each("kernel", ["poly", "laplacian", "cosine"])
def test_other_kernels_are_ridge_of_the_samples_on_their_scores(kernel, form):
    X, w = data(), np.random.default_rng(1).integers(0, 3, size=50).astype(float)
    X[np.abs(X) < 1] = 0
    model = KernelPCA(6, kernel=kernel, gamma=0.1, alpha=0.7, fit_inverse_transform=True)
    Y = model.fit(form(X), sample_weight=w).transform(form(X))
    mean = np.average(X, axis=0, weights=w)
    normal = Y.T @ (w[:, None] * Y) + 0.7 * np.eye(6)
    expected = Y @ np.linalg.solve(normal, Y.T @ (w[:, None] * (X - mean))) + mean
    assert_allclose(model.inverse_transform(Y), expected, atol=1e-9)


def squared_distances(X, Z, Y, gamma, weight):
    """|phi(z) - mean - sum_j y_j v_j|² by the eigenvectors of all values at once."""
    m = weight / weight.sum()
    values = gram_matrix(X, kernel="rbf", gamma=gamma)
    H = np.eye(len(X)) - np.outer(np.ones(len(X)), m)
    root = np.sqrt(weight)
    lam, Q = np.linalg.eigh(root[:, None] * (H @ values @ H.T) * root)
    k = Y.shape[1]
    V = H.T @ (root[:, None] * Q[:, ::-1][:, :k] / np.sqrt(lam[::-1][:k]))
    scores = gram_matrix(X, kernel="rbf", gamma=gamma) @ V - m @ values @ V
    V *= np.sign((scores * Y).sum(axis=0))
    P = Y @ V.T + m
    cross = gram_matrix(Z, X, kernel="rbf", gamma=gamma)
    return 1 - 2 * (cross * P).sum(axis=1) + np.einsum("ij,jl,il->i", P, values, P)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 6), gamma=st.sampled_from([0.02, 0.2, 1.0]))
def test_errors_are_the_distances_and_the_iteration_lessens_them(seed, k, gamma):
    X, w = data(seed=seed), np.random.default_rng(seed).integers(1, 3, size=50).astype(float)
    model = KernelPCA(k, kernel="rbf", gamma=gamma, fit_inverse_transform=True)
    Y = model.fit(X, sample_weight=w).transform(X)
    Z = model.inverse_transform(Y)
    found = model.preimage_errors(Z, Y)
    assert_allclose(found, squared_distances(X, Z, Y, gamma, w), atol=1e-9)
    start = Y @ model.inverse_coef_ + model.inverse_intercept_
    assert np.all(found <= model.preimage_errors(start, Y) + 1e-12)


def test_each_step_of_the_iteration_lessens_the_distance_and_its_end_is_an_optimum():
    X = data(40, 2)
    model = KernelPCA(5, kernel="rbf", gamma=0.3, fit_inverse_transform=True, tol=1e-9).fit(X)
    Y = model.transform(X[:10])
    coef = Y @ model.dual_coef_.T + model.mean_coef_

    def values(Z):
        return gram_matrix(Z, X, kernel="rbf", gamma=0.3)

    def after(steps):
        Z = nearest(values, X, coef, X[:10] + 0.5, np.sqrt(0.3), 1e-9, steps)
        return 1 - 2 * (values(Z) * coef).sum(axis=1)

    distances = np.array([after(steps) for steps in range(12)])
    assert np.all(np.diff(distances, axis=0) <= 0)
    Z = model.inverse_transform(Y)
    for z, g in zip(Z, coef, strict=True):
        better = optimize.minimize(lambda x, g=g: -float(values(x[None])[0] @ g), z, tol=1e-12)
        assert float(values(z[None])[0] @ g) >= -better.fun - 1e-12


def test_a_point_with_no_near_sample_stays_where_ridge_puts_it():
    X = data(20, 2)
    Z = nearest(
        lambda Z: gram_matrix(Z, X, kernel="rbf", gamma=1.0), X, np.full((1, 20), 0.05),
        np.array([[1e3, 0.0]]), 1.0, 1e-6, 100,
    )  # fmt: skip
    assert_array_equal(Z, [[1e3, 0.0]])


def test_the_width_is_that_of_the_fit():
    X = data()
    default = KernelPCA(3, kernel="rbf", fit_inverse_transform=True).fit(X)
    told = KernelPCA(3, kernel="rbf", gamma=0.25, fit_inverse_transform=True).fit(X)
    Y = default.transform(X)
    assert default.gamma_ == 0.25
    assert_array_equal(default.inverse_transform(Y), told.inverse_transform(Y))


def test_noise_is_taken_off_digits():
    clean = load_digits()[0][:600] / 16
    noisy = clean + np.random.default_rng(0).normal(scale=0.25, size=clean.shape)
    model = KernelPCA(40, kernel="rbf", gamma=0.05, alpha=1e-2, fit_inverse_transform=True)
    model.fit(clean[:500])
    Y = model.transform(noisy[500:])
    start = Y @ model.inverse_coef_ + model.inverse_intercept_
    noise, ridge, error = (
        ((Z - clean[500:]) ** 2).sum(axis=1).mean()
        for Z in (noisy[500:], start, model.inverse_transform(Y))
    )
    assert error < 0.95 * ridge < 0.4 * noise


def test_float32_and_sparse_samples():
    X = data().astype(np.float32)
    how = {"kernel": "rbf", "gamma": 0.1, "fit_inverse_transform": True}
    model = KernelPCA(3, **how).fit(X)
    Y = model.transform(X)
    back = model.inverse_transform(Y)
    assert back.dtype == np.float32 and model.preimage_errors(back, Y).dtype == np.float32
    csr = KernelPCA(3, **how).fit(sp.csr_array(X))
    assert_allclose(csr.inverse_transform(Y), back, atol=1e-4)


def test_what_cannot_be_inverted_is_refused():
    X = data()
    with pytest.raises(NotFittedError, match="fit_inverse_transform=True"):
        KernelPCA(2, kernel="rbf").fit(X).inverse_transform(np.zeros((1, 2)))
    with pytest.raises(ValueError, match="with a precomputed kernel"):
        KernelPCA(kernel="precomputed", fit_inverse_transform=True).fit(X @ X.T)
    model = KernelPCA(2, fit_inverse_transform=True).fit(X)
    with pytest.raises(ValueError, match="X has 3 columns, but KernelPCA has 2 components"):
        model.inverse_transform(np.zeros((1, 3)))
    with pytest.raises(ValueError, match="Z has 2 rows, but Y has 3"):
        model.preimage_errors(X[:2], np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"k\(x, x\)"):
        KernelPCA(2, kernel="precomputed").fit(X @ X.T).preimage_errors(X @ X.T, np.zeros((50, 2)))

    class Letters(Kernel):
        def encode(self, X):
            return np.array([[word] for word in X], dtype=object)

        def __call__(self, X, Y):
            return [[float(x == y) for y in Y[:, 0]] for x in X[:, 0]]

    words = KernelPCA(kernel=Letters(), fit_inverse_transform=True)
    with pytest.raises(TypeError, match="rows of numbers"):
        words.fit(["a", "b", "c"])
