"""OneClassSVM against LIBSVM, its optimality conditions, closed forms, and the laws."""

import itertools

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn import svm as peer
from sklearn.datasets import load_digits

from contract import case
from dual_problems import pairs_of_forms
from mlcore.svm import OneClassSVM

GAMMA = 0.2


def rbf(X, Y, gamma=GAMMA):
    return np.exp(-gamma * cdist(X, Y, "sqeuclidean"))


def cloud(n=120, d=3):
    return np.random.default_rng([n, d]).normal(size=(n, d))


def weights(n):
    return np.random.default_rng(0).integers(0, 4, n).astype(float)


@pairs_of_forms
def test_reaches_libsvms_dual_objective(tol, rtol, weighted, layout):
    X = load_digits().data[:400] / 16
    w = weights(400) if weighted else None
    theirs = peer.OneClassSVM(nu=0.2, gamma=0.03, tol=1e-8).fit(X, sample_weight=w)
    ours = OneClassSVM(nu=0.2, gamma=0.03, tol=tol).fit(layout(X), sample_weight=w)

    def dual(model):
        kept = slice(None) if w is None or model is ours else w > 0  # LIBSVM counts these
        a, V = model.dual_coef_[0], X[kept][model.support_]
        return -0.5 * a @ rbf(V, V, 0.03) @ a

    assert_allclose(ours.dual_objective_, dual(theirs), rtol=rtol)
    assert_allclose(dual(ours), dual(theirs), rtol=rtol)
    f = theirs.decision_function(X)
    assert_allclose(ours.decision_function(layout(X)), f, atol=10 * tol)
    assert_allclose(ours.score_samples(layout(X)), theirs.score_samples(X), atol=10 * tol)
    assert_allclose(ours.offset_, theirs.offset_[0], atol=10 * tol)
    clear = np.abs(f) > 10 * tol
    assert_array_equal(ours.predict(layout(X))[clear], theirs.predict(X)[clear])


