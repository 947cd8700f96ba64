"""Linear regression in the span of the samples, and of sparse rows: oracles, routes and laws."""

import pickle

import mpmath
import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse as sp

import mlcore
from mlcore.linear_model import LinearRegression
from mlcore.linear_model.regression import mixed_precision, samples

EPS = np.finfo(float).eps
FORMS = [np.asarray, sp.csr_array]
WIDE_AND_TALL = [(70, 240), (240, 230)]  # for conjugate gradients with `few_are_direct`
ROUNDING = 1e-16  # a `tol` that ends there


@pytest.fixture
def few_are_direct(monkeypatch):
    """Conjugate gradients from 61 rows and, of fewer columns than rows, 201 columns on."""
    monkeypatch.setattr(samples, "_DIRECT", 60)
    monkeypatch.setattr(samples, "_NARROW", 200)


def problem(n, d, k=2, seed=0):
    rng = np.random.default_rng([n, d, k, seed])
    X = rng.normal(size=(n, d)) + rng.normal(size=d)
    Y = X @ rng.normal(size=(d, k)) / np.sqrt(d) + rng.normal(size=(n, k)) + 2
    return X, Y, rng.integers(1, 4, n) + 0.0


def sparse_problem(n, d, k=1, seed=0, density=0.04):
    rng = np.random.default_rng([n, d, k, seed])
    X = sp.random_array((n, d), density=density, format="csr", random_state=rng)
    X = sp.csr_array(X + sp.csr_array((np.ones(n), (np.arange(n), np.arange(n) % d)), X.shape))
    Y = X @ rng.normal(size=(d, k)) + 0.5 * rng.normal(size=(n, k)) + 2
    return X, Y, rng.integers(1, 4, n) + 0.0


def by_lstsq(X, Y, s, alpha, intercept):
    """Shortest minimiser by NumPy's singular values of the rows, stacked on those of the ridge."""
    X, Y = (np.asarray(A.toarray() if sp.issparse(A) else A, float) for A in (X, Y))
    d, root = X.shape[1], np.sqrt(s)[:, None]
    m, mean = (np.average(A, axis=0, weights=s) * intercept for A in (X, Y))
    A = np.vstack([root * (X - m), np.sqrt(alpha) * np.eye(d)[: d if alpha else 0]])
    B = np.vstack([root * (Y - mean), np.zeros((len(A) - len(X), Y.shape[1]))])
    w = np.linalg.lstsq(A, B, rcond=1e-12)[0]
    return w.T, mean - m @ w


def by_normal_equations(X, y, s, alpha, intercept):
    """Minimiser of a ridge by Gauss's elimination."""
    X = X.toarray()
    m, mean = (np.average(A, axis=0, weights=s) * intercept for A in (X, y))
    F, c = np.sqrt(s)[:, None] * (X - m), np.sqrt(s) * (y - mean)
    if len(X) <= X.shape[1]:
        w = F.T @ np.linalg.solve(F @ F.T + alpha * np.eye(len(X)), c)
    else:
        w = np.linalg.solve(F.T @ F + alpha * np.eye(X.shape[1]), F.T @ c)
    return w, mean - m @ w


# ---- oracles


@each("form", FORMS)
@each("intercept", [True, False])
@each("alpha", [0.0, 1e-3, 2.0, 1e6])
@each("weighted", [True, False])
def test_coefficients_are_those_of_singular_values(form, intercept, alpha, weighted):
    X, Y, s = problem(9, 40)
    model = LinearRegression(alpha=alpha, fit_intercept=intercept)
    model.fit(form(X), Y, s if weighted else None)
    s = s if weighted else np.ones(9)
    w, b = by_lstsq(X, Y, s, alpha, intercept)
    assert model.solver_ == "dual" and model.rank_ == 9 - intercept
    assert_allclose(model.coef_, w, rtol=1e-11, atol=1e-13 * np.abs(w).max())
    assert_allclose(model.intercept_, b * np.ones(2), rtol=1e-11, atol=1e-12)
    r = Y - X @ w.T - b
    expected = s @ r**2 + alpha * (w**2).sum(axis=1)
    assert_allclose(model.objective_, expected, rtol=1e-10, atol=1e-24 * (s @ Y**2).max())
    assert model.gradient_norm_ < 1e-14


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("alpha", [1e-8, 0.5])
def test_the_gap_holds_the_excess_in_fifty_digits(form, alpha):
    X, Y, s = problem(5, 8, 1)
    model = LinearRegression(alpha=alpha).fit(form(X), Y[:, 0], s)
    assert model.solver_ == "dual"
    with mpmath.workdps(50):
        A, y = mpmath.matrix(X.tolist()), mpmath.matrix(Y.tolist())
        total = mpmath.fsum(map(mpmath.mpf, s))
        m = [mpmath.fsum(si * A[i, j] for i, si in enumerate(s)) / total for j in range(8)]
        mean = mpmath.fsum(si * y[i] for i, si in enumerate(s)) / total
        F = mpmath.matrix(5, 8)
        for i in range(5):
            for j in range(8):
                F[i, j] = mpmath.sqrt(s[i]) * (A[i, j] - m[j])
        c = mpmath.matrix([mpmath.sqrt(s[i]) * (y[i] - mean) for i in range(5)])
        w = F.T * mpmath.lu_solve(F * F.T + alpha * mpmath.eye(5), c)

        def value(w, b):
            r = y - A * w - mpmath.matrix([b] * 5)
            squares = mpmath.fsum(s[i] * r[i] ** 2 for i in range(5))
            return squares + alpha * mpmath.fsum(v**2 for v in w)

        least = value(w, mean - mpmath.fsum(m[j] * w[j] for j in range(8)))
        excess = value(mpmath.matrix(model.coef_.tolist()), mpmath.mpf(model.intercept_)) - least
        assert 0 <= excess <= model.duality_gap_
        assert_allclose(model.coef_, np.array(w.tolist(), float)[:, 0], rtol=1e-11)
        assert_allclose(model.objective_, float(least), rtol=1e-9)


