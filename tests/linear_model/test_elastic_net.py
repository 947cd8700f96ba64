"""Logistic regression with absolute values in the penalty, against SciPy and the optimality
conditions."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit, logsumexp
from sklearn.datasets import load_breast_cancer, load_wine
from threadpoolctl import threadpool_limits

from mlcore.checks.errors import ConvergenceWarning
from mlcore.linear_model import LogisticRegression
from mlcore.linear_model.logistic.steps import proximal_newton


def drawn(n, d, k, seed=0, dtype=np.float64):
    rng = np.random.default_rng([n, d, k, seed])
    X = rng.normal(size=(n, d))
    W = rng.normal(size=(d, k)) * (rng.random((d, 1)) < 0.3)
    y = (X @ W + rng.gumbel(size=(n, k))).argmax(axis=1)
    y[:k] = np.arange(k)
    return X.astype(dtype), y


def losses_and_residuals(W, b, X, y, offset=0.0):
    Z = X @ W.T + b + offset
    Z = np.hstack([np.zeros_like(Z), Z]) if Z.shape[1] == 1 else Z
    total = logsumexp(Z, axis=1)
    R = np.exp(Z - total[:, None])
    each = np.arange(len(y))
    R[each, y] -= 1
    return total - Z[each, y], R[:, 1:] if R.shape[1] == 2 else R


def value(W, b, X, y, C, ratio, s=1.0, offset=0.0):
    """P by its definition."""
    losses, _ = losses_and_residuals(W, b, X, y, offset)
    return C * (s * losses).sum() + (1 - ratio) / 2 * (W**2).sum() + ratio * np.abs(W).sum()


def value_of(model, X, y, s=1.0, offset=0.0):
    W, b = model.coef_.astype(float), model.intercept_.astype(float)
    return value(W, b, X, y, model.C, model.l1_ratio, s, offset)


def minimum(X, y, C, ratio):
    """The least P that SciPy finds, of coefficients as differences of two that are at least 0."""
    d, k = X.shape[1], y.max() + 1
    c = 1 if k == 2 else k

    def P(theta):
        plus, minus = theta[: 2 * c * d].reshape(2, c, d)
        b = theta[2 * c * d :]
        W = plus - minus
        losses, R = losses_and_residuals(W, b, X, y)
        g = C * R.T @ X + (1 - ratio) * W
        gradient = np.r_[(g + ratio).ravel(), (ratio - g).ravel(), C * R.sum(axis=0)]
        P = C * losses.sum() + (1 - ratio) / 2 * (W**2).sum() + ratio * (plus + minus).sum()
        return P, gradient

    bounds = [(0, None)] * (2 * c * d) + [(None, None)] * c
    options = {"maxiter": 50_000, "maxfun": 10**6, "ftol": 1e-16, "gtol": 1e-9, "maxcor": 50}
    start = np.zeros(len(bounds))
    return minimize(P, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).fun


def violation(model, X, y):
    """Largest distance of a subgradient of P from 0."""
    W, ratio = model.coef_, model.l1_ratio
    _, R = losses_and_residuals(W, model.intercept_, X, y)
    G = model.C * R.T @ X + (1 - ratio) * W
    off = np.where(W != 0, np.abs(G + ratio * np.sign(W)), np.maximum(np.abs(G) - ratio, 0))
    return max(off.max(), np.abs(model.C * R.sum(axis=0)).max())


@pytest.mark.parametrize(
    ("n", "d", "k"), [(9, 1, 2), (126, 15, 2), (127, 17, 3), (200, 20, 5), (40, 60, 3), (30, 90, 2)]
)
@pytest.mark.parametrize("turn", [0, 1])
def test_the_objective_is_the_least_that_scipy_finds(n, d, k, turn):
    X, y = drawn(n, d, k)
    ratio = [1.0, 0.5, 0.01][(k + d + turn) % 3]  # each with rows of every shape
    least = minimum(X, y, 0.7, ratio)
    for form in (np.asarray, sparse.csr_array):
        model = LogisticRegression(C=0.7, l1_ratio=ratio).fit(form(X), y)
        assert model.converged_
        P = value_of(model, X, y)
        assert_allclose(model.objective_, P, rtol=1e-12)
        assert P <= least * (1 + 1e-9)
        assert P - least <= model.duality_gap_ <= 1e-6 * P
        assert (np.diff(model.objective_trace_) <= 0).all()


@pytest.mark.parametrize("ratio", [1.0, 0.3])
@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_raw_data_converge_at_defaults(load, ratio):
    X, y = load(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LogisticRegression(l1_ratio=ratio).fit(X, y)
    assert model.duality_gap_ <= 1e-6 * model.objective_
    size = model.C * len(X) * np.abs(X).max()
    assert violation(model, X, y) <= 1e-8 * size
    assert 0 < np.count_nonzero(model.coef_) < model.coef_.size


@pytest.mark.parametrize("ratio", [1.0, 0.5])
@pytest.mark.parametrize("k", [2, 4])
def test_many_columns_change_some_at_a_time(k, ratio, monkeypatch):
    X, y = drawn(80, 50, k)
    whole = LogisticRegression(C=0.3, l1_ratio=ratio).fit(X, y)
    monkeypatch.setattr(proximal_newton, "_WHOLE", 0)
    monkeypatch.setattr(proximal_newton, "_LARGEST", 12 * k)
    for form in np.asarray, sparse.csr_array:
        parts = LogisticRegression(C=0.3, l1_ratio=ratio).fit(form(X), y)
        assert parts.converged_
        assert_allclose(parts.objective_, whole.objective_, rtol=1e-8)
        assert_allclose(parts.objective_, value_of(parts, X, y), rtol=1e-12)
        assert parts.objective_ - whole.objective_ <= parts.duality_gap_ <= 1e-6 * whole.objective_


@pytest.mark.parametrize("fraction", [0.5, 0.02])
@pytest.mark.parametrize("k", [2, 3])
def test_steps_change_the_columns_that_matter_then_all(k, fraction):
    X, y = drawn(100, 400, k)
    R = np.bincount(y) / len(y) - np.eye(k)[y]
    model = LogisticRegression(C=1 / (fraction * np.abs(R.T @ X).max()), l1_ratio=1.0).fit(X, y)
    assert model.converged_ and 0 < np.count_nonzero(model.coef_) < 100 * k
    assert violation(model, X, y) <= 1e-4
    assert model.duality_gap_ <= 1e-6 * model.objective_
    # The other features were never in use: without them the minimum is the same.
    used = np.flatnonzero(model.coef_.any(axis=0))
    few = LogisticRegression(C=model.C, l1_ratio=1.0).fit(X[:, used], y)
    assert abs(few.objective_ - model.objective_) <= model.duality_gap_ + few.duality_gap_


@pytest.mark.parametrize("k", [2, 3])
def test_below_a_strength_all_coefficients_are_0(k):
    """They are as soon as no column's correlation with the residuals of the shares is above r."""
    X, y = drawn(90, 7, k)
    shares = np.bincount(y) / len(y)
    R = shares - np.eye(k)[y]
    R = R[:, 1:] if k == 2 else R
    for ratio in (1.0, 0.4):
        limit = ratio / np.abs(R.T @ X).max()
        below = LogisticRegression(C=limit * (1 - 1e-6), l1_ratio=ratio).fit(X, y)
        assert not below.coef_.any() and below.duality_gap_ <= 1e-6 * below.objective_
        b = below.intercept_
        assert_allclose(expit(b) if k == 2 else np.exp(b - logsumexp(b)), shares[-len(b) :])
        above = LogisticRegression(C=limit * 1.001, l1_ratio=ratio).fit(X, y)
        assert np.count_nonzero(above.coef_) == 1


