"""Alpha and deviations in the span of few centres, against dense matrices and the full problem."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mlcore.kernel_ridge import KernelRidge, NystroemRidge
from mlcore.kernels import gram_matrix

CRITERIA = ["loo", "gcv", "likelihood"]
MANY = np.geomspace(1e-8, 1e3, 100)


def problem(n=60, d=2, n_targets=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = np.sin(X[:, :1] * [1.0, 3.0][:n_targets]) + 0.5 * rng.normal(size=(n, n_targets))
    return X, Y, rng.integers(1, 4, n).astype(float)


def model_of(alpha=0.5, n_centers=9, **params):
    how = {"kernel": "rbf", "gamma": 0.7, "random_state": 0, **params}
    return NystroemRidge(alpha, n_centers=n_centers, **how)


def covariances(model, X, new):
    """Of the process in the span: among samples, of new ones with them, and at each new one."""
    centers = X[model.center_indices_]
    inverse = np.linalg.inv(gram_matrix(centers, gamma=0.7))
    F, N = (gram_matrix(samples, centers, gamma=0.7) for samples in (X, new))
    return F @ inverse @ F.T, N @ inverse @ F.T, np.einsum("ij,jk,ik->i", N, inverse, N)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_criteria_and_deviations_are_those_of_a_gaussian_process_in_the_span(fit_intercept):
    """By the explicit inverse of its covariance, and the matrix of targets to fitted values."""
    X, Y, w = problem(n=30)
    Y += 3.0
    new, n = np.random.default_rng(1).normal(size=(7, 2)) * 3, 30
    model = model_of([0.4, 3.0], fit_intercept=fit_intercept).fit(X, Y, w)
    K, k, own = covariances(model, X, new)
    path, std = model.path([0.4, 3.0], X, Y, w), model.predict(new, return_std=True)[1]
    logs = np.empty((2, 2))
    for i, alpha in enumerate([0.4, 3.0]):
        S = K + np.diag(alpha / w)
        M, log = np.linalg.inv(S), np.linalg.slogdet(S)[1]
        extra = 0.0
        if fit_intercept:
            one = M.sum(axis=0)
            extra = (1 - k @ one) ** 2 / one.sum()
            M, log = M - np.outer(one, one) / one.sum(), log + np.log(one.sum())
        m = n - fit_intercept
        a, energy = M @ Y, np.einsum("ij,ij->j", Y, M @ Y)
        H = np.eye(n) - alpha * M / w[:, None]
        residual = np.sqrt(w)[:, None] * (Y - H @ Y)
        assert_allclose(path.effective_dimension[i], np.trace(H), rtol=1e-9)
        gcv = n * (residual**2).sum(axis=0) / (n - np.trace(H)) ** 2
        assert_allclose(path.gcv[i], gcv, rtol=1e-9)
        left_out = a / M.diagonal()[:, None]
        assert_allclose(path.loo[i], w @ left_out**2 / w.sum(), rtol=1e-9)
        logs[i] = log + m * np.log(energy / m)
        explained = np.einsum("ij,jk,ik->i", k, M if not fit_intercept else np.linalg.inv(S), k)
        variance = energy[i] / (w.sum() - fit_intercept) * (1 - own + own - explained + extra)
        assert_allclose(std[:, i], np.sqrt(variance), rtol=1e-8)
    assert_allclose(np.diff(path.likelihood, axis=0), np.diff(logs, axis=0), rtol=1e-8)
    assert np.isnan(model.path([1.0]).loo).all()
    for j, alpha in enumerate([0.4, 3.0]):
        one = model_of(alpha, fit_intercept=fit_intercept).fit(X, Y, w)
        assert_allclose(path.dual_coef[j], one.dual_coef_, rtol=1e-7, atol=1e-7)
        assert_allclose(path.intercept[j], one.intercept_, rtol=1e-9)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_chosen_alpha_is_the_best_of_many(criterion, fit_intercept):
    X, Y, w = problem(n=60, seed=3)
    model = model_of(criterion, fit_intercept=fit_intercept).fit(X, Y, w)
    chosen, many = (model.path(alphas, X, Y, w) for alphas in (model.alpha_, MANY))
    best = getattr(many, criterion).min(axis=0)
    found = np.diag(getattr(chosen, criterion))
    assert (found <= best + 1e-9 * abs(best)).all()
    one = model_of(criterion, fit_intercept=fit_intercept).fit(X, Y[:, 1], w)
    assert_allclose(one.alpha_, model.alpha_[1], rtol=1e-3)
    far = model_of(criterion, fit_intercept=fit_intercept).fit(X, Y * 2.0**-600, w * 2.0**300)
    assert_allclose(far.alpha_, model.alpha_ * 2.0**300, rtol=1e-6)
    (one, std), (other, expected) = far.predict(X, True), model.predict(X, True)
    assert_allclose(one, other * 2.0**-600, rtol=1e-5)
    # As copies they are so many that one less is the same, and 2^150 times as sure.
    expected = expected * np.sqrt((w.sum() - fit_intercept) / w.sum())
    assert_allclose(std, expected * 2.0**-750, rtol=1e-5)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_all_samples_as_centres_are_the_full_problem(criterion):
    X, Y, w = problem(n=30)
    X *= 3.0
    for fit_intercept in (False, True):
        how = {"kernel": "rbf", "gamma": 0.7, "fit_intercept": fit_intercept}
        full = KernelRidge(criterion, **how).fit(X, Y, w)
        model = model_of(criterion, None, fit_intercept=fit_intercept).fit(X, Y, w)
        reached = getattr(full.path(model.alpha_), criterion).diagonal()
        assert_allclose(reached, getattr(full.path(full.alpha_), criterion).diagonal(), rtol=1e-5)
        alphas = [0.01, 0.3, 5.0]
        found, expected = model.path(alphas, X, Y, w), full.path(alphas)
        for name in ("effective_dimension", "loo", "gcv", "likelihood", "intercept"):
            assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-5, err_msg=name)
        same = KernelRidge(model.alpha_, **how).fit(X, Y, w)
        for one, other in zip(
            model.predict(X + 0.1, return_std=True), same.predict(X + 0.1, True), strict=True
        ):
            assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_weight_is_a_copy_where_alpha_is_chosen(criterion):
    X, Y, _ = problem(n=30)
    counts = np.arange(30) % 3
    weighted = model_of(criterion, None).fit(X, Y, counts)
    copies = model_of(criterion, None).fit(X.repeat(counts, axis=0), Y.repeat(counts, axis=0))
    assert_allclose(copies.alpha_, weighted.alpha_, rtol=1e-6)
    assert_allclose(copies.predict(X), weighted.predict(X), atol=1e-6)


@pytest.mark.parametrize("criterion", CRITERIA[1:])
def test_alpha_is_chosen_from_blocks_too(criterion):
    X, Y, w = problem()
    whole = model_of(criterion).fit(X, Y, w)
    model = model_of(criterion).begin(X, Y, w)
    parts = [
        model.partial_statistics(X[rows], Y[rows], w[rows])
        for rows in np.array_split(np.random.default_rng(1).permutation(60), 7)
    ]
    total = parts[0]
    for part in parts[1:]:
        total = model.merge(part, total)
    model.update(total)
    assert_allclose(model.alpha_, whole.alpha_, rtol=1e-6)
    for one, other in zip(model.predict(X, True), whole.predict(X, True), strict=True):
        assert_allclose(one, other, rtol=1e-6)
    later = model_of(criterion).fit(X[:40], Y[:40], w[:40]).partial_fit(X[40:], Y[40:], w[40:])
    alphas = later.path(later.alpha_)
    assert (
        np.diag(getattr(alphas, criterion)) <= getattr(later.path(MANY), criterion).min(0)
    ).all()


def test_a_precomputed_kernel_gives_the_same_alpha():
    X, Y, w = problem()
    K = gram_matrix(X, gamma=0.7)
    for criterion in CRITERIA:
        model = model_of(criterion).fit(X, Y, w)
        given = model_of(criterion, kernel="precomputed").fit(K, Y, w)
        assert_array_equal(given.center_indices_, model.center_indices_)
        assert_allclose(given.alpha_, model.alpha_, rtol=1e-5)
        assert_allclose(given.path([0.3], K, Y, w).loo, model.path([0.3], X, Y, w).loo, rtol=1e-9)


def test_a_kernel_of_zeros_and_too_few_samples():
    for criterion in CRITERIA:
        zero = model_of(criterion, kernel="linear", fit_intercept=True)
        zero.fit(np.zeros((4, 2)), [1.0, 2.0, 3.0, 6.0])
        assert_allclose(zero.predict(np.ones((2, 2))), 3.0)
        for X in ([[1.0]], [[1.0], [1.0]]):
            with pytest.raises(ValueError, match="n_samples=1"):
                model_of(criterion).fit(X, np.ones(len(X)))
