"""Kernel ridge regression against closed forms, refits and exact arithmetic."""

import itertools
import warnings

import mpmath as mp
import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge as Peer
from threadpoolctl import threadpool_limits

from mlcore.kernel_ridge import KernelRidge
from mlcore.kernel_ridge.linear_system.cholesky import Cholesky
from mlcore.kernels import center_gram, gram_matrix

DIGITS = 50


def problem(n=60, d=3, n_targets=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return (
        X,
        np.sin(X[:, :1]) + rng.normal(size=(n, n_targets)),
        rng.integers(1, 4, n).astype(float),
    )


def test_the_worked_example():
    model = KernelRidge(alpha=1.0).fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 2.0])
    assert_allclose(15 * model.dual_coef_, [4, 8, -3], rtol=1e-14)
    assert model.intercept_ == 0.0 and model.solver_ == "cholesky"


@each("kernel", ["linear", "polynomial", "rbf", "laplacian", "cosine"])
@each("alpha", [0.3, [0.3, 2.0]])
def test_agrees_with_the_normal_equations(kernel, alpha):
    X, Y, w = problem()
    K = gram_matrix(X, kernel=kernel)
    model = KernelRidge(alpha, kernel=kernel).fit(X, Y, w)
    for j, a in enumerate(np.broadcast_to(alpha, 2)):
        expected = np.linalg.solve(K + np.diag(a / w), Y[:, j])
        condition = np.linalg.cond(K + np.diag(a / w))
        atol = condition * 1e-15 * np.abs(expected).max()
        assert_allclose(model.dual_coef_[:, j], expected, rtol=0, atol=atol)
    peer = Peer(alpha=alpha, kernel=kernel).fit(X, Y, w)
    assert_allclose(model.predict(X), peer.predict(X), atol=1e-9)


def test_the_linear_kernel_is_ridge_regression():
    X, Y, w = problem()
    coef = np.linalg.solve((X.T * w) @ X + 0.7 * np.eye(3), (X.T * w) @ Y)
    model = KernelRidge(0.7).fit(X, Y, w)
    assert_allclose(model.predict(X), X @ coef, atol=1e-12)


@pytest.mark.parametrize("solver", ["cholesky", "cg"])
def test_an_intercept_is_the_centred_problem(solver):
    """Without weights: K and y centred. With them: b minimises too, and coefficients sum to 0."""
    X, Y, w = problem()
    Y += 1e6
    how = {"kernel": "rbf", "solver": solver, "tol": 1e-26, "random_state": 0}
    model = KernelRidge(0.5, fit_intercept=True, **how).fit(X, Y)
    K = gram_matrix(X)
    centred = np.linalg.solve(center_gram(K) + 0.5 * np.eye(60), Y - Y.mean(axis=0))
    assert_allclose(model.dual_coef_, centred, atol=1e-8)  # eps 1e6 / alpha
    model = KernelRidge(0.5, fit_intercept=True, **how).fit(X, Y, w)
    assert_allclose(model.dual_coef_.sum(axis=0), 0.0, atol=1e-8)
    residual = Y - model.predict(X)
    assert_allclose(w[:, None] * residual, 0.5 * model.dual_coef_, atol=1e-7)


