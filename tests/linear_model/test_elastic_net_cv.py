"""ElasticNetCV and LassoCV beside scikit-learn's, and beside a fit for each fold and penalty."""

import warnings

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from sklearn import linear_model
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.metrics import make_scorer, r2_score
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ShuffleSplit
from threadpoolctl import threadpool_limits

from mlcore.checks.errors import NotFittedError
from mlcore.linear_model import ElasticNet, ElasticNetCV, Lasso, LassoCV
from mlcore.linear_model.coordinate import elastic_net_cv

X, Y = load_diabetes(return_X_y=True)
WEIGHT = 1.0 + np.arange(len(X)) % 3
EXACT = {"tol": 1e-12}
few = settings(max_examples=12, deadline=None)
layouts = pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])


def wide(seed=0, n=30, d=90):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, d)) + rng.normal(size=d)
    A[rng.random(A.shape) < 0.4] = 0
    return A, A[:, 0] - 2 * A[:, -1] + 0.5 * rng.normal(size=n) + 3


def each_alone(model, A, y, pairs, weight=None):
    """Mean squared errors by a fit for each penalty and fold."""
    weight = np.ones(len(y)) if weight is None else weight
    ratios = np.atleast_1d(model.l1_ratio)
    alphas = np.atleast_2d(model.alphas_)
    found = np.empty((len(ratios), alphas.shape[1], len(pairs)))
    for i, ratio in enumerate(ratios):
        for j, alpha in enumerate(alphas[i]):
            for k, (train, test) in enumerate(pairs):
                one = ElasticNet(
                    alpha, l1_ratio=ratio, fit_intercept=model.fit_intercept,
                    standardize=model.standardize, **EXACT,
                ).fit(A[train], y[train], weight[train])  # fmt: skip
                r = y[test] - A[test] @ one.coef_ - one.intercept_
                found[i, j, k] = np.average(r**2, weights=weight[test])
    return found if np.ndim(model.l1_ratio) else found[0]


@pytest.mark.parametrize("ratio", [0.5, [0.3, 0.9, 1.0]])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_errors_and_choice_are_those_of_scikit_learn(ratio, fit_intercept):
    A = X / X.std(axis=0)
    ours = ElasticNetCV(l1_ratio=ratio, fit_intercept=fit_intercept, **EXACT).fit(A, Y)
    theirs = linear_model.ElasticNetCV(
        l1_ratio=ratio, alphas=100, fit_intercept=fit_intercept, tol=1e-10, max_iter=10**5
    ).fit(A, Y)
    assert_allclose(ours.alphas_, theirs.alphas_, rtol=1e-9)
    assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-6)
    assert (ours.alpha_, ours.l1_ratio_) == pytest.approx((theirs.alpha_, theirs.l1_ratio_))
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    assert ours.duality_gaps_.shape == ours.mse_path_.shape
    assert (ours.duality_gaps_ <= 1e-11 * np.mean(Y**2)).all()


@layouts
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("weight", [None, WEIGHT[:30]])
def test_errors_of_wide_samples_are_those_of_separate_fits(layout, standardize, weight):
    A, y = wide()
    model = ElasticNetCV(l1_ratio=[0.5, 1.0], alphas=4, cv=3, standardize=standardize, **EXACT).fit(
        layout(A), y, weight
    )
    expected = each_alone(model, A, y, list(KFold(3).split(A)), weight)
    assert_allclose(model.mse_path_, expected, rtol=1e-5)
    mean = expected.mean(axis=2)
    i, j = np.unravel_index(mean.argmin(), mean.shape)
    assert model.l1_ratio_ == [0.5, 1.0][i] and model.alpha_ == model.alphas_[i, j]
    best = ElasticNet(model.alpha_, l1_ratio=model.l1_ratio_, standardize=standardize, **EXACT)
    assert_allclose(model.coef_, best.fit(layout(A), y, weight).coef_, atol=1e-9)
    assert model.objective_ == pytest.approx(best.objective_, rel=1e-12)


