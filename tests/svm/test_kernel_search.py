"""SVRCV, NuSVCCV and OneClassSVMCV against exhaustive searches by scikit-learn."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import svm as peers
from sklearn.metrics import f1_score, make_scorer, r2_score
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold

from mlcore.checks.errors import NotFittedError
from mlcore.svm import SVR, SVRCV, NuSVC, NuSVCCV, OneClassSVM, OneClassSVMCV
from mlcore.svm.formulations import NuClassification
from mlcore.svm.smo.feasible_start import grown_to_sums

GAMMAS = [0.1, 0.6]


def same_search(ours, theirs, rtol):
    assert ours.cv_results_.keys() == theirs.cv_results_.keys()
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    for key, expected in theirs.cv_results_.items():
        if "_test_" in key and "rank" not in key:
            assert_allclose(ours.cv_results_[key], expected, rtol=rtol, atol=1e-6, err_msg=key)
    assert ours.best_params_ == theirs.best_params_
    assert ours.best_index_ == theirs.best_index_


def noisy(n, seed=0):
    rng = np.random.default_rng([n, seed])
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] - X[:, 1] ** 2 + 0.3 * rng.normal(size=n)


@each("n", [60, 500])  # few samples are solved to rounding
def test_regression_is_that_of_scikit_learn(n):
    X, y = noisy(n)
    scoring = {
        "r2": "r2", "mae": "neg_mean_absolute_error", "mine": make_scorer(r2_score),
        "median": "neg_median_absolute_error",
    }  # fmt: skip
    groups = np.arange(n) // 9
    options = {"scoring": scoring, "refit": "mae", "cv": GroupKFold(3)}
    ours = SVRCV(Cs=[5.0, 0.2], epsilons=[0.05, 0.3], gammas=GAMMAS, tol=1e-7, **options)
    ours.fit(X, y, groups=groups)
    grid = {"C": [5.0, 0.2], "epsilon": [0.05, 0.3], "gamma": GAMMAS}
    theirs = GridSearchCV(peers.SVR(tol=1e-9), grid, **options).fit(X, y, groups=groups)
    same_search(ours, theirs, 1e-4)
    assert (ours.C_, ours.epsilon_, ours.gamma_) == tuple(theirs.best_params_.values())
    assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-4)
    assert ours.verify(X, y).kkt_violation < 1e-5


def test_weights_of_regression_are_copies():
    X, y = noisy(40)
    weight = np.arange(40) % 3
    fold = np.arange(40) % 4
    copies = np.repeat(np.arange(40), weight)

    def pairs(fold):
        return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(4)]

    options = {"Cs": [0.5, 5.0], "gammas": GAMMAS, "tol": 1e-9, "scoring": ["r2", "neg_max_error"]}
    options["refit"] = "r2"
    one = SVRCV(cv=pairs(fold), **options).fit(X, y, weight)
    other = SVRCV(cv=pairs(fold[copies]), **options).fit(X[copies], y[copies])
    for name in ("r2", "neg_max_error"):
        assert_allclose(
            one.cv_results_[f"mean_test_{name}"], other.cv_results_[f"mean_test_{name}"], atol=1e-6
        )
    assert one.n_test_samples_ is None
    assert_array_equal(other.n_test_samples_, np.bincount(fold[copies]))


@each("k", [2, 3])
def test_classification_by_nu_is_that_of_scikit_learn(k):
    rng = np.random.default_rng(k)
    X = rng.normal(size=(330, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=330) > 0).astype(int) + (k == 3) * (X[:, 1] > 0.7)
    names = ["accuracy", "f1_macro", "balanced_accuracy"] + (["roc_auc"] if k == 2 else [])
    scoring = {name: name for name in names} | {"mine": make_scorer(f1_score, average="macro")}
    options = {"scoring": scoring, "refit": "f1_macro", "cv": 3}
    ours = NuSVCCV(nus=[0.4, 0.2], gammas=GAMMAS, tol=1e-7, **options).fit(X, y)
    grid = {"gamma": GAMMAS, "nu": [0.4, 0.2]}
    theirs = GridSearchCV(peers.NuSVC(tol=1e-8), grid, **options).fit(X, y)
    at = [theirs.cv_results_["params"].index(one) for one in ours.cv_results_["params"]]
    for name in scoring:
        expected = theirs.cv_results_[f"mean_test_{name}"][at]
        assert_allclose(ours.cv_results_[f"mean_test_{name}"], expected, atol=4e-3, err_msg=name)
    exact = GridSearchCV(NuSVC(tol=1e-7), grid, **options).fit(X, y)  # the same middle of a margin
    for name in scoring:
        expected = exact.cv_results_[f"mean_test_{name}"][at]
        assert_allclose(ours.cv_results_[f"mean_test_{name}"], expected, rtol=1e-9, err_msg=name)
    assert_array_equal(ours.cv_results_["mean_test_mine"], ours.cv_results_["mean_test_f1_macro"])
    assert ours.nu_ == theirs.best_params_["nu"] and ours.gamma_ == theirs.best_params_["gamma"]
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.99


def test_infeasible_nu_has_the_score_of_an_error():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 2)), np.arange(100) % 10 == 0
    with pytest.raises(ValueError, match=r"nu=0.5 is infeasible"):
        NuSVCCV(nus=[0.1, 0.5], gammas=[1.0]).fit(X, y)
    finite = pytest.warns(UserWarning, match="not finite")
    with (
        finite,
        pytest.warns(UserWarning, match=r"fits failed.*nu=0.5 is infeasible.*error_score=nan"),
    ):
        search = NuSVCCV(nus=[0.5, 0.1], gammas=[1.0], error_score=np.nan).fit(X, y)
    assert search.nu_ == 0.1
    assert_array_equal(np.isnan(search.cv_results_["mean_test_score"]), [True, False])


def test_one_class_is_that_of_scikit_learn():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 2))
    y = np.where(rng.random(300) < 0.1, -1, 1)
    X[y == -1] *= 3
    names = ["balanced_accuracy", "f1", "roc_auc"]
    scoring = {name: name for name in names} | {"mine": make_scorer(f1_score)}
    options = {"scoring": scoring, "refit": "roc_auc", "cv": KFold(3)}
    ours = OneClassSVMCV(nus=[0.2, 0.05], gammas=GAMMAS, tol=1e-7, **options).fit(X, y)
    grid = {"gamma": GAMMAS, "nu": [0.2, 0.05]}
    theirs = GridSearchCV(peers.OneClassSVM(tol=1e-9), grid, **options).fit(X, y)
    at = [theirs.cv_results_["params"].index(one) for one in ours.cv_results_["params"]]
    for name in scoring:
        expected = theirs.cv_results_[f"mean_test_{name}"][at]
        assert_allclose(ours.cv_results_[f"mean_test_{name}"], expected, atol=2e-2, err_msg=name)
    assert_allclose(
        ours.cv_results_["mean_test_roc_auc"], theirs.cv_results_["mean_test_roc_auc"][at],
        atol=1e-4,
    )  # fmt: skip
    assert_allclose(ours.cv_results_["mean_test_mine"], ours.cv_results_["mean_test_f1"])
    assert ours.best_params_ == theirs.best_params_


def test_consistency_is_the_distance_of_nu_from_the_share_outside():
    X = np.random.default_rng(2).normal(size=(120, 2))
    search = OneClassSVMCV(nus=[0.05, 0.3], gammas=[0.1, 30.0], cv=4, tol=1e-8).fit(X)
    expected = [
        [
            -abs(
                nu
                - np.mean(
                    OneClassSVM(nu=nu, gamma=gamma, tol=1e-8).fit(X[train]).predict(X[test]) < 0
                )
            )
            for train, test in KFold(4).split(X)
        ]
        for nu in (0.05, 0.3)
        for gamma in (0.1, 30.0)
    ]
    assert_allclose(search.cv_results_["mean_test_score"], np.mean(expected, axis=1), atol=1e-9)
    assert search.gamma_ == 0.1
    seen = []
    OneClassSVMCV(
        nus=[0.1], gammas=[0.1], cv=2, scoring=lambda *given: seen.append(len(given)) or 0
    ).fit(X)
    assert seen == [2, 2]  # without labels
    for y, message in ((None, "needs labels"), (np.arange(120) % 2, "must be 1 for inliers")):
        with pytest.raises(ValueError, match=message):
            OneClassSVMCV(scoring="f1").fit(X, y)


def test_one_standard_error_and_no_refit():
    X, y = noisy(80)
    y = y + 2 * np.sin(1e4 * y)  # noise
    options = {"Cs": [1.0, 10.0, 100.0], "gammas": [0.3], "cv": 4}
    best = SVRCV(**options).fit(X, y)
    simple = SVRCV(rule="one_standard_error", refit=False, **options).fit(X, y)
    scores = np.stack([best.cv_results_[f"split{f}_test_score"] for f in range(4)], axis=1)
    mean = scores.mean(axis=1)
    k = mean.argmax()
    near = mean >= mean[k] - scores[k].std(ddof=1) / 2
    assert simple.C_ == options["Cs"][int(np.flatnonzero(near)[0])] < best.C_
    with pytest.raises(NotFittedError, match="refit=False"):
        simple.predict(X)
    plain = SVR(C=best.C_, gamma=0.3).fit(X, y)
    assert_allclose(best.predict(X), plain.predict(X))


def test_a_kernel_matrix_is_searched_as_its_samples():
    X, y = noisy(60)
    K = X @ X.T
    options = {"Cs": [0.1, 1.0], "cv": 3, "tol": 1e-8, "scoring": make_scorer(r2_score)}
    one, other = SVRCV(kernel="precomputed", **options), SVRCV(kernel="linear", **options)
    assert_allclose(
        one.fit(K, y).cv_results_["mean_test_score"],
        other.fit(X, y).cv_results_["mean_test_score"],
        atol=1e-6,
    )


@each("seed", range(6))
def test_starts_for_a_larger_nu_meet_its_sums_and_bounds(seed):
    rng = np.random.default_rng(seed)
    sign = np.where(rng.random(50) < 0.4, -1.0, 1.0)
    weight = rng.random(50) * (rng.random(50) < 0.8)  # some cannot move
    small, large = (NuClassification(nu, "NuSVC").problem(sign, weight) for nu in (0.2, 0.5))
    nothing = np.zeros(50)
    beta = grown_to_sums(small, nothing, rng.normal(size=50), 1.0)
    gradient = rng.normal(size=50)
    start = grown_to_sums(large, beta, gradient, 2.5)
    assert (start >= large.lower).all() and (start <= large.upper).all()
    for group, side in ((0, 1), (1, -1)):
        assert_allclose(start[sign == side].sum(), large.total[group], rtol=1e-12)
    within = (2.5 * beta > large.lower) & (2.5 * beta < large.upper)
    assert (np.abs(start) >= np.abs(2.5 * beta) - 1e-12)[within].all()