@pytest.mark.usefixtures("few_are_direct")
@pytest.mark.parametrize(("n", "d"), WIDE_AND_TALL)
@pytest.mark.parametrize(("intercept", "weighted"), [(True, False), (False, True), (True, True)])
def test_conjugate_gradients_end_at_the_solution_of_dense_rows(n, d, intercept, weighted):
    X, Y, s = sparse_problem(n, d)
    s = s if weighted else np.ones(n)
    model = LinearRegression(alpha=0.3, fit_intercept=intercept, tol=ROUNDING)
    model.fit(X, Y[:, 0], s if weighted else None)
    assert model.solver_ == "cg"
    w, b = by_normal_equations(X, Y[:, 0], s, 0.3, intercept)
    assert_allclose(model.coef_, w, rtol=1e-10, atol=1e-12 * np.abs(w).max())
    assert_allclose(model.intercept_, b, rtol=1e-11, atol=1e-12)
    assert model.gradient_norm_ < 1e-14
    assert 0 <= model.duality_gap_ <= 1e-15 * model.objective_
    # Eigenvalues of the matrix of unit diagonal, of which Lanczos' are inside the range.
    F = np.sqrt(s)[:, None] * (X.toarray() - np.average(X.toarray(), axis=0, weights=s) * intercept)
    assert model.rank_ == np.linalg.matrix_rank(F)
    K = F @ F.T if n <= d else F.T @ F
    if n <= d and intercept:  # roots of the weights are no part of the problem
        K += np.outer(np.sqrt(s), np.sqrt(s)) / s.sum() * K.trace() / n
    K.flat[:: len(K) + 1] += 0.3
    size = np.sqrt(K.diagonal())
    K /= np.outer(size, size)
    values = np.linalg.eigvalsh(K)
    assert_allclose(model.rcond_, values[0] / values[-1], rtol=0.2)


@pytest.mark.parametrize(("n", "d"), [(320, 1100), (1100, 1050)])
def test_targets_of_conjugate_gradients_are_those_of_single_fits(n, d):
    X, Y, s = sparse_problem(n, d, 3, density=0.01)
    Y[:, 1] = 7.0
    alphas = [0.5, 3.0, 200.0]
    both = LinearRegression(alpha=alphas, tol=ROUNDING).fit(X, Y, s)
    assert both.solver_ == "cg"
    for k, alpha in enumerate(alphas):
        one = LinearRegression(alpha=alpha, tol=ROUNDING).fit(X, Y[:, k], s)
        assert_allclose(both.coef_[k], one.coef_, rtol=1e-9, atol=1e-12)
        assert_allclose(both.intercept_[k], one.intercept_, rtol=1e-12)
        assert_allclose(both.objective_[k], one.objective_, rtol=1e-12, atol=1e-20)
    assert not both.coef_[1].any()


def counted_products(monkeypatch):
    """Return a list to which counts of products with the matrix are added, in either precision."""
    products, kind = [], mixed_precision.MixedPrecision
    times, steps = samples.CentredProducts.__matmul__, kind._steps
    monkeypatch.setattr(
        samples.CentredProducts, "__matmul__", lambda Z, V: products.append(1) or times(Z, V)
    )

    def counted(*args):
        found = steps(*args)
        products.append(len(found[1]) - 1)
        return found

    monkeypatch.setattr(kind, "_steps", counted)
    return products


