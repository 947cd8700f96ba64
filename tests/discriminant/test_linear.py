"""Linear discriminant analysis against worked numbers, eigenproblems, laws and hard cases."""

import warnings

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg
from scipy import sparse as sp
from scipy.stats import f_oneway, multivariate_normal
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as PeerLDA

from mlcore.datasets import load_iris
from mlcore.decomposition import CCA
from mlcore.discriminant import LinearDiscriminantAnalysis


def classes(n=90, d=4, c=3, seed=0):
    rng = np.random.default_rng([n, d, c, seed])
    y = np.arange(n) % c
    mixing = rng.normal(size=(d, d))
    return (rng.normal(size=(n, d)) + 1.5 * rng.normal(size=(c, d))[y]) @ mixing, y


def within_and_between(X, y, w):
    center, W = np.average(X, axis=0, weights=w), w.sum()
    within, between = np.zeros((2, X.shape[1], X.shape[1]))
    for label in np.unique(y):
        own = y == label
        mean = np.average(X[own], axis=0, weights=w[own])
        within += (X[own] - mean).T @ ((X[own] - mean) * w[own, None]) / W
        between += w[own].sum() / W * np.outer(mean - center, mean - center)
    return within, between


def test_iris_as_printed_by_r():
    X, y = load_iris()
    model = LinearDiscriminantAnalysis(unbiased=True).fit(X, y)
    first = [0.8293776, 1.5344731, -2.2012117, -2.8104603]
    second = [0.0241021, 2.1645212, -0.9319212, 2.8391879]
    for column, expected in zip(model.scalings_.T, (first, second), strict=True):
        assert_allclose(column * np.sign(column[1] * expected[1]), expected, rtol=0, atol=5e-8)
    assert_allclose(model.explained_variance_ratio_, [0.9912126, 0.0087874], rtol=0, atol=5e-8)
    assert (model.predict(X) != y).sum() == 3


