"""Logistic regressions of many penalties, against worked numbers and fits one by one."""

import warnings
from unittest import mock

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from threadpoolctl import threadpool_limits

from mlcore.checks.errors import ConvergenceWarning
from mlcore.linear_model import LogisticPath, LogisticRegression
from mlcore.linear_model.logistic import logistic_path
from mlcore.linear_model.logistic.separation import SeparatedClasses

COSTS = [1e-3, 0.03, 1.0, 10.0]


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def drawn(n, d, seed=0, k=2):
    rng = np.random.default_rng([n, d, seed])
    X = rng.normal(size=(n, d))
    scores = X[:, :3] @ rng.normal(size=(min(d, 3), k)) + rng.gumbel(size=(n, k))
    y = scores.argmax(axis=1)
    y[:k] = np.arange(k)
    return X, y


def value(W, b, X, y, C, ratio, s=1.0):
    """P by its definition, for two classes or more, in float64."""
    W, b = np.atleast_2d(W).astype(float), np.atleast_1d(b).astype(float)
    Z = X.astype(float) @ W.T + b
    if Z.shape[1] == 1:
        Z = np.hstack([np.zeros_like(Z), Z])
    top = Z.max(axis=1)
    losses = np.log(np.exp(Z - top[:, None]).sum(axis=1)) + top - Z[np.arange(len(y)), y]
    return C * (s * losses).sum() + (1 - ratio) / 2 * (W**2).sum() + ratio * np.abs(W).sum()


