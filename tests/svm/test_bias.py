"""The bias against its definition, and the law that follows: equal scores by every route."""

from functools import partial

import numpy as np
import pytest
from each import each
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import StratifiedKFold, cross_val_score

from contract import case
from mlcore.svm import SVC, SVCCV, SVR, NuSVC, NuSVR, OneClassSVM
from mlcore.svm.smo.bias import constraint_multipliers, round_to_bounds
from mlcore.svm.smo.optimality import measure
from mlcore.svm.smo.problem import Problem

INF = np.inf


def at_the_bounds(seed, epsilon):
    """Multipliers all at a bound or at the kink, and a gradient for which that is optimal."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 12))
    lower, upper = (sign * rng.choice([0.1, 1.0, 7.0], m) for sign in (-1, 1))
    place = rng.integers(0, 3 if epsilon > 0 else 2, m)
    beta = np.choose(place, [lower, upper, np.zeros(m)])
    slack = rng.uniform(0, 1, m)  # of each condition, at the multiplier 0.3
    kink = epsilon * rng.uniform(-1, 1, m)
    gradient = 0.3 + np.choose(place, [slack + epsilon, -slack - epsilon, kink])
    return gradient, beta, lower, upper


def lagrangian_loss(gradient, beta, lower, upper, epsilon, multiplier):
    """Of the Lagrangian's minimum over the boxes: 0 where beta is optimal."""

    def lagrangian(b):
        return (gradient - multiplier) * b + epsilon * np.abs(b)

    least = np.minimum(np.minimum(lagrangian(lower), lagrangian(upper)), 0)
    return (lagrangian(beta) - least).sum()


@pytest.mark.parametrize("epsilon", [0.0, 0.25])
def test_the_interval_is_all_that_the_kkt_conditions_allow(epsilon):
    for seed in range(20):
        gradient, beta, lower, upper = at_the_bounds(seed, epsilon)
        ((low, high, value),) = constraint_multipliers(gradient, beta, lower, upper, epsilon)

        loss = partial(lagrangian_loss, gradient, beta, lower, upper, epsilon)
        with case("seed", seed):
            inner = np.linspace(max(low, -10), min(high, 10), 9)
            assert max(map(loss, inner)) < 1e-12
            assert not np.isfinite(low) or loss(low - 1e-6) > 1e-8
            assert not np.isfinite(high) or loss(high + 1e-6) > 1e-8
            ends = [end for end in (low, high) if np.isfinite(end)]
            assert value == pytest.approx(np.mean(ends), abs=1e-15)


@pytest.mark.parametrize("epsilon", [0.0, 0.25])
def test_rounding_residues_do_not_decide(epsilon):
    for seed in range(20):
        gradient, beta, lower, upper = at_the_bounds(seed, epsilon)
        rng = np.random.default_rng(seed)
        residue = 1e-14 * np.abs(beta).max() * rng.choice([-1, 0, 1], len(beta))
        near = np.clip(beta + residue, lower, upper)
        with case("seed", seed):
            assert_array_equal(
                constraint_multipliers(gradient, near, lower, upper, epsilon),
                constraint_multipliers(gradient, beta, lower, upper, epsilon),
            )
            assert_array_equal(round_to_bounds(near, lower, upper), beta)


def test_free_multipliers_fix_the_value():
    bounds = np.zeros(3), np.ones(3)
    gradient, beta = np.array([0.5, 0.7, 9.0]), np.array([0.2, 0.8, 0.0])
    ((_, _, value),) = constraint_multipliers(gradient, beta, *bounds)
    assert value == pytest.approx(0.6)
    found = constraint_multipliers(gradient, beta, *bounds, 0.0, np.array([0, 1, 1], dtype=np.int8))
    assert [v for _, _, v in found] == [0.5, 0.7]


def test_open_intervals_have_their_end():
    zero, one = np.zeros(2), np.ones(2)
    gradient = np.array([0.5, 0.7])
    assert constraint_multipliers(gradient, zero, zero, one) == [(-INF, 0.5, 0.5)]
    assert constraint_multipliers(gradient, one, zero, one) == [(0.7, INF, 0.7)]
    assert constraint_multipliers(gradient, zero, zero, zero) == [(-INF, INF, 0.0)]