@pytest.mark.parametrize(("d", "c"), [(1, 2), (4, 2), (5, 3), (3, 7)])
def test_directions_and_posteriors_match_their_definition(d, c):
    X, y = classes(120, d, c)
    w = np.random.default_rng(0).uniform(0.5, 2, len(X))
    model = LinearDiscriminantAnalysis().fit(X, y, w)
    within, between = within_and_between(X, y, w)
    strengths = linalg.eigh(between, within, eigvals_only=True)[::-1][: min(c - 1, d)]
    rho = model.canonical_correlations_
    assert_allclose(rho**2, strengths / (1 + strengths), rtol=1e-10, atol=1e-12)
    A = model.scalings_
    assert_allclose(A.T @ within @ A, np.eye(A.shape[1]), atol=1e-10)
    assert_allclose(model.covariance_, within, rtol=1e-10, atol=1e-12 * np.abs(within).max())
    density = [multivariate_normal(mean, within).logpdf(X) for mean in model.means_]
    joint = np.reshape(density, (c, -1)).T + np.log(model.priors_)
    expected = np.exp(joint - joint.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    assert_allclose(model.predict_proba(X), expected, atol=1e-9)
    scores = X @ model.coef_.T + model.intercept_
    assert_allclose(scores.reshape(model.decision_function(X).shape), model.decision_function(X))
    assert_allclose(model.transform(X), (X - np.average(X, axis=0, weights=w)) @ A, atol=1e-10)


def test_priors_move_the_log_odds_by_a_constant():
    X, y = classes()
    plain, priors = LinearDiscriminantAnalysis().fit(X, y), np.array([0.7, 0.2, 0.1])
    model = LinearDiscriminantAnalysis(priors=priors).fit(X, y)
    assert_allclose(np.diff(model.coef_, axis=0), np.diff(plain.coef_, axis=0), rtol=1e-9)
    moved = model.predict_log_proba(X) - plain.predict_log_proba(X)
    expected = np.diff(np.log(priors / plain.priors_))
    assert_allclose(np.diff(moved, axis=1), np.tile(expected, (len(X), 1)), atol=1e-9)
    balanced = LinearDiscriminantAnalysis(class_weight="balanced").fit(X[:70], np.sort(y)[:70])
    assert_allclose(balanced.priors_, 1 / 3)
    with pytest.warns(UserWarning, match="priors sum to 2") as caught:
        twice = LinearDiscriminantAnalysis(priors=2 * priors).fit(X, y)
    assert len(caught) == 1
    assert_allclose(twice.intercept_, model.intercept_, rtol=1e-12)


@each("priors", [None, [0.2, 0.3, 0.5], [0.9, 0.05, 0.05]])
@each("unbiased", [False, True])
def test_priors_weigh_the_means_as_in_scikit_learn(priors, unbiased):
    X, y = load_wine(return_X_y=True)
    peer = PeerLDA(priors=priors).fit(X, y)
    model = LinearDiscriminantAnalysis(priors=priors, unbiased=unbiased).fit(X, y)
    assert_allclose(model.explained_variance_ratio_, peer.explained_variance_ratio_, rtol=1e-9)
    assert_allclose(model.xbar_, peer.xbar_, rtol=1e-12)
    found, expected = model.transform(X), peer.transform(X)
    expected *= np.sign((found * expected).sum(axis=0))
    divisor = (len(X) - 3) / len(X) if unbiased else 1.0  # scikit-learn divides by n
    assert_allclose(found, expected * np.sqrt(divisor), rtol=1e-7, atol=1e-9)
    assert_allclose(model.coef_, peer.coef_ * divisor, rtol=1e-7)
    # The tests of the dimension are of the samples, whatever the population.
    plain = LinearDiscriminantAnalysis().fit(X, y)
    assert_allclose(model.canonical_correlations_, plain.canonical_correlations_, rtol=1e-12)
    assert_allclose(model.bayes_error(), model.fit(X[::-1], y[::-1]).bayes_error(), rtol=1e-9)


def test_weights_are_copies():
    X, y = classes(30)
    w = np.random.default_rng(1).integers(0, 4, 30)
    for shrinkage in (None, "auto", "oas"):
        one = LinearDiscriminantAnalysis(shrinkage=shrinkage).fit(X, y, w)
        other = LinearDiscriminantAnalysis(shrinkage=shrinkage)
        other.fit(np.repeat(X, w, axis=0), np.repeat(y, w))
        assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("shrinkage", [None, 0.3, "auto", "oas"])
def test_units_and_offsets_do_not_matter(shrinkage):
    X, y = classes()
    units = np.array([1e-12, 1.0, 1e12, 1e3])
    expected = LinearDiscriminantAnalysis(shrinkage=shrinkage).fit(X, y).predict_proba(X)
    moved = X * units
    model = LinearDiscriminantAnalysis(shrinkage=shrinkage).fit(moved, y)
    assert_allclose(model.predict_proba(moved), expected, atol=1e-9)
    far = X + 1e7  # rounds the data to 1e-9
    model = LinearDiscriminantAnalysis(shrinkage=shrinkage).fit(far, y)
    assert_allclose(model.predict_proba(far), expected, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-150, 1e-100, 1e100, 1e150])
def test_extreme_scales(scale):
    X, y = classes()
    expected = LinearDiscriminantAnalysis().fit(X, y).predict_proba(X)
    try:
        model = LinearDiscriminantAnalysis().fit(X * scale, y)
    except ValueError as error:
        assert "too large" in str(error) and scale == 1e150
        return
    assert_allclose(model.predict_proba(X * scale), expected, atol=1e-9)


def test_an_invertible_map_and_dependent_columns_keep_posteriors():
    X, y = classes()
    expected = LinearDiscriminantAnalysis().fit(X, y).predict_proba(X)
    A = np.random.default_rng(3).normal(size=(4, 4))
    model = LinearDiscriminantAnalysis().fit(X @ A, y)
    assert_allclose(model.predict_proba(X @ A), expected, atol=1e-9)
    more = np.column_stack([X, X[:, 0], np.full(len(X), 7.0), X @ [1, 2, 3, 4]])
    model = LinearDiscriminantAnalysis().fit(more, y)
    assert model.rank_ == 4 and len(model.dropped_features_) == 3 and 5 in model.dropped_features_
    assert_allclose(model.predict_proba(more), expected, atol=1e-9)