@layouts
@pytest.mark.parametrize(
    "cv",
    [
        4,
        KFold(3, shuffle=True, random_state=0),
        ShuffleSplit(4, random_state=0),
        [(np.arange(100), np.arange(100, 200)), (np.arange(50, 300), np.arange(300, 442))],
        [(np.arange(100, 442), np.arange(100)), (np.arange(100), np.arange(100, 442))],
    ],
)
def test_folds_of_any_kind_and_weights(cv, layout):
    model = LassoCV(alphas=6, cv=cv, **EXACT).fit(layout(X), Y, WEIGHT)
    pairs = list(KFold(4).split(X)) if cv == 4 else cv
    pairs = list(pairs.split(X)) if hasattr(pairs, "split") else pairs
    assert_allclose(model.mse_path_, each_alone(model, X, Y, pairs, WEIGHT), rtol=1e-8)


def test_squares_by_sums_are_those_of_rows(monkeypatch):
    """Also where residuals are so small that sums have lost them."""
    for y in (Y, 1e9 + Y, X @ np.arange(10.0)):
        by_sums = LassoCV(cv=3).fit(X, y).mse_path_
        with monkeypatch.context() as patch:
            patch.setattr(elastic_net_cv, "_DIGITS", np.inf)
            by_rows = LassoCV(cv=3).fit(X, y).mse_path_
        assert_allclose(by_sums, by_rows, rtol=1e-8)


def test_rows_of_weight_0_are_absent_from_folds():
    keep = np.arange(len(X)) % 5 != 2
    model = LassoCV(cv=4).fit(X, Y, keep.astype(float))
    other = LassoCV(cv=4).fit(X[keep], Y[keep], np.ones(keep.sum()))
    assert_allclose(model.mse_path_, other.mse_path_, rtol=1e-10)
    assert_allclose(model.coef_, other.coef_, atol=1e-8)


@few
@given(st.integers(0, 10**6), st.booleans())
def test_gaps_bound_what_is_left(seed, many):
    A, y = wide(seed, *((60, 8) if many else (24, 40)))
    loose = LassoCV(alphas=5, cv=3, tol=0.1).fit(A, y)
    for k, (train, _) in enumerate(KFold(3).split(A)):
        for j, alpha in enumerate(loose.alphas_):
            path = Lasso(tol=0.1).path(A[train], y[train], alphas=loose.alphas_[: j + 1])
            best = Lasso(alpha, **EXACT).fit(A[train], y[train])
            assert loose.duality_gaps_[j, k] >= path.objective[j] - best.objective_ - 1e-12
    scale = np.var(y)
    assert (loose.duality_gaps_ <= 0.1 * scale * 3).all()


def test_weights_of_1_are_no_weights():
    """Also where folds are of 4, 3 and 3 samples: they count the same, as in scikit-learn."""
    rng = np.random.RandomState(0)
    A = rng.rand(10, 5)
    y = A.sum(axis=1) + rng.rand(10)
    model = LassoCV(cv=3, **EXACT).fit(A, y)
    alpha, coef = model.alpha_, model.coef_
    assert alpha == model.alphas_[model.mse_path_.mean(axis=1).argmin()]
    for weight in (1.0, 3.0):
        model.fit(A, y, np.full(10, weight))
        assert_allclose(model.alpha_, alpha, rtol=1e-12)
        assert_allclose(model.coef_, coef, rtol=1e-6)


def test_given_penalties_are_descending():
    model = LassoCV(alphas=[0.1, 1.0, 0.5]).fit(X, Y)
    assert_array_equal(model.alphas_, [1.0, 0.5, 0.1])
    largest = LassoCV(alphas=1, eps=1.0).fit(X, Y).alphas_  # as scikit-learn's tests ask for it
    assert_allclose(largest, np.abs((X - X.mean(axis=0)).T @ Y).max() / len(X), rtol=1e-11)
    both = ElasticNetCV(l1_ratio=[0.5, 1.0], alphas=[0.1, 1.0, 0.5]).fit(X, Y)
    assert_array_equal(both.alphas_, model.alphas_)  # as in scikit-learn, once for all ratios
    assert_array_equal(both.mse_path_[1], model.mse_path_)
    assert both._repr_html_().count("<tr") == 7
    assert model.alpha_ == 0.1
    assert LassoCV(alphas=3, eps=0.5).fit(X, Y).alphas_[-1] == pytest.approx(
        0.5 * model.set_params(alphas=3).fit(X, Y).alphas_[0]
    )


