"""Laws of ridge functions over random problems."""

from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge

from mlcore.kernel_ridge import KernelRidge
from mlcore.kernels import center_gram, gram_matrix

SEED, EXPONENT = st.integers(0, 10**6), st.floats(-3, 3)
SOLVER = st.sampled_from(["cholesky", "cg", "nystroem"])


def problem(seed, grid=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rng.integers(3, 40), rng.integers(1, 5)))
    if grid:  # which an offset of 1e8 leaves exact
        X = np.round(X * 1024) / 1024
    Y = np.sin(X[:, :1]) + rng.normal(size=(len(X), 2))
    return X, Y, rng.integers(1, 4, len(X)).astype(float), rng


def model_of(alpha, solver, **params):
    return KernelRidge(alpha, solver=solver, tol=1e-26, random_state=0, **params)


@settings(max_examples=15, deadline=None)
@given(
    seed=SEED,
    exponent=EXPONENT,
    solver=SOLVER,
    fit_intercept=st.booleans(),
    offset=st.sampled_from([0.0, 1e4, 1e8]),
    power=st.sampled_from([-470, 0, 470]),
)
def test_the_linear_kernel_is_ridge_regression(
    seed, exponent, solver, fit_intercept, offset, power
):
    """In any unit; and with an intercept of samples anywhere."""
    X, Y, w, _ = problem(seed, grid=True)
    alpha = 10.0**exponent
    mean, shift = (np.average(v, axis=0, weights=w) * fit_intercept for v in (X, Y))
    A, B = (X - mean) * np.sqrt(w)[:, None], (Y - shift) * np.sqrt(w)[:, None]
    coef = np.linalg.solve(A.T @ A + alpha * np.eye(X.shape[1]), A.T @ B)
    expected = (X - mean) @ coef + shift
    peer = Ridge(alpha, fit_intercept=fit_intercept).fit(X, Y, w)
    assert_allclose(expected, peer.predict(X), atol=1e-8)
    moved = (X + offset if fit_intercept else X) * 2.0**power
    model = model_of(alpha * 2.0 ** (2 * power), solver, fit_intercept=fit_intercept)
    # K + alpha/w has a condition of up to 1e6 here.
    assert_allclose(model.fit(moved, Y, w).predict(moved), expected, rtol=0, atol=1e-9)


@settings(max_examples=12, deadline=None)
@given(seed=SEED, exponent=EXPONENT, kernel=st.sampled_from(["linear", "rbf", "laplacian"]))
def test_an_intercept_is_the_problem_of_centred_values(seed, exponent, kernel):
    X, Y, _, _ = problem(seed)
    alpha = 10.0**exponent
    K = center_gram(gram_matrix(X, kernel=kernel, gamma=0.5))
    centred = KernelRidge(alpha, kernel="precomputed").fit(K, Y - Y.mean(axis=0))
    model = KernelRidge(alpha, kernel=kernel, gamma=0.5, fit_intercept=True).fit(X, Y)
    scale = np.abs(Y).max() / alpha
    assert_allclose(model.dual_coef_, centred.dual_coef_, rtol=0, atol=1e-11 * scale)
    assert_allclose(model.predict(X), centred.predict(K) + Y.mean(axis=0), rtol=0, atol=1e-9)
    assert_allclose(model.objective_, centred.objective_, rtol=1e-8)


@settings(max_examples=12, deadline=None)
@given(
    seed=SEED,
    exponent=EXPONENT,
    solver=SOLVER,
    kernel=st.sampled_from(["linear", "polynomial", "rbf"]),
    fit_intercept=st.booleans(),
)
def test_rows_have_no_order_and_weights_are_copies(seed, exponent, solver, kernel, fit_intercept):
    X, Y, w, rng = problem(seed)
    counts, order = w.astype(int), rng.permutation(len(X))
    how = {"kernel": kernel, "gamma": 0.3, "degree": 2, "fit_intercept": fit_intercept}
    model = model_of(10.0**exponent, solver, **how).fit(X, Y, w)
    moved = model_of(10.0**exponent, solver, **how).fit(X[order], Y[order], w[order])
    copies = model_of(10.0**exponent, solver, **how).fit(X.repeat(counts, 0), Y.repeat(counts, 0))
    twice = model_of(2 * 10.0**exponent, solver, **how).fit(X, Y, 2 * w)
    # Centres that rounding leaves out move the function by the root of that.
    atol = 1e-5 if solver == "nystroem" else 1e-8
    for other in (moved, copies, twice):
        assert_allclose(other.predict(X), model.predict(X), rtol=0, atol=atol)
        factor = 2 if other is twice else 1
        assert_allclose(other.objective_, factor * model.objective_, rtol=10 * atol)


@pytest.mark.parametrize("n_blocks", [1, 7, 40])
@settings(max_examples=5, deadline=None)
@given(seed=SEED, kernel=st.sampled_from(["linear", "polynomial"]))
def test_blocks_in_any_order_give_the_serial_sums_after_a_drift_of_samples(n_blocks, seed, kernel):
    """Of 1e7 deviations; a stationary kernel gives a drifted sample features of 0."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=120)
    X[60:] += 1e7 if kernel == "linear" else 1e2
    y[60:] += 1e7
    model = model_of(1.0, "nystroem", kernel=kernel, degree=2, fit_intercept=True)
    model.begin(X[:60], y[:60])
    serial = model.partial_statistics(X, y)
    rows = np.array_split(rng.permutation(120), n_blocks)
    parts = [model.partial_statistics(X[block], y[block]) for block in rows]
    merged = reduce(model.merge, [parts[i] for i in rng.permutation(n_blocks)])
    for found, expected in zip(merged, serial, strict=True):
        assert_allclose(found, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
