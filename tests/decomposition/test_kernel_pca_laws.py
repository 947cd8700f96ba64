"""Laws of kernel PCA over random problems, for all samples and for the span of few of them."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg
from scipy import sparse as sp
from sklearn.base import clone

from mlcore.decomposition import PCA, KernelPCA, NystroemPCA
from mlcore.kernels import GramCenterer, gram_matrix, polynomial_features

KERNELS = [
    {"kernel": "rbf", "gamma": 0.1},
    {"kernel": "laplacian", "gamma": 0.1},
    {"kernel": "poly", "degree": 2, "gamma": 0.2},
    {"kernel": "linear"},
]
problems = {
    "seed": st.integers(0, 10**6),
    "n": st.integers(6, 35),
    "d": st.integers(1, 4),
    "kernel": st.sampled_from(KERNELS),
    "method": st.sampled_from(["exact", "nystroem"]),
}


def data(n, d, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * np.arange(1, d + 1), rng.integers(1, 4, n).astype(float), rng


def distinct(values, k):
    """True if the components up to k are defined, and not only the spaces of some."""
    return len(values) > k and (np.diff(values[: k + 1]) < -1e-3 * values[0]).all()


def same_scores(found, expected, values, k=2):
    if distinct(values, k):
        found, expected = found[:, :k], expected[:, :k]
        turned = found * np.sign((found * expected).sum(axis=0))
        assert_allclose(turned, expected, atol=1e-7 * np.sqrt(values[0]))


def model_of(kernel, method, k=None):
    cls = NystroemPCA if method == "nystroem" else KernelPCA
    return cls(k, random_state=0, **kernel)


@settings(max_examples=12, deadline=None)
@given(
    seed=problems["seed"],
    n=problems["n"],
    d=st.integers(1, 3),
    degree=st.integers(1, 3),
    coef0=st.sampled_from([0.0, 0.5, 2.0]),
    method=problems["method"],
)
def test_polynomial_is_pca_of_polynomial_features(seed, n, d, degree, coef0, method):
    X, w, _ = data(n, d, seed)
    features = polynomial_features(X, degree=degree, coef0=coef0)
    kernel = {"kernel": "poly", "degree": degree, "gamma": 1.0, "coef0": coef0}
    model = model_of(kernel, method).fit(X, sample_weight=w)
    pca = PCA(svd_solver="full", ddof=0).fit(features, sample_weight=w)
    squares = pca.explained_variance_ * w.sum()
    k = min(len(model.eigenvalues_), len(squares))
    # Centres nearly in the span of others are left out.
    atol = (1e-6 if method == "nystroem" else 1e-11) * squares[0]
    assert_allclose(model.eigenvalues_[:k], squares[:k], atol=atol)
    assert_allclose(squares[k:], 0, atol=atol)
    if method == "exact":
        same_scores(model.transform(X), pca.transform(features), squares)


@settings(max_examples=12, deadline=None)
@given(**problems)
def test_the_order_of_rows_and_a_turn_change_nothing(seed, n, d, kernel, method):
    X, w, rng = data(n, d, seed)
    order, (turn, _) = rng.permutation(n), linalg.qr(rng.normal(size=(d, d)))
    model = model_of(kernel, method).fit(X, sample_weight=w)
    values = model.eigenvalues_
    k = len(values)
    atol = 1e-6 * values[0] if method == "nystroem" else 1e-12 * n * values[0]  # of other centres
    changes = [(X[order], w[order], order)]
    if kernel["kernel"] != "laplacian":
        changes.append((X @ turn, w, np.arange(n)))
    for rows, weights, where in changes:
        other = model_of(kernel, method).fit(rows, sample_weight=weights)
        m = min(k, len(other.eigenvalues_))
        assert_allclose(other.eigenvalues_[:m], values[:m], atol=atol)
        if method == "exact":
            same_scores(other.transform(rows), model.transform(X)[where], values)


@settings(max_examples=12, deadline=None)
@given(**problems, shift=st.floats(-1, 10), scale=st.floats(1e-3, 1e3))
def test_a_constant_added_to_the_kernel_is_centred_away(seed, n, d, kernel, method, shift, scale):
    X, w, _ = data(n, d, seed)
    K = gram_matrix(X, **kernel)
    K /= np.abs(K).max()
    precomputed = {"kernel": "precomputed"}
    model = model_of(precomputed, method, 2).fit(K, sample_weight=w)
    scores, values = model.transform(K), model.eigenvalues_
    other = model_of(precomputed, "exact", 2).fit(scale * (K + shift), sample_weight=w)
    atol = 1e-6 if method == "nystroem" else 1e-11  # centres nearly in the span are left out
    assert_allclose(other.eigenvalues_, scale * values, atol=atol * scale * n * max(1, abs(shift)))
    centred = GramCenterer().fit(K)
    plain = model_of(precomputed, "exact", 2).fit(centred.transform(K))
    direct = model_of(precomputed, "exact", 2).fit(K)
    assert_allclose(plain.eigenvalues_, direct.eigenvalues_, atol=1e-12 * n)
    same_scores(plain.transform(centred.transform(K)), direct.transform(K), direct.eigenvalues_, 1)
    assert_allclose(w @ scores, 0, atol=1e-6 * w.sum())


@settings(max_examples=10, deadline=None)
@given(**problems)
def test_weights_are_copies_and_their_scale_is_that_of_the_eigenvalues(seed, n, d, kernel, method):
    X, w, _ = data(n, d, seed)
    model = model_of(kernel, method, 2).fit(X, sample_weight=w)
    copies = model_of(kernel, method, 2).fit(np.repeat(X, w.astype(int), axis=0))
    scaled = model_of(kernel, method, 2).fit(X, sample_weight=w * 2.0**40)
    values = model.eigenvalues_
    atol = (1e-6 if method == "nystroem" else 1e-11) * values[0]
    assert_allclose(copies.eigenvalues_, values, atol=atol)
    assert_allclose(scaled.eigenvalues_, values * 2.0**40, atol=1e-12 * values[0] * 2.0**40)
    same_scores(scaled.transform(X), model.transform(X), values, 1)
    if method == "exact":
        same_scores(copies.transform(X), model.transform(X), values, 1)


@settings(max_examples=10, deadline=None)
@given(seed=problems["seed"], kernel=problems["kernel"], method=problems["method"])
def test_residuals_fall_to_nothing_as_components_are_added(seed, kernel, method):
    X, w, _ = data(20, 3, seed)
    before = np.full(20, np.inf)
    for k in (1, 3, 6, 12):
        model = model_of(kernel, method, k).fit(X, sample_weight=w)
        residuals = model.feature_residuals(X)
        size = np.abs(gram_matrix(X, **kernel)).max()
        assert (residuals >= 0).all() and (residuals <= before + 1e-7 * size).all()
        before = residuals
    everything = model_of(kernel, method).fit(X, sample_weight=w)
    assert_allclose(everything.feature_residuals(X), 0, atol=1e-6 * size)


@pytest.mark.parametrize("method", ["exact", "nystroem"])
def test_every_form_of_the_samples_gives_the_same_bytes(method):
    X, w, _ = data(40, 4, 0)
    X[np.abs(X) < 0.5] = 0
    model = model_of(KERNELS[0], method, 3)
    expected = model.fit(X, sample_weight=w).transform(X)
    fixed = X.copy()
    fixed.flags.writeable = False
    for rows in (fixed, X.astype(">f8"), np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]):
        again = clone(model).fit(rows, sample_weight=w)
        assert_array_equal(again.transform(rows), expected)
    assert_array_equal(pickle.loads(pickle.dumps(model)).transform(X), expected)
    csr = clone(model).fit(sp.csr_array(X), sample_weight=w)
    assert_allclose(csr.transform(sp.csr_array(X)), expected, atol=1e-9)
    for library in ("pandas", "polars"):
        framed = clone(model).set_output(transform=library).fit(X, sample_weight=w).transform(X)
        assert type(framed).__module__.startswith(library)
        assert_array_equal(framed.to_numpy(), expected)


@pytest.mark.parametrize("method", ["exact", "nystroem"])
def test_hard_cases_are_finite_or_named(method):
    rng = np.random.default_rng(0)
    cases = [
        rng.normal(size=(5, 30)),
        np.outer(rng.normal(size=20), [1.0, 2.0, -1.0]),
        np.repeat(rng.normal(size=(4, 3)), 5, axis=0),
        np.c_[rng.normal(size=(20, 2)) * [1e-12, 1e12], np.ones(20)],
    ]
    for X in cases:
        for kernel in KERNELS[:3]:
            model = model_of(kernel, method, 4).fit(X)
            assert np.isfinite(model.transform(X)).all()
            assert np.isfinite(model.feature_residuals(X)).all()
            assert (np.diff(model.eigenvalues_) <= 0).all()
    with pytest.raises(ValueError, match="n_samples=1"):
        model_of(KERNELS[0], method).fit([[1.0, 2.0]])
    with pytest.raises(ValueError, match="NaN"):
        model.transform([[np.nan, 1.0, 1.0]])
    X = rng.normal(size=(60, 4))
    single = model_of(KERNELS[0], method, 3).fit(X.astype(np.float32))
    double = model_of(KERNELS[0], method, 3).fit(X.astype(np.float32).astype(float))
    assert_allclose(single.eigenvalues_, double.eigenvalues_, rtol=1e-5)
