"""Linear SVMs of numbers: worked numbers, ridge regression, other solvers, limits."""

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse as sp
from sklearn.datasets import load_diabetes
from threadpoolctl import threadpool_limits

from mlcore.linear_model import LinearRegression
from mlcore.svm import SVR, LinearSVR

LOSSES = "epsilon_insensitive", "squared_epsilon_insensitive"


def samples(seed, n=60, d=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X @ np.arange(1, d + 1) + 1 + rng.standard_t(3, size=n)
    return X, y, rng.integers(1, 4, size=n).astype(float)


def objective(X, y, w, b, C, eps, s, loss):
    r = np.maximum(np.abs(y - X @ w - b) - eps, 0)
    return 0.5 * w @ w + C * s @ (r**2 if loss.startswith("squared") else r)


def test_worked_numbers():
    """The face in 40 digits, with strict inequalities outside of it."""
    X, y = load_diabetes(return_X_y=True)
    model = LinearSVR(epsilon=10.0, loss="squared_epsilon_insensitive", tol=1e-10).fit(X, y)
    assert_allclose(model.objective_, 1177685.2315961, rtol=3e-14)
    assert_allclose(model.intercept_, 153.072079256666, rtol=1e-13)
    expected = [26.1161946538735, -115.136740580696, 366.415067360528, 226.554885857265]
    assert_allclose(model.coef_[:4], expected, rtol=1e-12)
    assert model.n_support_ == 386


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_squares_without_a_tube_are_ridge_regression(C):
    X, y, s = samples(0)
    model = LinearSVR(C, loss="squared_epsilon_insensitive", tol=1e-10).fit(X, y, s)
    ridge = LinearRegression(alpha=1 / (2 * C)).fit(X, y, s)
    assert_allclose(model.coef_, ridge.coef_, rtol=1e-9)
    assert_allclose(model.intercept_[0], ridge.intercept_, rtol=1e-9)
    assert_allclose(model.objective_, C * ridge.objective_, rtol=1e-12)


@each("epsilon", [0.0, 0.3])
@each("seed", range(3))
def test_the_plain_loss_is_the_linear_kernel_machine(seed, epsilon):
    X, y, s = samples(seed)
    model = LinearSVR(2.0, epsilon=epsilon, tol=1e-10).fit(X, y, s)
    other = SVR(kernel="linear", C=2.0, epsilon=epsilon, tol=1e-8).fit(X, y, s)
    assert_allclose(model.objective_, other.objective_, rtol=1e-9)
    assert_allclose(model.predict(X), other.predict(X), rtol=0, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n", [30, 900, 9_000])
def test_every_route_ends_at_a_small_gap(n, loss):
    rng = np.random.default_rng(n)
    for d in (3, 70):
        X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.3)
        y = X[:, 0] + rng.normal(size=n) + 1
        for i, form in enumerate((X, X.astype(np.float32), sp.csr_array(X))):
            fit_intercept = (i + (d > 3) + (loss == LOSSES[0])) % 2 == 0  # all pairs
            params = {"epsilon": 0.1, "loss": loss, "tol": 1e-5, "fit_intercept": fit_intercept}
            model = LinearSVR(0.5, **params).fit(form, y)
            seen = model.verify(form, y)
            assert model.converged_ and seen.duality_gap <= 1e-5 * seen.objective
            dense = form.toarray() if sp.issparse(form) else form.astype(float)
            w, b = model.coef_.astype(float), model.intercept_[0]
            value = objective(dense, y, w, b, 0.5, 0.1, np.ones(n), loss)
            assert_allclose(model.objective_, value, rtol=1e-9)
            assert fit_intercept or b == 0


@settings(max_examples=20)
@given(st.integers(0, 2**16), st.sampled_from(LOSSES), st.floats(-3, 3), st.floats(0, 2))
def test_the_gap_bounds_what_any_other_function_gains(seed, loss, size, eps):
    X, y, s = samples(seed)
    model = LinearSVR(10.0**size, epsilon=eps, loss=loss, tol=0.1).fit(X, y, s)
    rng = np.random.default_rng(seed)
    w, b = model.coef_ + 0.1 * rng.normal(size=4), model.intercept_[0] + 0.1 * rng.normal()
    other = objective(X, y, w, b, 10.0**size, eps, s, loss)
    assert model.duality_gap_ >= model.objective_ - other
    assert model.dual_objective_ <= other


@pytest.mark.parametrize("loss", LOSSES)
@settings(max_examples=8)
@given(seed=st.integers(0, 2**16))
def test_laws_of_weights_and_transformations(loss, seed):
    X, y, s = samples(seed)

    def fit(X, y, s=None, C=0.7):
        return LinearSVR(C, epsilon=0.2, loss=loss, tol=1e-10).fit(X, y, s)

    model = fit(X, y, s)
    rows = np.repeat(np.arange(len(y)), s.astype(int))
    assert_allclose(fit(X[rows], y[rows]).objective_, model.objective_, rtol=1e-9)
    assert_allclose(fit(X, y, 2 * s, C=0.35).objective_, model.objective_, rtol=1e-9)
    flipped = fit(X, -y, s)
    assert_allclose(flipped.coef_, -model.coef_, rtol=0, atol=1e-5)
    moved = fit(X + 3, y + 50, s)
    assert_allclose(moved.coef_, model.coef_, rtol=0, atol=1e-5)
    order = np.random.default_rng(seed).permutation(len(y))
    permuted = fit(X[order][:, ::-1], y[order], s[order])
    assert_allclose(permuted.coef_[::-1], model.coef_, rtol=0, atol=1e-5)
    beta = model.dual_coef_
    assert_allclose(beta @ X, model.coef_, rtol=0, atol=1e-6)
    assert abs(beta.sum()) < 1e-11


@pytest.mark.parametrize("loss", LOSSES)
def test_constant_targets_and_one_sample(loss):
    X, _, _ = samples(0)
    for rows, y in ((X, np.full(60, 7.1)), (X[:1], np.array([-3.0])), (X, np.full(60, 1e100))):
        model = LinearSVR(loss=loss).fit(rows, y)
        assert not model.coef_.any() and model.intercept_[0] == y[0]
        assert model.objective_ == model.duality_gap_ == 0 and model.converged_
        assert model.verify(rows, y).duality_gap <= 1e-9 * abs(y[0]) ** 2
    y, weight = X[:, 0] + 1, np.eye(60)[7]
    for form in (X, sp.csr_array(X)):
        model = LinearSVR(loss=loss).fit(form, y, weight)
        assert not model.coef_.any() and model.intercept_[0] == y[7] and model.converged_
        with pytest.raises(ValueError, match="at least one weight must be positive"):
            LinearSVR(loss=loss).fit(form, y, 0 * weight)


@each("loss", LOSSES)
@each("power", [-500, -300, 300, 490])
def test_targets_of_any_unit(power, loss):
    X, y, _ = samples(1)
    expected = LinearSVR(loss=loss, tol=1e-10).fit(X, y)
    unit = 2.0**power
    C = 1.0 if loss.startswith("squared") else unit
    model = LinearSVR(C, loss=loss, tol=1e-6).fit(X, unit * y)
    assert_allclose(model.coef_ / unit, expected.coef_, rtol=0, atol=1e-5)
    assert_allclose(model.intercept_ / unit, expected.intercept_, rtol=0, atol=1e-5)
    assert model.converged_


def test_a_tube_that_holds_all_targets():
    X, y, _ = samples(2)
    model = LinearSVR(epsilon=1e3).fit(X, y)
    assert not model.coef_.any() and model.objective_ == 0 and model.n_support_ == 0


def test_an_infinite_cost_is_refused():
    X, y, _ = samples(3)
    with pytest.raises(ValueError, match="C=inf"):
        LinearSVR(np.inf).fit(X, y)


def test_a_path_has_the_machines_of_its_costs():
    X, y, s = samples(4)
    for loss in LOSSES:
        path = LinearSVR(epsilon=0.1, loss=loss, tol=1e-8).path(X, y, s, Cs=[1.0, 0.1, 10.0])
        for k, C in enumerate(path.Cs):
            model = LinearSVR(C, epsilon=0.1, loss=loss, tol=1e-8).fit(X, y, s)
            off = abs(path.objective[k] - model.objective_)
            assert off <= path.duality_gap[k] + model.duality_gap_
        order = np.argsort(path.Cs)
        assert (np.diff(np.linalg.norm(path.coef[order], axis=1)) > -1e-6).all()
        losses = (path.objective - 0.5 * (path.coef**2).sum(axis=1)) / path.Cs
        assert (np.diff(losses[order]) < 1e-6).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_any_number_of_threads_and_any_form_of_rows(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9_000, 40)) * (rng.random((9_000, 40)) < 0.3)
    y = X[:, 0] + rng.normal(size=len(X))
    for form in (X, sp.csr_array(X)):
        found = []
        for threads in (1, 3):
            with threadpool_limits(threads):
                model = LinearSVR(0.1, epsilon=0.1, loss=loss).fit(form, y)
                found.append((model.coef_, model.intercept_, model.duality_gap_))
        assert all(map(np.array_equal, *found))
    dense = LinearSVR(0.1, epsilon=0.1, loss=loss).fit(X, y)
    single = LinearSVR(0.1, epsilon=0.1, loss=loss, tol=1e-6).fit(X.astype(np.float32), y)
    assert abs(model.objective_ - dense.objective_) <= model.duality_gap_ + dense.duality_gap_
    assert abs(single.objective_ - dense.objective_) <= dense.duality_gap_ + 1e-5 * dense.objective_
