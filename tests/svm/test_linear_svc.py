"""Linear SVMs of classes: worked numbers, other solvers, laws, limits."""

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from sklearn.datasets import load_breast_cancer
from sklearn.svm import LinearSVC as Liblinear
from threadpoolctl import threadpool_limits

from mlcore.checks.errors import ConvergenceWarning
from mlcore.datasets import load_iris
from mlcore.svm import SVC, SVR, CostPath, LinearSVC, LinearSVR, Optimality
from mlcore.svm.linear import solution
from mlcore.svm.linear.dual_descent import steps_left
from mlcore.svm.linear.linear_machine import constant_columns
from mlcore.svm.linear.loss_problem import DualPoint

LOSSES = "hinge", "squared_hinge"


def iris():
    X, y = load_iris()
    return X[y > 0].astype(float), y[y > 0]


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def samples(seed, n=60, d=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X[:, 0] - X[:, 1] + rng.normal(size=n) > 0.3).astype(int)
    y[:2] = 0, 1
    return X, y, rng.integers(1, 4, size=n).astype(float)


def objective(X, y, w, b, C=1.0, s=None, loss="hinge"):
    slack = np.maximum(1 - (2 * y - 1) * (X @ w + b), 0)
    s = np.ones(len(y)) if s is None else s
    return 0.5 * w @ w + C * s @ (slack**2 if loss == "squared_hinge" else slack)


def tight(loss, **params):
    return LinearSVC(loss=loss, tol=1e-10, **params)