@pytest.mark.parametrize("solver", ["cholesky", "cg"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_weights_are_copies_and_rows_have_no_order(solver, fit_intercept):
    X, Y, _ = problem()
    counts = np.arange(60) % 3
    how = {"kernel": "rbf", "gamma": 0.3, "fit_intercept": fit_intercept, "solver": solver}
    model = KernelRidge(0.5, tol=1e-24, random_state=0, **how).fit(X, Y, counts)
    copies = KernelRidge(0.5, tol=1e-24, random_state=0, **how).fit(
        X.repeat(counts, axis=0), Y.repeat(counts, axis=0)
    )
    order = np.random.default_rng(0).permutation(60)
    moved = KernelRidge(0.5, tol=1e-24, random_state=0, **how).fit(
        X[order], Y[order], counts[order]
    )
    for other in (copies, moved):
        assert_allclose(other.predict(X), model.predict(X), atol=1e-10)
        assert_allclose(other.objective_, model.objective_, rtol=1e-12)
    assert (model.dual_coef_[counts == 0] == 0).all()


def exact_kernel(X, gamma):
    with mp.workdps(DIGITS):
        n = len(X)
        rows = [[mp.mpf(float(v)) for v in x] for x in X]
        K = mp.eye(n)
        for i in range(n):
            for j in range(i):
                square = sum((a - b) ** 2 for a, b in zip(rows[i], rows[j], strict=True))
                K[i, j] = K[j, i] = mp.exp(-mp.mpf(gamma) * square)
        return K


def exact_fits(K, y, alpha, w):
    """Values of the exact minimisers at the samples, without an intercept and with one."""
    with mp.workdps(DIGITS):
        n = len(y)
        A = K.copy()
        for i in range(n):
            A[i, i] += mp.mpf(alpha) / mp.mpf(float(w[i]))
        a = mp.lu_solve(A, mp.matrix([mp.mpf(float(v)) for v in y]))
        ones = mp.lu_solve(A, mp.matrix([1] * n))
        b = sum(a) / sum(ones)
        fits = K * a, K * (a - b * ones) + b * mp.matrix([1] * n)
        return [np.array([float(v) for v in values]) for values in fits]


@pytest.mark.parametrize("seed", range(4))
def test_no_prediction_is_further_from_the_exact_one_than_the_bound(seed):
    X, Y, w = problem(n=12, d=2, n_targets=1, seed=seed)
    y = Y[:, 0] + 100.0 * (seed % 2)
    K = exact_kernel(X, 0.25)
    fits = {alpha: exact_fits(K, y, alpha, w) for alpha in (1e-9, 1e-4, 1.0)}
    for alpha, fit_intercept in itertools.product(fits, [False, True]):
        expected = fits[alpha][fit_intercept]
        for solver, tol in [("cholesky", 1e-10), ("cg", 1e-6), ("cg", 1e-20)]:
            how = {"kernel": "rbf", "gamma": 0.25, "solver": solver, "tol": tol}
            model = KernelRidge(alpha, fit_intercept=fit_intercept, random_state=seed, **how)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X, y, w)
            error = np.abs(model.predict(X) - expected).max()
            assert error <= model.prediction_bound_ * (2 if fit_intercept else 1)
            if solver == "cholesky":  # and the bound says something
                assert model.prediction_bound_ < 1e-11 * np.abs(y).max() / alpha


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_gap_bounds_the_distance_to_the_minimum(fit_intercept):
    X, Y, w = problem(n=400)
    how = {"kernel": "rbf", "fit_intercept": fit_intercept}
    best = KernelRidge(0.1, **how).fit(X, Y, w)
    assert (best.duality_gap_ <= 1e-20 * best.objective_).all()
    for tol in (1e-2, 1e-5, 1e-9):
        model = KernelRidge(0.1, solver="cg", tol=tol, random_state=0, **how).fit(X, Y, w)
        assert (model.duality_gap_ <= tol * model.objective_).all()
        K = gram_matrix(X)
        a, b = model.dual_coef_, model.intercept_
        objective = w @ (Y - K @ a - b) ** 2 + 0.1 * np.einsum("ij,ij->j", a, K @ a)
        assert_allclose(model.objective_, objective, rtol=1e-11)
        rounding = 1e-12 * objective
        assert (objective - best.objective_ <= model.duality_gap_ + rounding).all()
        assert (objective - best.objective_ >= -rounding).all()


def test_a_singular_matrix_is_told_and_solved_for_fewer_samples():
    X = np.array([[0.0], [0.0], [1.0], [3.0]])
    y = np.array([1.0, 3.0, 5.0, 4.0])
    with pytest.warns(UserWarning, match="singular up to rounding.* 3 of the 4 samples"):
        model = KernelRidge(0.0, kernel="rbf").fit(X, y)
    assert_allclose(model.predict(X), [2.0, 2.0, 5.0, 4.0], rtol=1e-12)  # equal rows: their mean
    assert model.prediction_bound_ == np.inf
    with pytest.warns(UserWarning, match="1 of the 4 samples"):
        model = KernelRidge(0.0, fit_intercept=True).fit(X, y)
    slope, constant = np.polyfit(X[:, 0], y, 1)
    assert_allclose(model.predict(X), slope * X[:, 0] + constant, rtol=1e-12)


def test_an_indefinite_kernel_is_refused_with_its_smallest_eigenvalue():
    K = np.diag([3.0, -2.0, 1.0])
    with pytest.warns(UserWarning, match="not positive semi-definite"):
        with pytest.raises(ValueError, match=r"K \+ alpha/w has the eigenvalue -1\.5"):
            KernelRidge(0.5, kernel="precomputed").fit(K, [1.0, 2.0, 3.0])


@each("kernel", ["linear", "rbf"])
@each("scale", [1e-150, 1e-20, 1e20, 1e150])
def test_any_unit_of_the_targets_and_of_the_weights(kernel, scale):
    X, Y, w = problem()
    expected = KernelRidge(0.5, kernel=kernel, fit_intercept=True).fit(X, Y, w)
    model = KernelRidge(0.5, kernel=kernel, fit_intercept=True).fit(X, Y * scale, w)
    assert_allclose(model.predict(X), expected.predict(X) * scale, rtol=1e-9, atol=1e-10 * scale)
    model = KernelRidge(0.5 * scale, kernel=kernel, fit_intercept=True).fit(X, Y, w * scale)
    assert_allclose(model.predict(X), expected.predict(X), rtol=1e-9, atol=1e-10)
    if kernel == "linear" and abs(np.log10(scale)) < 100:
        model = KernelRidge(0.5 * scale**2, fit_intercept=True).fit(X * scale, Y, w)
        assert_allclose(model.predict(X * scale), expected.predict(X), rtol=1e-9, atol=1e-10)


def test_samples_in_float32_and_sparse():
    X, Y, w = problem()
    X[np.abs(X) < 0.3] = 0.0
    expected = KernelRidge(kernel="rbf").fit(X, Y, w).predict(X)
    single = KernelRidge(kernel="rbf").fit(X.astype(np.float32), Y, w).predict(X)
    assert single.dtype == np.float32
    assert_allclose(single, expected, atol=1e-5)
    stored = KernelRidge(kernel="rbf").fit(sparse.csr_array(X), Y, w)
    assert_allclose(stored.predict(sparse.csr_array(X)), expected, atol=1e-12)


def test_several_targets_are_fitted_each_on_its_own():
    X, Y, w = problem()
    both = KernelRidge([0.1, 3.0], kernel="rbf", fit_intercept=True).fit(X, Y, w)
    for j, alpha in enumerate([0.1, 3.0]):
        one = KernelRidge(alpha, kernel="rbf", fit_intercept=True).fit(X, Y[:, j], w)
        assert_allclose(both.predict(X)[:, j], one.predict(X), rtol=1e-12, atol=1e-13)
        assert_allclose(both.objective_[j], one.objective_, rtol=1e-13)
    assert KernelRidge().fit(X, Y[:, :1]).predict(X).shape == (60, 1)
    mean = np.mean([both.score(X, Y, w)])
    assert_allclose(mean, np.mean([1 - (w @ (Y[:, j] - both.predict(X)[:, j]) ** 2)
        / (w @ (Y[:, j] - np.average(Y[:, j], weights=w)) ** 2) for j in (0, 1)]))  # fmt: skip
    with pytest.raises(ValueError, match="alpha has shape .3,., .* each of the 2 targets"):
        KernelRidge([1.0, 2.0, 3.0]).fit(X, Y)
    with pytest.raises(ValueError, match="y has shape .60,., but .* fitted to 2 targets"):
        both.score(X, Y[:, 0])


def test_too_few_steps_are_told():
    X, Y, _ = problem(n=1000, d=2)
    with pytest.warns(UserWarning, match="stopped after max_iter=1 steps"):
        model = KernelRidge(1e-6, kernel="laplacian", solver="cg", max_iter=1).fit(X, Y)
    assert not model.converged_


@each("dtype", [np.float32, np.float64])
@each("block", [7, 16, 50])
def test_cholesky_by_blocks_is_that_of_lapack(dtype, block):
    A = np.random.default_rng(0).normal(size=(50, 60)).astype(dtype)
    A = A @ A.T
    expected = np.linalg.cholesky(A)
    found = Cholesky.of(A.copy(), block)
    eps = np.finfo(dtype).eps
    assert_allclose(np.tril(found.L), expected, atol=100 * eps * np.abs(expected).max())
    B = np.random.default_rng(1).normal(size=(50, 3))
    condition = np.linalg.cond(A)
    assert_allclose(found.solve(B), np.linalg.solve(A, B), rtol=50 * condition * eps)
    A[30, 30] = -1.0
    assert Cholesky.of(A, block) is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_factors_are_the_same_bytes_for_any_number_of_threads(dtype):
    A = np.random.default_rng(0).normal(size=(700, 700)).astype(dtype)
    A = A @ A.T + np.eye(700, dtype=dtype)
    found = []
    for threads in (1, 2, 5):
        with threadpool_limits(threads):
            found.append(np.tril(Cholesky.of(A.copy()).L))
    assert_array_equal(found[0], found[1])
    assert_array_equal(found[0], found[2])
    size = np.finfo(dtype).eps * len(A) * A.diagonal().max()
    assert_allclose(found[0] @ found[0].T, A, atol=size)


def test_a_given_kernel_matrix_is_neither_copied_for_the_fit_nor_changed():
    X, Y, _ = problem()
    K = gram_matrix(X)
    before = K.copy()
    model = KernelRidge(0.5, kernel="precomputed").fit(K, Y)
    assert_array_equal(K, before)
    K[:] = 0.0
    assert_array_equal(model.X_fit_, before)


# ---- leave-one-out errors, deviations, the path


def refits(K, Y, w, alphas, fit_intercept):
    """Errors of each target at its alpha, by the system of the other samples."""
    errors, n = np.empty_like(Y), len(K)
    ends = np.ones((n, 1)) if fit_intercept else np.empty((n, 0))
    for (i, y), (j, alpha) in itertools.product(enumerate(Y), enumerate(alphas)):
        rest = np.arange(n) != i
        S = K[np.ix_(rest, rest)] + np.diag(alpha / w[rest])
        corner = np.zeros((ends.shape[1],) * 2)
        system = np.block([[S, ends[rest]], [ends[rest].T, corner]])
        found = np.linalg.solve(system, np.r_[Y[rest, j], np.zeros(len(corner))])
        errors[i, j] = y[j] - np.r_[K[i, rest], ends[i]] @ found
    return errors


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_leave_one_out_errors_are_those_of_refits(kernel, fit_intercept):
    X, Y, w = problem(n=30)
    how = {"kernel": kernel, "gamma": 0.3, "fit_intercept": fit_intercept}
    model = KernelRidge([0.05, 0.7], **how).fit(X, Y, w)
    errors = model.leave_one_out()
    K = gram_matrix(X, kernel=kernel, gamma=0.3)
    expected = refits(K, Y, w, [0.05, 0.7], fit_intercept)
    assert_allclose(errors, expected, rtol=1e-9, atol=1e-11)
    assert_allclose(model.path([0.7]).loo[0, 1], w @ errors[:, 1] ** 2 / w.sum(), rtol=1e-10)
    w[3] = 0.0
    without = KernelRidge(0.7, **how).fit(X, Y, w).leave_one_out()
    assert np.isnan(without[3]).all() and np.isfinite(np.delete(without, 3, axis=0)).all()


def test_leave_one_out_of_the_worked_example():
    model = KernelRidge(alpha=1.0).fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 2.0])
    assert_allclose(model.leave_one_out(), [2 / 7, 8 / 11, -1 / 2], rtol=1e-14)
    assert_allclose(model.effective_dimension_, 14 / 15, rtol=1e-14)
    with pytest.raises(ValueError, match="alpha > 0"):
        KernelRidge(0.0, kernel="rbf").fit([[1.0], [2.0]], [1.0, 2.0]).leave_one_out()


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_criteria_are_their_definitions(fit_intercept):
    """By the explicit matrix H that maps targets to fitted values, and dense determinants."""
    X, Y, w = problem(n=30)
    y, alpha, n = Y[:, 0], 0.4, 30
    model = KernelRidge(alpha, kernel="rbf", gamma=0.3, fit_intercept=fit_intercept)
    found = model.fit(X, y, w).path([alpha])
    H = np.column_stack([model.fit(X, e, w).predict(X) for e in np.eye(n)])
    assert_allclose(found.effective_dimension, np.trace(H), rtol=1e-10)
    residual = np.sqrt(w) * (y - H @ y)
    gcv = n * (residual @ residual) / (n - np.trace(H)) ** 2
    assert_allclose(found.gcv, gcv, rtol=1e-10)
    paths = model.fit(X, y, w).path([alpha, 3.0])
    logs = []
    for a in (alpha, 3.0):
        S = gram_matrix(X, gamma=0.3) + np.diag(a / w)
        M, log = np.linalg.inv(S), np.linalg.slogdet(S)[1]
        if fit_intercept:
            one = M.sum()
            M, log = M - np.outer(M.sum(0), M.sum(0)) / one, log + np.log(one)
        m = n - fit_intercept
        logs.append(log + m * np.log(y @ M @ y / m))
    assert_allclose(np.diff(paths.likelihood), np.diff(logs), rtol=1e-9)
    again = KernelRidge(3.0, kernel="rbf", gamma=0.3, fit_intercept=fit_intercept).fit(X, y, w)
    assert_allclose(paths.dual_coef[1], again.dual_coef_, atol=1e-12)
    assert_allclose(paths.intercept[1], again.intercept_, atol=1e-12)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("criterion", ["loo", "gcv", "likelihood"])