def fits_one_by_one(Cs, X, y, ratio, s=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [LogisticRegression(C=C, l1_ratio=ratio, **options).fit(X, y, s) for C in Cs]


def assert_path_is_that_of_fits(path, X, y, ratio, s=None, fits=None, **options):
    """The objectives are at most the gaps above the minimum, for both ways to it."""
    dense = X.toarray() if sparse.issparse(X) else X
    for k, fit in enumerate(fits or fits_one_by_one(path.Cs, X, y, ratio, s, **options)):
        C = path.Cs[k]
        P = value(path.coef[k], path.intercept[k], dense, y, C, ratio, 1.0 if s is None else s)
        rounding = 1e-13 * abs(P)
        assert abs(P - path.objective[k]) <= path.duality_gap[k] + rounding
        assert P - fit.objective_ <= path.duality_gap[k] + rounding
        assert fit.objective_ - P <= fit.duality_gap_ + rounding
        assert path.duality_gap[k] <= 2e-6 * P


@pytest.mark.parametrize(
    ("ratio", "P", "b", "n_nonzero"),
    [(1.0, 11.6450020477966, 0.693647813115993, 8), (0.5, 9.66878891479967, 0.568783799853709, 18)],
)
def test_worked_numbers_of_breast_cancer(ratio, P, b, n_nonzero):
    X, y = cancer()
    path = LogisticRegression(l1_ratio=ratio, tol=1e-10).path(X, y, Cs=[0.01, 0.1])
    assert_allclose(path.objective[1], P, rtol=1e-12)
    assert_allclose(path.intercept[1], b, rtol=1e-6)  # of an excess of 1e-12
    assert path.n_nonzero[1] == n_nonzero
    if ratio == 1:
        expected = [
            -.519478778160923, -.319860462058562, -2.24940575193412, -.735434655942458,
            -.181703781562731, -.0255472554800573, -1.09534542356438, -.162851266121878,
        ]  # fmt: skip
        assert_array_equal(np.flatnonzero(path.coef[1]), [7, 10, 20, 21, 24, 26, 27, 28])
        assert_allclose(path.coef[1][path.coef[1] != 0], expected, rtol=1e-6)
    else:
        assert_allclose(path.coef[1, 19], 0.119139755280436, rtol=1e-5)


@pytest.mark.parametrize("wide", [False, True])
def test_coefficients_are_0_up_to_the_least_cost_and_no_longer(wide, monkeypatch):
    if wide:
        monkeypatch.setattr(logistic_path, "_COLUMNS", 0)
    X, y = cancer()
    least = 0.0045805212231
    Cs = [least / 10, least * (1 - 1e-10), least * 1.001]
    path = LogisticRegression(l1_ratio=1.0).path(X, y, Cs=Cs)
    assert_array_equal(path.n_nonzero[:2], 0)
    assert path.n_nonzero[2] >= 1
    assert_allclose(path.intercept[:2], np.log(y.mean() / (1 - y.mean())), rtol=1e-12)
    grid = LogisticRegression(l1_ratio=1.0).path(X, y, Cs=4)
    assert_allclose(grid.Cs, least * np.array([1, 10, 100, 1000]), rtol=1e-9)
    assert grid.n_nonzero[0] == 0 < grid.n_nonzero[1]


def test_a_number_of_costs_without_absolute_values_is_a_grid():
    X, y = drawn(40, 2)
    assert_allclose(LogisticRegression().path(X, y, Cs=5).Cs, np.logspace(-4, 4, 5))


@pytest.mark.parametrize("ratio", [0.0, 0.4, 1.0])
@pytest.mark.parametrize(("n", "d"), [(5, 1), (255, 3), (256, 4), (257, 5), (600, 17)])
def test_the_path_is_that_of_fits_one_by_one(n, d, ratio):
    X, y = drawn(n, d)
    path = LogisticRegression(l1_ratio=ratio).path(X, y, Cs=COSTS)
    assert isinstance(path, LogisticPath)
    assert_path_is_that_of_fits(path, X, y, ratio)


@pytest.mark.parametrize("ratio", [0.0, 1.0])
def test_other_routes(ratio):
    """More columns than the compiled loop takes, more than rows, CSR, and more classes."""
    for n, d, k, of in [(80, 260, 2, None), (300, 257, 2, None), (90, 6, 3, None),
                        (90, 6, 2, sparse.csr_array), (70, 90, 3, sparse.csr_array)]:  # fmt: skip
        X, y = drawn(n, d, k=k)
        X = X if of is None else of(X)
        path = LogisticRegression(l1_ratio=ratio).path(X, y, Cs=COSTS[:3])
        assert_path_is_that_of_fits(path, X, y, ratio)
        assert path.coef.shape == ((3, d) if k == 2 else (3, k, d))


@pytest.mark.parametrize("ratio", [0.0, 0.4, 1.0])
def test_without_intercept_and_with_weights(ratio):
    X, y = drawn(120, 4)
    s = np.random.default_rng(0).integers(0, 4, 120).astype(float)
    for options in ({"fit_intercept": False}, {}):
        path = LogisticRegression(l1_ratio=ratio, **options).path(X, y, s, Cs=COSTS)
        assert_path_is_that_of_fits(path, X, y, ratio, s, **options)
        copies = np.repeat(np.arange(120), s.astype(int))
        other = LogisticRegression(l1_ratio=ratio, **options).path(X[copies], y[copies], Cs=COSTS)
        assert (np.abs(other.objective - path.objective) <= path.duality_gap + 1e-6).all()
        if "fit_intercept" in options:
            assert not path.intercept.any()


@pytest.mark.parametrize("ratio", [0.0, 1.0])
def test_single_precision(ratio):
    X, y = cancer()
    path = LogisticRegression(l1_ratio=ratio).path(X.astype(np.float32), y, Cs=[0.01, 1.0])
    exact = LogisticRegression(l1_ratio=ratio, tol=1e-8).path(X, y, Cs=[0.01, 1.0])
    assert path.coef.dtype == np.float32
    assert_allclose(path.objective, exact.objective, rtol=1e-5)
    P = [value(path.coef[k], path.intercept[k], X.astype(np.float32), y, path.Cs[k], ratio)
         for k in range(2)]  # fmt: skip
    assert (np.array(P) <= path.objective + path.duality_gap).all()


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6), n=st.integers(4, 80), d=st.integers(1, 6),
    ratio=st.sampled_from([0.0, 0.3, 1.0]), exponent=st.floats(-6, 6),
    most=st.sampled_from([0, 256]),
)  # fmt: skip
def test_the_gap_bounds_the_excess_over_every_point(seed, n, d, ratio, exponent, most):
    """Also over the path at a smaller tol, and those near by."""
    X, y = drawn(n, d, seed)
    rng, C = np.random.default_rng(seed), 10.0**exponent
    with mock.patch.object(logistic_path, "_COLUMNS", most):  # 0: by working sets
        rough = LogisticRegression(l1_ratio=ratio, tol=1.0).path(X, y, Cs=[C / 7, C])
    fine = LogisticRegression(l1_ratio=ratio, tol=1e-7).path(X, y, Cs=[C / 7, C])
    assert (rough.duality_gap >= 0).all()
    for k, cost in enumerate(rough.Cs):
        P = value(rough.coef[k], rough.intercept[k], X, y, cost, ratio)
        best = value(fine.coef[k], fine.intercept[k], X, y, cost, ratio)
        for size in (1e-3, 0.1, 1.0):
            W = fine.coef[k] + size * rng.normal(size=d)
            best = min(best, value(W, fine.intercept[k] + size * rng.normal(), X, y, cost, ratio))
        assert P - best <= rough.duality_gap[k] + 1e-13 * P


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), ratio=st.sampled_from([0.0, 0.5, 1.0]))
def test_laws_of_paths(seed, ratio):
    """Losses fall and penalties rise with C, P* is concave in C, and classes may change places."""
    X, y = drawn(60, 4, seed)
    Cs = np.logspace(-3, 2, 12)
    model = LogisticRegression(l1_ratio=ratio, tol=1e-9)
    path = model.path(X, y, Cs=Cs)
    penalty = (1 - ratio) / 2 * (path.coef**2).sum(axis=1) + ratio * np.abs(path.coef).sum(axis=1)
    losses = (path.objective - penalty) / Cs
    assert (np.diff(losses) <= 1e-5 * losses[0]).all()
    assert (np.diff(penalty) >= -1e-5 * penalty.max()).all()
    inner, t = path.objective[1:-1], (Cs[2:] - Cs[1:-1]) / (Cs[2:] - Cs[:-2])
    chord = t * path.objective[:-2] + (1 - t) * path.objective[2:]
    assert (inner >= chord - path.duality_gap[1:-1] - 1e-12 * inner).all()
    other = model.path(X, 1 - y, Cs=Cs)
    assert_allclose(other.coef, -path.coef, atol=1e-4 * np.abs(path.coef).max())
    moved = model.path(X + 3.0, y, Cs=Cs)
    assert_allclose(moved.coef, path.coef, atol=1e-4 * np.abs(path.coef).max())


