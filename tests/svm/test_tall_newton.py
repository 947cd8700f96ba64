"""Sums of a step by their definitions, and the gap of its dual variables."""

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from mlcore.svm import LinearSVR
from mlcore.svm.linear import tall_newton
from mlcore.svm.linear.linear_rows import LinearRows
from mlcore.svm.linear.loss_problem import DualPoint, LossProblem
from mlcore.svm.linear.tall_newton import _Sums, suits, tall_newton_points


def data(n, d, dtype, of_classes, seed=0):
    rng = np.random.default_rng([n, d, seed])
    X = rng.standard_normal((n, d)).astype(dtype)
    y = X @ rng.standard_normal(d) + rng.standard_normal(n)
    y = np.where(y > 0, 1.0, -1.0) if of_classes else y
    cost = rng.integers(0, 3, n) * rng.random(n)
    eps = 0.0 if of_classes else 0.3
    return X, LossProblem(y, cost, eps, True, of_classes), rng


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("of_classes", [False, True])
@pytest.mark.parametrize(("n", "d"), [(3, 1), (127, 2), (400, 17), (9000, 33)])  # block edges
def test_sums_are_their_definitions_at_one_point_after_the_other(n, d, of_classes, dtype):
    X, problem, rng = data(n, d, dtype, of_classes)
    sums = _Sums(LinearRows(X), problem, True)
    Z = np.hstack([X.astype(np.float64), np.ones((n, 1))])
    for _ in range(3):
        theta, b = rng.standard_normal(d), float(rng.standard_normal())
        point = sums.at(theta, b)
        f = Z @ np.append(theta, b)
        r = problem.excess(problem.y - f)
        beta = 2 * problem.cost * r
        inside = beta != 0
        gram = (Z * (2 * problem.cost * inside)[:, None]).T @ Z
        size = 1e-13 * n * (1 + np.abs(Z).max() ** 2)
        np.testing.assert_allclose(point.f, f, rtol=0, atol=1e-13 * (d + 1) * 10)
        np.testing.assert_allclose(point.beta, beta, rtol=0, atol=1e-12 * d)
        assert np.array_equal(sums.band, inside)
        np.testing.assert_allclose(sums.gram, gram, rtol=0, atol=size)
        value = 0.5 * theta @ theta + problem.cost @ r**2
        assert point.value == pytest.approx(value, rel=1e-13 * n)
        gradient = np.append(theta, 0.0) - beta @ Z
        np.testing.assert_allclose(point.gradient, gradient, rtol=0, atol=size)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("of_classes", [False, True])
def test_the_gap_is_that_of_its_dual_variables(of_classes, fit_intercept):
    X, problem, rng = data(500, 4, np.float64, of_classes)
    X, problem = (
        X[problem.cost > 0],
        LossProblem(
            problem.y[problem.cost > 0],
            problem.cost[problem.cost > 0],
            problem.eps,
            True,
            of_classes,
        ),
    )
    sums = _Sums(LinearRows(X), problem, fit_intercept)
    for _ in range(5):
        theta, b = rng.standard_normal(4), float(rng.standard_normal()) if fit_intercept else 0.0
        point = sums.at(theta, b).dual()
        beta, w = point.beta, X.T @ point.beta
        dual = problem.y @ beta - problem.eps * np.abs(beta).sum()
        dual -= 0.25 * (beta**2 / problem.cost).sum() + 0.5 * w @ w
        if fit_intercept:
            assert abs(beta.sum()) <= 1e-13 * np.abs(beta).sum()
        assert point.value - dual == pytest.approx(point.gap, rel=1e-10)


@pytest.mark.parametrize("of_classes", [False, True])
def test_steps_end_at_rounding(of_classes):
    X, problem, _ = data(3000, 6, np.float64, of_classes)
    rows = LinearRows(X)
    start = DualPoint(np.zeros(6), 0.0, np.zeros(3000), np.inf, np.inf)
    *_, last = tall_newton_points(rows, problem, start, True)
    assert last.gap <= 1e-20 * last.value


def test_fits_of_many_rows_take_these_steps(monkeypatch):
    X, problem, _ = data(2000, 8, np.float64, False)
    plain = LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.3, tol=1e-12)
    plain.fit(X, problem.y, problem.cost)
    start = DualPoint(np.zeros(8), 0.0, np.zeros(2000), np.inf, np.inf)
    filled = start._replace(beta=np.tile([0.0, -1.0], 1000))
    monkeypatch.setattr(tall_newton, "_VALUES_OF_BAND", 16_000)
    assert suits(LinearRows(X), filled)
    assert not suits(LinearRows(X), start) and not suits(LinearRows(X[1:]), filled)
    monkeypatch.setattr(tall_newton, "_VALUES", 1)
    assert suits(LinearRows(X), start)
    tall = clone(plain).fit(X, problem.y, problem.cost)
    assert tall.duality_gap_ <= 1e-12 * tall.objective_
    np.testing.assert_allclose(tall.coef_, plain.coef_, rtol=1e-6)
    assert tall.coef_.tobytes() != plain.coef_.tobytes()


def test_threads_do_not_change_a_bit():
    X, problem, rng = data(20_000, 9, np.float64, True)
    theta, found = rng.standard_normal(9), []
    for threads in (1, 2, 3):
        with threadpool_limits(threads):
            sums = _Sums(LinearRows(X), problem, True)
            point = sums.at(theta, 0.5)
        found.append([a.tobytes() for a in (point.f, point.gradient, sums.gram)])
    assert found[0] == found[1] == found[2]