@given(
    n=st.integers(2, 40),
    seed=st.integers(0, 2**31),
    nu=st.sampled_from([0.01, 0.3, 1.0]),
    grid=st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_kkt_conditions_hold(n, seed, nu, grid):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    if grid:
        X = np.round(X)
    w = rng.integers(0, 3, n) + (np.arange(n) == 0.0)
    model = OneClassSVM(nu=nu, gamma=GAMMA).fit(X, sample_weight=w)
    a = np.zeros(n)
    a[model.support_] = model.dual_coef_[0]
    assert_allclose(a.sum(), nu * w.sum(), rtol=1e-9)
    assert (a >= 0).all() and (a <= w * (1 + 1e-12)).all()
    excess = rbf(X, X) @ a - model.offset_
    used = w > 0
    assert (excess[used & (a < w)] >= -model.tol).all()
    assert (excess[used & (a > 0)] <= model.tol).all()
    optimality = model.verify(X, sample_weight=w)
    assert -1e-8 <= optimality.duality_gap <= model.tol * (1 + w.sum())
    assert_allclose(model.duality_gap_, optimality.duality_gap, atol=1e-8 * (1 + w.sum()))
    slack = w @ np.maximum(0, -excess)
    primal = 0.5 * a @ rbf(X, X) @ a - nu * w.sum() * model.offset_ + slack
    assert_allclose(optimality.primal_objective, primal, atol=1e-8 * (1 + w.sum()))


def test_two_points_share_the_weight():
    model = OneClassSVM(nu=0.5, gamma=1.0).fit([[0.0], [1.0]])
    k = np.exp(-1.0)
    assert_allclose(model.dual_coef_, [[0.5, 0.5]], atol=1e-10)
    assert_allclose(model.offset_, 0.5 * (1 + k), atol=1e-10)
    assert_allclose(model.margin_, np.sqrt((1 + k) / 2), atol=1e-10)
    assert_allclose(model.dual_objective_, -0.25 * (1 + k), atol=1e-10)
    assert_array_equal(model.predict([[0.0], [0.5], [9.0]]), [1, 1, -1])
    assert_array_equal(model.decision_function([[0.0], [1.0]]), [0, 0])


def test_nu_bounds_the_share_of_outliers():
    X = cloud(500)
    model = OneClassSVM(nu=0.1, gamma=GAMMA).fit(X)
    assert len(model.margin_error_indices_) <= 50 <= len(model.support_)
    assert_array_equal(model.predict(X) == -1, model.decision_function(X) < 0)
    assert_array_equal(model.fit_predict(X), model.predict(X))


def test_weights_are_copies_and_zero_is_absence():
    X, w = cloud(80), weights(80)
    machine = OneClassSVM(nu=0.3)
    f = machine.fit(X, sample_weight=w).decision_function(X)
    assert (w[machine.support_] > 0).all()
    order = np.repeat(np.arange(80), w.astype(int))[::-1]
    g = machine.fit(X[order])
    assert_allclose(g.decision_function(X), f, rtol=1e-7, atol=1e-8)
    assert_array_equal(g.predict(X), np.where(f >= 0, 1, -1))


def test_tiny_weights_only_scale_the_result():
    X = cloud(400)
    f = OneClassSVM(nu=0.3, gamma=GAMMA).fit(X).decision_function(X)
    g = OneClassSVM(nu=0.3, gamma=GAMMA).fit(X, sample_weight=np.full(400, 1e-6))
    assert_allclose(1e6 * g.decision_function(X), f, atol=1e-2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_evidence_agrees_with_exact_verification(dtype):
    X = cloud(500).astype(dtype)
    model = OneClassSVM(nu=0.3, gamma=GAMMA).fit(X)
    exact = model.verify(X)
    assert model.kkt_violation_ <= model.tol and exact.kkt_violation <= 1.2 * model.tol
    assert_allclose(model.dual_objective_, exact.dual_objective, rtol=1e-5)
    assert_allclose(model.primal_objective_, exact.primal_objective, rtol=1e-5)
    assert model.decision_function(X).dtype == model.score_samples(X).dtype == dtype


def test_every_kind_of_kernel_gives_the_same_machine():
    X = cloud(90)
    new = X[:7] + 0.1
    machine = OneClassSVM(nu=0.3, gamma=GAMMA)
    f = machine.fit(X).decision_function(new)
    assert_allclose(machine.set_params(kernel=rbf).fit(X).decision_function(new), f, atol=1e-8)
    machine.set_params(kernel="precomputed").fit(rbf(X, X))
    assert_allclose(machine.decision_function(rbf(new, X)), f, atol=1e-8)


@pytest.mark.parametrize("nu", [0.0, 1.1, np.nan])
def test_nu_out_of_range_is_named(nu):
    with pytest.raises(ValueError, match=f"OneClassSVM: nu={nu}"):
        OneClassSVM(nu=nu).fit(cloud(10))


@each("kernel", ["linear", "poly", "rbf", "laplacian"])
@each("dtype", [np.float32, np.float64])
def test_rows_without_zeros_give_the_same_bytes_sparse_or_not(kernel, dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3)).astype(dtype)[rng.integers(0, 12, 80)]  # copies: many optima
    X += 3  # where w = 0 is not optimal
    dense = OneClassSVM(kernel=kernel, gamma=1.0).fit(X)
    full = OneClassSVM(kernel=kernel, gamma=1.0).fit(sparse.csr_array(X))
    assert sparse.issparse(full.support_vectors_)
    for name in ("dual_coef_", "support_", "offset_", "coef_"):
        if hasattr(dense, name):
            assert_array_equal(getattr(dense, name), getattr(full, name))
    assert_array_equal(dense.decision_function(X), full.decision_function(X))


# All pairs of shapes, nu, kernels, types and widths.
@pytest.mark.parametrize(("n", "d"), [(300, 2), (1000, 2), (300, 20)])
def test_outliers_are_a_share_of_nu_at_most(n, d):
    X, w = cloud(n, d), np.random.default_rng(1).integers(1, 4, n)
    cases = itertools.product([1e-6, 0.01, 0.1, 0.5], ["rbf", "laplacian"], ["scale", 5.0])
    for i, (nu, kernel, gamma) in enumerate(cases):
        dtype = [np.float32, np.float64][(i + i // 2 + i // 4) % 2]
        with case(nu, kernel, gamma, dtype):
            model = OneClassSVM(nu=nu, kernel=kernel, gamma=gamma)
            model.fit(X.astype(dtype), sample_weight=w)
            assert w[model.predict(X.astype(dtype)) == -1].sum() <= nu * w.sum() * (1 + 1e-9)
            assert w[model.support_].sum() >= nu * w.sum() * (1 - 1e-9)
            assert model.converged_ and model.kkt_violation_ <= max(1e-3 * model.offset_, 1e-6)


def test_tol_is_a_part_of_the_margin():
    X = np.random.RandomState(0).rand(2000, 4)
    model = OneClassSVM(nu=1e-6).fit(X)
    assert (model.predict(X) == 1).all()
    assert model.duality_gap_ < 1e-2 * abs(model.dual_objective_)


@pytest.mark.parametrize("n", [100, 1000])
@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_samples_around_the_origin_are_warned_of(n, kernel):
    X = cloud(n)
    with pytest.warns(UserWarning, match="OneClassSVM: at nu=0.5 w = 0 is optimal"):
        model = OneClassSVM(kernel=kernel).fit(X)
    assert model.duality_gap_ >= abs(model.dual_objective_)  # nothing separates it from w = 0
    assert (model.predict(X) == -1).mean() <= 0.5
    OneClassSVM(kernel=kernel).fit(X + 5)  # no warning


def test_features_of_any_unit_give_the_same_outliers():
    X = cloud(400) + 4
    expected = OneClassSVM(kernel="linear", nu=0.1).fit(X).predict(X)
    for unit in (2.0**-60, 2.0**60):
        found = OneClassSVM(kernel="linear", nu=0.1).fit(X * unit).predict(X * unit)
        assert np.mean(found != expected) <= 0.01
