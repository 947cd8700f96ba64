"""SVC and NuSVC against LIBSVM, the KKT conditions as written, closed forms, and the laws."""

import warnings

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn import svm as peer
from sklearn.datasets import load_breast_cancer, load_digits, load_iris

from dual_problems import fitted_by, pairs_of_forms
from mlcore.checks.errors import ConvergenceWarning
from mlcore.svm import SVC, NuSVC

GAMMA = 0.2


def rbf(X, Y, gamma=GAMMA):
    return np.exp(-gamma * cdist(X, Y, "sqeuclidean"))


def overlapping(n=120, d=4, seed=0, classes=2):
    rng = np.random.default_rng([n, d, seed])
    y = rng.integers(0, classes, n)
    return rng.normal(size=(n, d)) + 0.8 * y[:, None], y


def cancer(n=400):
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X[:n], y[:n]


def weights(n, seed=0):
    return np.random.default_rng(seed).integers(0, 4, n).astype(float)


def c_dual(X, model, gamma):
    """The dual objective of a binary machine, from its coefficients."""
    coef, V = np.ravel(model.dual_coef_), X[model.support_]
    return np.abs(coef).sum() - 0.5 * coef @ rbf(V, V, gamma) @ coef


def kkt_violation(margin, alpha, cost, tol):
    """The largest violation of: a = 0 => yf >= 1, a = C => yf <= 1, between => yf = 1."""
    below, above = 1 - margin, margin - 1
    grows, shrinks = alpha < cost, alpha > 0
    return max(below[grows].max(initial=0), above[shrinks].max(initial=0))


# ---- against LIBSVM


@pairs_of_forms
def test_svc_reaches_libsvms_dual_objective(tol, rtol, weighted, layout):
    X, y = cancer()
    w = weights(len(y)) if weighted else None
    theirs = peer.SVC(C=2.0, gamma=0.03, tol=1e-8).fit(X, y, sample_weight=w)
    ours = SVC(C=2.0, gamma=0.03, tol=tol).fit(layout(X), y, sample_weight=w)
    expected = c_dual(X if w is None else X[w > 0], theirs, 0.03)  # its support_ counts only those
    assert_allclose(ours.dual_objective_, expected, rtol=rtol)
    assert_allclose(c_dual(X, ours, 0.03), expected, rtol=rtol)
    f = theirs.decision_function(X)
    assert_allclose(ours.decision_function(layout(X)), f, atol=30 * tol)
    clear = np.abs(f) > 30 * tol
    assert_array_equal(ours.predict(layout(X))[clear], theirs.predict(X)[clear])


@pytest.mark.parametrize("weighted", [False, True])
def test_nu_svc_equals_libsvms(weighted):
    X, y = cancer()
    w = weights(len(y)) if weighted else None
    theirs = peer.NuSVC(nu=0.2, gamma=0.03, tol=1e-8).fit(X, y, sample_weight=w)
    ours = NuSVC(nu=0.2, gamma=0.03, tol=1e-7).fit(X, y, sample_weight=w)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    total = 0.2 * (len(y) if w is None else w.sum())
    coef, V = ours.dual_coef_[0] * total / np.abs(ours.dual_coef_).sum(), X[ours.support_]
    assert_allclose(ours.dual_objective_, -0.5 * coef @ rbf(V, V, 0.03) @ coef, rtol=1e-7)


@each("machine", [(SVC, peer.SVC), (NuSVC, peer.NuSVC)])
@each("kernel", ["rbf", "linear", "poly"])
@each("shape", ["ovr", "ovo"])
def test_attributes_and_layout_are_libsvms(machine, kernel, shape):
    X, y = load_iris(return_X_y=True)
    X = X + 0.001 * np.random.default_rng(0).normal(size=X.shape)  # no ties between duplicates
    names = np.array(["rose", "iris", "lily"])[y]
    kwargs = dict(kernel=kernel, decision_function_shape=shape, gamma=0.1, coef0=1.0)
    ours, theirs = (m(tol=1e-8, **kwargs).fit(X, names) for m in machine)
    assert_array_equal(ours.classes_, theirs.classes_)
    assert_array_equal(ours.support_, theirs.support_)
    assert_array_equal(ours.n_support_, theirs.n_support_)
    assert_array_equal(ours.support_vectors_, theirs.support_vectors_)
    assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=2e-4 * np.abs(ours.dual_coef_).max())
    assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-4, atol=1e-4)
    f = theirs.decision_function(X)
    assert_allclose(ours.decision_function(X), f, rtol=1e-4, atol=1e-4)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.shape_fit_ == theirs.shape_fit_ and ours.fit_status_ == theirs.fit_status_ == 0
    assert ours.n_iter_.shape == theirs.n_iter_.shape
    assert hasattr(ours, "coef_") == (kernel == "linear")
    if kernel == "linear":
        assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0, 1: 0.5}])
