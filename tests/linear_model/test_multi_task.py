"""Targets that share their features: beside scikit-learn, conditions of optimality, and laws."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from sklearn import linear_model
from threadpoolctl import threadpool_limits

from mlcore.checks.errors import ConvergenceWarning
from mlcore.linear_model import ElasticNet, Lasso, LinearRegression

EXACT = {"tol": 1e-11, "multi_task": True}
few = settings(max_examples=12, deadline=None)
SHAPES = [(60, 8, 3), (12, 30, 4), (40, 9, 2)]


def problem(seed, n, d, k, zeros=0.4):
    rng = np.random.default_rng([seed, n, d, k])
    X = rng.normal(size=(n, d)) * rng.uniform(0.3, 3, size=d)
    X[rng.random(X.shape) < zeros] = 0
    Y = X[:, :3] @ rng.normal(size=(3, k)) + 2 * rng.normal(size=(n, k)) + 5
    return X, Y, rng.uniform(0.5, 3, size=n)


def objective(X, Y, W, b, alpha, ratio, weight=None):
    """P by its definition, for W (k, d)."""
    weight = np.ones(len(X)) if weight is None else weight
    W, R = np.asarray(W, float), Y - X @ np.asarray(W, float).T - b
    squares = weight @ np.square(R).sum(axis=1) / 2 / weight.sum()
    length = np.linalg.norm(W, axis=0)
    return squares + alpha * (ratio * length.sum() + (1 - ratio) / 2 * (length @ length))


def least_of_scikit_learn(X, Y, alpha, ratio, fit_intercept=True, tol=1e-10):
    model = linear_model.MultiTaskElasticNet(
        alpha, l1_ratio=ratio, fit_intercept=fit_intercept, tol=tol, max_iter=100_000
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, Y)


@pytest.mark.parametrize("shape", SHAPES)
def test_minimum_is_that_of_scikit_learn(shape):
    X, Y, _ = problem(0, *shape)
    for alpha, ratio, intercept in itertools.product((0.5, 0.02), (1.0, 0.4), (True, False)):
        peer = least_of_scikit_learn(X, Y, alpha, ratio, intercept)
        best = objective(X, Y, peer.coef_, peer.intercept_, alpha, ratio)
        for samples in (X, sp.csr_array(X)):
            model = ElasticNet(alpha, l1_ratio=ratio, fit_intercept=intercept, **EXACT)
            model.fit(samples, Y)
            assert model.converged_
            assert_allclose(model.objective_, best, rtol=1e-9)
            assert_allclose(model.coef_, peer.coef_, atol=1e-4)
            value = objective(X, Y, model.coef_, model.intercept_, alpha, ratio)
            assert_allclose(model.objective_, value, rtol=1e-12)
            assert value - best <= model.duality_gap_ + 1e-13 * value


@pytest.mark.parametrize("shape", SHAPES)
def test_conditions_of_optimality_hold(shape):
    X, Y, weight = problem(1, *shape)
    mean = np.average(X, axis=0, weights=weight)
    deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
    for ratio, standardize in itertools.product((1.0, 0.7), (True, False)):
        unit = deviation if standardize else np.ones(len(mean))
        alpha = 0.7
        for samples in (X, sp.csr_array(X)):
            model = ElasticNet(alpha, l1_ratio=ratio, standardize=standardize, **EXACT)
            model.fit(samples, Y, weight)
            W = model.coef_ * unit
            residuals = weight[:, None] * (Y - X @ model.coef_.T - model.intercept_)
            assert_allclose(residuals.sum(axis=0), 0, atol=1e-9 * weight.sum())
            g = residuals.T @ (X / unit) / weight.sum() - alpha * (1 - ratio) * W
            length = np.linalg.norm(W, axis=0)
            active = length > 0
            assert_array_equal(np.flatnonzero(active), model.active_)
            assert 0 < active.sum() < len(active)
            assert (W[:, active] != 0).all()
            assert (np.linalg.norm(g[:, ~active], axis=0) <= alpha * ratio * (1 + 1e-6)).all()
            assert_allclose(g[:, active], alpha * ratio * W[:, active] / length[active], atol=1e-4)


def test_without_coupling_targets_are_those_of_one():
    """One target; one beside zeros; a target twice; and a rotation of all."""
    for shape in SHAPES:
        X, Y, weight = problem(2, *shape)
        y, alpha = Y[:, 0], 0.1
        one = Lasso(alpha, tol=1e-11).fit(X, y, weight)
        same = Lasso(alpha, **EXACT).fit(X, y, weight)
        assert_array_equal(same.coef_, one.coef_)
        assert same.objective_ == one.objective_
        column = Lasso(alpha, **EXACT).fit(X, Y[:, :1], weight)
        assert_array_equal(column.coef_, one.coef_[None])
        assert isinstance(column.objective_, float)
        beside = Lasso(alpha, **EXACT).fit(X, np.column_stack((y, 0 * y)), weight)
        assert_allclose(beside.coef_[0], one.coef_, atol=1e-6)
        assert not beside.coef_[1].any()
        twice = Lasso(alpha * np.sqrt(2), **EXACT).fit(X, np.column_stack((y, y)), weight)
        assert_allclose(twice.objective_, 2 * one.objective_, rtol=1e-10)
        Q = np.linalg.qr(np.random.default_rng(3).normal(size=(shape[2], shape[2])))[0]
        plain, turned = (Lasso(alpha, **EXACT).fit(X, T, weight) for T in (Y, Y @ Q))
        assert_allclose(turned.coef_, Q.T @ plain.coef_, atol=1e-5)
        assert_array_equal(turned.active_, plain.active_)


def test_degrees_of_freedom_are_the_derivative_of_the_fit():
    for shape in [(9, 5, 2), (6, 8, 3)]:
        X, Y, _ = problem(4, *shape)
        model = ElasticNet(0.3, l1_ratio=0.8, tol=1e-13, multi_task=True)
        found, step = model.fit(X, Y), 1e-4
        freedom, centred = found.degrees_of_freedom_, X - X.mean(axis=0)
        trace = 0.0
        for i, t in np.ndindex(Y.shape):
            fits = []
            for sign in (1, -1):
                other = Y.copy()
                other[i, t] += sign * step
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    fits.append(centred[i] @ model.fit(X, other).coef_[t])
            trace += (fits[0] - fits[1]) / (2 * step)
        assert_allclose(trace, freedom, rtol=1e-3)


@few
@given(
    st.integers(0, 10**6), st.sampled_from(SHAPES), st.floats(-3, 0.5), st.sampled_from([1.0, 0.5]),
    st.sampled_from([np.float64, np.float32]), st.booleans(), st.sampled_from([1, 3, 1000]),
)  # fmt: skip
def test_the_gap_is_never_less_than_the_excess(seed, shape, power, ratio, dtype, sparse, rounds):
    X, Y, weight = problem(seed, *shape)
    X = X.astype(dtype)
    alpha = 10.0**power
    samples = sp.csr_array(X) if sparse else X
    X = X.astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = ElasticNet(alpha, l1_ratio=ratio, multi_task=True, max_iter=rounds)
        model.fit(samples, Y, weight)
        path = model.path(samples, Y, weight, alphas=[alpha, 2 * alpha])
    other = ElasticNet(alpha, l1_ratio=ratio, multi_task=True, tol=1e-9).fit(X, Y, weight)
    best = objective(X, Y, other.coef_, other.intercept_, alpha, ratio, weight)
    value = objective(X, Y, model.coef_, model.intercept_, alpha, ratio, weight)
    assert value - best <= model.duality_gap_ + 1e-13 * value
    assert_allclose(model.objective_, value, rtol=1e-6 if dtype == np.float32 else 1e-12)
    value = objective(X, Y, path.coef[0], path.intercept[0], alpha, ratio, weight)
    assert value - best <= path.duality_gap[0] + 1e-13 * value
    scale = objective(X, Y, 0 * other.coef_, np.average(Y, axis=0, weights=weight), 0, 1, weight)
    assert model.converged_ == (model.duality_gap_ <= 1.0001e-6 * scale)


def test_a_path_has_the_model_of_each_penalty_and_begins_at_zeros():
    for (n, d, k), layout in itertools.product(SHAPES, (np.asarray, sp.csr_array)):
        X, Y, weight = problem(5, n, d, k)
        model = ElasticNet(l1_ratio=0.7, **EXACT)
        path = model.path(layout(X), Y, weight, alphas=6)
        assert path.coef.shape == (6, k, d)
        assert path.objective.shape == path.n_nonzero.shape == path.alphas.shape
        assert not path.coef[0].any()
        assert path.coef[1].any()
        nearly = ElasticNet(0.999 * path.alphas[0], l1_ratio=0.7, **EXACT).fit(X, Y, weight)
        assert len(nearly.active_) >= 1
        for i, alpha in enumerate(path.alphas):
            one = ElasticNet(alpha, l1_ratio=0.7, **EXACT).fit(layout(X), Y, weight)
            assert_allclose(path.objective[i], one.objective_, rtol=1e-9)
            assert path.n_nonzero[i] == len(one.active_)
        above = ElasticNet(path.alphas[0], l1_ratio=0.7, **EXACT).fit(layout(X), Y, weight)
        assert above.n_iter_ == 0
        assert len(above.active_) == 0


def test_dependent_features_share_and_no_fit_ends_in_silence():
    X, Y, weight = problem(8, 40, 6, 3)
    for samples in (np.hstack((X, X)), np.hstack((X, X))[:10]):
        n = len(samples)
        for layout in (np.asarray, sp.csr_array):
            model = ElasticNet(0.1, multi_task=True, tol=1e-10)
            model.fit(layout(samples), Y[:n], weight[:n])
            assert model.converged_
            assert_allclose(model.coef_[:, :6], model.coef_[:, 6:], atol=1e-4)
    powers = np.vander(np.linspace(0, 1, 100), 12)[:, :-1]
    targets = powers[:, :3] + 0.3 * np.random.default_rng(9).normal(size=(100, 3))
    for rounds in (3, 30):
        model = Lasso(1e-4, multi_task=True, max_iter=rounds)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            model.fit(powers, targets)
        assert model.converged_ or ["max_iter" in str(w.message) for w in found] == [True]
        value = objective(powers, targets, model.coef_, model.intercept_, 1e-4, 1.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            peer = linear_model.MultiTaskLasso(1e-4, tol=1e-8, max_iter=2000)
            peer.fit(powers, targets)
        best = objective(powers, targets, peer.coef_, peer.intercept_, 1e-4, 1.0)
        assert value - best <= model.duality_gap_


def test_borders():
    """Ridge and least squares sum over targets; rounds end; units from 1e-150 to 1e150."""
    X, Y, weight = problem(6, 40, 6, 3)
    for alpha in (0.0, 0.3):
        ridge = ElasticNet(alpha, l1_ratio=0.0, **EXACT).fit(X, Y, weight)
        other = LinearRegression(alpha=alpha * weight.sum()).fit(X, Y, weight)
        assert_allclose(ridge.coef_, other.coef_, rtol=1e-9)
        assert isinstance(ridge.objective_, float)
        value = objective(X, Y, ridge.coef_, ridge.intercept_, alpha, 0, weight)
        assert_allclose(ridge.objective_, value, rtol=1e-12)
    wide, targets, _ = problem(7, 12, 60, 3)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        model = Lasso(1e-3, multi_task=True, max_iter=1, tol=1e-12).fit(wide, targets)
    assert not model.converged_
    plain = Lasso(0.3, **EXACT).fit(X, Y)
    for unit in (1e-150, 1e150):
        for scaled in (Lasso(0.3 * unit, **EXACT).fit(X, Y * unit).coef_ / unit,
                       Lasso(0.3 * unit, **EXACT).fit(X * unit, Y).coef_ * unit):  # fmt: skip
            assert_allclose(scaled, plain.coef_, atol=1e-6)
    far = Lasso(0.3, **EXACT).fit(X + 1e6, Y - 1e7)
    assert_allclose(far.coef_, plain.coef_, atol=1e-6)
    mixed = Y * [1e-200, 1.0, 0.0]
    assert_allclose(
        Lasso(0.3, **EXACT).fit(X, mixed).coef_[1], Lasso(0.3, tol=1e-11).fit(X, Y[:, 1]).coef_,
        atol=1e-6,
    )  # fmt: skip
    constant = Lasso(0.3, **EXACT).fit(X, np.ones((40, 2)))
    assert constant.objective_ == 0
    assert constant.duality_gap_ < 1e-28


def test_threads_do_not_change_a_bit():
    rng = np.random.default_rng(10)
    X = rng.normal(size=(150, 400))
    Y = X[:, :5] @ rng.normal(size=(5, 3)) + rng.normal(size=(150, 3))
    fits = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            fits.append(Lasso(0.05, multi_task=True).fit(X, Y))
    one, two = fits
    assert_array_equal(one.coef_, two.coef_)
    assert one.duality_gap_ == two.duality_gap_
    assert one.degrees_of_freedom_ == two.degrees_of_freedom_