@each("dtype", [np.float32, np.float64])
@each("shrinkage", [None, 0.1, "auto", "oas"])
@each("distance", [1e2, 1e4, 1e6])
def test_far_classes_keep_the_covariance_within_them(distance, shrinkage, dtype):
    if dtype == np.float32:
        distance = distance**0.5  # of the digits that float32 has, some are left
    X, y = classes(60, 3, 3)
    X = (X + distance * np.random.default_rng(0).normal(size=(3, 3))[y]).astype(dtype)
    model = LinearDiscriminantAnalysis(shrinkage=shrinkage).fit(X, y)
    Z = X.astype(float) - np.array([X[y == j].astype(float).mean(axis=0) for j in range(3)])[y]
    expected = Z.T @ Z / 60
    within = model.covariance_ / (1 - model.shrinkage_ * (1 - np.eye(3)))
    tolerance = (1e-9 if dtype == np.float64 else 1e-4) * np.abs(expected).max()
    assert_allclose(within, expected, rtol=0, atol=tolerance)
    S = (1 - model.shrinkage_) * expected + model.shrinkage_ * np.diag(expected.diagonal())
    A = model.scalings_
    assert_allclose(A.T @ S @ A, np.eye(2), atol=1e-9 if dtype == np.float64 else 1e-3)


def test_exact_separation_is_kept():
    X, y = classes(90, 3, 3)
    with_label = np.column_stack([X, y])
    model = LinearDiscriminantAnalysis().fit(with_label, y)
    assert model.n_separated_ == 1 and (model.predict(with_label) == y).all()
    assert np.isfinite(model.coef_).all()


def test_too_many_features_use_the_pseudo_inverse():
    rng = np.random.default_rng(0)
    y, correct = np.arange(40) % 2, []
    for _ in range(5):
        shift = np.where(np.arange(60) < 5, 0.8, 0.0)
        X = rng.normal(size=(40, 60)) + y[:, None] * shift
        with pytest.warns(UserWarning, match="shrinkage"):
            model = LinearDiscriminantAnalysis().fit(X, y)
        residuals = X - model.means_[y]
        scale = X.std(axis=0)
        inverse = linalg.pinv((residuals / scale).T @ (residuals / scale) / 40, rtol=1e-10)
        expected = inverse / np.outer(scale, scale) @ (model.means_[1] - model.means_[0])
        assert_allclose(model.coef_[0], expected, atol=1e-8 * np.abs(expected).max())
        fresh = rng.normal(size=(1000, 60)) + y[np.arange(1000) % 2, None] * shift
        shrunk = LinearDiscriminantAnalysis(shrinkage="auto").fit(X, y)
        correct.append(
            (
                model.score(fresh, y[np.arange(1000) % 2]),
                shrunk.score(fresh, y[np.arange(1000) % 2]),
            )
        )
    plain, shrunk = np.mean(correct, axis=0)
    # Chance is right in 0.5 +- 0.007 of these 5000 samples; a deviation of 7 excludes it.
    assert plain > 0.5 + 7 * 0.5 / np.sqrt(5000) and shrunk > plain


def test_shrinkage_follows_the_definitions():
    X, y = classes(40, 6, 2)
    within, _ = within_and_between(X, y, np.ones(40))
    residuals = X - LinearDiscriminantAnalysis().fit(X, y).means_[y]
    Z = residuals / np.sqrt(within.diagonal())
    R = Z.T @ Z / 40
    errors = sum(np.square(np.outer(z, z) - R).sum() for z in Z) / 40**2
    ledoit_wolf = errors / np.square(R - np.eye(6)).sum()
    tr2 = np.trace(R @ R)
    oas = ((1 - 2 / 6) * tr2 + 36) / ((40 + 1 - 2 / 6) * (tr2 - 6))
    for name, expected in (("auto", ledoit_wolf), ("oas", oas), (0.25, 0.25), (1.0, 1.0)):
        model = LinearDiscriminantAnalysis(shrinkage=name).fit(X, y)
        assert_allclose(model.shrinkage_, min(1, expected), rtol=1e-10)
        S = (1 - model.shrinkage_) * within + model.shrinkage_ * np.diag(within.diagonal())
        assert_allclose(model.covariance_, S, rtol=1e-10, atol=1e-12)
        direction = linalg.solve(S, model.means_[1] - model.means_[0])
        assert_allclose(model.coef_[0], direction, rtol=1e-8)


def test_equal_rows_and_few_rows():
    y = np.arange(20) % 2
    model = LinearDiscriminantAnalysis().fit(np.ones((20, 3)), y, np.arange(1.0, 21))
    assert (model.predict(np.ones((2, 3))) == 1).all() and model.rank_ == 0
    with pytest.raises(ValueError, match="number of samples must be more .* of classes"):
        LinearDiscriminantAnalysis().fit([[0.0, 1.0], [1.0, 1.0]], [0, 1])
    model = LinearDiscriminantAnalysis().fit([[0.0, 1.0], [0.0, 1.0], [1.0, 1.0]], [0, 0, 1])
    assert model.n_separated_ == 1 and model.predict([[0.4, 1.0], [0.6, 1.0]]).tolist() == [0, 1]