def test_class_weight_is_libsvms(class_weight):
    X, y = overlapping()
    X, y = X[: 40 + 60], np.where(np.arange(100) < 70, 0, y[:100])
    kwargs = dict(C=1.5, gamma=GAMMA, class_weight=class_weight)
    theirs = peer.SVC(tol=1e-8, **kwargs).fit(X, y)
    ours = SVC(**kwargs).fit(X, y)
    assert_allclose(ours.class_weight_, theirs.class_weight_)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)


def test_break_ties_follows_the_decision_function():
    X, y = overlapping(150, 2, classes=4)
    ours = SVC(gamma=GAMMA, break_ties=True).fit(X, y)
    theirs = peer.SVC(gamma=GAMMA, break_ties=True, tol=1e-8).fit(X, y)
    assert_array_equal(ours.predict(X), ours.classes_[ours.decision_function(X).argmax(axis=1)])
    assert_array_equal(ours.predict(X), theirs.predict(X))


# ---- optimality, from the definitions


@given(
    n=st.integers(4, 40),
    d=st.integers(1, 4),
    seed=st.integers(0, 2**31),
    C=st.sampled_from([1e-2, 1.0, 30.0]),
    grid=st.booleans(),
    nu=st.sampled_from([None, 0.05, 0.3]),
)
@settings(max_examples=60, deadline=None)
def test_kkt_conditions_hold(n, d, seed, C, grid, nu):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    if grid:
        X = np.round(X)  # duplicates, also across the classes
    y = rng.permutation(np.arange(n) % 2)
    w = rng.integers(0, 3, n) + (np.arange(n) % 3 == 0)
    w[[np.flatnonzero(y == 0)[0], np.flatnonzero(y == 1)[0]]] += 1
    if nu is None:
        model = SVC(C=C, gamma=GAMMA)
    else:
        model = NuSVC(nu=min(nu, 2 * min(w[y == 0].sum(), w[y == 1].sum()) / w.sum()), gamma=GAMMA)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*the margin is zero")
        model.fit(X, y, sample_weight=w)
    if nu is not None and model.rho_[0] < 1e-9:  # then any multiple is as good
        assert np.linalg.eigvalsh(rbf(X[w > 0], X[w > 0]))[0] < 1e-6
        return
    signs = 2.0 * y - 1
    coef = np.zeros(n)
    coef[model.support_] = model.dual_coef_[0]
    margin = signs * (rbf(X, X) @ coef + model.intercept_[0])
    cost = C * w
    if nu is not None:  # the machine for C = 1 / rho
        rho = model.rho_[0]
        assert_allclose(np.abs(coef).sum(), model.nu * w.sum() / rho, rtol=1e-8)
        cost = w / rho
    alpha = np.where(np.isclose(signs * coef, cost, rtol=1e-9, atol=0), cost, signs * coef)
    slack = 1e-9 * cost.max()
    assert (alpha >= -slack).all() and (alpha <= cost + slack).all()
    assert abs(coef.sum()) <= 1e-9 * np.abs(coef).sum()
    unit = 1.0 if nu is None else 1 / rho
    assert kkt_violation(margin, alpha, cost, model.tol) <= model.tol * unit + 1e-6
    optimality = model.verify(X, y, sample_weight=w)
    size = 1 + abs(optimality.dual_objective)
    assert -1e-9 * size <= optimality.duality_gap <= model.tol * (1 + cost.sum())
    assert_allclose(model.duality_gap_, optimality.duality_gap, atol=1e-8 * size)
    assert_allclose(model.kkt_violation_, optimality.kkt_violation, atol=1e-8 * size)


# ---- closed forms


