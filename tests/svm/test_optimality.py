"""Proofs of optimality of fitted machines, against the kernel matrix."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mlcore.svm import SVC, NuSVC, OneClassSVM, Optimality

GAMMA = 0.2


def overlapping(n=120, d=4, seed=0, classes=2):
    rng = np.random.default_rng([n, d, seed])
    y = rng.integers(0, classes, n)
    return rng.normal(size=(n, d)) + 0.8 * y[:, None], y


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_evidence_agrees_with_exact_verification(dtype, kernel):
    X, y = overlapping(600, 3)
    X = X.astype(dtype)
    model = SVC(gamma=GAMMA, kernel=kernel).fit(X, y)
    exact = model.verify(X, y)
    assert model.kkt_violation_ <= model.tol and model.converged_
    assert exact.kkt_violation <= 1.2 * model.tol
    assert_allclose(model.dual_objective_, exact.dual_objective, rtol=1e-5)
    assert_allclose(model.primal_objective_, exact.primal_objective, rtol=1e-5)
    assert exact.objective == exact.primal_objective
    primal = exact.dual_objective + exact.duality_gap
    assert_allclose(primal, exact.primal_objective, rtol=1e-12)
    slack = np.maximum(0, 1 - (2 * y - 1) * model.decision_function(X).astype(float)).sum()
    assert_allclose(2 / model.margin_**2 + slack, model.primal_objective_, rtol=1e-4)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("machine", [SVC(C=3.0), NuSVC(nu=0.3)])
def test_multi_class_evidence_is_one_value_per_problem(machine, multi_class):
    X, y = overlapping(200, 4, classes=4)
    model = machine.set_params(multi_class=multi_class, gamma=GAMMA).fit(X, y)
    n_problems = 6 if multi_class == "ovo" else 4
    exact = model.verify(X, y)
    for name, value in vars(exact).items():
        assert value.shape == (n_problems,)
        assert_allclose(getattr(model, f"{name}_"), value, rtol=1e-8, atol=1e-8)
    assert (exact.duality_gap <= 1e-6 * np.abs(exact.dual_objective)).all()


def test_weights_of_another_size_altogether_prove_nothing():
    """Multipliers of order 1 are far outside boxes of 1e-300: no sum of theirs is a number."""
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    tiny = np.full(20, 1e-300)
    for found in (
        NuSVC(nu=0.3).fit(X, y).verify(X, y, sample_weight=tiny),
        OneClassSVM(nu=0.2).fit(X).verify(X, sample_weight=tiny),
    ):
        assert found == Optimality(np.inf, np.inf, -np.inf, np.inf)
