"""Steps in float32 for sparse rows: their matrix, their solutions, and where they give way."""

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from threadpoolctl import threadpool_limits

from mlcore.linear_model import LinearRegression
from mlcore.linear_model.regression import mixed_precision
from mlcore.linear_model.regression.mixed_precision import MixedPrecision
from mlcore.linear_model.regression.samples import Samples

DIRECT = 310  # rows from which conjugate gradients are used


def power_law(n, d, seed=0):
    """CSR rows whose columns have fewer entries the later they are; many have one, or none."""
    rng = np.random.default_rng([n, d, seed])
    filled = rng.random((n, d)) < 1 / (1 + np.arange(d)) ** 0.7
    X = sp.csr_array(np.where(filled, rng.normal(1.0, 1.0, (n, d)), 0.0))
    return X, X @ rng.normal(size=d) + rng.normal(size=n), rng.integers(1, 4, n) + 0.0


def system_of(X, s, intercept):
    """Return the system of rows and its matrix F, dense."""
    u, dense = np.sqrt(s), X.toarray()
    center = np.average(dense, axis=0, weights=s) * intercept
    rows = sp.csr_array(sp.diags_array(u) @ X)
    return Samples(rows, u, center, np.zeros((len(u), 1))), u[:, None] * (dense - center)


@each("n", [5, 15, 16, 17, 33, 120])
@each("heavy", [True, False])
@each("intercept", [True, False])
@each("weighted", [True, False])
def test_the_matrix_is_that_of_the_rows_in_units_of_its_diagonal(
    n, heavy, intercept, weighted, monkeypatch
):
    monkeypatch.setattr(mixed_precision, "_SHARE", 0.0 if heavy else 2.0)
    X, _, s = power_law(n, 900)
    s = s if weighted else np.ones(n)
    system, F = system_of(X, s, intercept)
    squares = np.square(F).sum(axis=0)
    A = MixedPrecision.of(system, squares, 0.5, intercept)
    chosen = mixed_precision.heavy_columns(squares, n, X.nnz)
    assert A.G.shape[1] == len(chosen)
    # Units: the diagonal without the heavy columns, of rows as they are.
    rows = np.sqrt(s)[:, None] * X.toarray()
    rest = np.square(np.delete(rows, chosen, axis=1)).sum(axis=1) + 0.5
    root = np.sqrt(rest)[A.order]
    assert_allclose(A.size * A.root, root, rtol=1e-12)
    v = np.random.default_rng(n).normal(size=n)
    null = 1 / root * np.sqrt(s)[A.order]
    null /= np.linalg.norm(null)

    def less(w):
        return w - null * (null @ w) * intercept

    v = less(v)
    K = F @ F.T + 0.5 * np.eye(n)
    expected = less((K[A.order][:, A.order] @ (v / root)) / root)
    found = A.times(mixed_precision._single(v))
    assert_allclose(found[:n], expected, rtol=0, atol=1e-5 * max(1, np.abs(expected).max()))
    assert not found[n:].any()
    # Steps end at the solution of this matrix.
    x, trace, ended = A._steps(mixed_precision._single(v), 1e-5, 2000)
    assert ended and len(trace) > 1
    image = less((K[A.order][:, A.order] @ (x[:n] / root)) / root)
    assert_allclose(image, v, rtol=0, atol=1e-3 * max(1e-3, np.abs(v).max()))


@each("alpha", [1e-2, 1.0, 100.0])
@each("intercept", [True, False])
@each("weighted", [True, False])
def test_solutions_are_those_of_elimination(alpha, intercept, weighted):
    X, y, s = power_law(DIRECT, 1500)
    s = s if weighted else np.ones(DIRECT)
    model = LinearRegression(alpha=alpha, fit_intercept=intercept, tol=1e-12).fit(X, y, s)
    assert model.solver_ == "cg"
    _, F = system_of(X, s, intercept)
    mean = np.average(y, weights=s) * intercept
    w = F.T @ np.linalg.solve(F @ F.T + alpha * np.eye(DIRECT), np.sqrt(s) * (y - mean))
    assert_allclose(model.coef_, w, rtol=0, atol=1e-10 * np.abs(w).max())
    r = np.sqrt(s) * (y - mean) - F @ w
    assert_allclose(model.objective_, r @ r + alpha * w @ w, rtol=1e-10)
    assert 0 <= model.duality_gap_ <= 1e-20 / min(alpha, 1) * (y @ (s * y))


@pytest.mark.parametrize("unit", [1e-150, 1e-40, 1e40, 1e150])
def test_units_of_targets_and_of_features_are_no_matter(unit):
    X, y, _ = power_law(DIRECT, 1500)
    expected = LinearRegression(alpha=1.0).fit(X, y)
    targets = LinearRegression(alpha=1.0).fit(X, unit * y)
    assert_allclose(targets.coef_, unit * expected.coef_, rtol=1e-7, atol=unit * 1e-9)
    root = np.cbrt(unit)
    features = LinearRegression(alpha=root**2).fit(sp.csr_array(root * X), y)
    assert_allclose(features.coef_ * root, expected.coef_, rtol=1e-7, atol=1e-9)
    assert expected.solver_ == targets.solver_ == features.solver_ == "cg"


def test_rows_far_beyond_float32_are_left_to_float64(monkeypatch):
    X, y, _ = power_law(DIRECT, 1500)
    found, solve = [], MixedPrecision.solve
    monkeypatch.setattr(
        MixedPrecision, "solve", lambda *args: found.append(solve(*args)) or found[-1]
    )
    wide = sp.csr_array(sp.diags_array(np.geomspace(1, 1e8, DIRECT)) @ X)
    LinearRegression(alpha=1e-6, fit_intercept=False).fit(wide, y)
    assert found == [None] or found == []
    LinearRegression(alpha=1.0).fit(X, y)
    assert found[-1] is not None


def test_equal_rows_and_targets_have_their_solutions():
    X, y, _ = power_law(DIRECT // 2, 1500)
    X, y = sp.csr_array(sp.vstack([X, X])), np.concatenate([y, y])
    model = LinearRegression(alpha=2.0).fit(X, y)
    once = LinearRegression(alpha=1.0).fit(X[: len(y) // 2], y[: len(y) // 2])
    assert_allclose(model.coef_, once.coef_, rtol=0, atol=1e-8 * np.abs(once.coef_).max())
    constant = LinearRegression(alpha=2.0).fit(X, 3.0 + 0 * y)
    assert not constant.coef_.any() and constant.intercept_ == 3.0


def test_bytes_are_the_same_for_any_number_of_threads(monkeypatch):
    X, y, _ = power_law(DIRECT, 1500)
    monkeypatch.setattr(mixed_precision, "effective_threads", lambda work: 4)
    several = LinearRegression(alpha=1.0).fit(X, y)
    monkeypatch.setattr(mixed_precision, "effective_threads", lambda work: 1)
    with threadpool_limits(1):
        one = LinearRegression(alpha=1.0).fit(X, y)
    assert_array_equal(several.coef_, one.coef_)


def test_steps_go_on_after_a_call_that_looks_for_an_interrupt(monkeypatch):
    X, y, _ = power_law(DIRECT, 1500)
    whole = LinearRegression(alpha=1.0).fit(X, y)
    monkeypatch.setattr(
        mixed_precision, "pieces", lambda n, work: ((i, min(n, i + 3)) for i in range(0, n, 3))
    )
    assert_array_equal(LinearRegression(alpha=1.0).fit(X, y).coef_, whole.coef_)