def test_two_points():
    model = SVC(kernel="linear", C=np.inf).fit([[0.0, 0.0], [3.0, 4.0]], ["a", "b"])
    assert_allclose(model.margin_, 5.0, rtol=1e-12)
    assert_allclose(model.coef_, [[2 * 3 / 25, 2 * 4 / 25]], rtol=1e-12)
    assert_allclose(model.intercept_, [-1.0], rtol=1e-12)
    assert_allclose(model.dual_objective_, 2 / 25, rtol=1e-12)
    assert_allclose(model.primal_objective_, 2 / 25, rtol=1e-10)
    assert_allclose(model.functional_margins([[0, 0], [3, 4]], ["a", "b"]), [1, 1], rtol=1e-12)
    assert_allclose(model.geometric_margins([[0, 0], [3, 4]], ["a", "b"]), [2.5, 2.5], rtol=1e-12)


def test_three_points_with_a_bounded_multiplier():
    # x = -1 (-), 0 (+), 1 (+) on a line: C = 1/2 holds the two inner ones at their bound.
    model = SVC(kernel="linear", C=0.5).fit([[-1.0], [0.0], [1.0]], [0, 1, 1])
    assert_allclose(np.sort(model.dual_coef_[0]), [-0.5, 0.5], atol=1e-12)
    assert_array_equal(np.sort(model.margin_error_indices_), [0, 1])
    assert_allclose(model.coef_, [[0.5]], atol=1e-12)
    assert_allclose(model.intercept_, [0.5], atol=0.5 + 1e-9)  # any b in [0.5 , 1] is optimal
    assert_allclose(model.duality_gap_, 0, atol=1e-12)


# ---- laws


@each("machine", [SVC(C=0.7), NuSVC(nu=0.3), SVC(C=0.7, multi_class="ovr")])
@each("gamma", ["scale", GAMMA])
def test_weights_are_copies_and_zero_is_absence(machine, gamma):
    X, y = overlapping(80, 3, classes=3)
    w = weights(80)
    machine.set_params(gamma=gamma)
    f = machine.fit(X, y, sample_weight=w).decision_function(X)
    support, bound = machine.support_, machine.margin_error_indices_
    order = np.repeat(np.arange(80), w.astype(int))[::-1]
    g = machine.fit(X[order], y[order]).decision_function(X)
    assert_allclose(f, g, rtol=1e-7, atol=1e-8)
    assert (w[support] > 0).all() and (w[bound] > 0).all()
    kept = w > 0
    machine.fit(X[kept], y[kept], sample_weight=w[kept])
    assert_array_equal(np.flatnonzero(kept)[machine.support_], support)


def test_a_class_without_weight_is_absent():
    X, y = overlapping(60, 3, classes=3)
    model = SVC(gamma=GAMMA).fit(X, y, sample_weight=(y != 1).astype(float))
    assert_array_equal(model.classes_, [0, 2])
    with pytest.raises(ValueError, match="only one class, 2"):
        SVC().fit(X, y, sample_weight=(y == 2).astype(float))


def test_one_vs_rest_trains_each_class_against_the_rest():
    X, y = overlapping(150, 3, classes=3)
    model = SVC(gamma=GAMMA, multi_class="ovr").fit(X, y)
    f = model.decision_function(X)
    for code in range(3):
        binary = SVC(gamma=GAMMA).fit(X, y == code)
        assert_allclose(f[:, code], binary.decision_function(X), atol=1e-8)
        assert_allclose(model.margin_[code], binary.margin_, rtol=1e-8)
    assert_array_equal(model.predict(X), f.argmax(axis=1))
    assert model.dual_coef_.shape == (3, len(model.support_))


@pytest.mark.parametrize("machine", [SVC(), NuSVC(nu=0.3), SVC(multi_class="ovr")])
def test_every_kind_of_kernel_gives_the_same_machine(machine):
    X, y = overlapping(90, 3, classes=3)
    new = X[:7] + 0.1
    f = machine.set_params(gamma=GAMMA).fit(X, y).decision_function(new)
    by_call = machine.set_params(kernel=rbf).fit(X, y).decision_function(new)
    machine.set_params(kernel="precomputed").fit(rbf(X, X), y)
    given_values = machine.decision_function(rbf(new, X))
    assert_allclose(by_call, f, atol=1e-8)
    assert_allclose(given_values, f, atol=1e-8)
    assert machine.verify(rbf(X, X), y).kkt_violation.max() < 1e-8
    assert machine.support_vectors_.shape == (0, 0)


