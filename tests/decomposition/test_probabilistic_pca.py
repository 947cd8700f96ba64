"""Principal components of rows with missing values, against sums by row and an optimiser."""

import warnings

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from scipy.optimize import minimize
from scipy.stats import multivariate_normal
from threadpoolctl import threadpool_limits

from mlcore.decomposition import PCA
from mlcore.decomposition.probabilistic_pca import KnownValues, NormalModel
from mlcore.decomposition.summary import ColumnUnits


def samples(seed, n, d, k, share=0.2, dtype=np.float64):
    """Rows of k components and noise, of which a share of the values is missing."""
    rng = np.random.default_rng(seed)
    low = rng.normal(size=(n, k)) @ rng.normal(size=(k, d)) * 2
    X = low + 0.5 * rng.normal(size=(n, d)) + 3 * rng.normal(size=d)
    X[rng.random(X.shape) < share] = np.nan
    X[0] = rng.normal(size=d)  # every feature is known of some row
    return X.astype(dtype), rng


def log_likelihood(X, mean, covariance, weights=None):
    """Mean log density of the known values, row by row."""
    known = ~np.isnan(X)
    found = []
    for x, o in zip(X.astype(np.float64), known, strict=True):
        if o.any():
            C, r = covariance[np.ix_(o, o)], x[o] - mean[o]
            log_det = np.linalg.slogdet(2 * np.pi * C)[1]
            found.append(-0.5 * (log_det + r @ np.linalg.solve(C, r)))
    return np.average(found, weights=None if weights is None else weights[known.any(axis=1)])


@each(
    "n, d, k, centred, dtype",
    [(40, 5, 2, True, np.float64), (700, 9, 3, False, np.float64), (50, 20, 6, True, np.float32)],
)
def test_sums_are_those_of_each_row(n, d, k, centred, dtype):
    X, rng = samples([n, d], n, d, k, dtype=dtype)
    X[5] = X[6] = np.where(np.arange(d) == 1, 2.0, np.nan)
    weights = rng.integers(1, 4, n).astype(np.float64)
    model = NormalModel(rng.normal(size=(d, k)), rng.normal(size=d), 0.3)
    origin, units = rng.normal(size=d), ColumnUnits(rng.integers(-2, 3, d), np.ones(d))
    sums = KnownValues(X, weights, origin, units).sums(model, centred)
    p = k + centred
    logs, of_all, squares = 0.0, np.zeros((p, p)), np.zeros(d)
    second, product = np.zeros((d, p, p)), np.zeros((d, p))
    for x, w in zip((X - origin) / 2.0**units.power, weights, strict=True):
        o = ~np.isnan(x)
        W, r = model.loadings[o], x[o] - model.mean[o]
        C = W @ W.T + 0.3 * np.eye(o.sum())
        logs += w * multivariate_normal.logpdf(r, np.zeros(len(r)), C)
        z, S = W.T @ np.linalg.solve(C, r), np.eye(k) - W.T @ np.linalg.solve(C, W)
        one = np.append(np.ones(int(centred)), z)
        moments = np.outer(one, one)
        moments[int(centred) :, int(centred) :] += S
        of_all += w * moments
        second[o] += w * moments
        product[o] += w * r[:, None] * one
        squares[o] += w * r**2
    lower = np.tril_indices(p)
    assert_allclose(sums.log_likelihood, logs, rtol=1e-10)
    assert sums.weight == weights.sum()
    assert_allclose(sums.of_all, of_all[lower], rtol=1e-9, atol=1e-9)
    assert_allclose(sums.second, second[:, lower[0], lower[1]], rtol=1e-9, atol=1e-9)
    assert_allclose(sums.product, product, rtol=1e-9, atol=1e-9)
    assert_allclose(sums.squares, squares, rtol=1e-10)


