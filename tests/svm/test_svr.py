"""SVR and NuSVR against LIBSVM, the KKT conditions as written, closed forms, and the laws."""

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn import svm as peer
from sklearn.datasets import load_diabetes

from dual_problems import pairs_of_forms
from mlcore.checks.errors import ConvergenceWarning
from mlcore.svm import SVR, NuSVR

GAMMA = 0.2


def rbf(X, Y, gamma=GAMMA):
    return np.exp(-gamma * cdist(X, Y, "sqeuclidean"))


def noisy(n=120, d=3, seed=0):
    rng = np.random.default_rng([n, d, seed])
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=n)


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X / X.std(axis=0), (y - y.mean()) / y.std()


def weights(n):
    return np.random.default_rng(0).integers(0, 4, n).astype(float)


@pairs_of_forms
def test_svr_reaches_libsvms_dual_objective(tol, rtol, weighted, layout):
    X, y = diabetes()
    w = weights(len(y)) if weighted else None
    kwargs = dict(C=2.0, gamma=0.03, epsilon=0.1)
    theirs = peer.SVR(tol=1e-8, **kwargs).fit(X, y, sample_weight=w)
    ours = SVR(tol=tol, **kwargs).fit(layout(X), y, sample_weight=w)

    def dual(model):
        kept = slice(None) if w is None or model is ours else w > 0  # LIBSVM counts these
        b, V, t = model.dual_coef_[0], X[kept][model.support_], y[kept][model.support_]
        return t @ b - 0.1 * np.abs(b).sum() - 0.5 * b @ rbf(V, V, 0.03) @ b

    assert_allclose(ours.dual_objective_, dual(theirs), rtol=rtol)
    assert_allclose(dual(ours), dual(theirs), rtol=rtol)
    assert_allclose(ours.predict(layout(X)), theirs.predict(X), atol=30 * tol)


@pytest.mark.parametrize("weighted", [False, True])
def test_nu_svr_equals_libsvms(weighted):
    X, y = diabetes()
    w = weights(len(y)) if weighted else None
    kwargs = dict(C=2.0, gamma=0.03, nu=0.4)
    theirs = peer.NuSVR(tol=1e-8, **kwargs).fit(X, y, sample_weight=w)
    ours = NuSVR(tol=1e-7, **kwargs).fit(X, y, sample_weight=w)
    assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-5)
    kept = slice(None) if w is None else w > 0
    b, V = theirs.dual_coef_[0], X[kept][theirs.support_]
    expected = y[kept][theirs.support_] @ b - 0.5 * b @ rbf(V, V, 0.03) @ b
    assert_allclose(ours.dual_objective_, expected, rtol=1e-7)
    # The tube it found gives the same machine when given.
    given_tube = SVR(C=2.0, gamma=0.03, epsilon=ours.epsilon_, tol=1e-7)
    assert_allclose(given_tube.fit(X, y, sample_weight=w).predict(X), ours.predict(X), atol=1e-4)


@given(
    n=st.integers(2, 40),
    seed=st.integers(0, 2**31),
    C=st.sampled_from([0.01, 1.0, 30.0]),
    epsilon=st.sampled_from([0.0, 0.1, 5.0]),
    grid=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_kkt_conditions_hold(n, seed, C, epsilon, grid):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 2)), rng.normal(size=n)
    if grid:
        X, y = np.round(X), np.round(y)
    w = rng.integers(0, 3, n) + (np.arange(n) == 0)
    model = SVR(C=C, epsilon=epsilon, gamma=GAMMA).fit(X, y, sample_weight=w)
    b = np.zeros(n)
    b[model.support_] = model.dual_coef_[0]
    cost = C * w
    assert (np.abs(b) <= cost).all() and abs(b.sum()) <= 1e-9 * (1 + np.abs(b).sum())
    residual = y - (rbf(X, X) @ b + model.intercept_[0])
    used = w > 0
    growing, shrinking = used & (b < cost), used & (b > -cost)
    up = residual - np.where(b >= 0, epsilon, -epsilon)  # gain of a rise; no rise may gain
    down = residual - np.where(b > 0, epsilon, -epsilon)
    tol = model.tol + 1e-9
    assert up[growing].max(initial=0) <= tol and down[shrinking].min(initial=0) >= -tol
    optimality = model.verify(X, y, sample_weight=w)
    assert -1e-9 <= optimality.duality_gap <= tol * (1 + 2 * cost.sum())
    assert_allclose(model.duality_gap_, optimality.duality_gap, atol=1e-8 * (1 + cost.sum()))
    slack = cost @ np.maximum(0, np.abs(residual) - epsilon)
    assert_allclose(optimality.primal_objective, 0.5 * b @ rbf(X, X) @ b + slack, atol=1e-8)