def data(n, classes, seed):
    rng = np.random.default_rng([n, classes, seed])
    y = rng.permutation(np.arange(n) % classes)
    return rng.normal(size=(n, 2)) + 0.3 * (seed % 3) * y[:, None], y


def scores_by_every_route(X, y, C, cv, **params):
    """Mean scores of SVCCV with all of K and with few of its rows, and of a plain search."""
    kwargs = dict(Cs=[C / 5, C, 3 * C], gammas=[0.05, 0.4], cv=cv, **params)
    ours = [
        SVCCV(cache_size=cache, **kwargs).fit(X, y).cv_results_["mean_test_score"][3]
        for cache in (200, 1e-3)
    ]
    theirs = cross_val_score(SVC(C=C, gamma=0.4, **params), X, y, cv=StratifiedKFold(cv))
    return [*ours, theirs.mean()]


@settings(max_examples=10)
@example(12, 2, 0, 1e-4, 5, "balanced")
@given(
    st.integers(5, 25), st.integers(2, 4), st.integers(0, 2**16),
    st.sampled_from([1e-9, 1e-6, 1e-4, 1e-2, 0.1, 1.0]), st.sampled_from([2, 3, 5]),
    st.sampled_from([None, "balanced"]),
)  # fmt: skip
def test_scores_do_not_depend_on_the_route(n, classes, seed, C, cv, class_weight):
    X, y = data(n * classes, classes, seed)
    found = scores_by_every_route(X, y, C, cv, class_weight=class_weight)
    assert_allclose(found, found[0], rtol=0, atol=1e-12)


@settings(max_examples=2)
@given(st.integers(0, 99), st.sampled_from([1e-6, 1e-3, 0.1]), st.sampled_from([2, 5]))
@example(0, 1e-4, 2)
@example(0, 0.1, 5)
def test_scores_do_not_depend_on_the_route_with_all_of_the_kernel(seed, C, cv):
    X, y = data(360, 3, seed)  # more to train on than are solved to rounding error anyway
    found = scores_by_every_route(X, y, C, cv, tol=1e-9)
    assert_allclose(found, found[0], rtol=0, atol=1e-12)


@each(
    "machine", [SVC(C=1e-3), NuSVC(nu=1.0), SVR(C=1e-3), NuSVR(C=1e-3, nu=1.0), OneClassSVM(nu=1.0)]
)
def test_the_bias_of_multipliers_at_their_bounds_is_a_middle(machine):
    X, y = data(40, 2, 1)
    machine = type(machine)(**{**machine.get_params(), "gamma": 0.4}).fit(X, y)
    caches = [type(machine)(**{**machine.get_params(), "cache_size": c}) for c in (1e-3, 1.0)]
    for other in caches:
        assert_allclose(other.fit(X, y).intercept_, machine.intercept_, rtol=1e-12, atol=1e-13)
    if not isinstance(machine, NuSVC):  # whose multipliers keep a billionth from their bounds
        assert set(machine.margin_error_indices_) == set(machine.support_)


def test_the_middle_of_the_interval_is_exact():
    X, y = data(40, 2, 1)  # all multipliers are C: f is known up to b, of which y f <= 1 is asked
    machine = SVC(C=1e-3, gamma=0.4).fit(X, y)
    signs = np.where(y == machine.classes_[1], 1.0, -1.0)
    K = np.exp(-0.4 * ((X[:, None] - X) ** 2).sum(axis=2))
    products = 1e-3 * K @ signs
    low, high = (-1 - products)[signs < 0].max(), (1 - products)[signs > 0].min()
    assert machine.intercept_[0] == pytest.approx(0.5 * (low + high), abs=1e-14)
    problem = Problem(-signs, np.minimum(1e-3 * signs, 0), np.maximum(1e-3 * signs, 0))
    optimality = measure(problem, 1e-3 * signs, products, -machine.intercept_)
    assert optimality.kkt_violation == 0
