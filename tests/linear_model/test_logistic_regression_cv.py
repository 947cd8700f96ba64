"""C chosen by cross-validation, against fits one by one and scikit-learn."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression as PeerRegression
from sklearn.linear_model import LogisticRegressionCV as Peer
from sklearn.metrics import (
    balanced_accuracy_score,
    brier_score_loss,
    f1_score,
    log_loss,
    make_scorer,
)
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold
from threadpoolctl import threadpool_limits

import mlcore
from mlcore.checks.errors import ConvergenceWarning, NotFittedError
from mlcore.linear_model import LogisticRegression, LogisticRegressionCV, SeparatedClasses
from mlcore.linear_model.logistic.logistic_path import deviations_of

COSTS = [0.01, 0.3, 3.0]


def cancer(n=200):
    X, y = load_breast_cancer(return_X_y=True)
    return ((X - X.mean(axis=0)) / X.std(axis=0))[:n, :8], y[:n]


def drawn(n, d, k=2, seed=0):
    rng = np.random.default_rng([n, d, k, seed])
    X = rng.normal(size=(n, d))
    y = (X[:, :2] @ rng.normal(size=(2, k)) + rng.gumbel(size=(n, k))).argmax(axis=1)
    y[: 3 * k] = np.arange(3 * k) % k
    return X, y


def folds_of(X, y, n_folds=5):
    return list(StratifiedKFold(n_folds).split(X, y))


def objective(W, b, X, y, C, ratio, s):
    Z = X @ W.T + b
    Z = np.hstack([0 * Z, Z]) if Z.shape[1] == 1 else Z
    top = Z.max(axis=1)
    losses = np.log(np.exp(Z - top[:, None]).sum(axis=1)) + top - Z[np.arange(len(y)), y]
    return C * (s * losses).sum() + (1 - ratio) / 2 * (W**2).sum() + ratio * np.abs(W).sum()


@pytest.mark.parametrize("k", [2, 3])
def test_models_and_scores_are_those_of_separate_fits(k):
    X, y = drawn(90, 4, k)
    ratios = [0.0, 0.5, 1.0]
    model = LogisticRegressionCV(Cs=COSTS, l1_ratio=ratios, tol=1e-8).fit(X, y)
    assert model.coefs_paths_.shape == (5, 3, 3, 1 if k == 2 else 3, 5)
    assert model.scores_.shape == model.duality_gaps_.shape == (5, 3, 3)
    for f, (train, test) in list(enumerate(folds_of(X, y)))[::2]:
        for r, ratio in enumerate(ratios):
            for m, C in enumerate(COSTS):
                fit = LogisticRegression(C=C, l1_ratio=ratio, tol=1e-8).fit(X[train], y[train])
                found = model.coefs_paths_[f, r, m]
                gap = model.duality_gaps_[f, r, m]
                P = objective(found[:, :-1], found[:, -1], X[train], y[train], C, ratio, 1.0)
                assert P - fit.objective_ <= gap + 1e-13 * P
                assert fit.objective_ - P <= fit.duality_gap_ + 1e-13 * P
                assert gap <= 1e-8 * P
                expected = -log_loss(y[test], fit.predict_proba(X[test]), labels=np.arange(k))
                assert_allclose(model.scores_[f, r, m], expected, atol=2e-4)


def test_the_choice_is_that_of_scikit_learn():
    X, y = cancer()
    model = LogisticRegressionCV(Cs=np.logspace(-3, 2, 12), cv=4, tol=1e-8).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = Peer(Cs=np.logspace(-3, 2, 12), cv=4, l1_ratios=[0.0], scoring="neg_log_loss",
                    tol=1e-9, max_iter=10_000, use_legacy_attributes=False).fit(X, y)  # fmt: skip
    assert_allclose(model.scores_, np.asarray(peer.scores_).reshape(4, 1, 12), atol=1e-5)
    assert_allclose(model.C_, np.ravel(peer.C_)[0])
    assert_allclose(model.coef_, peer.coef_, atol=1e-3)
    assert_array_equal(model.Cs_, np.logspace(-3, 2, 12))


def test_results_of_the_search():
    X, y = cancer()
    model = LogisticRegressionCV(Cs=COSTS, l1_ratio=[0.2, 1.0], cv=3, rule="best").fit(X, y)
    results, mean = model.cv_results_, model.scores_.mean(axis=0)
    assert_array_equal(results["param_C"], COSTS * 2)
    assert_array_equal(results["param_l1_ratio"], np.repeat([0.2, 1.0], 3))
    assert_array_equal(results["mean_test_score"], mean.ravel())
    assert_array_equal(results["std_test_score"], model.scores_.std(axis=0).ravel())
    assert_array_equal(results["split2_test_score"], model.scores_[2].ravel())
    assert results["rank_test_score"][model.best_index_] == 1
    assert model.best_score_ == mean.max()
    r, m = np.unravel_index(mean.argmax(), mean.shape)
    assert (model.l1_ratio_, model.C_) == ([0.2, 1.0][r], COSTS[m])
    assert f"{model.best_score_:.5g}" in model._repr_html_()


def test_one_standard_error_takes_the_least_cost_that_is_nearly_best():
    X, y = cancer()
    Cs = np.logspace(-2, 3, 16)[::-1]
    best = LogisticRegressionCV(Cs=Cs, l1_ratio=1.0).fit(X, y)
    plain = LogisticRegressionCV(Cs=Cs, l1_ratio=1.0, rule="one_standard_error").fit(X, y)
    scores = best.scores_[:, 0]
    k = scores.mean(axis=0).argmax()
    least = scores.mean(axis=0)[k] - scores[:, k].std(ddof=1) / math.sqrt(5)
    assert plain.C_ == min(Cs[scores.mean(axis=0) >= least]) < best.C_
    assert np.count_nonzero(plain.coef_) <= np.count_nonzero(best.coef_)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy", "brier", "neg_brier_score"])
def test_other_scores(scoring, k):
    X, y = drawn(90, 4, k)
    s = np.random.default_rng(1).integers(1, 4, 90).astype(float)
    model = LogisticRegressionCV(Cs=COSTS, scoring=scoring, cv=3, tol=1e-9).fit(X, y, s)
    for f, (train, test) in enumerate(folds_of(X, y, 3)):
        fit = LogisticRegression(C=0.3, tol=1e-9).fit(X[train], y[train], s[train])
        named, p = fit.predict(X[test]), fit.predict_proba(X[test])
        if scoring == "accuracy":
            expected = fit.score(X[test], y[test], s[test])
        elif scoring == "balanced_accuracy":
            expected = balanced_accuracy_score(y[test], named, sample_weight=s[test])
        elif k == 2:
            expected = -brier_score_loss(y[test], p[:, 1], sample_weight=s[test])
        else:
            squares = ((p - (y[test][:, None] == np.arange(k))) ** 2).sum(axis=1)
            expected = -np.average(squares, weights=s[test])
        assert_allclose(model.scores_[f, 0, 1], expected, atol=1e-5)


def test_a_callable_scores_models():
    X, y = cancer()
    s = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    seen = []

    def scoring(model, X, y, sample_weight=None):
        seen.append((type(model), sample_weight is not None))
        return model.score(X, y, sample_weight)

    for weight in (None, s):
        by_name = LogisticRegressionCV(Cs=COSTS, scoring="accuracy").fit(X, y, weight)
        by_call = LogisticRegressionCV(Cs=COSTS, scoring=scoring).fit(X, y, weight)
        assert_array_equal(by_call.scores_, by_name.scores_)
    assert seen == [(LogisticRegression, False)] * 15 + [(LogisticRegression, True)] * 15
    with pytest.raises(ValueError, match="score that scoring returns"):
        LogisticRegressionCV(scoring=lambda *_: math.nan).fit(X, y)


@pytest.mark.parametrize("standardize", [False, True])
def test_the_last_fit_is_that_of_logistic_regression(standardize):
    X, y = cancer()
    units = np.logspace(-1, 1, 8)
    search = LogisticRegressionCV(Cs=COSTS, standardize=standardize, tol=1e-8)
    model = search.fit(X * units, y)
    scale = (X * units).std(axis=0) if standardize else np.ones(8)
    fit = LogisticRegression(C=model.C_, tol=1e-8).fit(X * units / scale, y)
    assert_allclose(model.objective_, fit.objective_, rtol=1e-9)
    assert_allclose(model.coef_, fit.coef_ / scale, rtol=1e-3, atol=1e-6)
    evidence = model.verify(X * units, y)
    assert_allclose(evidence.objective, model.objective_, rtol=1e-12)
    assert evidence.duality_gap <= 1e-7 * model.objective_
    assert_array_equal(model.predict(X * units), fit.predict(X * units / scale))


def test_standardised_paths_are_those_of_divided_columns():
    X, y = drawn(80, 3)
    X = np.c_[X * [1e-3, 1.0, 1e3], np.full(80, 5.0)]
    for ratio in (0.0, 1.0):
        for data in (X, sparse.csr_array(X)):
            model = LogisticRegressionCV(Cs=COSTS, l1_ratio=ratio, standardize=True, tol=1e-8)
            paths = model.fit(data, y).coefs_paths_
            for f, (train, _) in enumerate(folds_of(X, y)):
                scale = X[train].std(axis=0)
                scale[3] = 1
                plain = LogisticRegression(C=0.3, l1_ratio=ratio, tol=1e-8)
                plain.fit(X[train] / scale, y[train])
                assert_allclose(paths[f, 0, 1, 0, :-1] * scale, plain.coef_[0], atol=1e-4)


def test_deviations_by_weights():
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(50, 3)) + [0.0, 1e6, 0.0], rng.random((2, 50))
    X[:, 2] = 0.1
    for data in (X, sparse.csr_array(X)):
        found = deviations_of(data, s)
        for part, weight in zip(found, s, strict=True):
            mean = np.average(X, axis=0, weights=weight)
            exact = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
            assert_allclose(part[0], exact[0], rtol=1e-9)
            assert_allclose(part[1], exact[1], rtol=1e-9 if data is X else 1e-2)
            assert part[2] == 1


def test_weights_enter_training_and_scores():
    X, y = drawn(60, 3)
    s = np.ones(60)
    s[:6] = 0
    folds = folds_of(X, y, 3)
    model = LogisticRegressionCV(Cs=COSTS, cv=folds).fit(X, y, s)
    kept = np.arange(6, 60)
    inside = [(np.flatnonzero(np.isin(kept, a)), np.flatnonzero(np.isin(kept, b)))
              for a, b in folds]  # fmt: skip
    other = LogisticRegressionCV(Cs=COSTS, cv=inside).fit(X[kept], y[kept])
    assert_array_equal(model.coefs_paths_, other.coefs_paths_)
    assert_array_equal(model.scores_, other.scores_)
    doubled = LogisticRegressionCV(Cs=COSTS, cv=folds).fit(X, y, 2 * s)
    halved = LogisticRegressionCV(Cs=np.array(COSTS) * 2, cv=folds).fit(X, y, s)
    assert_allclose(doubled.scores_, halved.scores_, atol=1e-5)


def test_balanced_classes_are_balanced_in_each_fold():
    X, y = drawn(80, 3)
    y[:30] = 0
    model = LogisticRegressionCV(Cs=COSTS, class_weight="balanced", tol=1e-8).fit(X, y)
    for f, (train, _) in enumerate(folds_of(X, y)):
        fit = LogisticRegression(C=0.3, class_weight="balanced", tol=1e-8).fit(X[train], y[train])
        assert_allclose(model.coefs_paths_[f, 0, 1, 0, :-1], fit.coef_[0], atol=1e-4)
    one = LogisticRegressionCV(Cs=COSTS, class_weight={0: 0.0}).fit(*drawn(90, 3, 3))
    assert one.classes_.tolist() == [1, 2]


def test_folds_are_those_that_are_given():
    X, y = cancer()
    splitter = KFold(3, shuffle=True, random_state=0)
    pairs = list(splitter.split(X))
    by_splitter = LogisticRegressionCV(Cs=COSTS, cv=splitter).fit(X, y)
    by_pairs = LogisticRegressionCV(Cs=COSTS, cv=pairs).fit(X, y)
    masks = [(np.isin(np.arange(len(y)), a), np.isin(np.arange(len(y)), b)) for a, b in pairs]
    by_masks = LogisticRegressionCV(Cs=COSTS, cv=masks).fit(X, y)
    assert_array_equal(by_splitter.scores_, by_pairs.scores_)
    assert_array_equal(by_masks.scores_, by_pairs.scores_)


def test_a_fold_without_a_class_is_told():
    X, y = drawn(60, 2, 3)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    first = y == 0
    first[: first.sum() // 2] = False  # some of class 0 are left for training
    folds = [(np.flatnonzero(y != 0), np.flatnonzero(y == 0)), (np.flatnonzero(~first), first)]
    with pytest.warns(UserWarning, match="fold 0 lack the class 0") as told:
        model = LogisticRegressionCV(Cs=COSTS, cv=folds).fit(X, y)
    assert len(told) == 1
    assert_allclose(model.scores_[0], math.log(1e-300), rtol=1e-12)
    assert model.coefs_paths_[0, 0, 0, 0, -1] == -math.inf
    assert not model.coefs_paths_[0, 0, :, 0, :-1].any()
    binary = LogisticRegression(C=0.3).fit(X[y != 0], y[y != 0])
    difference = model.coefs_paths_[0, 0, 1, 2] - model.coefs_paths_[0, 0, 1, 1]
    assert_allclose(difference[:-1], binary.coef_[0], atol=1e-3)
    with pytest.warns(UserWarning, match="fold 0 lack"):
        model = LogisticRegressionCV(Cs=COSTS, cv=folds, scoring="accuracy").fit(X, y)
    assert not model.scores_[0].any()
    with pytest.raises(ValueError, match="fold 0 are of one class, 1"):
        cv = [(np.flatnonzero(y == 1), np.flatnonzero(y == 0))]
        LogisticRegressionCV(cv=cv).fit(X, y)


def test_without_the_last_fit():
    X, y = cancer()
    model = LogisticRegressionCV(Cs=COSTS, refit=False).fit(X, y)
    full = LogisticRegressionCV(Cs=COSTS).fit(X, y)
    assert_array_equal(model.coefs_paths_, full.coefs_paths_)
    assert model.C_ == full.C_
    assert not hasattr(model, "coef_")
    for method in (model.predict, model.predict_proba, model.sparsify):
        with pytest.raises(NotFittedError, match="refit=False"):
            method(*[X] * (method != model.sparsify))
    model.set_params(refit=True).fit(X, y)
    assert_array_equal(model.coef_, full.coef_)


def test_a_number_of_costs_begins_without_coefficients():
    X, y = cancer()
    model = LogisticRegressionCV(Cs=4, l1_ratios=[1.0, 0.5]).fit(X, y)
    least = 0.5 / np.abs(X.T @ (y - y.mean())).max()
    assert_allclose(model.Cs_, least * np.array([1, 10, 100, 1000]), rtol=1e-9)
    assert_allclose(LogisticRegressionCV(Cs=3).fit(X, y).Cs_, [1e-4, 1, 1e4])
    with pytest.raises(ValueError, match="two names"):
        LogisticRegressionCV(l1_ratio=0.5, l1_ratios=[0.5]).fit(X, y)


@pytest.mark.parametrize("ratio", [0.0, 1.0])
def test_sparse_data_and_many_columns(ratio):
    X, y = drawn(60, 260)
    dense = LogisticRegressionCV(Cs=COSTS[:2], l1_ratio=ratio, cv=2, tol=1e-7).fit(X, y)
    csr = LogisticRegressionCV(Cs=COSTS[:2], l1_ratio=ratio, cv=2, tol=1e-7)
    csr.fit(sparse.csr_array(X), y)
    assert_allclose(csr.scores_, dense.scores_, atol=1e-3)
    assert_allclose(csr.objective_, dense.objective_, rtol=1e-6)
    train, _ = folds_of(X, y, 2)[0]
    fit = LogisticRegression(C=0.3, l1_ratio=ratio, tol=1e-7).fit(X[train], y[train])
    found = dense.coefs_paths_[0, 0, 1]
    P = objective(found[:, :-1], found[:, -1], X[train], y[train], 0.3, ratio, 1.0)
    assert abs(P - fit.objective_) <= max(dense.duality_gaps_[0, 0, 1], fit.duality_gap_) + 1e-12


def test_single_precision():
    X, y = cancer()
    model = LogisticRegressionCV(Cs=COSTS).fit(X.astype(np.float32), y)
    exact = LogisticRegressionCV(Cs=COSTS).fit(X, y)
    assert model.coefs_paths_.dtype == model.coef_.dtype == np.float32
    assert_allclose(model.scores_, exact.scores_, atol=1e-5)


def test_without_penalty():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(SeparatedClasses):
        LogisticRegressionCV(Cs=[1.0, np.inf]).fit(X, y)
    X, y = drawn(200, 2)
    model = LogisticRegressionCV(Cs=[np.inf], cv=3).fit(X, y)
    fit = LogisticRegression(C=np.inf).fit(X, y)
    assert model.C_ == np.inf
    assert np.isinf(model.duality_gaps_).all()
    assert_allclose(model.coef_, fit.coef_, rtol=1e-3)


def test_max_iter_is_told():
    X, y = cancer()
    with pytest.warns(ConvergenceWarning, match="max_iter=1 steps ended"):
        LogisticRegressionCV(Cs=COSTS, max_iter=1, refit=False).fit(X, y)


def test_string_labels_files_and_clones(tmp_path):
    X, y = cancer()
    y = np.array(["bad", "good"])[y]
    model = LogisticRegressionCV(Cs=COSTS, l1_ratio=[0.0, 1.0]).fit(X, y)
    mlcore.save(model, tmp_path / "model.npz")
    again = mlcore.load(tmp_path / "model.npz")
    assert_array_equal(again.predict(X), model.predict(X))
    assert_array_equal(again.coefs_paths_, model.coefs_paths_)
    assert clone(model).get_params() == model.get_params()


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(2, 3), ratio=st.sampled_from([0.0, 0.5, 1.0]))
def test_laws(seed, k, ratio):
    """Shifted columns and the order of costs change nothing; gaps hold for perturbed models."""
    X, y = drawn(50, 3, k, seed)
    options = {"l1_ratio": ratio, "cv": 3, "tol": 1e-7}
    model = LogisticRegressionCV(Cs=COSTS, **options).fit(X, y)
    moved = LogisticRegressionCV(Cs=COSTS[::-1], **options).fit(X + [5.0, -3.0, 0.0], y)
    assert_allclose(moved.scores_[:, :, ::-1], model.scores_, atol=1e-3)
    rng, (train, _) = np.random.default_rng(seed), folds_of(X, y, 3)[1]
    for m, C in enumerate(COSTS):
        theta = model.coefs_paths_[1, 0, m]
        values = [
            objective(t[:, :-1], t[:, -1], X[train], y[train], C, ratio, 1.0)
            for t in (theta, *(theta + size * rng.normal(size=theta.shape) for size in (1e-4, 0.1)))
        ]
        assert values[0] - min(values) <= model.duality_gaps_[1, 0, m] + 1e-13 * values[0]


def test_threads_change_no_bit():
    X, y = drawn(3000, 12)
    found = []
    for n_threads in (1, 3):
        with threadpool_limits(n_threads):
            model = LogisticRegressionCV(Cs=12, l1_ratio=[0.1, 1.0]).fit(X, y)
            found.append(np.concatenate([model.coefs_paths_.ravel(), model.scores_.ravel()]))
    assert_array_equal(*found)


@pytest.mark.parametrize("k", [2, 3])
def test_any_score_is_that_of_a_search_by_scikit_learn(k):
    X, y = drawn(90, 4, k)
    names = [
        "accuracy", "average_precision", "f1_macro", "jaccard_weighted", "matthews_corrcoef",
        "neg_brier_score", "neg_log_loss", "precision_micro", "roc_auc_ovo", "roc_auc_ovr",
    ]  # fmt: skip
    names += ["roc_auc", "f1", "recall"] if k == 2 else []
    scoring = {name: name for name in names} | {"mine": make_scorer(f1_score, average="macro")}
    groups = np.arange(90) // 7
    ours = LogisticRegressionCV(
        Cs=COSTS, cv=GroupKFold(4), scoring=scoring, refit="roc_auc_ovr", tol=1e-9
    ).fit(X, y, groups=groups)
    peer = GridSearchCV(
        PeerRegression(tol=1e-10, max_iter=1000), {"C": COSTS}, cv=GroupKFold(4), scoring=scoring,
        refit="roc_auc_ovr",
    ).fit(X, y, groups=groups)  # fmt: skip
    theirs = peer.cv_results_
    assert ours.cv_results_.keys() == {*theirs, "param_l1_ratio"}
    for key in theirs:
        if "_test_" in key:
            assert_allclose(ours.cv_results_[key], theirs[key], rtol=1e-4, err_msg=key)
    assert ours.best_params_ == {"C": peer.best_params_["C"], "l1_ratio": 0.0}
    assert ours.cv_results_["params"][ours.best_index_] == ours.best_params_
    assert_allclose(ours.best_score_, peer.best_score_, rtol=1e-5)
    assert_allclose(ours.scores_[:, 0].mean(axis=0), theirs["mean_test_roc_auc_ovr"], rtol=1e-5)
    assert_array_equal(
        ours.n_test_samples_, [len(test) for _, test in GroupKFold(4).split(X, y, groups)]
    )
    assert LogisticRegressionCV(Cs=COSTS).fit(X, y, np.ones(90)).n_test_samples_ is None


def test_scores_that_the_labels_do_not_have():
    X, y = drawn(60, 3, 3)
    for scoring, advice in (("f1", "f1_macro"), ("roc_auc", "roc_auc_ovr")):
        with pytest.raises(ValueError, match=f"scoring='{scoring}' is of two classes.*{advice}"):
            LogisticRegressionCV(scoring=scoring).fit(X, y)
    words = np.where(y == 0, "no", "yes")
    with pytest.raises(ValueError, match=r"label 1, which y has not.*\['no', 'yes'\]"):
        LogisticRegressionCV(scoring="f1").fit(X, words)
    LogisticRegressionCV(Cs=2, scoring="roc_auc").fit(X, words)
    with pytest.raises(ValueError, match="must name the score"):
        LogisticRegressionCV(scoring=["accuracy", "f1_macro"]).fit(X, y)
    with pytest.raises(ValueError, match="groups need a cv"):
        LogisticRegressionCV().fit(X, y, groups=y)
