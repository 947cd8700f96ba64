"""Nyström's method against the normal equations of the same centres, refits and 50 digits."""

import copy
import pickle
import warnings

import mpmath as mp
import numpy as np
import pytest
from exact_arithmetic import DIGITS, Exact
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mlcore.estimator.model import NotFittedError
from mlcore.kernel_ridge import KernelRidge, NystroemRidge
from mlcore.kernels import gram_matrix
from mlcore.row_sums import RowSums


def problem(n=80, d=2, n_targets=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = np.sin(X[:, :1]) + rng.normal(size=(n, n_targets))
    return X, Y, rng.integers(1, 4, n).astype(float)


def model_of(n_centers=12, alpha=0.5, **params):
    how = {"kernel": "rbf", "gamma": 0.7, "random_state": 0, **params}
    return NystroemRidge(alpha, n_centers=n_centers, **how)


def by_normal_equations(X, Y, w, centers, alpha, fit_intercept):
    """beta and b of the least objective with f in the span of the centres."""
    A, K = gram_matrix(X, centers, gamma=0.7), gram_matrix(centers, gamma=0.7)
    penalty = alpha * K
    if fit_intercept:
        A = np.column_stack([A, np.ones(len(A))])
        penalty = np.pad(penalty, (0, 1))
    found = np.linalg.solve((A.T * w) @ A + penalty, (A.T * w) @ Y)
    return (found[:-1], found[-1]) if fit_intercept else (found, np.zeros(Y.shape[1]))


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_function_solves_the_normal_equations_of_its_centres(fit_intercept, form):
    X, Y, w = problem()
    Y += 10.0
    model = model_of(fit_intercept=fit_intercept).fit(form(X), Y, w)
    centers = X[model.center_indices_]
    assert 1 < len(centers) <= 12
    beta, b = by_normal_equations(X, Y, w, centers, 0.5, fit_intercept)
    assert_allclose(model.dual_coef_, beta, rtol=1e-7, atol=1e-7)
    assert_allclose(model.intercept_, b, atol=1e-8)
    new = np.random.default_rng(1).normal(size=(9, 2))
    expected = gram_matrix(new, centers, gamma=0.7) @ beta + b
    assert_allclose(model.predict(form(new)), expected, atol=1e-9)
    residual = Y - model.predict(X)
    size = np.einsum("ij,ij->j", beta, gram_matrix(centers, gamma=0.7) @ beta)
    assert_allclose(model.objective_, w @ residual**2 + 0.5 * size, rtol=1e-10)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_leave_one_out_errors_are_those_of_refits_with_the_same_centres(fit_intercept):
    X, Y, w = problem(n=25)
    alphas = [0.5, 3.0]
    model = model_of(alpha=alphas, fit_intercept=fit_intercept).fit(X, Y, w)
    centers, errors = X[model.center_indices_], np.empty_like(Y)
    hat = np.zeros(2)
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        for j, alpha in enumerate(alphas):
            one = X[rest], Y[rest, j : j + 1], w[rest]
            beta, b = by_normal_equations(*one, centers, alpha, fit_intercept)
            k = gram_matrix(X[i : i + 1], centers, gamma=0.7)
            errors[i, j] = Y[i, j] - (k @ beta + b)[0, 0]
            unit = np.zeros((len(X), 1))
            unit[i] = 1.0
            beta, b = by_normal_equations(X, unit, w, centers, alpha, fit_intercept)
            hat[j] += (k @ beta + b)[0, 0]
    assert_allclose(model.leave_one_out(X, Y, w), errors, rtol=1e-8, atol=1e-9)
    assert_allclose(model.leave_one_out(X[:5], Y[:5], w[:5]), errors[:5], rtol=1e-8, atol=1e-9)
    assert_allclose(model.effective_dimension_, hat, rtol=1e-8)
    assert np.isnan(model.leave_one_out(X, Y, np.r_[0.0, w[1:]])[0]).all()


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("count", [1, 7, 40])
def test_blocks_in_any_order_give_the_fit_of_all_rows(count, fit_intercept):
    """A drift of 1e7 deviations in the targets."""
    X, Y, w = problem()
    if fit_intercept:
        Y[40:] += 1e7
    model = model_of(fit_intercept=fit_intercept).begin(X, Y, w)
    assert isinstance(model, RowSums)
    whole = model.partial_statistics(X, Y, w)
    parts = [
        model.partial_statistics(X[rows], Y[rows], w[rows])
        for rows in np.array_split(np.random.default_rng(1).permutation(80), count)
    ]
    total = parts[0]
    for part in parts[1:]:
        total = model.merge(part, total)
    for found, expected in zip(total, whole, strict=True):
        assert_allclose(found, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    blocks, serial = model.update(total).predict(X), model.update(whole).predict(X)
    assert_allclose(blocks, serial, rtol=0, atol=1e-10 * np.abs(serial).max())
    fitted = model_of(fit_intercept=fit_intercept).fit(X, Y, w)
    assert_array_equal(fitted.predict(X), serial)


def test_partial_fit_goes_on_from_a_fit_or_earlier_calls():
    X, Y, w = problem()
    model = model_of().partial_fit(X[:50], Y[:50], w[:50])
    assert_array_equal(model.predict(X), model_of().fit(X[:50], Y[:50], w[:50]).predict(X))
    assert (model.center_indices_ < 50).all()
    model = pickle.loads(pickle.dumps(model)).partial_fit(X[50:], Y[50:], w[50:])
    beta, _ = by_normal_equations(X, Y, w, X[model.center_indices_], 0.5, False)
    assert_allclose(model.dual_coef_, beta, rtol=1e-7, atol=1e-7)
    after = model_of().fit(X[:50], Y[:50], w[:50]).partial_fit(X[50:], Y[50:], w[50:])
    assert_array_equal(after.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="NystroemRidge began with 2 targets"):
        model.partial_fit(X[:5], Y[:5, 0])


def test_all_samples_as_centres_are_the_full_problem():
    X, Y, w = problem(n=30)
    X *= 3.0
    for fit_intercept in (False, True):
        how = {"kernel": "rbf", "gamma": 0.7, "fit_intercept": fit_intercept}
        exact = KernelRidge([0.5, 2.0], **how).fit(X, Y, w)
        model = NystroemRidge([0.5, 2.0], **how).fit(X, Y, w)
        assert_allclose(model.predict(X), exact.predict(X), atol=1e-6)
        assert_allclose(model.objective_, exact.objective_, rtol=1e-7)
        for one in (model, exact):
            shown = one.verify(X, Y, w)
            assert_allclose(shown.objective, exact.objective_, rtol=1e-7)
            assert (shown.duality_gap < 1e-5 * exact.objective_).all()


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 14),
    n_centers=st.integers(1, 14),
    exponent=st.floats(-6, 6),
    kernel=st.sampled_from(["linear", "polynomial", "rbf"]),
    scale=st.sampled_from([1e-9, 1.0, 1e6]),
    shift=st.sampled_from([0.0, 1e3]),
    fit_intercept=st.booleans(),
)
@example(37944, 3, 1, 3.0, "linear", 1e-9, 0.0, True)  # a mean far below its terms
def test_no_real_error_is_beyond_the_evidence(
    seed, n, n_centers, exponent, kernel, scale, shift, fit_intercept
):
    """That of the problem in the span, and, by `verify`, that of the full one."""
    rng = np.random.default_rng(seed)
    X, y, w = rng.normal(size=(n, 2)), rng.normal(size=n) + shift, rng.integers(1, 4, n) / 4
    alpha, gamma = 10.0**exponent, 0.3
    if kernel == "linear":
        X, alpha = X * scale, alpha * scale**2
    new = np.vstack([X, X + 0.1 * np.abs(X).max()])
    how = {"kernel": kernel, "gamma": gamma, "fit_intercept": fit_intercept, "random_state": 0}
    model = NystroemRidge(alpha, n_centers=n_centers, **how).fit(X, y, w)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        full = KernelRidge(alpha, **how).fit(X, y, w)
    predicted = model.predict(new)
    with mp.workdps(2 * DIGITS):
        exact = Exact(X, y, w, kernel, gamma, alpha, fit_intercept, model.origin_)
        norms = exact.norms(new)
        norms += exact.norms(X).max() if fit_intercept else 0.0
        for one in (model, full):
            shown = one.verify(X, y, w)
            a = mp.matrix([0] * n)
            indices = one.center_indices_ if one is model else range(n)
            for i, value in zip(indices, one.dual_coef_.tolist(), strict=True):
                a[int(i)] += mp.mpf(value)
            reached = exact.objective(a, mp.mpf(one.intercept_))
            assert reached - exact.least <= mp.mpf(shown.duality_gap)
            assert abs(reached - mp.mpf(shown.objective)) <= 1e-9 * abs(reached)
            error = np.abs(one.predict(new) - exact.predict(new))
            assert (error <= shown.prediction_bound * norms).all()
        # The span: beta of least objective, by its normal equations.
        centers = [exact.rows[i] for i in model.center_indices_]
        m = len(centers)
        A = mp.matrix([[exact.k(x, c) for c in centers] + [1] * fit_intercept for x in exact.rows])
        H = mp.matrix([[exact.k(c, z) for z in centers] for c in centers]) * exact.alpha
        W = mp.diag(exact.w)
        normal = A.T * W * A
        normal[:m, :m] += H
        best = mp.lu_solve(normal, A.T * W * exact.y)

        def at(x):
            values = [exact.k(x, c) for c in centers] + [1] * fit_intercept
            return float(sum(value * b for value, b in zip(values, best, strict=True)))

        expected = np.array([at(x) for x in exact.images(new)])

        def objective(beta):
            beta, f = mp.matrix(beta), A * mp.matrix(beta)
            loss = sum(u * (t - v) ** 2 for u, t, v in zip(exact.w, exact.y, f, strict=True))
            return loss + (beta[:m].T * H * beta[:m])[0]

        found = model.dual_coef_.tolist() + [model.intercept_] * fit_intercept
        assert objective(found) - objective(list(best)) <= mp.mpf(model.duality_gap_)
    assert (np.abs(predicted - expected) <= model.prediction_bound_ * norms).all()