def test_a_line_through_three_points():
    model = SVR(kernel="linear", C=100.0, epsilon=0.5).fit([[0.0], [1.0], [2.0]], [0.0, 2.0, 4.0])
    assert_allclose(model.coef_, [[1.5]], atol=1e-10)  # the flattest line inside the tube
    assert_allclose(model.intercept_, [0.5], atol=1e-10)
    assert_allclose(np.sort(model.dual_coef_[0]), [-0.75, 0.75], atol=1e-10)
    assert_allclose([model.dual_objective_, model.primal_objective_], 1.125, atol=1e-9)


def test_a_wide_tube_needs_no_support_vectors():
    X, y = noisy(30)
    model = SVR(epsilon=100.0).fit(X, y)
    assert len(model.support_) == 0 and model.dual_coef_.shape == (1, 0)
    assert_allclose(model.predict(X), model.intercept_[0])
    assert np.abs(y - model.intercept_[0]).max() <= 100.0
    assert_allclose(model.verify(X, y).duality_gap, 0, atol=1e-12)


@pytest.mark.parametrize("machine", [SVR(C=0.7), NuSVR(C=0.7, nu=0.3)])
def test_weights_are_copies_and_zero_is_absence(machine):
    X, y = noisy(80)
    w = weights(80)
    f = machine.fit(X, y, sample_weight=w).predict(X)
    assert (w[machine.support_] > 0).all() and (w[machine.margin_error_indices_] > 0).all()
    order = np.repeat(np.arange(80), w.astype(int))[::-1]
    assert_allclose(machine.fit(X[order], y[order]).predict(X), f, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("machine", [SVR(C=5.0), NuSVR(C=5.0)])
def test_evidence_agrees_with_exact_verification(machine, dtype):
    X, y = noisy(500)
    X = X.astype(dtype)
    model = machine.set_params(gamma=GAMMA).fit(X, y)
    exact = model.verify(X, y)
    assert model.kkt_violation_ <= model.tol and exact.kkt_violation <= 1.2 * model.tol
    assert_allclose(model.dual_objective_, exact.dual_objective, rtol=1e-5)
    assert_allclose(model.primal_objective_, exact.primal_objective, rtol=1e-5)
    assert model.predict(X).dtype == dtype


@pytest.mark.parametrize("machine", [SVR(), NuSVR()])
def test_every_kind_of_kernel_gives_the_same_machine(machine):
    X, y = noisy(90)
    new = X[:7] + 0.1
    f = machine.set_params(gamma=GAMMA).fit(X, y).predict(new)
    assert_allclose(machine.set_params(kernel=rbf).fit(X, y).predict(new), f, atol=1e-8)
    machine.set_params(kernel="precomputed").fit(rbf(X, X), y)
    assert_allclose(machine.predict(rbf(new, X)), f, atol=1e-8)


def test_margin_errors_are_the_samples_outside_the_tube():
    X, y = noisy()
    model = SVR(gamma=GAMMA, epsilon=0.2).fit(X, y)
    outside = np.flatnonzero(np.abs(y - model.predict(X)) > 0.2 + 1e-9)
    assert_array_equal(model.margin_error_indices_, outside)


def test_max_iter_warns():
    X, y = noisy(400)
    with pytest.warns(ConvergenceWarning, match="SVR stopped after max_iter=2"):
        assert not SVR(C=100, max_iter=2).fit(X, y).converged_


@each(
    ("model", "message"),
    [
        (SVR(C=np.inf), "SVR: C=inf"),
        (SVR(epsilon=-0.1), "SVR: epsilon=-0.1"),
        (NuSVR(nu=0.0), "NuSVR: nu=0.0"),
        (NuSVR(C=0.0), "NuSVR: C=0.0"),
        (SVR(kernel="tanh"), "SVR: kernel='tanh'"),
    ],
)
def test_parameters_out_of_range_are_named(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*noisy(20))
    assert not hasattr(model, "support_")