@each("seed, center", [(0, True), (1, True), (2, False)])
def test_the_likelihood_is_as_great_as_an_optimiser_finds(seed, center):
    X, rng = samples(seed, 30, 4, 2)
    d, k = 4, 2

    def parameters(v):
        W = v[: d * k].reshape(d, k)
        mean = v[d * k : -1] if center else np.zeros(d)
        return mean, W @ W.T + np.exp(v[-1]) * np.eye(d)

    def loss(v):
        return -log_likelihood(X, *parameters(v))

    model = PCA(k, missing="ignore", center=center, ddof=0, tol=1e-12).fit(X)
    first = np.append(rng.normal(size=d * k + d), 0.0)
    best = minimize(loss, first, method="L-BFGS-B").fun
    assert model.converged_
    assert_allclose(model.objective_trace_[-1], -best, atol=2e-5)
    assert -model.objective_trace_[-1] <= best + 1e-7
    # The gradient vanishes: by central differences of the density.
    W = model.components_.T * np.sqrt(model.explained_variance_ - model.noise_variance_)
    v = np.concatenate([W.ravel(), model.mean_, [np.log(model.noise_variance_)]])
    for i in range(len(v) if center else d * k):
        step = np.zeros(len(v))
        step[i] = 1e-5
        assert abs(loss(v + step) - loss(v - step)) / 2e-5 < 1e-5


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.floats(0.05, 0.7), st.booleans(), st.booleans(), st.integers(1, 3)
)
def test_no_step_lowers_the_likelihood(seed, share, weighted, center, k):
    X, rng = samples(seed, 50, 5, 2, share)
    weights = rng.integers(0, 3, 50) + 0.1 if weighted else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PCA(k, missing="ignore", center=center, ddof=0, iterated_power=60)
        model.fit(X, sample_weight=weights)
    trace = model.objective_trace_
    assert np.diff(trace).min(initial=0) >= -1e-10 * np.abs(trace).max()
    assert len(trace) == model.n_iter_ + 1
    expected = log_likelihood(X, model.mean_, model.get_covariance(), weights)
    assert_allclose(trace[-1], expected, rtol=1e-7)


def test_complete_rows_are_as_without_the_parameter():
    X, _ = samples(0, 80, 5, 2, share=0)
    for how in ({}, {"scale": True, "whiten": True}, {"center": False}):
        for form in (np.asarray, sp.csr_array):
            a = PCA(3, **how).fit(form(X))
            b = PCA(3, missing="ignore", **how).fit(form(X))
            assert_array_equal(a.components_, b.components_)
            assert_array_equal(a.transform(X), b.transform(X))
            assert not hasattr(b, "objective_trace_")


@each("how", [{}, {"scale": True}, {"center": False}, {"ddof": 0, "whiten": True}])
def test_rows_that_know_almost_all_have_almost_the_components_of_complete_rows(how):
    X, _ = samples(3, 20000, 5, 2, share=0)
    expected = PCA(2, **how).fit(X)
    X[7, 1] = np.nan
    model = PCA(2, missing="ignore", tol=1e-12, **how).fit(X)
    for name in ("components_", "explained_variance_", "mean_", "noise_variance_", "scale_"):
        assert_allclose(getattr(model, name), getattr(expected, name), rtol=2e-3, atol=2e-3)
    assert_allclose(model.total_variance_, expected.total_variance_, rtol=2e-3)
    assert model.solver_ == "em"


def test_components_are_orthonormal_and_descend():
    X, _ = samples(4, 200, 8, 3, dtype=np.float32)
    model = PCA(3, missing="ignore").fit(X)
    assert model.components_.dtype == np.float32
    assert model.orthogonality_ < 1e-6
    assert (np.diff(model.explained_variance_) < 0).all()
    assert model.noise_variance_ < model.explained_variance_[-1]
    assert model.residuals_.max() < 1e-3
    wide = PCA(3, missing="ignore").fit(X.astype(np.float64))
    assert_allclose(model.components_, wide.components_, atol=1e-5)


def test_rows_are_filled_by_their_conditional_means():
    X, _ = samples(5, 100, 6, 2)
    X[3] = np.nan
    model = PCA(2, missing="ignore", scale=True, ddof=0).fit(X)
    C, mean, values = model.get_covariance(), model.mean_, model.impute(X)
    for x, found in zip(X, values, strict=True):
        o = ~np.isnan(x)
        expected = mean + C[:, o] @ np.linalg.solve(C[np.ix_(o, o)], x[o] - mean[o])
        assert_allclose(found, np.where(o, x, expected), rtol=1e-9)
        assert_array_equal(found[o], x[o])
    assert_allclose(model.transform(X), (values - mean) / model.scale_ @ model.components_.T)
    densities = model.score_samples(X)
    assert densities[3] == 0
    assert_allclose(np.delete(densities, 3).mean(), log_likelihood(X, mean, C), rtol=1e-10)
    assert_allclose(np.delete(densities, 3).mean(), model.objective_trace_[-1], rtol=1e-10)