def test_the_chosen_alpha_is_the_best_of_many(criterion, fit_intercept):
    X, Y, w = problem(n=60, seed=3)
    model = KernelRidge(criterion, kernel="rbf", fit_intercept=fit_intercept).fit(X, Y, w)
    chosen = model.path(model.alpha_)
    many = model.path(np.geomspace(1e-8, 1e3, 100))
    for j in range(2):
        best = getattr(many, criterion)[:, j].min()
        assert getattr(chosen, criterion)[j, j] <= best + 1e-9 * abs(best)
        one = KernelRidge(criterion, kernel="rbf", fit_intercept=fit_intercept).fit(X, Y[:, j], w)
        assert_allclose(one.alpha_, model.alpha_[j], rtol=1e-6)
    scaled = KernelRidge(criterion, kernel="rbf", fit_intercept=fit_intercept).fit(X, Y, 8 * w)
    assert_allclose(scaled.predict(X), model.predict(X), atol=1e-6)
    with pytest.raises(ValueError, match='solver="cg"'):
        KernelRidge(criterion, solver="cg").fit(X, Y)


def test_deviations_are_those_of_a_gaussian_process():
    X, Y, w = problem(n=40)
    new = np.random.default_rng(1).normal(size=(7, 3))
    y, alpha = Y[:, 0], 0.3
    peer = GaussianProcessRegressor(RBF(1.25), alpha=alpha / w, optimizer=None).fit(X, y)
    model = KernelRidge(alpha, kernel="rbf", gamma=0.32).fit(X, y, w)
    mean, std = model.predict(new, return_std=True)
    expected, deviation = peer.predict(new, return_std=True)
    scale = np.sqrt(y @ model.dual_coef_ / w.sum())  # weights are copies
    assert_allclose(mean, expected, atol=1e-11)
    assert_allclose(std, scale * deviation, rtol=1e-8)
    both = KernelRidge([alpha, 1.0], kernel="rbf", gamma=0.32).fit(X, Y, w)
    assert_allclose(both.predict(new, return_std=True)[1][:, 0], std, rtol=1e-12)
    with pytest.raises(ValueError, match="return_std=True needs k.x, x."):
        K = gram_matrix(X)
        KernelRidge(kernel="precomputed").fit(K, y).predict(K, return_std=True)