def test_units_far_from_one():
    expected = LassoCV(standardize=True).fit(X, Y)
    units = 10.0 ** np.array([-150, 150, 3, -3, 0, 1, 1, 8, -8, 40])
    model = LassoCV(standardize=True).fit(X * units + 1e3 * units, Y)
    assert_allclose(model.mse_path_, expected.mse_path_, rtol=1e-6)
    single = LassoCV().fit(X.astype(np.float32), Y)
    assert_allclose(single.mse_path_, LassoCV().fit(X, Y).mse_path_, rtol=1e-4)
    assert single.coef_.dtype == np.float32


@layouts
def test_targets_without_variance(layout):
    with pytest.warns(UserWarning, match="all alphas are 0"):
        model = LassoCV().fit(layout(X), np.full(len(X), 3.0))
    assert model.alpha_ == 0 and not model.coef_.any() and model.intercept_ == 3
    assert_allclose(model.mse_path_, 0, atol=1e-25)
    assert model.duality_gap_ < 1e-25 and model.converged_
    # Orthogonal to the features as a whole, not in each fold.
    A, y = np.array([[-1.0], [1.0], [-1.0], [1.0]]), np.array([1.0, 1.0, -1.0, -1.0])
    with pytest.warns(UserWarning, match="all alphas are 0"):
        model = LassoCV(cv=2).fit(layout(A), y)
    assert_allclose(model.mse_path_, [[4.0, 4.0]])
    assert model.objective_ == 0.5 and model.duality_gap_ < 1e-15


def test_any_number_of_threads_gives_the_same_bytes():
    found = []
    A, y = wide(1, 200, 300)
    for threads in (1, 3):
        with threadpool_limits(threads):
            found.append(LassoCV(alphas=10).fit(A, y).mse_path_)
    assert_array_equal(*found)


def test_lasso_cv_is_the_elastic_net_of_absolute_values():
    one, other = LassoCV(cv=3).fit(X, Y), ElasticNetCV(l1_ratio=1.0, cv=3).fit(X, Y)
    assert_array_equal(one.mse_path_, other.mse_path_)
    assert one.l1_ratio_ == 1 and "l1_ratio" not in one.get_params()
    assert_array_equal(clone(one).fit(X, Y).coef_, other.coef_)


def test_a_table_for_notebooks():
    model = ElasticNetCV(l1_ratio=[0.5, 1.0], alphas=3)
    assert "<table>" not in model._repr_html_()
    shown = model.fit(X, Y)._repr_html_()
    assert "mean_squared_error" in shown and shown.count("<tr") == 7


def test_progress_has_a_step_for_each_fold():
    seen = []
    ElasticNetCV(
        l1_ratio=[0.5, 1.0], alphas=3, cv=4, callback=lambda **step: seen.append(step)
    ).fit(X, Y)
    assert [one["step"] for one in seen] == list(range(1, 9))


@each(
    ("params", "error", "message"),
    [
        ({"alphas": 0}, ValueError, "alphas=0"),
        ({"alphas": [0.1, 0.0]}, ValueError, "above 0"),
        ({"alphas": [np.nan]}, ValueError, "alphas"),
        ({"l1_ratio": []}, ValueError, "l1_ratio must have at least one"),
        ({"l1_ratio": [0.5, 0.0]}, ValueError, "l1_ratio=0"),
        ({"l1_ratio": "all"}, TypeError, "l1_ratio='all'"),
        ({"eps": 1.5}, ValueError, "eps=1.5"),
        ({"cv": 1}, ValueError, "cv=1"),
        ({"cv": 500}, ValueError, "cv=500 cannot be greater than n_samples=442"),
        ({"cv": [([0, 1], [500])]}, ValueError, "below 442"),
    ],
)
def test_parameters_out_of_range_are_named(params, error, message):
    with pytest.raises(error, match=message):
        ElasticNetCV(**params).fit(X, Y)


