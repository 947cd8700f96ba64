"""Subproblems of linear machines against the optimality conditions of their rows, by definition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp

from mlcore.svm import SVC, LinearSVC
from mlcore.svm.linear import dual_descent
from mlcore.svm.linear.dual_descent import solve_subproblem, suits, whole_point, working_set
from mlcore.svm.linear.linear_rows import LinearRows
from mlcore.svm.linear.loss_problem import LossProblem


def problem_of(of_classes, n=300, d=40, seed=0):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, d)) < 0.5, rng.normal(size=(n, d)), 0)
    f = X @ rng.normal(size=d) / 4 + 0.5 * rng.normal(size=n)
    y = np.where(f > 0.1, 1.0, -1.0) if of_classes else f + 3
    cost = rng.uniform(0.01, 0.05, n)
    return X, LossProblem(y, cost, 0.0 if of_classes else 0.1, False, of_classes)


def start_of(problem, seed=1):
    """Return dual variables of which a third are at each bound and a tenth are free."""
    rng = np.random.default_rng(seed)
    lower, upper = problem.bounds(problem.cost)
    u = rng.random(len(problem.y))
    beta = np.where(u < 0.45, lower, np.where(u < 0.9, upper, 0.3 * upper + 0.2 * lower))
    return np.where(lower < upper, beta, 0.0)


def dual_value(X, problem, beta):
    v = beta @ X
    return problem.y @ beta - problem.eps * np.abs(beta).sum() - v @ v / 2


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array, np.float32])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("of_classes", [True, False])
def test_the_variables_that_moved_meet_the_conditions_of_optimality(
    of_classes, fit_intercept, layout
):
    X, problem = problem_of(of_classes)
    rows = LinearRows(layout(X))
    X = X.astype(np.float32).astype(float) if layout is np.float32 else X
    lower, upper = problem.bounds(problem.cost)
    beta = start_of(problem)
    while fit_intercept and abs(beta.sum()) > 0.05:  # it is nearly 0 after sweeps
        beta[np.argmax(beta * np.sign(beta.sum()))] = 0
    before, w = beta.copy(), beta @ X
    at = working_set(problem, problem.y - X @ w, beta)
    solve_subproblem(rows, problem, at, beta, w, fit_intercept, 1e-10)
    moved = beta != before
    assert 20 < moved.sum() < 250
    assert (beta >= lower).all() and (beta <= upper).all()
    assert_allclose(w, beta @ X, rtol=0, atol=1e-12)
    slope = X @ w - problem.y
    b = 0.0
    free = moved & (beta > lower) & (beta < upper) & (beta != 0)
    if fit_intercept:
        assert abs(beta.sum()) < 1e-12
        b = -np.median((slope + problem.eps * np.sign(beta))[free])
    slope = slope + b
    assert_allclose(slope[free], -problem.eps * np.sign(beta[free]), rtol=0, atol=1e-7)
    at_upper, at_lower = moved & (beta == upper), moved & (beta == lower)
    assert (slope[at_upper & (upper > 0)] <= 1e-7 - problem.eps).all()
    assert (slope[at_lower & (lower < 0)] >= problem.eps - 1e-7).all()
    if not fit_intercept:
        assert dual_value(X, problem, beta) > dual_value(X, problem, before)


@pytest.mark.parametrize("tol", [1e-3, 1e-9])
def test_a_fit_ends_with_subproblems_where_the_kernel_machine_does(tol, monkeypatch):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(2500, 300))
    y = np.where(X[:, 0] + X[:, 1] + rng.normal(size=2500) > 0.3, 1, -1)
    counts = []

    def counted(*arguments):
        counts.append(1)
        return solve_subproblem(*arguments)

    monkeypatch.setattr(dual_descent, "solve_subproblem", counted)
    for weight in (None, rng.integers(1, 3, 2500).astype(float)):
        counts.clear()
        found = LinearSVC(C=0.003, loss="hinge", tol=tol).fit(X, y, weight)
        other = SVC(kernel="linear", C=0.003, tol=1e-8).fit(X, y, weight)
        assert counts or tol == 1e-3
        assert found.converged_
        assert -1e-12 <= found.objective_ - other.objective_ <= 1.001 * tol * found.objective_
        again = LinearSVC(C=0.003, loss="hinge", tol=tol).fit(X, y, weight)
        assert_array_equal(found.coef_, again.coef_)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("of_classes", [True, False])
def test_few_rows_are_solved_at_once_to_rounding(of_classes, fit_intercept):
    X, problem = problem_of(of_classes, n=60, d=5)
    found = whole_point(LinearRows(X), problem, fit_intercept)
    lower, upper = problem.bounds(problem.cost)
    assert (found.beta >= lower).all() and (found.beta <= upper).all()
    assert_allclose(found.theta, found.beta @ X, rtol=0, atol=1e-14)
    assert abs(found.beta.sum()) < 1e-14 if fit_intercept else found.b == 0
    e = problem.y - X @ found.theta - found.b
    excess = np.maximum(e * problem.y if of_classes else np.abs(e) - problem.eps, 0)
    value = found.theta @ found.theta / 2 + problem.cost @ excess
    assert_allclose(found.value, value, rtol=1e-14)
    assert abs(value - dual_value(X, problem, found.beta)) <= 1e-13 * value
    assert found.gap <= 1e-13 * value


def test_what_costs_more_than_steps_or_is_squared_is_left_to_these():
    X, problem = problem_of(True)
    rows, beta = LinearRows(X), start_of(problem)
    assert suits(rows, problem, beta, 1e9)
    assert not suits(rows, problem, beta, 10)
    assert not suits(rows, problem._replace(squared=True), beta, 1e9)
    assert not suits(rows, problem, np.zeros(len(beta)), 1e9)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
def test_no_more_rows_than_features_end_in_one_call_at_any_cost(C):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 400))
    y = np.where(X[:, 0] + rng.normal(size=300) > 0.3, 1, -1)
    found = LinearSVC(C=C, loss="hinge").fit(X, y)
    other = SVC(kernel="linear", C=C, tol=1e-8).fit(X, y)
    assert found.n_iter_ == 1
    assert_allclose(found.objective_, other.objective_, rtol=1e-4)
    assert found.duality_gap_ >= found.objective_ - other.objective_