def test_an_intercept_is_the_limit_of_a_constant_added_to_the_kernel():
    X, Y, w = problem(n=12)
    new, y = np.random.default_rng(1).normal(size=(6, 3)), Y[:, 0]
    model = KernelRidge(0.3, kernel="rbf", gamma=0.3, fit_intercept=True).fit(X, y, w)
    mean, std = model.predict(new, return_std=True)
    with mp.workdps(DIGITS):
        c, n = mp.mpf(10) ** 25, len(X)
        K = mp.matrix((gram_matrix(X, gamma=0.3)).tolist()) + c * mp.ones(n)
        k = mp.matrix((gram_matrix(new, X, gamma=0.3)).tolist()) + c * mp.ones(6, n)
        for i in range(n):
            K[i, i] += mp.mpf(0.3) / mp.mpf(float(w[i]))
        a = mp.lu_solve(K, mp.matrix(y.tolist()))
        scale = sum(a[i] * y[i] for i in range(n)) / (mp.mpf(float(w.sum())) - 1)
        for j in range(6):
            one = k[j, :].T
            solved = mp.lu_solve(K, one)
            assert abs((k[j, :] * a)[0] - mean[j]) < 1e-10
            left = 1 + c - (k[j, :] * solved)[0]
            assert abs(mp.sqrt(scale * left) - std[j]) < 1e-10


