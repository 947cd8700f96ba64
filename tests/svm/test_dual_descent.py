"""Coordinate descent against the optimality of its dual, dense against sparse."""

from itertools import islice

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp

from mlcore.svm import SVC, SVR
from mlcore.svm.linear.dual_descent import dual_descent_points
from mlcore.svm.linear.linear_rows import LinearRows
from mlcore.svm.linear.loss_problem import DualPoint, LossProblem

LOW = 1e-9


def problem_of(of_classes, n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, 6)) < 0.6, rng.normal(size=(n, 6)), 0)
    f = X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=n)
    y = np.where(f > 0.2, 1.0, -1.0) if of_classes else f + 3
    cost = rng.uniform(0.2, 1, n)
    return X, LossProblem(y, cost, 0.0 if of_classes else 0.1, False, of_classes)


def points(rows, problem, fit_intercept=True, allowed=0.0):
    start = DualPoint(np.zeros(rows.d), 0.0, np.zeros(rows.n), np.inf, np.inf)
    squares = rows.squares()[0]
    return dual_descent_points(rows, problem, start, squares, fit_intercept, allowed)


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


@pytest.mark.parametrize("of_classes", [True, False])
def test_without_an_intercept_the_gradient_holds_dual_variables_at_their_bounds(of_classes):
    X, problem = problem_of(of_classes)
    found = solved(LinearRows(X), problem, fit_intercept=False)
    assert found.b == 0
    e = problem.y - X @ found.theta
    free = (np.abs(found.beta) > 1e-6) & (np.abs(found.beta) < problem.cost - 1e-6)
    assert free.any()
    assert_allclose(np.abs(e[free]), problem.eps, rtol=0, atol=1e-3)


def test_dense_and_sparse_rows_take_the_same_steps():
    X, problem = problem_of(True)
    dense = next(islice(points(LinearRows(X), problem), 3, None))
    sparse = next(islice(points(LinearRows(sp.csr_array(X)), problem), 3, None))
    single = next(islice(points(LinearRows(X.astype(np.float32)), problem), 3, None))
    assert_allclose(sparse[1].theta, dense[1].theta, rtol=1e-9)
    assert_allclose(single[1].theta, dense[1].theta, rtol=0, atol=1e-4)
    again = next(islice(points(LinearRows(X), problem), 3, None))
    assert_array_equal(again[1].theta, dense[1].theta)