def test_fits_to_complete_rows_fill_others():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 1)) @ np.array([[1.0, 2.0, -1.0]]) + 4
    model = PCA(1, missing="ignore").fit(X)  # without noise
    gaps = X.copy()
    gaps[:, 1] = np.nan
    assert_allclose(model.impute(gaps), X, rtol=1e-5)


def test_weights_are_copies_and_threads_change_no_byte():
    X, rng = samples(6, 2000, 6, 2)
    weights = rng.integers(0, 3, len(X))
    model = PCA(2, missing="ignore", tol=1e-13)
    a = model.fit(X, sample_weight=weights).get_covariance()
    b = model.fit(np.repeat(X, weights, axis=0)).get_covariance()
    assert_allclose(a, b, atol=1e-5)
    found = []
    for threads in (1, 3):
        with threadpool_limits(threads, user_api="openmp"):
            found.append(PCA(2, missing="ignore").fit(X).components_.tobytes())
    assert found[0] == found[1]


@each("shift, scale", [(1e8, 1.0), (0.0, 1e150), (0.0, 1e-150), (1e4, 1e-30)])
def test_offset_and_unit_change_nothing(shift, scale):
    X, _ = samples(7, 200, 5, 2)
    X = np.round(X * 2**10) / 2**10
    expected = PCA(2, missing="ignore").fit(X)
    model = PCA(2, missing="ignore").fit((X + shift) * scale)
    assert_allclose(model.components_, expected.components_, atol=1e-6)
    assert_allclose(model.singular_values_ / scale, expected.singular_values_, rtol=1e-6)
    assert_allclose(
        model.impute((X + shift) * scale) / scale - shift, expected.impute(X), atol=1e-5
    )


def test_rows_of_which_nothing_is_known_are_left_out():
    X, _ = samples(8, 100, 4, 2)
    more = np.vstack([np.full((30, 4), np.nan), X])
    a, b = (PCA(2, missing="ignore", tol=1e-12).fit(rows) for rows in (X, more))
    assert_allclose(a.get_covariance(), b.get_covariance(), atol=1e-6)
    assert a.n_samples_ == b.n_samples_ == (~np.isnan(X).all(axis=1)).sum()
    whole = np.nan_to_num(X)
    b = PCA(2, missing="ignore").fit(np.vstack([whole, more[:30]]))
    assert_array_equal(b.components_, PCA(2).fit(whole).components_)
    one = PCA(missing="ignore").fit([[1.0], [np.nan], [3.0]])
    assert_allclose(one.explained_variance_, [2.0])


def test_rows_without_noise_warn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1)) @ rng.normal(size=(1, 5))
    truth = X.copy()
    X[rng.random(X.shape) < 0.2] = np.nan
    with pytest.warns(match="likelihood has no maximum"):
        model = PCA(1, missing="ignore").fit(X)
    assert not model.converged_
    known = (~np.isnan(X)).any(axis=1)
    assert_allclose(model.impute(X)[known], truth[known], atol=1e-3)
    constant = np.array([[1.0, 2.0], [np.nan, 2.0], [1.0, np.nan]])
    assert_array_equal(PCA(1, missing="ignore").fit(constant).explained_variance_, [0])


def test_what_is_refused():
    X, _ = samples(9, 30, 3, 1)
    model = PCA(1, missing="ignore")
    with pytest.raises(ValueError, match="contains NaN"):
        PCA(1).fit(X)
    unknown = X.copy()
    unknown[:, 1] = np.nan
    with pytest.raises(ValueError, match="all values of column 1 of X are missing"):
        model.fit(unknown)
    for wanted, text in ((3, "between 1 and"), (0.9, "needs complete rows"), ("mle", "complete")):
        with pytest.raises(ValueError, match=text):
            PCA(wanted, missing="ignore").fit(X)
    with pytest.raises(ValueError, match="dense data only"):
        model.fit(sp.csr_array(X))
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.where(np.isnan(X), np.inf, X))
    with pytest.raises(ValueError, match="sum over blocks"):
        model.begin(X)
    model.fit(X)
    for call in (model.verify, model.reconstruction_errors, model.partial_fit):
        with pytest.raises(ValueError, match="missing values|no sums"):
            call(X)