def test_float32_is_projected_as_float32():
    X, y = classes()
    narrow, wide = X.astype(np.float32), LinearDiscriminantAnalysis().fit(X, y)
    model = LinearDiscriminantAnalysis().fit(narrow, y)
    assert model.transform(narrow).dtype == model.coef_.dtype == np.float32
    assert_allclose(model.canonical_correlations_, wide.canonical_correlations_, rtol=1e-5)


def test_n_components_cuts_the_projection_alone():
    X, y = classes()
    model = LinearDiscriminantAnalysis(n_components=1).fit(X, y)
    full = LinearDiscriminantAnalysis().fit(X, y)
    assert_allclose(model.transform(X), full.transform(X)[:, :1], atol=1e-12)
    assert_array_equal(model.predict(X), full.predict(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.get_feature_names_out().tolist() == ["lineardiscriminantanalysis0"]


def test_dimension_test_is_that_of_canonical_correlations_with_indicators():
    X, y = load_iris()
    for data in (X, X[:, :1]):
        model = LinearDiscriminantAnalysis(unbiased=True).fit(data, y)
        indicators = (y[:, None] == np.arange(3)).astype(float)[:, :2]
        expected = CCA(min(2, data.shape[1])).fit(data, indicators).dimension_test()
        for found, right in zip(model.dimension_test(), expected, strict=True):
            assert_allclose(found, right, rtol=1e-8)
    one = f_oneway(
        *(X[y == j, 0] for j in range(3))
    )  # of one feature it is the analysis of variance
    assert_allclose(model.dimension_test().f, one.statistic, rtol=1e-10)
    assert_allclose(model.dimension_test().f_p_value, one.pvalue, rtol=1e-8)
    with pytest.raises(ValueError, match="shrinkage=None"):
        LinearDiscriminantAnalysis(shrinkage=0.1).fit(X, y).dimension_test()


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"shrinkage": "oas"},
        {"shrinkage": "auto"},
        {"class_weight": "balanced"},
        {"class_weight": "balanced", "shrinkage": "auto"},
    ],
)
def test_blocks_in_any_order_give_the_fit(params):
    X, y = classes(91, 4)
    X[::2, 0] += 1e7  # the origin is far from half of the rows
    labels, w = np.array(["a", "bb", "ccc"])[y], np.random.default_rng(0).uniform(0.5, 2, 91)
    expected = LinearDiscriminantAnalysis(**params).fit(X, labels, w)
    order = np.random.default_rng(1).permutation(91)
    for n_blocks in (1, 7, 13 if params else 91):
        partial, model, total = LinearDiscriminantAnalysis(**params), None, None
        for rows in np.array_split(order, n_blocks):
            partial.partial_fit(X[rows], labels[rows], sample_weight=w[rows])
            model = model or LinearDiscriminantAnalysis(**params).begin(X[rows])
            part = model.partial_statistics(X[rows], labels[rows], w[rows])
            total = part if total is None else model.merge(total, part)
        for found in (partial, model.update(total)):
            assert_allclose(found.covariance_, expected.covariance_, rtol=1e-10)
            assert_allclose(found.shrinkage_, expected.shrinkage_, rtol=1e-10)
            assert_allclose(found.means_, expected.means_, rtol=1e-14)
            assert_allclose(found.predict_log_proba(X), expected.predict_log_proba(X), atol=1e-7)


def test_blocks_keep_exact_separation_and_the_pseudo_inverse():
    X, y = classes(90, 3, 3)
    with_label = np.column_stack([X, y])
    model = LinearDiscriminantAnalysis().partial_fit(with_label, y)
    assert model.n_separated_ == 1 and (model.predict(with_label) == y).all()
    wide, codes = np.random.default_rng(0).normal(size=(20, 30)), np.arange(20) % 2
    with pytest.warns(UserWarning, match="pseudo-inverse"):
        expected = LinearDiscriminantAnalysis().fit(wide, codes)
        found = LinearDiscriminantAnalysis().partial_fit(wide, codes)
    assert_allclose(found.coef_, expected.coef_, atol=1e-8 * np.abs(expected.coef_).max())


