"""SVCCV against an exhaustive search over SVC."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, ShuffleSplit, StratifiedKFold

from mlcore.checks.errors import ConvergenceWarning, NotFittedError
from mlcore.svm import SVC, SVCCV

CS, GAMMAS = [0.1, 1.0, 10.0], [0.05, 0.5, 5.0]


def overlapping(n=100, classes=2, seed=0):
    rng = np.random.default_rng([n, classes, seed])
    y = rng.integers(0, classes, n)
    return rng.normal(size=(n, 3)) + 0.8 * y[:, None], y


@pytest.mark.parametrize(
    ("classes", "class_weight", "multi_class"),
    [(2, None, "ovr"), (2, "balanced", "ovo"), (4, "balanced", "ovr"), (4, None, "ovo")],
)
def test_choice_and_scores_are_those_of_an_exhaustive_search(classes, class_weight, multi_class):
    X, y = overlapping(classes=classes)
    kwargs = dict(class_weight=class_weight, multi_class=multi_class)
    ours = SVCCV(Cs=CS, gammas=GAMMAS, **kwargs).fit(X, y)
    theirs = GridSearchCV(SVC(**kwargs), {"C": CS, "gamma": GAMMAS}).fit(X, y)
    assert {"C": ours.C_, "gamma": ours.gamma_} == theirs.best_params_
    for name in ("mean_test_score", "std_test_score", "rank_test_score", "split3_test_score"):
        assert_allclose(ours.cv_results_[name], theirs.cv_results_[name], atol=1e-12)
    assert ours.best_index_ == theirs.best_index_
    assert_allclose(ours.best_score_, theirs.best_score_)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    direct = SVC(C=ours.C_, gamma=ours.gamma_, **kwargs).fit(X, y)
    assert_allclose(ours.decision_function(X), direct.decision_function(X), atol=1e-7)
    assert (np.atleast_1d(ours.verify(X, y).duality_gap) < 1e-6).all()


@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
def test_kernels_without_a_width_search_c_alone(kernel):
    X, y = overlapping(100)
    data = X @ X.T if kernel == "precomputed" else X
    ours = SVCCV(Cs=CS, kernel=kernel).fit(data, y)
    theirs = GridSearchCV(SVC(kernel=kernel), {"C": CS}).fit(data, y)
    assert ours.C_ == theirs.best_params_["C"]
    assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])


@pytest.mark.parametrize("cv", [3, ShuffleSplit(4, random_state=0), StratifiedKFold(4)])
def test_splitters_and_pairs_of_indices_are_taken(cv):
    X, y = overlapping(100)
    ours = SVCCV(Cs=CS, gammas=GAMMAS, cv=cv).fit(X, y)
    theirs = GridSearchCV(SVC(), {"C": CS, "gamma": GAMMAS}, cv=cv).fit(X, y)
    assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    if hasattr(cv, "split"):
        pairs = list(cv.split(X, y))
        assert_array_equal(
            SVCCV(Cs=CS, gammas=GAMMAS, cv=pairs).fit(X, y).cv_results_["split1_test_score"],
            ours.cv_results_["split1_test_score"],
        )


def test_zero_weights_are_absent_from_folds_and_scores():
    X, y = overlapping(120)
    w = np.random.default_rng(0).integers(0, 2, 120).astype(float)
    ours = SVCCV(Cs=CS, gammas=GAMMAS).fit(X, y, sample_weight=w)
    without = SVCCV(Cs=CS, gammas=GAMMAS).fit(X[w > 0], y[w > 0])
    assert_array_equal(ours.cv_results_["mean_test_score"], without.cv_results_["mean_test_score"])
    assert_allclose(ours.decision_function(X), without.decision_function(X), atol=1e-8)
    assert (w[ours.support_] > 0).all()


def test_balanced_accuracy_is_the_mean_over_classes():
    X, y = overlapping(120)
    y = np.where(np.arange(120) < 90, 0, y)
    ours = SVCCV(Cs=CS, gammas=GAMMAS, scoring="balanced_accuracy").fit(X, y)
    grid = {"C": CS, "gamma": GAMMAS}
    theirs = GridSearchCV(SVC(), grid, scoring="balanced_accuracy").fit(X, y)
    assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])


def test_rare_classes_warn_and_work():
    X, y = overlapping(60, classes=3)
    y[y == 2] = 0
    y[5] = 2
    with pytest.warns(UserWarning, match="class 2 has only 1 members, less than cv=5"):
        ours = SVCCV(Cs=CS, gammas=GAMMAS).fit(X, y)
    assert set(ours.classes_) == {0, 1, 2} and np.isfinite(ours.best_score_)


def test_default_grid_is_about_the_scale_of_the_data():
    X, y = overlapping(80)
    for unit in (1.0, 1e3):
        ours = SVCCV().fit(unit * X, y)
        widths = np.unique(ours.cv_results_["param_gamma"])
        assert_allclose(widths * 3 * (unit * X).var(), [0.1, 1, 10], rtol=1e-9)


def test_choice_of_an_exhaustive_search():
    X, y = load_digits(n_class=2, return_X_y=True)
    X = np.repeat(X / 16, 2, axis=0) + 0.3 * np.random.default_rng(0).normal(size=(720, 64))
    y = np.repeat(y, 2)
    Cs, gammas = [0.1, 1.0, 10.0, 100.0], [0.003, 0.01, 0.03]
    ours = SVCCV(Cs=Cs, gammas=gammas).fit(X, y)
    theirs = GridSearchCV(SVC(), {"C": Cs, "gamma": gammas}).fit(X, y)
    assert theirs.best_params_ == {"C": ours.C_, "gamma": ours.gamma_}


def test_max_iter_warns():
    X, y = overlapping(400)
    with pytest.warns(ConvergenceWarning, match="SVCCV stopped after max_iter=2"):
        assert not SVCCV(Cs=[100.0], gammas=[1.0], max_iter=2).fit(X, y).converged_


@each(
    ("params", "error", "message"),
    [
        (dict(Cs=[]), ValueError, "Cs must be a sequence of at least one number"),
        (dict(Cs=1.0), TypeError, "Cs=1.0 is of type float"),
        (dict(Cs=[1.0, 0.0]), ValueError, "Cs=0.0"),
        (dict(Cs=[np.inf]), ValueError, "Cs=inf"),
        (dict(gammas="scale"), TypeError, "gammas='scale' is of type str"),
        (dict(gammas=["wide"]), ValueError, "gammas='wide'"),
        (dict(gammas=[-1.0]), ValueError, "gammas=-1.0"),
        (dict(cv=1), ValueError, "cv=1"),
        (dict(cv="five"), TypeError, "cv='five'"),
        (dict(cv=50), ValueError, "cv=50 cannot be greater than the number of members"),
        (dict(cv=[]), ValueError, "cv yields no pairs"),
        (dict(cv=[([0, 1], [99])]), ValueError, "cv must yield pairs .* below 40"),
        (dict(scoring="f2"), ValueError, "scoring='f2' .* 'accuracy', 'balanced_accuracy'"),
    ],
)
def test_parameters_out_of_range_are_named(params, error, message):
    X, y = overlapping(40)
    model = SVCCV(**params)
    with pytest.raises(error, match=message):
        model.fit(X, y)
    assert not any(name.endswith("_") for name in vars(model))


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_any_score_is_that_of_a_search_by_scikit_learn(k, rows):
    """With all of K, and with rows of it that do not fit in the cache."""
    rng = np.random.default_rng(k)
    X = rng.normal(size=(400 if rows else 330, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=len(X)) > 0).astype(int)
    y += (k == 3) * (X[:, 1] > 0.5)
    names = ["accuracy", "f1_macro", "jaccard_weighted", "matthews_corrcoef", "recall_micro"]
    names += ["roc_auc", "average_precision", "f1"] if k == 2 else []
    scoring = {name: name for name in names} | {"mine": make_scorer(f1_score, average="macro")}
    options = {"scoring": scoring, "refit": "f1_macro"}
    cache_size = 0.01 if rows else 200
    ours = SVCCV(Cs=[0.1, 1.0], gammas=[0.1, 0.5], cv=3, tol=1e-8, cache_size=cache_size, **options)
    ours.fit(X, y)
    grid = {"C": [0.1, 1.0], "gamma": [0.1, 0.5]}
    peer = GridSearchCV(SVC(tol=1e-8), grid, cv=3, **options).fit(X, y)
    assert ours.cv_results_.keys() == peer.cv_results_.keys()
    for key, theirs in peer.cv_results_.items():
        if "_test_" in key:
            assert_allclose(ours.cv_results_[key], theirs, rtol=1e-9, err_msg=key)
    assert ours.best_params_ == peer.best_params_ and ours.best_score_ == peer.best_score_
    assert_array_equal(ours.predict(X), peer.predict(X))
    # One standard error takes the smallest C.
    simple = SVCCV(
        Cs=[0.1, 1.0], gammas=[0.1, 0.5], cv=3, tol=1e-8, rule="one_standard_error",
        scoring="f1_macro",
    ).fit(X, y)  # fmt: skip
    scores = np.stack([peer.cv_results_[f"split{f}_test_f1_macro"] for f in range(3)], axis=1)
    best = scores.mean(axis=1).argmax()
    near = scores.mean(axis=1) >= scores[best].mean() - scores[best].std(ddof=1) / 3**0.5
    assert simple.best_index_ == np.flatnonzero(near)[0]


def test_scores_without_a_refit():
    X, y = load_iris(return_X_y=True)
    search = SVCCV(Cs=[1.0], gammas=[0.1], refit=False).fit(X, y)
    assert search.best_score_ > 0.9
    with pytest.raises(NotFittedError, match="refit=False"):
        search.predict(X)
    with pytest.raises(ValueError, match="needs probabilities"):
        SVCCV(scoring="neg_log_loss").fit(X, y)


def test_models_of_functions_know_the_kernel_matrix_of_all_samples():
    X, y = load_iris(return_X_y=True)
    seen = []

    def scorer(model, X, y):
        seen.append(X.shape)
        return (model.predict(X) == y).mean()

    K = X @ X.T
    ours = SVCCV(Cs=[0.1, 1.0], kernel="precomputed", cv=3, scoring=scorer).fit(K, y)
    plain = SVCCV(Cs=[0.1, 1.0], kernel="linear", cv=3).fit(X, y)
    assert {*seen} == {(50, 150)}
    assert_allclose(
        ours.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"], atol=0.01
    )