@pytest.mark.usefixtures("few_are_direct")
@pytest.mark.parametrize(("n", "d", "units"), [(70, 240, 1.0), (240, 230, 1.0), (240, 230, 1e5)])
def test_tol_bounds_what_conjugate_gradients_leave(n, d, units, monkeypatch):
    X, Y, s = sparse_problem(n, d)
    X, y = sp.csr_array(X * units ** np.linspace(-1, 1, d)), Y[:, 0]
    products = counted_products(monkeypatch)
    alpha = 0.5
    w, b = by_normal_equations(X, y, s, alpha, True)
    m, mean = (np.average(A, axis=0, weights=s) for A in (X.toarray(), y))
    F, c = np.sqrt(s)[:, None] * (X.toarray() - m), np.sqrt(s) * (y - mean)
    size = np.sqrt((F**2).sum(axis=0) + alpha)
    least = np.sum((c - F @ w) ** 2) + alpha * w @ w
    counts = []
    for tol in (1e-1, 1e-2, 1e-3, 1e-4):
        products.clear()
        model = LinearRegression(alpha=alpha, tol=tol).fit(X, y, s)
        assert model.solver_ == "cg"
        counts.append(sum(products))
        r = c - F @ model.coef_
        gradient = F.T @ r - alpha * model.coef_
        excess = np.sum(r**2) + alpha * model.coef_ @ model.coef_ - least
        rounding = 1e-12 * least
        assert_allclose(model.objective_, excess + least, rtol=1e-11)
        assert excess <= model.duality_gap_ + rounding
        assert_allclose(model.duality_gap_, min(gradient @ gradient / alpha, model.objective_),
                        rtol=1e-6)  # fmt: skip
        length = np.sqrt((F**2).sum(axis=0))
        expected = np.abs(gradient[length > 0] / length[length > 0]).max() / np.linalg.norm(c)
        assert_allclose(model.gradient_norm_, expected, rtol=1e-6)
        if n <= d:
            assert excess <= tol**2 * (c @ c) + rounding
        else:
            left = np.linalg.norm(gradient / size)
            whole = np.linalg.norm(F.T @ c / size)
            assert 1e-3 * tol * whole <= left <= tol * whole
    assert counts == sorted(counts) and counts[0] < counts[1] < counts[3]
    # Each digit takes about as many steps.
    assert counts[3] - counts[2] <= 2 * (counts[2] - counts[0]) + 2


def test_each_target_has_what_tol_leaves():
    X, Y, _ = sparse_problem(320, 1100, 3, density=0.01)
    Y *= [1.0, 1e8, 1e-8]
    model = LinearRegression(alpha=[0.5, 3.0, 200.0], tol=1e-4).fit(X, Y)
    assert model.solver_ == "cg"
    for k, alpha in enumerate((0.5, 3.0, 200.0)):
        w, b = by_normal_equations(X, Y[:, k], np.ones(320), alpha, True)
        r = Y[:, k] - X @ w - b
        least, total = r @ r + alpha * w @ w, np.sum((Y[:, k] - Y[:, k].mean()) ** 2)
        assert -1e-12 * least <= model.objective_[k] - least <= 1e-8 * total


# ---- routes


def test_rows_that_depend_on_each_other_are_left_to_qr():
    X, Y, _ = problem(8, 20)
    X[3], X[5] = X[2], X[1] + 1e-9 * X[5]
    model = LinearRegression().fit(X, Y)
    assert model.solver_ == "qr" and model.rank_ == 6
    w, b = by_lstsq(X, Y, np.ones(8), 0.0, True)
    assert_allclose(model.coef_, w, rtol=1e-5, atol=1e-5 * np.abs(w).max())
    ridge = LinearRegression(alpha=0.1).fit(X, Y)
    assert ridge.solver_ == "dual"
    assert_allclose(ridge.coef_, by_lstsq(X, Y, np.ones(8), 0.1, True)[0], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_the_rank_of_a_ridge_is_that_of_the_rows(form):
    X, Y, _ = problem(8, 20)
    X[3] = X[2]
    model = LinearRegression(alpha=5.0, fit_intercept=False).fit(form(X), Y)
    assert model.solver_ == "dual" and model.rank_ == 7


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [1e4, 1e8])
def test_samples_far_from_0_keep_their_digits(offset, dtype):
    X, Y, _ = problem(9, 40)
    X = (X + offset).astype(dtype)
    near = X.astype(float) - offset  # without rounding
    for alpha in (0.0, 1.0):
        far = LinearRegression(alpha=alpha).fit(X, Y)
        expected = LinearRegression(alpha=alpha).fit(near, Y)
        if np.ptp(near, axis=0).min() > 0:
            tol = 1e-6 if dtype == np.float32 else 1e-11
            assert_allclose(far.coef_, expected.coef_, rtol=tol, atol=tol)