@each(
    ("alphas", "message"),
    [([1.0, 0.0], "must be above 0"), ([1.0, -1.0], "alphas=-1"), ([], "shape .0,.")]
    + [([[1.0]], "shape .1, 1."), ([np.nan], "alphas=nan")],
)
def test_wrong_penalties_of_a_path_are_named(alphas, message):
    model = KernelRidge(kernel="rbf").fit([[1.0], [2.0]], [1.0, 2.0])
    with pytest.raises(ValueError, match=message):
        model.path(alphas)


def test_diagnostics_do_not_depend_on_the_units():
    X, Y, w = problem(n=30)
    model = KernelRidge(0.5, fit_intercept=True).fit(X, Y, w)
    scaled = KernelRidge(0.5 * 2.0**-400, fit_intercept=True).fit(
        X * 2.0**100, Y * 2.0**300, w * 2.0**-600
    )
    assert_allclose(scaled.leave_one_out(), model.leave_one_out() * 2.0**300, rtol=1e-9)
    assert_allclose(scaled.effective_dimension_, model.effective_dimension_, rtol=1e-12)
    # Deviations count the weights: with the same y'a, a 2^-601 of them is a larger variance.
    model, scaled = (
        KernelRidge(0.5 * 2.0**p, kernel="rbf", gamma=0.3).fit(X, Y * 2.0**q, w * 2.0**p)
        for p, q in ((0, 0), (-601, 300))
    )
    found, expected = (m.predict(X, return_std=True)[1] for m in (scaled, model))
    assert_allclose(found * 2.0**-300 * 2.0**-300, expected * np.sqrt(2), rtol=1e-7)