def test_a_softmax_of_two_classes_is_the_binary_path_with_twice_the_cost():
    X, y = drawn(60, 4)
    Cs = np.array([0.05, 1.0, 4.0])
    model = LogisticRegression(tol=1e-8)
    rows = logistic_path.LogisticRows(X, y, np.ones(60), None, 2, True)
    softmax = logistic_path.fit_paths(rows, np.ones((1, 60)), Cs, model._settings(), "it")
    binary = model.path(X, y, Cs=2 * Cs)
    assert_allclose(2 * softmax.objective[0], binary.objective, rtol=1e-9)
    difference = softmax.coef[0, :, 1] - softmax.coef[0, :, 0]
    assert_allclose(difference, binary.coef, atol=1e-5)


def test_orders_and_equal_costs_come_back_as_given():
    X, y = drawn(50, 3)
    ascending = LogisticRegression(l1_ratio=0.5).path(X, y, Cs=[0.1, 1.0, 1.0, 5.0])
    mixed = LogisticRegression(l1_ratio=0.5).path(X, y, Cs=[5.0, 1.0, 0.1, 1.0])
    assert_array_equal(mixed.coef, ascending.coef[[3, 1, 0, 2]])
    assert_array_equal(mixed.Cs, [5.0, 1.0, 0.1, 1.0])