@pytest.mark.parametrize("power", [-490, 490])
def test_units_are_chosen_where_squares_leave_the_range(power):
    X, Y, _ = problem(9, 40)
    for alpha in (0.0, 1.0):
        plain = LinearRegression(alpha=alpha).fit(X, Y)
        scaled = LinearRegression(alpha=np.ldexp(alpha, 2 * power)).fit(np.ldexp(X, power), Y)
        assert_allclose(np.ldexp(scaled.coef_, power), plain.coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_constant_features_have_no_coefficient(form):
    X, Y, _ = problem(9, 40)
    X[:, 5], X[:, 6] = 0.1, 0.0
    model = LinearRegression().fit(form(X), Y)
    assert np.abs(model.coef_[:, 5:7]).max() < 1e-15
    assert_allclose(model.coef_, by_lstsq(X, Y, np.ones(9), 0, True)[0], rtol=1e-10, atol=1e-13)


def test_nan_is_found_in_wide_samples():
    X, Y, _ = problem(9, 40)
    X[4, 7] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        LinearRegression().fit(X, Y)


# ---- later calls


@each("form", FORMS)
@each("intercept", [True, False])
@each("alpha", [0.0, 1e-6, 2.0])
def test_leave_one_out_is_that_of_refits(form, intercept, alpha):
    X, Y, s = problem(8, 30)
    model = LinearRegression(alpha=alpha, fit_intercept=intercept).fit(form(X), Y, s)
    found = model.leave_one_out(form(X), Y, s)
    assert model.solver_ == "dual"
    for i in range(8):
        rest = np.arange(8) != i
        w, b = by_lstsq(X[rest], Y[rest], s[rest], alpha, intercept)
        assert_allclose(found[i], Y[i] - X[i] @ w.T - b, rtol=1e-9, atol=1e-10)
    order = np.arange(8)[::-1]
    again = model.leave_one_out(form(X[order]), Y[order], s[order])
    assert_allclose(again, found[order], rtol=1e-10)
    with pytest.raises(ValueError, match="samples of the fit"):
        model.leave_one_out(form(X), Y[::-1], s)


@pytest.mark.usefixtures("few_are_direct")
@pytest.mark.parametrize(("n", "d"), WIDE_AND_TALL)
@pytest.mark.parametrize("tol", [1e-4, 1e-10])
def test_leave_one_out_after_conjugate_gradients(n, d, tol):
    X, Y, s = sparse_problem(n, d)
    y = Y[:, 0]
    model = LinearRegression(alpha=0.5, tol=tol).fit(X, y, s)
    assert model.solver_ == "cg"
    found = model.leave_one_out(X, y, s)
    for i in (0, n // 2):
        rest = np.arange(n) != i
        other = LinearRegression(alpha=0.5, tol=ROUNDING).fit(X[rest], y[rest], s[rest])
        assert_allclose(found[i], y[i] - other.predict(X[[i]])[0], rtol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
def test_path_is_that_of_fits(intercept):
    X, Y, s = problem(9, 40)
    alphas = [0.0, 1e-3, 1.0, 1e4]
    F = np.sqrt(s)[:, None] * (X - np.average(X, axis=0, weights=s) * intercept)
    values = np.linalg.svd(F, compute_uv=False)[: 9 - intercept] ** 2
    for form in FORMS:
        start = LinearRegression(alpha=0.3, fit_intercept=intercept).fit(form(X), Y, s)
        found = start.path(alphas)
        for i, alpha in enumerate(alphas):
            w, b = by_lstsq(X, Y, s, alpha, intercept)
            assert_allclose(found.coef[i], w, rtol=1e-8, atol=1e-10)
            assert_allclose(found.intercept[i], b * np.ones(2), rtol=1e-8, atol=1e-9)
            dimension = (values / (values + alpha)).sum() + intercept
            assert_allclose(found.effective_dimension[i], dimension, rtol=1e-9)


@pytest.mark.usefixtures("few_are_direct")
@pytest.mark.parametrize(("n", "d"), WIDE_AND_TALL)
def test_path_after_conjugate_gradients(n, d):
    X, Y, s = sparse_problem(n, d)
    found = LinearRegression(alpha=0.3, tol=1e-4).fit(X, Y[:, 0], s).path([0.3, 5.0])
    for coef, alpha in zip(found.coef, found.alphas, strict=True):
        expected = LinearRegression(alpha=alpha, tol=ROUNDING).fit(X, Y[:, 0], s).coef_
        assert_allclose(coef, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("form", FORMS)
def test_rows_are_added_to_a_wide_fit(form):
    X, Y, s = problem(60, 20)
    model = LinearRegression(alpha=0.4).fit(form(X[:15]), Y[:15], s[:15])
    assert model.solver_ == "dual"
    model.partial_fit(form(X[15:]), Y[15:], s[15:])
    whole = LinearRegression(alpha=0.4).fit(X, Y, s)
    assert_allclose(model.coef_, whole.coef_, rtol=1e-9, atol=1e-11)
    assert_allclose(model.objective_, whole.objective_, rtol=1e-9)


def test_inference_counts_copies_of_wide_samples():
    X, Y, _ = problem(8, 10)
    copies = np.full(8, 5.0)
    found = LinearRegression().fit(X, Y[:, 0], copies).inference()
    rows = np.repeat(np.arange(8), 5)
    expected = LinearRegression().fit(X[rows], Y[rows, 0]).inference()
    assert found.degrees_of_freedom == expected.degrees_of_freedom == 40 - 8
    assert np.isinf(found.standard_errors).all()
    assert_allclose(found.estimates, expected.estimates, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("solver", ["dual", "cg"])
def test_files_keep_the_rows_of_the_fit(solver, tmp_path):
    X, Y, s = sparse_problem(350, 1200) if solver == "cg" else problem(9, 40)
    for A in (X, sp.csr_array(X)):
        model = LinearRegression(alpha=0.5).fit(A, Y, s)
        assert model.solver_ == solver
        mlcore.save(model, tmp_path / "model")
        again = mlcore.load(tmp_path / "model")
        np.testing.assert_array_equal(again.path([0.1]).coef, model.path([0.1]).coef)


# ---- laws


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.7]), st.sampled_from(FORMS))
def test_laws(seed, alpha, form):
    X, Y, s = problem(7, 15, 1, seed=seed)
    y, model = Y[:, 0], LinearRegression(alpha=alpha)
    w = model.fit(form(X), y, s).coef_
    near = {"rtol": 1e-8, "atol": 1e-9 * np.abs(w).max()}
    centred = X - np.average(X, axis=0, weights=s)
    outside = w - centred.T @ np.linalg.lstsq(centred.T, w, rcond=None)[0]
    assert np.abs(outside).max() < 1e-13 * np.abs(w).max()  # in the span of the samples
    residual = s * (y - model.predict(form(X)))
    assert abs(residual.sum()) < 1e-12 * np.abs(s * y).sum()
    copies = np.repeat(np.arange(7), s.astype(int))
    again = LinearRegression(alpha=alpha).fit(form(X[copies]), y[copies])
    assert_allclose(again.coef_, w, **near)
    shifted = LinearRegression(alpha=alpha).fit(form(X + 3), y - 2, s)
    assert_allclose(shifted.coef_, w, **near)
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(15, 15)))[0]
    assert_allclose(Q @ LinearRegression(alpha=alpha).fit(form(X @ Q), y, s).coef_, w, **near)
    scaled = LinearRegression(alpha=alpha / 16).fit(form(X / 4), y, s)
    assert_allclose(scaled.coef_ / 4, w, **near)


