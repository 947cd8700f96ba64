"""Coordinate descent against the optimality of its dual, dense against sparse."""

from itertools import islice

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp

from mlcore.svm import SVC, SVR, LinearSVC, LinearSVR
from mlcore.svm.linear import dual_descent
from mlcore.svm.linear.dual_descent import dual_descent_points
from mlcore.svm.linear.linear_rows import LinearRows
from mlcore.svm.linear.loss_problem import DualPoint, LossProblem

LOW = 1e-9


def problem_of(of_classes, n=400, seed=0, squared=False):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, 6)) < 0.6, rng.normal(size=(n, 6)), 0)
    f = X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=n)
    y = np.where(f > 0.2, 1.0, -1.0) if of_classes else f + 3
    cost = rng.uniform(0.2, 1, n)
    return X, LossProblem(y, cost, 0.0 if of_classes else 0.1, squared, of_classes)


def points(rows, problem, fit_intercept=True, tol=0.0):
    start = DualPoint(np.zeros(rows.d), 0.0, np.zeros(rows.n), np.inf, np.inf)
    return dual_descent_points(rows, problem, start, fit_intercept, tol)


def solved(rows, problem, fit_intercept=True):
    last = None
    for work, point in points(rows, problem, fit_intercept):
        last = point
        if point.gap <= LOW * point.value or work > 20_000:
            break
    return last


@pytest.mark.parametrize("of_classes", [True, False])
def test_it_ends_where_the_kernel_machine_does(of_classes):
    X, problem = problem_of(of_classes)
    found = solved(LinearRows(X), problem)
    if of_classes:
        other = SVC(kernel="linear", tol=1e-8).fit(X, problem.y, problem.cost)
    else:
        other = SVR(kernel="linear", epsilon=0.1, tol=1e-8).fit(X, problem.y, problem.cost)
    assert_allclose(found.value, other.objective_, rtol=2 * LOW)
    assert_allclose(found.theta, other.coef_[0], rtol=0, atol=1e-3)
    lower, upper = problem.bounds(problem.cost)
    assert (found.beta >= lower).all() and (found.beta <= upper).all()
    assert abs(found.beta.sum()) < 1e-10


@pytest.mark.parametrize(("held", "stall"), [(0.0, 3), (0.1, 0), (1.0, 1e9)])
def test_rows_left_out_too_soon_return(held, stall, monkeypatch):
    monkeypatch.setattr(dual_descent, "_HELD", {False: held})
    monkeypatch.setattr(dual_descent, "_STALL", stall)
    monkeypatch.setattr(dual_descent, "_BRIEF", 0.0)
    monkeypatch.setattr(dual_descent, "suits", lambda *_: False)
    X, problem = problem_of(True)
    found = solved(LinearRows(X), problem)
    other = SVC(kernel="linear", tol=1e-8).fit(X, problem.y, problem.cost)
    assert_allclose(found.value, other.objective_, rtol=2 * LOW)


@pytest.mark.parametrize("of_classes", [True, False])
def test_without_an_intercept_the_gradient_holds_dual_variables_at_their_bounds(of_classes):
    X, problem = problem_of(of_classes)
    found = solved(LinearRows(X), problem, fit_intercept=False)
    assert found.b == 0
    e = problem.y - X @ found.theta
    free = (np.abs(found.beta) > 1e-6) & (np.abs(found.beta) < problem.cost - 1e-6)
    assert free.any()
    assert_allclose(np.abs(e[free]), problem.eps, rtol=0, atol=1e-3)


def duality_gap(X, problem, found):
    """P - D from their definitions, in long double."""
    X, y, cost, w, beta = (
        np.asarray(v, np.longdouble) for v in (X, problem.y, problem.cost, found.theta, found.beta)
    )
    e = y - X @ w - np.longdouble(found.b)
    excess = np.maximum(e * y if problem.of_classes else np.abs(e) - problem.eps, 0)
    primal = w @ w / 2 + (cost * excess**2).sum()
    v = beta @ X
    dual = (y * beta - problem.eps * np.abs(beta) - beta**2 / (4 * cost)).sum() - v @ v / 2
    return float(primal - dual), float(primal)


@pytest.mark.parametrize("of_classes", [True, False])
def test_squared_losses_end_with_the_gap_of_feasible_dual_variables(of_classes):
    for fit_intercept in (True, False):
        X, problem = problem_of(of_classes, squared=True)
        found = solved(LinearRows(sp.csr_array(X)), problem, fit_intercept)
        gap, primal = duality_gap(X, problem, found)
        assert 0 <= gap <= 2 * LOW * primal
        assert_allclose(found.gap, gap, rtol=0, atol=1e-12 * primal)
        assert not fit_intercept or abs(found.beta.sum()) < 1e-10
        assert not of_classes or (found.beta * problem.y >= 0).all()


def test_wide_sparse_samples_of_squared_losses_have_their_gap_from_dual_coef():
    rng = np.random.default_rng(3)
    X = sp.random_array((1010, 2100), density=0.004, rng=rng, format="csr")
    f = X @ rng.normal(size=2100)
    weight = rng.integers(1, 3, 1010).astype(float)
    models = LinearSVC(tol=1e-6), LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.1)
    for model, y in zip(models, (np.where(f > 0.1, 1.0, -1.0), f + 1), strict=True):
        model.fit(X, y, weight)
        of_classes = model is models[0]
        eps = 0.0 if of_classes else 0.1
        problem = LossProblem(y, weight, eps, True, of_classes)
        beta = model.dual_coef_.ravel()
        found = DualPoint(model.coef_.ravel(), float(model.intercept_[0]), beta, 0, 0)
        gap, primal = duality_gap(X.toarray(), problem, found)
        assert -1e-13 * primal <= gap <= model.duality_gap_ <= model.tol * model.objective_
        assert_allclose(model.objective_, primal, rtol=1e-12)


def test_dense_and_sparse_rows_take_the_same_steps():
    X, problem = problem_of(True)
    dense = next(islice(points(LinearRows(X), problem), 3, None))
    sparse = next(islice(points(LinearRows(sp.csr_array(X)), problem), 3, None))
    single = next(islice(points(LinearRows(X.astype(np.float32)), problem), 3, None))
    assert_allclose(sparse[1].theta, dense[1].theta, rtol=1e-9)
    assert_allclose(single[1].theta, dense[1].theta, rtol=0, atol=1e-4)
    again = next(islice(points(LinearRows(X), problem), 3, None))
    assert_array_equal(again[1].theta, dense[1].theta)
