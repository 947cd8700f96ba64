"""The choice of alpha and gamma against refits, and its two routes against each other."""

from functools import partial

import mpmath as mp
import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.kernel_ridge import KernelRidge as PeerRidge
from sklearn.metrics import make_scorer, mean_absolute_error, r2_score
from sklearn.model_selection import GridSearchCV, GroupKFold, ShuffleSplit

from mlcore.checks.errors import NotFittedError
from mlcore.kernel_ridge import KernelRidge, KernelRidgeCV
from mlcore.kernel_ridge.alpha_path.eigen_path import EigenPath
from mlcore.kernel_ridge.alpha_path.factor_path import FactorPath, by_eigenvectors
from mlcore.kernel_ridge.linear_system.cholesky import Cholesky
from mlcore.kernels import gram_matrix

ALPHAS, GAMMAS = [0.01, 0.3, 2.0], [0.05, 0.4]
CRITERIA = ["loo", "gcv", "likelihood"]
rbf_search = partial(KernelRidgeCV, kernel="rbf")


def problem(n=30, d=3, n_targets=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = np.sin(X[:, :1] * [1.0, 3.0][:n_targets]) + 0.3 * rng.normal(size=(n, n_targets))
    return X, Y, rng.integers(1, 4, n).astype(float)


def left_out(X, Y, w, alpha, gamma, fit_intercept):
    """Weighted mean of squared errors of n refits, (k,)."""
    total, K = np.zeros(Y.shape[1]), gram_matrix(X, gamma=gamma)
    ends = np.ones((len(X), 1)) if fit_intercept else np.empty((len(X), 0))
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        S = K[np.ix_(rest, rest)] + np.diag(alpha / w[rest])
        corner = np.zeros((ends.shape[1],) * 2)
        system = np.block([[S, ends[rest]], [ends[rest].T, corner]])
        found = np.linalg.solve(system, np.pad(Y[rest], ((0, len(corner)), (0, 0))))
        total += w[i] * (Y[i] - np.r_[K[i, rest], ends[i]] @ found) ** 2
    return total / w.sum()


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_choice_is_that_of_refits(fit_intercept):
    X, Y, w = problem()
    expected = np.array([[left_out(X, Y, w, a, g, fit_intercept) for a in ALPHAS] for g in GAMMAS])
    model = rbf_search(ALPHAS, GAMMAS, fit_intercept=fit_intercept).fit(X, Y, w)
    assert_allclose(model.criterion_values_, expected, rtol=1e-9)
    g = expected.min(axis=1).sum(axis=1).argmin()
    assert model.gamma_ == GAMMAS[g]
    assert model.alpha_.tolist() == [ALPHAS[a] for a in expected[g].argmin(axis=0)]
    assert_allclose(model.best_criterion_, expected[g].min(axis=0), rtol=1e-9)
    one = rbf_search(ALPHAS, GAMMAS, fit_intercept=fit_intercept).fit(X, Y[:, 0], w)
    assert_allclose(one.criterion_values_, expected[:, :, 0], rtol=1e-9)
    assert isinstance(one.alpha_, float) and one.dual_coef_.shape == (30,)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_fit_is_that_of_kernel_ridge_at_the_choice(criterion):
    X, Y, w = problem()
    model = rbf_search(ALPHAS, GAMMAS, criterion, fit_intercept=True).fit(X, Y, w)
    chosen = KernelRidge(model.alpha_, kernel="rbf", gamma=model.gamma_, fit_intercept=True)
    chosen.fit(X, Y, w)
    for name in ("dual_coef_", "intercept_", "duality_gap_", "objective_", "prediction_bound_"):
        assert np.array_equal(getattr(model, name), getattr(chosen, name)), name
    for found, expected in zip(
        model.predict(X, return_std=True), chosen.predict(X, return_std=True), strict=True
    ):
        assert np.array_equal(found, expected)
    values = getattr(chosen.path(ALPHAS), criterion)
    at = GAMMAS.index(model.gamma_)
    assert_allclose(model.criterion_values_[at], values, rtol=1e-10)
    assert_allclose(model.leave_one_out(), chosen.leave_one_out())


@each("criterion", CRITERIA)
@each("fit_intercept", [False, True])
def test_factors_and_eigenvectors_agree(criterion, fit_intercept):
    X, Y, w = problem()
    few, many = ALPHAS, np.r_[ALPHAS, np.geomspace(1e-3, 10.0, 7)]
    assert by_eigenvectors(30, len(many)) and not by_eigenvectors(30, len(few))
    how = {"gammas": [0.4], "criterion": criterion, "fit_intercept": fit_intercept}
    by_factors = rbf_search(few, **how).fit(X, Y, w).criterion_values_
    by_vectors = rbf_search(many, **how).fit(X, Y, w).criterion_values_[:, :3]
    assert_allclose(by_factors, by_vectors, rtol=1e-10, atol=1e-10)
    model = KernelRidge(0.3, kernel="rbf", gamma=0.4, fit_intercept=fit_intercept).fit(X, Y, w)
    assert_allclose(model.path(few).dual_coef, model.path(many).dual_coef[:3], atol=1e-11)


def test_a_path_takes_the_eigenvectors_from_seven_alphas_on():
    X, Y, _ = problem()
    model = KernelRidge(0.3, kernel="rbf").fit(X, Y)
    model.path([0.1, 0.2, 0.3])
    assert isinstance(model._derived.path, FactorPath)
    model.path(np.arange(1.0, 8.0))
    kept = model._derived.path
    assert isinstance(kept, EigenPath)
    model.path([0.1])
    model.predict(X, return_std=True)
    assert model._derived.path is kept  # predictions do not take its place


@pytest.mark.parametrize("criterion", CRITERIA)
def test_without_alphas_all_are_searched(criterion):
    X, Y, w = problem(n=60, seed=3)
    model = rbf_search(gammas=GAMMAS, criterion=criterion).fit(X, Y, w)
    many = rbf_search(np.geomspace(1e-8, 1e3, 80), GAMMAS, criterion).fit(X, Y, w)
    slack = 1e-9 * np.abs(many.best_criterion_)
    assert model.gamma_ == many.gamma_
    assert (model.best_criterion_ <= many.best_criterion_ + slack).all()
    single = KernelRidge(criterion, kernel="rbf", gamma=model.gamma_).fit(X, Y, w)
    assert_allclose(single.alpha_, model.alpha_)


@each("kind", ["dense", "sparse", "precomputed"])
@each("model", [rbf_search(ALPHAS, GAMMAS), KernelRidge("gcv", kernel="rbf")])
def test_copies_are_left_out_together(kind, model):
    """So a weight is a copy, and no copy predicts another."""
    X, Y, _ = problem(n=20)
    counts = np.arange(20) % 3
    samples = {
        "dense": X, "sparse": sparse.csr_array(X), "precomputed": gram_matrix(X, gamma=0.3)
    }[kind]  # fmt: skip
    rows = np.arange(20).repeat(counts)
    repeated = samples[np.ix_(rows, rows)] if kind == "precomputed" else samples[rows]
    if kind == "precomputed":
        model.set_params(kernel="precomputed")
    weighted = model.fit(samples, Y, counts)
    alpha, at = weighted.alpha_, weighted.predict(samples)
    copies = model.fit(repeated, Y[rows])
    assert_allclose(copies.alpha_, alpha, rtol=1e-6)
    if kind != "precomputed":
        assert_allclose(copies.predict(samples), at, atol=1e-6)
    model.set_params(kernel="rbf")


def test_the_choice_does_not_depend_on_units():
    X, Y, w = problem()
    for criterion in CRITERIA:
        model = rbf_search(ALPHAS, GAMMAS, criterion).fit(X, Y, w)
        far = rbf_search(np.array(ALPHAS) * 2.0**-600, GAMMAS, criterion)
        far.fit(X, Y * 2.0**-300, w * 2.0**-600)
        assert far.gamma_ == model.gamma_
        assert_allclose(far.alpha_, model.alpha_ * 2.0**-600)
        assert_allclose(far.predict(X), model.predict(X) * 2.0**-300, rtol=1e-9)


def test_the_criteria_in_50_digits():
    """At a condition of 1e10, where -2 log p and errors are differences of large numbers."""
    X, Y, w = problem(n=14)
    y, alpha = Y[:, 0], 1e-9
    model = KernelRidge(alpha, kernel="rbf", gamma=0.02, fit_intercept=True).fit(X, y, w)
    few, many = model.path([alpha]), model.path(np.r_[alpha, np.geomspace(1e-3, 1, 7)])
    errors = model.leave_one_out()
    std = model.predict(X + 0.1, return_std=True)[1]
    with mp.workdps(50):
        rows = [[mp.mpf(v) for v in x] for x in X.tolist()]
        new = [[mp.mpf(v) for v in x] for x in (X + 0.1).tolist()]

        def k(x, z):
            return mp.exp(-mp.mpf(0.02) * sum((a - b) ** 2 for a, b in zip(x, z, strict=True)))

        n = len(rows)
        A = mp.matrix([[k(x, z) for z in rows] for x in rows])
        for i in range(n):
            A[i, i] += mp.mpf(alpha) / mp.mpf(w[i])
        M = A**-1
        one = mp.matrix([1] * n)
        total = (one.T * M * one)[0]
        G = M - (M * one) * (one.T * M) / total
        c = G * mp.matrix(y.tolist())
        energy = (mp.matrix(y.tolist()).T * c)[0]
        scale, copies = energy / (n - 1), energy / (mp.mpf(float(w.sum())) - 1)
        exact = np.array([float(c[i] / G[i, i]) for i in range(n)])
        log = float(mp.log(mp.det(A)) + mp.log(total) + (n - 1) * mp.log(scale))
        log += float(np.log(w).sum())
        deviations = []
        for x in new:
            values = mp.matrix([k(x, z) for z in rows])
            left = 1 - (values.T * M * values)[0] + (1 - (values.T * M * one)[0]) ** 2 / total
            deviations.append(float(mp.sqrt(copies * left)))
    condition = 14 / (alpha / 3)
    assert_allclose(errors, exact, rtol=1e-15 * condition)
    for path in (few, many):
        assert_allclose(path.loo[0], w @ exact**2 / w.sum(), rtol=1e-15 * condition)
        assert_allclose(path.likelihood[0], log, rtol=1e-15 * condition)
    assert_allclose(std, deviations, rtol=1e-15 * condition)


@each("dtype", [np.float32, np.float64])
@each("n", [1, 40, 256, 520])
def test_the_diagonal_of_an_inverse(n, dtype):
    A = np.random.default_rng(0).normal(size=(n, 2 * n + 3))
    A = (A @ A.T / (2 * n)).astype(dtype)
    expected = np.linalg.inv(A.astype(np.float64)).diagonal()
    values = np.linalg.eigvalsh(A.astype(np.float64))
    slack = 4 * values[-1] / values[0] * np.finfo(dtype).eps
    assert_allclose(Cholesky.of(A.copy()).inverse_diagonal(), expected, rtol=slack)


def test_a_penalty_below_rounding_takes_the_eigenvectors():
    """No factor there is: equal rows of different targets, and a penalty of 1e-25."""
    X = np.array([[0.0], [0.0], [1.0], [3.0]])
    y = np.array([1.0, 3.0, 5.0, 4.0])
    model = KernelRidge(1e-25, kernel="rbf")
    with pytest.warns(UserWarning, match="singular up to rounding"):
        model.fit(X, y)
    assert_allclose(model.leave_one_out()[:2], [-2.0, 2.0], rtol=1e-6)


@each(
    ("params", "message"),
    [
        ({"alphas": [1.0, 0.0]}, "alphas holds 0"),
        ({"alphas": []}, "alphas has shape .0,."),
        ({"alphas": "loo"}, "alphas"),
        ({"gammas": []}, "gammas=.* must be a sequence"),
        ({"gammas": "scale"}, "gammas='scale' must be a sequence"),
        ({"gammas": [-1.0]}, "gammas=-1"),
        ({"criterion": "aic"}, "criterion='aic'"),
    ],
)
def test_wrong_parameters_are_named(params, message):
    with pytest.raises((ValueError, TypeError), match=message):
        KernelRidgeCV(**params).fit([[1.0], [2.0]], [1.0, 2.0])


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_one_sample_cannot_be_left_out(fit_intercept):
    how = {"kernel": "rbf", "fit_intercept": fit_intercept}
    for X in ([[1.0]], [[1.0], [1.0]]):
        for model in (KernelRidgeCV(**how), KernelRidge("gcv", **how)):
            with pytest.raises(ValueError, match="n_samples=1"):
                model.fit(X, np.ones(len(X)))
    for solver in ("cholesky", "nystroem"):
        model = KernelRidge(solver=solver, random_state=0, **how).fit([[1.0]], [4.0])
        given = ([[1.0]], [4.0]) if solver == "nystroem" else ()
        if fit_intercept:
            with pytest.raises(ValueError, match="n_samples=1"):
                model.leave_one_out(*given)
        else:
            assert_allclose(model.leave_one_out(*given), [4.0])


@pytest.mark.filterwarnings("ignore:.* is singular up to rounding:UserWarning")
@each("criterion", CRITERIA)
@each("scale", [1e-150, 1e75])
def test_a_penalty_far_from_the_kernel_values(criterion, scale):
    """The function is 0, or that of least squares; nothing overflows on the way."""
    X, Y, _ = problem()
    model = KernelRidgeCV([0.1, 1.0, 10.0], criterion=criterion, kernel="linear").fit(X * scale, Y)
    coef = np.linalg.lstsq(X, Y)[0] if scale > 1 else np.zeros((3, 2))
    assert_allclose(model.predict(X * scale), X @ coef, atol=1e-10)
    assert np.isfinite(model.criterion_values_).all()
    assert (model.verify(X * scale, Y).duality_gap >= 0).all()


@each("fit_intercept", [False, True])
@each("weighted", [False, True])
@each("q", [0, 2])
def test_scores_of_folds_are_those_of_separate_fits(q, weighted, fit_intercept):
    rng = np.random.default_rng([q, weighted])
    A = rng.normal(size=(40, 3)) + 5
    b = np.sin(A[:, 0]) + 0.2 * rng.normal(size=40) + 3
    b = np.c_[b, A[:, 1] ** 2] if q else b
    weight = rng.integers(1, 4, 40).astype(float) if weighted else None
    alphas, gammas = [1e-11, 0.01, 1.0, 30.0], [0.05, 0.5]  # the first needs models
    folds = list(ShuffleSplit(3, test_size=0.2, train_size=0.6, random_state=0).split(A))
    folds.append((np.arange(30), np.arange(20, 40)))  # tests in part what it trains on
    options = {"scoring": ["r2", "neg_mean_absolute_error"], "refit": "r2", "cv": folds}
    model = KernelRidgeCV(alphas, gammas, kernel="rbf", fit_intercept=fit_intercept, **options)
    model.fit(A, b, weight)
    for one, place in zip(model.cv_results_["params"], range(8), strict=True):
        for f, (train, test) in enumerate(folds):
            w = np.ones(40) if weight is None else weight
            alone = KernelRidge(kernel="rbf", fit_intercept=fit_intercept, **one)
            alone.fit(A[train], b[train], w[train])
            predicted = alone.predict(A[test])
            for name, metric in (
                ("r2", r2_score),
                ("neg_mean_absolute_error", mean_absolute_error),
            ):
                expected = metric(b[test], predicted, sample_weight=w[test])
                expected *= -1 if metric is mean_absolute_error else 1
                found = model.cv_results_[f"split{f}_test_{name}"][place]
                assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    best = int(model.cv_results_["mean_test_r2"].argmax())
    assert model.best_index_ == best and model.gamma_ == model.best_params_["gamma"]
    alone = KernelRidge(kernel="rbf", fit_intercept=fit_intercept, **model.best_params_)
    assert_allclose(model.predict(A), alone.fit(A, b, weight).predict(A))


def test_a_search_by_scores_is_that_of_scikit_learn():
    rng = np.random.default_rng(4)
    A = rng.normal(size=(60, 3))
    b = np.sin(A[:, 0]) + 0.2 * rng.normal(size=60)
    scoring = {"r2": "r2", "max": "neg_max_error", "mine": make_scorer(r2_score)}
    grid = {"alpha": [0.01, 1.0], "gamma": [0.1, 1.0]}
    groups = np.arange(60) // 7
    options = {"scoring": scoring, "refit": "max", "cv": GroupKFold(3)}
    ours = KernelRidgeCV(*grid.values(), kernel="rbf", **options).fit(A, b, groups=groups)
    theirs = GridSearchCV(PeerRidge(kernel="rbf"), grid, **options).fit(A, b, groups=groups)
    assert ours.cv_results_.keys() == theirs.cv_results_.keys()
    for key, expected in theirs.cv_results_.items():
        if "_test_" in key:
            assert_allclose(ours.cv_results_[key], expected, rtol=1e-8, err_msg=key)
    assert ours.best_params_ == theirs.best_params_
    K = A @ A.T
    one = KernelRidgeCV([0.1, 1.0], kernel="precomputed", scoring=make_scorer(r2_score)).fit(K, b)
    other = KernelRidgeCV([0.1, 1.0], scoring="r2").fit(A, b)
    assert_allclose(
        one.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"], rtol=1e-7
    )
    simple = KernelRidgeCV(
        [0.01, 0.1, 1.0], [0.3], kernel="rbf", scoring="r2", rule="one_standard_error", refit=False
    ).fit(A, b)
    assert (
        simple.alpha_
        >= simple.cv_results_["param_alpha"][simple.cv_results_["mean_test_score"].argmax()]
    )
    with pytest.raises(NotFittedError, match="refit=False"):
        simple.predict(A)


@each(
    ("params", "message"),
    [
        ({"scoring": "r2"}, "scoring needs alphas"),
        ({"cv": 1}, "cv=1"),
        ({"rule": "one_standard_error"}, "rule needs scoring"),
        ({"refit": False}, "refit needs scoring"),
        ({"error_score": 0.0}, "error_score needs scoring"),
    ],
)
def test_parameters_of_scores_need_a_score(params, message):
    with pytest.raises(ValueError, match=message):
        KernelRidgeCV(**params).fit(np.eye(4), np.arange(4.0))