@settings(max_examples=15)
@given(
    st.integers(0, 2**31), st.integers(6, 40), st.integers(1, 12), st.integers(2, 4),
    st.floats(-3, 3), st.sampled_from([0.1, 0.7, 0.99, 1.0]), st.integers(0, 6),
)  # fmt: skip
def test_the_gap_is_never_below_the_true_excess(seed, n, d, k, log_C, ratio, max_iter):
    X, y = drawn(n, d, min(k, n), seed)
    X = X * 2.0 ** np.random.default_rng(seed).integers(-6, 7, d)
    model = LogisticRegression(C=10**log_C, l1_ratio=ratio, max_iter=max_iter)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
        best = LogisticRegression(C=10**log_C, l1_ratio=ratio, tol=1e-12).fit(X, y)
    P = value_of(model, X, y)
    excess = P - value_of(best, X, y)
    assert model.duality_gap_ >= excess - 1e-14 * P
    evidence = model.verify(X, y)
    assert_allclose(evidence.objective, P, rtol=1e-12)
    assert evidence.duality_gap >= excess - 1e-14 * P
    assert evidence.excess_bound >= excess - 1e-14 * P
    if max_iter == 0:
        assert model.duality_gap_ > 0 or excess <= 1e-14 * P


@settings(max_examples=8)
@given(st.integers(0, 2**31), st.integers(2, 4), st.sampled_from([0.2, 1.0]))
def test_laws(seed, k, ratio):
    X, y = drawn(30, 6, k, seed)
    rng = np.random.default_rng(seed)
    copies = rng.integers(1, 4, len(X))
    model = LogisticRegression(l1_ratio=ratio, tol=1e-9)
    weighted = model.fit(X, y, sample_weight=copies)
    P, proba = weighted.objective_, weighted.predict_proba(X)
    assert_allclose(proba.T @ copies, np.bincount(y, weights=copies), rtol=1e-6)
    repeated = model.fit(X.repeat(copies, axis=0), y.repeat(copies))
    assert_allclose(repeated.objective_, P, rtol=1e-9)
    shifted = model.fit(X + rng.normal(size=6) * 100, y, sample_weight=copies)
    assert_allclose(shifted.objective_, P, rtol=1e-9)
    columns = rng.permutation(6)
    assert_allclose(model.fit(X[:, columns], y, sample_weight=copies).objective_, P, rtol=1e-9)
    twice = model.fit(np.c_[X, X], y, sample_weight=copies)
    if ratio == 1:  # absolute values of copies of a column sum up
        assert_allclose(twice.objective_, P, rtol=1e-9)
    else:
        assert twice.objective_ < P * (1 + 1e-9)