def test_one_target_alone():
    with pytest.raises(ValueError, match="1-D|1d|shape|columns"):
        LassoCV().fit(X, np.c_[Y, Y])


def test_rounds_that_end_a_fit_are_a_warning():
    A, y = wide(2, 60, 40)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LassoCV(alphas=[1e-5], tol=1e-14, max_iter=1, cv=2).fit(A, y)
    assert len(caught) == 3  # of two folds, and of all samples
    assert all("max_iter=1" in str(warning.message) for warning in caught)


def test_paths_are_those_of_the_model_without_folds():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 6)), rng.normal(size=40)
    for search, model in (
        (LassoCV(), Lasso()),
        (ElasticNetCV(l1_ratio=0.3), ElasticNet(l1_ratio=0.3)),
    ):
        found, expected = search.path(X, y), model.path(X, y)
        assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
    with pytest.raises(ValueError, match="one l1_ratio, not 2"):
        ElasticNetCV(l1_ratio=[0.3, 0.5]).path(X, y)


@each("fit_intercept", [True, False])
@each("far", [0.0, 1e6])
def test_any_score_is_that_of_a_search_by_scikit_learn(far, fit_intercept):
    rng = np.random.default_rng(5)
    A = rng.normal(size=(60, 5)) + (far if fit_intercept else 0)
    b = (A - A.mean(axis=0)) @ np.r_[1.0, -2, 0, 0, 0.5] + rng.normal(size=60) + 20
    names = [
        "r2", "neg_mean_squared_error", "neg_root_mean_squared_error", "neg_mean_absolute_error",
        "neg_median_absolute_error", "neg_max_error", "explained_variance",
    ]  # fmt: skip
    scoring = {name: name for name in names} | {"mine": make_scorer(r2_score)}
    grid = {"l1_ratio": [0.5, 1.0], "alpha": [1.0, 0.3, 0.01]}
    groups = np.arange(60) // 8
    options = {"scoring": scoring, "cv": GroupKFold(3), "refit": "neg_mean_absolute_error"}
    ours = ElasticNetCV(
        l1_ratio=grid["l1_ratio"], alphas=grid["alpha"], fit_intercept=fit_intercept,
        **{**EXACT, **options},
    ).fit(A, b, groups=groups)  # fmt: skip
    theirs = GridSearchCV(
        linear_model.ElasticNet(fit_intercept=fit_intercept, tol=1e-12, max_iter=100_000),
        grid, **options,
    ).fit(A, b, groups=groups)  # fmt: skip
    at = [theirs.cv_results_["params"].index(one) for one in ours.cv_results_["params"]]
    assert ours.cv_results_.keys() == theirs.cv_results_.keys()
    for key, expected in theirs.cv_results_.items():
        if "_test_" in key:
            assert_allclose(ours.cv_results_[key], expected[at], rtol=1e-6, err_msg=key)
    assert ours.best_params_ == theirs.best_params_
    assert_allclose(ours.best_score_, theirs.best_score_, rtol=1e-7)
    assert_allclose(
        ours.mse_path_.reshape(6, 3).mean(axis=1),
        -ours.cv_results_["mean_test_neg_mean_squared_error"],
    )


def test_one_standard_error_takes_the_largest_penalty_that_is_nearly_best():
    rng = np.random.default_rng(2)
    A = rng.normal(size=(80, 6))
    b = A[:, 0] + 2 * rng.normal(size=80)
    best, simple = (
        LassoCV(alphas=30).fit(A, b),
        LassoCV(alphas=30, rule="one_standard_error").fit(A, b),
    )
    mean = best.mse_path_.mean(axis=1)
    k = mean.argmin()
    limit = mean[k] + best.mse_path_[k].std(ddof=1) / 5**0.5
    assert simple.alpha_ == best.alphas_[np.flatnonzero(mean <= limit)[0]] > best.alpha_
    assert simple.best_params_ == {"alpha": simple.alpha_}
    only = LassoCV(alphas=30, refit=False).fit(A, b)
    assert only.alpha_ == best.alpha_
    with pytest.raises(NotFittedError, match="refit=False"):
        only.predict(A)
