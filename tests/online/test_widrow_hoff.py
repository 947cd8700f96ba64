"""Widrow and Hoff's rule: its definition, its bounds, its refusals."""

import math
import pickle

import numpy as np
import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from sklearn.base import clone

import mlcore
from mlcore.linear_model import LinearRegression
from mlcore.online import OnlineGradientDescent, WidrowHoff


def stream(seed, n=40, d=3, k=2):
    rng = np.random.default_rng([seed, n, d, k])
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-2, 3)
    return X, X @ rng.normal(size=(d, k)) + rng.normal(size=(n, k)), rng.integers(0, 3, n) + 0.0


@each("form", [np.asarray, sp.csr_array])
@each("dtype", [np.float32, np.float64])
@each("intercept", [True, False])
def test_rounds_are_those_of_the_definition(intercept, dtype, form):
    X, Y, s = stream(0)
    X, s = X.astype(dtype), s + 0.5
    model = WidrowHoff(fit_intercept=intercept).fit(form(X), Y, s)
    rows = np.c_[X.astype(float), np.ones(40)][:, : 3 + intercept]
    step = 1 / (4 * (s * (rows**2).sum(axis=1)).max())
    assert_allclose(model.step_, step, rtol=1e-12)
    w, loss = np.zeros((3 + intercept, 2)), np.zeros(2)
    for x, y, weight in zip(rows, Y, s, strict=True):
        r = y - x @ w
        loss += weight * r**2
        w += 2 * step * weight * np.outer(x, r)
    # Each round rounds w; steps this small do not enlarge the errors of earlier ones.
    tolerance = 40 * 8 * np.finfo(dtype).eps
    assert_allclose(model.coef_, w[:3].T, rtol=0, atol=tolerance * abs(w).max())
    assert_allclose(model.loss_, loss, rtol=tolerance)
    if intercept:
        assert_allclose(model.intercept_, w[3], rtol=0, atol=tolerance * abs(w).max())
    assert model.coef_.dtype == dtype and model.n_rounds_ == 40
    expected = X @ w[:3] + (w[3] if intercept else 0)
    assert_allclose(model.predict(form(X)), expected, rtol=0, atol=tolerance * abs(expected).max())


def test_it_is_online_gradient_descent_on_the_squared_loss():
    X, Y, _ = stream(1, k=1)
    model = WidrowHoff().fit(X, Y[:, 0])
    radius = model.step_ * math.sqrt(40) * 1e9
    rival = OnlineGradientDescent(
        loss="squared", projection=None, radius=radius, lipschitz=1e9, horizon=40
    ).fit(np.c_[X, np.ones(40)], Y[:, 0])
    assert_allclose(np.r_[model.coef_, model.intercept_], rival.coef_, rtol=1e-11, atol=1e-13)
    assert_allclose(model.loss_, rival.loss_, rtol=1e-12)
    u = np.array([0.5, -1.0, 2.0, 0.25])
    bound = model.observed_bound(u[:3], u[3])
    assert_allclose(bound, rival.observed_bound(u), rtol=1e-11)


@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([None, 0.1, 0.5, 1.0]))
def test_the_loss_keeps_to_its_bounds_against_every_vector(seed, intercept, share):
    X, Y, s = stream(seed)
    Y = Y if seed % 2 else Y**3 * 10  # also of targets that no line is near
    s += 0.25
    size = (s * ((X**2).sum(axis=1) + intercept)).max()
    step = share if share is None else share / size
    model = WidrowHoff(fit_intercept=intercept, step=step).fit(X, Y, s)
    best = LinearRegression(fit_intercept=intercept).fit(X, Y, s)
    rng = np.random.default_rng(seed)
    for u, c in (
        (best.coef_, best.intercept_),
        (best.coef_ * 0.9, best.intercept_ * 0.9),
        (rng.normal(size=(2, 3)), rng.normal(size=2) * intercept),
    ):
        theirs = s @ (Y - X @ u.T - c) ** 2
        slack = 1e-11 * (theirs + model.loss_)
        assert (model.loss_ - theirs <= model.observed_bound(u, c) + slack).all()
        if share is None:
            limit = 2 * theirs + ((u**2).sum(axis=1) + c**2) / model.step_
            assert (model.loss_ <= limit + slack).all()