def test_without_absolute_values_it_is_the_square():
    X, y = drawn(60, 5, 3)
    square, nearly = (LogisticRegression(l1_ratio=r, tol=1e-8).fit(X, y) for r in (0.0, 1e-12))
    assert_allclose(nearly.coef_, square.coef_, atol=1e-6)
    assert_allclose(nearly.objective_, square.objective_, rtol=1e-10)


def test_without_penalty_the_ratio_says_nothing():
    X, y = drawn(200, 3, 2)
    found = [LogisticRegression(C=np.inf, l1_ratio=r).fit(X, y).coef_ for r in (0.0, 1.0)]
    assert_array_equal(*found)


@pytest.mark.parametrize("ratio", [1.0, 0.4])
@pytest.mark.parametrize("k", [2, 3])
def test_without_intercept(k, ratio):
    """As with a column of offsets that makes the optimal intercept 0."""
    X, y = drawn(80, 4, k)
    whole = LogisticRegression(l1_ratio=ratio, tol=1e-8).fit(X, y)
    offset = np.tile(whole.intercept_, (80, 1))
    model = LogisticRegression(l1_ratio=ratio, tol=1e-8, fit_intercept=False)
    model.fit(X, y, offset=offset)
    assert not model.intercept_.any()
    assert_allclose(model.objective_, whole.objective_, rtol=1e-9)
    assert_allclose(model.coef_, whole.coef_, atol=1e-5)
    assert model.duality_gap_ <= 1e-8 * model.objective_


@pytest.mark.parametrize("k", [2, 3])
def test_offsets_of_scores(k):
    X, y = drawn(80, 4, k)
    offset = np.random.default_rng(1).normal(size=(80, 1 if k == 2 else k))
    model = LogisticRegression(l1_ratio=1.0).fit(X, y, offset=offset)
    assert_allclose(model.objective_, value_of(model, X, y, offset=offset), rtol=1e-12)
    rng = np.random.default_rng(2)
    for _ in range(20):  # no perturbation lowers P by more than the gap
        W = model.coef_ + rng.normal(size=model.coef_.shape) * 1e-3 * (model.coef_ != 0)
        P = value(W, model.intercept_, X, y, 1.0, 1.0, offset=offset)
        assert P >= model.objective_ - model.duality_gap_


@pytest.mark.parametrize("ratio", [1.0, 0.5])
@pytest.mark.parametrize("scale", [1e-100, 1e-6, 1e6, 1e100])
def test_scales_and_offsets(scale, ratio):
    """Columns times a power of two, and C for which the coefficients are worth the same."""
    X, y = drawn(70, 4, 2)
    model = LogisticRegression(l1_ratio=ratio, C=0.5)
    far = model.fit(X + 1e6, y)
    assert far.converged_
    assert_allclose(far.objective_, minimum(X, y, 0.5, ratio), rtol=1e-8)
    scaled = model.fit(X * scale, y)
    assert scaled.converged_ and np.isfinite(scaled.coef_).all()
    assert_allclose(scaled.objective_, value_of(scaled, X * scale, y), rtol=1e-12)
    assert scaled.objective_ <= value(np.zeros((1, 4)), 0.0, X, y, 0.5, ratio)