@each("kernel", ["rbf", "linear", "polynomial", "laplacian", "cosine"])
def test_dense_and_sparse_agree_in_every_mixture(kernel):
    X, y = overlapping(100, 5, classes=3)
    X[X < 0] = 0
    model = SVC(kernel=kernel, gamma=GAMMA)
    f = model.fit(X, y).decision_function(X)
    assert_allclose(model.decision_function(sparse.csr_array(X)), f, atol=1e-8)
    model.fit(sparse.csr_array(X), y)
    assert_allclose(model.decision_function(sparse.csr_array(X)), f, atol=1e-7)
    assert_allclose(model.decision_function(X), f, atol=1e-7)
    assert sparse.issparse(model.support_vectors_)


def test_precision_of_results_is_that_of_the_fit():
    X, y = overlapping(300, 3)
    model = SVC(gamma=GAMMA).fit(X.astype(np.float32), y)
    assert model.decision_function(X).dtype == np.float32
    assert model.support_vectors_.dtype == np.float32 and model.dual_coef_.dtype == np.float64


def test_margins_of_several_classes_are_the_least_over_their_problems():
    X, y = overlapping(90, 3, classes=3)
    model = SVC(gamma=GAMMA, decision_function_shape="ovo").fit(X, y)
    f = model.decision_function(X)
    pairs = [(0, 1), (0, 2), (1, 2)]
    expected, scaled = np.full(90, np.inf), np.full(90, np.inf)
    for column, (i, j) in enumerate(pairs):
        signed = np.where(y == i, f[:, column], np.where(y == j, -f[:, column], np.inf))
        expected = np.minimum(expected, signed)
        scaled = np.minimum(scaled, signed * model.margin_[column] / 2)
    assert_allclose(model.functional_margins(X, y), expected)
    assert_allclose(model.geometric_margins(X, y), scaled)
    with pytest.raises(ValueError, match="y has the label 7"):
        model.functional_margins(X[:2], [0, 7])


def test_digits_of_ten_classes():
    X, y = load_digits(return_X_y=True)
    X = X[:900] / 16
    ours, theirs = (
        m(gamma=0.05, decision_function_shape="ovo").fit(X[:600], y[:600]) for m in (SVC, peer.SVC)
    )
    assert np.mean(ours.predict(X[600:]) == theirs.predict(X[600:])) > 0.99
    assert ours.dual_coef_.shape[0] == 9 and ours.intercept_.shape == (45,)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-2)


def test_parameters_and_labels_that_scikit_learn_names_differently_are_the_same_kernel():
    X, y = overlapping()
    f, g = (SVC(kernel=k, gamma=0.1).fit(X, y).decision_function(X) for k in ("poly", "polynomial"))
    assert_array_equal(f, g)


def test_fit_reports_to_the_callback_and_stops_when_it_raises():
    X, y = overlapping(400)
    seen = []
    SVC(callback=lambda **step: seen.append(step)).fit(X, y)
    assert seen and set(seen[0]) == {"step", "objective", "change", "seconds"}

    def stop(**_):
        raise RuntimeError("enough")

    model = SVC(callback=stop)
    with pytest.raises(RuntimeError, match="enough"):
        model.fit(X, y)
    assert not hasattr(model, "support_")


# ---- warnings and errors


def test_max_iter_warns_and_says_how_far_it_came():
    X, y = overlapping(400)
    with pytest.warns(ConvergenceWarning, match="SVC stopped after max_iter=3 steps"):
        model = SVC(C=100, max_iter=3).fit(X, y)
    assert not model.converged_ and model.fit_status_ == 1 and model.kkt_violation_ > model.tol
    assert model.duality_gap_ > 0


@pytest.mark.parametrize("n", [50, 400])
def test_kernels_that_are_not_positive_semi_definite_end_with_a_warning(n):
    X, y = overlapping(n)
    with pytest.warns(UserWarning, match="'sigmoid' is not positive semi-definite"):
        model = SVC(kernel="sigmoid", gamma=1.0, coef0=-1.0, max_iter=10_000).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()


def test_asymmetric_kernels_warn_and_count_as_their_symmetric_part():
    X, y = overlapping()
    K = rbf(X, X)
    noise = 0.01 * np.random.default_rng(0).normal(size=K.shape)
    skew = K + noise - noise.T
    with pytest.warns(UserWarning, match="not symmetric, by up to"):
        model = SVC(kernel="precomputed").fit(skew, y)
    expected = SVC(kernel="precomputed").fit(K, y)
    assert_allclose(model.dual_coef_, expected.dual_coef_, atol=1e-7)
    with pytest.warns(UserWarning, match="kernel 'lopsided' is not symmetric"):
        SVC(kernel=lopsided, max_iter=10_000).fit(X, y)


