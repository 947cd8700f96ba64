"""Elastic nets by sums over blocks of rows, beside fits to all rows."""

import itertools
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from mlcore.blocks import fit_blocks
from mlcore.checks.errors import ConvergenceWarning, NotFittedError
from mlcore.linear_model import ElasticNet, Lasso, LinearRegression

N, D = 90, 4
rng = np.random.default_rng(0)
X = rng.normal(size=(N, D)) @ (rng.normal(size=(D, D)) + 3 * np.eye(D)) + [0.0, 3.0, -50.0, 1.0]
Y = np.c_[X[:, 0] - 2 * X[:, 2], X[:, 1]] + rng.normal(size=(N, 2))
S = rng.integers(1, 4, size=N).astype(float)


def blocks(X, Y, sizes=(1, 30, 59), weight=None):
    ends = np.cumsum(sizes)
    parts = [slice(last - size, last) for last, size in zip(ends, sizes, strict=True)]
    return [(X[p], Y[p], None if weight is None else weight[p]) for p in parts]


@pytest.mark.parametrize("multi_task", [False, True])
def test_a_path_without_data_is_that_of_the_rows(multi_task):
    """In memory, by blocks, in both numbers of targets, weighted, standardised and sparse."""
    for kwargs in ({}, {"standardize": True}, {"fit_intercept": False}):
        model = ElasticNet(0.1, l1_ratio=0.7, multi_task=multi_task, tol=1e-12, **kwargs)
        expected = model.fit(X, Y, S).path(X, Y, S, alphas=7)
        for fitted in (
            model,
            fit_blocks(model, blocks(X, Y, weight=S)),
            fit_blocks(model, blocks(sparse.csr_array(X), Y, weight=S)),
        ):
            path = fitted.path(alphas=7)
            assert_allclose(path.alphas, expected.alphas, rtol=1e-12)
            assert_allclose(path.coef, expected.coef, rtol=0, atol=1e-8)
            assert_allclose(path.intercept, expected.intercept, rtol=0, atol=1e-7)
            assert (path.duality_gap <= 1e-7 * path.objective[:1]).all()
    ridge = ElasticNet(0.1, l1_ratio=0.0, multi_task=multi_task)
    path = fit_blocks(ridge, blocks(X, Y)).path(alphas=[0.1, 2.0])
    for alpha, coef in zip(path.alphas, path.coef, strict=True):
        assert_allclose(coef, LinearRegression(alpha=N * alpha).fit(X, Y).coef_, rtol=1e-9)


def test_rows_of_any_unit_may_follow():
    """The first rows set the units; later ones of 1e100 times their size, and weights of 1e60, are
    as in a fit to all rows."""
    unit = np.where(np.arange(N) < 10, 1e-80, 1e80)[:, None]
    for multi_task in (False, True):
        model = ElasticNet(1e159, l1_ratio=0.7, multi_task=multi_task)
        whole = ElasticNet(1e159, l1_ratio=0.7, multi_task=multi_task).fit(X * unit, Y * unit)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # of ten rows alone
            for part in blocks(X * unit, Y * unit, (10, 20, 60), 1e60 * np.ones(N)):
                model.partial_fit(*part)
        assert whole.converged_ and model.converged_
        assert_allclose(model.coef_, whole.coef_, rtol=1e-8)
        assert_allclose(model.objective_, whole.objective_, rtol=1e-9)


def test_float32_is_summed_in_float64():
    """So the gap is one of float64, where the sums of a fit in float32 show half the digits."""
    Z = X.astype(np.float32)
    of_blocks, whole = fit_blocks(Lasso(0.1), blocks(Z, Y[:, 0])), Lasso(0.1).fit(Z, Y[:, 0])
    assert of_blocks.coef_.dtype == np.float32 and of_blocks.converged_
    # P grows at least by half this curvature times the square of a distance from its minimiser.
    curvature = np.linalg.eigvalsh(np.cov(X.T, bias=True))[0]
    distance = np.linalg.norm(of_blocks.coef_ - whole.coef_)
    gaps = np.array([of_blocks.duality_gap_, whole.duality_gap_])
    assert distance <= np.sqrt(2 * gaps / curvature).sum() < 0.1
    with pytest.warns(ConvergenceWarning, match="where rounding lets it go no further"):
        whole.partial_fit(Z[:50], Y[:50, 0])
    assert not whole.converged_ and whole.duality_gap_ > 100 * of_blocks.duality_gap_


def test_settings_may_change_between_the_sums_and_the_fit():
    """Without an intercept sums refer to 0, and groups of targets have one unit."""
    for kind, params in itertools.product(
        (LinearRegression, ElasticNet), ({"fit_intercept": False}, {"multi_task": True})
    ):
        if kind is LinearRegression and "multi_task" in params:
            continue
        for unit in (1.0, 1e-100):
            Z = Y * [1.0, unit]
            whole = kind(alpha=0.1, **params).fit(X, Z)
            begun = kind(alpha=0.1).begin(X, Z)
            begun.set_params(**params).update(begun.partial_statistics(X, Z))
            later = kind(alpha=0.1).fit(X[:60], Z[:60]).set_params(**params)
            later.partial_fit(X[60:], Z[60:])
            for model in (begun, later):
                size = np.abs(whole.coef_).max(axis=1, keepdims=True)
                assert_allclose(model.coef_, whole.coef_, rtol=0, atol=1e-7 * size.max())
                assert_allclose(model.predict(X), whole.predict(X), rtol=0, atol=1e-5)
            if kind is ElasticNet:
                path = kind(alpha=0.1).fit(X, Z).set_params(**params).path(alphas=[0.1])
                assert_allclose(path.coef[0], whole.coef_, rtol=0, atol=1e-7 * size.max())


def test_sums_of_extreme_weights_are_not_kept():
    for weight in (1e-320, 1e-300, 1e303):
        model = Lasso(0.1).fit(X * 1e3, Y[:, 0], np.full(N, weight))
        with pytest.raises(ValueError, match="or their weights are extreme"):
            model.path()
    with pytest.raises(TypeError, match="NoneType"):
        model.path(None, Y[:, 0])


def test_what_is_refused():
    wide = ElasticNet(0.1).fit(X[:3], Y[:3])
    with pytest.raises(ValueError, match="path needs X and y: the fit has kept no sums"):
        wide.path()
    with pytest.raises(ValueError, match="begin with partial_fit on a new model"):
        wide.partial_fit(X, Y)
    begun = ElasticNet(0.1).begin(X, Y)
    for call in (lambda: begun.predict(X), begun.path):
        with pytest.raises(NotFittedError, match="it has begun, but call 'update'"):
            call()
    with pytest.raises(ValueError, match="y has 1 columns, but ElasticNet was fitted to 2"):
        begun.partial_statistics(X, Y[:, 0])
    other = ElasticNet(0.1).begin(X[:, :2], Y).partial_statistics(X[:, :2], Y)
    for statistics in (other, LinearRegression().begin(X, Y).partial_statistics(X, Y)):
        with pytest.raises(ValueError, match="statistics must come from partial_statistics"):
            begun.update(statistics)
    before = dict(vars(begun))
    with pytest.raises(ValueError, match="X has 2 features"):
        begun.partial_fit(X[:, :2], Y)
    assert vars(begun) == before
    found = begun.update(begun.partial_statistics(X, Y))
    assert_allclose(found.coef_, ElasticNet(0.1).fit(X, Y).coef_, atol=1e-9)