@pytest.mark.parametrize("shrinkage", [None, "auto"])
def test_csr_is_dense(shrinkage):
    X, y = classes()
    X[np.abs(X) < 0.8] = 0
    X[:, 3] = X[:, 0] + X[:, 1]
    expected = LinearDiscriminantAnalysis(shrinkage=shrinkage).fit(X, y)
    found = LinearDiscriminantAnalysis(shrinkage=shrinkage).fit(sp.csr_array(X), y)
    assert_allclose(found.transform(sp.csr_array(X)), expected.transform(X), atol=1e-9)
    assert_allclose(found.predict_log_proba(sp.csr_array(X)), expected.predict_log_proba(X), 1e-9)
    if not shrinkage:
        assert_allclose(
            found.leave_one_out(sp.csr_array(X), y), expected.leave_one_out(X, y), atol=1e-9
        )


def test_a_feature_that_rounding_of_many_samples_may_make_up_is_left_out():
    """By rows, whatever `tol`: 4000 rounded terms hide a part of 1e-13."""
    rng = np.random.default_rng(0)
    y = np.arange(4000) % 3
    X = rng.normal(size=(4000, 3)) + y[:, None]
    X[:, 2] = X[:, 0] - X[:, 1] + 1e-13 * X[:, 2]
    assert LinearDiscriminantAnalysis(tol=1e-30).fit(X, y).rank_ == 2
    X[:, 2] += 1e-11 * rng.normal(size=4000)
    assert LinearDiscriminantAnalysis(tol=1e-30).fit(X, y).rank_ == 3


@pytest.mark.parametrize("c", [2, 3, 4])
def test_known_parameters_have_ratios_that_sum_to_1(c):
    X, y = classes(n=40 * c, c=c)
    model = LinearDiscriminantAnalysis().fit(X, y)
    known = LinearDiscriminantAnalysis.from_parameters(
        model.means_, model.covariance_, priors=model.priors_
    )
    assert_allclose(known.explained_variance_ratio_.sum(), 1, rtol=1e-12)
    assert_allclose(
        known.explained_variance_ratio_, model.explained_variance_ratio_, rtol=1e-7, atol=1e-12
    )
    same = LinearDiscriminantAnalysis.from_parameters(np.ones((c, 4)), model.covariance_)
    assert_array_equal(same.explained_variance_ratio_, 0)  # nothing separates them


@pytest.mark.parametrize("params", [{"shrinkage": "auto"}, {"class_weight": "balanced"}])
def test_rows_are_not_added_to_a_fit_without_sums_of_each_class(params):
    X, y = load_iris()
    model = LinearDiscriminantAnalysis(**params).fit(X[::2], y[::2])
    with pytest.raises(ValueError, match="no sums of each class.*begin with partial_fit"):
        model.partial_fit(X[1::2], y[1::2])
    pooled = LinearDiscriminantAnalysis().fit(X[::2], y[::2]).set_params(class_weight="balanced")
    with pytest.raises(ValueError, match="class_weight needs the scatter of each class"):
        pooled.partial_fit(X[1::2], y[1::2])


def test_a_class_that_comes_after_the_fit():
    X, y = load_iris()
    first = y < 2
    model = LinearDiscriminantAnalysis().fit(X[first], y[first]).partial_fit(X[~first], y[~first])
    whole = LinearDiscriminantAnalysis().fit(X, y)
    assert_allclose(model.predict_log_proba(X), whole.predict_log_proba(X), atol=1e-9)


@pytest.mark.parametrize("shift", [0.0, 1.0, 30.0, 1e6])
def test_projections_have_their_digits_wherever_the_mean_is(shift):
    X, y = classes(n=60)
    X += shift
    model = LinearDiscriminantAnalysis().fit(X, y)
    exact = (X.astype(np.longdouble) - model.xbar_) @ model.scalings_
    assert_allclose(model.transform(X), exact[:, :2].astype(float), atol=1e-13 + 1e-14 * shift)


def test_rows_that_differ_are_counted_by_value():
    # 7 rows of 5 features in 2 classes; -0 is 0: only 5 differ, too few for an inverse.
    rows = np.random.default_rng(3).normal(size=(5, 5))
    rows[:, 0] = [0, 1, 2, 0, 3]
    X = np.concatenate([rows, rows[[0, 3]]])
    X[5:, 0] = -0.0
    y = np.array([0, 0, 0, 1, 1, 0, 1])
    for order in "CF":
        with pytest.warns(UserWarning, match="pseudo-inverse"):
            LinearDiscriminantAnalysis().fit(np.asarray(X, order=order), y)