def lopsided(A, B):
    return rbf(A, B) + 0.01 * np.tanh(A[:, :1] - B[:, 0])


@each(
    ("params", "error", "message"),
    [
        (dict(C=0), ValueError, r"SVC: C=0 .* > 0"),
        (dict(C=np.nan), ValueError, "C=nan"),
        (dict(C="1"), TypeError, "C='1'"),
        (dict(kernel="rfb"), ValueError, "kernel='rfb' .* 'linear', 'polynomial', 'rbf'"),
        (dict(kernel=3), TypeError, "kernel=3"),
        (dict(gamma=-1.0), ValueError, "gamma=-1.0"),
        (dict(gamma="big"), ValueError, "gamma='big' .* 'scale', 'auto'"),
        (dict(degree=-1), ValueError, "degree=-1"),
        (dict(degree=2.5), TypeError, "degree=2.5"),
        (dict(coef0=np.inf), ValueError, "coef0=inf"),
        (dict(tol=0), ValueError, "tol=0"),
        (dict(cache_size=0), ValueError, "cache_size=0"),
        (dict(max_iter=0), ValueError, "max_iter=0"),
        (dict(max_iter=-2), ValueError, "max_iter=-2"),
        (dict(multi_class="all"), ValueError, "multi_class='all' .* 'ovo', 'ovr'"),
        (dict(decision_function_shape="x"), ValueError, "decision_function_shape='x'"),
        (dict(decision_function_shape="ovo", multi_class="ovr"), ValueError, "needs multi_class"),
        (dict(decision_function_shape="ovo", break_ties=True), ValueError, "break_ties must be F"),
        (dict(break_ties=1), TypeError, "break_ties=1"),
        (dict(probability="yes"), TypeError, "probability='yes'"),
        (dict(class_weight="even"), ValueError, "class_weight='even'"),
        (dict(class_weight={0: 0.0}), ValueError, "class_weight of class 0 is 0"),
        (dict(random_state=-1), ValueError, "random_state=-1"),
        (dict(verbose=-1), ValueError, "verbose=-1"),
        (dict(callback=3), TypeError, "callback=3"),
    ],
)
def test_parameters_out_of_range_are_named(params, error, message):
    X, y = overlapping(20)
    model = SVC(**params)
    with pytest.raises(error, match=message):
        model.fit(X, y)
    assert not any(name.endswith("_") for name in vars(model))


def test_bad_data_is_refused_by_name():
    X, y = overlapping(30)
    with pytest.raises(ValueError, match="at least 2 classes"):
        SVC().fit(X, np.zeros(30))
    with pytest.raises(ValueError, match=r"shape \(30, 4\), .* must be the square matrix"):
        SVC(kernel="precomputed").fit(X, y)
    with pytest.raises(ValueError, match="kernel 'broken' returned NaN"):
        SVC(kernel=broken).fit(X, y)
    with pytest.raises(ValueError, match="verify needs the 30"):
        SVC().fit(X, y).verify(X[:5], y[:5])
    with pytest.raises(ValueError, match="expecting 4 features"):
        SVC().fit(X, y).predict(X[:, :2])


def broken(A, B):
    return np.full((len(A), len(B)), np.nan)


def test_a_failed_refit_leaves_the_old_model():
    X, y = overlapping(60)
    model = SVC().fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(ValueError):
        model.fit(X, np.zeros(60))
    assert_array_equal(model.decision_function(X), before)


def test_a_fit_without_max_iter_names_the_steps_that_end_it():
    rng = np.random.default_rng(0)
    X = np.column_stack([18_000 * rng.random(400), rng.normal(size=400)])
    y = X[:, 0] / 18_000 + 0.2 * rng.normal(size=400) > 0.5
    with pytest.warns(ConvergenceWarning, match=r"after \d+ steps, the most that max_iter=-1"):
        machine = SVC(kernel="polynomial", degree=1, gamma=1.0)
        model = fitted_by({"most_steps": 3}, machine, X, y)
    assert not model.converged_ and model.duality_gap_ > 1


@pytest.mark.parametrize("n", [60, 1200])
def test_the_first_line_of_progress_has_no_minus_zero(n, capsys):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    SVC(verbose=2).fit(X, X[:, 0] + rng.normal(size=n) > 0)
    assert "objective -0 " not in capsys.readouterr().out