# Faces and active sets in 40 digits, with strict inequalities outside of them.
WORKED = {
    "iris, hinge": (
        iris, "hinge", 15.759871899529, -6.7810612244898,
        [-0.595491365777079, -0.975886970172686, 2.03215070643642, 2.00611616954474],
    ),
    "iris, squared": (
        iris, "squared_hinge", 13.4752966501593, -5.78069759587295,
        [-0.535386763115772, -0.642550219958217, 1.61818932605958, 1.82638797896827],
    ),
    "cancer, hinge": (
        cancer, "hinge", 26.525455159809, 0.0442531053382238,
        [-0.321136047937201, -0.0970782930125482, -0.296063198491609, -0.270036520287335],
    ),
    "cancer, squared": (
        cancer, "squared_hinge", 31.0322691912948, -0.221021382391122,
        [0.270635073669736, 0.0148792970998159, 0.244094344421322, 0.159336498161772],
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::mlcore.checks.errors.ConvergenceWarning")
@pytest.mark.parametrize("case", WORKED)
def test_worked_numbers(case):
    """The fits go on until rounding ends them."""
    data, loss, P, b, w = WORKED[case]
    X, y = data()
    model = LinearSVC(loss=loss, tol=1e-16).fit(X, y)
    assert_allclose(model.objective_, P, rtol=3e-14)
    # A plain loss grows linearly along the edge of its minimum, which leaves fewer digits of w.
    rtol = 1e-12 if loss == "squared_hinge" else 1e-8
    assert_allclose(model.intercept_[0], b, rtol=rtol)
    assert_allclose(model.coef_[0, : len(w)], w, rtol=rtol)
    assert 0 <= model.duality_gap_ < 1e-10


def test_the_worked_active_sets():
    X, y = iris()
    assert tight("squared_hinge").fit(X, y).n_support_ == 32
    beta = np.abs(tight("hinge").fit(X, y).dual_coef_[0])
    at_cost = beta > 1 - 1e-6
    assert at_cost.sum() == 19 and ((beta > 1e-6) & ~at_cost).sum() == 4


@each("C", [0.01, 1.0, 30.0])
@each("seed", range(3))
def test_hinge_is_the_linear_kernel_machine(seed, C):
    X, y, s = samples(seed)
    model = tight("hinge", C=C).fit(X, y, s)
    other = SVC(kernel="linear", C=C, tol=1e-8).fit(X, y, s)
    assert_allclose(model.objective_, other.objective_, rtol=1e-9)
    assert_allclose(model.coef_, other.coef_, rtol=0, atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_squared_hinge_is_that_of_liblinear_once_its_intercept_is_free(seed):
    X, y, _ = samples(seed)
    model = tight("squared_hinge").fit(X, y)
    other = Liblinear(dual=False, tol=1e-12, intercept_scaling=1e4, max_iter=100_000).fit(X, y)
    assert_allclose(model.coef_, other.coef_, rtol=0, atol=1e-5)
    assert_allclose(model.intercept_, other.intercept_, rtol=0, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n", [30, 900, 9_000])
def test_every_route_ends_at_a_small_gap(n, loss):
    """Newton's method, the augmented Lagrangian and coordinate descent, with starts on parts."""
    rng = np.random.default_rng(n)
    for d in (3, 70):
        X = rng.normal(size=(n, d))
        y = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
        forms = X, X.astype(np.float32), sp.csr_array(X * (rng.random((n, d)) < 0.2))
        for i, form in enumerate(forms):
            fit_intercept = (i + (d > 3) + (loss == "hinge")) % 2 == 0  # all pairs
            model = LinearSVC(loss=loss, tol=1e-5, fit_intercept=fit_intercept).fit(form, y)
            seen = model.verify(form, y)
            assert model.converged_
            assert seen.duality_gap <= 1e-5 * seen.objective
            assert_allclose(seen.objective, model.objective_, rtol=1e-12)
            dense = form.toarray() if sp.issparse(form) else form.astype(float)
            w, b = model.coef_[0].astype(float), model.intercept_[0]
            assert_allclose(model.objective_, objective(dense, y, w, b, loss=loss), rtol=1e-9)
            assert fit_intercept or b == 0
            assert model.coef_.dtype == form.dtype


@pytest.mark.parametrize("loss", LOSSES)
def test_wide_data(loss):
    rng = np.random.default_rng(0)
    for n, d in ((40, 300), (1_200, 1_500)):
        X = sp.random_array((n, d), density=0.05, random_state=rng, format="csr")
        y = rng.integers(0, 2, size=n)
        for form in (X, X.toarray()):
            model = LinearSVC(loss=loss).fit(form, y)
            assert model.verify(form, y).duality_gap <= 1e-4 * model.objective_


@settings(max_examples=20)
@given(st.integers(0, 2**16), st.sampled_from(LOSSES), st.floats(-3, 3), st.floats(-3, 3))
def test_the_gap_bounds_what_any_other_function_gains(seed, loss, size, step):
    X, y, s = samples(seed)
    model = LinearSVC(10.0**size, loss=loss, tol=0.1).fit(X, y, s)
    rng = np.random.default_rng(seed)
    w = model.coef_[0] + 10.0**step * rng.normal(size=4)
    b = model.intercept_[0] + rng.normal()
    other = objective(X, y, w, b, 10.0**size, s, loss)
    assert model.duality_gap_ >= model.objective_ - other
    assert model.dual_objective_ <= other


@pytest.mark.parametrize("loss", LOSSES)
@settings(max_examples=8)
@given(seed=st.integers(0, 2**16))
def test_laws_of_weights_and_transformations(loss, seed):
    X, y, s = samples(seed)
    model = tight(loss, C=0.7).fit(X, y, s)
    w, b, P = model.coef_[0], model.intercept_[0], model.objective_
    rows = np.repeat(np.arange(len(y)), s.astype(int))
    assert_allclose(tight(loss, C=0.7).fit(X[rows], y[rows]).objective_, P, rtol=1e-9)
    assert_allclose(tight(loss, C=0.35).fit(X, y, 2 * s).objective_, P, rtol=1e-9)
    absent = np.r_[s, np.zeros(5)]
    more = tight(loss, C=0.7).fit(np.r_[X, 9 * X[:5]], np.r_[y, 1 - y[:5]], absent)
    assert_allclose(more.coef_[0], w, rtol=0, atol=1e-6)
    assert not more.dual_coef_[:, -5:].any()
    flipped = tight(loss, C=0.7).fit(X, 1 - y, s)
    assert_allclose(flipped.coef_[0], -w, rtol=0, atol=1e-5)
    assert_allclose(flipped.objective_, P, rtol=1e-9)
    shifted = tight(loss, C=0.7).fit(X + 7.0, y, s)
    assert_allclose(shifted.coef_[0], w, rtol=0, atol=1e-5)
    if loss == "squared_hinge":
        assert_allclose(shifted.intercept_[0], b - 7 * w.sum(), rtol=0, atol=1e-5)
    order = np.random.default_rng(seed).permutation(len(y))
    assert_allclose(tight(loss, C=0.7).fit(X[order], y[order], s[order]).objective_, P, rtol=1e-9)
    columns = tight(loss, C=0.7).fit(X[:, ::-1], y, s)
    assert_allclose(columns.coef_[0, ::-1], w, rtol=0, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_path_has_the_machines_of_its_costs(loss):
    X, y, s = samples(3)
    Cs = [10.0, 0.01, 1.0, 0.1]
    path = LinearSVC(loss=loss, tol=1e-8).path(X, y, s, Cs=Cs)
    assert isinstance(path, CostPath) and path.coef.shape == (4, 4)
    for k, C in enumerate(Cs):
        model = LinearSVC(C, loss=loss, tol=1e-8).fit(X, y, s)
        assert abs(path.objective[k] - model.objective_) <= path.duality_gap[k] + model.duality_gap_
    order = np.argsort(Cs)
    assert (np.diff(np.linalg.norm(path.coef[order], axis=1)) > -1e-6).all()
    losses = (path.objective - 0.5 * (path.coef**2).sum(axis=1)) / Cs
    assert (np.diff(losses[order]) < 1e-6).all()
    three = LinearSVC(loss=loss).path(X, y + (X[:, 2] > 1), Cs=Cs)
    assert three.coef.shape == (4, 3, 4) and three.objective.shape == (4, 3)
    with pytest.raises(ValueError, match="Cs must be above 0"):
        LinearSVC().path(X, y, Cs=[0.0, 1.0])


@pytest.mark.parametrize("loss", LOSSES)
def test_several_classes_are_one_problem_each(loss):
    X, y = load_iris()
    model = tight(loss).fit(X, y)
    for k in range(3):
        one = tight(loss).fit(X, y == k)
        assert_allclose(model.objective_[k], one.objective_, rtol=1e-10)
        assert_allclose(model.coef_[k], one.coef_[0], rtol=0, atol=1e-5)
    assert model.decision_function(X).shape == (150, 3)
    assert_array_equal(model.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)])
    assert model.n_support_.shape == model.margin_.shape == (3,)
    assert isinstance(model.verify(X, y), Optimality)


def test_dual_variables_make_the_coefficients():
    X, y, s = samples(5)
    for loss in LOSSES:
        model = tight(loss, class_weight={0: 2.0, 1: 0.5}).fit(X, y, s)
        beta = model.dual_coef_[0]
        assert_allclose(beta @ X, model.coef_[0], rtol=0, atol=1e-6)
        assert abs(beta.sum()) < 1e-12 and (beta * (2 * y - 1) >= 0).all()
        cost = s * np.where(y == 0, 2.0, 0.5)
        slack = np.maximum(1 - model.functional_margins(X, y), 0)
        if loss == "hinge":
            assert (np.abs(beta) <= cost * (1 + 1e-12)).all()
        else:
            assert_allclose(np.abs(beta), 2 * cost * slack, rtol=1e-6, atol=1e-9)
        assert_array_equal(model.support(X, y), np.flatnonzero(beta))
        assert model.n_support_ == np.count_nonzero(beta)


def test_margins():
    X, y, _ = samples(1)
    model = LinearSVC().fit(X, y)
    signs = np.where(y == 1, 1, -1)
    functional = signs * (X @ model.coef_[0] + model.intercept_[0])
    assert_allclose(model.functional_margins(X, y), functional, rtol=1e-12)
    length = np.linalg.norm(model.coef_)
    assert_allclose(model.geometric_margins(X, y), functional / length, rtol=1e-12)
    assert_allclose(model.margin_, 2 / length, rtol=1e-14)


def test_verify_takes_coefficients_of_a_peer():
    X, y, s = samples(2)
    for loss in LOSSES:
        model = tight(loss).fit(X, y, s)
        best = model.objective_
        model.coef_ = model.coef_ + 0.1
        model.intercept_ = model.intercept_ - 0.2
        seen = model.verify(X, y, s)
        value = objective(X, y, model.coef_[0], model.intercept_[0], 1.0, s, loss)
        assert_allclose(seen.objective, value, rtol=1e-12)
        assert seen.duality_gap >= value - best - 1e-12
        assert seen.kkt_violation > 0.01
    with pytest.raises(ValueError, match="59 samples, but verify needs the 60"):
        model.verify(X[1:], y[1:])


@pytest.mark.parametrize("loss", LOSSES)
def test_hard_margin(loss):
    X, y = load_iris()
    y = (y > 0).astype(int)
    model = LinearSVC(np.inf, loss=loss).fit(X, y)
    other = SVC(kernel="linear", C=np.inf, tol=1e-8).fit(X, y)
    assert_allclose(model.objective_, other.objective_, rtol=1e-6)
    assert model.functional_margins(X, y).min() > 1 - 1e-5
    assert model.verify(X, y).duality_gap < 1e-4 * model.objective_
    with pytest.raises(ValueError, match="C=inf asks LinearSVC .*cannot be separated"):
        LinearSVC(np.inf, loss=loss).fit(*iris())
    with pytest.raises(ValueError, match="fit_intercept=True"):
        LinearSVC(np.inf, loss=loss, fit_intercept=False).fit(X, y)


@pytest.mark.filterwarnings("ignore::mlcore.checks.errors.ConvergenceWarning")
@each("C", [1e-300, 1e-12, 1e12, 1e300])
@each("loss", LOSSES)
def test_costs_of_any_size(loss, C):
    X, y = iris()
    model = LinearSVC(C, loss=loss).fit(X, y)
    assert np.isfinite(model.coef_).all() and np.isfinite(model.intercept_).all()
    if C < 1:
        assert np.abs(model.coef_).max() <= 1e3 * C
        if loss == "hinge":  # classes of equal weight: the middle of the interval
            assert abs(model.intercept_[0]) < 1e-9
            lopsided = LinearSVC(C, loss=loss).fit(X[:-1], y[:-1])
            assert_allclose(lopsided.intercept_, -1, rtol=1e-6)
    else:
        assert model.score(X, y) > 0.95


@each("loss", LOSSES)
@each("unit", [2.0**-400, 1.0, 2.0**400])
@each("offset", [0.0, 1e8])
def test_far_and_tiny_and_huge_samples(offset, unit, loss):
    X, y, _ = samples(4)
    X = np.round(X * 1024) / 1024
    expected = tight(loss).fit(X, y)
    model = LinearSVC(unit**-2, loss=loss).fit(unit * (X + offset), y)
    assert model.converged_
    assert_allclose(model.objective_ * unit**2, expected.objective_, rtol=1e-4)
    assert_allclose(model.coef_ * unit, expected.coef_, rtol=0, atol=0.05)


@pytest.mark.parametrize("loss", LOSSES)
def test_constant_columns_have_no_coefficient(loss):
    X, y, _ = samples(6)
    for column in (np.full(60, 0.1), 1e9 + 1e-7 * np.arange(60) % 2, np.zeros(60)):
        for form in (np.asarray, sp.csr_array):
            model = LinearSVC(loss=loss).fit(form(np.c_[X, column]), y)
            assert model.coef_[0, 4] == 0
    free = LinearSVC(loss=loss, fit_intercept=False).fit(np.c_[X, np.ones(60)], y)
    assert free.coef_[0, 4] != 0


def test_columns_that_one_row_alone_varies_are_not_constant():
    X = np.ones((5000, 4))
    X[1234, 1], X[-1, 2], X[:, 3] = 0.0, -1.0, 0.0
    assert_array_equal(constant_columns(X), [0, 3])
    assert_array_equal(constant_columns(sp.csr_array(X)), [0])
    assert_array_equal(constant_columns(X, np.count_nonzero(X, axis=0)), [0])
    assert len(constant_columns(X[:, 1:3])) == 0


def test_one_class_is_refused():
    X, y, s = samples(0)
    with pytest.raises(ValueError, match="1 class"):
        LinearSVC().fit(X, np.zeros(60))
    with pytest.raises(ValueError, match="only one class"):
        LinearSVC().fit(X, y, np.where(y == 0, s, 0.0))
    with pytest.raises(ValueError, match="class_weight leaves fewer than 2 classes"):
        LinearSVC(class_weight={0: 0.0}).fit(X, y)
    three = LinearSVC(class_weight={2: 0.0}).fit(X, np.r_[y[:-5], np.full(5, 2)])
    assert_array_equal(three.classes_, [0, 1])


@pytest.mark.parametrize("loss", LOSSES)
def test_max_iter_ends_a_fit_with_a_warning(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 40)) * np.logspace(0, 3, 40)
    y = (X @ rng.normal(size=40) > 0) ^ (rng.random(3_000) < 0.2)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 iterations.*raise max_iter"):
        model = LinearSVC(loss=loss, max_iter=1, tol=1e-9).fit(X, y)
    assert not model.converged_ and model.n_iter_ <= 2
    assert model.duality_gap_ > 1e-9 * model.objective_


def test_the_trace_never_rises_and_the_callback_sees_the_steps():
    X, y, _ = samples(7)
    steps = []
    model = LinearSVC(loss="hinge", callback=lambda **step: steps.append(step)).fit(X, y)
    assert (np.diff(model.objective_trace_) <= 0).all()
    assert model.objective_trace_[-1] == model.objective_
    assert [step["step"] for step in steps] == sorted(step["step"] for step in steps)
    assert steps[-1]["change"] <= steps[0]["change"]
    assert_allclose(steps[-1]["objective"], model.objective_, rtol=1e-6)


def test_parameters_of_scikit_learn_change_nothing():
    X, y, _ = samples(8)
    model = LinearSVC().fit(X, y)
    for dual, scaling, seed in ((True, 10.0, 3), (False, 0.1, np.random.RandomState(0))):
        other = LinearSVC(dual=dual, intercept_scaling=scaling, random_state=seed).fit(X, y)
        assert_array_equal(other.coef_, model.coef_)


@pytest.mark.parametrize("spread", [0.0, 2.0])
def test_separable_wide_data_at_a_large_cost(spread):
    """Newton steps alone are short here: 1000 of them left a fifth of the objective."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 350)) * np.logspace(-spread, spread, 350)
    y = rng.integers(0, 2, size=200)
    hard = SVC(kernel="linear", C=np.inf, tol=1e-7).fit(X, y)
    for loss in LOSSES:
        model = LinearSVC(1e3, loss=loss).fit(X, y)
        gap = model.verify(X, y).duality_gap
        assert model.converged_ and gap <= 1e-4 * model.objective_, loss
        assert model.objective_ <= hard.objective_ * (1 + 1e-4), loss


@pytest.mark.parametrize("sweeps", [(0.0, 1.0), (1.0, 0.0), (1e9, 1e9)])
def test_plain_losses_end_in_the_minimum_of_the_kernel_machine_by_any_steps(sweeps, monkeypatch):
    """Interior points, a factor in float32, and single dual variables, in this order."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 160)) * (rng.random((600, 160)) < 0.3)
    f = X @ rng.normal(size=160) / 8 + 0.3 * rng.normal(size=600)
    monkeypatch.setattr(solution, "_sweeps_of_others", lambda rows, limits: sweeps)
    for form in (np.asarray, sp.csr_array, np.float32):
        model = LinearSVC(loss="hinge", C=0.5, tol=1e-5).fit(form(X), f > 0.2)
        other = SVC(kernel="linear", C=0.5, tol=1e-8).fit(form(X), f > 0.2)
        assert model.converged_
        assert_allclose(model.objective_, other.objective_, rtol=1.1e-5)
        assert_allclose(model.coef_, other.coef_, rtol=0, atol=0.01)
        model = LinearSVR(epsilon=0.2, C=0.5, tol=1e-5).fit(form(X), f)
        other = SVR(kernel="linear", epsilon=0.2, C=0.5, tol=1e-8).fit(form(X), f)
        assert model.converged_
        assert_allclose(model.objective_, other.objective_, rtol=1.1e-5)


def test_the_steps_left_are_those_of_a_gap_that_falls_by_the_same_share():
    """From 6 to 0.6 in 20 steps, so that 0.006, a thousandth of P, takes 40 more."""
    point = DualPoint(np.zeros(1), 0.0, np.zeros(1), 6.0, 0.6)
    assert_allclose(steps_left(50.0, point, 30.0, 6.0, 1e-3), 40, rtol=1e-12)
    assert steps_left(50.0, point, 30.0, 0.5, 1e-3) == np.inf
    assert steps_left(50.0, point, 30.0, 6.0, 0.1) == 0


def dual_by_newton(X, y):
    """Dual variables of the squared hinge, C = 1, if all rows are in the margin."""
    n = len(y)
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = X @ X.T + np.eye(n) / 2
    system[n, :n] = system[:n, n] = 1
    beta = np.linalg.solve(system, np.r_[y, 0])[:n]
    assert (beta * y > 0).all()
    return beta


def test_a_span_by_products_and_by_qr_and_by_eigenpairs(monkeypatch):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 200)), rng.integers(0, 2, size=30)
    expected = dual_by_newton(X, np.where(y > 0, 1.0, -1.0)) @ X
    for digits, most in ((0.0, 0.0), (1.0, 1e12), (1.0, 0.0)):
        monkeypatch.setattr(solution, "_DIGITS", digits)
        monkeypatch.setattr(solution, "_QR", most)
        for form in (np.asarray, sp.csr_array):
            for loss in LOSSES:
                model = tight(loss).fit(form(X), y)
                assert model.converged_
                if loss == "squared_hinge":
                    assert_allclose(model.coef_[0], expected, rtol=0, atol=1e-9)
            path = tight("hinge").path(form(X), y, Cs=[0.1, 1.0])
            assert (path.duality_gap <= 1e-9 * path.objective).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_any_number_of_threads_and_any_form_of_rows(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9_000, 40)) * (rng.random((9_000, 40)) < 0.3)
    y = np.digitize(X[:, 0] + rng.normal(size=len(X)), [-0.5, 0.5])
    for form in (X, sp.csr_array(X)):
        found = []
        for threads in (1, 3):
            with threadpool_limits(threads):
                model = LinearSVC(0.1, loss=loss).fit(form, y)
                found.append((model.coef_, model.intercept_, model.duality_gap_))
        assert all(map(np.array_equal, *found))
    dense = LinearSVC(0.1, loss=loss).fit(X, y)
    single = LinearSVC(0.1, loss=loss, tol=1e-6).fit(X.astype(np.float32), y)
    near = model.duality_gap_ + dense.duality_gap_
    assert (np.abs(model.objective_ - dense.objective_) <= near).all()
    near = dense.duality_gap_ + 1e-5 * dense.objective_
    assert (np.abs(single.objective_ - dense.objective_) <= near).all()