def test_other_samples_can_be_verified():
    X, Y, w = problem()
    model = model_of().fit(X[:40], Y[:40, 0])
    shown = model.verify(X, Y[:, 0], w)
    residual = Y[:, 0] - model.predict(X)
    beta, K = model.dual_coef_, gram_matrix(X[model.center_indices_], gamma=0.7)
    assert_allclose(shown.objective, w @ residual**2 + 0.5 * beta @ K @ beta, rtol=1e-10)
    best = KernelRidge(0.5, kernel="rbf", gamma=0.7).fit(X, Y[:, 0], w)
    assert 0 < shown.objective - best.objective_ <= shown.duality_gap
    distance = np.abs(model.predict(X) - best.predict(X)).max()
    assert distance <= shown.prediction_bound


def test_a_precomputed_kernel_and_any_unit():
    X, Y, w = problem()
    K = gram_matrix(X, gamma=0.7)
    model = model_of().fit(X, Y, w)
    given = model_of(kernel="precomputed").fit(K, Y, w)
    assert_array_equal(given.center_indices_, model.center_indices_)
    assert_allclose(given.predict(K), model.predict(X), atol=1e-10)
    assert_allclose(given.verify(K, Y, w).duality_gap, model.verify(X, Y, w).duality_gap, rtol=1e-6)
    assert_allclose(given.leave_one_out(K, Y, w), model.leave_one_out(X, Y, w), atol=1e-9)
    far = model_of(kernel="precomputed", alpha=0.5 * 2.0**-400)
    far.fit(K * 2.0**200, Y * 2.0**300, w * 2.0**-600)
    assert_allclose(far.predict(K * 2.0**200), model.predict(X) * 2.0**300, rtol=1e-8)
    assert_allclose(far.leave_one_out(K * 2.0**200, Y * 2.0**300, w * 2.0**-600),
        model.leave_one_out(X, Y, w) * 2.0**300, rtol=1e-8)  # fmt: skip
    with pytest.raises(ValueError, match="precomputed' needs all rows at once"):
        model_of(kernel="precomputed").begin(K, Y)


