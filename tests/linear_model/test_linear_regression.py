"""Linear regression against reference data, other libraries and fifty digits, and its laws."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
import statsmodels.api as sm
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from nist import (
    FILIP,
    FILIP_ESTIMATES,
    LONGLEY,
    LONGLEY_ERRORS,
    LONGLEY_ESTIMATES,
    LONGLEY_F,
    LONGLEY_R2,
    LONGLEY_VARIANCE,
    WAMPLER1,
    WAMPLER2,
    WAMPLER3_DEVIATIONS,
    WAMPLER3_ERRORS,
    WAMPLER_X,
)
from numpy.testing import assert_allclose
from scipy import sparse as sp
from sklearn.linear_model import LinearRegression as Peer
from sklearn.linear_model import Ridge

from mlcore.linear_model import LinearRegression
from mlcore.linear_model.regression.rows import DataUnits, Rows


def problem(n, d, k, seed=0, dependent=False):
    rng = np.random.default_rng([n, d, k, seed])
    X = rng.normal(size=(n, d)) * np.exp(rng.normal(size=d)) + 5
    if dependent:
        X[:, -1] = X[:, 0] - 2 * X[:, 1]
    return X, X @ rng.normal(size=(d, k)) + rng.normal(size=(n, k)), rng.integers(0, 4, n) + 0.0


def parameters(model):
    return np.column_stack((np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)))


def exact(X, Y, s, alpha, intercept):
    """Minimiser and minimum by 50 digits, from the normal equations of independent columns."""
    with mpmath.workdps(50):
        A = mpmath.matrix(np.c_[X, np.ones(len(X))][:, : X.shape[1] + intercept].tolist())
        S, y = mpmath.diag(list(map(mpmath.mpf, s))), mpmath.matrix(Y.tolist())
        ridge = mpmath.diag([alpha] * X.shape[1] + [0] * intercept)
        w = mpmath.lu_solve(A.T * S * A + ridge, A.T * S * y)
        r = y - A * w
        value = (r.T * S * r)[0] + (w.T * ridge * w)[0]
        return w, value


def objective(A, y, s, alpha, w, d):
    """P in fifty digits."""
    with mpmath.workdps(50):
        A, w, y = mpmath.matrix(A.tolist()), mpmath.matrix(list(w)), mpmath.matrix(y.tolist())
        r = y - A * w
        squares = mpmath.fsum(si * ri**2 for si, ri in zip(s, r, strict=True))
        return squares + alpha * mpmath.fsum(w[i] ** 2 for i in range(d))


# ---- reference data


def digits(found, expected):
    return -np.log10(np.max(np.abs(found - expected) / np.abs(expected)) + 1e-17)


def test_longley():
    model = LinearRegression().fit(LONGLEY[:, 1:], LONGLEY[:, 0])
    found = model.inference()
    assert digits(found.estimates, LONGLEY_ESTIMATES) > 11
    assert digits(found.standard_errors, LONGLEY_ERRORS) > 11
    assert_allclose(found.residual_variance, LONGLEY_VARIANCE, rtol=1e-11)
    assert_allclose([found.f, found.r_squared], [LONGLEY_F, LONGLEY_R2], rtol=1e-11)


@pytest.mark.parametrize(
    ("y", "expected", "least"),
    [
        (WAMPLER1, np.ones(6), 8),
        (WAMPLER2, 10.0 ** -np.arange(6), 11),
        (WAMPLER1 + WAMPLER3_DEVIATIONS, np.ones(6), 8),
        (WAMPLER1 + 100 * WAMPLER3_DEVIATIONS, np.ones(6), 7),
    ],
)
def test_wampler(y, expected, least):
    """Its polynomials have the condition 1e4 in centred columns of unit length, 6e6 in given."""
    model = LinearRegression().fit(WAMPLER_X[:, None] ** np.arange(1, 6), y)
    found = np.r_[model.intercept_, model.coef_]
    assert digits(found, expected) > least
    if y[0] == 760:  # the third
        assert digits(model.inference().standard_errors, WAMPLER3_ERRORS) > 8


def test_filip():
    """Powers of x in float64 are rounded, which alone leaves about eight digits."""
    y, x = FILIP.T
    model = LinearRegression().fit(x[:, None] ** np.arange(1, 11), y)
    assert model.rank_ == 10 and model.solver_ == "qr"
    assert digits(np.r_[model.intercept_, model.coef_], FILIP_ESTIMATES) > 6


# ---- nearly dependent columns: the triangle by products with a rounded factor


def nearly_dependent(distance):
    X, Y, s = problem(60, 5, 1)
    X[:, -1] = X[:, 0] - X[:, 1] + distance * np.random.default_rng(0).normal(size=60)
    return X, Y, s + 1


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("distance", [1e-3, 1e-4, 3e-5])
def test_nearly_dependent_columns_have_the_digits_of_their_condition(
    distance, intercept, monkeypatch
):
    def no_qr(*_):
        raise AssertionError("this is to be done by products")

    monkeypatch.setattr(Rows, "_triangle_by_qr", no_qr)
    X, Y, s = nearly_dependent(distance)
    model = LinearRegression(fit_intercept=intercept).fit(X, Y, s)
    assert model.solver_ == "qr" and model.rank_ == 5
    expected, value = exact(X, Y, s, 0, intercept)
    found = parameters(model)[0, : 5 + intercept]
    eps = np.finfo(float).eps
    assert_allclose(found, np.array(expected.tolist(), float)[:, 0], rtol=100 * eps / model.rcond_)
    assert_allclose(model.objective_, float(value), rtol=1e-12)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_triangles_by_products_and_by_qr_have_the_same_squares(weighted, intercept):
    X, Y, s = nearly_dependent(1e-4)
    rows = Rows.of(X, Y, s if weighted else None, DataUnits.of(X, Y, intercept, True))
    by_qr, mean = rows.triangle(np.zeros(5), intercept)
    root = np.linalg.inv(by_qr[:5, :5]) * (1 + 1e-3 * np.arange(5))  # rounded, that is to say
    by_products, same = rows.triangle(np.zeros(5), intercept, root)
    assert_allclose(same, mean, atol=1e-13 * np.abs(X).max())
    expected = by_qr.T @ by_qr
    sizes = np.sqrt(expected.diagonal())
    assert_allclose(by_products.T @ by_products / np.outer(sizes, sizes),
                    expected / np.outer(sizes, sizes), atol=1e-14)  # fmt: skip
    assert not np.array_equal(by_products, by_qr)


@pytest.mark.parametrize("factor", [2.0, np.nan])
def test_a_root_that_is_too_rough_leaves_the_triangle_to_qr(factor):
    X, Y, _ = problem(60, 5, 1)
    rows = Rows.of(X, Y, None, DataUnits.of(X, Y, True, True))
    by_qr, mean = rows.triangle(np.zeros(5), True)
    root = factor * np.linalg.inv(by_qr[:5, :5])
    for found, expected in zip(rows.triangle(np.zeros(5), True, root), (by_qr, mean), strict=True):
        np.testing.assert_array_equal(found, expected)


# ---- other libraries


@each("form", [np.asarray, sp.csr_array])
@each("intercept", [True, False])
@each("alpha", [0.0, 1.5])
@each(("n", "d", "k", "dependent"), [(50, 4, 2, False), (60, 5, 2, True), (8, 20, 3, False)])
def test_coefficients_are_those_of_scikit_learn(n, d, k, dependent, alpha, intercept, form):
    X, Y, s = problem(n, d, k, dependent=dependent)
    peer = Ridge(alpha, fit_intercept=intercept, solver="svd") if alpha else Peer(
        fit_intercept=intercept
    )  # fmt: skip
    for weight in (None, s):
        peer.fit(X, Y, weight)
        model = LinearRegression(alpha=alpha, fit_intercept=intercept).fit(form(X), Y, weight)
        assert_allclose(model.coef_, peer.coef_, rtol=1e-9, atol=1e-9)
        assert_allclose(model.predict(form(X)), peer.predict(X), rtol=1e-9, atol=1e-9)
        assert model.gradient_norm_ < 1e-13
        assert_allclose(model.path([alpha]).coef[0], model.coef_, rtol=1e-8, atol=1e-8)
        if not alpha and weight is None:
            assert model.rank_ == peer.rank_


@pytest.mark.parametrize("intercept", [True, False])
def test_inference_is_that_of_statsmodels(intercept):
    X, Y, s = problem(50, 4, 1)
    y = Y[:, 0]
    model = LinearRegression(fit_intercept=intercept)
    for weight, rows in ((None, np.arange(50)), (s, np.repeat(np.arange(50), s.astype(int)))):
        found = model.fit(X, y, weight).inference()
        design = np.c_[X, np.ones(50)] if intercept else X
        peer = sm.OLS(y[rows], design[rows], hasconst=intercept).fit()
        for name, value in (
            ("estimates", peer.params), ("standard_errors", peer.bse), ("t", peer.tvalues),
            ("covariance", peer.cov_params()), ("log_likelihood", peer.llf), ("aic", peer.aic),
            ("bic", peer.bic), ("r_squared", peer.rsquared), ("f", peer.fvalue),
            ("adjusted_r_squared", peer.rsquared_adj), ("deviance", peer.ssr),
        ):  # fmt: skip
            assert_allclose(getattr(found, name), value, rtol=1e-9, err_msg=name)
        assert_allclose(found.p_values, peer.pvalues, rtol=1e-7, atol=1e-300)
        assert_allclose(found.f_p_value, peer.f_pvalue, rtol=1e-7, atol=1e-300)
        assert_allclose(found.confidence_interval(0.9), peer.conf_int(0.1), rtol=1e-8)
        assert found.degrees_of_freedom == peer.df_resid
    assert "intercept" in str(found) or not intercept


def test_inference_of_several_targets_is_that_of_each():
    X, Y, _ = problem(40, 3, 2)
    both = LinearRegression().fit(X, Y).inference()
    for i in range(2):
        one = LinearRegression().fit(X, Y[:, i]).inference()
        assert_allclose(both.standard_errors[i], one.standard_errors, rtol=1e-12)
        assert_allclose(both.covariance[i], one.covariance, rtol=1e-11, atol=1e-14)
        assert_allclose(both.likelihood_ratio.p_value[i], one.likelihood_ratio.p_value)


def test_what_the_data_do_not_determine_has_an_infinite_error():
    X, Y, _ = problem(30, 5, 1, dependent=True)
    found = LinearRegression().fit(X, Y[:, 0]).inference()
    assert np.isinf(found.standard_errors).tolist() == [True, True, False, False, True, False]
    independent = LinearRegression().fit(X[:, :-1], Y[:, 0]).inference()
    assert_allclose(found.standard_errors[2:4], independent.standard_errors[2:4], rtol=1e-9)
    assert found.degrees_of_freedom == independent.degrees_of_freedom


def test_inference_is_refused_where_there_is_none():
    X, Y, _ = problem(6, 5, 1)
    with pytest.raises(ValueError, match=r"alpha=0.5.*alpha=0"):
        LinearRegression(alpha=0.5).fit(X, Y).inference()
    with pytest.raises(
        ValueError, match="more samples than parameters.*n_samples=6.* the 6 parameters"
    ):
        LinearRegression().fit(X, Y).inference()


# ---- leave one out


@each("alpha", [0.0, 2.0])
@each("intercept", [True, False])
@each(("n", "d", "dependent"), [(12, 3, False), (12, 4, True), (7, 7, False), (5, 9, False)])
def test_leave_one_out_errors_are_those_of_refits(n, d, dependent, intercept, alpha):
    X, Y, s = problem(n, d, 2, dependent=dependent)
    if d == 3:
        X[:, 1] = 0
        X[4, 1] = 3.0  # one row alone has this feature
    s += 1
    model = LinearRegression(alpha=alpha, fit_intercept=intercept).fit(X, Y, s)
    found = model.leave_one_out(X, Y, s)
    for i in range(n):
        rest = np.arange(n) != i
        other = LinearRegression(alpha=alpha, fit_intercept=intercept)
        other.fit(X[rest], Y[rest], s[rest])
        expected = Y[i] - other.predict(X[i : i + 1])[0]
        assert_allclose(found[i], expected, rtol=1e-8, atol=1e-8 * np.abs(Y).max())
    with pytest.raises(ValueError, match="samples of the fit"):
        model.leave_one_out(X[1:], Y[1:], s[1:])


# ---- evidence


@each("intercept", [True, False])
@each(
    ("name", "alpha"),
    [("random", 0.5), ("collinear", 1e-6), ("badly scaled", 1e-3), ("far", 1.0)],
)
def test_the_gap_is_never_below_the_true_excess(name, alpha, intercept):
    X, Y, s = problem(20, 4, 1, seed=len(name))
    if name == "collinear":
        X[:, 3] = X[:, 2] + 1e-7 * X[:, 3]
    if name == "badly scaled":
        X *= [1e-6, 1.0, 1e3, 1e6]
    if name == "far":
        X += 1e6
    s += 1
    y = Y[:, 0]
    model = LinearRegression(alpha=alpha, fit_intercept=intercept).fit(X, y, s)
    w, least = exact(X, y, s, alpha, intercept)
    A = np.c_[X, np.ones(20)][:, : 4 + intercept]
    found = objective(A, y, s, alpha, parameters(model)[0, : 4 + intercept], 4)
    excess = float(found - least)
    assert 0 <= excess <= model.duality_gap_
    if name != "far" or intercept:  # else rounding, of squares of 1e6, is allowed for
        assert model.duality_gap_ <= 1e-6 * model.objective_
    # The sum of squares of near-dependent or far rows is a difference, which the rows keep.
    assert_allclose(model.objective_, float(least), rtol=1e-9)


def test_collinear_columns_keep_the_digits_that_the_data_allow():
    X, Y, _ = problem(30, 4, 1)
    X[:, 3] = X[:, 2] + 1e-6 * X[:, 3]
    w, _ = exact(X, Y[:, 0], np.ones(30), 0, True)
    model = LinearRegression().fit(X, Y[:, 0])
    assert model.solver_ == "qr" and model.rank_ == 4
    expected = np.array([float(v) for v in w])
    # Errors of eps times the condition, and its square times the relative residual.
    assert_allclose(parameters(model)[0], expected, rtol=1e-7, atol=1e-8)


# ---- sums over rows


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_merged_blocks_are_the_whole(form, alpha):
    X, Y, s = problem(90, 4, 2)
    whole = LinearRegression(alpha=alpha).fit(form(X), Y, s + 1)
    model = LinearRegression(alpha=alpha).begin(form(X[:30]), Y[:30])
    total = None
    for i in range(0, 90, 30):
        rows = slice(i, i + 30)
        part = model.partial_statistics(form(X[rows]), Y[rows], s[rows] + 1)
        total = part if total is None else model.merge(total, part)
    model.update(total)
    by_parts = LinearRegression(alpha=alpha)
    for i in range(0, 90, 30):
        rows = slice(i, i + 30)
        by_parts.partial_fit(form(X[rows]), Y[rows], s[rows] + 1)
    for other in (model, by_parts):
        assert_allclose(parameters(other), parameters(whole), rtol=1e-10)
        assert_allclose(other.objective_, whole.objective_, rtol=1e-10)
    if alpha:
        assert (model.duality_gap_ >= 0).all() and np.isfinite(model.duality_gap_).all()
    else:
        assert_allclose(
            model.inference().standard_errors, whole.inference().standard_errors, rtol=1e-10
        )


def test_sums_of_dependent_columns_are_warned_of():
    X, Y, _ = problem(60, 5, 1, dependent=True)
    model = LinearRegression().begin(X, Y)
    with pytest.warns(UserWarning, match="depend on each other.*fit to all rows"):
        model.update(model.partial_statistics(X, Y))
    whole = LinearRegression().fit(X, Y)
    assert model.rank_ == 4 and model.solver_ == "cholesky"
    assert_allclose(model.coef_, whole.coef_, rtol=1e-6, atol=1e-8)
    # Of the sums of dependent columns, too, all methods know the columns that are independent.
    found, expected = model.inference(), whole.inference()
    assert_allclose(found.standard_errors, expected.standard_errors, rtol=1e-6)
    assert_allclose(model.path([0.5]).coef, whole.path([0.5]).coef, rtol=1e-6, atol=1e-8)
    assert_allclose(model.leave_one_out(X, Y), whole.leave_one_out(X, Y), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("form", "intercept"), [(np.asarray, True), (sp.csr_array, True), (np.asarray, False)]
)
@pytest.mark.parametrize(
    ("n", "d", "dependent"), [(40, 4, False), (40, 5, True), (6, 15, False), (9, 9, False)]
)
def test_each_target_may_have_a_penalty_of_its_own(n, d, dependent, form, intercept):
    X, Y, s = problem(n, d, 4, dependent=dependent)
    s += 1
    alphas = [0.7, 0.0, 1e3, 0.7]
    both = LinearRegression(alpha=alphas, fit_intercept=intercept).fit(form(X), Y, s)
    left_out = both.leave_one_out(form(X), Y, s)
    path = both.path([0.0, 2.0])
    for k, alpha in enumerate(alphas):
        one = LinearRegression(alpha=alpha, fit_intercept=intercept).fit(form(X), Y[:, k], s)
        assert_allclose(both.coef_[k], one.coef_, rtol=1e-9, atol=1e-9)
        assert_allclose(both.intercept_[k], one.intercept_, rtol=1e-9, atol=1e-8)
        assert_allclose(both.objective_[k], one.objective_, rtol=1e-9, atol=1e-18)
        assert np.isinf(both.duality_gap_[k]) == (alpha == 0)
        assert alpha == 0 or both.duality_gap_[k] < 1e-9 * one.objective_
        expected = one.leave_one_out(form(X), Y[:, k], s)
        assert_allclose(left_out[:, k], expected, rtol=1e-7, atol=1e-7)
        assert_allclose(path.coef[:, k], one.path([0.0, 2.0]).coef, rtol=1e-6, atol=1e-7)
    with pytest.raises(ValueError, match="alpha=1000: penalised"):
        both.inference()


def test_penalties_of_targets_by_blocks_and_wrong_ones():
    X, Y, s = problem(60, 3, 2)
    alphas = np.array([2.0, 0.5])
    whole = LinearRegression(alpha=alphas).fit(X, Y, s)
    parts = LinearRegression(alpha=alphas).partial_fit(X[:30], Y[:30], s[:30])
    parts.partial_fit(X[30:], Y[30:], s[30:])
    assert_allclose(parameters(parts), parameters(whole), rtol=1e-10)
    assert_allclose(
        whole.coef_, Ridge(alphas, solver="cholesky").fit(X, Y, s).coef_, rtol=1e-9, atol=1e-12
    )
    for wrong, message in (
        ([1.0, 2.0, 3.0], "alpha has shape .3,., but must be a number or one for each of the 2"),
        ([[1.0, 2.0]], "alpha has shape .1, 2."),
        ([1.0, -2.0], "alpha=-2.0"),
        ([1.0, np.nan], "alpha=nan"),
    ):
        with pytest.raises(ValueError, match=message):
            LinearRegression(alpha=wrong).fit(X, Y)


def test_path_of_ridges():
    X, Y, s = problem(40, 5, 2, dependent=True)
    alphas = [0.0, 1e-3, 1.0, 1e4]
    found = LinearRegression(alpha=0.3).fit(X, Y, s).path(alphas)
    for i, alpha in enumerate(alphas):
        model = LinearRegression(alpha=alpha).fit(X, Y, s)
        # By squares, which the decomposition of the sums is of, half of the digits at alpha = 0.
        assert_allclose(found.coef[i], model.coef_, rtol=1e-6, atol=1e-8)
        assert_allclose(found.intercept[i], model.intercept_, rtol=1e-6, atol=1e-7)
        centred = X - np.average(X, axis=0, weights=s)
        A = centred.T @ (s[:, None] * centred)
        H = np.linalg.pinv(A + alpha * np.eye(5), rcond=1e-12) @ A
        assert_allclose(found.effective_dimension[i], np.trace(H) + 1, rtol=1e-6)
        rest = s.sum() - found.effective_dimension[i]
        squares = s @ (Y - model.predict(X)) ** 2
        assert_allclose(found.gcv[i], s.sum() * squares / rest**2, rtol=1e-6)


# ---- laws


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.7]))
def test_laws(seed, alpha):
    X, Y, s = problem(30, 3, 1, seed=seed)
    y, model = Y[:, 0], LinearRegression(alpha=alpha)
    w = model.fit(X, y, s).coef_
    residual = s * (y - model.predict(X))
    size = np.abs(s * y).sum()
    assert abs(residual.sum()) < 1e-12 * size  # residuals have no mean
    centred = X - np.average(X, axis=0, weights=s)
    assert_allclose(centred.T @ residual, alpha * w, atol=1e-11 * size * np.abs(X).max())
    copies = s.astype(int)
    again = LinearRegression(alpha=alpha).fit(X.repeat(copies, axis=0), y.repeat(copies))
    assert_allclose(again.coef_, w, rtol=1e-9, atol=1e-10)
    shifted = LinearRegression(alpha=alpha).fit(X + 3, y - 2, s)
    assert_allclose(shifted.coef_, w, rtol=1e-9, atol=1e-10)
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    rotated = LinearRegression(alpha=alpha).fit(X @ Q, y, s)
    assert_allclose(Q @ rotated.coef_, w, rtol=1e-8, atol=1e-9)
    scaled = LinearRegression(alpha=alpha / 16).fit(X / 4, y, s)
    assert_allclose(scaled.coef_ / 4, w, rtol=1e-9, atol=1e-10)


def test_float32_has_the_digits_of_its_data():
    X, Y, s = problem(300, 5, 2)
    single = LinearRegression().fit(X.astype(np.float32), Y, s)
    double = LinearRegression().fit(X.astype(np.float32).astype(float), Y, s)
    assert single.coef_.dtype == np.float32 and single.predict(X).dtype == np.float32
    assert_allclose(single.coef_, double.coef_, rtol=1e-6, atol=1e-6)


def test_one_sample_and_constant_columns():
    model = LinearRegression().fit([[3.0, 4.0]], [5.0])
    assert model.coef_.tolist() == [0.0, 0.0] and model.intercept_ == 5.0
    X, Y, _ = problem(20, 3, 1)
    model = LinearRegression().fit(np.c_[X, np.full(20, 7.0)], Y)
    assert model.coef_[0, 3] == 0 and model.rank_ == 3
    with pytest.raises(ValueError, match="n_samples=1"):
        LinearRegression().fit([[3.0]], [5.0]).leave_one_out([[3.0]], [5.0])


def test_targets_of_another_shape_are_refused_later():
    X, Y, _ = problem(20, 3, 2)
    with pytest.raises(ValueError, match="y has 1 columns.*fitted to 2"):
        LinearRegression().begin(X, Y).partial_statistics(X, Y[:, 0])


@each("dtype", [np.float32, np.float64])
@each("alpha", [0.0, 3.0])
@each("intercept", [True, False])
def test_leave_one_out_of_other_samples_is_refused(intercept, alpha, dtype):
    X, Y, _ = problem(60, 3, 2, seed=1)
    X = (X + 100).astype(dtype)
    model = LinearRegression(alpha=alpha, fit_intercept=intercept).fit(X, Y)
    model.leave_one_out(X, Y)
    weight = np.random.default_rng(0).uniform(0.5, 1.5, size=60)
    for A, B, s in (
        (X, Y[::-1], None),
        (X, Y + 0.5 * np.abs(Y).max(), None),
        (X * np.array([1.0, 1.1, 1.0], dtype), Y, None),
        (X, Y, weight * (60 / weight.sum())),
    ):
        with pytest.raises(ValueError, match="leave_one_out needs the samples of the fit"):
            model.leave_one_out(A, B, s)


def test_inference_says_that_weights_count_copies():
    X, Y, _ = problem(60, 3, 1, seed=1)
    model = LinearRegression().fit(X, Y[:, 0], np.full(60, 1 / 60))
    with pytest.raises(ValueError, match="n_samples=1, the sum of the weights.*scale weights"):
        model.inference()


@each("alpha", [1e-12, 1.0, 1e12])
@each("seed", range(20))
def test_the_gap_holds_the_rounding_of_a_mean_of_targets_that_cancel(seed, alpha):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(9, 1)) * 1e-150
    y = rng.normal(size=9) * 1e8
    y -= y.mean()
    model = LinearRegression(alpha=alpha).fit(X, y)
    # Features this small have no effect: the optimum is the mean, and the excess n (b - mean)².
    mean = sum(map(Fraction, y.tolist())) / 9
    excess = 9 * (Fraction(model.intercept_) - mean) ** 2
    assert model.coef_[0] * 1e-150 < 1e-30
    assert Fraction(model.duality_gap_) >= excess


@each("offset", [5.0, 1e3])  # the first is read as it is, the second less its center
def test_evidence_in_float32_needs_no_features_about_the_origin(offset):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 8)).astype(np.float32)
    y = X @ rng.normal(size=8) + rng.normal(size=3000)
    near = LinearRegression(alpha=1.0).fit(X, y)
    away = LinearRegression(alpha=1.0).fit((X + np.float32(offset)), y)
    assert 0 < away.duality_gap_ < 2 * near.duality_gap_
    # Not less than the gap of the coefficients as they are stored.
    Z = (X + np.float32(offset)).astype(np.float64)
    Z -= Z.mean(axis=0)
    w, t = away.coef_.astype(np.float64), y - y.mean()
    best = np.linalg.solve(Z.T @ Z + np.eye(8), Z.T @ t)
    value, least = (np.sum((t - Z @ v) ** 2) + v @ v for v in (w, best))
    assert value - least <= away.duality_gap_
