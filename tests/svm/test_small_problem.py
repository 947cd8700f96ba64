"""Small problems in one compiled call: as the solver in rounds, and which of them are left to it.

That its solutions are optimal is in test_smo.py, for both solvers.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dual_problems import fitted_by
from mlcore.kernels.vector_kernels import as_kernel
from mlcore.svm import SVR, NuSVC, NuSVR, OneClassSVM
from mlcore.svm.smo import smo
from mlcore.svm.smo.feasible_start import start_with_sums
from mlcore.svm.smo.kernel_cache import KernelCache
from mlcore.svm.smo.problem import Problem
from mlcore.svm.smo.small_problem import solve_small
from mlcore.svm.smo.smo import ROUTES

MACHINES = {
    "svr": (SVR(C=3.0), SVR(C=0.5, epsilon=0.0)),
    "nu svr": (NuSVR(), NuSVR(nu=0.2, C=10.0)),
    "nu svc": (NuSVC(nu=0.2), NuSVC(nu=0.05, class_weight="balanced")),
    "probability": (NuSVC(nu=0.3, probability=True, random_state=0),),
    "one class": (OneClassSVM(nu=0.05), OneClassSVM()),
}


def data(n, d=3, seed=0):
    rng = np.random.default_rng([n, d, seed])
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n)


def store(n, cache_size=200.0, **parameters):
    return KernelCache(as_kernel("rbf", **parameters).rows(data(n)[0], double=True), cache_size)


@pytest.fixture
def asked(monkeypatch):
    """Whether each problem was solved in one call."""
    found = []

    def counted(*arguments):
        found.append(solve_small(*arguments))
        return found[-1]

    monkeypatch.setattr(smo, "solve_small", counted)
    return found


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", MACHINES)
def test_machines_are_the_same_by_either_solver(name, weighted, asked):
    X, y = data(90)
    labels = np.digitize(y, [-0.3, 0.4]) if weighted else y > 0.2
    weight = np.random.default_rng(1).choice([0.5, 1.0, 2.0], len(y)) if weighted else None
    for machine in MACHINES[name]:
        target = labels if isinstance(machine, NuSVC) else y
        fresh = (type(machine)(**machine.get_params()) for _ in range(2))
        fitted = vars(fitted_by({"pair": 0}, next(fresh), X, target, weight))
        assert asked and None not in asked
        count = len(asked)
        expected = vars(fitted_by({"pair": 0, "small": 0}, next(fresh), X, target, weight))
        assert len(asked) == count
        for attribute in ("support_", "n_support_", "margin_error_indices_"):
            assert_array_equal(fitted[attribute], expected[attribute])
        # Both are solved to a violation of 1e-12; curvature says what that is of a multiplier.
        for attribute in ("dual_coef_", "intercept_", "dual_objective_", "link_offsets_"):
            if attribute in fitted:
                a, b = (np.asarray(state[attribute]) for state in (fitted, expected))
                assert_allclose(a, b, rtol=1e-6, atol=1e-7 * abs(b).max(), err_msg=attribute)


def test_groups_one_after_the_other_and_mixed_have_the_same_solution():
    n = 70
    rows, mixed = store(n), np.arange(n) % 3 == 1
    in_order = data(n)[0][np.argsort(mixed)]
    sorted_rows = KernelCache(as_kernel("rbf").rows(in_order, double=True), 200.0)
    solutions = []
    for group, of in ((mixed, rows), (np.sort(mixed), sorted_rows)):
        box = np.where(group, -1.0, 0.0), np.where(group, 0.0, 1.0)
        problem = Problem(
            np.zeros(n), *box, group=group.astype(np.int8), total=np.array([7.0, -7.0])
        )
        solutions.append(solve_small(problem, of, 1e-9, False, ROUTES.steps))
    order = np.argsort(mixed)
    assert_allclose(solutions[0].beta[order], solutions[1].beta, atol=1e-7)
    assert solutions[0].objective == pytest.approx(solutions[1].objective, rel=1e-12)


def test_what_is_not_small_or_not_finite_is_left_to_the_solver_in_rounds(asked):
    n = 40
    y = np.where(np.arange(n) % 2, 1.0, -1.0)

    def solved(C, of, **sizes):
        problem = Problem(-y, np.minimum(C * y, 0), np.maximum(C * y, 0))
        asked.clear()
        smo.solve(problem, of, tol=1e-3, routes=smo.Routes(**sizes))
        return asked != [] and asked[0] is not None

    assert solved(1.0, store(n))
    assert not solved(np.inf, store(n))
    assert not solved(1.0, store(n, cache_size=1e-3)) or n <= 64
    assert not solved(1.0, store(n), steps=0)
    assert solved(1.0, store(n), small=n) and not solved(1.0, store(n), small=n - 1)


@pytest.mark.parametrize("totals", [(3.5,), (-2.25,), (4.0, -1.5), (0.0, 2.0)])
def test_a_start_meets_the_sums_at_the_least_gradients(totals):
    n, rng = 30, np.random.default_rng(0)
    group = np.arange(n) % len(totals)
    down = np.array([total < 0 for total in totals])[group]
    box = rng.uniform(0.1, 1.0, n)
    linear = rng.normal(size=n)
    problem = Problem(
        linear, np.where(down, -box, 0), np.where(down, 0, box), group=group.astype(np.int8),
        total=np.array(totals),
    )  # fmt: skip
    beta = start_with_sums(problem, store(n), 8)
    for g, total in enumerate(totals):
        own, cost = beta[group == g], np.where(down, -linear, linear)[group == g]
        assert own.sum() == pytest.approx(total, abs=1e-14)
        free = (own != 0) & (np.abs(own) != box[group == g])
        assert free.sum() <= 1
        assert cost[own != 0].max(initial=-np.inf) < cost[own == 0].min()


def test_progress_is_told_once():
    seen = []
    SVR(callback=lambda **step: seen.append(step)).fit(*data(50))
    assert len(seen) == 1
    assert seen[0]["change"] <= 1e-3