@pytest.mark.parametrize("C", [1e-300, 1e-5, 1e5, 1e300])
def test_extreme_C(C):
    X, y = drawn(60, 3, 2)
    model = LogisticRegression(C=C, l1_ratio=1.0).fit(X, y)
    assert model.converged_ and np.isfinite(model.coef_).all()
    if C < 1e-4:
        assert not model.coef_.any()


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_constant_and_dependent_columns(form):
    X, y = drawn(60, 3, 2)
    X = np.c_[X, np.full(60, 7.0), np.zeros(60), X @ [1.0, -1.0, 2.0], X[:, 0]]
    model = LogisticRegression(l1_ratio=1.0).fit(form(X), y)
    assert model.converged_ and not model.coef_[0, 3:5].any()
    assert_allclose(model.objective_, minimum(X, y, 1.0, 1.0), rtol=1e-8)


def test_separable_classes_have_a_finite_minimum():
    X = np.r_[-2.0, -1.0, 1.0, 2.0][:, None]
    y = [0, 0, 1, 1]
    model = LogisticRegression(C=1e3, l1_ratio=1.0).fit(X, y)
    # By symmetry b = 0, and the derivative of P in w is 0.
    w = model.coef_[0, 0]
    assert_allclose(2e3 * (expit(-w) + 2 * expit(-2 * w)), 1, rtol=1e-4)
    assert abs(model.intercept_[0]) < 1e-6


def test_float32_agrees_to_its_digits():
    X, y = drawn(300, 8, 3, dtype=np.float32)
    single = LogisticRegression(l1_ratio=0.5).fit(X, y)
    double = LogisticRegression(l1_ratio=0.5).fit(X.astype(float), y)
    assert single.coef_.dtype == np.float32
    assert_allclose(single.coef_, double.coef_, atol=1e-5)
    assert value_of(single, X.astype(float), y) - double.objective_ <= single.duality_gap_


@pytest.mark.parametrize("whole", [3000, 40])
def test_any_number_of_threads_gives_the_same_bytes(whole, monkeypatch):
    monkeypatch.setattr(proximal_newton, "_WHOLE", whole)
    X, y = drawn(3000, 50, 2)
    found = []
    for threads in (1, 2, 5):
        with threadpool_limits(threads):
            found.append(LogisticRegression(l1_ratio=1.0).fit(X, y).coef_)
    assert_array_equal(found[0], found[1])
    assert_array_equal(found[0], found[2])


def test_warm_start_goes_on_where_the_last_fit_ended():
    X, y = drawn(200, 20, 2)
    model = LogisticRegression(l1_ratio=1.0, warm_start=True).fit(X, y)
    first = model.n_iter_[0]
    again = model.fit(X, y)
    assert again.n_iter_[0] <= 1 < first


def test_too_few_iterations_are_a_warning():
    X, y = drawn(200, 20, 2)
    with pytest.warns(ConvergenceWarning, match="max_iter was reached"):
        model = LogisticRegression(C=10.0, l1_ratio=1.0, max_iter=1).fit(X, y)
    assert not model.converged_ and model.n_iter_[0] == 1


@pytest.mark.parametrize("k", [2, 3])
def test_coefficients_stored_as_those_that_are_not_0(k):
    X, y = drawn(200, 20, k)
    model = LogisticRegression(C=0.1, l1_ratio=1.0).fit(X, y)
    coef, scores, proba = model.coef_, model.decision_function(X), model.predict_proba(X)
    evidence = model.verify(X, y)
    assert model.sparsify() is model and sparse.issparse(model.coef_)
    assert model.coef_.nnz == np.count_nonzero(coef) < coef.size
    for form in np.asarray, sparse.csr_array:
        assert_allclose(model.decision_function(form(X)), scores, rtol=1e-13, atol=1e-13)
        assert_allclose(model.predict_proba(form(X)), proba, rtol=1e-13)
    assert model.verify(X, y) == evidence
    assert_array_equal(model.densify().coef_, coef)
    assert_array_equal(model.sparsify().fit(X, y).coef_, coef)
    with pytest.raises(AttributeError):
        LogisticRegression().sparsify()


def test_what_is_refused():
    X, y = drawn(20, 2, 2)
    for wrong in (-0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match="l1_ratio"):
            LogisticRegression(l1_ratio=wrong).fit(X, y)
    with pytest.raises(TypeError, match="l1_ratio"):
        LogisticRegression(l1_ratio="1").fit(X, y)
    for solver in ("lbfgs", "gradient"):
        with pytest.raises(ValueError, match=f"solver='{solver}' takes l1_ratio=0 alone"):
            LogisticRegression(l1_ratio=0.5, solver=solver).fit(X, y)
