"""The interior point method against the gap from its definition, and against SMO."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse as sp

from mlcore.svm import SVC, SVR, LinearSVC, LinearSVR
from mlcore.svm.linear.interior_point import interior_points
from mlcore.svm.linear.linear_rows import LinearRows
from mlcore.svm.linear.loss_problem import LossProblem


def problem_of(of_classes, cost=1.0):
    rng = np.random.default_rng(1)
    X = np.where(rng.random((60, 7)) < 0.7, rng.normal(size=(60, 7)), 0)
    f = X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=60)
    y = np.where(f > 0.2, 1.0, -1.0) if of_classes else f + 3
    return X, LossProblem(
        y, cost * rng.uniform(0.2, 1, 60), 0.0 if of_classes else 0.1, False, of_classes
    )


@pytest.mark.parametrize("of_classes", [True, False])
def test_it_ends_at_the_optimum_for_any_cost(of_classes):
    for cost in (1e-3, 1.0, 1e4):
        X, problem = problem_of(of_classes, cost)
        low, high = problem.bounds(problem.cost)
        for rows in (LinearRows(X), LinearRows(sp.csr_array(X))):
            *_, last = interior_points(rows, problem, True)
            beta, w = last.beta, last.theta
            losses = np.maximum((problem.y - X @ w - last.b) * problem.y, 0)
            if not of_classes:
                losses = np.maximum(np.abs(problem.y - X @ w - last.b) - problem.eps, 0)
            primal = 0.5 * w @ w + problem.cost @ losses
            v = beta @ X
            dual = problem.y @ beta - problem.eps * np.abs(beta).sum() - 0.5 * v @ v
            assert abs(beta.sum()) <= 1e-12 * np.abs(beta).sum()
            assert ((beta >= low) & (beta <= high)).all()
            assert -1e-12 * primal <= primal - dual <= 1e-8 * primal
        if cost > 1:
            continue
        machine = SVC if of_classes else SVR
        eps = {} if of_classes else {"epsilon": problem.eps}
        other = machine(kernel="linear", tol=1e-8, **eps).fit(X, problem.y, problem.cost)
        assert_allclose(primal, other.objective_, rtol=2e-8)
        # Variables at bounds are exactly there, as those of SMO.
        assert np.count_nonzero(beta) <= other.n_support_.sum() + 7


def test_without_an_intercept_the_sum_is_free():
    X, problem = problem_of(False)
    *_, last = interior_points(LinearRows(X), problem, False)
    assert last.b == 0
    assert abs(last.beta.sum()) > 1e-3
    # Brackets are differences of numbers of the size of their loss: each rounds by their last bits.
    assert -len(X) * np.finfo(float).eps * last.value <= last.gap <= 1e-8 * last.value


def test_large_costs_of_nearly_square_samples_end_without_a_warning():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(620, 500))
    f = X @ rng.normal(size=500) / 20 + rng.normal(size=620)
    for model, y in (
        (LinearSVR(C=1e3, epsilon=0.1), f),
        (LinearSVC(C=1e3, loss="hinge"), np.sign(f)),
    ):
        model.fit(X, y)
        assert model.converged_
        at = model.verify(X, y)
        assert 0 <= at.duality_gap <= model.tol * at.objective