def test_degenerate_kernels():
    zero = model_of(kernel="linear", fit_intercept=True).fit(np.zeros((4, 2)), [1.0, 2.0, 3.0, 6.0])
    assert_allclose(zero.predict(np.ones((2, 2))), 3.0)
    equal = model_of(kernel="rbf", alpha=1e-3).fit(np.ones((5, 2)), np.arange(5.0))
    assert len(equal.dual_coef_) == 1
    assert_allclose(equal.predict(np.ones((1, 2))), 10 / 5.001)
    with pytest.warns(UserWarning, match="not positive semi-definite"):
        with pytest.raises(ValueError, match="not positive semi-definite"):
            model_of(kernel="precomputed").fit(np.diag([3.0, -2.0, 1.0]), [1.0, 2.0, 3.0])


def test_what_needs_all_samples_is_refused():
    X, Y, _ = problem()
    model = model_of()
    begun = model_of().begin(X, Y)
    for call in (lambda: begun.predict(X), lambda: begun.leave_one_out(X, Y)):
        with pytest.raises(NotFittedError, match="has begun, but call 'update'"):
            call()
    for call in (begun.set_params(alpha="loo").partial_fit, model_of(alpha="loo").begin):
        with pytest.raises(ValueError, match="alpha='loo' needs all rows again"):
            call(X, Y)
    with pytest.raises(ValueError, match='alpha=0 needs KernelRidge with solver="cholesky"'):
        model_of(alpha=[1.0, 0.0]).fit(X, Y)
    with pytest.raises(ValueError, match="n_centers=0"):
        model_of(n_centers=0).fit(X, Y)
    model.fit(X, Y)
    statistics = model.partial_statistics(X, Y)
    with pytest.raises(ValueError, match="alpha='loo' needs all rows again"):
        model.set_params(alpha="loo").update(statistics)
    other = KernelRidge(kernel="rbf").fit(X, Y)
    assert not hasattr(other, "partial_fit") and not isinstance(other, RowSums)
    with pytest.raises(TypeError):
        other.leave_one_out(X, Y)  # it has its samples
    with pytest.raises(ValueError, match="y has shape .80,., but KernelRidge was fitted to 2"):
        other.verify(X, Y[:, 0])


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_other_samples_than_those_of_the_fit_are_refused(fit_intercept):
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(60, 2)), rng.normal(size=60) + 5.0, rng.integers(1, 4, 60) / 2
    how = {"random_state": 0, "fit_intercept": fit_intercept}
    model = NystroemRidge(0.1, kernel="rbf", n_centers=20, **how).fit(X, y, w)
    whole = model.leave_one_out(X, y, w)
    assert_allclose(model.leave_one_out(X[:7], y[:7], w[:7]), whole[:7], rtol=1e-7)
    order = rng.permutation(60)
    assert_allclose(model.leave_one_out(X[order], y[order], w[order]), whole[order], rtol=1e-7)
    for other in ((X, y, 2 * w), (X, y), (X, y + 0.1, w), (X, 3 * y, w), (X[:9], 9 * y[:9], w[:9])):
        for method in (model.leave_one_out, lambda *data: model.path([0.1, 1.0], *data)):
            with pytest.raises(ValueError, match="needs samples of the fit"):
                method(*other)
    linear = NystroemRidge(0.1, **how)
    with pytest.raises(ValueError, match="farther from the others than any of the fit"):
        linear.fit(X, y, w).leave_one_out(X[:3] * 1e4, y[:3], w[:3])