def test_many_passes_come_near_to_least_squares():
    X, Y, s = stream(2)
    model = WidrowHoff(step=0.2 / ((X**2).sum(axis=1) + 1).max() / 2)
    for _ in range(1000):
        model.partial_fit(X, Y, s)
    r = Y - model.predict(X)
    assert (s @ r**2 <= 1.3 * LinearRegression().fit(X, Y, s).objective_).all()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rounds_together_are_rounds_in_parts(form, tmp_path):
    X, Y, s = stream(2)
    step = 0.2 / ((X**2).sum(axis=1) + 1).max() / 2
    whole = WidrowHoff(step=step).fit(form(X), Y, s)
    parts = WidrowHoff(step=step)
    parts.partial_fit(form(X[:15]), Y[:15], s[:15])
    mlcore.save(parts, tmp_path / "model.npz")
    for other in (pickle.loads(pickle.dumps(parts)), mlcore.load(tmp_path / "model.npz"), parts):
        other.partial_fit(form(X[15:]), Y[15:], s[15:])
        assert_array_equal(other.coef_, whole.coef_)
        assert_array_equal(other.loss_, whole.loss_)
        assert other.n_rounds_ == whole.n_rounds_ == np.count_nonzero(s)
        assert_array_equal(other.observed_bound(whole.coef_), whole.observed_bound(whole.coef_))
    one = WidrowHoff(step=step).fit(X, Y[:, 0], s)
    assert_allclose(one.coef_, whole.coef_[0], rtol=1e-12)
    assert isinstance(one.loss_, float) and isinstance(one.observed_bound(one.coef_), float)
    rounds = whole.n_rounds_
    assert whole.partial_fit(X[:15], Y[:15]).n_rounds_ == rounds + 15  # rounds go on after fit
    assert whole.fit(X[:15], Y[:15]).n_rounds_ == 15


def test_refusals():
    X, Y, _ = stream(3)
    model = WidrowHoff()
    for how, message in (
        ({"step": 0.0}, "step=0.0"),
        ({"step": "small"}, "step="),
        ({"step": 1e9}, r"step=1e\+09 must be at most"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            WidrowHoff(**how).fit(X, Y)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.where(X > 0, X, np.nan), Y)
    with pytest.raises(ValueError, match="square overflows"):
        model.fit(X * 1e200, Y)
    with pytest.raises(ValueError, match="squares of the samples over- or underflow: rescale X"):
        model.fit(X * 1e10, Y, np.full(40, 1e300))
    with pytest.raises(ValueError, match="the steps overflow"):
        model.fit(X.astype(np.float32), Y * 1e100)
    assert not hasattr(model, "coef_")
    model.fit(X, Y)
    for given_ in (([1.0, 2.0, 3.0],), ([[1.0] * 3] * 2, [1.0] * 3), ([[math.nan] * 3] * 2,)):
        with pytest.raises(ValueError, match="coef"):
            model.observed_bound(*given_)
    before = pickle.dumps(model.partial_fit(X[:9], Y[:9]))
    with pytest.raises(ValueError, match="step=.* must be at most"):
        model.partial_fit(X * 1e3, Y)
    with pytest.raises(ValueError, match="y has 1 columns"):
        model.partial_fit(X, Y[:, 0])
    assert pickle.dumps(model) == before


def test_the_solver_of_0_2_makes_the_model(tmp_path):
    X, Y, _ = stream(4)
    model = LinearRegression(solver="lms", fit_intercept=False, alpha=0.0)
    assert type(model) is WidrowHoff and model.get_params() == {
        "fit_intercept": False,
        "step": None,
    }
    assert type(clone(model)) is WidrowHoff
    assert_array_equal(model.fit(X, Y).coef_, WidrowHoff(fit_intercept=False).fit(X, Y).coef_)
    with pytest.raises(ValueError, match="alpha=1.0 must be 0 with solver='lms'"):
        LinearRegression(solver="lms", alpha=1.0)
    for parameter in ("solver", "step"):
        with pytest.raises(TypeError, match=parameter):
            LinearRegression(**{parameter: None})


def state_of_0_2(model, several):
    """The attributes that ``LinearRegression(solver="lms")`` of 0.2 had."""
    zeros, several_values = np.zeros(3), np.atleast_1d(model.intercept_)
    kept = {name: value for name, value in vars(model).items() if name not in ("step", "_run_")}
    return kept | {
        "alpha": 0.0, "solver": "lms", "step": model.step, "solver_": "lms", "origin_": zeros,
        "_gradients_": model._run_.squares, "_center_": zeros, "_powers_": zeros.astype(np.int64),
        "_target_mean_": several_values, "_target_powers_": np.zeros(len(several_values), np.int64),
        "_intercepted_": True, "_several_": several, "_statistics": (),
    }  # fmt: skip


@pytest.mark.parametrize("several", [False, True])
def test_files_and_pickles_of_0_2_go_on(several, tmp_path):
    X, Y, _ = stream(5)
    Y = Y if several else Y[:, 0]
    model = WidrowHoff(step=1e-9).fit(X[:20], Y[:20])
    old = LinearRegression.__new__(LinearRegression)
    old.__dict__ = state_of_0_2(model, several)
    mlcore.save(old, tmp_path / "old.npz")
    for again in (mlcore.load(tmp_path / "old.npz"), pickle.loads(pickle.dumps(old))):
        assert type(again) is WidrowHoff and vars(again).keys() == vars(model).keys()
        again.partial_fit(X[20:], Y[20:])
        whole = WidrowHoff(step=1e-9).fit(X, Y)
        assert_array_equal(again.coef_, whole.coef_)
        assert_array_equal(again.loss_, whole.loss_)
    unfitted = LinearRegression.__new__(LinearRegression)
    unfitted.__dict__ = {"alpha": 0.0, "fit_intercept": True, "solver": "lms", "step": 0.5}
    mlcore.save(unfitted, tmp_path / "old.npz")
    assert repr(mlcore.load(tmp_path / "old.npz")) == "WidrowHoff(step=0.5)"