@each("solver", ["cholesky", "cg", "nystroem"])
@each("fit_intercept", [False, True])
def test_deviations_count_weights_as_copies(solver, fit_intercept):
    X, Y, w = problem(n=30)
    w = np.ceil(w)
    copies = np.repeat(np.arange(30), w.astype(int))
    how = {"kernel": "rbf", "gamma": 0.4, "solver": solver, "fit_intercept": fit_intercept}
    if solver == "nystroem":
        how |= {"n_centers": 30, "random_state": 0}  # all of them: the span is the same
    new = np.random.default_rng(1).normal(size=(7, 3))
    once, again = (
        KernelRidge([0.3, 2.0], **how).fit(*data).predict(new, return_std=True)
        for data in ((X, Y, w), (X[copies], Y[copies]))
    )
    # The span of centres in another order has features rounded otherwise.
    rtol = 1e-6 if solver == "nystroem" else 1e-9
    for found, expected in zip(once, again, strict=True):
        assert_allclose(found, expected, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("solver", ["cholesky", "nystroem"])
def test_weights_of_one_sample_have_no_deviation_from_their_mean(solver):
    X, Y, w = problem(n=20)
    model = KernelRidge(0.3, kernel="rbf", fit_intercept=True, solver=solver, random_state=0)
    for weight in (w / w.sum(), w * 1e-200):
        model.fit(X, Y, weight)
        with pytest.raises(ValueError, match="return_std=True needs.*weights that sum to more tha"):
            model.predict(X, return_std=True)
        assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("solver", ["cholesky", "cg"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_reported_steps_end_at_the_objective(solver, fit_intercept):
    rng = np.random.default_rng(0)
    X, Y, w = rng.normal(size=(300, 3)), rng.normal(size=(300, 2)) + 5, rng.integers(1, 4, 300)
    seen = []
    model = KernelRidge(
        0.1, kernel="rbf", solver=solver, fit_intercept=fit_intercept, tol=1e-8, random_state=0,
        callback=lambda **step: seen.append(step),
    ).fit(X, Y * 2.0**200, w)  # fmt: skip
    assert [one["step"] for one in seen] == list(range(len(seen))) and len(seen) > model.n_iter_
    assert_allclose(seen[-1]["objective"], model.objective_.sum(), rtol=1e-7)
    assert seen[0]["change"] == 1.0 and seen[-1]["change"] <= 1e-8
    assert callable(model.set_callbacks)