def test_a_kernel_ridge_with_the_solver_nystroem_is_one():
    model = KernelRidge(0.5, kernel="rbf", solver="nystroem", n_centers=7, tol=1e-3, max_iter=3)
    assert type(model) is NystroemRidge
    assert repr(model) == "NystroemRidge(alpha=0.5, kernel='rbf', n_centers=7)"
    for again in (clone(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert type(again) is NystroemRidge and again.get_params() == model.get_params()
    with pytest.raises(TypeError, match="centers"):
        KernelRidge(solver="nystroem", centers=7)
    with pytest.raises(TypeError, match="n_centers"):
        KernelRidge(n_centers=7)


def test_a_search_may_compare_solvers():
    X, Y, _ = problem()
    ridge = KernelRidge(kernel="rbf", gamma=0.7).set_fit_request(sample_weight=True)
    grid = [{"solver": ["cholesky", "cg"]}, {"solver": ["nystroem"], "n_centers": [1, 40]}]
    search = GridSearchCV(ridge, grid).fit(X, Y[:, 0])
    assert type(ridge) is KernelRidge and np.isfinite(search.cv_results_["mean_test_score"]).all()
    pipeline = make_pipeline(StandardScaler(), clone(ridge).fit(X, Y))
    pipeline.set_params(kernelridge__solver="nystroem", kernelridge__n_centers=3)
    few = pipeline[-1]
    assert type(few) is NystroemRidge and few.n_centers == 3 and few.gamma == 0.7
    assert few._requests == ridge._requests and not hasattr(few, "dual_coef_")
    with pytest.raises(ValueError, match="Invalid parameter 'n_centers'"):
        clone(ridge).set_params(n_centers=3)
    unchanged = clone(ridge)
    with pytest.raises(ValueError, match="Invalid parameter 'widths'"):
        unchanged.set_params(solver="nystroem", widths=3)
    assert type(unchanged) is KernelRidge and unchanged.solver == "auto"


def test_a_subclass_of_kernel_ridge_stays_one():
    class Own(KernelRidge):
        """Without parameters of its own."""

    X, Y, _ = problem()
    for model in (Own(solver="nystroem"), Own().set_params(solver="nystroem")):
        assert type(model) is Own
        with pytest.raises(ValueError, match="solver='nystroem' is the model NystroemRidge"):
            model.fit(X, Y)


@pytest.mark.parametrize("several", [False, True])
def test_the_state_of_0_2_is_read(several):
    """As `KernelRidge` kept it, with sums in tuples."""
    X, Y, w = problem()
    Y = Y if several else Y[:, 0]
    model = model_of(fit_intercept=True).fit(X[:60], Y[:60], w[:60])
    state = vars(model).copy()
    triangle, *span_units = state.pop("_view_")
    *row_units, of_columns = state.pop("_units_")
    state |= {
        "solver": "nystroem", "tol": 1e-10, "max_iter": 1000, "solver_": "nystroem", "n_iter_": 1,
        "converged_": True, "_triangle_": triangle, "_span_units_": tuple(span_units),
        "_row_units_": tuple(row_units), "_several_": of_columns, "_sums_": tuple(model._sums_),
    }  # fmt: skip
    older = KernelRidge.__new__(KernelRidge)
    older.__setstate__(state)
    assert type(older) is NystroemRidge and older.get_params() == model.get_params()
    rest = X[60:], Y[60:], w[60:]
    assert_array_equal(older.partial_fit(*rest).dual_coef_, model.partial_fit(*rest).dual_coef_)
    exact = KernelRidge.__new__(KernelRidge)
    exact.__setstate__(vars(KernelRidge().fit(X, Y)) | {"n_centers": None})
    assert type(exact) is KernelRidge and not hasattr(exact, "n_centers")