UNITS = [
    (1e150, 1), (1, 1e150), (1e-150, 1), (1, 1e-150), (1e75, 1e-75), (1e-75, 1e75), (1e60, 1),
    (1, 1e60), (1e-60, 1e60), (1e60, 1e-60), (1e12, 1), (1e-12, 1), (1e150, 1e-150),
]  # fmt: skip


def with_digits(model, X, y, alpha):
    """Return the objective and its excess over the minimum, in the digits of the context."""
    n, d = X.shape
    A, c = mpmath.matrix(X.tolist()), mpmath.matrix(y.tolist())
    w = mpmath.matrix(model.coef_.tolist())
    r = c - A * w - mpmath.matrix([mpmath.mpf(model.intercept_)] * n)
    objective = mpmath.fsum(v**2 for v in r) + alpha * mpmath.fsum(v**2 for v in w)
    for j in range(d):
        mean = mpmath.fsum(A[:, j]) / n
        for i in range(n):
            A[i, j] -= mean
    c -= mpmath.matrix([mpmath.fsum(c) / n] * n)
    a = mpmath.lu_solve(A * A.T + alpha * mpmath.eye(n), c)
    return objective, objective - alpha * mpmath.fsum(a[i] * c[i] for i in range(n))


# Both forms with all units; the shapes and alphas of a form in turn.
@pytest.mark.parametrize(
    ("form", "n", "d", "alpha", "x_unit", "y_unit"),
    [
        (form, *[(7, 11), (11, 7)][(i + j) % 2], [1e-3, 10.0][(i // 2 + j) % 2], *units)
        for i, units in enumerate(UNITS)
        for j, form in enumerate(FORMS)
    ],
)
def test_evidence_with_units_far_apart(form, n, d, alpha, x_unit, y_unit, monkeypatch):
    monkeypatch.setattr(samples, "_DIRECT", 3)  # conjugate gradients for small sparse rows too
    X, Y, _ = sparse_problem(n, d, density=0.4)
    X, y = X.toarray() * x_unit, Y[:, 0] * y_unit
    model = LinearRegression(alpha=alpha).fit(form(X), y)
    with mpmath.workdps(400):
        objective, excess = with_digits(model, X, y, alpha)
        assert 0 <= excess <= model.duality_gap_
        # Not one of 1e275 beside an objective of 1e-30, of which the minimum is at least 0.
        most = max(1e-20 * float(y @ y), 1.001 * float(objective))
        assert model.duality_gap_ <= most + 3e-323
        if n <= d or x_unit <= 1:
            assert model.duality_gap_ <= 1e-20 * float(y @ y) + 3e-323


@pytest.mark.usefixtures("few_are_direct")
@pytest.mark.parametrize(("n", "d"), WIDE_AND_TALL)
def test_the_rank_after_conjugate_gradients(n, d):
    X, Y, _ = sparse_problem(n, d)
    copies = sp.csr_array(sp.hstack([X[:, : d // 2], 2 * X[:, : d - d // 2]]))
    half = sp.csr_array(sp.vstack([copies[: n // 2], copies[: n - n // 2]]))
    model = LinearRegression(alpha=1.0)
    with pytest.raises(AttributeError, match="before it is fitted"):
        getattr(model, "rank_")  # noqa: B009
    model.fit(half, Y[:, 0])
    assert model.solver_ == "cg" and "rank_" not in vars(model)
    again = pickle.loads(pickle.dumps(model))
    dense = half.toarray()
    assert model.rank_ == again.rank_ == np.linalg.matrix_rank(dense - dense.mean(axis=0))
    assert vars(model)["rank_"] == model.rank_
    again.fit(X[:, : d - 20], Y[:, 0])  # a later fit forgets it
    assert again.rank_ > model.rank_
    older = LinearRegression()
    older.__setstate__(model.__getstate__() | {"rank_": None})
    assert older.rank_ == model.rank_


# ---- heavy columns, and one reading of dense rows


def power_law(n, d, k=1):
    """CSR rows whose columns have fewer entries the later they are, as words do."""
    rng = np.random.default_rng([n, d, k])
    filled = rng.random((n, d)) < 1 / np.sqrt(1 + np.arange(d))
    X = sp.csr_array(np.where(filled, rng.normal(1.0, 1.0, (n, d)), 0.0))
    X.eliminate_zeros()
    Y = X @ rng.normal(size=(d, k)) + rng.normal(size=(n, k))
    return X, Y, rng.integers(1, 4, n) + 0.0


@pytest.mark.parametrize(("intercept", "weighted"), [(True, False), (False, True), (True, True)])
def test_heavy_columns_lead_to_the_same_solution_in_fewer_steps(intercept, weighted, monkeypatch):
    X, Y, s = power_law(350, 2400, 2)
    s = s if weighted else np.ones(350)
    products = counted_products(monkeypatch)
    F = np.sqrt(s)[:, None] * (X.toarray() - np.average(X.toarray(), axis=0, weights=s) * intercept)
    for alpha in (1e-3, 3.0):
        model = LinearRegression(alpha=alpha, fit_intercept=intercept, tol=ROUNDING)
        counts = []
        for share in (2.0, 1 / 8):  # above 1 no columns are heavy
            monkeypatch.setattr(mixed_precision, "_SHARE", share)
            products.clear()
            model.fit(X, Y[:, 0], s)
            counts.append(sum(products))
        assert model.solver_ == "cg" and counts[1] < 0.9 * counts[0]
        w, b = by_normal_equations(X, Y[:, 0], s, alpha, intercept)
        assert_allclose(model.coef_, w, rtol=0, atol=1e-12 * np.abs(w).max() / min(alpha, 1))
        assert model.gradient_norm_ < 1e-13
        both = LinearRegression(alpha=alpha, fit_intercept=intercept, tol=ROUNDING).fit(X, Y, s)
        assert_allclose(both.coef_[0], model.coef_, rtol=0, atol=1e-12 * np.abs(w).max() / alpha)
        # The estimate of the condition, of the matrix scaled to a diagonal of 1.
        K = F @ F.T
        if intercept:  # roots of the weights are no part of the problem
            K += np.outer(np.sqrt(s), np.sqrt(s)) / s.sum() * K.trace() / len(K)
        K.flat[:: len(K) + 1] += alpha
        size = np.sqrt(K.diagonal())
        values = np.linalg.eigvalsh(K / np.outer(size, size))
        assert_allclose(model.rcond_, values[0] / values[-1], rtol=0.4)


def test_the_evidence_of_one_reading_is_that_of_exact_sums():
    for seed, offset in ((0, 0.0), (1, 2.0), (2, 1e6)):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(40, 4))
        X[:, 3] = X[:, 0] + 1e-2 * X[:, 3]  # rcond 1e-5: the digits of sums need the rows
        X += offset * rng.normal(size=4)
        y = X @ rng.normal(size=4) + rng.normal(size=40)
        model = LinearRegression(alpha=1e-3).fit(X, y)
        assert model.solver_ == "cholesky" and model.rcond_ < 1e-3
        with mpmath.workdps(40):
            A, w = mpmath.matrix(X.tolist()), mpmath.matrix(model.coef_.tolist())
            r = mpmath.matrix(y.tolist()) - A * w
            mean = mpmath.fsum(r) / 40
            r = r - mpmath.matrix([mean] * 40)
            m = [mpmath.fsum(A[:, j]) / 40 for j in range(4)]
            g = [
                mpmath.fsum((A[i, j] - m[j]) * r[i] for i in range(40)) - mpmath.mpf(1e-3) * w[j]
                for j in range(4)
            ]
            gap = float(mpmath.fsum(v**2 for v in g) / mpmath.mpf(1e-3))
            objective = float(
                mpmath.fsum(v**2 for v in r) + mpmath.mpf(1e-3) * mpmath.fsum(v**2 for v in w)
            )
        assert gap <= model.duality_gap_
        assert_allclose(model.objective_, objective, rtol=1e-9)
        assert model.duality_gap_ < 1e-12 * max(1.0, offset**2) * objective


# ---- a factor in float32, and corrections


SHAPES = [(45, 130), (85, 45)]  # for `single`


@pytest.fixture
def single(monkeypatch):
    """Factors in float32 of 40 rows or columns; the list of their solutions, None for no such."""
    monkeypatch.setattr(samples, "_SINGLE", 40)
    monkeypatch.setattr(samples, "_SINGLE_TALL", 40)
    monkeypatch.setattr(samples, "_TALL", 3)
    monkeypatch.setattr(samples, "_IN_CACHE", 900)  # 20 columns, or rows, of a block
    solve, found = samples._of_single_factor, []

    def recorded(*arguments):
        found.append(solve(*arguments))
        return found[-1]

    monkeypatch.setattr(samples, "_of_single_factor", recorded)
    return found


@pytest.mark.parametrize(("n", "d"), SHAPES)
@pytest.mark.parametrize(("intercept", "weighted"), [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("alpha", [0.0, 1e-3, 2.0, 1e6])
def test_corrections_of_a_factor_in_float32_end_at_the_solution(
    n, d, intercept, weighted, alpha, single
):
    X, Y, s = problem(n, d, 1)
    s = s if weighted else np.ones(n)
    model = LinearRegression(alpha=alpha, fit_intercept=intercept)
    model.fit(X, Y[:, 0], s if weighted else None)
    assert model.solver_ == ("dual" if n <= d else "cholesky")
    assert (n > d and alpha == 0) or single[0] is not None
    w, b = by_lstsq(X, Y, s, alpha, intercept)
    assert_allclose(model.coef_, w[0], rtol=1e-10, atol=1e-12 * np.abs(w).max())
    assert_allclose(model.intercept_, b[0] if intercept else 0.0, rtol=1e-11, atol=1e-12)
    r = Y[:, 0] - X @ w[0] - b[0]
    expected = s @ r**2 + alpha * (w**2).sum()
    assert_allclose(model.objective_, expected, rtol=1e-10, atol=1e-24 * (s @ Y[:, 0] ** 2))
    assert model.gradient_norm_ < 1e-14
    assert model.rank_ == min(n - intercept, d)
    F = np.sqrt(s)[:, None] * (X - np.average(X, axis=0, weights=s) * intercept)
    K = F @ F.T if n <= d else F.T @ F
    if n <= d and intercept:
        K += K.trace() / n * np.outer(np.sqrt(s), np.sqrt(s)) / s.sum()
    K.flat[:: len(K) + 1] += alpha
    K /= np.sqrt(np.outer(K.diagonal(), K.diagonal()))
    assert_allclose(model.rcond_, 1 / np.linalg.cond(K, 1), rtol=0.5)


@pytest.mark.parametrize(("n", "d"), SHAPES)
@pytest.mark.parametrize("unit", [1e-10, 1.0, 1e10])
def test_the_gap_after_corrections_holds_the_excess_in_fifty_digits(n, d, unit, single):
    X, Y, _ = problem(n, d, 1)
    X, alpha = X * unit, 0.3 * unit**2
    model = LinearRegression(alpha=alpha).fit(X, Y[:, 0])
    assert single[0] is not None
    with mpmath.workdps(50):
        _, excess = with_digits(model, X, Y[:, 0], alpha)
        assert 0 <= excess <= model.duality_gap_ < 1e-20 * model.objective_


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_corrections_keep_the_digits_of_small_and_of_far_columns(offset, single):
    X, Y, s = problem(85, 45, 1)
    unit = 10.0 ** np.random.default_rng(0).uniform(-6, 6, 45)
    X = X * unit + offset * unit
    F = np.sqrt(s)[:, None] * (X - np.average(X, axis=0, weights=s))
    model = LinearRegression(alpha=1e-3).fit(X, Y[:, 0], s)
    assert single[0] is not None
    y = np.sqrt(s) * (Y[:, 0] - np.average(Y[:, 0], weights=s))
    size = np.sqrt(np.square(F).sum(axis=0) + 1e-3)
    w = np.linalg.lstsq(
        np.vstack([F, np.sqrt(1e-3) * np.eye(45)]) / size, np.concatenate([y, np.zeros(45)])
    )[0]
    assert_allclose(model.coef_ * size, w, rtol=0, atol=(1e-12 if offset else 1e-13) * abs(w).max())
    assert model.gradient_norm_ < 1e-14


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_later_calls_after_corrections_are_those_after_a_factor(n, d, dtype, single, monkeypatch):
    X, Y, s = problem(n, d, 1)
    X, y = X.astype(dtype), Y[:, 0]
    model = LinearRegression(alpha=0.5).fit(X, y, s)
    assert single[0] is not None
    again = pickle.loads(pickle.dumps(model))
    monkeypatch.setattr(samples, "_SINGLE", 10**9)
    other = LinearRegression(alpha=0.5).fit(X, y, s)
    assert len(single) == 1 and model.rank_ == other.rank_
    tol = {"rtol": 1e-9, "atol": 1e-10} if dtype == np.float64 else {"rtol": 1e-4, "atol": 1e-5}
    for first in (model, again):
        assert_allclose(first.leave_one_out(X, y, s), other.leave_one_out(X, y, s), **tol)
        for alpha in (1e-3, 7.0):
            expected = LinearRegression(alpha=alpha).fit(X, y, s)
            assert_allclose(first.path([alpha]).coef[0], expected.coef_, **tol)
        if n > d:  # the sums go on from the rows that the model has kept
            both = np.vstack([X, 2 * X]), np.concatenate([y, y]), np.concatenate([s, np.ones(n)])
            first.partial_fit(2 * X, y)
            assert_allclose(first.coef_, LinearRegression(alpha=0.5).fit(*both).coef_, **tol)


def test_leave_one_out_after_corrections_is_that_of_refits(single):
    X, Y, _ = problem(85, 45, 1)
    model = LinearRegression(alpha=0.5).fit(X, Y[:, 0])
    assert single[0] is not None
    errors = model.leave_one_out(X, Y[:, 0])
    for i in (0, 17, 84):
        rest = np.arange(85) != i
        w, b = by_lstsq(X[rest], Y[rest], np.ones(84), 0.5, True)
        assert_allclose(errors[i], Y[i, 0] - X[i] @ w[0] - b[0], rtol=1e-9)


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_what_float32_does_not_hold_is_left_to_float64(n, d, single):
    X, Y, _ = problem(n, d, 1)
    y = Y[:, 0]
    near = X.copy()
    if n <= d:
        near[30] = near[3] + 1e-4 * near[30]
    else:
        near[:, 30] = near[:, 3] + 1e-4 * near[:, 30]
    for rows, alpha in ((near, 1e-7), (X * 1e-30, 1e-60), (X * 1e30, 1e60)):
        single.clear()
        model = LinearRegression(alpha=alpha).fit(rows, y)
        assert single == [None]
        unit = np.sqrt(np.square(rows - rows.mean(axis=0)).mean())
        w, _ = by_lstsq(rows / unit, Y, np.ones(n), alpha / unit**2, True)
        assert_allclose(model.coef_ * unit, w[0], rtol=0, atol=1e-7 * np.abs(w).max())
        assert model.gradient_norm_ < 1e-9


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_constant_columns_and_equal_rows_do_not_disturb_corrections(n, d, alpha, single):
    X, Y, _ = problem(n, d, 1)
    X[:, ::3] = 7.0
    X[5], Y[5] = X[6], Y[6]
    model = LinearRegression(alpha=alpha).fit(X, Y[:, 0])
    w, b = by_lstsq(X, Y, np.ones(n), alpha, True)
    assert_allclose(model.coef_, w[0], rtol=0, atol=1e-11 * np.abs(w).max())
    F = X - X.mean(axis=0)
    assert model.rank_ == np.linalg.matrix_rank(F)
    constant = LinearRegression(alpha=alpha).fit(np.ones((n, d)), Y[:, 0])
    assert not constant.coef_.any() and constant.rank_ == 0


@pytest.mark.usefixtures("single")
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_corrections_take_no_value_that_is_not_finite(n, d, value):
    X, Y, _ = problem(n, d, 1)
    X[20, 30] = value
    with pytest.raises(ValueError, match="NaN|infinit|finite"):
        LinearRegression(alpha=1.0).fit(X, Y[:, 0])


@pytest.mark.parametrize("unit", [1e-140, 1.0, 1e140])
@pytest.mark.parametrize("heavier", [1.0, 1e4])
def test_heavy_columns_in_float32_where_they_are_not_far_beyond_the_rest(
    heavier, unit, monkeypatch
):
    X, Y, _ = power_law(350, 2400)
    X = sp.csr_array(X * np.where(np.arange(2400) < 70, heavier, 1.0))
    kinds, of = [], samples._HeavyColumns.of
    monkeypatch.setattr(
        samples._HeavyColumns, "of", lambda *args: kinds.append(of(*args)) or kinds[-1]
    )
    model = LinearRegression(alpha=3.0, tol=ROUNDING).fit(X, Y[:, [0, 0]] * unit)
    assert model.solver_ == "cg"
    assert kinds[0].G.dtype == (np.float32 if heavier == 1.0 else np.float64)
    w, b = by_normal_equations(X, Y[:, 0], np.ones(350), 3.0, True)
    tol = 1e-11 if heavier == 1.0 else 1e-6  # the condition is 1e8 times as large
    assert_allclose(model.coef_ / unit, [w, w], rtol=0, atol=tol * np.abs(w).max())
    assert_allclose(model.intercept_ / unit, [b, b], rtol=100 * tol)
    # The preconditioner is D + H H', by its product with what it solves.
    H, R = kinds[0], np.random.default_rng(0).normal(size=(350, 2)) * [1, unit]
    D, G = 1 / H.inverse**2, H.G.astype(float)
    T = H.solve(R)
    again = D[:, None] * T + (G.T @ (G @ (T / H.inverse[:, None]))) / H.inverse[:, None]
    tol = 1e-4 if H.G.dtype == np.float32 else 1e-6
    assert_allclose(again / [1, unit], R / [1, unit], rtol=0, atol=tol * np.abs(R[:, 0]).max())
