"""Quadratic discriminant analysis against worked numbers, densities, refits and hard cases."""

import mpmath as mp
import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from scipy.stats import multivariate_normal, norm

from mlcore.datasets import load_digits, load_iris
from mlcore.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from mlcore.discriminant.bayes_error import bhattacharyya_bound


def classes(n=90, d=4, c=3, seed=0):
    rng = np.random.default_rng([n, d, c, seed])
    y = np.arange(n) % c
    mixing = rng.normal(size=(c, d, d))
    X = np.einsum("nd,nde->ne", rng.normal(size=(n, d)), mixing[y])
    return X + 1.5 * rng.normal(size=(c, d))[y], y


def test_iris_as_printed():
    X, y = load_iris()
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    # In 50 digits; -13.0673604, which is also in print, is rounded from a less exact number.
    expected = [-13.0673603265878, -10.8743250402465, -8.92705847825886]
    assert_allclose(model.log_determinants_, expected, rtol=1e-13)
    assert (model.predict(X) != y).sum() == 3
    assert (model.leave_one_out(X, y).argmax(axis=1) != y).sum() == 4


@each(("d", "c"), [(1, 2), (4, 2), (5, 3)])
@each("unbiased", [False, True])
def test_posteriors_and_covariances_match_their_definition(d, c, unbiased):
    X, y = classes(120, d, c)
    w = np.random.default_rng(0).uniform(0.5, 2, len(X))
    model = QuadraticDiscriminantAnalysis(unbiased=unbiased).fit(X, y, w)
    joint = np.empty((len(X), c))
    for j in range(c):
        own = y == j
        mean = np.average(X[own], axis=0, weights=w[own])
        S = (X[own] - mean).T @ ((X[own] - mean) * w[own, None]) / (w[own].sum() - unbiased)
        assert_allclose(model.covariances_[j], S, rtol=1e-10, atol=1e-12 * np.abs(S).max())
        assert_allclose(model.log_determinants_[j], np.linalg.slogdet(S)[1], rtol=1e-10)
        joint[:, j] = multivariate_normal(mean, S).logpdf(X) + np.log(w[own].sum() / w.sum())
    expected = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
    assert_allclose(model.predict_log_proba(X), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("priors", [None, [0.2, 0.5, 0.3]])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("unbiased", [False, True])
def test_leave_one_out_posteriors_are_those_of_refits(priors, weighted, unbiased):
    X, y = classes(24, 3)
    w = np.random.default_rng(1).uniform(0.5, 2.0, 24) if weighted else np.ones(24)
    model = QuadraticDiscriminantAnalysis(priors=priors, unbiased=unbiased).fit(X, y, w)
    expected = []
    for i in range(24):
        rest = np.where(np.arange(24) == i, 0.0, w)
        refit = QuadraticDiscriminantAnalysis(priors=priors, unbiased=unbiased).fit(X, y, rest)
        expected.append(refit.predict_log_proba(X[i : i + 1])[0])
    assert_allclose(model.leave_one_out(X, y, w), expected, rtol=1e-9, atol=1e-9)


def test_leave_one_out_refuses_what_it_cannot_tell():
    X, y = classes(12, 3)  # 4 rows of each class: rank 3, and 2 without one of them
    with pytest.raises(ValueError, match="without sample 0"):
        QuadraticDiscriminantAnalysis().fit(X, y).leave_one_out(X, y)
    X, y = classes()
    with pytest.raises(ValueError, match="samples of the fit"):
        QuadraticDiscriminantAnalysis().fit(X, y).leave_one_out(X[1:], y[1:])


@each("shrinkage", [None, 0.3, "auto", "oas"])
@each("unbiased", [False, True])
def test_at_full_pooling_it_is_linear(shrinkage, unbiased):
    X, y = classes()
    w = np.random.default_rng(2).uniform(0.5, 2.0, len(X))
    how = {"shrinkage": shrinkage, "unbiased": unbiased}
    linear = LinearDiscriminantAnalysis(**how).fit(X, y, w)
    model = QuadraticDiscriminantAnalysis(pooling=1.0, **how).fit(X, y, w)
    assert_allclose(model.covariances_[1], linear.covariance_, rtol=1e-9, atol=1e-12)
    assert_allclose(model.predict_log_proba(X), linear.predict_log_proba(X), atol=1e-9)


def test_pooling_shrinkage_and_ridge_follow_their_definitions():
    X, y = classes(60, 5, 2)
    S = [np.cov(X[y == j].T) for j in range(2)]
    within = (29 * S[0] + 29 * S[1]) / 58
    model = QuadraticDiscriminantAnalysis(pooling=0.3, shrinkage=0.4, reg_param=0.2).fit(X, y)
    for j in range(2):
        pooled = 0.7 * S[j] + 0.3 * within
        shrunk = 0.6 * pooled + 0.4 * np.diag(pooled.diagonal())
        assert_allclose(model.covariances_[j], 0.8 * shrunk + 0.2 * np.eye(5), rtol=1e-9)
    for name in ("auto", "oas"):
        model = QuadraticDiscriminantAnalysis(shrinkage=name).fit(X, y)
        for j in range(2):
            Z = (X[y == j] - X[y == j].mean(axis=0)) / X[y == j].std(axis=0)
            R = Z.T @ Z / 30
            errors = sum(np.square(np.outer(z, z) - R).sum() for z in Z) / 30**2
            expected = errors / np.square(R - np.eye(5)).sum()
            if name == "oas":
                tr2 = np.trace(R @ R)
                expected = (0.6 * tr2 + 25) / (30.6 * (tr2 - 5))
            assert_allclose(model.shrinkage_[j], min(1, expected), rtol=1e-10)


@pytest.mark.parametrize("pooling", [0.2, 0.7])
@pytest.mark.parametrize("name", ["auto", "oas"])
def test_shrinkage_of_pooled_classes_is_that_of_their_residuals(name, pooling):
    """By brute force: the estimates of Ledoit and Wolf, and of Chen, of residuals with weights."""
    X, y = classes(40, 5, 3)
    w = np.random.default_rng(0).uniform(0.5, 2, 40)
    model = QuadraticDiscriminantAnalysis(pooling=pooling, shrinkage=name, unbiased=False)
    model.fit(X, y, w)
    means = [np.average(X[y == j], axis=0, weights=w[y == j]) for j in range(3)]
    residuals = X - np.array(means)[y]
    for j in range(3):
        share = pooling / w.sum() + (1 - pooling) * (y == j) / w[y == j].sum()
        S = (residuals.T * (w * share)) @ residuals
        scale = np.sqrt(S.diagonal())
        Z, R = residuals / scale, S / np.outer(scale, scale)
        # Expected |R - E R|², of independent terms of which w_i copies have the weight share_i.
        error = sum(
            a**2 * b * (np.square(np.outer(z, z)).sum() - np.square(R).sum())
            for z, a, b in zip(Z, share, w, strict=True)
        )
        distance = np.square(R - np.eye(5)).sum()
        expected = error / distance
        if name == "oas":
            n, tr2 = 1 / (w @ share**2), np.trace(R @ R)
            expected = (0.6 * tr2 + 25) / ((n + 0.6) * (tr2 - 5))
        assert_allclose(model.shrinkage_[j], min(1, expected), rtol=1e-10)
        delta = model.shrinkage_[j]
        assert_allclose(model.covariances_[j], (1 - delta) * S + delta * np.diag(S.diagonal()))


@pytest.mark.parametrize(
    "params", [{}, {"pooling": 0.5}, {"shrinkage": "auto"}, {"shrinkage": "auto", "pooling": 0.2}]
)
def test_weights_are_copies_and_csr_is_dense(params):
    X, y = classes(60, 3)
    X[np.abs(X) < 0.8] = 0
    w = np.random.default_rng(1).integers(0, 4, 60)
    expected = QuadraticDiscriminantAnalysis(**params)
    expected.fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    for data in (X, sp.csr_array(X)):
        model = QuadraticDiscriminantAnalysis(**params).fit(data, y, w)
        assert_allclose(model.decision_function(data), expected.decision_function(X), rtol=1e-9)


@pytest.mark.parametrize("params", [{"pooling": 0.1}, {"pooling": 0.1, "shrinkage": "auto"}])
@pytest.mark.parametrize("n_blocks", [1, 7, 90])
def test_blocks_in_any_order_give_the_fit(n_blocks, params):
    X, y = classes(90, 4)
    X[::2, 0] += 1e7  # the origin is far from half of the rows
    labels, w = np.array(["a", "bb", "ccc"])[y], np.random.default_rng(0).uniform(0.5, 2, 90)
    expected = QuadraticDiscriminantAnalysis(**params).fit(X, labels, w)
    rng = np.random.default_rng(n_blocks)
    blocks = np.array_split(rng.permutation(90), n_blocks)
    model = QuadraticDiscriminantAnalysis(**params).begin(X[blocks[0]])
    total = None
    for rows in blocks:
        part = model.partial_statistics(X[rows], labels[rows], w[rows])
        total = part if total is None else model.merge(total, part)
    model.update(total)
    partial = QuadraticDiscriminantAnalysis(**params)
    for rows in blocks:
        partial.partial_fit(X[rows], labels[rows], sample_weight=w[rows])
    for found in (model, partial):
        assert_array_equal(found.classes_, expected.classes_)
        assert_allclose(found.covariances_, expected.covariances_, rtol=1e-10)
        assert_allclose(found.shrinkage_, expected.shrinkage_, rtol=1e-9)
        assert_allclose(found.means_, expected.means_, rtol=1e-14)


def test_a_class_of_low_rank_is_named():
    X, y = classes(30, 4)
    low = X.copy()
    low[y == 1, 3] = low[y == 1, 0] - low[y == 1, 2]
    with pytest.raises(np.linalg.LinAlgError, match="class 1 .* rank 3 in 4") as caught:
        QuadraticDiscriminantAnalysis().fit(low, y)
    assert isinstance(caught.value, ValueError)
    for name in ("reg_param", "pooling", "shrinkage"):
        assert name in str(caught.value)
        model = QuadraticDiscriminantAnalysis(**{name: 0.1}).fit(low, y)
        assert model.ranks_.tolist() == [4, 3, 4] and np.isfinite(model.predict_proba(low)).all()
    with pytest.raises(np.linalg.LinAlgError, match="only 1 sample in class 2"):
        QuadraticDiscriminantAnalysis(reg_param=0.1).fit(X[:21], np.minimum(np.arange(21) // 10, 2))
    model = QuadraticDiscriminantAnalysis(pooling=1.0).fit(X[:21], np.arange(21) // 10)
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("unbiased", [False, True])
def test_a_feature_constant_in_a_class_has_the_variance_of_all_classes(unbiased):
    """Shrinkage goes toward the variances, and where one is 0 toward that within all classes."""
    rng = np.random.default_rng(0)
    X, y, s = rng.normal(size=(40, 3)), np.repeat([0, 1], 20), 0.3
    X[y == 1, 2] = 1.0
    for shrinkage in (s, "auto", "oas"):
        model = QuadraticDiscriminantAnalysis(shrinkage=shrinkage, unbiased=unbiased).fit(X, y)
        assert model.ranks_.tolist() == [3, 2]
        S = np.cov(X[y == 1].T, ddof=int(unbiased))
        pooled = 20 * np.var(X[y == 0, 2]) / (40 - 2 * unbiased)
        s = model.shrinkage_[1]
        assert s > 0
        expected = (1 - s) * S + s * np.diag([S[0, 0], S[1, 1], pooled])
        assert_allclose(model.covariances_[1], expected, rtol=1e-12, atol=1e-15)
        assert_allclose(model.log_determinants_[1], np.linalg.slogdet(expected)[1], rtol=1e-9)
    with pytest.raises(np.linalg.LinAlgError, match="class 1 .*rank 2 in 3.*reg_param, pooling or"):
        QuadraticDiscriminantAnalysis().fit(X, y)
    X[y == 0, 2] = 2.0  # it separates them exactly
    with pytest.raises(np.linalg.LinAlgError, match="use reg_param above 0, as a feature is con"):
        QuadraticDiscriminantAnalysis(shrinkage=0.3).fit(X, y)
    for remedy in ({"reg_param": 0.1}, {"reg_param": 0.1, "shrinkage": 0.3}):
        assert QuadraticDiscriminantAnalysis(**remedy).fit(X, y).ranks_.tolist() == [2, 2]


def test_digits_can_be_shrunk():
    """Images, of which classes leave pixels blank."""
    X, y = load_digits()
    for shrinkage in (0.1, "auto", "oas"):
        model = QuadraticDiscriminantAnalysis(shrinkage=shrinkage).fit(X[::2], y[::2])
        assert model.score(X[1::2], y[1::2]) > 0.92


@pytest.mark.parametrize("pooling", [0.3, 1.0])
def test_pooled_covariances_that_come_from_rows(pooling):
    """Ill-conditioned ones, of which sums of squares lose the digits: against 40 digits."""
    rng = np.random.default_rng(0)
    y = np.arange(24) % 3
    X = rng.normal(size=(24, 3)) + y[:, None]
    X[:, 2] = X[:, 0] + 1e-6 * X[:, 2]  # a condition of 1e12
    model = QuadraticDiscriminantAnalysis(pooling=pooling).fit(X, y)
    with mp.workdps(40):
        A = mp.matrix(X.tolist())
        own = [[i for i in range(24) if y[i] == k] for k in range(3)]
        means = [[sum(A[i, j] for i in rows) / 8 for j in range(3)] for rows in own]
        S = [
            mp.matrix(
                [[sum((A[i, a] - m[a]) * (A[i, b] - m[b]) for i in rows) for b in range(3)]
                 for a in range(3)]
            )
            for rows, m in zip(own, means, strict=True)
        ]  # fmt: skip
        within = (S[0] + S[1] + S[2]) / (24 - 3)
        scores = np.empty((24, 3))
        for k in range(3):
            C = (1 - mp.mpf(pooling)) * S[k] / 7 + mp.mpf(pooling) * within
            inverse, log = C**-1, mp.log(mp.det(C))
            for i in range(24):
                e = mp.matrix([A[i, j] - means[k][j] for j in range(3)])
                scores[i, k] = float(-((e.T * inverse * e)[0] + log) / 2)
    expected = scores - np.logaddexp.reduce(scores, axis=1)[:, None]
    # Rows tell the root of the condition only, 1e6, of which the smallest share is eps.
    assert_allclose(model.predict_log_proba(X), expected, rtol=1e-7, atol=1e-7)


def test_dependent_features_tell_nothing():
    X, y = classes()
    expected = QuadraticDiscriminantAnalysis().fit(X, y).predict_log_proba(X)
    more = np.column_stack([np.full(len(X), 7.0), X, X[:, 0], X @ [1, 2, 3, 4]])
    model = QuadraticDiscriminantAnalysis().fit(more, y)
    assert model.rank_ == 4 and 0 in model.dropped_features_
    assert_allclose(model.predict_log_proba(more), expected, atol=1e-8)


@pytest.mark.parametrize("scale", [1e-150, 1e-100, 1e100, 1e150])
def test_extreme_scales(scale):
    X, y = classes()
    expected = QuadraticDiscriminantAnalysis().fit(X, y).predict_log_proba(X)
    try:
        model = QuadraticDiscriminantAnalysis().fit(X * scale, y)
    except ValueError as error:
        assert "too large" in str(error) and scale == 1e150
        return
    assert_allclose(model.predict_log_proba(X * scale), expected, atol=1e-9)


def test_partial_fit_waits_for_enough_rows():
    X, y = classes(30, 2, 2)
    order = np.argsort(y, kind="stable")
    model = QuadraticDiscriminantAnalysis().partial_fit(X[order[:14]], y[order[:14]])
    with pytest.raises(ValueError, match="not fitted yet"):
        model.predict(X)
    model.partial_fit(X[order[14:]], y[order[14:]])
    expected = QuadraticDiscriminantAnalysis().fit(X, y)
    assert_allclose(model.predict_log_proba(X), expected.predict_log_proba(X), atol=1e-10)
    with pytest.raises(ValueError, match="do not exist in the initial classes"):
        model.partial_fit(X, y + 1, classes=[0, 1])
    auto = QuadraticDiscriminantAnalysis(shrinkage="auto").begin(X)
    plain = QuadraticDiscriminantAnalysis().begin(X).partial_statistics(X, y)
    with pytest.raises(ValueError, match="statistics come from a model of other shrinkage"):
        auto.update(plain)
    with pytest.raises(ValueError, match="models of different shrinkage"):
        auto.merge(plain, auto.partial_statistics(X, y))


def test_the_bayes_error_of_normals_is_that_of_the_integral():
    means, priors = [[-1.0], [1.0]], [0.7, 0.3]
    model = QuadraticDiscriminantAnalysis.from_parameters(means, np.ones((2, 1, 1)), priors)
    linear = LinearDiscriminantAnalysis.from_parameters(means, [[1.0]], priors)
    assert_allclose([model.bayes_error(), linear.bayes_error()], 0.1387485, rtol=0, atol=5.1e-8)
    apart = QuadraticDiscriminantAnalysis.from_parameters(
        [[-2.0], [2.0]], [[[1.0]], [[4.0]]], priors
    )
    x = np.linspace(-30, 30, 200_001)
    joint = [p * norm(m, s).pdf(x) for p, m, s in ((0.7, -2, 1), (0.3, 2, 2))]
    error = np.trapezoid(np.minimum(*joint), x)
    overlap = np.trapezoid(np.sqrt(joint[0] * joint[1]), x)
    assert error < apart.bayes_error() < 0.3
    assert_allclose(apart.bayes_error(), overlap, rtol=1e-7)
    assert_allclose(apart.predict_proba(x[:, None])[:, 1], joint[1] / sum(joint), atol=1e-12)
    equal = QuadraticDiscriminantAnalysis.from_parameters([[0.0], [0.0]], np.ones((2, 1, 1)))
    assert equal.bayes_error() == 0.5


def test_known_parameters_give_the_model_of_a_fit():
    X, y = classes()
    fitted = QuadraticDiscriminantAnalysis().fit(X, y)
    known = QuadraticDiscriminantAnalysis.from_parameters(
        fitted.means_, fitted.covariances_, fitted.priors_, ["a", "b", "c"]
    )
    assert_allclose(known.predict_log_proba(X), fitted.predict_log_proba(X), atol=1e-9)
    assert known.predict(X).tolist() == np.array(["a", "b", "c"])[fitted.predict(X)].tolist()
    linear = LinearDiscriminantAnalysis().fit(X, y)
    known = LinearDiscriminantAnalysis.from_parameters(
        linear.means_, linear.covariance_, linear.priors_
    )
    assert_allclose(known.predict_log_proba(X), linear.predict_log_proba(X), atol=1e-9)
    assert_allclose(known.scalings_, linear.scalings_, rtol=1e-8)
    assert_allclose(known.bayes_error(), linear.bayes_error(), rtol=1e-9)
    for bad, match in (
        ((np.zeros((3, 3)), np.eye(3)), "covariances has shape"),
        ((np.zeros((2, 2)), np.zeros((2, 2, 2))), "class 0 has rank 0 of 2"),
        ((np.zeros((2, 2)), np.full((2, 2, 2), np.nan)), "covariances"),
        ((np.zeros((2, 2)), np.tile([[1.0, 0.5], [0.0, 1.0]], (2, 1, 1))), "symmetric"),
        ((np.zeros((2, 2)), np.tile(np.eye(2), (2, 1, 1)), [0.5, -0.6]), "priors"),
        ((np.zeros((2, 2)), np.tile(np.eye(2), (2, 1, 1)), None, [1, 0]), "sorted"),
        ((np.zeros((2, 2)), np.tile(np.eye(2), (2, 1, 1)), [0.0, 0.0]), "all are 0"),
    ):
        with pytest.raises(ValueError, match=match):
            QuadraticDiscriminantAnalysis.from_parameters(*bad)


def test_the_bound_of_bhattacharyya_is_at_most_the_share_of_the_rarer_classes():
    priors, one = np.array([0.98, 0.01, 0.01]), np.eye(2)[None]
    assert_allclose(bhattacharyya_bound(np.zeros((3, 2)), one, priors), 0.02, rtol=1e-12)
    far = bhattacharyya_bound(np.array([[0.0, 0], [8, 0], [0, 8]]), one, priors)
    by_hand = 2 * np.sqrt(0.98 * 0.01) * np.exp(-8) + 0.01 * np.exp(-16)
    assert_allclose(far, by_hand, rtol=1e-12)