def test_constant_and_equal_columns():
    X, y = drawn(60, 3)
    X = np.c_[X, np.full(60, 7.7), X[:, 0]]
    for ratio in (0.0, 0.5, 1.0):
        path = LogisticRegression(l1_ratio=ratio, tol=1e-9).path(X, y, Cs=COSTS)
        assert not path.coef[:, 3].any()
        assert (path.duality_gap <= 1e-8 * path.objective).all()
        if ratio < 1:
            assert_allclose(path.coef[:, 0], path.coef[:, 4], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_units(unit):
    X, y = drawn(60, 3)
    path = LogisticRegression().path(X * unit, y, Cs=COSTS)
    assert np.isfinite(path.objective).all()
    assert (path.objective <= np.array(COSTS) * 60 * np.log(2) * (1 + 1e-12)).all()
    far = LogisticRegression(tol=1e-8).path(X + 1e8, y, Cs=COSTS)
    near = LogisticRegression(tol=1e-8).path((X + 1e8) - 1e8, y, Cs=COSTS)
    assert_allclose(far.objective, near.objective, rtol=1e-5)


def test_extreme_costs():
    X, y = drawn(60, 3)
    for ratio in (0.0, 0.5, 1.0):
        path = LogisticRegression(l1_ratio=ratio).path(X, y, Cs=[1e-300, 1e-12, 1e300])
        assert np.isfinite(path.coef).all()
        assert np.isfinite(path.intercept).all()
        assert_allclose(path.intercept[0], np.log(y.mean() / (1 - y.mean())), rtol=1e-9)
        assert_allclose(path.coef[0], 0, atol=1e-250)


@pytest.mark.parametrize("ratio", [0.0, 1.0])
def test_separable_classes(ratio):
    X, y = load_iris(return_X_y=True)
    y = (y == 0).astype(int)
    path = LogisticRegression(l1_ratio=ratio).path(X, y, Cs=np.logspace(-2, 6, 9))
    assert np.isfinite(path.coef).all()
    assert (np.diff(path.objective) > 0).all()
    with pytest.raises(SeparatedClasses):
        LogisticRegression(l1_ratio=ratio).path(X, y, Cs=[1.0, np.inf])


@pytest.mark.parametrize(("ratio", "of"), [(0.3, np.asarray), (1.0, sparse.csr_array)])
def test_working_sets(ratio, of, monkeypatch):
    """Long and short steps in C, with standardised folds, and an end where sets are too small."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 300)) * (rng.random((80, 300)) < 0.2)
    y = (X[:, :5].sum(axis=1) + 0.3 * rng.normal(size=80) > 0).astype(int)
    calls = []
    steps = logistic_path._by_steps
    monkeypatch.setattr(logistic_path, "_by_steps", lambda *a: calls.append(a[2]) or steps(*a))
    model = LogisticRegression(l1_ratio=ratio)
    Cs = np.r_[0.01, np.logspace(-0.5, 0.5, 6), 30.0]
    path = model.path(of(X), y, Cs=Cs)
    assert not calls and path.n_nonzero[0] == 0 < path.n_nonzero[1] < path.n_nonzero[-1]
    fits = fits_one_by_one(Cs, of(X), y, ratio)
    assert_path_is_that_of_fits(path, of(X), y, ratio, fits=fits)
    monkeypatch.setattr(logistic_path, "_SET", 40)
    other = model.path(of(X), y, Cs=Cs)
    assert 0 < len(calls[0]) < len(Cs)
    assert_path_is_that_of_fits(other, of(X), y, ratio, fits=fits)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_more_columns_than_rows(seed, intercept, monkeypatch):
    """In the span of the samples, far from the origin, with gaps of the coefficients themselves."""
    X, y = drawn(50, 300, seed)
    X += 100 * intercept
    s = np.random.default_rng(seed).integers(0, 3, 50).astype(float)
    calls = []
    monkeypatch.setattr(logistic_path, "_by_steps", lambda *a: calls.append(a))
    for tol in (1.0, 1e-4, 1e-8):
        model = LogisticRegression(tol=tol, fit_intercept=intercept)
        path = model.path(X, y, s, Cs=COSTS)
        best = LogisticRegression(tol=1e-10, fit_intercept=intercept)
        for k, C in enumerate(COSTS):
            P = value(path.coef[k], path.intercept[k], X, y, C, 0.0, s)
            fit = best.set_params(C=C).fit(X, y, s)
            assert P - fit.objective_ <= path.duality_gap[k] + 1e-13 * P
            assert fit.objective_ - P <= fit.duality_gap_ + 1e-13 * P
            assert path.duality_gap[k] <= 2e-2 * tol * P + 1e-9 * P
            assert intercept or path.intercept[k] == 0
    assert not calls


def test_without_penalty_it_is_the_fit():
    X, y = drawn(80, 3)
    path = LogisticRegression(l1_ratio=0.5).path(X, y, Cs=[np.inf, 1.0])
    fit = LogisticRegression(C=np.inf).fit(X, y)
    assert_allclose(path.objective[0], fit.objective_, rtol=1e-8)
    assert_allclose(path.coef[0], fit.coef_[0], rtol=1e-3)
    assert path.duality_gap[0] == np.inf > path.duality_gap[1]


def test_an_end_by_max_iter_is_a_warning():
    X, y = cancer()
    for options in ({}, {"l1_ratio": 1.0}):
        with pytest.warns(ConvergenceWarning, match="max_iter=1 steps ended 1 of 1 fits"):
            LogisticRegression(max_iter=1, **options).path(X, y, Cs=[1.0])


@each(
    ("Cs", "message"),
    [
        ([1.0, 0.0], "Cs"), ([-1.0], "Cs"), ([np.nan], "Cs"), ([], "shape"), ([[1.0]], "shape"),
        (0, "Cs"), ("many", "Cs"),
    ],
)  # fmt: skip
def test_costs_out_of_range(Cs, message):
    X, y = drawn(20, 2)
    with pytest.raises((ValueError, TypeError), match=message):
        LogisticRegression().path(X, y, Cs=Cs)


@pytest.mark.parametrize("ratio", [0.0, 1.0])
def test_threads_change_no_bit(ratio):
    X, y = drawn(400, 6)
    rng = np.random.default_rng(0)
    rows = logistic_path.LogisticRows(X, y, np.ones(400), None, 1, True)
    weights = rng.integers(0, 2, size=(5, 400)).astype(float)
    settings = LogisticRegression(l1_ratio=ratio)._settings()
    found = []
    for n_threads in (1, 4):
        with threadpool_limits(n_threads, user_api="openmp"):
            paths = logistic_path.fit_paths(rows, weights, np.logspace(-2, 2, 40), settings, "it")
            found.append(np.concatenate([field.ravel() for field in paths]))
    assert_array_equal(*found)
