"""Formulations: limits of C and nu, and what has no solution."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import svm as peer

from mlcore.svm import SVC, NuSVC, NuSVR, formulations

GAMMA = 0.2


def overlapping(n=120, d=4, seed=0, classes=2):
    rng = np.random.default_rng([n, d, seed])
    y = rng.integers(0, classes, n)
    return rng.normal(size=(n, d)) + 0.8 * y[:, None], y


def test_hard_margin_is_the_limit_of_large_c():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(30, 2)) - 3, rng.normal(size=(30, 2)) + 3])
    y = np.repeat([0, 1], 30)
    hard = SVC(kernel="linear", C=np.inf).fit(X, y)
    soft = peer.SVC(kernel="linear", C=1e4, tol=1e-8).fit(X, y)
    assert_allclose(hard.coef_, soft.coef_, atol=1e-6)
    assert_allclose(hard.functional_margins(X, y).min(), 1, atol=1e-8)
    assert_allclose(hard.geometric_margins(X, y).min(), hard.margin_ / 2, rtol=1e-8)
    assert len(hard.margin_error_indices_) == 0
    assert 0 <= hard.verify(X, y).duality_gap < 1e-8


@pytest.mark.parametrize("n", [5, 400])
def test_hard_margin_refuses_what_cannot_be_separated(n):
    X = np.linspace(0, 1, n)[:, None]
    y = np.arange(n) % 2
    model = SVC(kernel="linear", C=np.inf)
    with pytest.raises(ValueError, match="C=inf .* class 1 cannot be separated from class 0"):
        model.fit(X, y)
    assert not hasattr(model, "support_")


def test_tiny_weights_change_nothing_in_nu_svc():
    X, y = overlapping(300, 3)
    machine = NuSVC(nu=0.4, gamma=GAMMA, tol=1e-6)
    f = machine.fit(X, y).decision_function(X)
    g = machine.fit(X, y, sample_weight=np.full(300, 1e-6)).decision_function(X)
    assert_allclose(f, g, atol=1e-3)


def test_class_weight_of_nu_svc_that_no_nu_allows_gives_up_the_light_class():
    X, y = overlapping(100, 2)
    model = NuSVC(nu=0.3, gamma=GAMMA, class_weight={0: 1e3, 1: 1e-4}).fit(X, y)
    assert np.mean(model.predict(X) == 0) > 0.95


def test_nu_svc_of_classes_that_coincide_is_constant_with_a_warning():
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    y = np.array([0, 1, 0, 1])
    with pytest.warns(UserWarning, match="nu=0.5 the margin is zero"):
        model = NuSVC(nu=0.5, gamma=1.0).fit(X, y)
    assert_array_equal(model.rho_, [0.0])
    assert_allclose(model.decision_function([[0.3], [7.0]]), 0, atol=1e-6)
    assert_allclose(model.verify(X, y).duality_gap, 0, atol=1e-6)


@each("tol", [1e-1, 1e-3])
@each("seed", range(4))
def test_nu_svc_warns_of_a_margin_that_cannot_be_told_from_zero(seed, tol):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(600, 2)), rng.integers(0, 2, 600)  # no relation: the hulls meet
    with pytest.warns(UserWarning, match="NuSVC: at nu=0.3 the margin is zero"):
        NuSVC(kernel="linear", nu=0.3, tol=tol).fit(X, y)


def test_infeasible_nu_is_refused_before_any_kernel_value():
    def never(A, B):
        raise AssertionError("the kernel was asked")

    X, y = overlapping(40, classes=3)
    y[:] = 0
    y[:6], y[6:16] = 1, 2
    with pytest.raises(ValueError, match=r"nu=0.5 is infeasible .* largest feasible nu is 0.4"):
        NuSVC(nu=0.5, kernel=never).fit(X, y)
    assert NuSVC(nu=2 * 6 / 30, gamma=GAMMA).fit(X, y).converged_
    for nu in (0, 1.5, "x"):
        with pytest.raises((ValueError, TypeError), match=f"nu={nu!r}"):
            NuSVC(nu=nu).fit(X, y)


@each("n", [120, 500, 1000])
@each("seed", range(3))
def test_nu_bounds_the_share_of_margin_errors(n, seed):
    X, y = overlapping(n, 3, seed)
    model = NuSVC(nu=0.6, gamma=GAMMA).fit(X, y)
    assert np.mean(model.functional_margins(X, y) < 1 - 1e-6) <= 0.6
    targets = X[:, 0] + 0.3 * np.random.default_rng(seed).normal(size=n)
    tube = NuSVR(nu=0.3, gamma=GAMMA).fit(X, targets)
    assert np.mean(np.abs(targets - tube.predict(X)) > tube.epsilon_ + 1e-12) <= 0.3


def test_problems_without_multipliers_do_not_make_tol_zero():
    formulation = formulations.NuClassification(0.5, "NuSVC")
    target = np.array([1.0, 1.0, -1.0, -1.0])
    usual = formulation.problem(target, np.full(4, 0.25))
    empty = formulation.problem(target, np.array([0.25, 0.25, 0.0, 0.0]))
    assert not empty.total.any()
    expected = formulation.gradient_scale([usual], 1.0)
    assert formulation.gradient_scale([empty, usual], 1.0) == expected
    assert_allclose(expected, (0.25, 1.0), rtol=1e-8)
